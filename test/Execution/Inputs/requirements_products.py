# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Requirements A10, A11, A13, A16 and E13: products of quantized operands.

Usage: requirements_products.py FOLDER
"""

import itertools
import sys

import numpy as np

from module import Module
from reference import from_bf16, pack, quantize_mx, quantize_nvfp4, swizzle, to_bf16
from requirements_checks import SWIZZLED, Requirements, f32, tensor

STATES = list(itertools.product((False, True), (False, True), ("f32", "bf16"), (False, True)))
RECIPES = ("torchao", "mslk")
LINEARS = ((128, 64, 256), (256, 128, 512))  # M, K, N
DATA, SCALE = tensor("??", "f4E2M1FN"), tensor("??", "f8E4M3FN")
TILED = tensor("??", "f8E4M3FN", SWIZZLED)

random = np.random.default_rng(47)
expect = Requirements()


def product_function(name, has_a, has_b, element, has_bias):
    """A product of operands with a global scale or without."""
    arguments, attributes = "", ""
    for side, present in (("a", has_a), ("b", has_b)):
        arguments += f", %g{side}: f32" * present
        attributes += f" global_scale_{side}(%g{side} : f32)" * present
    attributes += " global_scaling after_rounding" * (has_a or has_b)
    arguments += f", %bias: tensor<?x{element}>" * has_bias
    attributes += f" bias(%bias : tensor<?x{element}>)" * has_bias
    y = tensor("??", element)
    return (f"func.func @{name}(%a: {DATA}, %b: {DATA}, %sa: {SCALE}, %sb: {SCALE}{arguments})"
            f" -> {y} {{\n"
            f"  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]{attributes}\n"
            f"      : {DATA}, {DATA}, {SCALE}, {SCALE} -> {y}\n  return %y : {y}\n}}\n")


def layout_function(name, type_a, type_b):
    """A product whose scales are in tiles or are brought there."""
    text = ""
    for side, type in (("a", type_a), ("b", type_b)):
        text += (f"  %t{side} = blockscale.swizzle %s{side} : {type} -> {TILED}\n"
                 if type == SCALE else "")
    names = ", ".join(f"%{'t' if type == SCALE else 's'}{side}"
                      for side, type in (("a", type_a), ("b", type_b)))
    y = tensor("??", "f32")
    return (f"func.func @{name}(%a: {DATA}, %b: {DATA}, %sa: {type_a}, %sb: {type_b}) -> {y} {{\n"
            f"{text}  %y = blockscale.scaled_mm %a, %b scales({names}) block [1, 16]\n"
            f"      : {DATA}, {DATA}, {TILED}, {TILED} -> {y}\n  return %y : {y}\n}}\n")


def linear_function(name, recipe, has_scale):
    """y = x w^T, where w has a global scale, and x may have."""
    x, y, text, attributes = tensor("??", "bf16"), tensor("??", "bf16"), "", ""
    for side, present in (("x", has_scale), ("w", True)):
        operand = f"global_scale(%g{side} : tensor<f32>)" * present
        if present:
            text += (f"  %a{side} = blockscale.amax %{side} : {x} -> tensor<f32>\n"
                     f"  %g{side} = blockscale.global_scale %a{side} recipe {recipe}"
                     " : tensor<f32>\n")
            attributes += f" global_scale_{'a' if side == 'x' else 'b'}(%g{side} : tensor<f32>)"
        text += (f"  %q{side}, %s{side} = blockscale.quantize %{side} block [1, 16] "
                 f"recipe {recipe} {operand}\n      : {x} -> {DATA}, {SCALE}\n")
    return (f"func.func @{name}(%x: {x}, %w: {x}) -> {y} {{\n{text}"
            f"  %y = blockscale.scaled_mm %qx, %qw scales(%sx, %sw) block [1, 16]{attributes}\n"
            f"      : {DATA}, {DATA}, {SCALE}, {SCALE} -> {y}\n  return %y : {y}\n}}\n")


def expert_function():
    """Rows of groups, in blocks of a row, times experts with any scales along K."""
    a, b, y = tensor("??", "f8E4M3FN"), tensor("???", "f8E4M3FN"), tensor("??", "f32")
    scales = tensor("??", "f8E8M0FNU"), tensor("???", "f8E8M0FNU")
    return (f"func.func @experts(%a: {a}, %b: {b}, %sa: {scales[0]}, %sb: {scales[1]}, "
            f"%ends: tensor<?xi32>) -> {y} {{\n"
            "  %y = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) "
            f"block [1, 32]\n      : {a}, {b}, tensor<?xi32>, {', '.join(scales)} -> {y}\n"
            f"  return %y : {y}\n}}\n")


text = "".join(product_function(f"state{i}", *state) for i, state in enumerate(STATES))
for i, (type_a, type_b) in enumerate(itertools.product((SCALE, TILED), repeat=2)):
    text += layout_function(f"layout{i}", type_a, type_b)
for recipe in RECIPES:
    text += linear_function(f"{recipe}_one", recipe, False)
    text += linear_function(f"{recipe}_two", recipe, True)
module = Module(text + expert_function(), sys.argv[1])


def normal(*shape):
    return from_bf16(to_bf16(random.standard_normal(shape).astype(f32)))


def rounded(values, element):
    return from_bf16(to_bf16(values)) if element == "bf16" else values


def check_states():
    """The result times the scales that there are, each step rounded to its type."""
    (a, sa), (b, sb) = (quantize_nvfp4(normal(rows, 64)) for rows in (48, 40))
    operands = [pack(a), pack(b), sa, sb]
    [sums] = module.call(f"state{STATES.index((False, False, 'f32', False))}", *operands)
    ga, gb, bias = f32(0.0123), f32(3.7), rounded(normal(40) * f32(9), "bf16")
    for i, (has_a, has_b, element, has_bias) in enumerate(STATES):
        factors = [ga] * has_a + [gb] * has_b
        stored = to_bf16(bias) if element == "bf16" else bias
        [got] = module.call(f"state{i}", *operands, *factors, *[stored] * has_bias)
        got = from_bf16(got) if element == "bf16" else got
        merged = np.prod(factors, dtype=f32)
        added = bias * f32(has_bias)
        if not factors:
            # A bias that the product takes itself is added to what is not yet rounded.
            want = rounded(sums + added, element)
            other = rounded(rounded(sums, element) + added, element)
        else:
            want = rounded(rounded(sums, element) * rounded(merged, element), element)
            want = rounded(want + added, element)
            other = rounded(sums * merged + added, element)
        what = f"A10, A11: scales {factors}, {element}, bias {has_bias}"
        if element == "bf16" and (factors or has_bias):
            expect.told(what, got, want, other)
        else:
            expect.equal(what, [got], [want])


def check_layouts():
    (a, sa), (b, sb) = (quantize_nvfp4(normal(rows, 192)) for rows in (130, 40))
    results = []
    for i, (tiled_a, tiled_b) in enumerate(itertools.product((False, True), repeat=2)):
        scales = swizzle(sa) if tiled_a else sa, swizzle(sb) if tiled_b else sb
        results += module.call(f"layout{i}", pack(a), pack(b), *scales)
    state = STATES.index((False, False, "f32", False))
    [linear] = module.call(f"state{state}", pack(a), pack(b), sa, sb)
    for result in results:
        expect.equal("A13: scales brought into tiles or there before", [result], [linear])


def decibels(want, got):
    return 10 * np.log10(np.sum(want**2) / np.sum((want - got) ** 2))


def check_linears():
    for (m, k, n), recipe, levels in itertools.product(LINEARS, RECIPES, ("one", "two")):
        x, w = normal(m, k), normal(n, k)
        [y] = module.call(f"{recipe}_{levels}", to_bf16(x), to_bf16(w))
        found = decibels(x.astype(np.float64) @ w.T, from_bf16(y))
        expect.holds(f"A16: {m}x{k}x{n}, {recipe}, levels of x: {levels}", found >= 16,
                     f"{found} dB")


def check_experts():
    ends, n, k = [64, 64, 150], 96, 256
    x = normal(ends[-1], k)
    # Rows of a weight differ, which one scale for 32 of them feels.
    w = normal(3, n, k) * np.exp2(random.uniform(-7, 7, (3, n, 1))).astype(f32)
    parts = np.split(x.astype(np.float64), ends[:-1])
    want, size = (np.concatenate([power(part) @ power(matrix.astype(np.float64)).T
                                  for part, matrix in zip(parts, w)])
                  for power in (lambda v: v, np.square))
    a, sa = quantize_mx(x)
    found = {}
    for form, block in (("rows", (1, 32)), ("tiles", (32, 32))):
        b, sb = quantize_mx(w, block=block)
        sb = np.repeat(sb, block[0], axis=1)
        [y] = module.call("experts", a, b, sa, sb, np.array(ends, np.int32))
        found[form] = decibels(want / np.sqrt(size), y / np.sqrt(size))
        expect.holds(f"E13: B in {form}", found[form] >= 27, f"{found[form]} dB")
    expect.holds("E13: tiles are worse", found["tiles"] < found["rows"], str(found))


check_states()
check_layouts()
check_linears()
check_experts()
expect.finish()
