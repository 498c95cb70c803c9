# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles modules, and calls their functions in this process.

Arrays are in storage form. Results start as 0xFF bytes; arguments and results
end at a page that nobody may touch (see host.cpp), so a byte that is not written
and an access out of bounds both show.
"""

import atexit
import ctypes
import faulthandler
import functools
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

faulthandler.enable()

CLANG = shutil.which("clang-22") or "clang"
DTYPES = {"i1": "bool", "i8": "uint8", "f8E4M3FN": "uint8", "f8E5M2": "uint8",
          "f8E8M0FNU": "uint8", "bf16": "uint16", "f16": "float16", "f32": "float32",
          "f64": "float64", "i16": "int16", "i32": "int32", "i64": "int64", "index": "int64"}
SCALARS = {"float32": ctypes.c_float, "int32": ctypes.c_int32, "int64": ctypes.c_int64,
           "bool": ctypes.c_bool}
FUNCTION = re.compile(r"func\.func @([\w.]+)\((.*)\) (?:attributes )?\{")
ARGUMENT = re.compile(r"%\w+: (?:(tensor|memref)<((?:(?:\d+|\?)x)*)(\w+)>|(\w+))")


class ModuleError(Exception):
    """The module does not compile, or a call breaks a rule."""


@dataclass(frozen=True)
class Slot:
    """An argument or a result. Sizes of a shape may be None; scalars have none."""

    kind: str  # tensor, memref (a result) or scalar
    dtype: np.dtype
    shape: tuple
    element: str


class Module:
    """`source` is a path or MLIR text. The IR goes through blockscale-opt with
    `passes`, then through the stages of the CPU pipeline from `first_stage` on:
    form-kernels leaves canonicalization out. Code that is not optimized gives the same bits, and is
    compiled in half of the time: where a test compares modules before and after a pass, it is
    enough."""

    _count = 0

    def __init__(self, source, folder, passes=(), first_stage="verify-layout",
                 cpu="x86-64", optimize=True):
        Module._count += 1
        stem = Path(folder) / f"module{Module._count}"
        if not isinstance(source, Path):
            text, source = source, stem.with_suffix(".mlir")
            source.write_text(text)
        passed, stored, library = (stem.with_suffix(s) for s in (".in", ".stored", ".so"))
        _call("blockscale-opt", source, *passes, "-o", passed)
        stages = f"from={first_stage} to=materialize-storage"
        _call("blockscale-opt", passed, f"--blockscale-to-cpu={stages}", "-o", stored)
        _call("blockscale-compile", stored, "--target=cpu", f"--cpu={cpu}",
              f"--optimize={int(optimize)}", "--emit=object", "-o", stem.with_suffix(".o"))
        _call(CLANG, "-shared", "-fuse-ld=lld", "-Wl,--wrap=malloc,--wrap=free", _compile_host(),
              stem.with_suffix(".o"), "-o", library)
        self.text = passed.read_text()
        self._library = ctypes.CDLL(str(library))
        self._library.hostTakeReport.restype = ctypes.c_char_p
        self._library.hostAllocate.restype = ctypes.c_void_p
        functions = {m[1]: _slots(m[2]) for m in FUNCTION.finditer(stored.read_text())}
        self._sizes = {name for name in functions if name.endswith("__result_sizes")}
        self.functions = {n: s for n, s in functions.items() if n not in self._sizes}

    def arguments(self, name):
        return [slot for slot in self.functions[name] if slot.kind != "memref"]

    def call(self, name, *arguments, range_size=0):
        """The results of a function, whose parallel loops run `range_size` items
        at a time (0: all)."""
        slots = self.arguments(name)
        results = [slot for slot in self.functions[name] if slot.kind == "memref"]
        arguments = [self._argument(*pair) for pair in zip(slots, arguments, strict=True)]
        ctypes.c_int64.in_dll(self._library, "hostRangeSize").value = range_size
        dynamic = sum(size is None for slot in results for size in slot.shape)
        sizes = iter(())
        if dynamic:
            [sizes] = self._invoke(f"{name}__result_sizes", slots, arguments,
                                   [((dynamic,), np.dtype("int64"))])
            sizes = iter(sizes.tolist())
        shapes = [tuple(next(sizes) if s is None else s for s in slot.shape)
                  for slot in results]
        return self._invoke(name, slots, arguments,
                            [(shape, slot.dtype) for shape, slot in zip(shapes, results)])

    def _argument(self, slot, argument):
        array = np.asarray(argument)
        fits = len(array.shape) == len(slot.shape) and all(
            size in (None, found) for size, found in zip(slot.shape, array.shape))
        if array.dtype != slot.dtype or not fits:
            raise ModuleError(f"expected {slot}, but got {array.dtype} {array.shape}")
        return array

    def _invoke(self, name, slots, arguments, results):
        tensors = [a for slot, a in zip(slots, arguments) if slot.kind == "tensor"]
        places = [_Memory(self._library, a.dtype, a.shape) for a in tensors]
        for place, array in zip(places, tensors):
            place.array[...] = array
        results = [_Memory(self._library, dtype, shape) for shape, dtype in results]
        descriptors = iter([place.descriptor() for place in places])
        passed = [next(descriptors) if slot.kind == "tensor"
                  else SCALARS[slot.dtype.name](array.item())
                  for slot, array in zip(slots, arguments)]
        passed += [result.descriptor() for result in results]
        function = self._library[f"_mlir_ciface_{name}"]
        function.restype = None
        function(*passed)
        arrays = [result.array.copy() for result in results]
        for i, (place, array) in enumerate(zip(places, tensors)):
            if place.array.tobytes() != array.tobytes():
                raise ModuleError(f"@{name}: tensor {i} was written to")
        for memory in places + results:
            memory.free()
        report = self._library.hostTakeReport()
        live = ctypes.c_int64.in_dll(self._library, "hostLive")
        problems = [report.decode()] if report else []
        if live.value:
            problems.append(f"{live.value} allocations were not freed")
            live.value = 0
        if problems:
            raise ModuleError(f"@{name}: {'; '.join(problems)}")
        return arrays


@functools.cache
def _compile_host():
    """The object of host.cpp, which every module of this process links."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    host = Path(folder.name) / "host.o"
    _call(CLANG, "-O1", "-fPIC", "-c", Path(__file__).with_name("host.cpp"), "-o", host)
    return host


