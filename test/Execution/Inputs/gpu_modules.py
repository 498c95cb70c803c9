# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs modules of several ops, with buffers between them, in the emulator.

Usage: gpu_modules.py FOLDER
"""

import sys
from pathlib import Path

import numpy as np

import values
from expect import Expectations
from gpu_calls import PLACES, run_module

SWIZZLED = "#blockscale.layout<swizzle_128x4>"

# A dynamic global scale, one for the tensor.
TENSOR = f"""
func.func @quantize(%x: tensor<?x80xbf16>)
    -> (tensor<?x80xf4E2M1FN>, tensor<?x5xf8E4M3FN, {SWIZZLED}>, tensor<f32>) {{
  %a = blockscale.amax %x : tensor<?x80xbf16> -> tensor<f32>
  %g = blockscale.global_scale %a recipe torchao : tensor<f32>
  %q, %s = blockscale.quantize %x block [1, 16] recipe torchao global_scale(%g : tensor<f32>)
      : tensor<?x80xbf16> -> tensor<?x80xf4E2M1FN>, tensor<?x5xf8E4M3FN, {SWIZZLED}>
  return %q, %s, %g : tensor<?x80xf4E2M1FN>, tensor<?x5xf8E4M3FN, {SWIZZLED}>, tensor<f32>
}}
"""
# One for each matrix, whose amax the recipe takes.
BATCH = """
func.func @quantize(%x: tensor<?x?x48xf32>) -> (tensor<?x?x48xf4E2M1FN>, tensor<?x?x3xf8E4M3FN>) {
  %a = blockscale.amax %x : tensor<?x?x48xf32> -> tensor<?xf32>
  %q, %s = blockscale.quantize %x block [1, 16] recipe te global_amax(%a : tensor<?xf32>)
      : tensor<?x?x48xf32> -> tensor<?x?x48xf4E2M1FN>, tensor<?x?x3xf8E4M3FN>
  return %q, %s : tensor<?x?x48xf4E2M1FN>, tensor<?x?x3xf8E4M3FN>
}
"""
# A transform before, tiles and plain values after.
TRANSFORMED = f"""
func.func @quantize(%x: tensor<?x64xbf16>)
    -> (tensor<?x4xf8E4M3FN, {SWIZZLED}>, tensor<?x64xbf16>, tensor<?xf32>) {{
  %h = blockscale.hadamard %x dim 1 : tensor<?x64xbf16>
  %a = blockscale.amax %h : tensor<?x64xbf16> -> tensor<f32>
  %q, %s = blockscale.quantize %h block [1, 16] recipe modelopt global_amax(%a : tensor<f32>)
      : tensor<?x64xbf16> -> tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
  %t = blockscale.swizzle %s : tensor<?x4xf8E4M3FN> -> tensor<?x4xf8E4M3FN, {SWIZZLED}>
  %y = blockscale.dequantize %q, %s block [1, 16] recipe modelopt global_amax(%a : tensor<f32>)
      : tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN> -> tensor<?x64xbf16>
  %r = blockscale.amax %y : tensor<?x64xbf16> -> tensor<?xf32>
  return %t, %y, %r : tensor<?x4xf8E4M3FN, {SWIZZLED}>, tensor<?x64xbf16>, tensor<?xf32>
}}
"""
# The tensor's amax stays on the device for the sweep.
SWEPT = """
func.func @sweep(%x: tensor<?x?x32xf32>) -> (tensor<?x?x2xf32>, tensor<f32>) {
  %a = blockscale.amax %x : tensor<?x?x32xf32> -> tensor<f32>
  %b = blockscale.scale_sweep %x global_amax(%a : tensor<f32>)
      : tensor<?x?x32xf32> -> tensor<?x?x2xf32>
  return %b, %a : tensor<?x?x2xf32>, tensor<f32>
}
"""
MODULES = {"tensor": (TENSOR, 3, (37, 80), np.uint16), "batch": (BATCH, 2, (3, 5, 48), np.float32),
           "transformed": (TRANSFORMED, 3, (37, 64), np.uint16),
           "swept": (SWEPT, 2, (2, 19, 32), np.float32)}

random = np.random.default_rng(63)
expect = Expectations()
for name, (text, count, shape, dtype) in MODULES.items():
    x = values.floats(random, shape, dtype, (values.normal, values.zeros, values.ties))
    runs = [run_module(text, [x], count, Path(sys.argv[1]) / f"{name}{i}", place)
            for i, place in enumerate(PLACES)]
    for place, (problem, results) in zip(PLACES, runs):
        if problem:
            expect.record(f"{name}: {place}", problem)
        else:
            expect.equal(f"{name}: {place}", results, runs[0][1])
expect.finish()
