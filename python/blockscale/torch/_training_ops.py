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
    TRANSPOSED,
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
    differentiate,
    implement,
    refuse,
    refuse_backward,
)
from blockscale.torch._ranks import (
    PLACED,
    AmaxGroup,
    Part,
    count_segments,
    find_part,
    find_ranks,
    is_sharded,
    make_places,
    multiply_shards,
    share_largest,
)
from blockscale.torch._training_kernels import (
    CODE_DTYPES,
    ROW_UNIT,
    Layer,
    TrainingAmaxes,
    TrainingBackward,
    TrainingForward,
    count_codes,
    count_padded,
    is_of_weight,
)
from blockscale.torch._weight_codes import WeightCodes

_NAME, _BACKWARD, _AMAXES = "train_linear", "train_linear_backward", "train_linear_amaxes"
_FROM_CODES = "train_linear_from_codes"
#: Codes of the weight for the gradient of x and codes of x for that of the weight: data, scales and
#: global scale of each, without elements where there are none.
_CODES = ("Tensor weight_data, Tensor weight_scales, Tensor weight_global, "
          "Tensor x_data, Tensor x_scales, Tensor x_global")
#: `amaxes` are what train_linear_amaxes gives, of larger tensors than these. `amax_groups` are
#: groups of ranks: the amaxes of the gradient are the largest in them.
define(f"{_NAME}(Tensor x, Tensor weight, Tensor? bias=None, Tensor? rng=None, "
       "Tensor? offsets=None, Tensor? amaxes=None, *, str form, bool has_dgrad=True, "
       f"bool has_wgrad=True, str[]? amax_groups=None) -> (Tensor y, {_CODES})")
define(f"{_BACKWARD}(Tensor gradient, {_CODES}, Tensor? rng=None, Tensor? offsets=None, "
       "Tensor? amaxes=None, *, str form, int in_features, ScalarType weight_dtype, "
       "bool has_dgrad, bool has_wgrad) -> (Tensor, Tensor)")
#: The same of a weight [N, K] as the codes of forward: what is saved are codes of x alone.
define(f"{_FROM_CODES}(Tensor x, Tensor data, Tensor scales, Tensor? global_scale=None, "
       "Tensor? bias=None, Tensor? rng=None, Tensor? amaxes=None, *, str form, int out_features, "
       "bool has_wgrad) -> (Tensor y, Tensor x_data, Tensor x_scales, Tensor x_global)")
#: Amaxes of the operands of these names, of x or the gradient and of the weight. Their bits are
#: given as int32, whose order is that of amaxes, with NaN as the largest.
define(f"{_AMAXES}(Tensor x, Tensor? weight=None, *, str form, str[] names) -> Tensor")


def check_rng(op: str, rng: Tensor | None, form: TrainingForm, x: Tensor,
              layers: Sequence[int] = ()) -> None:
    """Whether random bits are there exactly if a form needs them, of so many layers."""
    count = len(form.stochastic)
    if (rng is not None) != bool(count):
        refuse(op, "rng exactly with a form of operands that are rounded stochastically",
               f"{count} of them with {'none' if rng is None else 'one'}")
    if rng is not None:
        is_placed = not layers and rng.dim() == 2 and rng.shape[1] == PLACED
        check_tensor(op, "rng", rng, torch.int64,
                     [*layers, count, PLACED if is_placed else 2], x)


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


def _check_bias(op: str, bias: Tensor | None, shape: Sequence[Any], x: Tensor) -> None:
    if bias is None:
        return
    check_tensor(op, "bias", bias, bias.dtype, shape, x)
    if bias.dtype not in PLAIN:
        refuse(op, "bias to be float32, bfloat16 or float16", str(bias.dtype))


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


def _check_amaxes(op: str, amaxes: Tensor | None, kernel: Layer, x: Tensor) -> None:
    if amaxes is None:
        return
    if kernel.is_grouped:
        refuse(op, "no amaxes with offsets", "both")
    check_tensor(op, "amaxes", amaxes, torch.int32, [len(kernel.scaled)], x)


