# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Multiplies rows that are 0 but for one element by an NVFP4 weight, with every code
beside every scale in every place of a step, on the CPUs whose code differs: the results
are numbers of the weight, exactly, or NaN.

Usage: row_codes.py FOLDER
"""

import sys
from pathlib import Path

import numpy as np

from expect import Expectations
from module import Module
from ops import SWIZZLED, tensor
from reference import E2M1, E4M3, pack, swizzle, to_bf16

N, K = 256, 256
TEXT = "".join(f"""
func.func @{name}(%a: {tensor((1, K), "bf16")}, %b: {tensor((N, K), "f4E2M1FN")},
                  %sb: {scale}) -> {tensor((1, N), "f32")} {{
  %y = blockscale.scaled_mm %a, %b scales(none, %sb) block [1, 16]
      : {tensor((1, K), "bf16")}, {tensor((N, K), "f4E2M1FN")}, {scale} -> {tensor((1, N), "f32")}
  return %y : {tensor((1, N), "f32")}
}}
""" for name, scale in (("linear", tensor((N, K // 16), "f8E4M3FN")),
                        ("swizzled", tensor((N, K // 16), "f8E4M3FN", SWIZZLED))))
CPUS = ["x86-64", "host"]
if "avx2" in Path("/proc/cpuinfo").read_text():
    CPUS.insert(1, "x86-64-v3")

row, col = np.ogrid[:N, :K]
codes = ((row + row // 16 + col) % 16).astype(np.uint8)
scales = np.broadcast_to(row, (N, K // 16)).astype(np.uint8)
values = E2M1.decode(codes) * np.repeat(E4M3.decode(scales), 16, axis=1)
arguments = {"linear": (pack(codes), scales), "swizzled": (pack(codes), swizzle(scales))}

expect = Expectations()
for cpu in CPUS:
    for optimize in (True, False):
        folder = Path(sys.argv[1]) / f"{cpu}-{int(optimize)}"
        folder.mkdir(parents=True, exist_ok=True)
        module = Module(TEXT, folder, cpu=cpu, optimize=optimize)
        for name, stored in arguments.items():
            got = np.empty((K, N), np.float32)
            for k in range(K):
                [got[k]] = module.call(name, to_bf16(np.eye(1, K, k, np.float32)), *stored)
            places = np.argwhere(~((got == values.T) | (np.isnan(got) & np.isnan(values.T))))
            problem = f"{len(places)} numbers differ, first at {places[0]}" if len(places) else None
            expect.record(f"{name} for {cpu}, {'' if optimize else 'not '}optimized", problem)
expect.finish()
