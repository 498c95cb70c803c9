# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The op of a gated MLP in training, whose layers are quantized by one form, and its derivative."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from blockscale._training import AnyForm, TrainingForm, read_form, to_form
from blockscale.torch._gated_kernels import (
    DERIVATIVES,
    LAYERS,
    GatedBackward,
    GatedForward,
    GatedMlp,
)
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
from blockscale.torch._training_kernels import CODE_DTYPES, count_codes, count_padded
from blockscale.torch._training_ops import (
    check_device,
    check_rng,
    check_sizes,
    check_transforms,
    draw_rng,
    get_shapes,
    pad_rows,
    spread,
)

_NAME, _BACKWARD = "train_gated_mlp", "train_gated_mlp_backward"
#: What codes are of, in the order of results and arguments: of the weights, for the gradient of
#: what their layers read, and of x and of what down reads, for gradients of weights.
_CODED = {"gate": "dgrad_weight", "up": "dgrad_weight", "down": "dgrad_weight",
          "x": "wgrad_input", "inner": "wgrad_input"}
_PARTS = ("data", "scales", "global")
_HAS = ("has_dgrad", "has_inner_wgrad", "has_down_wgrad")
#: The tensors that the backward pass reads: what gate and up give, and codes.
_COUNT = 2 + len(_CODED) * len(_PARTS)
_SAVED = ", ".join(["Tensor gate_rows", "Tensor up_rows",
                    *(f"Tensor {name}_{part}" for name in _CODED for part in _PARTS)])
define(f"{_NAME}(Tensor x, Tensor gate, Tensor up, Tensor down, Tensor? rng=None, *, str form, "
       f"str activation, {', '.join(f'bool {name}=True' for name in _HAS)}) -> "
       f"(Tensor y, {_SAVED})")
define(f"{_BACKWARD}(Tensor gradient, {_SAVED}, Tensor? rng=None, *, str form, str activation, "
       "int in_features, int inner_features, ScalarType weight_dtype, "
       f"{', '.join(f'bool {name}' for name in _HAS)})"
       " -> (Tensor, Tensor, Tensor, Tensor)")


def _check_activation(op: str, activation: str) -> None:
    if activation not in DERIVATIVES:
        refuse(op, f"activation to be one of {', '.join(DERIVATIVES)}", repr(activation))


def _make_forward(x: Tensor, weights: Sequence[Tensor], rng: Tensor | None, text: str,
                  activation: str, has: Sequence[bool]) -> GatedForward:
    """The kernel of a call, all of whose operands are as it takes them."""
    form = read_form(text)
    check_x(_NAME, x)
    _check_activation(_NAME, activation)
    gate, _, down = weights
    if x.dim() != 2 or gate.dim() != 2 or down.dim() != 2:
        refuse(_NAME, "x and weights of rank 2",
               f"shapes {[list(each.shape) for each in (x, *weights)]}")
    if gate.dtype not in PLAIN:
        refuse(_NAME, "weights to be float32, bfloat16 or float16", str(gate.dtype))
    inner, columns = gate.shape
    outputs = down.shape[0]
    for name, weight, shape in zip(LAYERS, weights, ([inner, x.shape[1]],) * 2
                                   + ([outputs, inner],)):
        check_tensor(_NAME, f"the weight of {name}", weight, gate.dtype, shape, x)
    check_sizes(_NAME, form, inner, columns)
    check_sizes(_NAME, form, outputs, inner)
    check_rng(_NAME, rng, form, x, [len(LAYERS)])
    kernel = GatedForward.of(form, activation, (columns, inner, outputs), x.dtype, gate.dtype,
                             x.device, *has)
    made = set(kernel.saved.values())
    check_transforms(_NAME, form, ["forward_input", *made & {"wgrad_input"}], x)
    check_transforms(_NAME, form, ["forward_weight", *made & {"dgrad_weight"}], gate)
    return kernel


def _select(rng: Tensor | None, kernel: GatedForward | GatedBackward) -> list[Tensor]:
    if rng is None:
        return []
    places = {name: place for place, name in enumerate(kernel.form.stochastic)}
    return [to_argument(rng[LAYERS.index(layer), places[operand]])
            for layer, operand in kernel.random]


