#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""90 random products on each chip that multiplies block-scaled operands, and all epilogues, in
the emulator under both schedules: within the bound of docs/Numerics.md, and the bytes of the CPU
where results are rounded more than once. `check` runs 60 of sm_100a and 36 of sm_120a.

A line says what ran for a chip; the last one is `N passed, N failed`.

  scripts/long/emulator-products.py [CHIP...]
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from emulated_runs import run_all  # noqa: E402

# The programs of each instruction that multiplies, and the chips that have it.
TCGEN05 = ("sm100_matmul.py", "sm100_epilogue.py")
WARP = ("warp_matmul.py", "warp_epilogue.py")
PROGRAMS = {"sm_100a": TCGEN05, "sm_103a": TCGEN05, "sm_110a": TCGEN05, "sm_120a": WARP,
            "sm_121a": WARP}
CASES = {"sm100_matmul.py": ["--cases=90"], "warp_matmul.py": ["--cases=90"]}


def list_runs(chip):
    return [((name, *CASES.get(name, []), f"--target={chip}"), {})
            for name in PROGRAMS.get(chip, ())]


if __name__ == "__main__":
    sys.exit(run_all(list_runs))