def _make_forward(x: Tensor, weight: Tensor, bias: Tensor | None, rng: Tensor | None,
                  offsets: Tensor | None, amaxes: Tensor | None, text: str, has_dgrad: bool,
                  has_wgrad: bool) -> TrainingForward:
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
    _check_bias(_NAME, bias, [*batch, n], x)
    check_rng(_NAME, rng, form, x)
    _check_offsets(_NAME, offsets, weight.shape[0], x)
    check_transforms(_NAME, form, ["forward_input"] + ["wgrad_input"] * has_wgrad, x)
    check_transforms(_NAME, form, ["forward_weight"] + ["dgrad_weight"] * has_dgrad, weight)
    kernel = TrainingForward.of(form, tuple(weight.shape), x.dtype, weight.dtype, x.device,
                                rng, amaxes, bias=None if bias is None else bias.dtype,
                                has_dgrad=has_dgrad, has_wgrad=has_wgrad)
    _check_amaxes(_NAME, amaxes, kernel, x)
    return kernel


def _select(rng: Tensor | None, amaxes: Tensor | None, kernel: Layer) -> list[Tensor]:
    """The last arguments of a kernel: random bits and amaxes of its operands."""
    of_rng = [] if rng is None else [to_argument(rng[kernel.form.stochastic.index(name)])
                                     for name in kernel.random]
    # Kernels read an amax at any address.
    return of_rng + ([] if amaxes is None else list(amaxes.view(torch.float32)))


def spread(made: Sequence[Tensor], operand: TrainingOperand, is_made: bool, x: Tensor
            ) -> list[Tensor]:
    """Data, scales and global scale, from those that there are."""
    given = list(made[:len(count_codes(operand))] if is_made else [])
    return given + [x.new_empty(0, dtype=dtype) for dtype in CODE_DTYPES[len(given):]]


def check_device(op: str, x: Tensor, form: TrainingForm) -> None:
    formats = {each.format for each in form.operands.values()}
    if not has_product(x.device, False, *formats):
        refuse(op, f"a device with products of {', '.join(sorted(formats))} of ours",
               str(x.device))


def _train(x: Tensor, weight: Tensor, bias: Tensor | None = None, rng: Tensor | None = None,
           offsets: Tensor | None = None, amaxes: Tensor | None = None, *, form: str,
           has_dgrad: bool = True, has_wgrad: bool = True, amax_groups: Sequence[str] | None = None
           ) -> tuple[Tensor, ...]:
    kernel = _make_forward(x, weight, bias, rng, offsets, amaxes, form, has_dgrad, has_wgrad)
    check_device(_NAME, x, kernel.form)
    rows = to_argument(pad_rows(x, offsets, has_wgrad))
    given = [rows, weight, *(each for each in (bias, offsets) if each is not None)]
    y, *made = kernel.with_values(rows, offsets).get()(
        [*map(to_argument, given), *_select(rng, amaxes, kernel)], rows.shape[0])
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
          offsets: Tensor | None = None, amaxes: Tensor | None = None, *, form: str,
          has_dgrad: bool = True, has_wgrad: bool = True, amax_groups: Sequence[str] | None = None
          ) -> tuple[Tensor, ...]:
    kernel = _make_forward(x, weight, bias, rng, offsets, amaxes, form, has_dgrad, has_wgrad)
    all_shapes = get_shapes(kernel.form, weight.shape, x.shape[0], kernel.layout)
    made = [x.new_empty(shape if has else [0], dtype=dtype)
            for shapes, has in zip(all_shapes, (has_dgrad, has_wgrad))
            for shape, dtype in zip(shapes, CODE_DTYPES)]
    return (x.new_empty([x.shape[0], weight.shape[-2]]), *made)


implement(_NAME, _train, _fake)


def _make_from_codes(x: Tensor, data: Tensor, scales: Tensor, global_scale: Tensor | None,
                     bias: Tensor | None, rng: Tensor | None, amaxes: Tensor | None, text: str,
                     out_features: int, has_wgrad: bool) -> TrainingForward:
    form, op = read_form(text), _FROM_CODES
    check_x(op, x)
    if x.dim() != 2:
        refuse(op, "x of rank 2", f"shape {list(x.shape)}")
    n, k = out_features, x.shape[1]
    check_sizes(op, form, n, k)
    _check_bias(op, bias, [n], x)
    check_rng(op, rng, form, x)
    check_transforms(op, form, ["forward_input"] + ["wgrad_input"] * has_wgrad, x)
    kernel = TrainingForward.of(form, (n, k), x.dtype, x.dtype, x.device, rng, amaxes,
                                bias=None if bias is None else bias.dtype, has_dgrad=False,
                                has_wgrad=has_wgrad, takes_codes=True)
    _check_amaxes(op, amaxes, kernel, x)
    operand = form.forward_weight
    for what, tensor, shape in zip(("data", "scales"), (data, scales),
                                   get_storage(n, k, operand.format, kernel.layout)):
        check_tensor(op, what, tensor, torch.uint8, shape, x)
    if (global_scale is not None) != (operand.scaling != "none"):
        refuse(op, "global_scale exactly with a form whose weight has one",
               "none" if global_scale is None else "one")
    if global_scale is not None:
        check_tensor(op, "global_scale", global_scale, torch.float32, [], x)
    return kernel