def _train(x: Tensor, gate: Tensor, up: Tensor, down: Tensor, rng: Tensor | None = None, *,
           form: str, activation: str, has_dgrad: bool = True, has_inner_wgrad: bool = True,
           has_down_wgrad: bool = True) -> tuple[Tensor, ...]:
    has = (has_dgrad, has_inner_wgrad, has_down_wgrad)
    kernel = _make_forward(x, (gate, up, down), rng, form, activation, has)
    check_device(_NAME, x, kernel.form)
    rows = to_argument(pad_rows(x, None, any(has)))
    y, *made = kernel.with_values(rows).get()(
        [rows, *map(to_argument, (gate, up, down)), *_select(rng, kernel)], rows.shape[0])
    results = [made.pop(0) if kernel.has_inner else x.new_empty(0) for _ in LAYERS[:2]]
    for name, operand in _CODED.items():
        codes, is_made = getattr(kernel.form, operand), name in kernel.saved
        results += spread(made, codes, is_made, x)
        made = made[len(count_codes(codes)) * is_made:]
    return (y[:x.shape[0]], *results)


def _find_shapes(kernel: GatedMlp, sizes: tuple[Any, Any, Any], rows: Any
                 ) -> list[tuple[list[Any], torch.dtype]]:
    """Of what the backward pass reads."""
    columns, inner, outputs = sizes
    padded = count_padded(rows, None)
    found = [([padded, inner] if kernel.has_inner else [0], kernel.dtype)] * 2
    of_gate, of_x = get_shapes(kernel.form, (inner, columns), rows, kernel.layout)
    of_down, of_inner = get_shapes(kernel.form, (outputs, inner), rows, kernel.layout)
    for name, shapes in zip(_CODED, (of_gate, of_gate, of_down, of_x, of_inner)):
        found += [(shape if name in kernel.saved else [0], dtype)
                  for shape, dtype in zip(shapes, CODE_DTYPES)]
    return found


def _fake(x: Tensor, gate: Tensor, up: Tensor, down: Tensor, rng: Tensor | None = None, *,
          form: str, activation: str, has_dgrad: bool = True, has_inner_wgrad: bool = True,
          has_down_wgrad: bool = True) -> tuple[Tensor, ...]:
    kernel = _make_forward(x, (gate, up, down), rng, form, activation,
                           (has_dgrad, has_inner_wgrad, has_down_wgrad))
    sizes = gate.shape[1], gate.shape[0], down.shape[0]
    return (x.new_empty([x.shape[0], down.shape[0]]),
            *(x.new_empty(shape, dtype=dtype)
              for shape, dtype in _find_shapes(kernel, sizes, x.shape[0])))


implement(_NAME, _train, _fake)


def _make_backward(gradient: Tensor, saved: Sequence[Tensor], rng: Tensor | None, text: str,
                   activation: str, columns: Any, inner: Any, weight_dtype: torch.dtype,
                   has: Sequence[bool]) -> GatedBackward:
    form = read_form(text)
    check_x(_BACKWARD, gradient)
    _check_activation(_BACKWARD, activation)
    if gradient.dim() != 2:
        refuse(_BACKWARD, "a gradient of rank 2", f"shape {list(gradient.shape)}")
    if not any(has):
        refuse(_BACKWARD, f"a gradient to compute, {', '.join(_HAS)}", "none")
    if weight_dtype not in PLAIN:
        refuse(_BACKWARD, "weight_dtype to be float32, bfloat16 or float16", str(weight_dtype))
    sizes = columns, inner, gradient.shape[1]
    check_sizes(_BACKWARD, form, inner, columns)
    check_sizes(_BACKWARD, form, gradient.shape[1], inner)
    check_rng(_BACKWARD, rng, form, gradient, [len(LAYERS)])
    kernel = GatedBackward.of(form, activation, sizes, gradient.dtype, weight_dtype,
                              gradient.device, *has)
    check_transforms(_BACKWARD, form, ["dgrad_gradient"] * kernel.has_inner
                     + ["wgrad_gradient"] * any(has[1:]), gradient)
    names = ["gate_rows", "up_rows", *(f"{name}_{part}" for name in _CODED for part in _PARTS)]
    for name, tensor, (shape, dtype) in zip(names, saved, _find_shapes(kernel, sizes,
                                                                      gradient.shape[0])):
        if shape != [0]:
            check_tensor(_BACKWARD, name, tensor, dtype, shape, gradient)
    return kernel


def _differentiate(gradient: Tensor, *given: Any, form: str, activation: str, in_features: int,
                   inner_features: int, weight_dtype: torch.dtype, has_dgrad: bool,
                   has_inner_wgrad: bool, has_down_wgrad: bool) -> tuple[Tensor, ...]:
    has = (has_dgrad, has_inner_wgrad, has_down_wgrad)
    saved, rng = given[:_COUNT], (*given[_COUNT:], None)[0]
    kernel = _make_backward(gradient, saved, rng, form, activation, in_features, inner_features,
                            weight_dtype, has)
    check_device(_BACKWARD, gradient, kernel.form)
    rows = to_argument(pad_rows(gradient, None, True))
    taken = list(saved[:2]) if kernel.has_inner else []
    for number, (name, operand) in enumerate(_CODED.items()):
        if name in kernel.saved:
            first = 2 + len(_PARTS) * number
            taken += saved[first:first + len(count_codes(getattr(kernel.form, operand)))]
    made = kernel.with_values(rows).get()(
        [rows, *map(to_argument, taken), *_select(rng, kernel)], rows.shape[0])
    of_x = made.pop(0)[:gradient.shape[0]] if has_dgrad else gradient.new_empty(0)
    wanted = (has_inner_wgrad, has_inner_wgrad, has_down_wgrad)
    return (of_x, *(made.pop(0) if each else gradient.new_empty(0, dtype=weight_dtype)
                    for each in wanted))


