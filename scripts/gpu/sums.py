#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the sums of matrix instructions on a GPU with those that Numerics/TensorCoreSum.h
says, or finds out how a GPU adds.

    scripts/gpu/sums.py check [--sums N] [--only TEXT] [--vectors FILE]
    scripts/gpu/sums.py search [--only TEXT]

`check` draws operands by the classes of sum_draws.py, multiplies them by each instruction that
the chip has (sum_kernels.py), and counts the results whose bits differ. The last line is
`N sums, N differ`; the exit status is 1 if one does. With --vectors it writes operands and results
of small products of each class, which tests compare with the numpy reference and the emulator.

`search` is told nothing of the chip. It tries numbers of products, bits and exponents until all
classes fit, and prints what it found of each instruction, and which classes do not fit.

Both need a driver, a compiler of C++, Python and NumPy; a checkout on that machine is enough.
"""

import argparse
import contextlib
import ctypes
import sys
import tempfile
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "scripts/gpu")]

from driver import Cuda, find_driver_release
from log_head import describe_commit, make_head
from sum_draws import LOW, describe_class, draw, list_classes
from sum_kernels import ELEMENT_BITS, KINDS, Machine
from sum_model import Model, Numbers, find_compiler

# By the major number of the compute capability: the tensor cores of the header, and the target of
# PTX with all instructions of the chip.
CHIPS = {8: ("ampere", "sm_80"), 9: ("hopper", "sm_90a"), 10: ("blackwell", "sm_100a"),
         12: ("consumer blackwell", "sm_120a")}
ADA = (8, 9)
DEPTHS = (1, 7, 16, 33, 64, 100, 128, 257, 512)
ROWS, COLS = 256, 256
VECTOR_ROWS, VECTOR_COLS = 32, 24
VECTOR_DEPTHS = (7, 16, 33, 64, 100)
SMALLEST = {8: np.uint8, 16: np.uint16}  # types of codes, by their bits

# What a search tries. Words of the model hold sums of terms of at most 26 bits.
PRODUCTS = (4, 8, 16, 32)
BITS = range(10, 27)
LEAST_EXPONENTS = (-10000, *range(-150, -119))


def find_chip(cuda):
    """The tensor cores and the target of PTX of the GPU; ValueError where there is none."""
    capability = []
    for attribute in (75, 76):
        value = ctypes.c_int()
        cuda("cuDeviceGetAttribute", ctypes.byref(value), attribute, 0)
        capability.append(value.value)
    if tuple(capability) == ADA:
        return "ada", "sm_89"
    if capability[0] not in CHIPS:
        raise ValueError(f"expected a GPU with tensor cores of {', '.join(map(str, CHIPS))}.x, but "
                         f"got compute capability {'.'.join(map(str, capability))}")
    return CHIPS[capability[0]]


def list_kinds(target, only=""):
    """The kinds of instructions that a chip has."""
    chip = int(target.removeprefix("sm_").rstrip("a"))
    return [kind for kind in KINDS if only in str(kind) and
            (kind.instruction != "wgmma" or target == "sm_90a") and
            (chip >= 89 or kind.a not in ("e4m3", "e5m2"))]


def make_seed(*values):
    return zlib.crc32(repr(values).encode())


class Run:
    """The kinds of instructions of the GPU, and the model."""

    def __init__(self, options, folder):
        self.cuda = Cuda(options.library)
        self.tensor_cores, self.target = find_chip(self.cuda)
        self.kinds = list_kinds(self.target, options.only)
        self.machine = Machine(self.cuda, self.target)
        self.model = Model(folder)
        print(make_head(options.commit or describe_commit(ROOT),
                        f"{self.cuda.name}, driver {find_driver_release()} of CUDA "
                        f"{self.cuda.version}", " ".join(
                            ["scripts/gpu/sums.py", options.action,
                             *(["--only", options.only] if options.only else [])])))

    def count(self, numbers, kind, operands, results):
        """The results that are not those of the model."""
        return int((self.model.multiply_codes(numbers, kind.types, operands) != results).sum())

    def check(self, sums):
        total = differing = unknown = 0
        classes = {kind: list_classes(kind.types) for kind in self.kinds}
        rounds = -(-sums // (ROWS * COLS * sum(map(len, classes.values()))))
        for kind in self.kinds:
            numbers = self.model.find(self.tensor_cores, kind.instruction, kind.a)
            if not numbers:
                print(f"{kind}: unknown")
                unknown += 1
                continue
            of_kind = wrong = 0
            for name, start in classes[kind]:
                counts = [0, 0]
                for i in range(rounds):
                    depth = DEPTHS[(i + make_seed(name)) % len(DEPTHS)]
                    operands = draw(make_seed(str(kind), name, start, i), kind.types, name, start,
                                    ROWS, COLS, depth)
                    results = self.machine.multiply(kind, operands)
                    counts[0] += results.size
                    counts[1] += self.count(numbers, kind, operands, results)
                of_kind, wrong = of_kind + counts[0], wrong + counts[1]
                if counts[1]:
                    print(f"  {describe_class(name, start)}: {counts[1]} of {counts[0]} differ")
            print(f"{kind}: {len(classes[kind])} classes, {of_kind} sums, {wrong} differ",
                  flush=True)
            total, differing = total + of_kind, differing + wrong
        if unknown:
            print(f"{unknown} instructions whose sums are not known")
        print(f"{total} sums, {differing} differ")
        return differing == 0

    def write_vectors(self, path):
        """Operands of small products by types and class, and the results of instructions."""
        arrays = {}
        for kind in self.kinds:
            for name, start in list_classes(kind.types):
                if kind.a_in_registers:
                    continue
                key = f"{kind.a} x {kind.b}; {describe_class(name, start)}"
                seed = make_seed("vectors", key)
                operands = draw(seed, kind.types, name, start, VECTOR_ROWS, VECTOR_COLS,
                                VECTOR_DEPTHS[seed % len(VECTOR_DEPTHS)])
                code = SMALLEST.get(ELEMENT_BITS[kind.a], np.uint32)
                arrays |= {f"{key}; a": operands.a.astype(code),
                           f"{key}; b": operands.b.astype(code),
                           f"{key}; {kind.instruction}": self.machine.multiply(kind, operands)}
                if start is not None:
                    arrays[f"{key}; start"] = operands.starts
        np.savez_compressed(path, **arrays)

    def search(self):
        """Prints the numbers of each kind. Whether all were found."""
        found = [self.search_kind(kind) for kind in self.kinds]
        print(f"{sum(found)} of {len(found)} instructions found")
        return all(found)

    def search_kind(self, kind):
        runs = []
        for name, start in list_classes(kind.types):
            operands = draw(make_seed("search", str(kind), name, start), kind.types, name, start,
                            32, 32, 8 * 32)
            runs.append((describe_class(name, start), operands,
                         self.machine.multiply(kind, operands)))

        def fits(numbers, names):
            return all(self.count(numbers, kind, *rest) == 0
                       for name, *rest in runs if name.split(",")[0] in names)

        def find(candidates, names):
            return [numbers for numbers in candidates if fits(numbers, names)]

        # Bits of a sum, of which f32 has 23, are at most those that are kept.
        first = find((Numbers(products, bits, of_sum, -133, pairs_apart)
                      for products in PRODUCTS for pairs_apart in (False, True) for bits in BITS
                      for of_sum in {min(bits, 23)} | set(range(10, min(bits, 23)))),
                     ("ordinary",))
        first = find(first, ("spread", "half zeros", "nine tenths zeros"))
        # All exponents fit where no number is small enough to tell.
        last = find((replace(numbers, least_exponent=least) for numbers in first
                     for least in LEAST_EXPONENTS), LOW)
        # Of those that fit alike, the one nearest to Hopper's.
        last.sort(key=lambda numbers: abs(numbers.least_exponent + 133))
        if not last:
            print(f"{kind}: none fits (of the ordinary numbers alone: "
                  f"{'; '.join(map(str, first)) or 'none'})", flush=True)
            return False
        misses = {name: count for name, *rest in runs
                  if (count := self.count(last[0], kind, *rest))}
        others = len({replace(numbers, least_exponent=0) for numbers in last}) - 1
        print(f"{kind}: {last[0]}"
              f"{f' (as {len(last) - 1} others)' if len(last) > 1 and not others else ''}"
              f"{f', or {others} other ways' if others else ''}", flush=True)
        for name, count in misses.items():
            print(f"  {name}: {count} of 1024 differ")
        return not misses


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("check", "search"))
    parser.add_argument("--sums", type=int, default=10**8, metavar="N", help="at least, in all")
    parser.add_argument("--only", default="", metavar="TEXT",
                        help="the instructions with TEXT in their names")
    parser.add_argument("--vectors", type=Path, metavar="FILE", help="write vectors, too")
    parser.add_argument("--library", default="libcuda.so.1", help="the driver's library")
    parser.add_argument("--commit", help="what to print as the commit (default: ask git)")
    options = parser.parse_args()
    if not find_compiler():
        print("error: expected a compiler of C++ to build the model, but there is none",
              file=sys.stderr)
        return 2
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        try:
            run = Run(options, folder)
        except (OSError, RuntimeError, ValueError) as error:
            print(f"error: expected a GPU with tensor cores and its driver: {error}",
                  file=sys.stderr)
            return 2
        if options.action == "search":
            return 0 if run.search() else 1
        is_right = run.check(options.sums)
        if options.vectors:
            run.write_vectors(options.vectors)
        return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