def _train_from_codes(x: Tensor, data: Tensor, scales: Tensor, global_scale: Tensor | None = None,
                      bias: Tensor | None = None, rng: Tensor | None = None,
                      amaxes: Tensor | None = None, *, form: str, out_features: int,
                      has_wgrad: bool) -> tuple[Tensor, ...]:
    kernel = _make_from_codes(x, data, scales, global_scale, bias, rng, amaxes, form, out_features,
                              has_wgrad)
    check_device(_FROM_CODES, x, kernel.form)
    rows = to_argument(pad_rows(x, None, has_wgrad))
    given = [to_argument(each) for each in (data, scales, global_scale, bias) if each is not None]
    y, *made = kernel.with_values(rows, None).get()(
        [rows, *given, *_select(rng, amaxes, kernel)], rows.shape[0])
    return (y[:x.shape[0]], *spread(made, kernel.form.wgrad_input, has_wgrad, x))


def _fake_from_codes(x: Tensor, data: Tensor, scales: Tensor, global_scale: Tensor | None = None,
                     bias: Tensor | None = None, rng: Tensor | None = None,
                     amaxes: Tensor | None = None, *, form: str, out_features: int,
                     has_wgrad: bool) -> tuple[Tensor, ...]:
    kernel = _make_from_codes(x, data, scales, global_scale, bias, rng, amaxes, form, out_features,
                              has_wgrad)
    _, shapes = get_shapes(kernel.form, (out_features, x.shape[1]), x.shape[0], kernel.layout)
    made = [x.new_empty(shape if has_wgrad else [0], dtype=dtype)
            for shape, dtype in zip(shapes, CODE_DTYPES)]
    return (x.new_empty([x.shape[0], out_features]), *made)


implement(_FROM_CODES, _train_from_codes, _fake_from_codes)
refuse_backward(_FROM_CODES, "train_linear() has the one of a weight that is gathered as codes")


def _make_backward(gradient: Tensor, given: Sequence[Any], text: str, in_features: int,
                   weight_dtype: torch.dtype, has_dgrad: bool, has_wgrad: bool
                   ) -> tuple[TrainingBackward, Tensor | None, Tensor | None, Tensor | None]:
    """The kernel of a call, its random bits, its ends of groups and its amaxes."""
    codes, (rng, offsets, amaxes) = given[:6], (*given[6:], None, None, None)[:3]
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
                                 rng, amaxes, has_dgrad=has_dgrad, has_wgrad=has_wgrad)
    _check_amaxes(_BACKWARD, amaxes, kernel, gradient)
    all_shapes = get_shapes(form, weight, rows, kernel.layout)
    for name, shapes, has, tensors in zip(("weight", "x"), all_shapes, (has_dgrad, has_wgrad),
                                          (codes[:3], codes[3:])):
        for what, tensor, shape in zip(("data", "scales", "global"), tensors, shapes):
            if has:
                dtype = torch.float32 if what == "global" else torch.uint8
                check_tensor(_BACKWARD, f"{name}_{what}", tensor, dtype, shape, gradient)
    return kernel, rng, offsets, amaxes


def _differentiate(gradient: Tensor, *given: Any, form: str, in_features: int,
                   weight_dtype: torch.dtype, has_dgrad: bool, has_wgrad: bool
                   ) -> tuple[Tensor, Tensor]:
    kernel, rng, offsets, amaxes = _make_backward(gradient, given, form, in_features, weight_dtype,
                                                  has_dgrad, has_wgrad)
    check_device(_BACKWARD, gradient, kernel.form)
    rows = to_argument(pad_rows(gradient, offsets, has_wgrad))
    taken: list[Tensor] = []
    if has_dgrad:
        taken += given[:len(count_codes(kernel.form.dgrad_weight))]
    if has_wgrad:
        taken += given[3:3 + len(count_codes(kernel.form.wgrad_input))]
    taken += [] if offsets is None else [offsets]
    made = kernel.with_values(rows, offsets).get()(
        [rows, *map(to_argument, taken), *_select(rng, amaxes, kernel)], rows.shape[0])
    of_x = made[0][:gradient.shape[0]] if has_dgrad else gradient.new_empty(0)
    return of_x, made[-1] if has_wgrad else gradient.new_empty(0, dtype=weight_dtype)


