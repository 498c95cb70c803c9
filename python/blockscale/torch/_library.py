# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops of `torch.ops.blockscale`: what export, AOTInductor and other compilers see of our kernels.

Weights are in storage form (docs/Spec.md): data and scales are uint8, f4 data with two codes a
byte. `layout` is their order in memory (docs/TorchCompile.md). `out_features` says the rows of a
weight, which padded storage does not tell; K is that of x.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import torch
from torch import Tensor
from torch.autograd import forward_ad

from blockscale._errors import ArgumentError
from blockscale._forms import SCALINGS, OperandForm
from blockscale._native import recipes
from blockscale._ops import FORMATS, ORDERS
from blockscale.torch._forms import LAYOUTS, ROW_MAJOR, TILES, get_storage, has_product
from blockscale.torch._kernels import LOG, Kernel, join_tensors, to_argument
from blockscale.torch._products_kernels import Dequantizer, Linear, Packer, Quantizer, run


class _Library(torch.library.Library):
    """Ops whose derivatives go backward alone. PyTorch's kernels of such derivatives drop the
    tangents of forward mode without a word, so that derivatives would be 0: here tensors that
    have tangents are refused."""

    def impl(self, op_name: str, fn: Callable[..., Any], dispatch_key: str = "",
             **options: Any) -> None:
        super().impl(op_name, _check_tangents(op_name, fn) if dispatch_key == "Autograd" else fn,
                     dispatch_key, **options)


def _check_tangents(op: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **options: Any) -> Any:
        if forward_ad._current_level >= 0:
            for given in args:
                for each in given if isinstance(given, (list, tuple)) else [given]:
                    if (isinstance(each, Tensor)
                            and forward_ad.unpack_dual(each).tangent is not None):
                        raise RuntimeError(f"blockscale::{op} has no derivative in forward mode: "
                                           "expected tensors without tangents, but got one of "
                                           f"shape {list(each.shape)}; differentiate backward")
        return function(*args, **options)
    return call


LIBRARY = _Library("blockscale", "DEF")
PLAIN = (torch.float32, torch.bfloat16, torch.float16)


def refuse(op: str, expected: str, found: Any) -> NoReturn:
    raise ArgumentError(f"blockscale::{op}: expected {expected}, but got {found}")


def _check_choice(op: str, what: str, value: str | None, known: Any) -> None:
    if value not in known:
        refuse(op, f"{what} to be one of {', '.join(map(str, filter(None, known)))}", repr(value))


def check_x(op: str, x: Tensor, dtypes: Any = PLAIN, least: int = 2) -> None:
    if x.dtype not in dtypes:
        names = ", ".join(str(dtype).removeprefix("torch.") for dtype in dtypes)
        refuse(op, f"x to be {names}", f"{x.dtype}; convert it with .to()")
    if x.dim() < least:
        refuse(op, f"x of rank {least} or more", f"shape {list(x.shape)}")


def check_transformed(op: str, x: Tensor, rht: bool) -> None:
    if rht and x.dtype != torch.bfloat16:
        refuse(op, "x of bfloat16 for the Hadamard transform (rht)", str(x.dtype))


def check_tensor(op: str, what: str, tensor: Tensor, dtype: Any, shape: Any, x: Tensor) -> None:
    if tensor.dtype != dtype:
        refuse(op, f"{what} of {dtype}", str(tensor.dtype))
    if shape is not None and list(tensor.shape) != list(shape):
        refuse(op, f"{what} of shape {list(shape)}", list(tensor.shape))
    if not tensor.is_contiguous() and what != "bias":  # Of that a copy is made.
        refuse(op, f"a row-major tensor of {what}", f"strides {list(tensor.stride())}; give "
                                                     ".contiguous() of it")
    if tensor.device != x.device:
        refuse(op, f"{what} on {x.device}, as x is", f"{tensor.device}; move it with .to()")


def _check_format(op: str, format: str, layout: str = ROW_MAJOR, recipe: str | None = None
                  ) -> None:
    _check_choice(op, "format", format, FORMATS)
    _check_choice(op, "layout", layout, LAYOUTS)
    _check_choice(op, "recipe", recipe, (None, *recipes))


def _check_global_scale(op: str, scale: Tensor, format: str, sizes: Any, x: Tensor) -> None:
    """That of a weight: one number, or one for each of `sizes`, its matrices or its rows."""
    if format != "nvfp4":
        refuse(op, "no global_scale but of nvfp4", f"one of {format}")
    check_tensor(op, "global_scale", scale, torch.float32, sizes if scale.dim() else [], x)


