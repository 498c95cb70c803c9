# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The op of a linear layer in training, or of a stack of them for groups of rows, whose three
products are quantized by a form, and its derivative. What the backward pass needs are codes and
scales, which the forward pass makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from blockscale._training import (
    AnyForm,
    TrainingForm,
    TrainingOperand,
    read_form,
    to_form,
)
from blockscale.torch._forms import TILES, count_tiles, get_storage, has_product
from blockscale.torch._gradients import sum_rows
from blockscale.torch._kernels import to_argument
from blockscale.torch._library import (
    PLAIN,
    check_tensor,
    check_x,
    define,
    implement,
    refuse,
    refuse_backward,
)
from blockscale.torch._training_kernels import (
    TrainingBackward,
    TrainingForward,
    count_codes,
    count_padded,
)

_NAME, _BACKWARD = "train_linear", "train_linear_backward"
#: Codes of the weight for the gradient of x and codes of x for that of the weight: data, scales and
#: global scale of each, without elements where there are none.
_CODES = ("Tensor weight_data, Tensor weight_scales, Tensor weight_global, "
          "Tensor x_data, Tensor x_scales, Tensor x_global")
define(f"{_NAME}(Tensor x, Tensor weight, Tensor? bias=None, Tensor? rng=None, "
       "Tensor? offsets=None, *, str form, bool has_dgrad=True, bool has_wgrad=True) -> "
       f"(Tensor y, {_CODES})")
define(f"{_BACKWARD}(Tensor gradient, {_CODES}, Tensor? rng=None, Tensor? offsets=None, *, "
       "str form, int in_features, ScalarType weight_dtype, bool has_dgrad, bool has_wgrad) -> "
       "(Tensor, Tensor)")


def check_rng(op: str, rng: Tensor | None, form: TrainingForm, x: Tensor,
              layers: Sequence[int] = ()) -> None:
    """Whether random bits are there exactly if a form needs them, of so many layers."""
    count = len(form.stochastic)
    if (rng is not None) != bool(count):
        refuse(op, "rng exactly with a form of operands that are rounded stochastically",
               f"{count} of them with {'none' if rng is None else 'one'}")
    if rng is not None:
        check_tensor(op, "rng", rng, torch.int64, [*layers, count, 2], x)


def check_sizes(op: str, form: TrainingForm, n: Any, k: Any) -> None:
    for size, what, name in ((k, "the weight's columns", "forward_input"),
                             (n, "the weight's rows", "dgrad_gradient")):
        block = getattr(form, name).block
        if size % block:
            refuse(op, f"{what} to be a multiple of {block}", size)


def check_transforms(op: str, form: TrainingForm, names: Sequence[str], tensor: Tensor) -> None:
    for name in names:
        if getattr(form, name).sign_mask is not None and tensor.dtype != torch.bfloat16:
            refuse(op, f"bfloat16 for the Hadamard transform of {name}",
                   f"{tensor.dtype}; convert it with .to()")


def _count_groups(offsets: Tensor | None) -> Any:
    return None if offsets is None else offsets.shape[0]


def pad_rows(x: Tensor, offsets: Tensor | None, is_needed: bool) -> Tensor:
    """Zeros behind the last row: they change no amax and add nothing to a sum. Kernels put them
    behind groups."""
    if offsets is not None or not is_needed:
        return x
    missing = count_padded(x.shape[0], None) - x.shape[0]
    return torch.nn.functional.pad(x, (0, 0, 0, missing)) if missing else x


def _check_offsets(op: str, offsets: Tensor | None, groups: Any, x: Tensor) -> None:
    if offsets is not None:
        check_tensor(op, "offsets", offsets, torch.int32, [groups], x)


