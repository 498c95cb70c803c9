#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each recipe takes on each kind of chip, by the machine code of its kernel.

  python3 benchmarks/gpu/recipes.py [--only GLOB]

After scripts/build.sh; needs ptxas and nvdisasm. Compiles quantizers of rows of 4096 bf16
with swizzled scales and prints a log with a table: all instructions of the kernel for each element
that a thread loads, those of rare ways among them. `!` marks spills or a stack; the exit
status is then 1.
"""

import argparse
import fnmatch
import sys

from cases import Case, quantize
from static import compile_case, find_nvdisasm, measure, print_head

CHIPS = ["sm_80", "sm_89", "sm_90a", "sm_100a"]
SHAPE = (8192, 4096)
NVFP4 = ("f4E2M1FN", "f8E4M3FN", 16)
MXFP8 = ("f8E4M3FN", "f8E8M0FNU", 32)
MXFP4 = ("f4E2M1FN", "f8E8M0FNU", 32)
# A label, the formats and the block, the recipe, and what is given.
RECIPES = [
    ("NVFP4 `torchao`, one level", NVFP4, "torchao", None),
    ("NVFP4 `torchao`, scale given", NVFP4, "torchao", "global_scale"),
    ("NVFP4 `mslk`, scale given", NVFP4, "mslk", "global_scale"),
    ("NVFP4 `te`, amax given", NVFP4, "te", "global_amax"),
    ("MXFP8 E4M3 `rceil`", MXFP8, "rceil", None),
    ("MXFP4 `rceil`", MXFP4, "rceil", None),
]


def count_instructions(case, chip, nvdisasm):
    """Of the case's one kernel for an element, and whether registers sufficed."""
    (resources, kernel), = compile_case(case, chip, nvdisasm)
    row = measure(case, chip, resources, kernel)
    return row["whole"], not (row["spills"] or row["stack"])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="*", metavar="GLOB", help="these recipes, by label")
    options = parser.parse_args()
    nvdisasm = find_nvdisasm()
    print_head()
    print("| |", " | ".join(CHIPS), "|\n" + "| --- " * (len(CHIPS) + 1) + "|")
    all_fit = True
    for label, (data, scale, block), recipe, given in RECIPES:
        if not fnmatch.fnmatch(label, options.only):
            continue
        m, k = SHAPE
        text = quantize(SHAPE, (1, block), recipe, data, scale, (m, k // block), True, given)
        case = Case(label.split()[0].lower(), text, SHAPE)
        cells = []
        for chip in CHIPS:
            count, fits = count_instructions(case, chip, nvdisasm)
            cells.append(f"{count:.1f}{'' if fits else ' !'}")
            all_fit &= fits
        print("|", " | ".join([label, *cells]), "|", flush=True)
    return 0 if all_fit else 1


if __name__ == "__main__":
    sys.exit(main())
