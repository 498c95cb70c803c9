#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the cases for SM90 on the GPU of this machine and compares every bit with
what the emulator gave.

    run.py --chip 90 --out EMULATOR.npz      on any machine
    gpu.py EMULATOR.npz RESULTS.npz          on the one with the GPU

Needs numpy, ml_dtypes and a driver of CUDA 12.0 or later. Writes the GPU's
results, and a log to standard output: of the commit of the emulator's results, with a
line a case. Fails where a case that must be equal is not.
"""

import ctypes
import re
import sys
from pathlib import Path

import numpy as np

import cases

SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"
sys.path[:0] = [str(SCRIPTS), str(SCRIPTS / "gpu")]
import driver
from log_head import make_head

ELEMENT_TYPES = {"u8": 0, "bf16": 9}


class Cuda(driver.Cuda):
    """The driver, with arrays and tensor maps of the cases."""

    def upload(self, pointer, array):
        data = np.ascontiguousarray(array).view(np.uint8)
        self("cuMemcpyHtoD_v2", ctypes.c_uint64(pointer), data.ctypes.data_as(ctypes.c_void_p),
             ctypes.c_size_t(data.nbytes))

    def download(self, pointer, shape, dtype):
        data = np.zeros(int(np.prod(shape)) * dtype.itemsize, np.uint8)
        self("cuMemcpyDtoH_v2", data.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint64(pointer),
             ctypes.c_size_t(data.nbytes))
        return data.view(dtype).reshape(shape)

    def encode(self, spec, pointer):
        size = 2 if spec.element == "bf16" else 1
        tensor_map = (ctypes.c_uint64 * 32)()
        # The driver wants it at a multiple of 64 bytes.
        start = -ctypes.addressof(tensor_map) % 64 + ctypes.addressof(tensor_map)
        longs, ints = ctypes.c_uint64, ctypes.c_uint32
        self("cuTensorMapEncodeTiled", ctypes.c_void_p(start), ELEMENT_TYPES[spec.element], 2,
             ctypes.c_uint64(pointer), (longs * 2)(spec.shape[1], spec.shape[0]),
             (longs * 1)(spec.shape[1] * size), (ints * 2)(spec.box[1], spec.box[0]),
             (ints * 2)(1, 1), 0, {32: 1, 64: 2, 128: 3}[spec.swizzle], 0, 0)
        return ctypes.string_at(start, 128)

    def load(self, ptx):
        # SM90 needs nothing newer, and the driver may know nothing newer.
        return super().load(re.sub(rb"\.version \S+", b".version 8.6", ptx, count=1))


def run(cuda, case):
    function = cuda.find(cuda.load(case.text), case.kernel)
    if case.shared > 48 * 1024:
        cuda("cuFuncSetAttribute", function, 8, case.shared)
    pointers = {}
    for buffer in case.buffers:
        size = buffer.value.nbytes if buffer.value is not None else (
            int(np.prod(buffer.shape)) * buffer.dtype.itemsize)
        pointers[buffer.name] = cuda.allocate(size)
        if buffer.value is not None:
            cuda.upload(pointers[buffer.name], buffer.value)
    values = []
    for argument in case.arguments:
        if isinstance(argument, str):
            values.append(ctypes.c_uint64(pointers[argument]))
        elif isinstance(argument, cases.TensorMap):
            data = cuda.encode(argument, pointers[argument.buffer])
            values.append((ctypes.c_uint8 * len(data)).from_buffer_copy(data))
        elif argument.type == "bytes":
            values.append((ctypes.c_uint8 * len(argument.value)).from_buffer_copy(argument.value))
        else:
            type_ = {"u32": ctypes.c_uint32, "u64": ctypes.c_uint64, "f32": ctypes.c_float}
            values.append(type_[argument.type](argument.value))
    cuda.launch(function, case.grid, case.block, case.shared, values)
    cuda("cuCtxSynchronize")
    return {b.name: cuda.download(pointers[b.name], b.shape, b.dtype)
            for b in case.buffers if b.is_output}


def main(emulator_path, results_path):
    cuda = Cuda()
    emulator = np.load(emulator_path)
    print(make_head(str(emulator["commit"]),
                    f"{cuda.name}, driver {driver.find_driver_release()} of CUDA {cuda.version}",
                    "emulator/test/Compilers/gpu.py EMULATOR.npz RESULTS.npz"))
    print(f"{cuda.name}: the GPU's results against the emulator's, bit for bit")
    results, failed = {}, 0
    for case in cases.all_cases():
        if case.chip != 90:
            continue
        outputs = run(cuda, case)
        for name, got in outputs.items():
            key = f"{case.name}.{name}"
            bits = got.view(np.uint8).reshape(-1)
            results[key] = bits
            expected = emulator[key]
            different = np.count_nonzero(
                (bits != expected).reshape(-1, got.dtype.itemsize).any(axis=1))
            failed += bool(different and not case.approximate)
            verdict = "equal" if not different else (
                f"{different} differ" + " (approximate instructions)" * case.approximate)
            print(f"  {key}: {got.size} values, {verdict}")
    np.savez_compressed(results_path, **results)
    print("failed" if failed else "passed")
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
