# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds the one-function modules that blockscale-run executes.

Types are logical; `Tensor.storage` gives the form their .npy files have.
"""

from dataclasses import dataclass, field

import numpy as np

ENTRY = "conformance"
DTYPES = {"f32": "float32", "bf16": "uint16", "i32": "int32"}


def _ceildiv(a, b):
    return -(-a // b)


@dataclass(frozen=True)
class Layout:
    """#blockscale.layout; groups = 0 where not grouped."""

    groups: int = 0
    dim: int = 0
    name: str = "swizzle_128x4"

    def __str__(self):
        groups = f", groups = {self.groups}, dim = {self.dim}" if self.groups else ""
        return f"#blockscale.layout<{self.name}{groups}>"

    @property
    def tile(self):
        """The storage dimensions of a tile."""
        return {"swizzle_128x4": (32, 4, 4), "swizzle_8x4": (8, 4)}[self.name]

    def tiles(self, rows, cols):
        """The leading storage dimensions, before those of a tile."""
        if not self.groups:
            return (_ceildiv(rows, int(np.prod(self.tile)) // 4), _ceildiv(cols, 4))
        if self.dim == 0:
            return ((rows + 127 * self.groups) // 128 * _ceildiv(cols, 4),)
        return (_ceildiv(rows, 128) * ((cols + 3 * self.groups) // 4),)


SWIZZLED = Layout()


@dataclass(frozen=True)
class Tensor:
    shape: tuple
    element: str
    layout: Layout = None

    def __str__(self):
        dims = "".join(f"{d}x" for d in self.shape)
        encoding = f", {self.layout}" if self.layout else ""
        return f"tensor<{dims}{self.element}{encoding}>"

    def storage(self):
        """dtype and shape in memory: f4 packed, swizzled scales in tiles."""
        dtype = np.dtype(DTYPES.get(self.element, "uint8"))
        if self.layout:
            *batch, rows, cols = self.shape
            return dtype, (*batch, *self.layout.tiles(rows, cols), *self.layout.tile)
        if self.element == "f4E2M1FN":
            return dtype, (*self.shape[:-1], _ceildiv(self.shape[-1], 2))
        return dtype, self.shape


@dataclass(frozen=True)
class Format:
    block: int
    scale: str
    data: str
    largest: float


NVFP4 = Format(16, "f8E4M3FN", "f4E2M1FN", 6.0)
MXFP8 = Format(32, "f8E8M0FNU", "f8E4M3FN", 448.0)
MXFP8_E5M2 = Format(32, "f8E8M0FNU", "f8E5M2", 57344.0)
MXFP4 = Format(32, "f8E8M0FNU", "f4E2M1FN", 6.0)
MXFP6_E2M3 = Format(32, "f8E8M0FNU", "f6E2M3FN", 7.5)
MXFP6_E3M2 = Format(32, "f8E8M0FNU", "f6E3M2FN", 28.0)
MXINT8 = Format(32, "f8E8M0FNU", "i8", 127 / 64)


@dataclass(frozen=True)
class Form:
    """How quantize cuts x into blocks, and which way its results lie."""

    block: tuple
    transposed: bool = False
    scale_dim: str = None  # k or n: the dimension that the scales are expanded for

    def __str__(self):
        transposed = " transposed" if self.transposed else ""
        scale_dim = f" scale_dim {self.scale_dim}" if self.scale_dim else ""
        return f"block {list(self.block)}{transposed}{scale_dim}"

    def shapes(self, x):
        """Of data and scales."""
        *batch, m, k = x
        scales = (_ceildiv(m, self.block[0]), _ceildiv(k, self.block[1]))
        if self.scale_dim == "k":
            scales = (m, scales[1])
        elif self.scale_dim == "n":
            scales = (k, scales[0])
        elif self.transposed:
            scales = scales[::-1]
        data = (k, m) if self.transposed else (m, k)
        return (*batch, *data), (*batch, *scales)


@dataclass(frozen=True)
class Value:
    name: str
    type: Tensor


@dataclass
class Operation:
    """One line of a function."""

    name: str
    text: str
    operands: list
    results: list
    details: dict = field(default_factory=dict)


class Function:
    """A func.func under construction; every method appends one operation."""

    def __init__(self):
        self.arguments, self.results, self._operations = [], [], []

    def argument(self, type):
        self.arguments.append(Value(f"%arg{len(self.arguments)}", type))
        return self.arguments[-1]

    def operations_of(self, values):
        """The operations that compute these values, in order."""
        needed, chosen = {value.name for value in values}, []
        for operation in reversed(self._operations):
            if needed.intersection(value.name for value in operation.results):
                chosen.append(operation)
                needed.update(value.name for value in operation.operands)
        return chosen[::-1]

    def reduced(self, results):
        """The function with these results only, and the same arguments."""
        function = Function()
        function.arguments, function.results = self.arguments, results
        function._operations = self.operations_of(results)
        return function

    def _op(self, text, operands, types, others=(), signature=None, **details):
        """`others` are operands whose types the text names already. `signature`
        is what follows the colon, where that is not both lists of types."""
        first = len(self._operations)
        values = [Value(f"%v{first}_{i}", t) for i, t in enumerate(types)]
        names = ", ".join(v.name for v in values)
        taken = ", ".join(str(o.type) for o in operands)
        produced = ", ".join(map(str, types))
        signature = signature or f"{taken} -> {produced}"
        self._operations.append(
            Operation(
                text.split()[0],
                f"{names} = blockscale.{text} : {signature}",
                [*operands, *others],
                values,
                details,
            )
        )
        return values

    def amax(self, x, of="matrix"):
        """`of` matrix or row."""
        shape = x.type.shape[: -1 if of == "row" else -2]
        return self._op(f"amax {x.name}", [x], [Tensor(shape, "f32")])[0]

    def hadamard(self, x, dim, sign_mask=None):
        mask = "" if sign_mask is None else f" sign_mask {sign_mask}"
        text = f"hadamard {x.name} dim {dim}{mask}"
        return self._op(text, [x], [x.type], signature=str(x.type))[0]

    def scale_sweep(self, x, global_amax):
        *batch, k = x.type.shape
        text = f"scale_sweep {x.name}{_operands(global_amax=global_amax)}"
        type = Tensor((*batch, k // 16), "f32")
        return self._op(text, [x], [type], [global_amax])[0]

    def expand_scale(self, scale, block, scale_dim, shape, layout=None):
        text = f"expand_scale {scale.name} block [{block}, {block}]"
        type = Tensor(shape, scale.type.element, layout)
        return self._op(f"{text} scale_dim {scale_dim}", [scale], [type])[0]

    def global_scale(self, amax, recipe):
        text = f"global_scale {amax.name} recipe {recipe}"
        return self._op(text, [amax], [amax.type], signature=str(amax.type))[0]

    def quantize(self, x, format, recipe, layout=None, form=None, **operands):
        """`operands`: global_scale, global_amax, block_amax, offsets; group_dim is
        a number. Without a form, blocks lie along rows."""
        form = form or Form((1, format.block))
        data, scale = form.shapes(x.type.shape)
        group_dim = operands.pop("group_dim", 0)
        text = f"quantize {x.name} {form} recipe {recipe}{_operands(**operands)}"
        text += f" group_dim {group_dim}" if group_dim else ""
        types = [Tensor(data, format.data), Tensor(scale, format.scale, layout)]
        return self._op(
            text,
            [x],
            types,
            operands.values(),
            form=form,
            format=format,
            recipe=recipe,
            given=operands,
        )

    def dequantize(self, data, scale, format, element, recipe=None, **globals):
        text = f"dequantize {data.name}, {scale.name} block [1, {format.block}]"
        text += f" recipe {recipe}" if recipe else ""
        text += _operands(**globals)
        type = Tensor(data.type.shape, element)
        return self._op(text, [data, scale], [type], globals.values())[0]

    def swizzle(self, source, layout, offsets=None):
        text = f"swizzle {source.name}"
        text += _operands(offsets=offsets) if offsets else ""
        type = Tensor(source.type.shape, source.type.element, layout)
        return self._op(text, [source], [type], [offsets] if offsets else [])[0]

    def scaled_mm(self, a, b, scales, block, element, **globals):
        """`globals`: global_scale_a and global_scale_b. A plain operand has no scale, None."""
        text = f"scaled_mm {a.name}, {b.name} {_scales(scales)} block [1, {block}]"
        text += _operands(**globals)
        shape = (*a.type.shape[:-1], b.type.shape[-2])
        type = Tensor(shape, element)
        given = [scale for scale in scales if scale]
        return self._op(text, [a, b, *given], [type], globals.values())[0]

    def scaled_grouped_mm(self, a, b, offsets, scales, block, element):
        text = f"scaled_grouped_mm {a.name}, {b.name} offsets({offsets.name})"
        text += f" {_scales(scales)} block [1, {block}]"
        shape = (a.type.shape[0], b.type.shape[-2])
        if len(b.type.shape) == 2:
            shape = (*offsets.type.shape, *shape)
        given = [scale for scale in scales if scale]
        return self._op(text, [a, b, offsets, *given], [Tensor(shape, element)])[0]

    def module(self):
        arguments = ", ".join(f"{a.name}: {a.type}" for a in self.arguments)
        types = ", ".join(str(r.type) for r in self.results)
        names = ", ".join(r.name for r in self.results)
        body = "\n".join("  " + each.text for each in self._operations)
        return (
            f"func.func @{ENTRY}({arguments})\n    -> ({types}) {{\n"
            f"{body}\n  return {names} : {types}\n}}\n"
        )


def _scales(scales):
    return f"scales({', '.join(scale.name if scale else 'none' for scale in scales)})"


def _operands(**values):
    return "".join(f" {k}({v.name} : {v.type})" for k, v in values.items())
