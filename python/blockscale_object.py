# ===- blockscale_object.py - Objects for the CPU, called from numpy ------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Calls functions of objects that `blockscale-compile --emit=object` writes.

The linker makes an object a shared library, with the serial runtime that it holds,
and ctypes passes memref descriptors ("The ABI of compiled functions" in
docs/Lowering.md). Nothing here checks sizes and types: what a kernel refuses ends the process.
"""

import ctypes
import pathlib
import shutil
import subprocess

CLANG = shutil.which("clang-22") or "clang"


class ObjectError(Exception):
    """A module does not compile or link; the message holds the diagnostics."""


def build_library(compiler, text, stem, cpu="x86-64"):
    """The path of a shared library with the functions of a module's text."""
    stem = pathlib.Path(stem)
    source, code, library = (stem.with_suffix(s) for s in (".mlir", ".o", ".so"))
    source.write_text(text)
    _check(compiler, source, "--target=cpu", f"--cpu={cpu}", "--emit=object", "-o", code)
    _check(CLANG, "-shared", code, "-o", library)
    return library


def descriptor(array):
    """A dense memref descriptor: allocated, aligned, offset, sizes, strides. Code does not read
    the strides.

    Raises: ValueError for an array that is not dense, row-major and in the machine's byte order.
    """
    if not (array.flags.c_contiguous and array.dtype.isnative):
        raise ValueError("expected a dense row-major array in the byte order of this machine, but "
                         f"got {array.dtype.str} of shape {array.shape} with strides "
                         f"{array.strides}")
    strides = [stride // array.itemsize for stride in array.strides]
    words = [array.ctypes.data, array.ctypes.data, 0, *array.shape, *strides]
    return (ctypes.c_int64 * len(words))(*words)


class Object:
    """The functions of a module's text, compiled for `cpu`; files begin with `stem`.

    Code for the default CPU runs, and adds in the same order, on every machine.
    """

    def __init__(self, compiler, text, stem, cpu="x86-64"):
        self._library = ctypes.CDLL(str(build_library(compiler, text, stem, cpu)))

    @classmethod
    def load(cls, library):
        """The functions of a file that build_library() wrote, maybe on another machine."""
        functions = cls.__new__(cls)
        functions._library = ctypes.CDLL(str(library))
        return functions

    def bind(self, name, *arrays):
        """What calls a function on arrays in storage form, results behind arguments."""
        function = self._library[f"_mlir_ciface_{name}"]
        function.restype = None
        return Call(function, arrays)

    def call(self, name, *arrays):
        self.bind(name, *arrays)()


class Call:
    """A function and its arrays, which live as long as this does."""

    def __init__(self, function, arrays):
        self._function, self._arrays = function, arrays
        self._descriptors = [descriptor(array) for array in arrays]
        self._arguments = [ctypes.byref(item) for item in self._descriptors]

    def __call__(self):
        self._function(*self._arguments)


def _check(*command):
    try:
        process = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise ObjectError(f"{command[0]}: {error.strerror}") from error
    if process.returncode:
        raise ObjectError(f"{command[0]}: {process.stderr.strip()}")
