# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the functions of a gated MLP's training in the emulator, as the kernels that their ops share
and as kernels of one op each: results have the same bytes.

Usage: gated_mlp.py MODULE FOLDER [CHIP..]
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

CHIPS = ("sm_90a", "sm_100a")


def draw(random, type):
    """An argument of a type of the module: rows, weights, random bits, or codes and scales."""
    *dims, element = re.fullmatch(r"tensor<((?:\d+x)*)(\w+)(?:, #tiles)?>", type).groups()
    shape = [int(dim) for dim in dims[0].split("x")[:-1]]
    if element == "i64":
        return random.integers(-2**63, 2**63 - 1, shape)
    if element == "f32":
        return np.float32(random.uniform(0.5, 2)).reshape(shape)
    if element == "bf16":
        x = random.standard_normal(shape) * 2.0 ** random.integers(-3, 4, (shape[0], 1))
        return to_bf16(x.astype(np.float32))
    if element == "f4E2M1FN":
        return random.integers(0, 256, (*shape[:-1], shape[-1] // 2)).astype(np.uint8)
    if "tiles" not in type:
        # Codes of E4M3 that are neither NaN nor more than 8.
        signs = random.integers(0, 2, shape) << 7
        return (signs | random.integers(0, 0x50, shape)).astype(np.uint8)
    # Scales in tiles, as memory has them, around 1.
    first, last = (117, 124) if element == "f8E8M0FNU" else (0x20, 0x40)
    rows, cols = shape
    shape = (-(-rows // 128), -(-cols // 4), 32, 4, 4)
    return random.integers(first, last, shape).astype(np.uint8)


def main():
    module, folder = Path(sys.argv[1]).read_text(), Path(sys.argv[2])
    chips = sys.argv[3:] or CHIPS
    aliases, *functions = re.split(r"(?=^func\.func )", module, flags=re.MULTILINE)
    expect = Expectations()

    def run(case, chip):
        number, function = case
        head = function[:function.index("{\n")]
        random = np.random.default_rng(number)
        types, results = head.split("->")
        arrays = [draw(random, type) for type in re.findall(r"%\w+: (tensor<.*?>)(?=[,)])", types)]
        places = [("--on=emulator", f"--target={chip}", "--fuse=false"),
                  ("--on=emulator", f"--target={chip}", *SCHEDULES[number % len(SCHEDULES)])]
        return run_places(aliases + function, arrays, results.count("tensor<"),
                          folder / f"{chip}-{number}", places)

    cases = [(case, chip) for case in enumerate(functions) for chip in chips]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for (case, chip), runs in zip(cases, pool.map(lambda each: run(*each), cases), strict=True):
            (problem, wanted), (other, got) = runs
            name = re.match(r"func\.func @(\w+)", case[1])[1]
            expect.record(f"{chip}: {name}", problem or other or first_difference(got, wanted))
    expect.finish()


if __name__ == "__main__":
    main()
