# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fake quantization: the values that codes stand for, with a gradient that goes straight through.
It is one kernel, and one more where their global scale is that of x itself, or rows are
transformed."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from blockscale._forms import SCALINGS, OperandForm
from blockscale._native import recipes
from blockscale._ops import FORMATS
from blockscale.torch._kernels import to_argument
from blockscale.torch._library import (
    check_tensor,
    check_transformed,
    check_x,
    define,
    differentiate,
    implement,
    refuse,
)
from blockscale.torch._products_kernels import FakeQuantizer, run

_NAME = "fake_quantize"
define(f"{_NAME}(Tensor x, Tensor? given=None, Tensor? rng=None, *, str format, "
       "str? recipe=None, str scaling='none', bool swept=False, int[2]? block=None, "
       "bool rht=False) "
       "-> (Tensor, Tensor, Tensor)")
_E4M3_SCALES = "nvfp4"


def _make(x: Tensor, given: Tensor | None, rng: Tensor | None, format: str, recipe: str | None,
          scaling: str, swept: bool, block: Sequence[int] | None, rht: bool) -> FakeQuantizer:
    """The kernel of a call, all of whose operands are as it takes them."""
    check_x(_NAME, x)
    for what, value, known in (("format", format, tuple(FORMATS)), ("scaling", scaling, SCALINGS),
                               ("recipe", recipe, (None, *recipes))):
        if value not in known:
            refuse(_NAME, f"{what} to be one of {', '.join(filter(None, known))}", repr(value))
    size = FORMATS[format][2]
    shapes = ((1, size), (size, 1), (size, size))
    chosen = shapes[0] if block is None else tuple(block)
    if chosen not in shapes:
        refuse(_NAME, f"a block of {', '.join(str(list(shape)) for shape in shapes)}",
               list(chosen))
    if rht and chosen == shapes[2]:
        refuse(_NAME, "a block of a row or of a column for the Hadamard transform (rht)",
               list(chosen))
    check_transformed(_NAME, x, rht)
    if scaling != "none" and format != _E4M3_SCALES:
        refuse(_NAME, f"no scaling by a global scale but of {_E4M3_SCALES}", f"one of {format}")
    if (given is not None) != (scaling in ("amax", "scale")):
        refuse(_NAME, "given exactly with scaling 'amax' or 'scale'",
               f"'{scaling}' with {'none' if given is None else 'one'}")
    if given is not None:
        check_tensor(_NAME, "given", given, torch.float32, [], x)
    if rng is not None:
        check_tensor(_NAME, "rng", rng, torch.int64, [2], x)
    return FakeQuantizer(OperandForm(format, recipe, scaling, None, swept), x.dtype, x.dim(),
                         (chosen[0], chosen[1]), rng is not None, rht)


def _quantize(x: Tensor, given: Tensor | None = None, rng: Tensor | None = None, *, format: str,
              recipe: str | None = None, scaling: str = "none", swept: bool = False,
              block: Sequence[int] | None = None, rht: bool = False
              ) -> tuple[Tensor, Tensor, Tensor]:
    quantizer = _make(x, given, rng, format, recipe, scaling, swept, block, rht)
    y, scales, *made = run(quantizer.get(x.device, x.shape[-1]), [to_argument(x), given, rng])
    if quantizer.is_transposed:
        y, scales = y.transpose(-2, -1), scales.transpose(-2, -1)
    if made:
        return y, scales, made[0]
    # Without a global scale there is nothing to compute.
    return y, scales, x.new_empty(0, dtype=torch.float32) if given is None else given.clone()


