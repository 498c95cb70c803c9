#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""90 random products for each kind of kernels that a chip has, and all epilogues, in the emulator
under both schedules: within the bound of docs/Numerics.md, and the bytes of the CPU where results
are rounded more than once. Then weight gradients of groups of any length, with 500 random sets of
ends in turn of all formats, on the CPU and in the emulator. `check` runs some on some chips;
emulator-seeds.py has the golden products on all.

A line says what ran for a chip; the last one is `N passed, N failed`.

  scripts/long/emulator-products.py [CHIP...]
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from emulated_runs import run_all

# The programs of each instruction that multiplies, and the chips that have it.
TCGEN05 = ("sm100_matmul.py", "sm100_epilogue.py", "sm100_plain_matmul.py",
           "sm100_plain_epilogue.py")
WARP = ("warp_matmul.py", "warp_epilogue.py")
MMA = ("mma_matmul.py", "mma_epilogue.py")
WGMMA = ("sm90_matmul.py", "sm90_both.py", "sm90_epilogue.py")
PROGRAMS = {"sm_80": MMA, "sm_86": MMA, "sm_89": MMA, "sm_90a": WGMMA, "sm_100a": TCGEN05,
            "sm_103a": TCGEN05, "sm_110a": TCGEN05, "sm_120a": (*WARP, *MMA),
            "sm_121a": (*WARP, *MMA)}
# Those of products without scales, which each of them multiplies.
PLAIN = ("plain_matmul.py", "plain_epilogue.py")
# Groups of any length, which every chip multiplies, too.
RAGGED = ("ragged_groups.py", "--cases=500", "--each", "--target=cpu")
# How the names end of those that draw products.
DRAWN = ("matmul.py", "both.py")


def list_runs(chip):
    if chip not in PROGRAMS:
        return []
    programs = [(name, *["--cases=90"] * name.endswith(DRAWN))
                for name in (*PROGRAMS[chip], *PLAIN)]
    return [((*program, f"--target={chip}"), {}) for program in (*programs, RAGGED)]


if __name__ == "__main__":
    sys.exit(run_all(list_runs))
