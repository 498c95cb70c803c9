# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ops of the dialect as functions of traced values.

The last two dimensions of a tensor are its matrix; those before are a batch. M, N, K
are sizes; `?` stands for one that is not known. docs/Spec.md of the project has every
rule; what breaks one is told when the function has been traced.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blockscale import _native
from blockscale._errors import ArgumentError
from blockscale._trace import Value, emit
from blockscale._types import LAYOUTS, DataLayout, Layout, Size, Spec, ceil_div, element_name

#: Data and scale dtype and the block of a row of each format of quantize().
FORMATS = {
    "nvfp4": ("f4E2M1FN", "f8E4M3FN", 16),
    "mxfp8": ("f8E4M3FN", "f8E8M0FNU", 32),
    "mxfp8_e5m2": ("f8E5M2", "f8E8M0FNU", 32),
    "mxfp6_e2m3": ("f6E2M3FN", "f8E8M0FNU", 32),
    "mxfp6_e3m2": ("f6E3M2FN", "f8E8M0FNU", 32),
    "mxfp4": ("f4E2M1FN", "f8E8M0FNU", 32),
    "mxint8": ("i8", "f8E8M0FNU", 32),
}

#: Orders of the sums of a product (docs/Spec.md): any one, and one chain along K.
ORDERS = ("free", "chain")


def _check(what: str, value: Any, ranks: Sequence[int] | None = None,
           dtypes: Sequence[str] | None = None, least: int = 0) -> Value:
    if not isinstance(value, Value):
        raise ArgumentError(f"expected {what} to be a traced value, but got {value!r}: ops "
                            "are for functions under @blockscale.jit")
    if dtypes and value.dtype not in dtypes:
        raise ArgumentError(f"expected {what} to have dtype {' or '.join(dtypes)}, but got "
                            f"{value.dtype} ({value.spec})")
    rank = value.spec.rank
    if (ranks is not None and rank not in ranks) or rank < least:
        expected = " or ".join(map(str, ranks)) if ranks else f"{least} or more"
        raise ArgumentError(f"expected {what} to have rank {expected}, but got {rank} "
                            f"({value.spec})")
    return value


class _Text:
    """The text of an op, part by part, its operands, and what its keywords say."""

    def __init__(self, *operands: Value):
        self.operands = list(operands)
        self.parts = [", ".join(value.name for value in operands)]
        self.attributes: dict[str, Any] = {}

    def add(self, part: str) -> _Text:
        self.parts.append(part)
        return self

    def word(self, keyword: str, value: Any) -> _Text:
        if value is None:
            return self
        self.attributes[keyword] = value
        return self.add(f"{keyword} {value}")

    def flag(self, keyword: str, value: bool) -> _Text:
        if not value:
            return self
        self.attributes[keyword] = True
        return self.add(keyword)

    def block(self, rows: int, cols: int) -> _Text:
        self.attributes["block"] = (rows, cols)
        return self.add(f"block [{rows}, {cols}]")

    def integer(self, keyword: str, value: int | None) -> _Text:
        if value is not None and not isinstance(value, int):
            raise ArgumentError(f"expected {keyword} to be a number, but got {value!r}")
        return self.word(keyword, value)

    def one_of(self, keyword: str, value: str | None, known: Sequence[str]) -> _Text:
        if value is not None and value not in known:
            raise ArgumentError(f"expected {keyword} to be one of {', '.join(known)}, but "
                                f"got {value!r}")
        return self.word(keyword, value)

    def operand(self, keyword: str, value: Value | None) -> _Text:
        if value is None:
            return self
        _check(keyword, value)
        self.operands.append(value)
        self.attributes[keyword] = value
        return self.add(f"{keyword}({value.name} : {value.spec})")

    def emit(self, bases: str | Sequence[str], op: str, types: str,
             specs: Sequence[Spec]) -> list[Value]:
        results = emit(bases, f"blockscale.{op}", self.operands, " ".join(self.parts), types,
                       specs)
        results[0]._trace.ops[-1].attributes = self.attributes
        return results


