# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""aten._scaled_mm and aten._scaled_grouped_mm, of both generations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from blockscale import _ops
from blockscale._linalg import Array, Size, emit_reshape
from blockscale._trace import Value
from blockscale._types import Layout
from blockscale.torch._importer import NARROW, Importer, handles, sizes_of
from blockscale.torch._operands import take_bias, take_codes, take_scales

#: Numbers of torch.nn.functional.ScalingType and SwizzleType.
_TENSOR_WISE, _BLOCKS = 0, {2: ("f8E4M3FN", 16), 3: ("f8E8M0FNU", 32)}
_LAYOUTS = {0: False, 1: True}


class _Scales:
    """The scales of an operand: the tensor of block scales, whether it is in tiles, and the
    global scale."""

    def __init__(self, block: Any, is_swizzled: bool, tensor: Any = None):
        self.block, self.is_swizzled, self.tensor = block, is_swizzled, tensor


def _read_scale(importer: Importer, what: str) -> tuple[str, int]:
    """The format of block scales that are given without a recipe."""
    dtype = importer.get_operand_meta(what).dtype
    formats = {torch.float8_e4m3fn: _BLOCKS[2], torch.float8_e8m0fnu: _BLOCKS[3]}
    if dtype not in formats:
        importer.refuse(f"expected {what} to be block scales, float8_e4m3fn or float8_e8m0fnu, "
                        f"but got {dtype}; scales of tensors and rows are not imported")
    return formats[dtype]


def _read_recipe(importer: Importer, name: str, scales: Sequence[Any], recipe: Sequence[int],
                 swizzle: Sequence[int]) -> tuple[tuple[str, int], _Scales]:
    names = ("BlockWise1x16", "BlockWise1x32", "BlockWise1x16 and TensorWise")
    if list(recipe) not in ([2], [3], [2, _TENSOR_WISE]) or len(scales) != len(recipe):
        importer.refuse(f"expected recipe_{name} to be {', '.join(names)} with a tensor each, "
                        f"but got {list(recipe)} with {len(scales)}")
    kind = swizzle[0] if swizzle else 0
    if kind not in _LAYOUTS:
        importer.refuse(f"expected swizzle_{name} to be NO_SWIZZLE or SWIZZLE_32_4_4, but got "
                        f"{kind}")
    tensor = scales[1] if len(scales) == 2 else None
    return _BLOCKS[recipe[0]], _Scales(scales[0], _LAYOUTS[kind], tensor)


def _take_global(importer: Importer, scales: _Scales) -> Value | None:
    """A decode scale of the tensor, or of each group."""
    if scales.tensor is None:
        return None
    array = importer.array(scales.tensor, "global scale")
    if array.dtype != "f32":
        importer.refuse(f"expected global scales of float32, but got {array.dtype}")
    if array.sizes == (1,):
        array = emit_reshape(importer, array, ())
    return array.value


