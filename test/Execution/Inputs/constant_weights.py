# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints a module whose functions compute on constants (fold-constants.test)."""

import numpy as np

import values

NVFP4 = ["torchao", "mslk", "te", "modelopt", "te_4over6_mae", "te_4over6_mse"]
MX = ["floor", "rceil", "rceil_sat", "ceil", "even", "tosa"]
DATA = ["f8E4M3FN", "f8E5M2", "f6E2M3FN", "f6E3M2FN", "f4E2M1FN"]
TAILS = ["te", "modelopt", "te_4over6_mae", "te_4over6_mse"]


class Functions:
    def __init__(self):
        self.random = np.random.default_rng(4)
        self.count = 0

    def constant(self, name, shape, element):
        dtype = {"bf16": np.uint16, "f32": np.float32}[element]
        bits = values.floats(self.random, shape, np.dtype(dtype)).tobytes().hex()
        return (f"  %{name} = arith.constant dense<\"0x{bits.upper()}\"> : "
                f"{tensor(shape, element)}")

    def add(self, lines, results):
        """`results`: pairs of a value and its type."""
        names = ", ".join(name for name, _ in results)
        types = ", ".join(type for _, type in results)
        print(f"func.func @case{self.count}.constant() -> ({types}) {{")
        print("\n".join(lines))
        print(f"  return {names} : {types}\n}}")
        self.count += 1

    def quantize(self, shape, block, data, recipe, form="", operand=""):
        """`operand`: lines that define %g, and the text that uses it."""
        scales = scale_shape(shape, block, form)
        codes = [*shape[:-2], shape[-1], shape[-2]] if "transposed" in form else shape
        scale = tensor(scales, "f8E4M3FN" if recipe in NVFP4 else "f8E8M0FNU")
        defined, used = operand or ([], "")
        element = ("bf16", "f32")[self.count % 2]
        lines = [self.constant("x", shape, element), *defined,
                 (f"  %q, %s = blockscale.quantize %x block {block} {form} recipe {recipe} {used}"
                  f" : {tensor(shape, element)} -> {tensor(codes, data)}, {scale}")]
        self.add(lines, [("%q", tensor(codes, data)), ("%s", scale)])


def tensor(shape, element):
    return f"tensor<{'x'.join(map(str, [*shape, element]))}>"