def _layout(layout: Any, groups: int | None, dim: int) -> Layout | None:
    if layout is None or isinstance(layout, Layout):
        return layout
    if layout not in LAYOUTS:
        names = ", ".join(map(repr, LAYOUTS))
        raise ArgumentError(f"expected layout to be None, one of {names} or a Layout, but got "
                            f"{layout!r}")
    return Layout(groups, 0 if groups == 0 else dim, layout)


def _groups(offsets: Value | None) -> int | None:
    """The number of groups, 0 without offsets, or None where calls say it."""
    if offsets is None:
        return 0
    _check("offsets", offsets, ranks=(1,), dtypes=("i32",))
    return offsets.shape[0]


def get_block(dtype: str) -> int:
    """The size of the blocks that scales of a dtype have."""
    return 16 if dtype == "f8E4M3FN" else 32


def amax(x: Value, *, per: str = "tensor", offsets: Value | None = None,
         group_dim: int = 0) -> Value:
    """The largest absolute value, NaN where one is.

    Args:
      x: [.., M, K], f32, bf16 or f16.
      per: "tensor", or "batch" for one of each batch element, or "row" for [.., M].
      offsets: [G] i32, ends of groups along `group_dim`; one amax for each.

    Returns: f32 of shape [], [..], [.., M] or [G].
    """
    _check("x", x, least=2, dtypes=("f32", "bf16", "f16"))
    shapes = {"tensor": (), "batch": x.shape[:-2], "row": x.shape[:-1]}
    if per not in shapes:
        raise ArgumentError(f"expected per to be tensor, batch or row, but got {per!r}")
    groups = _groups(offsets)
    result = Spec((groups,) if offsets is not None else shapes[per], "f32")
    text = _Text(x).operand("offsets", offsets)
    text.integer("group_dim", group_dim or None)
    return text.emit("amax", "amax", f"{x.spec} -> {result}", [result])[0]


def amax_over_ranks(amax: Value) -> Value:
    """The largest of each amax over all ranks, each of which has a part of the tensor, f32 of its
    shape. Calls have a function that reduces: `over_ranks` of Compiled."""
    _check("amax", amax, dtypes=("f32",))
    return _Text(amax).emit("amax", "amax_over_ranks", f"{amax.spec} -> {amax.spec}",
                            [amax.spec])[0]


def global_scale(amax: Value, *, recipe: str = "torchao", nonzero_amax: bool = True) -> Value:
    """The decode scale of NVFP4 that `recipe` derives from an amax, f32 of its shape.

    Args:
      nonzero_amax: an amax of 0 is taken as 2688, whose scale is 1. With False a tensor of zeros
        has the scale of the recipe, which in "torchao" and "modelopt" is 0 and gives NaN.
    """
    _check("amax", amax, dtypes=("f32",))
    text = _Text(amax).one_of("recipe", recipe, _native.recipes)
    return text.flag("nonzero_amax", nonzero_amax).emit(
        "global", "global_scale", str(amax.spec), [amax.spec])[0]


def hadamard(x: Value, dim: int, *, sign_mask: int | None = None) -> Value:
    """The random Hadamard transform of groups of 16.

    Args:
      x: [.., M, K], bf16.
      dim: 0 for groups down a column, 1 for groups along a row; a multiple of 16.
      sign_mask: bit i is the sign of element i of a group; None for 0xD7E8.

    Returns: like x.
    """
    _check("x", x, least=2, dtypes=("bf16",))
    return _Text(x).integer("dim", dim).integer("sign_mask", sign_mask).emit(
        "rotated", "hadamard", str(x.spec), [x.spec])[0]


def count_padded_rows(rows: Any, groups: Any, unit: int) -> Any:
    """The rows of groups that are each padded to a multiple of `unit`, at the most."""
    return (rows + groups * (unit - 1)) // unit * unit