def _fake_gradients(gradient: Tensor, *given: Any, form: str, in_features: int,
                    weight_dtype: torch.dtype, has_dgrad: bool, has_wgrad: bool
                    ) -> tuple[Tensor, Tensor]:
    _, _, offsets, _ = _make_backward(gradient, given, form, in_features, weight_dtype, has_dgrad,
                                      has_wgrad)
    rows, n = gradient.shape
    batch = [] if offsets is None else [_count_groups(offsets)]
    return (gradient.new_empty([rows, in_features] if has_dgrad else [0]),
            gradient.new_empty([*batch, n, in_features] if has_wgrad else [0],
                               dtype=weight_dtype))


implement(_BACKWARD, _differentiate, _fake_gradients)
refuse_backward(_BACKWARD, "gradients of gradients are not quantized")


def _get_amaxes_kernel(x: Tensor, weight: Tensor | None, text: str, names: Sequence[str]
                       ) -> TrainingAmaxes:
    form = read_form(text)
    check_x(_AMAXES, x)
    if x.dim() != 2:
        refuse(_AMAXES, "x of rank 2", f"shape {list(x.shape)}")
    known = [name for name in form.dynamic if weight is not None or not is_of_weight(name)]
    if not names or any(name not in known for name in names):
        refuse(_AMAXES, f"names of dynamic global scales, of {', '.join(known) or 'which it has '}"
               f"{'' if known else 'none'}", f"{list(names)}")
    if weight is not None:
        check_tensor(_AMAXES, "weight", weight, weight.dtype, None, x)
        if weight.dtype not in PLAIN or weight.dim() != 2:
            refuse(_AMAXES, "weight to be float32, bfloat16 or float16, of rank 2",
                   f"{weight.dtype}, shape {list(weight.shape)}")
    for tensor, is_weight in ((x, False), (weight, True)):
        if tensor is not None:
            check_transforms(_AMAXES, form, [name for name in names
                                              if is_of_weight(name) == is_weight], tensor)
    sizes = [x.shape[1], *([] if weight is None else weight.shape)]
    return TrainingAmaxes(form, tuple(names), (None,) * len(sizes) if x.device.type == "cpu"
                          else tuple(sizes), x.dtype, None if weight is None else weight.dtype)


def _find_amaxes(x: Tensor, weight: Tensor | None = None, *, form: str, names: Sequence[str]
                 ) -> Tensor:
    kernel = _get_amaxes_kernel(x, weight, form, names)
    rows = to_argument(pad_rows(x, None, any(name in TRANSPOSED and not is_of_weight(name)
                                              for name in names)))
    made = kernel.get()([rows, *([] if weight is None else [to_argument(weight)])], rows.shape[0])
    return torch.stack(made).view(torch.int32)


def _fake_amaxes(x: Tensor, weight: Tensor | None = None, *, form: str, names: Sequence[str]
                 ) -> Tensor:
    _get_amaxes_kernel(x, weight, form, names)
    return x.new_empty([len(names)], dtype=torch.int32)


implement(_AMAXES, _find_amaxes, _fake_amaxes)
refuse_backward(_AMAXES, "global scales are constants to a gradient")


def _share_amaxes(groups: Sequence[str], x: Tensor, weight: Tensor | None, form: TrainingForm,
                  made: Sequence[str]) -> Tensor | None:
    """The amaxes of operands over the ranks of groups; None where none is shared."""
    names = [name for name in form.dynamic if name in made]
    if not groups or not names:
        return None
    amaxes: Tensor = torch.ops.blockscale.train_linear_amaxes(x, weight, form=form.text,
                                                              names=names)
    return share_largest(amaxes, groups)


