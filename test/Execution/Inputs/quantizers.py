# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that quantize and dequantize, and what the numpy reference gives."""

from dataclasses import dataclass, field

import numpy as np

import values
from reference import (
    E2M1,
    E4M3,
    E5M2,
    dequantize_mx,
    dequantize_nvfp4,
    from_bf16,
    global_scale,
    pack,
    quantize_mx,
    quantize_nvfp4,
    swizzle,
    to_bf16,
)

CODECS = {"f4E2M1FN": E2M1, "f8E4M3FN": E4M3, "f8E5M2": E5M2}
NVFP4_RECIPES = ("torchao", "mslk", "te", "modelopt")
MX_RECIPES = ("floor", "rceil", "rceil_sat", "ceil", "even")
TAKES_TAILS = ("te", "modelopt")


@dataclass
class Op:
    """A function that gives data, scales and the values that they stand for.

    `source` of the global scale: '', scale or amax (an argument), or computed_scale
    or computed_amax (from x, in the function, which then gives it too). `form` of
    an argument: scalar, rank_0 or each (batch element); of a computed one: rank_0 or
    each. `dynamic` has the letters of dynamic dimensions: B (batch), M, K."""

    name: str
    recipe: str
    data: str = "f4E2M1FN"
    x: str = "f32"
    layout: str = "linear"
    source: str = ""
    form: str = "rank_0"
    values: str = "f32"
    batch: int = 0  # number of batch dimensions
    dynamic: str = "BMK"
    shape: dict = field(default_factory=dict)  # letters to sizes, batch a tuple

    @property
    def is_nvfp4(self):
        return self.recipe in NVFP4_RECIPES

    @property
    def block(self):
        return 16 if self.is_nvfp4 else 32

    @property
    def operand(self):
        return {"scale": "global_scale", "amax": "global_amax"}[self.source.split("_")[-1]]

    def tensor(self, element, last=None, encoding="", letters="BMK"):
        dims = ""
        for letter in letters:
            sizes = self.shape[letter] if letter == "B" else (self.shape[letter],)
            sizes = (last,) if letter == "K" and last is not None else sizes
            dims += "".join("?x" if letter in self.dynamic else f"{size}x" for size in sizes)
        return f"tensor<{dims}{element}{encoding}>"

    def text(self):
        """The function."""
        x, data, y = (self.tensor(element) for element in (self.x, self.data, self.values))
        encoding = ", #blockscale.layout<swizzle_128x4>" if self.layout == "swizzled" else ""
        scale = self.tensor("f8E4M3FN" if self.is_nvfp4 else "f8E8M0FNU",
                            -(-self.shape["K"] // self.block), encoding)
        types = {"scalar": "f32", "rank_0": "tensor<f32>", "each": self.tensor("f32", letters="B")}
        arguments, results, names = f"%x: {x}", [data, scale, y], ["%q", "%s", "%y"]
        body, operand = "", ""
        if self.source:
            type = types[self.form]
            operand = f" {self.operand}(%g : {type})"
            if self.source.startswith("computed"):
                amax = "%g" if self.source == "computed_amax" else "%a"
                body += f"  {amax} = blockscale.amax %x : {x} -> {type}\n"
                if amax == "%a":
                    body += f"  %g = blockscale.global_scale %a recipe {self.recipe} : {type}\n"
                results, names = [*results, type], [*names, "%g"]
            else:
                arguments += f", %g: {type}"
        attributes = f"block [1, {self.block}] recipe {self.recipe}{operand}"
        body += (f"  %q, %s = blockscale.quantize %x {attributes} : {x} -> {data}, {scale}\n"
                 f"  %y = blockscale.dequantize %q, %s {attributes} : {data}, {scale} -> {y}\n")
        return (f"func.func @{self.name}({arguments}) -> ({', '.join(results)}) {{\n{body}"
                f"  return {', '.join(names)} : {', '.join(results)}\n}}\n")


class Case:
    """Arguments of a function, and its results."""

    def __init__(self, op, random, factor=None, x=None):
        """`factor` replaces random global scales or amaxes, `x` random input."""
        lead = op.shape["B"]
        stored = x
        if x is None:
            dtype = np.uint16 if op.x == "bf16" else np.float32
            stored = values.floats(random, (*lead, op.shape["M"], op.shape["K"]), dtype)
        x = from_bf16(stored) if op.x == "bf16" else stored
        self.op, self.arguments = op, [stored]
        each = lead if op.form == "each" else ()
        computed = []
        if op.source.startswith("computed"):
            axes = (-2, -1) if op.form == "each" else None
            factor = np.abs(x).max(axis=axes, initial=0)
            if op.source == "computed_scale":
                factor = global_scale(factor, op.recipe)
            computed = [np.asarray(factor, np.float32)]
        elif op.source:
            if factor is None:
                exponents = random.uniform(-12, 4, each) if op.source == "scale" \
                    else random.uniform(-4, 20, each)
                factor = np.exp2(exponents)
            factor = np.broadcast_to(np.asarray(factor, np.float32), each).copy()
            self.arguments.append(factor)
        self.results = [*self._quantized(x, factor), *computed]

    def _quantized(self, x, factor):
        op = self.op
        if op.is_nvfp4:
            operand = {op.operand: factor} if op.source else {}
            codes, scale = quantize_nvfp4(x, op.recipe, **operand)
            if op.source.endswith("amax"):
                factor = global_scale(factor, op.recipe)
            y = dequantize_nvfp4(codes, scale, op.recipe, factor if op.source else None)
        else:
            codes, scale = quantize_mx(x, CODECS[op.data], op.recipe)
            y = dequantize_mx(codes, scale, CODECS[op.data])
        with np.errstate(over="ignore"):
            y = {"f32": lambda: y, "bf16": lambda: to_bf16(y),
                 "f16": lambda: y.astype(np.float16)}[op.values]()
        return [pack(codes) if op.data == "f4E2M1FN" else codes,
                swizzle(scale) if op.layout == "swizzled" else scale, y]

    def comparable(self, results):
        """Results with every NaN value the same: its sign and payload mean nothing."""
        data, scale, y, *computed = results
        if self.op.values == "bf16":
            y = np.where((y & 0x7FFF) > 0x7F80, np.uint16(0x7FFF), y)
        else:
            y = np.where(np.isnan(y), y.dtype.type(np.nan), y)
        return [data, scale, y, *(np.where(np.isnan(g), np.float32(np.nan), g) for g in computed)]