def _fake_gradients(gradient: Tensor, *given: Any, form: str, activation: str, in_features: int,
                    inner_features: int, weight_dtype: torch.dtype, has_dgrad: bool,
                    has_inner_wgrad: bool, has_down_wgrad: bool) -> tuple[Tensor, ...]:
    _make_backward(gradient, given[:_COUNT], (*given[_COUNT:], None)[0], form, activation,
                   in_features, inner_features, weight_dtype,
                   (has_dgrad, has_inner_wgrad, has_down_wgrad))
    rows, outputs = gradient.shape
    shapes = (([inner_features, in_features], has_inner_wgrad),) * 2 + (
        ([outputs, inner_features], has_down_wgrad),)
    return (gradient.new_empty([rows, in_features] if has_dgrad else [0]),
            *(gradient.new_empty(shape if has else [0], dtype=weight_dtype)
              for shape, has in shapes))


implement(_BACKWARD, _differentiate, _fake_gradients)
refuse_backward(_BACKWARD, "gradients of gradients are not quantized")


def _save(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
    _, gate, _, _, rng = inputs
    ctx.save_for_backward(*output[1:], rng)
    ctx.mark_non_differentiable(*output[1:])
    ctx.form, ctx.activation = (keyword_only_inputs[name] for name in ("form", "activation"))
    ctx.has = [keyword_only_inputs.get(name, True) for name in _HAS]
    ctx.of_gate = gate.shape, gate.dtype


def _propagate(ctx: Any, gradient: Tensor, *_: Any) -> tuple[Any, ...]:
    *saved, rng = ctx.saved_tensors
    # PyTorch knows of no arguments that have their defaults.
    count = len(ctx.needs_input_grad)
    needs = tuple(ctx.needs_input_grad[:4])
    has = (needs[0], needs[1] or needs[2], needs[3])
    for each, was, what in zip(has, ctx.has, _HAS):
        if each and not was:
            refuse(_NAME, f"{what}=True for a gradient that is asked for", "False")
    made: Sequence[Any] = [None] * len(needs)
    if any(has):
        (inner, columns), dtype = ctx.of_gate
        made = torch.ops.blockscale.train_gated_mlp_backward(
            gradient.contiguous(), *saved, rng, form=ctx.form, activation=ctx.activation,
            in_features=columns, inner_features=inner, weight_dtype=dtype,
            **dict(zip(_HAS, has)))
    return (*(each if need else None for each, need in zip(made, needs)), None)[:count]


differentiate(_NAME, _propagate, _save)


def train_gated_mlp(x: Tensor, gate: Tensor, up: Tensor, down: Tensor, *, form: AnyForm,
                    activation: str = "silu", rng: Tensor | None = None) -> Tensor:
    """y = (act(x gate^T) * (x up^T)) down^T, whose layers are quantized as train_linear() does it
    (docs/Training.md, gated MLPs).

    Args:
      x: [.., K], as train_linear() takes it.
      gate, up: weights [F, K]; down: [N, F], all of one dtype. K, F and N are multiples of the
        blocks.
      form: a TrainingForm, or the name of one, which torch.compile does not trace.
      activation: "silu", "gelu" or "gelu_tanh".
      rng: what draw_rng() gives for gate, up and down, stacked; None to call it.

    Returns: [.., N] of x's dtype.

    Raises: ArgumentError.
    """
    found = to_form(form)
    if rng is None and found.stochastic:
        rng = torch.stack([_draw(found, x) for _ in LAYERS])
    is_recorded = torch.is_grad_enabled()
    has = (x.requires_grad, gate.requires_grad or up.requires_grad, down.requires_grad)
    y: Tensor = torch.ops.blockscale.train_gated_mlp(
        x.reshape(-1, x.shape[-1]), gate, up, down, rng, form=found.text, activation=activation,
        **{name: is_recorded and each for name, each in zip(_HAS, has)})[0]
    return y.reshape(*x.shape[:-1], y.shape[-1])


def _draw(form: TrainingForm, x: Tensor) -> Tensor:
    bits = draw_rng(form, x.device)
    assert bits is not None
    return bits