def _save(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
    _, weight, bias, rng, offsets, _ = inputs
    ctx.save_for_backward(*output[1:], rng, offsets)
    ctx.mark_non_differentiable(*output[1:])
    ctx.form = keyword_only_inputs["form"]
    ctx.has = [keyword_only_inputs.get(name, True) for name in ("has_dgrad", "has_wgrad")]
    ctx.amax_groups = keyword_only_inputs.get("amax_groups") or ()
    ctx.of_weight = weight.shape[-1], weight.dtype
    ctx.bias_dtype = None if bias is None else bias.dtype


def _run_backward(gradient: Tensor, codes: Sequence[Tensor], rng: Tensor | None,
                  offsets: Tensor | None, form: str, weight: tuple[int, torch.dtype],
                  needs_x: bool, needs_weight: bool, amax_groups: Sequence[str]
                  ) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of x and of a weight of so many columns and a dtype, where they are needed."""
    if not (needs_x or needs_weight):
        return None, None
    gradient = gradient.contiguous()
    amaxes = _share_amaxes(
        amax_groups, gradient, None, read_form(form),
        ("dgrad_gradient",) * needs_x + ("wgrad_gradient",) * needs_weight)
    made = torch.ops.blockscale.train_linear_backward(
        gradient, *codes, rng, offsets, amaxes, form=form, in_features=weight[0],
        weight_dtype=weight[1], has_dgrad=needs_x, has_wgrad=needs_weight)
    return made[0] if needs_x else None, made[1] if needs_weight else None


def _propagate(ctx: Any, gradient: Tensor, *_: Any) -> tuple[Any, ...]:
    *codes, rng, offsets = ctx.saved_tensors
    # PyTorch knows of no arguments that have their defaults.
    count = len(ctx.needs_input_grad)
    needs_x, needs_weight, needs_bias = (*ctx.needs_input_grad, False)[:3]
    for needs, has, what in zip((needs_x, needs_weight), ctx.has, ("has_dgrad", "has_wgrad")):
        if needs and not has:
            refuse(_NAME, f"{what}=True for a gradient that is asked for", "False")
    of_x, of_weight = _run_backward(gradient, codes, rng, offsets, ctx.form, ctx.of_weight, needs_x,
                                    needs_weight, ctx.amax_groups)
    of_bias = None
    if needs_bias:
        of_bias = sum_rows(gradient, offsets).to(ctx.bias_dtype)
    return (of_x, of_weight, of_bias, None, None, None)[:count]


differentiate(_NAME, _propagate, _save)


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
                 rng: Tensor | None = None, amax_group: AmaxGroup | None = None) -> Tensor:
    """y = x weight^T + bias, whose product and those of its gradients are of operands that a form
    quantizes (docs/Training.md).

    Args:
      x: [.., K], float32, bfloat16 or float16; bfloat16 where a form transforms it. Any number of
        rows: for the gradient of the weight zeros fill them up to a multiple of 32.
      weight: [N, K], quantized from its own dtype. N and K are multiples of the blocks.
      bias: [N].
      form: a TrainingForm, or the name of one, which torch.compile does not trace.
      rng: what draw_rng() gives; None to call it. Both passes take their random bits from it. All
        ranks have the same.
      amax_group: ranks that train one model, each with as many rows of one x: a ProcessGroup, a
        DeviceMesh of one dimension, or a mesh with the number of a dimension. Global scales are
        of the largest amaxes among them, and random bits are those of rows in the order of ranks.
        Of DTensors the amaxes and the places are those of whole tensors by themselves.

    Returns: [.., N] of x's dtype. The gradient of the bias is the sum of rows in float32.

    Raises: ArgumentError.
    """
    form = to_form(form)
    ranks = None if amax_group is None else find_ranks(amax_group)
    if rng is None:
        rng = draw_rng(form, x.device)

    def multiply(x: Tensor, weight: Tensor, bias: Tensor | None, part: Part | None) -> Tensor:
        y = _call(x.reshape(-1, x.shape[-1]), weight, bias, rng, None, form, part)
        return y.reshape(*x.shape[:-1], y.shape[-1])
    if is_sharded(x, weight, bias):
        return multiply_shards(x, weight, bias, form, ranks, multiply)
    return multiply(x, weight, bias, None if ranks is None else find_part(x, weight, ranks))


class _LinearOfCodes(torch.autograd.Function):
    """A layer of a weight that is gathered as codes. Whoever gathers it does so again before the
    backward pass, which reads the codes of the weight and not what the forward pass made."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: WeightCodes, bias: Tensor | None,
                rng: Tensor | None, amaxes: Tensor | None, form: str, has_wgrad: bool,
                amax_groups: Sequence[str]) -> Tensor:
        data, scales, *rest = weight.get_codes("forward_weight", is_transposed=False)
        y, *codes = torch.ops.blockscale.train_linear_from_codes(
            x, data, scales, rest[0] if rest else None, bias, rng, amaxes, form=form,
            out_features=weight.shape[0], has_wgrad=has_wgrad)
        ctx.save_for_backward(*codes, rng)
        ctx.weight, ctx.form, ctx.amax_groups = weight, form, amax_groups
        ctx.bias_dtype = None if bias is None else bias.dtype
        made: Tensor = y
        return made

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        *of_x, rng = ctx.saved_tensors
        needs_x, needs_weight, needs_bias = ctx.needs_input_grad[:3]
        nothing = [gradient.new_empty(0, dtype=dtype) for dtype in CODE_DTYPES]
        of_weight = nothing
        if needs_x:
            made = ctx.weight.get_codes("dgrad_weight", is_transposed=True)
            of_weight = made + nothing[len(made):]
        dx, dw = _run_backward(gradient, [*of_weight, *of_x], rng, None, ctx.form,
                               (ctx.weight.shape[-1], ctx.weight.dtype), needs_x, needs_weight,
                               ctx.amax_groups)
        of_bias = sum_rows(gradient, None).to(ctx.bias_dtype) if needs_bias else None
        return dx, dw, of_bias, None, None, None, None, None


