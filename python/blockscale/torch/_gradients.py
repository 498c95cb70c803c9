# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of products with frozen weights: of activations and biases.

The gradient of activations is the product of that of the result with the weight along its rows,
whose values are those of the codes that the layer multiplies. It is an op of its own,
`transposed_linear_weight_only`, which has a derivative in turn: that of the layer. Weights and
their scales have no gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from blockscale._ops import ORDERS
from blockscale.torch._forms import ROW_MAJOR, get_storage, has_product
from blockscale.torch._hadamard import mix_back
from blockscale.torch._kernels import LOG, to_argument
from blockscale.torch._library import (
    PLAIN,
    check_tensor,
    check_x,
    define,
    differentiate,
    find_behind,
    find_group,
    implement,
    multiply_scaled,
    multiply_wide,
    refuse,
    set_rows,
)
from blockscale.torch._products_kernels import Dequantizer, TransposedLinear, run

_OPS = torch.ops.blockscale
#: Rows of a weight that a product along them takes at a time.
_STEP = 16

define("transposed_linear_weight_only(Tensor rows, Tensor[] data, Tensor[] scales, "
       "Tensor?[] global_scale, *, int in_features, int[] out_features, str format, "
       "str layout='row_major', bool rht=False, str order='free') -> Tensor")
define("transposed_grouped_linear_weight_only(Tensor rows, Tensor data, Tensor scales, "
       "Tensor? global_scale, Tensor offsets, *, int in_features, str format, "
       "str layout='row_major', bool rht=False, str order='free') -> Tensor")


# The product.


def _pad(data: Tensor, scales: Tensor, rows: int, columns: int, format: str, layout: str
         ) -> tuple[Tensor, Tensor, str]:
    """A weight with as many rows as products take: those that are added are zeros."""
    rest = -rows % _STEP
    if not rest:
        return data, scales, layout
    data, scales = _OPS.pack(data, scales, out_features=rows, in_features=columns, format=format,
                             before=layout, after=ROW_MAJOR)
    return F.pad(data, (0, 0, 0, rest)), F.pad(scales, (0, 0, 0, rest)), ROW_MAJOR


def _multiply(rows: Tensor, data: Tensor, scales: Tensor, scale: Tensor | None,
              offsets: Tensor | None, columns: int, format: str, layout: str, order: str,
              result: torch.dtype) -> Tensor:
    """Rows [M, N] times the values of a weight [N, K], or by groups of rows those of [G, N, K].
    `scale` is the global one, one number or one for each group, and multiplies sums in f32. Rows
    behind the last group give zeros. This is where the gradients of all frozen weights are
    multiplied."""
    count = rows.shape[-1]
    if has_product(rows.device, True, format):
        data, scales, layout = _pad(data, scales, count, columns, format, layout)
        shape = (*([] if offsets is None else offsets.shape), count + -count % _STEP, columns)
        kernel = TransposedLinear(shape, rows.dtype, result, format, layout,
                                  None if scale is None else tuple(scale.shape), order)
        made, = run(kernel.get(rows.device), [to_argument(F.pad(rows, (0, -count % _STEP))), data,
                                              scales, scale, offsets], rows.shape[0])
        return made
    # The layer itself has no order, no transform and no other layout there.
    LOG.debug("dequantize and multiply by PyTorch, since the GPU has no product of ours")
    batch = [] if offsets is None else [len(offsets)]
    weight, = Dequantizer((*batch, count, columns), format, rows.dtype).get(data.device)(
        [to_argument(data), to_argument(scales)])
    sums = multiply_scaled(rows, weight, scale, offsets)
    if offsets is not None:
        sums = sums.masked_fill(find_behind(offsets, len(rows)), 0)
    return sums.to(result)