def _fake(x: Tensor, given: Tensor | None = None, rng: Tensor | None = None, *, format: str,
          recipe: str | None = None, scaling: str = "none", swept: bool = False,
          block: Sequence[int] | None = None, rht: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    quantizer = _make(x, given, rng, format, recipe, scaling, swept, block, rht)
    rows, cols = quantizer.block
    *batch, m, k = x.shape
    globals_ = [0] if scaling == "none" else batch if scaling == "dynamic" else []

    def make(m: int, k: int, dtype: torch.dtype) -> Tensor:
        if quantizer.is_transposed:
            return x.new_empty([*batch, k, m], dtype=dtype).transpose(-2, -1)
        return x.new_empty([*batch, m, k], dtype=dtype)
    return (make(m, k, x.dtype), make(-(-m // rows), -(-k // cols), torch.uint8),
            x.new_empty(globals_, dtype=torch.float32))


implement(_NAME, _quantize, _fake)


@functools.cache
def get_largest(format: str) -> float:
    """The largest finite element of a format."""
    one = 56 if format == _E4M3_SCALES else 127  # The byte of a scale of 1.
    size = FORMATS[format][2]
    codes = torch.arange(256, dtype=torch.uint8)
    features = 512 if FORMATS[format][0] == "f4E2M1FN" else 256
    values = torch.ops.blockscale.dequantize(
        codes[None], torch.full((1, features // size), one, dtype=torch.uint8),
        in_features=features, format=format, dtype=torch.float32)
    return float(values[values.isfinite()].max())


def decode_scales(scales: Tensor, format: str) -> Tensor:
    """Scale bytes as f32."""
    if format == _E4M3_SCALES:
        return scales.view(torch.float8_e4m3fn).float()
    return torch.where(scales == 255, torch.nan, torch.exp2(scales.float() - 127))


def _transform(x: Tensor, dim: int, transposed: bool) -> Tensor:
    """The Hadamard transform along `dim`, or its transpose."""
    rows = torch.ops.blockscale.hadamard(x.movedim(dim, -1), transposed=transposed)
    made: Tensor = rows.movedim(-1, dim)
    return made


def _save(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
    ctx.save_for_backward(inputs[0], output[1], output[2])
    ctx.options = keyword_only_inputs
    ctx.mark_non_differentiable(output[1], output[2])


def _differentiate(context: Any, gradient: Tensor, *_: Any) -> tuple[Any, ...]:
    """The gradient of y, but zero where x is larger than the largest value of its block."""
    x, scales, scale = context.saved_tensors
    format, rht = context.options["format"], context.options.get("rht", False)
    size = FORMATS[format][2]
    rows, cols = context.options.get("block") or (1, size)
    largest = decode_scales(scales, format) * get_largest(format)
    if context.options.get("scaling", "none") != "none":
        largest = largest * scale.reshape(*scale.shape, *[1] * (largest.dim() - scale.dim()))
    m, k = x.shape[-2:]
    if rows > 1:
        largest = largest.repeat_interleave(rows, -2)
    if cols > 1:
        largest = largest.repeat_interleave(cols, -1)
    dim = -2 if rows > 1 else -1
    if rht:
        x = _transform(x, dim, transposed=False)
    is_clipped = x.abs() > largest[..., :m, :k]
    gradient = gradient.masked_fill(is_clipped, 0)
    return _transform(gradient, dim, transposed=True) if rht else gradient, None, None


differentiate(_NAME, _differentiate, _save)


def fake_quantize(x: Tensor, *, format: str, recipe: str | None = None, scaling: str = "none",
                  given: Tensor | None = None, swept: bool = False,
                  block: tuple[int, int] | None = None, rng: Tensor | None = None,
                  rht: bool = False) -> Tensor:
    """The values of the codes that quantization by a recipe makes of x, as training with
    quantization in mind has them. Their bytes are those of quantize, then dequantize.

    The gradient is that of the result ("straight through"), but zero for elements that are
    clipped: those above the largest element of the format times the scales of their block.

    Args:
      x: [.., M, K], float32, bfloat16 or float16.
      format: "nvfp4", "mxfp8", "mxfp8_e5m2", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp4" or "mxint8".
      recipe: the rounding; None for the format's default (docs/Spec.md, section 2).
      scaling: of the global scale of NVFP4: "none", "dynamic" by the amax of x, of each matrix of
        a batch; "amax" or "scale" that is given.
      given: that amax or decode scale, float32 of shape [].
      swept: whether the scales of NVFP4 are those with the least squared error.
      block: [1, B], [B, 1] or [B, B], where B is 16 for NVFP4 and 32 else; None for [1, B].
      rng: seed and offset, int64 [2], for stochastic rounding of FP4 (docs/Numerics.md,
        section 16).
      rht: whether blocks of a row, or of a column, are quantized of the Hadamard transform along
        them, as quantize does. The result is of what is transformed; x is bfloat16.

    Returns: a tensor of x's shape and dtype. In blocks of a column its columns lie side by side in
      memory.

    Raises: ArgumentError; CompileError for what a recipe does not have.
    """
    made: Tensor = torch.ops.blockscale.fake_quantize(
        x, given, rng, format=format, recipe=recipe, scaling=scaling, swept=swept,
        block=None if block is None else list(block), rht=rht)[0]
    return made
