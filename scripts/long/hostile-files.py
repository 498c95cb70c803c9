#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mutants of the files of each reader in Python, 300 of each: every call ends as is documented,
with a message and without a traceback or a signal, in 2 GiB of memory and 10 s of a core
(test/Checkpoint/mutants.py). PyTorch takes more than 2 GiB of addresses when it is imported, so
that its reader has 2 GiB beyond that. The seed is the date; a mutant that is read badly is kept in
build/hostile-files. Each reader runs in an environment of .cache that has what it needs, which
scripts/peers.sh makes; where that is missing it is left out, with the reason. The last line is
`N passed, N failed`.

  scripts/long/hostile-files.py [COUNT [SEED [ENVIRONMENT...]]]
"""

import datetime
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from long_programs import BUILD, PYTHON, ROOT, build

MODULES = ("text of MLIR", "bytecode of MLIR", "programs of TOSA", "compiled functions")
#: Environments of .cache, those that take longest first: what of readers.IMPORTS is read there, and
#: what takes more addresses than calls have. The first one has the readers of checkpoints, too.
ENVIRONMENTS = {
    "checkpoints": (MODULES, ()),
    "jax": (("exports of JAX", "text of StableHLO", "artifacts of StableHLO"), ()),
    "exporter": (("models of ONNX",), ()),
    "peers": (("programs of PyTorch",),
              ("blockscale.torch._file", "torchao.prototype.mx_formats")),
}


def run(environment, count, seed):
    """Passed and failed mutants, of all readers of an environment."""
    import tempfile

    import readers
    from limited import Limited
    passed = failed = 0
    names, large = ENVIRONMENTS[environment]
    with tempfile.TemporaryDirectory(prefix="blockscale-") as folder, Limited(*large) as limited:
        found = readers.make_imports(Path(folder), names)
        missing = set(names) - {reader.name for reader in found}
        if environment == "checkpoints":
            found += [*readers.make_checkpoints(Path(folder)), *readers.make_remotes(Path(folder))]
        for reader in found:
            tally = readers.run(reader, limited, seed, count, BUILD / "hostile-files")
            ends = ", ".join(f"{number} with {status}"
                             for status, number in sorted(tally.statuses.items()))
            print(f"   {reader.name:<32} {count - len(tally.faults)} passed, {len(tally.faults)} "
                  f"failed; ended {ends}; at most {tally.memory >> 20} MiB", flush=True)
            print("\n".join(tally.faults), end="\n" if tally.faults else "")
            passed, failed = passed + count - len(tally.faults), failed + len(tally.faults)
    for name in sorted(missing):
        print(f"   {name}: left out, as what they need is not installed")
    print(f"{passed} passed, {failed} failed")
    return failed


def run_in(environment, count, seed):
    """The same by the Python of an environment."""
    place = ROOT / ".cache" / environment
    python = place / "bin/python"
    if not (place / "stamp").exists():
        if environment != "checkpoints":
            print(f"   {', '.join(ENVIRONMENTS[environment][0])}: left out; scripts/peers.sh "
                  f"{environment} installs what they need")
            return 0, 0
        python = PYTHON
    tosa = ROOT / ".cache/tosa/bin/tosa-opt"
    environ = {**os.environ, "BLOCKSCALE_HOSTILE": "1", "PYTHONPATH": str(ROOT / "python"),
               "BLOCKSCALE_LIBRARY": str(BUILD / "lib/libBlockScaleC.so")}
    if tosa.exists():
        environ.setdefault("BLOCKSCALE_TOSA_OPT", str(tosa))
    counts = None
    with subprocess.Popen([python, __file__, str(count), seed, environment], env=environ,
                          stdout=subprocess.PIPE, text=True, errors="replace") as process:
        for line in process.stdout:
            counts = re.fullmatch(r"(\d+) passed, (\d+) failed", line.rstrip())
            if not counts:
                print(line, end="", flush=True)
    passed, failed = map(int, counts.groups()) if counts else (0, 1)
    return passed, max(failed, int(process.returncode != 0))


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    seed = sys.argv[2] if len(sys.argv) > 2 else f"{datetime.date.today():%Y%m%d}"
    environments = sys.argv[3:] or list(ENVIRONMENTS)
    if os.environ.get("BLOCKSCALE_HOSTILE") == "1":
        sys.path.insert(0, str(ROOT / "test/Checkpoint"))
        return 1 if run(environments[0], count, seed) else 0
    print(f"seed {seed}", flush=True)
    build("BlockScaleC", "blockscale-opt", "blockscale-read-bytecode")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        totals = list(pool.map(lambda environment: run_in(environment, count, seed), environments))
    for environment, (passed, failed) in zip(environments, totals):
        print(f"   in {environment}: {passed} passed, {failed} failed")
    passed, failed = (sum(each) for each in zip(*totals))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