def pad_groups(x: Value, offsets: Value, unit: int = 32) -> tuple[Value, Value]:
    """The groups of rows of x, each followed by zeros up to a multiple of `unit` rows.

    Blocks down the columns, and products along rows, take these groups and their ends.

    Args:
      x: [M, K], f32, bf16 or f16.
      offsets: [G] i32, ends of groups of rows; any that do not descend, up to M.
      unit: from 1 to 65536; a multiple of the rows of a block, and of 32 for products on GPUs.

    Returns: (padded, ends): like x with (M + G * (unit - 1)) // unit * unit rows, and [G] i32,
    the ends of the groups in it.
    """
    _check("x", x, ranks=(2,), dtypes=("f32", "bf16", "f16"))
    _check("offsets", offsets, ranks=(1,), dtypes=("i32",))
    text = _Text(x).operand("offsets", offsets).integer("unit", unit)
    rows, groups = x.shape[0], offsets.shape[0]
    if unit < 1:
        raise ArgumentError(f"expected unit to be 1 or more, but got {unit}")
    padded = None
    if rows is not None and groups is not None:
        padded = count_padded_rows(rows, groups, unit)
    result = Spec((padded, x.shape[1]), x.dtype)
    first, ends = text.emit(("padded", "ends"), "pad_groups", f"{x.spec} -> {result}",
                            [result, offsets.spec])
    return first, ends


def quantize(x: Value, *, format: str = "nvfp4", block: tuple[int, int] | None = None,
             recipe: str | None = None, global_scale: Value | None = None,
             global_amax: Value | None = None, block_amax: Value | None = None,
             rng: Value | None = None, offsets: Value | None = None, group_dim: int = 0,
             transposed: bool = False, scale_dim: str | None = None,
             layout: Any = None, nonzero_amax: bool = True) -> tuple[Value, Value]:
    """Narrow data and block scales of x.

    Args:
      x: [.., M, K], f32, bf16 or f16.
      format: "nvfp4", "mxfp8", "mxfp8_e5m2", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp4" or
        "mxint8".
      block: [1, 16], [16, 16], [16, 1] (NVFP4), [1, 32], [32, 1], [32, 32] (MX); None
        for blocks of a row.
      recipe: the rounding; None for "torchao" (NVFP4) or "rceil" (MX).
      global_scale: f32, the decode scale of the tensor, batch element, row or group.
      global_amax: f32, its amax instead.
      block_amax: f32 of the scales' shape, instead of the amax of each block.
      rng: [2] i64, seed and offset: E2M1 codes are rounded stochastically. [4] if x is a part of a
        larger tensor: the number of its first segment of 16 elements there, and the segments of a
        row of that one, are behind them.
      offsets: [G] i32, ends of groups along `group_dim`.
      transposed: both results are of x's transpose.
      scale_dim: "k" or "n": scales of square blocks, replicated for a product along it.
      layout: "swizzle_128x4": scales in the tiles that tensor cores read; "swizzle_8x4": in
        those that kernels of FlashInfer and TensorRT-LLM read for few rows.
      nonzero_amax: as in global_scale(), for `global_amax`.

    Returns: data [.., M, K] and scales [.., M/rows, K/cols], rounded up.
    """
    _check("x", x, least=2, dtypes=("f32", "bf16", "f16"))
    if format not in FORMATS:
        raise ArgumentError(f"expected format to be one of {', '.join(FORMATS)}, but got "
                            f"{format!r}")
    data_type, scale_type, size = FORMATS[format]
    rows, cols = block or (1, size)
    batch, (m, k) = x.shape[:-2], x.shape[-2:]
    shape: tuple[Size, Size] = (m, k)
    scales: tuple[Size, Size] = (ceil_div(m, rows), ceil_div(k, cols))
    if scale_dim not in (None, "k", "n"):
        raise ArgumentError(f"expected scale_dim to be 'k' or 'n', but got {scale_dim!r}")
    if scale_dim == "k":
        scales = (m, ceil_div(k, cols))
    elif scale_dim == "n":
        scales = (k, ceil_div(m, rows))
    if transposed:
        shape = shape[::-1]
        scales = scales if scale_dim else scales[::-1]
    swaps = scale_dim == "n" or (transposed and not scale_dim)
    result = _layout(layout, _groups(offsets), 1 - group_dim if swaps else group_dim)
    specs = [Spec((*batch, *shape), data_type), Spec((*batch, *scales), scale_type, result)]
    text = _Text(x).block(rows, cols).flag("transposed", transposed)
    text.word("scale_dim", scale_dim).one_of("recipe", recipe, _native.recipes)
    text.operand("global_scale", global_scale).operand("global_amax", global_amax)
    text.flag("nonzero_amax", nonzero_amax and global_amax is not None)
    text.operand("block_amax", block_amax).operand("rng", rng)
    text.operand("offsets", offsets).integer("group_dim", group_dim or None)
    data, scale = text.emit(("data", "scale"), "quantize",
                            f"{x.spec} -> {specs[0]}, {specs[1]}", specs)
    return data, scale


