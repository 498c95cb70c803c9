# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs forward and backward of a layer of three experts in the emulator, as the kernels that its
ops share and as kernels of one op each: results have the same bytes. Groups have any lengths, and
behind the last one rows of x and dy are NaN.

Usage: expert_layer.py MODULE FOLDER [CHIP..]
"""

import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from expect import Expectations, first_difference
from gpu_calls import SCHEDULES, run_places
from reference import to_bf16

CHIPS = ("sm_80", "sm_90a", "sm_100a", "sm_120a")
# Rows of x, and the ends of its groups.
CASES = ((150, (37, 37, 149)), (61, (1, 60, 61)), (170, (0, 161, 162)), (40, (0, 0, 0)))
RESULTS = 5


def draw(random, type, rows, ends):
    """An argument of a type of the module: the ends, tokens, or codes or scales of weights."""
    *dims, element = re.fullmatch(r"tensor<((?:\S+x)*)([^,]+).*>", type).groups()
    shape = [rows if dim == "?" else int(dim) for dim in dims[0].split("x")[:-1]]
    if element == "i32":
        return np.array(ends, np.int32)
    if element == "bf16":
        x = random.standard_normal(shape) * 2.0 ** random.integers(-3, 4, shape)
        x[ends[-1]:] = np.nan
        return to_bf16(x.astype(np.float32))
    if element == "f8E4M3FN":
        # Codes of neither NaN nor more than 8.
        signs = random.integers(0, 2, shape) << 7
        return (signs | random.integers(0, 0x50, shape)).astype(np.uint8)
    # Scales in tiles, as memory has them.
    *groups, rows, cols = shape
    shape = (*groups, -(-rows // 128), -(-cols // 4), 32, 4, 4)
    return random.integers(117, 124, shape).astype(np.uint8)


def main():
    module, folder = Path(sys.argv[1]).read_text(), Path(sys.argv[2])
    chips = sys.argv[3:] or CHIPS
    head = module[module.index("func.func"):module.index("{\n")]
    arguments = re.findall(r"%\w+: (tensor<.*?>)[,)]", head)
    expect = Expectations()

    def run(case, chip):
        number, (rows, ends) = case
        random = np.random.default_rng(number)
        arrays = [draw(random, type, rows, ends) for type in arguments]
        places = [("--on=emulator", f"--target={chip}", "--fuse=false"),
                  ("--on=emulator", f"--target={chip}", *SCHEDULES[number % len(SCHEDULES)])]
        return run_places(module, arrays, RESULTS, folder / f"{chip}-{number}", places)

    cases = [(case, chip) for case in enumerate(CASES) for chip in chips]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for (case, chip), runs in zip(cases, pool.map(lambda each: run(*each), cases), strict=True):
            (problem, wanted), (other, got) = runs
            expect.record(f"{chip}: {case}", problem or other or first_difference(got, wanted))
    expect.finish()


if __name__ == "__main__":
    main()