def _make_forward(x: Tensor, weight: Tensor, bias: Tensor | None, rng: Tensor | None,
                  offsets: Tensor | None, text: str, has_dgrad: bool, has_wgrad: bool
                  ) -> TrainingForward:
    """The kernel of a call, all of whose operands are as it takes them."""
    form = read_form(text)
    check_x(_NAME, x)
    rank = 2 if offsets is None else 3
    if x.dim() != 2 or weight.dim() != rank:
        refuse(_NAME, f"x of rank 2 and weight of rank {rank}, "
               f"{'without' if offsets is None else 'with'} offsets",
               f"shapes {list(x.shape)} and {list(weight.shape)}")
    *batch, n, k = weight.shape
    if x.shape[1] != k:
        refuse(_NAME, f"x of {k} columns, as the weight has them", f"shape {list(x.shape)}")
    if x.device != weight.device:
        refuse(_NAME, f"x on {weight.device}, as the weight is",
               f"{x.device}; move it with .to()")
    if weight.dtype not in PLAIN:
        refuse(_NAME, "weight to be float32, bfloat16 or float16", str(weight.dtype))
    check_sizes(_NAME, form, n, k)
    if bias is not None:
        check_tensor(_NAME, "bias", bias, bias.dtype, [*batch, n], x)
        if bias.dtype not in PLAIN:
            refuse(_NAME, "bias to be float32, bfloat16 or float16", str(bias.dtype))
    check_rng(_NAME, rng, form, x)
    _check_offsets(_NAME, offsets, weight.shape[0], x)
    check_transforms(_NAME, form, ["forward_input"] + ["wgrad_input"] * has_wgrad, x)
    check_transforms(_NAME, form, ["forward_weight"] + ["dgrad_weight"] * has_dgrad, weight)
    return TrainingForward.of(form, tuple(weight.shape), x.dtype, weight.dtype, x.device,
                              bias=None if bias is None else bias.dtype, has_dgrad=has_dgrad,
                              has_wgrad=has_wgrad)


def _select(rng: Tensor | None, form: TrainingForm, names: Sequence[str]) -> list[Tensor]:
    return [] if rng is None else [to_argument(rng[form.stochastic.index(name)])
                                   for name in names]


def spread(made: Sequence[Tensor], operand: TrainingOperand, is_made: bool, x: Tensor
            ) -> list[Tensor]:
    """Data, scales and global scale, from those that there are."""
    given = list(made[:len(count_codes(operand))] if is_made else [])
    dtypes = (torch.uint8, torch.uint8, torch.float32)
    return given + [x.new_empty(0, dtype=dtype) for dtype in dtypes[len(given):]]


def check_device(op: str, x: Tensor, form: TrainingForm) -> None:
    formats = {each.format for each in form.operands.values()}
    if not has_product(x.device, False, *formats):
        refuse(op, f"a device with products of {', '.join(sorted(formats))} of ours",
               str(x.device))


def _train(x: Tensor, weight: Tensor, bias: Tensor | None = None, rng: Tensor | None = None,
           offsets: Tensor | None = None, *, form: str, has_dgrad: bool = True,
           has_wgrad: bool = True) -> tuple[Tensor, ...]:
    kernel = _make_forward(x, weight, bias, rng, offsets, form, has_dgrad, has_wgrad)
    check_device(_NAME, x, kernel.form)
    rows = to_argument(pad_rows(x, offsets, has_wgrad))
    given = [rows, weight, *(each for each in (bias, offsets) if each is not None)]
    y, *made = kernel.get()([*map(to_argument, given),
                             *_select(rng, kernel.form, kernel.random)], rows.shape[0])
    codes_of_weight = spread(made, kernel.form.dgrad_weight, has_dgrad, x)
    if has_dgrad:
        made = made[len(count_codes(kernel.form.dgrad_weight)):]
    return (y[:x.shape[0]], *codes_of_weight,
            *spread(made, kernel.form.wgrad_input, has_wgrad, x))