def scale_shape(shape, block, form):
    *batch, rows, cols = shape
    down, right = -(-rows // block[0]), -(-cols // block[1])
    if "scale_dim k" in form:
        return [*batch, rows, right]
    if "scale_dim n" in form:
        return [*batch, cols, down]
    return [*batch, right, down] if "transposed" in form else [*batch, down, right]


def globals_of(functions, shape):
    """Definitions and uses of a global operand of each shape."""
    for name, operand in (("global_scale", []), ("global_amax", list(shape[:-2])),
                          ("global_scale", list(shape[:-1]))):
        numbers = functions.random.uniform(0.01, 900, operand or [1]).astype(np.float32)
        bits = numbers.tobytes().hex().upper()
        type = tensor(operand, "f32")
        yield ([f"  %g = arith.constant dense<\"0x{bits}\"> : {type}"], f"{name}(%g : {type})")


def quantizers(functions):
    for recipe in NVFP4:
        functions.quantize([3, 48], [1, 16], "f4E2M1FN", recipe)
        functions.quantize([32, 16], [16, 1], "f4E2M1FN", recipe, "transposed")
        for operand in globals_of(functions, [2, 3, 32]):
            if "4over6" in recipe and "tensor<2x3x" in operand[1]:
                continue
            functions.quantize([2, 3, 32], [1, 16], "f4E2M1FN", recipe, operand=operand)
        if "4over6" not in recipe:
            functions.quantize([2, 32, 48], [16, 16], "f4E2M1FN", recipe, "transposed")
        if recipe in TAILS:
            functions.quantize([5, 21], [1, 16], "f4E2M1FN", recipe)
            functions.quantize([21, 5], [16, 1], "f4E2M1FN", recipe, "transposed")
    for recipe in MX:
        functions.quantize([3, 64], [1, 32], "f8E4M3FN", recipe)
    for data in DATA:
        functions.quantize([3, 64], [1, 32], data, "even")
        functions.quantize([3, 64], [1, 32], data, "tosa")
    for form in ("", "transposed"):
        functions.quantize([2, 64, 32], [32, 1], "f8E4M3FN", "rceil", form)
    for form in ("", "transposed", "scale_dim k", "transposed scale_dim n"):
        functions.quantize([64, 96], [32, 32], "f8E4M3FN", "rceil", form)


def amaxes(functions):
    for result in ([], [2], [2, 5]):
        type = tensor(result, "f32")
        functions.add([functions.constant("x", [2, 5, 48], "bf16"),
                       f"  %a = blockscale.amax %x : tensor<2x5x48xbf16> -> {type}"],
                      [("%a", type)])
    for recipe in NVFP4:
        functions.add([functions.constant("a", [16], "f32"),
                       f"  %g = blockscale.global_scale %a recipe {recipe} : tensor<16xf32>"],
                      [("%g", "tensor<16xf32>")])


def transforms(functions):
    for dim in (0, 1):
        for mask in (55272, 0):
            functions.add([functions.constant("x", [2, 32, 48], "bf16"),
                           (f"  %y = blockscale.hadamard %x dim {dim} sign_mask {mask} "
                            ": tensor<2x32x48xbf16>")], [("%y", "tensor<2x32x48xbf16>")])


def sweeps(functions):
    for element in ("bf16", "f32"):
        x = tensor([6, 64], element)
        for hessian in (False, True):
            lines = [functions.constant("x", [6, 64], element),
                     f"  %a = blockscale.amax %x : {x} -> tensor<f32>"]
            weights = ""
            if hessian:
                weights = "hessian(%h : tensor<4x16x16xf32>)"
                lines.append(functions.constant("h", [4, 16, 16], "f32"))
            lines.append(f"  %b = blockscale.scale_sweep %x global_amax(%a : tensor<f32>) {weights}"
                         f" : {x} -> tensor<6x4xf32>")
            lines.append("  %q, %s = blockscale.quantize %x block [1, 16] recipe modelopt "
                         "global_amax(%a : tensor<f32>) block_amax(%b : tensor<6x4xf32>) "
                         f": {x} -> tensor<6x64xf4E2M1FN>, tensor<6x4xf8E4M3FN>")
            functions.add(lines, [("%b", "tensor<6x4xf32>"), ("%q", "tensor<6x64xf4E2M1FN>"),
                                  ("%s", "tensor<6x4xf8E4M3FN>")])


def layouts(functions):
    swizzled = "tensor<2x64x3xf8E8M0FNU, #blockscale.layout<swizzle_128x4>>"
    source = "tensor<2x64x96xbf16>"
    functions.add([functions.constant("x", [2, 64, 96], "bf16"),
                   (f"  %q, %s = blockscale.quantize %x block [32, 32] : {source} -> "
                    "tensor<2x64x96xf8E4M3FN>, tensor<2x2x3xf8E8M0FNU>"),
                   ("  %k = blockscale.expand_scale %s block [32, 32] scale_dim k "
                    f": tensor<2x2x3xf8E8M0FNU> -> {swizzled}"),
                   ("  %n = blockscale.expand_scale %s block [32, 32] scale_dim n "
                    ": tensor<2x2x3xf8E8M0FNU> -> tensor<2x96x2xf8E8M0FNU>"),
                   f"  %l = blockscale.swizzle %k : {swizzled} -> tensor<2x64x3xf8E8M0FNU>"],
                  [("%k", swizzled), ("%n", "tensor<2x96x2xf8E8M0FNU>"),
                   ("%l", "tensor<2x64x3xf8E8M0FNU>")])


if __name__ == "__main__":
    cases = Functions()
    for build in (quantizers, amaxes, transforms, sweeps, layouts):
        build(cases)