def dequantize(data: Value, scale: Value, *, dtype: Any = "f32",
               block: tuple[int, int] | None = None, recipe: str | None = None,
               global_scale: Value | None = None, global_amax: Value | None = None,
               unchecked_origins: bool = False) -> Value:
    """The inverse of quantize().

    Args:
      data: [.., M, K], f4, f6, f8 or i8.
      scale: [.., M/rows, K/cols], f8E4M3FN (NVFP4) or f8E8M0FNU (MX), in any layout.
      dtype: of the result: f32, bf16 or f16.
      global_scale, global_amax: f32, of the tensor, batch element or row.
      unchecked_origins: as in scaled_mm().

    Returns: [.., M, K].
    """
    _check("data", data, least=2)
    _check("scale", scale, least=2, dtypes=("f8E4M3FN", "f8E8M0FNU"))
    rows, cols = block or (1, get_block(scale.dtype))
    result = Spec(data.shape, element_name(dtype))
    text = _Text(data, scale).block(rows, cols).one_of("recipe", recipe, _native.recipes)
    text.operand("global_scale", global_scale).operand("global_amax", global_amax)
    text.flag("unchecked_origins", unchecked_origins)
    return text.emit("x", "dequantize", f"{data.spec}, {scale.spec} -> {result}",
                     [result])[0]


def swizzle(scale: Value, layout: Any = "swizzle_128x4", *,
            offsets: Value | None = None) -> Value:
    """Scales in another layout; None is linear, for scales of known sizes.

    Args:
      scale: [.., R, C], f8E4M3FN or f8E8M0FNU.
      offsets: [G] i32, ends of groups of rows, or of what a Layout says.

    Returns: the same scales, stored so.
    """
    _check("scale", scale, least=2, dtypes=("f8E4M3FN", "f8E8M0FNU"))
    result = Spec(scale.shape, scale.dtype, _layout(layout, _groups(offsets), 0))
    return _Text(scale).operand("offsets", offsets).emit(
        "tiles", "swizzle", f"{scale.spec} -> {result}", [result])[0]


def prepack(data: Value, layout: Any = "fragments_64x64") -> Value:
    """Data in another layout; None is row-major, for data of known sizes.

    A weight that a product on Hopper multiplies by a plain operand is prepacked once: a
    call with a constant is computed when it is compiled.

    Args:
      data: [.., N, K], f4, f6, f8 or i8.

    Returns: the same data, stored so.
    """
    _check("data", data, least=2, dtypes=[row[0] for row in FORMATS.values()])
    if layout == "fragments_64x64":
        layout = DataLayout()
    if layout is not None and not isinstance(layout, DataLayout):
        raise ArgumentError("expected layout to be None, 'fragments_64x64' or a DataLayout, "
                            f"but got {layout!r}")
    result = Spec(data.shape, data.dtype, layout)
    return _Text(data).emit("packed", "prepack", f"{data.spec} -> {result}", [result])[0]