def get_shapes(form: TrainingForm, weight: Sequence[Any], rows: Any, layout: str
                ) -> list[list[list[Any]]]:
    """Of data, scales and global scale of the weight's codes for dgrad and of x's for wgrad."""
    *batch, n, k = weight
    groups = batch[0] if batch else None
    data, scales = get_storage(k, n, form.dgrad_weight.format, layout)
    of_weight = [[*batch, *data], [*batch, *scales], batch]
    cols = count_padded(rows, groups)
    data, scales = get_storage(k, cols, form.wgrad_input.format, layout)
    if groups is not None and layout == TILES:
        tiles = count_tiles(k, cols // form.wgrad_input.block, groups, 1)
        scales = [tiles, 32, 4, 4]
    of_x = [data, scales, batch]
    for shapes, operand in ((of_weight, form.dgrad_weight), (of_x, form.wgrad_input)):
        if operand.scaling == "none":
            shapes[2] = [0]
    return [of_weight, of_x]


def _fake(x: Tensor, weight: Tensor, bias: Tensor | None = None, rng: Tensor | None = None,
          offsets: Tensor | None = None, *, form: str, has_dgrad: bool = True,
          has_wgrad: bool = True) -> tuple[Tensor, ...]:
    kernel = _make_forward(x, weight, bias, rng, offsets, form, has_dgrad, has_wgrad)
    all_shapes = get_shapes(kernel.form, weight.shape, x.shape[0], kernel.layout)
    made = [x.new_empty(shape if has else [0], dtype=dtype)
            for shapes, has in zip(all_shapes, (has_dgrad, has_wgrad))
            for shape, dtype in zip(shapes, (torch.uint8, torch.uint8, torch.float32))]
    return (x.new_empty([x.shape[0], weight.shape[-2]]), *made)


implement(_NAME, _train, _fake)


def _make_backward(gradient: Tensor, given: Sequence[Any], text: str, in_features: int,
                   weight_dtype: torch.dtype, has_dgrad: bool, has_wgrad: bool
                   ) -> tuple[TrainingBackward, Tensor | None, Tensor | None]:
    """The kernel of a call, its random bits and its ends of groups."""
    codes, (rng, offsets) = given[:6], (*given[6:], None, None)[:2]
    form = read_form(text)
    check_x(_BACKWARD, gradient)
    if gradient.dim() != 2:
        refuse(_BACKWARD, "a gradient of rank 2", f"shape {list(gradient.shape)}")
    rows, n = gradient.shape
    if not (has_dgrad or has_wgrad):
        refuse(_BACKWARD, "a gradient to compute, has_dgrad or has_wgrad", "none")
    if weight_dtype not in PLAIN:
        refuse(_BACKWARD, "weight_dtype to be float32, bfloat16 or float16", str(weight_dtype))
    check_sizes(_BACKWARD, form, n, in_features)
    check_rng(_BACKWARD, rng, form, gradient)
    check_transforms(_BACKWARD, form, ["dgrad_gradient"] * has_dgrad
                      + ["wgrad_gradient"] * has_wgrad, gradient)
    if offsets is not None and offsets.dim() != 1:
        refuse(_BACKWARD, "offsets of rank 1", f"shape {list(offsets.shape)}")
    _check_offsets(_BACKWARD, offsets, _count_groups(offsets), gradient)
    weight = (n, in_features) if offsets is None else (_count_groups(offsets), n, in_features)
    kernel = TrainingBackward.of(form, weight, gradient.dtype, weight_dtype, gradient.device,
                                 has_dgrad=has_dgrad, has_wgrad=has_wgrad)
    all_shapes = get_shapes(form, weight, rows, kernel.layout)
    for name, shapes, has, tensors in zip(("weight", "x"), all_shapes, (has_dgrad, has_wgrad),
                                          (codes[:3], codes[3:])):
        for what, tensor, shape in zip(("data", "scales", "global"), tensors, shapes):
            if has:
                dtype = torch.float32 if what == "global" else torch.uint8
                check_tensor(_BACKWARD, f"{name}_{what}", tensor, dtype, shape, gradient)
    return kernel, rng, offsets


def _differentiate(gradient: Tensor, *given: Any, form: str, in_features: int,
                   weight_dtype: torch.dtype, has_dgrad: bool, has_wgrad: bool
                   ) -> tuple[Tensor, Tensor]:
    kernel, rng, offsets = _make_backward(gradient, given, form, in_features, weight_dtype,
                                          has_dgrad, has_wgrad)
    check_device(_BACKWARD, gradient, kernel.form)
    rows = to_argument(pad_rows(gradient, offsets, has_wgrad))
    taken: list[Tensor] = []
    if has_dgrad:
        taken += given[:len(count_codes(kernel.form.dgrad_weight))]
    if has_wgrad:
        taken += given[3:3 + len(count_codes(kernel.form.wgrad_input))]
    taken += [] if offsets is None else [offsets]
    made = kernel.get()([rows, *map(to_argument, taken),
                         *_select(rng, kernel.form, kernel.random)], rows.shape[0])
    of_x = made[0][:gradient.shape[0]] if has_dgrad else gradient.new_empty(0)
    return of_x, made[-1] if has_wgrad else gradient.new_empty(0, dtype=weight_dtype)


def _fake_gradients(gradient: Tensor, *given: Any, form: str, in_features: int,
                    weight_dtype: torch.dtype, has_dgrad: bool, has_wgrad: bool
                    ) -> tuple[Tensor, Tensor]:
    _, _, offsets = _make_backward(gradient, given, form, in_features, weight_dtype, has_dgrad,
                                   has_wgrad)
    rows, n = gradient.shape
    batch = [] if offsets is None else [_count_groups(offsets)]
    return (gradient.new_empty([rows, in_features] if has_dgrad else [0]),
            gradient.new_empty([*batch, n, in_features] if has_wgrad else [0],
                               dtype=weight_dtype))


implement(_BACKWARD, _differentiate, _fake_gradients)
refuse_backward(_BACKWARD, "gradients of gradients are not quantized")


def _save(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
    _, weight, bias, rng, offsets = inputs
    ctx.save_for_backward(*output[1:], rng, offsets)
    ctx.mark_non_differentiable(*output[1:])
    ctx.form = keyword_only_inputs["form"]
    ctx.has = [keyword_only_inputs.get(name, True) for name in ("has_dgrad", "has_wgrad")]
    ctx.of_weight = weight.shape[-1], weight.dtype
    ctx.bias_dtype = None if bias is None else bias.dtype


def _propagate(ctx: Any, gradient: Tensor, *_: Any) -> tuple[Any, ...]:
    *codes, rng, offsets = ctx.saved_tensors
    # PyTorch knows of no arguments that have their defaults.
    count = len(ctx.needs_input_grad)
    needs_x, needs_weight, needs_bias = (*ctx.needs_input_grad, False)[:3]
    for needs, has, what in zip((needs_x, needs_weight), ctx.has, ("has_dgrad", "has_wgrad")):
        if needs and not has:
            refuse(_NAME, f"{what}=True for a gradient that is asked for", "False")
    in_features, dtype = ctx.of_weight
    of_x = of_weight = of_bias = None
    if needs_x or needs_weight:
        made = torch.ops.blockscale.train_linear_backward(
            gradient.contiguous(), *codes, rng, offsets, form=ctx.form, in_features=in_features,
            weight_dtype=dtype, has_dgrad=needs_x, has_wgrad=needs_weight)
        of_x, of_weight = made[0] if needs_x else None, made[1] if needs_weight else None
    if needs_bias:
        of_bias = sum_rows(gradient, offsets).to(ctx.bias_dtype)
    return (of_x, of_weight, of_bias, None, None)[:count]


torch.library.register_autograd(f"blockscale::{_NAME}", _propagate, setup_context=_save)


def draw_rng(form: AnyForm, device: torch.device | str | None = None,
             generator: torch.Generator | None = None) -> Tensor | None:
    """Seeds and offsets for the operands of a form that are rounded stochastically, int64 [n, 2]
    from a generator of torch, by default that of the device; None if there are none."""
    count = len(to_form(form).stochastic)
    if not count:
        return None
    return torch.randint(-2 ** 63, 2 ** 63 - 1, (count, 2), dtype=torch.int64, device=device,
                         generator=generator)


def train_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None, *, form: AnyForm,
                 rng: Tensor | None = None) -> Tensor:
    """y = x weight^T + bias, whose product and those of its gradients are of operands that a form
    quantizes (docs/Training.md).

    Args:
      x: [.., K], float32, bfloat16 or float16; bfloat16 where a form transforms it. Any number of
        rows: for the gradient of the weight zeros fill them up to a multiple of 32.
      weight: [N, K], quantized from its own dtype. N and K are multiples of the blocks.
      bias: [N].
      form: a TrainingForm, or the name of one, which torch.compile does not trace.
      rng: what draw_rng() gives; None to call it. Both passes take their random bits from it.

    Returns: [.., N] of x's dtype. The gradient of the bias is the sum of rows in float32.

    Raises: ArgumentError.
    """
    y = _call(x.reshape(-1, x.shape[-1]), weight, bias, rng, None, to_form(form))
    return y.reshape(*x.shape[:-1], y.shape[-1])


def _call(x: Tensor, weight: Tensor, bias: Tensor | None, rng: Tensor | None,
          offsets: Tensor | None, form: TrainingForm) -> Tensor:
    if rng is None:
        rng = draw_rng(form, x.device)
    is_recorded = torch.is_grad_enabled()
    y: Tensor = torch.ops.blockscale.train_linear(
        x, weight, bias, rng, offsets, form=form.text,
        has_dgrad=is_recorded and x.requires_grad,
        has_wgrad=is_recorded and weight.requires_grad)[0]
    return y


def train_grouped_linear(x: Tensor, weight: Tensor, offsets: Tensor, bias: Tensor | None = None,
                         *, form: AnyForm, rng: Tensor | None = None) -> Tensor:
    """train_linear() of groups of rows, each with a weight of its own, as experts are: a group is
    quantized as if it were alone, with global scales of its own. Groups may have any number of
    rows; for the gradients of weights zeros fill each up to a multiple of 32.

    Args:
      x: [M, K].
      weight: [G, N, K].
      offsets: [G] int32, the ends of the groups, on x's device; nothing waits for them. Rows behind
        the last one belong to no group: their results and gradients are 0.
      bias: [G, N].
      form, rng: as train_linear() takes them.

    Returns: [M, N] of x's dtype.

    Raises: ArgumentError; Error for ends that descend or are beyond x.
    """
    return _call(x, weight, bias, rng, offsets, to_form(form))
