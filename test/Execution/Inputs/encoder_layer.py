# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs encoder_layer.mlir, one module, on the CPU and in the emulator for two chips. The
quantized bytes of the first products' input, before which all sums have one order, are
those of the CPU; the result, behind products whose sums have no order, is close.

Usage: encoder_layer.py FOLDER
"""

import argparse
from pathlib import Path

import numpy as np

from expect import Expectations, first_difference
from gpu_calls import ON_CPU, run_places

PLACES = (ON_CPU, ("--on=emulator", "--target=sm_100a", "--schedule=prompt"),
          ("--on=emulator", "--target=sm_90a", "--schedule=prompt"))
SENTENCES, LENGTH, WORDS, PLACES_OF_WORDS, HIDDEN, WIDE = 2, 11, 60, 40, 128, 256
# A result is of a norm, so its numbers are about 1; that of codes that differ in a last
# place is within this.
CLOSE = 0.1


def make_arguments(random):
    def normal(*shape, scale=1.0):
        return np.asarray(random.standard_normal(shape) * scale, np.float32)

    mask = np.ones((SENTENCES, LENGTH), bool)
    mask[1, LENGTH - 4:] = False
    norms = [array for _ in range(3) for array in (1 + normal(HIDDEN, scale=0.1),
                                                   normal(HIDDEN, scale=0.1))]
    weights = [normal(*shape, scale=shape[1] ** -0.5)
               for shape in (*[(HIDDEN, HIDDEN)] * 4, (WIDE, HIDDEN), (HIDDEN, WIDE))]
    biases = [normal(size, scale=0.1) for size in (*[HIDDEN] * 4, WIDE, HIDDEN)]
    return [random.integers(0, WORDS, (SENTENCES, LENGTH)), mask, normal(WORDS, HIDDEN),
            normal(PLACES_OF_WORDS, HIDDEN), *norms, *weights, *biases]


def find_problem(wanted, got):
    """What is wrong with the results of a place, or None: codes, scales and the result."""
    error = float(np.max(np.abs(wanted[2] - got[2])))
    is_close = error < CLOSE and np.ptp(got[2]) > 1
    return first_difference(wanted[:2], got[:2]) or (
        None if is_close else f"expected errors below {CLOSE}, but got {error}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    text = Path(__file__).with_name("encoder_layer.mlir").read_text()
    arguments = make_arguments(np.random.default_rng(0))
    (problem, wanted), *others = run_places(text, arguments, 3, folder, PLACES)
    expect = Expectations()
    expect.record("cpu", problem)
    for place, (problem, got) in zip(PLACES[1:], others):
        expect.record(place[1], problem or find_problem(wanted, got))
    expect.finish()


if __name__ == "__main__":
    main()