def expand_scale(scale: Value, scale_dim: str, *, rows: int, cols: int,
                 layout: Any = None) -> Value:
    """Scales of square blocks, replicated as a product along a dimension takes them.

    Args:
      scale: [.., N/B, K/B] of data [.., N, K] with `rows` N and `cols` K.
      scale_dim: "k" for [.., N, K/B], "n" for [.., K, N/B].

    Returns: these scales.
    """
    _check("scale", scale, least=2, dtypes=("f8E4M3FN", "f8E8M0FNU"))
    if scale_dim not in ("k", "n"):
        raise ArgumentError(f"expected scale_dim to be 'k' or 'n', but got {scale_dim!r}")
    size = get_block(scale.dtype)
    compact = scale.shape[-2:]
    shape = (rows, compact[1]) if scale_dim == "k" else (cols, compact[0])
    result = Spec((*scale.shape[:-2], *shape), scale.dtype, _layout(layout, 0, 0))
    return _Text(scale).block(size, size).word("scale_dim", scale_dim).emit(
        "expanded", "expand_scale", f"{scale.spec} -> {result}", [result])[0]


def scale_sweep(x: Value, global_amax: Value, *, hessian: Value | None = None,
                nonzero_amax: bool = True) -> Value:
    """The amax of each block of NVFP4, of 126 candidates, with the least squared error.

    Args:
      x: [.., M, K], f32, bf16 or f16.
      global_amax: f32, of the tensor or batch element.
      hessian: [K/16, 16, 16] f32 weights of the error.
      nonzero_amax: as in global_scale(), for `global_amax`.

    Returns: f32 [.., M, K/16], for quantize(block_amax=).
    """
    _check("x", x, least=2, dtypes=("f32", "bf16", "f16"))
    result = Spec((*x.shape[:-1], ceil_div(x.shape[-1], 16)), "f32")
    text = _Text(x).operand("global_amax", _check("global_amax", global_amax))
    text.flag("nonzero_amax", nonzero_amax)
    return text.operand("hessian", hessian).emit(
        "best", "scale_sweep", f"{x.spec} -> {result}", [result])[0]


def _product(op: str, a: Value, b: Value, scale_a: Value | None, scale_b: Value | None,
             offsets: Value | None, result: Spec, block: tuple[int, int] | None,
             global_scale_a: Value | None, global_scale_b: Value | None,
             bias: Value | None, global_scaling: str | None, order: str | None,
             unchecked_origins: bool, mn_major: str) -> Value:
    scales = [_check(name, scale, dtypes=("f8E4M3FN", "f8E8M0FNU"))
              for name, scale in (("scale_a", scale_a), ("scale_b", scale_b)) if scale is not None]
    rows, cols = block or (1, get_block(scales[0].dtype) if scales else 16)
    text = _Text(a, b)
    operands = [a, b]
    for side in _sides(mn_major):
        text.add(f"mn_major_{side}")
    if offsets is not None:
        text.add(f"offsets({offsets.name})")
        operands.append(offsets)
    names = ", ".join(scale.name if scale is not None else "none" for scale in (scale_a, scale_b))
    text.add(f"scales({names})").block(rows, cols)
    text.attributes.update(scale_a=scale_a, scale_b=scale_b)
    operands += scales
    text.operands = list(operands)
    text.operand("global_scale_a", global_scale_a)
    text.operand("global_scale_b", global_scale_b)
    text.one_of("global_scaling", global_scaling,
                ("before_rounding", "after_rounding", "in_elements"))
    text.one_of("order", order, ORDERS)
    text.operand("bias", bias).flag("unchecked_origins", unchecked_origins)
    types = ", ".join(str(value.spec) for value in operands)
    return text.emit("y", op, f"{types} -> {result}", [result])[0]