def _import_product(importer: Importer, a: Any, b: Any, scale: tuple[str, int],
                    scales_a: _Scales, scales_b: _Scales, bias: Any, offs: Any = None
                    ) -> Array:
    scale_type, block = scale
    meta_a, meta_b = map(importer.get_operand_meta, ("input", "mat2"))
    data = [NARROW.get(meta.dtype) for meta in (meta_a, meta_b)]
    expected = ["f4E2M1FN"] if block == 16 else ["f4E2M1FN", "f8E4M3FN", "f8E5M2"]
    element = data[0]
    if element is None or data[1] != element or element not in expected:
        importer.refuse(f"expected both operands to be {' or '.join(expected)} with blocks of "
                        f"{block}, but got {meta_a.dtype} and {meta_b.dtype}")
    dtype = importer.result.dtype
    if dtype not in (torch.float32, torch.bfloat16, torch.float16):
        importer.refuse(f"expected out_dtype float32, bfloat16 or float16, but got {dtype}")
    factor = 2 if element == "f4E2M1FN" else 1
    *_, m, k = sizes_of(meta_a)
    *batch, k_of_b, n = sizes_of(meta_b)
    if not isinstance(k, int) or k != k_of_b or k * factor % block:
        importer.refuse(f"expected the same known K of both operands, a multiple of {block}, but "
                        f"got {k} and {k_of_b}" + (" bytes" if factor == 2 else ""))
    k *= factor
    offsets = None if offs is None else importer.offsets(offs)
    groups: Size = 0 if offs is None else sizes_of(importer.get_operand_meta("offs"))[0]
    if meta_a.dim() != 2 or (batch and offsets is None):
        importer.refuse("expected matrices, or offs with an input that is one, but got ranks "
                        f"{meta_a.dim()} and {meta_b.dim()}" + ("" if offs else " and no offs"))
    along_k = offsets is not None and not batch

    def take(name: str, codes: Any, scales: _Scales, sizes: list[Size],
             is_grouped: bool) -> tuple[Value, Value]:
        layout = Layout() if scales.is_swizzled else None
        if layout and is_grouped:
            layout = Layout(groups if isinstance(groups, int) else None, 1 if along_k else 0)
        return (take_codes(importer, name, codes, sizes, element, name == "mat2"),
                take_scales(importer, f"the scales of {name}", scales.block,
                            [*sizes[:-1], k // block], scale_type, layout, groups))

    a, scale_a = take("input", a, scales_a, [m, k], offsets is not None)
    b, scale_b = take("mat2", b, scales_b, [*batch, n, k], along_k)
    given: dict[str, Any] = dict(bias=take_bias(importer, bias, dtype),
                 global_scale_a=_take_global(importer, scales_a),
                 global_scale_b=_take_global(importer, scales_b))
    if offsets is not None:
        y = _ops.scaled_grouped_mm(a, b, scale_a, scale_b, offsets, dtype=dtype, **given)
        return Array(y, sizes_of(importer.result))
    y = _ops.scaled_mm(a, b, scale_a, scale_b, dtype=dtype, **given)
    return Array(y, sizes_of(importer.result))


def _refuse_result_scale(importer: Importer, scale_result: Any) -> None:
    if scale_result is not None:
        importer.refuse("expected no scale_result: PyTorch has it for scales of tensors only")


@handles("aten._scaled_mm.default")
def import_scaled_mm(importer: Importer, input: Any, mat2: Any, scale_a: Any, scale_b: Any,
                     bias: Any, scale_result: Any, offs: Any = None, **_: Any) -> Array:
    _refuse_result_scale(importer, scale_result)
    formats = [_read_scale(importer, name) for name in ("scale_a", "scale_b")]
    if formats[0] != formats[1]:
        importer.refuse("expected scale_a and scale_b of one dtype, but got "
                        f"{formats[0][0]} and {formats[1][0]}")
    # Block scales are in tiles in this op; its successor says which they are.
    return _import_product(importer, input, mat2, formats[0], _Scales(scale_a, True),
                           _Scales(scale_b, True), bias, offs)


@handles("aten._scaled_mm_v2.default", "aten._scaled_grouped_mm_v2.default")
def import_scaled_mm_v2(importer: Importer, input: Any, mat2: Any, scale_a: Any, recipe_a: Any,
                        swizzle_a: Any, scale_b: Any, recipe_b: Any, swizzle_b: Any, bias: Any,
                        contraction_dim: Any, offs: Any = None, **_: Any) -> Array:
    if contraction_dim:
        importer.refuse(f"expected no contraction_dim, but got {list(contraction_dim)}")
    format_a, a = _read_recipe(importer, "a", scale_a, recipe_a, swizzle_a)
    format_b, b = _read_recipe(importer, "b", scale_b, recipe_b, swizzle_b)
    if format_a != format_b:
        importer.refuse(f"expected recipe_a and recipe_b of one block, but got {format_a[1]} and "
                        f"{format_b[1]}")
    return _import_product(importer, input, mat2, format_a, a, b, bias, offs)


@handles("aten._scaled_grouped_mm.default")
def import_scaled_grouped_mm(importer: Importer, input: Any, mat2: Any, scale_a: Any,
                             scale_b: Any, offs: Any, bias: Any, scale_result: Any,
                             **_: Any) -> Array:
    if offs is None:
        importer.refuse("expected offs, the ends of groups: products of batches are not imported")
    return import_scaled_mm(importer, input, mat2, scale_a, scale_b, bias, scale_result, offs)