def define(schema: str) -> None:
    LIBRARY.define(schema, tags=(torch.Tag.pt2_compliant_tag,))


def implement(name: str, function: Callable[..., Any], fake: Callable[..., Any]) -> None:
    """One function for both devices: kernels know the difference."""
    LIBRARY.impl(name, function, "CPU")
    LIBRARY.impl(name, function, "CUDA")
    torch.library.register_fake(f"blockscale::{name}", fake, lib=LIBRARY)


def differentiate(name: str, backward: Callable[..., Any],
                  setup_context: Callable[..., None] | None = None) -> None:
    """Gives an op its derivative, as torch.library.register_autograd takes it."""
    torch.library.register_autograd(f"blockscale::{name}", backward, setup_context=setup_context,
                                    lib=LIBRARY)


def refuse_backward(name: str, hint: str) -> None:
    def backward(context: Any, *gradients: Any) -> NoReturn:
        raise RuntimeError(f"blockscale::{name} has no derivative: {hint}")
    differentiate(name, backward)


# Quantization.

_QUANTIZE = "Tensor? global_scale=None, *, str format, str? recipe=None, bool swizzled=False"
define(f"quantize(Tensor x, {_QUANTIZE}) -> (Tensor, Tensor)")
define(f"quantize_into(Tensor x, Tensor(a!) data, Tensor(b!) scales, {_QUANTIZE}) -> ()")


def _check_quantize(op: str, x: Tensor, global_scale: Tensor | None, format: str,
                    recipe: str | None) -> None:
    check_x(op, x)
    _check_format(op, format, recipe=recipe)
    if global_scale is not None:
        if format != "nvfp4":
            refuse(op, "no global_scale but of nvfp4", f"one of {format}")
        check_tensor(op, "global_scale", global_scale, torch.float32, [], x)


