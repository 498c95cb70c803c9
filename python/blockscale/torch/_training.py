# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training with quantized products: linear layers that quantize the operands of their products in
both passes."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from blockscale._errors import ArgumentError
from blockscale._policy import matches_pattern
from blockscale._training import AnyForm, TrainingForm, to_form
from blockscale.torch._kernels import LOG
from blockscale.torch._library import PLAIN
from blockscale.torch._sites import Site, find_last, find_sites
from blockscale.torch._training_ops import train_linear

#: One form, or forms by patterns of layers' names, with None for layers that stay.
Forms = AnyForm | Mapping[str, AnyForm | None]


class TrainedLinear(nn.Linear):
    """A linear layer whose products are quantized in training, with the parameters of nn.Linear.

    Attributes:
      form: how the operands of its three products are quantized.
    """

    form: TrainingForm

    def forward(self, input: Tensor) -> Tensor:
        kind = input.device.type
        if torch.is_autocast_enabled(kind):
            input = input.to(torch.get_autocast_dtype(kind))
        return train_linear(input, self.weight, self.bias, form=self.form)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, {self.form.describe()}"


def _find_form(name: str, forms: Mapping[str, TrainingForm | None]) -> TrainingForm | str:
    """The form of a layer, or why it has none."""
    for pattern, form in forms.items():
        if matches_pattern(pattern, name):
            return form or f"expected a form, but '{pattern}' has none"
    return "expected a pattern that matches its name"


def _find_reason(site: Site, form: TrainingForm, is_last: bool) -> str:
    """Why a layer cannot be of a form, or shall not."""
    if is_last:
        return "expected a layer that is not the last projection"
    if type(site.owner) is not nn.Linear:
        return f"expected a layer of nn.Linear, but got {type(site.owner).__name__}"
    if site.weight.dtype not in PLAIN:
        return f"expected a weight of float32, bfloat16 or float16, but got {site.weight.dtype}"
    for size, what, operand in zip(site.get_sizes(), ("rows", "columns"),
                                   (form.dgrad_gradient, form.forward_input)):
        if size % operand.block:
            return (f"expected a multiple of {operand.block} {what} of the weight, but got "
                    f"{size}")
    return ""


def prepare_training_(model: nn.Module, forms: Forms, *,
                      leave_last_projection: bool = True) -> dict[str, str]:
    """Makes the linear layers of a model quantize the operands of their products in training, in
    place. Parameters stay the model's, so that optimizers, state dicts and hooks know them as
    before.

    Args:
      forms: a TrainingForm or the name of one, for all layers; or a dict of forms by patterns, of
        which the first one that matches a layer's whole name decides, as in docs/Policy.md. None
        leaves a layer.
      leave_last_projection: whether the last projection stays, as by a policy.

    Returns: the form of each layer, by its name. Expert stacks, layers of other classes, and layers
      whose sizes are no multiples of the blocks stay as they are; the log says why, at level INFO.

    Raises: ArgumentError. The model is as it was then, also where no layer is taken.
    """
    if not isinstance(model, nn.Module):
        raise ArgumentError(f"expected a torch.nn.Module, but got {type(model).__name__}")
    given = forms if isinstance(forms, Mapping) else {"*": forms}
    known = {pattern: None if each is None else to_form(each) for pattern, each in given.items()}
    sites = list(find_sites(model))
    last = find_last(model, sites) if leave_last_projection else ""
    taken: dict[str, tuple[nn.Module, TrainingForm]] = {}
    for site in sites:
        form = _find_form(site.name, known)
        reason = form if isinstance(form, str) else _find_reason(site, form, site.name == last)
        if reason or isinstance(form, str):
            LOG.info("prepare_training_ leaves %s: %s", site.name, reason)
        else:
            taken[site.name] = site.owner, form
    if not taken:
        raise ArgumentError("expected a layer of nn.Linear that the forms quantize, but the "
                            f"{len(sites)} of {type(model).__name__} are left")
    for layer, form in taken.values():
        layer.__class__ = TrainedLinear
        layer.form = form
    return {name: form.describe() for name, (_, form) in taken.items()}
