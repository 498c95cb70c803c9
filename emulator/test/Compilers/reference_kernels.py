# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels in MLIR's gpu, nvvm and llvm dialects that are not of this project: a
product of one tile in NVFP4 and in MXFP8, and quantizers, for SM100. mlir-opt makes
their PTX; the folder that has them (poc_*.mlir) is given.
"""

import re
import subprocess

import ml_dtypes
import numpy as np

from cases import (
    BF16,
    E2M1_VALUES,
    E4M3,
    Buffer,
    Case,
    Scalar,
    TensorMap,
    _equal,
    _output,
    swizzle_scales,
)

E2M1 = ml_dtypes.float4_e2m1fn


# The NVFP4 product's instruction descriptor is 0x08200480 by its comment, but its
# constant is 0x08200080, which gives B no type. The emulator reports that; what
# runs here is the comment's.
_DESCRIPTORS = {"136315008": "136316032"}


def _compile(path, mlir_opt, replaced=None):
    source = path.read_text()
    for old, new in (replaced or {}).items():
        source = source.replace(old, new)
    module = subprocess.run(
        [mlir_opt, "--convert-nvvm-to-llvm", "--gpu-module-to-binary=format=isa"],
        input=source, stdout=subprocess.PIPE, check=True, text=True).stdout
    assembly = re.search(r'assembly = "((?:[^"\\]|\\.)*)"', module).group(1)
    text = re.sub(r"\\([0-9A-F]{2})", lambda m: chr(int(m.group(1), 16)), assembly)
    return text.rstrip("\0").encode()


def _gemm(text, nvfp4):
    rng = np.random.default_rng(1)
    k, block = (256, 16) if nvfp4 else (128, 32)
    m, n = 256, 128

    def operand(rows):
        if nvfp4:
            codes = rng.integers(0, 16, (rows, k))
            data = (codes[:, 0::2] | codes[:, 1::2] << 4).astype(np.uint8)
            values = E2M1_VALUES[codes]
            scales = rng.integers(1, 16, (rows, k // block)).astype(E4M3)
            factors = scales.astype(np.float64)
        else:
            data = rng.integers(-8, 9, (rows, k)).astype(E4M3)
            values, scales = data.astype(np.float64), rng.integers(125, 130, (rows, k // block))
            factors = 2.0 ** (scales - 127)
        return data, scales, values * np.repeat(factors, block, axis=1)

    a, sa, wide_a = operand(m)
    b, sb, wide_b = operand(n)
    expected = (0.5 * (wide_a @ wide_b.T)).astype(np.float32)
    swizzled = [swizzle_scales(s if nvfp4 else s.astype(np.uint8)) for s in (sa, sb)]
    box = (128, 128)
    return Case(
        name="reference_nvfp4_gemm" if nvfp4 else "reference_mxfp8_gemm", text=text, chip=100,
        kernel="nvfp4_gemm_128x128x256" if nvfp4 else "mxfp8_gemm_128x128x128",
        grid=(n // 128, m // 128, 1), block=128, shared=0,
        buffers=[Buffer("a", a), Buffer("b", b), Buffer("sa", swizzled[0]),
                 Buffer("sb", swizzled[1]),
                 _output("d", (m, n), np.float32), Buffer("alpha", np.array([0.5], np.float32))],
        arguments=[TensorMap("a", "u8", a.shape, box, 128), TensorMap("b", "u8", b.shape, box, 128),
                   "sa", "sb", "d", "alpha", Scalar("u32", n)],
        # Small numbers: the sums are exact.
        check=lambda out: _equal(out, "d", expected))


def _nvfp4(x, encode):
    blocks = x.reshape(x.shape[0], -1, 16)
    amax = np.abs(blocks).max(2)
    scales = (amax * (encode * np.float32(0.166666672))).astype(E4M3)
    with np.errstate(divide="ignore"):
        factors = np.minimum(encode / scales.astype(np.float32), np.finfo(np.float32).max)
    scaled = blocks * factors[..., None]
    codes = np.clip(scaled, -6, 6).astype(E2M1).view(np.uint8).reshape(x.shape)
    return codes[:, 0::2] | codes[:, 1::2] << 4, swizzle_scales(scales)


def _mxfp8(x):
    blocks = x.reshape(x.shape[0], -1, 32)
    ratio = np.abs(blocks).max(2) * np.float32(0.00223214296)
    # The exponent rounded up, and 0 (which is 2^-127) for zero.
    mantissa, exponent = np.frexp(ratio)
    exponent = np.where(ratio == 0, -127, exponent - (mantissa == 0.5))
    scales = np.clip(exponent + 127, 0, 254).astype(np.uint8)
    factors = np.exp2(127 - scales.astype(np.float64)).astype(np.float32)
    data = np.clip(blocks * factors[..., None], -448, 448).astype(E4M3)
    return data.view(np.uint8).reshape(x.shape), swizzle_scales(scales)


def _hadamard(x, mask):
    """Exact on small integers."""
    signs = np.array([-1.0 if mask >> i & 1 else 1.0 for i in range(16)])
    matrix = np.array([[(-1) ** (i & j).bit_count() for j in range(16)] for i in range(16)])
    return ((x.reshape(-1, 16) * signs) @ matrix / 4).reshape(x.shape).astype(np.float32)


def _quantizer(text, kernel, rows, columns):
    rng = np.random.default_rng(2)
    x = (rng.standard_normal((rows, columns)) * 3).astype(BF16)
    x[1, :32] = 0
    block = 16 if kernel.startswith("nvfp4") else 32
    arguments = ["x", "q", "s", "encode", Scalar("u32", rows), Scalar("u32", columns)]
    encode = np.float32(448 * 6 / 13)
    if kernel == "nvfp4_rht_quantize":
        x = rng.integers(-4, 5, (rows, columns)).astype(BF16)
        q, s = _nvfp4(_hadamard(x.astype(np.float64), 0xD7E8), encode)
        arguments.append(Scalar("u32", 0xD7E8))
    elif kernel == "nvfp4_quantize":
        q, s = _nvfp4(x.astype(np.float32), encode)
    else:
        q, s = _mxfp8(x.astype(np.float32))
        arguments.remove("encode")

    def check(out):
        _equal(out, "q", q)
        _equal(out, "s", s)
    return Case(
        name="reference_" + kernel, text=text, kernel=kernel, chip=100,
        grid=(-(-rows * columns // block // 128), 1, 1), block=128, shared=0,
        buffers=[Buffer("x", x), _output("q", q.shape, np.uint8),
                 Buffer("s", np.zeros(s.shape, np.uint8), s.shape, np.dtype(np.uint8), True),
                 Buffer("encode", np.array([encode]))],
        arguments=arguments, check=check)


def reference_cases(folder, mlir_opt):
    quantizers = _compile(folder / "poc_quantize.mlir", mlir_opt)
    return [_gemm(_compile(folder / "poc_gemm.mlir", mlir_opt, _DESCRIPTORS), True),
            _gemm(_compile(folder / "poc_gemm_mxfp8.mlir", mlir_opt), False),
            _quantizer(quantizers, "nvfp4_quantize", 130, 208),
            _quantizer(quantizers, "nvfp4_rht_quantize", 130, 208),
            _quantizer(quantizers, "mxfp8_quantize", 130, 224)]