def _get_shapes(sizes: Any, format: str, is_swizzled: bool) -> tuple[list[Any], list[Any]]:
    *batch, m, k = sizes
    data, _, block = FORMATS[format]
    columns = (k + block - 1) // block
    scales = ([(m + 127) // 128, (columns + 3) // 4, 32, 4, 4] if is_swizzled
              else [m, columns])
    return [*batch, m, (k + 1) // 2 if data == "f4E2M1FN" else k], [*batch, *scales]


def _quantize(x: Tensor, global_scale: Tensor | None = None, *, format: str,
              recipe: str | None = None, swizzled: bool = False) -> tuple[Tensor, Tensor]:
    _check_quantize("quantize", x, global_scale, format, recipe)
    data, scales = run(_get_quantizer(x, global_scale, format, recipe, swizzled),
                       [to_argument(x), global_scale])
    return data, scales


def _get_quantizer(x: Tensor, global_scale: Tensor | None, format: str, recipe: str | None,
                   swizzled: bool) -> Kernel:
    form = OperandForm(format, recipe, "none" if global_scale is None else "scale")
    return Quantizer(form, x.dtype, x.dim(), layout=TILES if swizzled else ROW_MAJOR).get()


def _fake_quantize(x: Tensor, global_scale: Tensor | None = None, *, format: str,
                   recipe: str | None = None, swizzled: bool = False) -> tuple[Tensor, Tensor]:
    _check_quantize("quantize", x, global_scale, format, recipe)
    data, scales = _get_shapes(x.shape, format, swizzled)
    return x.new_empty(data, dtype=torch.uint8), x.new_empty(scales, dtype=torch.uint8)


def _fake_quantize_into(x: Tensor, data: Tensor, scales: Tensor,
                        global_scale: Tensor | None = None, *, format: str,
                        recipe: str | None = None, swizzled: bool = False) -> None:
    _check_quantize("quantize_into", x, global_scale, format, recipe)
    for what, tensor, shape in zip(("data", "scales"), (data, scales),
                                   _get_shapes(x.shape, format, swizzled)):
        check_tensor("quantize_into", what, tensor, torch.uint8, shape, x)


def _quantize_into(x: Tensor, data: Tensor, scales: Tensor, global_scale: Tensor | None = None, *,
                   format: str, recipe: str | None = None, swizzled: bool = False) -> None:
    _fake_quantize_into(x, data, scales, global_scale, format=format, recipe=recipe,
                        swizzled=swizzled)
    run(_get_quantizer(x, global_scale, format, recipe, swizzled), [to_argument(x), global_scale],
        out=[data, scales])


implement("quantize", _quantize, _fake_quantize)
implement("quantize_into", _quantize_into, _fake_quantize_into)
refuse_backward("quantize", "codes are no smooth function of x; detach x, or train with a "
                             "straight-through estimator of your own")


# The order of weights.

define("pack(Tensor data, Tensor scales, *, int out_features, int in_features, str format, "
        "str before, str after) -> (Tensor, Tensor)")


def _fake_pack(data: Tensor, scales: Tensor, *, out_features: int, in_features: int, format: str,
               before: str, after: str) -> tuple[Tensor, Tensor]:
    _check_format("pack", format, before)
    _check_format("pack", format, after)
    held = get_storage(out_features, in_features, format, before)
    batch = list(data.shape[:-len(held[0])])
    for what, tensor, shape in (("data", data, held[0]), ("scales", scales, held[1])):
        check_tensor("pack", what, tensor, torch.uint8, [*batch, *shape], data)
    made = get_storage(out_features, in_features, format, after)
    return data.new_empty([*batch, *made[0]]), scales.new_empty([*batch, *made[1]])


def _pack(data: Tensor, scales: Tensor, *, out_features: int, in_features: int, format: str,
          before: str, after: str) -> tuple[Tensor, Tensor]:
    with torch.device("meta"):
        _fake_pack(data, scales, out_features=out_features, in_features=in_features,
                   format=format, before=before, after=after)
    if before == after:
        return data.clone(), scales.clone()
    rank = len(get_storage(out_features, in_features, format, before)[0])
    shape = (*data.shape[:-rank], out_features, in_features)
    packed, tiles = Packer(shape, format, before, after).get()([to_argument(data),
                                                                to_argument(scales)])
    return packed, tiles


implement("pack", _pack, _fake_pack)
refuse_backward("pack", "it moves codes")


# Weights as numbers.

define("dequantize(Tensor data, Tensor scales, Tensor? global_scale=None, *, int in_features, "
        "str format, ScalarType dtype) -> Tensor")


def _check_dequantize(data: Tensor, scales: Tensor, global_scale: Tensor | None,
                      in_features: int, format: str, dtype: torch.dtype) -> tuple[Any, ...]:
    op = "dequantize"
    _check_format(op, format)
    _check_choice(op, "dtype", dtype, PLAIN)
    block = FORMATS[format][2]
    if in_features < 0 or in_features % block:
        refuse(op, f"in_features that are a multiple of {block}", in_features)
    if data.dim() < 2:
        refuse(op, "data of rank 2 or more", f"shape {list(data.shape)}")
    *batch, rows, _ = data.shape
    held = get_storage(rows, in_features, format, ROW_MAJOR)
    for what, tensor, shape in (("data", data, held[0]), ("scales", scales, held[1])):
        check_tensor(op, what, tensor, torch.uint8, [*batch, *shape], data)
    if global_scale is not None:
        _check_global_scale(op, global_scale, format, batch or [rows], data)
    return (*batch, rows, in_features)


def _fake_dequantize(data: Tensor, scales: Tensor, global_scale: Tensor | None = None, *,
                     in_features: int, format: str, dtype: torch.dtype) -> Tensor:
    shape = _check_dequantize(data, scales, global_scale, in_features, format, dtype)
    return data.new_empty(shape, dtype=dtype)


def _dequantize(data: Tensor, scales: Tensor, global_scale: Tensor | None = None, *,
                in_features: int, format: str, dtype: torch.dtype) -> Tensor:
    shape = _check_dequantize(data, scales, global_scale, in_features, format, dtype)
    is_scaled = global_scale is not None
    kernel = Dequantizer(shape, format, torch.float32 if is_scaled else dtype).get(data.device)
    wide, = kernel([to_argument(data), to_argument(scales)])
    if global_scale is None:
        return wide
    return (wide * _spread(global_scale, wide.dim())).to(dtype)


def _spread(global_scale: Tensor, rank: int) -> Tensor:
    """One scale, one for each row of a matrix, or one for each matrix, as it broadcasts with
    [.., N, K]."""
    return global_scale.reshape(*global_scale.shape, *[1] * (rank - global_scale.dim()))


implement("dequantize", _dequantize, _fake_dequantize)
refuse_backward("dequantize", "codes are no parameters")


# Linear layers.

_LINEAR = ("Tensor x, Tensor data, Tensor scales, Tensor? global_scale, Tensor? bias, {}*, "
           "int out_features, str format, {}str layout='row_major', bool rht=False, "
           "str order='free') -> Tensor")
_INPUT = "str input_format, str? input_recipe=None, str input_scaling='none', "
#: Activations of up to so many rows stay plain.
_ROWS = "int plain_rows=0, "
define(f"linear_weight_only({_LINEAR.format('', '')}")
define(f"linear_quantized({_LINEAR.format('Tensor? input_global, ', _INPUT + _ROWS)}")
define(f"grouped_linear_weight_only({_LINEAR.format('Tensor offsets, ', '')}")
define(f"grouped_linear_quantized("
        f"{_LINEAR.format('Tensor offsets, Tensor? input_global, ', _INPUT)}")


def _get_linear(op: str, x: Tensor, data: Tensor, scales: Tensor, global_scale: Tensor | None,
                bias: Tensor | None, offsets: Tensor | None, input_global: Tensor | None,
                out_features: int, format: str, layout: str, rht: bool, order: str,
                activation: OperandForm | None) -> Linear:
    """The kernel of a call, all of whose operands are as it takes them."""
    _check_format(op, format, layout)
    _check_choice(op, "order", order, ORDERS)
    wide = PLAIN if activation else (PLAIN[1:] if format == "nvfp4" else PLAIN[1:2])
    check_x(op, x, wide, 2 if offsets is not None else 1)
    check_transformed(op, x, rht)
    features = x.shape[-1]
    block = FORMATS[format][2]
    if features % block:
        refuse(op, f"a last dimension of x that is a multiple of {block}", features)
    batch: list[int] = []
    if offsets is not None:
        if x.dim() != 2:
            refuse(op, "x of rank 2 for groups", f"shape {list(x.shape)}")
        check_tensor(op, "offsets", offsets, torch.int32, None, x)
        if offsets.dim() != 1:
            refuse(op, "offsets of rank 1", f"shape {list(offsets.shape)}")
        batch = [offsets.shape[0]]
    held = get_storage(out_features, features, format, layout)
    for what, tensor, shape in (("data", data, held[0]), ("scales", scales, held[1])):
        check_tensor(op, what, tensor, torch.uint8, [*batch, *shape], x)
    if global_scale is not None:
        _check_global_scale(op, global_scale, format, batch or [out_features], x)
    if bias is not None:
        check_tensor(op, "bias", bias, bias.dtype, [*batch, out_features], x)
        _check_choice(op, "the dtype of bias", bias.dtype, PLAIN)
    if activation is not None:
        _check_format(op, activation.format, recipe=activation.recipe)
        _check_choice(op, "input_scaling", activation.scaling, SCALINGS)
        is_given = activation.scaling in ("amax", "scale")
        if is_given != (input_global is not None):
            refuse(op, "input_global exactly with input_scaling 'amax' or 'scale'",
                    f"'{activation.scaling}' with {'one' if input_global is not None else 'none'}")
        if input_global is not None:
            check_tensor(op, "input_global", input_global, torch.float32, [], x)
    return Linear((*batch, out_features, features), x.dtype, format, layout,
                  None if global_scale is None else tuple(global_scale.shape),
                  None if bias is None else bias.dtype, activation, rht, order)


def set_rows(y: Tensor, x: Tensor) -> Tensor:
    """A result [M, N] that nothing else has, with the dimensions of x before the last one. Autograd
    does not take it for a view, so that others can write into it."""
    if x.dim() == 2:
        return y
    made: Tensor = torch.ops.aten._unsafe_view(y, [*x.shape[:-1], y.shape[-1]])
    return made


def _multiply(op: str, x: Tensor, data: Tensor, scales: Tensor, global_scale: Tensor | None,
              bias: Tensor | None, offsets: Tensor | None, input_global: Tensor | None,
              linear: Linear) -> Tensor:
    k = linear.shape[-1]
    rows = x.reshape(-1, k) if x.dim() != 2 else x
    if not has_product(x.device, linear.activation is None, linear.format,
                       "" if linear.activation is None else linear.activation.format):
        return set_rows(_multiply_plain(op, rows, data, scales, global_scale, bias, offsets,
                                        input_global, linear), x)
    y, = run(linear.get(x.device), [to_argument(rows), data, scales, global_scale,
                            None if bias is None else to_argument(bias), input_global, offsets],
             rows.shape[0])
    return set_rows(y, x)


def multiply_wide(a: Tensor, b: Tensor) -> Tensor:
    """A product whose sums are not rounded."""
    if a.device.type == "cuda":
        return torch.mm(a, b, out_dtype=torch.float32)
    return a.float() @ b.float()


def find_group(offsets: Tensor, count: int) -> Tensor:
    """The group of each of so many rows; that behind the last one is the number of groups."""
    places = torch.arange(count, device=offsets.device, dtype=offsets.dtype)
    return torch.searchsorted(offsets, places, right=True)


def find_behind(offsets: Tensor, count: int) -> Tensor:
    """Which of so many rows [M, 1] are behind the last group."""
    return (find_group(offsets, count) == offsets.shape[0])[:, None]


def take_by_group(values: Tensor, offsets: Tensor, count: int) -> Tensor:
    """Of [G, ..], those of the group of each row; of rows behind the last group, those of that."""
    return values[find_group(offsets, count).clamp(max=offsets.shape[0] - 1)]


def multiply_scaled(rows: Tensor, weight: Tensor, scale: Tensor | None, offsets: Tensor | None
                    ) -> Tensor:
    """Rows [M, K] times a weight [K, N], or by groups of rows one of [G, K, N], by PyTorch, and
    times a global scale, in f32. What rows behind the last group get is not defined."""
    if offsets is None:
        sums = multiply_wide(rows, weight)
    else:
        sums = torch.nn.functional.grouped_mm(rows, weight, offs=offsets).float()
        if scale is not None and scale.dim():
            scale = take_by_group(scale, offsets, rows.shape[0])[:, None]
    return sums if scale is None else sums * scale


def _multiply_plain(op: str, rows: Tensor, data: Tensor, scales: Tensor,
                    global_scale: Tensor | None, bias: Tensor | None, offsets: Tensor | None,
                    input_global: Tensor | None, linear: Linear) -> Tensor:
    """On GPUs without a product of ours: exact values of the weight, multiplied by PyTorch."""
    LOG.debug("%s: dequantize and multiply by PyTorch, since the GPU has no product of ours", op)
    if linear.layout != ROW_MAJOR:
        refuse(op, "a weight in row-major order on a GPU without products of ours",
                f"{linear.layout}")
    narrow = torch.bfloat16 if rows.dtype == torch.float32 else rows.dtype
    if linear.order != ORDERS[0]:
        raise ArgumentError(f"blockscale::{op}: expected a GPU with products of ours, of formats "
                            f"that it multiplies, for sums of order {linear.order}, but PyTorch "
                            "would multiply here")
    if linear.rht:
        raise ArgumentError(f"blockscale::{op}: expected a GPU with products of ours for the "
                            "Hadamard transform (rht)")
    scale = global_scale
    if linear.activation is not None:
        quantizer = Quantizer(linear.activation, rows.dtype, 2)
        codes, scales_of_x, *made = run(quantizer.get(), [to_argument(rows), input_global])
        dequantizer = Dequantizer(tuple(rows.shape), linear.activation.format, narrow)
        rows, = dequantizer.get(rows.device)([codes, scales_of_x])
        of_x = made[0] if made else input_global
        if of_x is not None:
            scale = of_x if scale is None else of_x * scale
    weight, = Dequantizer(linear.shape, linear.format, narrow).get(data.device)([data, scales])
    sums = multiply_scaled(rows.to(narrow), weight.transpose(-2, -1), scale, offsets)
    if bias is not None:
        bias = bias if offsets is None else take_by_group(bias, offsets, rows.shape[0])
        sums = sums + bias.float()
    return sums.to(linear.dtype)


def _make(op: str, has_offsets: bool, has_input: bool) -> tuple[Callable[..., Any], ...]:
    """The function of an op and its fake."""
    def get(x: Tensor, data: Tensor, scales: Tensor, global_scale: Tensor | None,
            bias: Tensor | None, *rest: Any, out_features: int, format: str,
            layout: str = ROW_MAJOR, rht: bool = False, order: str = ORDERS[0],
            input_format: str = "",
            input_recipe: str | None = None, input_scaling: str = "none",
            is_plain: bool = False) -> tuple[Any, ...]:
        given = iter(rest)
        offsets = next(given) if has_offsets else None
        input_global = next(given) if has_input else None
        activation = (OperandForm(input_format, input_recipe, input_scaling)
                      if has_input and not is_plain else None)
        input_global = None if is_plain else input_global
        linear = _get_linear(op, x, data, scales, global_scale, bias, offsets, input_global,
                             out_features, format, layout, rht, order, activation)
        return offsets, input_global, linear

    def function(*args: Any, plain_rows: int = 0, **options: Any) -> Tensor:
        if plain_rows < 0:
            refuse(op, "plain_rows from 0 on", plain_rows)
        # Whatever a graph was made for: each call has rows of its own. None at all are as others.
        is_plain = plain_rows > 0 and args[0].shape[:-1].numel() <= plain_rows
        offsets, input_global, linear = get(*args, **options, is_plain=is_plain)
        x, data, scales, global_scale, bias, *_ = args
        return _multiply(op, x, data, scales, global_scale, bias, offsets, input_global, linear)

    def fake(*args: Any, plain_rows: int = 0, **options: Any) -> Tensor:
        get(*args, **options)
        x = args[0]
        return x.new_empty([*x.shape[:-1], options["out_features"]])
    return function, fake


for _name, _offsets, _input in (("linear_weight_only", False, False),
                                ("linear_quantized", False, True),
                                ("grouped_linear_weight_only", True, False),
                                ("grouped_linear_quantized", True, True)):
    implement(_name, *_make(_name, _offsets, _input))

for _name in ("linear_quantized", "grouped_linear_quantized"):
    refuse_backward(_name, "call the model under torch.no_grad(), or quantize weights alone")


# Several layers of one form that read the same x, as one product.

define("merged_linear_weight_only(Tensor x, Tensor[] data, Tensor[] scales, "
        "Tensor?[] global_scale, Tensor?[] bias, *, int[] out_features, str format, "
        "str layout='row_major', bool rht=False, str order='free') -> Tensor")
_OPS = torch.ops.blockscale


def _check_presence(global_scale: list[Tensor | None], bias: list[Tensor | None]) -> None:
    for what, given in (("global_scale", global_scale), ("bias", bias)):
        if len({each is None for each in given}) > 1:
            refuse("merged_linear_weight_only", f"{what} of each weight or of none",
                   [None if each is None else list(each.shape) for each in given])


def _merged(x: Tensor, data: list[Tensor], scales: list[Tensor],
            global_scale: list[Tensor | None], bias: list[Tensor | None], *,
            out_features: list[int], format: str, layout: str = ROW_MAJOR,
            rht: bool = False, order: str = ORDERS[0]) -> Tensor:
    _check_presence(global_scale, bias)
    operands: Any = (data, scales, global_scale, bias)
    columns = [None if each[0] is None else join_tensors(each) for each in operands]
    if bias[0] is not None and columns[3] is None:
        columns[3] = torch.cat(bias)
    options: Any = dict(format=format, layout=layout, rht=rht, order=order)
    if all(column is not None or each[0] is None for column, each in zip(columns, operands)):
        return _OPS.linear_weight_only(x, *columns, out_features=sum(out_features), **options)
    LOG.debug("merged_linear_weight_only: %d products, since the weights do not lie behind one "
              "another", len(data))
    parts = [_OPS.linear_weight_only(x, *each, out_features=rows, **options)
             for *each, rows in zip(*operands, out_features)]
    return torch.cat(parts, -1)


def _fake_merged(x: Tensor, data: list[Tensor], scales: list[Tensor],
                 global_scale: list[Tensor | None], bias: list[Tensor | None], *,
                 out_features: list[int], format: str, layout: str = ROW_MAJOR,
                 rht: bool = False, order: str = ORDERS[0]) -> Tensor:
    _check_presence(global_scale, bias)
    for *operands, rows in zip(data, scales, global_scale, bias, out_features):
        _OPS.linear_weight_only(x, *operands, out_features=rows, format=format, layout=layout,
                                rht=rht, order=order)
    return x.new_empty([*x.shape[:-1], sum(out_features)])


implement("merged_linear_weight_only", _merged, _fake_merged)


# Parts of graphs, which the backend makes (_regions.py).

define("region(Tensor[] inputs, str region) -> Tensor[]")


def _region(inputs: list[Tensor], region: str) -> list[Tensor]:
    from blockscale.torch._regions import read_region
    return read_region(region)(inputs)


def _fake_region(inputs: list[Tensor], region: str) -> list[Tensor]:
    from blockscale.torch._regions import read_region
    return [each.contiguous() for each in read_region(region).make_fakes(inputs)]


implement("region", _region, _fake_region)
