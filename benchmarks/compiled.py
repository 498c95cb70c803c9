# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of cases.mlir as Python functions on numpy arrays.

blockscale-compile writes an object, whose runtime is serial; the linker makes
it a shared library, and ctypes calls it with memref descriptors.
"""

import ctypes
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLANG = "/usr/lib/llvm-22/bin/clang"


def read_cases(path=ROOT / "benchmarks/cases.mlir"):
    """The module text of each function."""
    cases = {}
    for part in pathlib.Path(path).read_text().split("// -----\n"):
        cases[re.search(r"func\.func @(\w+)", part).group(1)] = part
    return cases


def descriptor(array):
    """A dense memref descriptor: allocated, aligned, offset, sizes, strides."""
    strides = [stride // array.itemsize for stride in array.strides]
    words = [array.ctypes.data, array.ctypes.data, 0, *array.shape, *strides]
    return (ctypes.c_int64 * len(words))(*words)


class Compiled:
    """One function, compiled for `cpu`, with arrays for arguments and results."""

    def __init__(self, tool, folder, name, text, cpu, arrays):
        stem = pathlib.Path(folder) / f"{name}-{cpu}"
        source, library = stem.with_suffix(".mlir"), stem.with_suffix(".so")
        source.write_text(text)
        subprocess.run([tool, source, "--target=cpu", f"--cpu={cpu}",
                        "--emit=object", "-o", stem.with_suffix(".o")], check=True)
        subprocess.run([CLANG, "-shared", stem.with_suffix(".o"), "-o", library],
                       check=True)
        self.function = ctypes.CDLL(str(library))[f"_mlir_ciface_{name}"]
        self.function.restype = None
        self.arrays = arrays
        self.descriptors = [descriptor(array) for array in arrays]
        self.arguments = [ctypes.byref(item) for item in self.descriptors]

    def __call__(self):
        self.function(*self.arguments)