def _sides(mn_major: str) -> str:
    if mn_major not in ("", "a", "b", "ab"):
        raise ValueError(f"expected mn_major to be '', 'a', 'b' or 'ab', but got {mn_major!r}")
    return mn_major


def _rows(a: Value, b: Value, mn_major: str) -> tuple[Any, Any]:
    """M and N."""
    sides = _sides(mn_major)
    return a.shape[-1 if "a" in sides else -2], b.shape[-1 if "b" in sides else -2]


def scaled_mm(a: Value, b: Value, scale_a: Value | None, scale_b: Value | None, *,
              dtype: Any = "bf16",
              block: tuple[int, int] | None = None, global_scale_a: Value | None = None,
              global_scale_b: Value | None = None, bias: Value | None = None,
              global_scaling: str | None = None, order: str | None = None,
              unchecked_origins: bool = False, mn_major: str = "") -> Value:
    """a times the transpose of b, summed in f32.

    Args:
      a, b: [.., M, K] and [.., N, K], f4, f6, f8 or i8; one may be plain, bf16, or
        f16 beside NVFP4, and the other one prepacked then; or both are bf16 or f16.
      scale_a, scale_b: [.., M, K/B] and [.., N, K/B], in any layout; None of a plain
        operand.
      dtype: of the result: f32, bf16 or f16.
      global_scale_a, global_scale_b: f32, of the tensor, batch element or row.
      bias: [N], of the result's dtype.
      global_scaling: "before_rounding" (None), "after_rounding", or "in_elements" beside a
        plain operand: elements are multiplied and rounded to its type, as by dequantize().
      order: "free" (None), sums along K in any order, or "chain": in ascending steps of bf16 or
        f16 tensor cores, so that a result has the same bits in every batch and schedule.
      unchecked_origins: accept scales and global scales that are not those of the
        quantize() that made the data.
      mn_major: "a", "b" or "ab": a is [.., K, M] and b [.., K, N]. Of one with scales, which
        the other one has not, the scales are [.., K, M/B] or [.., K, N/B]: data and scales of
        a weight W in dy W, as x W^T has them.

    Returns: [.., M, N].
    """
    _check("a", a, least=2)
    _check("b", b, least=2)
    result = Spec((*a.shape[:-2], *_rows(a, b, mn_major)), element_name(dtype))
    return _product("scaled_mm", a, b, scale_a, scale_b, None, result, block, global_scale_a,
                    global_scale_b, bias, global_scaling, order, unchecked_origins, mn_major)


def scaled_grouped_mm(a: Value, b: Value, scale_a: Value | None, scale_b: Value | None,
                      offsets: Value, *, dtype: Any = "bf16", block: tuple[int, int] | None = None,
                      global_scale_a: Value | None = None,
                      global_scale_b: Value | None = None, bias: Value | None = None,
                      global_scaling: str | None = None, order: str | None = None,
                      unchecked_origins: bool = False, mn_major: str = "") -> Value:
    """A product for each group of rows of a, or of columns of a and b.

    Args:
      a, b: [M, K] and [G, N, K] for groups of rows; [M, K] and [N, K] for groups of
        columns.
      scale_a, scale_b: of a and b, in any layout; None of a plain operand.
      offsets: [G] i32, ends of the groups.
      others: as scaled_mm() has them; bias [N] or [G, N]; a of groups of rows is not
        MN-major.

    Returns: [M, N] for groups of rows, [G, M, N] for groups of columns.
    """
    _check("a", a, ranks=(2,))
    _check("b", b, ranks=(2, 3))
    groups = _groups(_check("offsets", offsets))
    shape = _rows(a, b, mn_major)
    result = Spec(shape if b.spec.rank == 3 else (groups, *shape), element_name(dtype))
    return _product("scaled_grouped_mm", a, b, scale_a, scale_b, offsets, result, block,
                    global_scale_a, global_scale_b, bias, global_scaling, order,
                    unchecked_origins, mn_major)
