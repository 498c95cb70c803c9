# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels that are broken: products through TMA and through registers, copies
by CTAs of a cluster, and the project's quantizers."""

import json
import subprocess

import numpy as np

import cases

_NAMES = ["triton_matmul_sm_90", "triton_matmul_tma_sm_90", "triton_matmul_tma_sm_100",
          "triton_nvfp4_sm_100", "triton_nvfp4_tma_sm_100", "triton_mxfp8_tma_sm_100",
          "nvcc_copies_sm_90"]
_QUANTIZERS = {
    "quantize_nvfp4_swizzled": (130, 208, "[1, 16]", "f4E2M1FN", 13, "f8E4M3FN",
                                ", #blockscale.layout<swizzle_128x4>"),
    "quantize_nvfp4_linear": (37, 176, "[1, 16]", "f4E2M1FN", 11, "f8E4M3FN", ""),
    "quantize_mxfp8_swizzled": (130, 288, "[1, 32]", "f8E4M3FN", 9, "f8E8M0FNU",
                                ", #blockscale.layout<swizzle_128x4>"),
}
_MODULE = """
func.func @main(%x: tensor<{m}x{k}xbf16>)
    -> (tensor<{m}x{k}x{data}>, tensor<{m}x{c}x{scale}{layout}>) {{
  %q, %s = blockscale.quantize %x block {block}
      : tensor<{m}x{k}xbf16> -> tensor<{m}x{k}x{data}>, tensor<{m}x{c}x{scale}{layout}>
  return %q, %s : tensor<{m}x{k}x{data}>, tensor<{m}x{c}x{scale}{layout}>
}}
"""


def _compile(program, module, emit):
    return subprocess.run([program, "-", "--target=sm_100a", f"--emit={emit}", "-o", "-"],
                          input=module, stdout=subprocess.PIPE, check=True, text=True).stdout


def _quantizer(program, name, m, k, block, data, c, scale, layout):
    module = _MODULE.format(m=m, k=k, block=block, data=data, c=c, scale=scale, layout=layout)
    plan = json.loads(_compile(program, module, "plan"))["functions"][0]
    launch = plan["steps"][0]["launch"]
    x = (np.random.default_rng(m).standard_normal((m, k)) * 3).astype(cases.BF16)
    buffers = [cases.Buffer(plan["arguments"][0]["name"], x)] + [
        cases.Buffer(result["name"], None, (result["bytes"],), np.dtype(np.uint8), True)
        for result in plan["results"]]
    arguments = [parameter["buffer"] if "buffer" in parameter
                 else cases.Scalar("u64", parameter["i64"]) for parameter in launch["parameters"]]
    return cases.Case(
        name=name, text=_compile(program, module, "ptx").encode(), kernel=launch["kernel"],
        chip=100,
        grid=tuple(launch["grid"]), block=launch["block"][0], shared=launch["shared"],
        buffers=buffers, arguments=arguments, check=None)


def kernels(program):
    """`program` is blockscale-compile, for the quantizers."""
    by_name = {case.name: case for case in cases.all_cases()}
    return [by_name[name] for name in _NAMES] + [
        _quantizer(program, name, *shape) for name, shape in _QUANTIZERS.items()]
