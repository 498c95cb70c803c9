# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Linear layers whose weights are not quantized, by products of ours: their sums can have an order,
so that a model has the same bits as a whole."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from blockscale._errors import ArgumentError
from blockscale._forms import check_order
from blockscale._ops import ORDERS
from blockscale.torch._forms import has_product
from blockscale.torch._kernels import to_argument
from blockscale.torch._library import (
    PLAIN,
    check_tensor,
    check_x,
    define,
    differentiate,
    implement,
    refuse,
    set_rows,
)
from blockscale.torch._products_kernels import PlainLinear, run

define("linear(Tensor x, Tensor weight, Tensor? bias=None, *, str order='free') -> Tensor")
_NARROW = PLAIN[1:]


def _check(x: Tensor, weight: Tensor, bias: Tensor | None, order: str) -> PlainLinear:
    check_order(order)
    check_x("linear", x, _NARROW, 1)
    if weight.dim() != 2:
        refuse("linear", "weight of rank 2", f"shape {list(weight.shape)}")
    n = weight.shape[0]
    check_tensor("linear", "weight", weight, x.dtype, [n, x.shape[-1]], x)
    if bias is not None:
        check_tensor("linear", "bias", bias, x.dtype, [n], x)
    return PlainLinear((n, x.shape[-1]), x.dtype, bias is not None, order)


def _linear(x: Tensor, weight: Tensor, bias: Tensor | None = None, *,
            order: str = ORDERS[0]) -> Tensor:
    linear = _check(x, weight, bias, order)
    if not has_product(x.device, True):
        if order != ORDERS[0]:
            refuse("linear", f"a GPU with products of ours for sums of order {order}",
                   str(x.device))
        return nn.functional.linear(x, weight, bias)
    rows = to_argument(x.reshape(-1, x.shape[-1]))
    y, = run(linear.get(), [rows, to_argument(weight),
                            None if bias is None else to_argument(bias)], rows.shape[0])
    return set_rows(y, x)


def _make_fake(x: Tensor, weight: Tensor, bias: Tensor | None = None, *,
               order: str = ORDERS[0]) -> Tensor:
    _check(x, weight, bias, order)
    return x.new_empty([*x.shape[:-1], weight.shape[0]])


implement("linear", _linear, _make_fake)


def _save(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
    x, weight, *_ = inputs
    ctx.save_for_backward(x, weight)


def _differentiate(context: Any, gradient: Tensor) -> tuple[Any, ...]:
    """The gradients are products of PyTorch, in its order."""
    x, weight = context.saved_tensors
    rows = gradient.reshape(-1, gradient.shape[-1])
    of_x, of_weight, *of_bias = context.needs_input_grad
    return ((rows @ weight).reshape(x.shape) if of_x else None,
            rows.t() @ x.reshape(-1, x.shape[-1]) if of_weight else None,
            *(rows.sum(0) if is_needed else None for is_needed in of_bias))


differentiate("linear", _differentiate, _save)


class OrderedLinear(nn.Linear):
    """A linear layer whose products add in an order, with the parameters of nn.Linear.

    Attributes:
      order: "chain", or "free", as for products of quantized weights (docs/SameBits.md).
    """

    order: str = ORDERS[0]

    def forward(self, input: Tensor) -> Tensor:
        made: Tensor = torch.ops.blockscale.linear(input, self.weight, self.bias, order=self.order)
        return made

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, order {self.order}"


def order_linear_(model: nn.Module, order: str = "chain") -> list[str]:
    """Gives the sums of a model's plain linear layers an order, as those that quantize_ has left.
    Parameters stay as they are, and are still the model's; state dicts do not say the order.

    Args:
      model: its layers of nn.Linear itself, and those of this function, take the order. Other
        modules that multiply, among them subclasses of nn.Linear, stay.
      order: "chain", or "free" for any.

    Returns: the names of these layers.

    Raises: ArgumentError for an order that is none, and for weights that are neither bfloat16 nor
      float16; the model is as it was then.
    """
    if not isinstance(model, nn.Module):
        raise ArgumentError(f"expected a torch.nn.Module, but got {type(model).__name__}")
    check_order(order)
    if order is None:
        raise ArgumentError("expected an order of sums, but got None")
    found = {name: layer for name, layer in model.named_modules()
             if type(layer) in (nn.Linear, OrderedLinear)}
    for name, layer in found.items():
        if layer.weight.dtype not in _NARROW:
            raise ArgumentError(f"expected a weight of bfloat16 or float16 for sums of order "
                                f"{order}, but got {layer.weight.dtype} in '{name}'")
    for layer in found.values():
        layer.__class__ = OrderedLinear
        layer.order = order
    return list(found)
