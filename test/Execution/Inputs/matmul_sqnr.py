# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantizes and multiplies as models do, and compares with the product of the
values before quantization, by the ratio of signal to error in decibels.

MXFP8: activations in blocks along K times weights in blocks of every shape, in one
product, in one for each expert, and in the gradient of the activations, which runs
along N. NVFP4: linear layers with global scales or without.

Usage: matmul_sqnr.py FOLDER
"""

import itertools
import sys

import numpy as np

from expect import Expectations
from module import Module
from reference import from_bf16, to_bf16

M, N, K, G = 160, 96, 256, 3
ENDS = (64, 64, 150)
MX_DECIBELS, NVFP4_DECIBELS = 27, 16
LINEARS = ((128, 64, 256), (256, 128, 512))  # M, K, N

random = np.random.default_rng(71)
expect = Expectations()


def tensor(shape, element):
    return f"tensor<{'x'.join(map(str, shape))}x{element}>"


def quantize_mx(name, source, shape, data, scales, block, options=""):
    return (f"  %{name}, %s{name} = blockscale.quantize %{source} block {block} {options}\n"
            f"      : {tensor(shape, 'bf16')} -> {tensor(data, 'f8E4M3FN')}, "
            f"{tensor(scales, 'f8E8M0FNU')}\n")


def product(a, b, scale_a, scale_b, result, groups=0):
    """Of %a and %b; `groups` of rows."""
    op, ends, type = "scaled_mm", "", ""
    if groups:
        op, ends, type = "scaled_grouped_mm", " offsets(%ends)", f"tensor<{groups}xi32>, "
    return (f"  %y = blockscale.{op} %a, %b{ends} scales(%sa, %sb) block [1, 32]\n"
            f"      : {tensor(a, 'f8E4M3FN')}, {tensor(b, 'f8E4M3FN')}, {type}"
            f"{tensor(scale_a, 'f8E8M0FNU')}, {tensor(scale_b, 'f8E8M0FNU')} -> "
            f"{tensor(result, 'f32')}\n  return %y : {tensor(result, 'f32')}\n}}\n")


def mx_function(name, x, w, body, result, groups=0):
    ends = f", %ends: tensor<{groups}xi32>" if groups else ""
    return (f"func.func @{name}(%x: {tensor(x, 'bf16')}, %w: {tensor(w, 'bf16')}{ends}) -> "
            f"{tensor(result, 'f32')} {{\n{body}")


def forward(groups):
    """y = x w^T with each form of w's blocks."""
    lead = (groups,) * bool(groups)
    x, w, y = (M, K), (*lead, N, K), (M, N)
    along_k, compact = (*lead, N, K // 32), (*lead, N // 32, K // 32)
    quantized = quantize_mx("a", "x", x, x, (M, K // 32), [1, 32])
    expand = (f"  %sb = blockscale.expand_scale %sq block [32, 32] scale_dim k\n"
              f"      : {tensor(compact, 'f8E8M0FNU')} -> {tensor(along_k, 'f8E8M0FNU')}\n")
    forms = {"rows": quantize_mx("b", "w", w, w, along_k, [1, 32]),
             "tiles": quantize_mx("b", "w", w, w, along_k, [32, 32], "scale_dim k"),
             "expanded": quantize_mx("q", "w", w, w, compact, [32, 32]) + expand}
    for form, quantize in forms.items():
        text = quantized + quantize + product(x, w, (M, K // 32), along_k, y, groups)
        if form == "expanded":
            text = text.replace("%a, %b", "%a, %q")
        kind = "grouped" if groups else "forward"
        yield mx_function(f"{kind}_{form}", x, w, text, y, groups)


def backward():
    """The gradient of x from that of y, dy w, along N."""
    dy, w, dx = (M, N), (N, K), (M, K)
    quantized = quantize_mx("a", "x", dy, dy, (M, N // 32), [1, 32])
    for form, block, options in (("rows", [32, 1], "transposed"),
                                 ("tiles", [32, 32], "transposed scale_dim n")):
        quantize = quantize_mx("b", "w", w, (K, N), (K, N // 32), block, options)
        text = quantized + quantize + product(dy, (K, N), (M, N // 32), (K, N // 32), dx)
        yield mx_function(f"backward_{form}", dy, w, text, dx)


def linear_function(name, shape, global_a, global_b, place, bias):
    m, k, n = shape
    text, attributes = "", ""
    for side, source, rows, has_global in (("a", "x", m, global_a), ("b", "w", n, global_b)):
        x, scale = tensor((rows, k), "bf16"), ""
        if has_global:
            text += (f"  %m{side} = blockscale.amax %{source} : {x} -> tensor<f32>\n"
                     f"  %g{side} = blockscale.global_scale %m{side} : tensor<f32>\n")
            scale = f"global_scale(%g{side} : tensor<f32>) "
            attributes += f" global_scale_{side}(%g{side} : tensor<f32>)"
        text += (f"  %{side}, %s{side} = blockscale.quantize %{source} block [1, 16] {scale}\n"
                 f"      : {x} -> {tensor((rows, k), 'f4E2M1FN')}, "
                 f"{tensor((rows, k // 16), 'f8E4M3FN')}\n")
    attributes += f" global_scaling {place}" + bias * f" bias(%bias : tensor<{n}xbf16>)"
    y = tensor((m, n), "bf16")
    return (f"func.func @{name}(%x: {tensor((m, k), 'bf16')}, %w: {tensor((n, k), 'bf16')}, "
            f"%bias: tensor<{n}xbf16>) -> {y} {{\n{text}"
            f"  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]{attributes}\n"
            f"      : {tensor((m, k), 'f4E2M1FN')}, {tensor((n, k), 'f4E2M1FN')}, "
            f"{tensor((m, k // 16), 'f8E4M3FN')}, {tensor((n, k // 16), 'f8E4M3FN')} -> {y}\n"
            f"  return %y : {y}\n}}\n")


def decibels(want, got):
    return 10 * np.log10(np.sum(want**2) / np.sum((want - got) ** 2))


def require(what, found, least):
    expect.record(what, None if found >= least
                  else f"expected at least {least} dB, but got {found:.2f}")
    return found


def bf16_normal(*shape, gains=1.0):
    values = random.standard_normal(shape) * gains
    return from_bf16(to_bf16(values.astype(np.float32)))


def products(a, b, ends):
    """a b^T, and the size of each result's terms, 1 in rows of no group."""
    wide = a.astype(np.float64), b.astype(np.float64)
    if b.ndim == 2:
        return wide[0] @ wide[1].T, np.sqrt(wide[0] ** 2 @ wide[1].T ** 2)
    value, size = np.zeros((len(a), b.shape[1])), np.ones((len(a), b.shape[1]))
    for matrix, begin, end in zip(b, (0, *ends), ends):
        value[begin:end], size[begin:end] = products(a[begin:end], matrix, ())
    return value, size


def check_mx(module):
    """Rows of blocks differ in size, which the one scale of a tile feels: each result
    counts in proportion to its terms."""
    x, dy = bf16_normal(M, K), bf16_normal(M, N)
    w, transposed = (bf16_normal(*shape, gains=np.exp2(random.uniform(-7, 7, (*shape[:-1], 1))))
                     for shape in ((G, N, K), (K, N)))
    cases = {"forward": ((x, w[0]), products(x, w[0], ())),
             "grouped": ((x, w), products(x, w, ENDS)),
             "backward": ((dy, transposed.T), products(dy, transposed, ()))}
    for kind, (arrays, (want, size)) in cases.items():
        arguments = [to_bf16(array) for array in arrays]
        arguments += [np.array(ENDS, np.int32)] * (kind == "grouped")
        [rows] = module.call(f"{kind}_rows", *arguments)
        [tiles] = module.call(f"{kind}_tiles", *arguments)
        finer = require(f"{kind} with blocks of rows", decibels(want / size, rows / size),
                        MX_DECIBELS)
        coarser = require(f"{kind} with tiles", decibels(want / size, tiles / size), MX_DECIBELS)
        expect.record(f"{kind} with tiles against rows", None if coarser < finer
                      else f"expected less than {finer:.2f} dB, but got {coarser:.2f}")
        if kind != "backward":
            expect.equal(f"{kind} with expanded scales",
                         module.call(f"{kind}_expanded", *arguments), [tiles])


def check_linears(folder):
    states = list(itertools.product(LINEARS, (False, True), (False, True),
                                    ("before_rounding", "after_rounding"), (False, True)))
    module = Module("".join(linear_function(f"f{i}", *state) for i, state in enumerate(states)),
                    folder)
    for i, state in enumerate(states):
        (m, k, n), *_, has_bias = state
        x, w, bias = bf16_normal(m, k), bf16_normal(n, k), bf16_normal(n)
        want = x.astype(np.float64) @ w.astype(np.float64).T + has_bias * bias
        [got] = module.call(f"f{i}", *map(to_bf16, (x, w, bias)))
        require(f"linear {state}", decibels(want, from_bf16(got)), NVFP4_DECIBELS)


text = "".join([*forward(0), *forward(G), *backward()])
check_mx(Module(text, sys.argv[1], first_stage="form-kernels"))
check_linears(sys.argv[1])
expect.finish()
