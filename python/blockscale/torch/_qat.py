# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantization-aware training: linear layers that multiply what a policy would quantize, and what
they become in the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from blockscale._amaxes import read_amaxes
from blockscale._errors import ArgumentError
from blockscale._forms import LayerForm, OperandForm, check_order
from blockscale._ops import ORDERS
from blockscale._policy import Policy, Rules
from blockscale.torch._fake_quantize import fake_quantize
from blockscale.torch._kernels import LOG
from blockscale.torch._modules import autocast, check_finite, quantize_weight
from blockscale.torch._quantize_model import decide_site, make_static
from blockscale.torch._sites import Installer, find_last, find_sites, make_module
from blockscale.torch._summary import Ledger, Summary

_CAST = {"bf16": torch.bfloat16, "f16": torch.float16}


def _imitate(x: Tensor, form: OperandForm, rht: bool) -> Tensor:
    given = None
    if form.scaling == "amax":
        given = torch.full((), form.amax, dtype=torch.float32, device=x.device)
    return fake_quantize(x, format=form.format, recipe=form.recipe, scaling=form.scaling,
                         given=given, swept=form.is_swept, rht=rht)


class FakeQuantizedLinear(nn.Linear):
    """A linear layer that multiplies the values that its operands have once they are quantized,
    with the parameters of nn.Linear and gradients that go straight through.

    Attributes:
      form: how the layer will be quantized.
    """

    form: LayerForm

    def imitate_weight(self) -> Tensor:
        """The weight as the quantized layer has it, of the dtype that it is quantized from; with
        `rht`, what is transformed of it."""
        weight: Tensor = self.weight
        if self.form.cast and weight.dtype == torch.float32:
            weight = weight.to(_CAST[self.form.cast])
        return _imitate(weight, self.form.weight, self.form.rht)

    def forward(self, input: Tensor) -> Tensor:
        input = autocast(input)
        activation, dtype = self.form.activation, input.dtype
        rows = input.shape[:-1].numel()
        cast = _CAST.get(self.form.cast or "") if dtype == torch.float32 else None
        if cast is not None:
            input = input.to(cast)
        if activation is not None and rows > self.form.plain_rows:
            flat = input.reshape(-1, input.shape[-1])
            input = _imitate(flat, activation, self.form.rht).reshape(input.shape)
        elif self.form.rht:
            input = torch.ops.blockscale.hadamard(input)
        weight = self.imitate_weight().to(input.dtype)
        if self.form.order != ORDERS[0]:
            bias = None if self.bias is None else self.bias.to(input.dtype)
            made: Tensor = torch.ops.blockscale.linear(input, weight, bias, order=self.form.order)
        elif cast is not None:
            # The bias is f32, and what is behind it is rounded.
            made = nn.functional.linear(input.float(), weight.float(), self.bias).to(input.dtype)
        else:
            made = nn.functional.linear(input, weight, self.bias)
        return made.to(dtype)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, trained for {self.form.describe()}"


def prepare_qat_(model: nn.Module, policy: Policy, *, amaxes: Mapping[str, float] | None = None,
                 order: str | None = None) -> dict[str, str]:
    """Makes the linear layers of a model compute with the values that quantize_ with this policy
    would give them, in place. Parameters stay the model's, so that optimizers, state dicts and
    hooks know them as before.

    Args:
      policy, amaxes, order: as quantize_ takes them.

    Returns: how each layer will be quantized, by its name. Expert stacks and layers of other
      classes stay as they are; the log says why, at level INFO.

    Raises: ArgumentError, FileError. The model is as it was then, also where no layer is taken.
    """
    if not isinstance(model, nn.Module):
        raise ArgumentError(f"expected a torch.nn.Module, but got {type(model).__name__}")
    check_order(order)
    rules, given = Rules(policy), read_amaxes(amaxes)
    sites = list(find_sites(model))
    last = find_last(model, sites)
    forms: dict[str, tuple[nn.Module, LayerForm]] = {}
    for site in sites:
        decision = decide_site(site, rules, last)
        reason = decision.reason
        if decision.form is not None:
            form = make_static(decision.form, site.name, given).with_order(order)
            if type(site.owner) is nn.Linear:
                forms[site.name] = site.owner, form
            else:
                reason = "expected a layer of nn.Linear"
        if reason:
            LOG.info("prepare_qat_ leaves %s: %s", site.name, reason)
    if not forms:
        raise ArgumentError("expected a layer of nn.Linear that the policy quantizes, but the "
                            f"{len(sites)} of {type(model).__name__} are left")
    for layer, form in forms.values():
        layer.__class__ = FakeQuantizedLinear
        layer.form = form
    return {name: form.describe() for name, (_, form) in forms.items()}


def convert_qat_(model: nn.Module, *,
                 progress: Callable[[str, int, int], None] | None = None) -> Summary:
    """Quantizes the layers that prepare_qat_ has prepared, each in its own form, in place. Their
    weights have the values that the model was trained with.

    Args:
      progress: as quantize_ takes it.

    Returns: what became of each weight, as quantize_ does.

    Raises: ArgumentError where no layer was prepared; the model is as it was then.
    """
    prepared = {id(layer): layer for layer in model.modules()
                if type(layer) is FakeQuantizedLinear}
    if not prepared:
        raise ArgumentError("expected layers of prepare_qat_, but the model has none")
    for layer in prepared.values():
        layer.__class__ = nn.Linear
    try:
        sites = list(find_sites(model))
        ledger, installer = Ledger(model, sites), Installer(model)
        made, reasons = {}, {}
        for number, site in enumerate(sites):
            if progress:
                progress(site.name, number, len(sites))
            owner: Any = prepared.get(id(site.owner))
            if owner is None:
                reasons[site] = "expected a layer of prepare_qat_"
                continue
            form: LayerForm = owner.form
            check_finite(site.name, site.weight, form)
            module = make_module(site, *quantize_weight(site.get_weight(), form), form)
            made[site] = form.describe(), module
            installer.add(site, module)
        installer.install()
    except BaseException:
        for layer in prepared.values():
            layer.__class__ = FakeQuantizedLinear
        raise
    return ledger.close(made, reasons)
