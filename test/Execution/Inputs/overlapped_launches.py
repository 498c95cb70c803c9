# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Takes the waits for the launch before out of the kernels of a bundle, one kernel at a time, and
runs each mutant in the emulator, which must report it unless the kernel is that of the first launch
alone, which overlaps none.

  overlapped_launches.py BUNDLE FOLDER      # where FOLDER has the arguments of its function
"""

import json
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "python"))

import blockscale_bundle

WAIT = "griddepcontrol.wait;"
ARGUMENTS = ("x", "w1", "s1", "w2", "s2", "w3", "s3", "g")


def make_mutants(ptx):
    """Names of kernels, and PTX in which that kernel has no wait."""
    parts = re.split(r"(?=^\.visible \.entry )", ptx, flags=re.MULTILINE)
    for i, part in enumerate(parts[1:], start=1):
        name = re.search(r"\.entry (\w+)", part).group(1)
        if WAIT not in part:
            raise ValueError(f"expected {name} to wait")
        yield name, "".join([*parts[:i], part.replace(WAIT, ""), *parts[i + 1:]])


def main():
    bundle, folder = Path(sys.argv[1]), Path(sys.argv[2])
    [(plan, ptx)], constants = blockscale_bundle.read(bundle.read_bytes())
    launches = [step["launch"]["kernel"] for step in json.loads(plan)["functions"][0]["steps"]]
    passed = failed = 0
    for kernel, mutant in make_mutants(ptx):
        path = folder / "mutant.bundle"
        path.write_bytes(blockscale_bundle.write([(plan, mutant)], constants))
        command = ["blockscale-emulate", "--chip=sm_90a", "--program", "blockscale-launch", path]
        for argument in ARGUMENTS:
            command += ["--in", folder / f"{argument}.npy"]
        for i in range(3):
            command += ["--out", folder / f"mutant{i}.npy"]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        # A launch that does not wait, or one behind it for which it should have waited.
        is_found = run.returncode != 0 and bool(
            re.search(r"hazard: .* of the launch (2 )?before (stores|loads)", run.stderr))
        is_right = is_found == (kernel in launches[1:])
        passed, failed = passed + is_right, failed + (not is_right)
        print(f"{kernel} without waits: {'found' if is_found else 'not found'}"
              f"{'' if is_right else ', WRONG'}")
        if not is_right:
            print(run.stderr)
    print(f"{passed} passed, {failed} failed")


main()