class _Memory:
    """An array between bytes that show writes and pages that catch accesses."""

    def __init__(self, library, dtype, shape):
        self._library = library
        bytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        self._address = library.hostAllocate(ctypes.c_size_t(bytes),
                                             ctypes.c_size_t(dtype.itemsize))
        buffer = (ctypes.c_uint8 * bytes).from_address(self._address)
        self.array = np.frombuffer(buffer, dtype).reshape(shape)

    def descriptor(self):
        """MLIR's strided memref descriptor: two pointers, offset, sizes, strides."""
        shape = self.array.shape
        strides = [int(np.prod(shape[i + 1:])) for i in range(len(shape))]
        words = [self._address, self._address, 0, *shape, *strides]
        return ctypes.byref((ctypes.c_int64 * len(words))(*words))

    def free(self):
        self._library.hostFree(ctypes.c_void_p(self._address))


def _slots(text):
    slots = []
    for kind, dims, element, scalar in ARGUMENT.findall(text):
        shape = tuple(None if d == "?" else int(d) for d in dims.split("x")[:-1])
        dtype = np.dtype(DTYPES[element or scalar])
        slots.append(Slot(kind or "scalar", dtype, shape, element or scalar))
    return slots


def _call(*command):
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        raise ModuleError(f"{command[0]} exited with {run.returncode}: {run.stderr.strip()}")
