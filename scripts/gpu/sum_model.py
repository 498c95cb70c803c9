# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums of tensor cores by Numerics/TensorCoreSum.h, from Python: sum_model.cpp, compiled for the
machine at hand."""

import ctypes
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
SOURCE = "scripts/gpu/sum_model.cpp"
COMPILERS = ("c++", "g++", "clang++", "clang++-22")
FLAGS = ("-std=c++17", "-O3", "-march=native", "-ffp-contract=off", "-DBLOCKSCALE_NO_FP_CONTRACT",
         "-shared", "-fPIC", "-pthread")

# As the enumerations of TensorCoreSum.h have them.
FORMATS = ("bf16", "f16", "tf32", "e4m3", "e5m2")
TENSOR_CORES = ("ampere", "ada", "hopper", "blackwell", "consumer blackwell")
INSTRUCTIONS = ("mma.sync", "wgmma", "tcgen05")


@dataclass(frozen=True)
class Numbers:
    """Those of a TensorCoreSum."""
    products: int
    fraction_bits: int
    result_bits: int
    least_exponent: int
    pairs_apart: bool = False

    def as_array(self):
        return (ctypes.c_int32 * 5)(self.products, self.fraction_bits, self.result_bits,
                                    self.least_exponent, self.pairs_apart)

    def __str__(self):
        order = ", pairs apart" if self.pairs_apart else ""
        return (f"{self.products} products an addition{order}, {self.fraction_bits} bits kept, "
                f"{self.result_bits} of the sum, least exponent {self.least_exponent}")


@dataclass(frozen=True)
class Terms:
    """Factors [rows, K]: significands with `bits` behind their points, and exponents."""
    significands: np.ndarray
    exponents: np.ndarray
    bits: int


def find_compiler():
    names = [os.environ.get("CXX"), *COMPILERS]
    return next((path for path in map(shutil.which, filter(None, names)) if path), None)


def _pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


class Model:
    """The library, compiled into `folder`."""

    def __init__(self, folder, root=ROOT):
        library = Path(folder) / "sum_model.so"
        subprocess.run([find_compiler(), *FLAGS, f"-I{root / 'include'}", root / SOURCE, "-o",
                        library], check=True)
        self._library = ctypes.CDLL(str(library))

    def find(self, tensor_cores, instruction, kind):
        """What the header knows of an instruction; None where it is nothing."""
        numbers = (ctypes.c_int32 * 5)()
        if not self._library.findSum(
                TENSOR_CORES.index(tensor_cores), INSTRUCTIONS.index(instruction),
                FORMATS.index(kind), numbers):
            return None
        return Numbers(*numbers[:4], bool(numbers[4]))

    def decode(self, numbers, kind, codes):
        """The terms of factors that are added by `numbers`."""
        codes = np.ascontiguousarray(codes, np.uint32)
        significands, exponents = (np.empty(codes.shape, np.int32) for _ in range(2))
        bits = self._library.decodeTerms(
            numbers.as_array(), FORMATS.index(kind), _pointer(codes), ctypes.c_int64(codes.size),
            _pointer(significands), _pointer(exponents))
        return Terms(significands, exponents, bits)

    def multiply_codes(self, numbers, kinds, operands):
        """The same as multiply, of the codes of sum_draws.Operands."""
        a, b = (self.decode(numbers, kind, codes)
                for kind, codes in zip(kinds, (operands.a, operands.b)))
        return self.multiply(numbers, a, b, operands.starts)

    def multiply(self, numbers, a, b, starts):
        """The bits of A B^T + starts [rows, cols], as u32, of terms."""
        starts = np.ascontiguousarray(starts, np.uint32)
        results = np.empty(starts.shape, np.uint32)
        operands = [np.ascontiguousarray(array) for terms in (a, b)
                    for array in (terms.significands, terms.exponents)]
        sizes = (*starts.shape, a.significands.shape[1])
        self._library.multiplyTerms(
            numbers.as_array(), a.bits + b.bits, *map(_pointer, operands),
            *map(ctypes.c_int64, sizes), _pointer(starts), _pointer(results))
        return results