def _split_scale(rows: Tensor, scale: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """A global scale of each row of the weight as one number behind the product, and the rest in
    front of it, where the summed elements are: the rest is 1, and changes nothing, if all scales
    are one number, as those of layers are that lie behind one another."""
    if scale is None or not scale.dim():
        return rows, scale
    largest = scale.abs().amax()
    rest = torch.where(scale == largest, 1.0, scale / largest)
    return (rows.float() * rest).to(rows.dtype), largest


def sum_rows(rows: Tensor, offsets: Tensor | None = None) -> Tensor:
    """In f32: of all rows, or of those of each group, whose ends are `offsets`."""
    if offsets is None:
        return rows.float().sum(0)
    groups = offsets.shape[0]
    group = find_group(offsets, rows.shape[0])
    # Whatever rows behind the last group have: 0 times that may be NaN.
    rows = rows.masked_fill((group == groups)[:, None], 0)
    numbers = torch.arange(groups, device=group.device)
    return multiply_wide((group == numbers[:, None]).to(rows.dtype), rows)


# The ops.


def _check_weights(op: str, rows: Tensor, weights: Sequence[tuple[Any, ...]], columns: int,
                   format: str, layout: str, batch: list[int]) -> None:
    """`weights` have data, scales, global scale and rows each."""
    check_x(op, rows, PLAIN[1:], 2 if batch else 1)
    for data, scales, scale, count in weights:
        held = get_storage(count, columns, format, layout)
        for what, tensor, shape in (("data", data, held[0]), ("scales", scales, held[1])):
            check_tensor(op, what, tensor, torch.uint8, [*batch, *shape], rows)
        if scale is not None:
            check_tensor(op, "global_scale", scale, torch.float32,
                         (batch or [count]) if scale.dim() else [], rows)


def _check(rows: Tensor, data: list[Tensor], scales: list[Tensor],
           global_scale: list[Tensor | None], in_features: int, out_features: list[int],
           format: str, layout: str) -> list[Any]:
    """The shape of the result."""
    op = "transposed_linear_weight_only"
    _check_weights(op, rows, list(zip(data, scales, global_scale, out_features)), in_features,
                   format, layout, [])
    if rows.shape[-1] != sum(out_features):
        refuse(op, f"rows of {sum(out_features)} elements", rows.shape[-1])
    return [*rows.shape[:-1], in_features]


def _make_fake(rows: Tensor, data: list[Tensor], scales: list[Tensor],
               global_scale: list[Tensor | None], *, in_features: int, out_features: list[int],
               format: str, layout: str = ROW_MAJOR, rht: bool = False, order: str = ORDERS[0]
               ) -> Tensor:
    return rows.new_empty(_check(rows, data, scales, global_scale, in_features, out_features,
                                 format, layout))


def _transpose(rows: Tensor, data: list[Tensor], scales: list[Tensor],
               global_scale: list[Tensor | None], *, in_features: int, out_features: list[int],
               format: str, layout: str = ROW_MAJOR, rht: bool = False, order: str = ORDERS[0]
               ) -> Tensor:
    """Products of several weights are added in f32, in the order of the weights, and the sum is
    rounded once."""
    _check(rows, data, scales, global_scale, in_features, out_features, format, layout)
    flat = rows.reshape(-1, rows.shape[-1])
    result = rows.dtype if len(data) == 1 else torch.float32
    total: Tensor | None = None
    for part, codes, block_scales, whole in zip(flat.split(out_features, -1), data, scales,
                                                global_scale):
        part, scale = _split_scale(part, whole)
        product = _multiply(part, codes, block_scales, scale, None, in_features, format, layout,
                            order, result)
        total = product if total is None else total + product
    assert total is not None
    total = total.to(rows.dtype)
    return set_rows(mix_back(total) if rht else total, rows)


implement("transposed_linear_weight_only", _transpose, _make_fake)


def _check_grouped(rows: Tensor, data: Tensor, scales: Tensor, global_scale: Tensor | None,
                   offsets: Tensor, in_features: int, format: str, layout: str) -> None:
    op = "transposed_grouped_linear_weight_only"
    check_tensor(op, "offsets", offsets, torch.int32, [data.shape[0]], rows)
    _check_weights(op, rows, [(data, scales, global_scale, rows.shape[-1])], in_features, format,
                   layout, [data.shape[0]])


def _make_grouped_fake(rows: Tensor, data: Tensor, scales: Tensor, global_scale: Tensor | None,
                       offsets: Tensor, *, in_features: int, format: str,
                       layout: str = ROW_MAJOR, rht: bool = False, order: str = ORDERS[0]
                       ) -> Tensor:
    _check_grouped(rows, data, scales, global_scale, offsets, in_features, format, layout)
    return rows.new_empty([rows.shape[0], in_features])


def _transpose_grouped(rows: Tensor, data: Tensor, scales: Tensor, global_scale: Tensor | None,
                       offsets: Tensor, *, in_features: int, format: str,
                       layout: str = ROW_MAJOR, rht: bool = False, order: str = ORDERS[0]
                       ) -> Tensor:
    _check_grouped(rows, data, scales, global_scale, offsets, in_features, format, layout)
    made = _multiply(rows, data, scales, global_scale, offsets, in_features, format, layout, order,
                     rows.dtype)
    return mix_back(made) if rht else made


implement("transposed_grouped_linear_weight_only", _transpose_grouped, _make_grouped_fake)


# Derivatives.


def _get_nothing(given: Sequence[Tensor | None]) -> list[None] | None:
    """No gradients of an argument, in the structure of torch.library: it knows lists of tensors,
    and takes others as they are."""
    return None if None in given else [None] * len(given)


def _refuse_scales(op: str, needed: Any) -> None:
    if any(needed) if isinstance(needed, (list, tuple)) else needed:
        raise RuntimeError(f"blockscale::{op} has no derivative of global_scale: weights are "
                           "frozen, so detach it")


def _save(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
    x, data, scales, global_scale, bias, *offsets = inputs
    ctx.save_for_backward(data, scales, global_scale, *offsets)
    ctx.options = (dict(keyword_only_inputs), x.shape[-1], None if bias is None else bias.dtype)


def _differentiate(context: Any, gradient: Tensor) -> tuple[Any, ...]:
    """That of x is the product with the weight along its rows, and that of the bias the sum of
    rows in f32, for each group of rows where there are groups."""
    data, scales, global_scale, *offsets = context.saved_tensors
    options, features, bias = context.options
    options = dict(options, in_features=features)
    count = options.pop("out_features")
    of_x, _, _, of_scale, of_bias, *_ = context.needs_input_grad
    _refuse_scales("linear_weight_only", of_scale)
    x_gradient = bias_gradient = None
    if of_x and offsets:
        x_gradient = _OPS.transposed_grouped_linear_weight_only(
            gradient, data, scales, global_scale, *offsets, **options)
    elif of_x:
        x_gradient = _OPS.transposed_linear_weight_only(
            gradient, [data], [scales], [global_scale], out_features=[count], **options)
    if of_bias:
        bias_gradient = sum_rows(gradient.reshape(-1, count), *offsets).to(bias)
    return x_gradient, None, None, None, bias_gradient, *[None for _ in offsets]


for _name in ("linear_weight_only", "grouped_linear_weight_only"):
    differentiate(_name, _differentiate, _save)


def _save_merged(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
    x, data, scales, global_scale, bias = inputs
    ctx.save_for_backward(*data, *scales, *global_scale)
    ctx.options = (dict(keyword_only_inputs), x.shape[-1],
                   [None if each is None else each.dtype for each in bias])


def _differentiate_merged(context: Any, gradient: Tensor) -> tuple[Any, ...]:
    """That of x is the sum over the weights."""
    options, features, biases = context.options
    sizes = options["out_features"]
    count = len(sizes)
    saved = list(context.saved_tensors)
    data, scales, global_scale = (saved[i:i + count] for i in range(0, 3 * count, count))
    of_x, _, _, of_scale, of_bias = context.needs_input_grad
    _refuse_scales("merged_linear_weight_only", of_scale)
    x_gradient = None
    if of_x:
        x_gradient = _OPS.transposed_linear_weight_only(
            gradient, data, scales, global_scale, in_features=features, **options)
    parts = gradient.reshape(-1, gradient.shape[-1]).split(sizes, -1)
    nothing = [None] * count
    of_biases = None if biases[0] is None else [
        part.float().sum(0).to(bias) if is_needed else None
        for part, bias, is_needed in zip(parts, biases, of_bias)]
    return x_gradient, nothing, nothing, _get_nothing(global_scale), of_biases


differentiate("merged_linear_weight_only", _differentiate_merged, _save_merged)


def _save_transposed(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
    _, data, scales, global_scale = inputs
    ctx.save_for_backward(*data, *scales, *global_scale)
    ctx.options = dict(keyword_only_inputs)


def _differentiate_transposed(context: Any, gradient: Tensor) -> tuple[Any, ...]:
    """The layers themselves, without biases."""
    options = dict(context.options)
    options.pop("in_features")
    count = len(options["out_features"])
    saved = list(context.saved_tensors)
    data, scales, global_scale = (saved[i:i + count] for i in range(0, 3 * count, count))
    nothing: list[None] = [None] * count
    _refuse_scales("transposed_linear_weight_only", context.needs_input_grad[3])
    made = _OPS.merged_linear_weight_only(gradient, data, scales, global_scale, nothing, **options)
    return made, nothing, nothing, _get_nothing(global_scale)


differentiate("transposed_linear_weight_only", _differentiate_transposed, _save_transposed)


def _save_grouped(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
    rows, *rest = inputs
    ctx.save_for_backward(*rest)
    ctx.options = dict(keyword_only_inputs), rows.shape[-1]


def _differentiate_grouped(context: Any, gradient: Tensor) -> tuple[Any, ...]:
    """The layers themselves, without biases."""
    data, scales, global_scale, offsets = context.saved_tensors
    options, count = context.options
    options = dict(options, out_features=count)
    options.pop("in_features")
    _refuse_scales("transposed_grouped_linear_weight_only", context.needs_input_grad[3])
    made = _OPS.grouped_linear_weight_only(gradient, data, scales, global_scale, None, offsets,
                                           **options)
    return made, None, None, None, None


differentiate("transposed_grouped_linear_weight_only", _differentiate_grouped, _save_grouped)


# Regions.


def _save_region(ctx: Any, inputs: Any, output: Any) -> None:
    tensors, ctx.region = inputs
    ctx.save_for_backward(*tensors)


def _differentiate_region(context: Any, gradients: list[Tensor | None]) -> tuple[Any, ...]:
    """By the ops that the region was made of, which are computed again, one by one."""
    from blockscale.torch._regions import read_region
    if torch.is_grad_enabled():
        raise RuntimeError("blockscale::region has no second derivative: compile the model with "
                           "the backend \"inductor\" for that")
    needed, _ = context.needs_input_grad
    return read_region(context.region).differentiate(context.saved_tensors, needed, gradients), None


differentiate("region", _differentiate_region, _save_region)