def _place(rng: Tensor, form: TrainingForm, part: Part) -> Tensor:
    """Random bits of a part of a layer, which are those of its elements in the whole layer."""
    sources = [part.weight if is_of_weight(name) else part.x if name.endswith("_input") else part.y
               for name in form.stochastic]
    return torch.cat([rng, make_places(tuple(sources), rng.device)], 1)


def _call(x: Tensor, weight: Tensor, bias: Tensor | None, rng: Tensor | None,
          offsets: Tensor | None, form: TrainingForm, part: Part | None = None) -> Tensor:
    if part is not None and rng is not None and rng.shape[-1] != PLACED:
        rng = _place(rng, form, part)
    forward, backward = ((), ()) if part is None else (part.forward, part.backward)
    is_recorded = torch.is_grad_enabled()
    has_dgrad, has_wgrad = (is_recorded and each.requires_grad for each in (x, weight))
    if isinstance(weight, WeightCodes):
        amaxes = _share_amaxes(forward, x, None, form,
                               ("forward_input", *("wgrad_input",) * has_wgrad))
        made: Tensor = _LinearOfCodes.apply(x, weight, bias, rng, amaxes, form.text, has_wgrad,
                                            backward)
        return made
    amaxes = _share_amaxes(
        forward, x, weight, form,
        ("forward_input", "forward_weight", *("dgrad_weight",) * has_dgrad,
         *("wgrad_input",) * has_wgrad))
    y: Tensor = torch.ops.blockscale.train_linear(
        x, weight, bias, rng, offsets, amaxes, form=form.text, has_dgrad=has_dgrad,
        has_wgrad=has_wgrad, amax_groups=list(backward) or None)[0]
    return y


def _place_groups(rng: Tensor, form: TrainingForm, rows_before: Tensor, x: Tensor, weight: Tensor
                  ) -> Tensor:
    """Random bits of groups behind others, which have so many rows: those of the places that they
    have in all rows, which are padded where a product sums along them."""
    _, n, k = weight.shape
    counts = rows_before.to(torch.int64)
    padded = (counts + ROW_UNIT - 1) // ROW_UNIT * ROW_UNIT
    places = []
    for name in form.stochastic:
        per_row = count_segments(n if name.endswith("_gradient") else k)
        rows = counts if name not in TRANSPOSED else padded
        first = counts.new_full((), counts.shape[0] * n) if is_of_weight(name) else rows.sum()
        places.append(torch.stack([first * per_row, first.new_full((), per_row)]))
    return torch.cat([rng, torch.stack(places).to(rng.device)], 1)


def train_grouped_linear(x: Tensor, weight: Tensor, offsets: Tensor, bias: Tensor | None = None,
                         *, form: AnyForm, rng: Tensor | None = None,
                         rows_before: Tensor | None = None) -> Tensor:
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
      rows_before: the numbers of rows of the groups that are before these, on other ranks, a tensor
        of integers: random bits are those that these groups have behind them in one process.

    Returns: [M, N] of x's dtype.

    Raises: ArgumentError; Error for ends that descend or are beyond x.
    """
    form = to_form(form)
    if rng is None:
        rng = draw_rng(form, x.device)
    if rows_before is not None and rng is not None and weight.dim() == 3:
        rng = _place_groups(rng, form, rows_before, x, weight)
    return _call(x, weight, bias, rng, offsets, form)
