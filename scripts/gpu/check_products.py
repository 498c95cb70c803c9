#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs products of a scaled and a plain operand, drawn at random as for the emulator
(test/Execution/Inputs/sm90_matmul.py), on a GPU, and compares with numpy, within the bound:

  scripts/gpu/check_products.py pack FOLDER [--cases N] [--seed N]      # here
  python3 FOLDER/scripts/gpu/check_products.py run                      # there

The other machine needs a Hopper GPU, its driver, Python and NumPy. The last line is
`N passed, N failed`; the exit status is 1 if one failed.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BLOCKSCALE_BUILD_DIR", ROOT / "build"))
CHIP = "sm_90a"
COPIES = ("python/blockscale_runtime.py", "python/blockscale_reference/*.py",
          "scripts/log_head.py", "scripts/gpu/check_products.py", "test/batches.py",
          "test/Execution/Inputs/*.py")
FILL = 0xA5  # of what no kernel wrote

sys.path[:0] = [str(ROOT / name) for name in ("scripts", "python", "test/Execution/Inputs")]

import sm90_matmul  # noqa: E402
from expect import Expectations  # noqa: E402
from log_head import describe_commit, make_head  # noqa: E402


def pack(options):
    folder = options.folder
    folder.mkdir(parents=True)
    for pattern in COPIES:
        for path in ROOT.glob(pattern):
            to = folder / path.relative_to(ROOT)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, to)
    shutil.copy(BUILD / "lib/libBlockScaleRuntime.so", folder)

    def compile_case(number):
        *_, text, _ = sm90_matmul.draw(options.seed, number)
        module = folder / f"{number}.mlir"
        module.write_text(text)
        subprocess.run([BUILD / "bin/blockscale-compile", module, f"--target={CHIP}",
                        "--emit=bundle", "-o", folder / f"{number}.bundle"], check=True)
        module.unlink()

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compile_case, range(options.cases)))
    (folder / "pack.json").write_text(json.dumps(
        {"commit": describe_commit(ROOT), "seed": options.seed, "cases": options.cases}))


def run(_):
    # Only there, where the runtime's library is beside it.
    import blockscale_runtime

    about = json.loads((ROOT / "pack.json").read_text())
    runtime = blockscale_runtime.Runtime(ROOT / "libBlockScaleRuntime.so")
    device = runtime.device()
    print(make_head(about["commit"], f"{device.name}, driver {device.driver_version}",
                    " ".join(["python3", *sys.argv])))
    expect = Expectations()
    for number in range(about["cases"]):
        op, case, *_ = sm90_matmul.draw(about["seed"], number)
        try:
            module = device.load(runtime.bundle(ROOT / f"{number}.bundle"))
            problem = case.problem(module.run("mm", *case.arguments, fill=FILL)[0])
        except blockscale_runtime.Error as error:
            problem = f"{error.status}: {error}"
        expect.record(f"case {number}: {op}", problem)
    expect.finish()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    here = commands.add_parser("pack", help="compile the cases into a folder")
    here.add_argument("folder", type=Path, help="is created, and must not exist")
    here.add_argument("--cases", type=int, default=200)
    here.add_argument("--seed", type=int, default=1)
    here.set_defaults(work=pack)
    there = commands.add_parser("run", help="run them on the GPU of this machine")
    there.set_defaults(work=run)
    options = parser.parse_args()
    options.work(options)


if __name__ == "__main__":
    main()
