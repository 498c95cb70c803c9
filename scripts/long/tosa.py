#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of TOSA drawn at random, on the CPU and in tosa_reference_model: casts byte for
byte, products within their bound, in each type of data, with static and dynamic sizes. Every
tenth also goes through its flatbuffer and blockscale.tosa, and as kernels of sm_100a through the
emulator. The last line is `N passed, N failed`.

  scripts/long/tosa.py [CASES [SEED]]
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from long_programs import BUILD, PYTHON, ROOT, build, run_script

CASES = 300
SEED = 20261125
#: One case in so many runs in the emulator and from its flatbuffer.
SAMPLE = 10


def prepare():
    """Builds what the cases need, and runs this script with the project's Python."""
    build()
    run_script("peers.sh", "tosa")
    environment = {
        **os.environ, "BLOCKSCALE_BUILD_DIR": str(BUILD),
        "BLOCKSCALE_TOSA_PREPARED": "1",
        "BLOCKSCALE_TOSA_OPT": str(ROOT / ".cache/tosa/bin/tosa-opt"),
        "PATH": f"{BUILD / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(next((BUILD / "package").glob("lib/python*/site-packages")))}
    return subprocess.run([PYTHON, __file__, *sys.argv[1:]], env=environment).returncode


def main():
    # Before the checks, which add the sources of the package to the path.
    from blockscale import tosa as reader
    sys.path[:0] = [str(ROOT / "test/Execution/Inputs"), str(ROOT / "test/Data")]
    import make_tosa_cases as maker
    import tosa as checks
    from expect import Expectations

    count = int(sys.argv[1]) if len(sys.argv) > 1 else CASES
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else SEED
    print(f"seed {seed}", flush=True)
    expectations = Expectations()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cases, programs = [], {}
        for number in range(count):
            kinds = len(maker.KINDS)
            kind = maker.KINDS[number % kinds]
            data = list(maker.CODES)[number // kinds % len(maker.CODES)]
            case = maker.draw(kind, data, seed + number, is_small=number % SAMPLE == 0)
            case.outputs = maker.ask(case, folder)
            if number % SAMPLE == 0:
                programs[number] = reader.read(folder / "m.tosa").source.decode()
            cases.append(case)

        def check(where, chosen, results):
            for number, got in zip(chosen, results, strict=True):
                problem = got if isinstance(got, str) else checks.find_problem(cases[number], got)
                expectations.record(f"case {number}, {cases[number].kind} of "
                                    f"{cases[number].data}, {where}", problem)

        check("static sizes", range(count), checks.run(cases, folder, []))
        check("dynamic sizes", range(count), checks.run(cases, folder, [], is_dynamic=True))
        sample = list(programs)
        floats = [number for number in sample if checks.is_product_of_floats(cases[number])]
        check("emulator", floats,
              checks.run([cases[number] for number in floats], folder,
                         ["--on=emulator", "--nan-scales"]))
        for number in sample:
            cases[number].text = lambda is_dynamic, number=number: programs[number]
        check("flatbuffer", sample, checks.run([cases[number] for number in sample], folder, []))
    expectations.finish()


if __name__ == "__main__":
    sys.exit(main() if "BLOCKSCALE_TOSA_PREPARED" in os.environ else prepare())
