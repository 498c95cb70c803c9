#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packs the tests of GPU kernels into a folder, for a machine with a GPU that has its
driver, Python and NumPy, and nothing else:

  scripts/gpu/pack.py FOLDER [--target CHIP]...        # here
  python3 FOLDER/run.py                                # there

The tests are the golden arrays (test/Conformance), and every kind of kernel with the
bytes that the CPU computes (sm100_kernels.py, strip_kernels.py and gpu_*.py in
test/Execution/Inputs).
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BLOCKSCALE_BUILD_DIR", ROOT / "build"))
COPIES = ("python/blockscale_runtime.py", "python/blockscale_reference/*.py",
          "scripts/log_head.py", "test/batches.py", "test/Conformance/*.py")
CALLS_OF_A_BUNDLE = 24

sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "test/Execution/Inputs")]

import sm100_kernels
import strip_kernels
from log_head import describe_commit
from packing import build_bundle, copy_files


def copy_sources(folder, golden):
    copy_files(COPIES, folder)
    shutil.copytree(golden, folder / "golden")
    (folder / "lib").mkdir(exist_ok=True)
    shutil.copy(BUILD / "lib/libBlockScaleRuntime.so", folder / "lib")
    shutil.copy(ROOT / "scripts/gpu/run.py", folder)


def pack_conformance(folder, golden, chip):
    subprocess.run(
        [sys.executable, ROOT / "test/Conformance/run.py", "--cases", golden, "--target", chip,
         "--compile-to", folder / "conformance" / chip, "--tool", BUILD / "bin/blockscale-compile",
         "--jobs", str(os.cpu_count())],
        check=True)


def pack_calls(calls, folder, name, chips):
    """Writes a bundle of one function for each chip, and its arguments and results."""
    text, inputs = sm100_kernels.function_of_calls(calls)
    for chip in chips:
        build_bundle(text, chip, folder / chip / f"{name}.bundle")
    arrays = {f"in{i}": np.load(file) for i, file in enumerate(inputs)}
    wanted = [array for call in calls for array in call.wanted]
    arrays |= {f"out{i}": array for i, array in enumerate(wanted)}
    np.savez_compressed(folder / f"{name}.npz", kinds=[str(call.kind) for call in calls],
                        **arrays)


def pack_kernels(folder, chips, every):
    """One call of each kind, in bundles of some. Returns their number."""
    with tempfile.TemporaryDirectory(prefix="pack-") as temporary:
        work = Path(temporary)
        calls = []
        sources = {"rows": (sm100_kernels.kinds(), sm100_kernels.draw_calls),
                   "strips": (strip_kernels.strip_kinds(), strip_kernels.draw_calls)}
        for name, (kinds, draw) in sources.items():
            kinds = [kind for kind in list(kinds)[::every] if not kind.refusal(chips[0])]
            place = work / name
            place.mkdir()
            calls += [each[i % 2] for i, each in enumerate(draw(kinds, place, None))]
        parts = sm100_kernels.divided(calls, CALLS_OF_A_BUNDLE)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for done in [pool.submit(sm100_kernels.compute_on_cpu, part, work / f"cpu{i}", "host")
                         for i, part in enumerate(parts)]:
                done.result()
            for chip in chips:
                (folder / chip).mkdir(parents=True)
            for done in [pool.submit(pack_calls, part, folder, f"{i:03}", chips)
                         for i, part in enumerate(parts)]:
                done.result()
    return len(calls)


def pack_other_ops(folder, chips, every):
    """The calls of gpu_*.py. Returns their number."""
    count = 0
    for script in sorted((ROOT / "test/Execution/Inputs").glob("gpu_*.py")):
        if "Calls()" not in script.read_text() and script.name != "gpu_plain.py":
            continue
        with tempfile.TemporaryDirectory(prefix="pack-") as work:
            run = subprocess.run(
                [sys.executable, script, work, "--pack", folder, f"--every={every}",
                 *(f"--target={chip}" for chip in chips)],
                check=True, stdout=subprocess.PIPE, text=True)
        count += int(run.stdout)
    return count


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="is created, and must not exist")
    parser.add_argument("--target", action="append", metavar="CHIP",
                        help="to compile for (default: sm_80 and sm_90a)")
    parser.add_argument("--every", type=int, default=1, metavar="N",
                        help="pack every Nth call of a kernel")
    parser.add_argument("--golden", type=Path, default=ROOT / "test/Data/golden", metavar="DIR",
                        help="pack these golden arrays")
    options = parser.parse_args()
    chips = options.target or ["sm_80", "sm_90a"]
    options.folder.mkdir(parents=True)
    copy_sources(options.folder, options.golden)
    for chip in chips:
        pack_conformance(options.folder, options.golden, chip)
    count = pack_kernels(options.folder / "kernels", chips, options.every)
    count += pack_other_ops(options.folder / "kernels", chips, options.every)
    commit = describe_commit(ROOT)
    about = {"commit": commit, "chips": chips}
    (options.folder / "pack.json").write_text(json.dumps(about))
    size = sum(path.stat().st_size for path in options.folder.rglob("*"))
    print(f"{count} calls of kernels for {', '.join(chips)}; {size >> 20} MiB")


if __name__ == "__main__":
    main()
