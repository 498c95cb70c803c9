# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""quantize_: layers of a model replaced by modules with quantized weights, by a policy."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from blockscale import _native
from blockscale._amaxes import read_amaxes
from blockscale._errors import ArgumentError
from blockscale._forms import LayerForm, check_order
from blockscale._policy import Decision, Layer, Policy, Rules
from blockscale._text import shorten
from blockscale._types import element_name
from blockscale.torch._kernels import LOG
from blockscale.torch._modules import QuantizedWeight, check_finite, quantize_weight
from blockscale.torch._sites import (
    Installer,
    Site,
    find_last,
    find_linear,
    find_sites,
    is_experts,
    make_module,
)
from blockscale.torch._summary import Ledger, Summary


def make_static(form: LayerForm, name: str, amaxes: Mapping[str, float]) -> LayerForm:
    """The form with the amax of activations that was measured, where it needs one."""
    activation = form.activation
    if activation is None or activation.scaling != "dynamic" or name not in amaxes or form.rht:
        return form
    return dataclasses.replace(form, activation=dataclasses.replace(
        activation, scaling="amax", amax=amaxes[name]))


def _check(model: Any) -> None:
    if not isinstance(model, nn.Module):
        raise ArgumentError(f"expected a torch.nn.Module, but got {type(model).__name__}")
    if is_experts(model) or isinstance(model, nn.Linear) or find_linear(model)[0]:
        raise ArgumentError(f"expected a module with layers in it, but got a layer itself, "
                            f"{type(model).__name__}; wrap it in nn.Sequential")


def decide_site(site: Site, rules: Rules, last: str) -> Decision:
    if site.obstacle:
        return Decision(None, reason=site.obstacle)
    if site.weight.dtype not in (torch.float32, torch.bfloat16, torch.float16):
        return Decision(None, reason="product_c1: expected a weight of float32, bfloat16 or "
                                     f"float16, but got {site.weight.dtype}")
    n, k = site.get_sizes()
    layer = Layer(site.name, n, k, site.name == last)
    # The rows of experts are those of each call and expert.
    decide = rules.decide if site.is_stack else rules.decide_by_rows
    return decide(layer, element_name(site.weight.dtype))


def _check_stacks(sites: list[Site], decisions: list[Decision]) -> None:
    """The stacks of a module are replaced together, or left."""
    reasons: dict[int, str] = {}
    for site, decision in zip(sites, decisions):
        if site.is_stack and decision.form is None:
            reasons.setdefault(id(site.owner), f"'{site.name}' is left: {decision.reason}")
    for number, (site, decision) in enumerate(zip(sites, decisions)):
        if site.is_stack and decision.form is not None and id(site.owner) in reasons:
            decisions[number] = Decision(None, reason="expected all stacks of these experts to be "
                                         f"quantized, but {reasons[id(site.owner)]}")


def read_joint(joint: Iterable[Collection[str]]) -> list[list[str]]:
    """Names of layers that have one global scale, each once.

    Raises: ArgumentError for what are no sets of names, and for a name in two of them.
    """
    read: list[list[str]] = []
    for names in joint:
        if isinstance(names, str) or not all(isinstance(name, str) for name in names):
            raise ArgumentError("expected sets of names of layers that have one global scale, but "
                                f"got {shorten(names)}")
        read.append(list(dict.fromkeys(names)))
    counts = collections.Counter(name for names in read for name in names)
    twice = next((name for name, count in counts.items() if count > 1), None)
    if twice is not None:
        raise ArgumentError("expected each layer in one set of those that have one global scale, "
                            f"but got '{twice}' in {counts[twice]}")
    return read


def _find_joint_amaxes(sites: list[Site], decisions: list[Decision],
                       joint: Iterable[Collection[str]]) -> dict[str, float]:
    """The amax of each layer whose global scale is that of several, by its name."""
    known = {site.name: site for site, decision in zip(sites, decisions)
             if decision.form is not None and decision.form.weight.scaling == "dynamic"
             and not site.is_stack and not site.weight.is_meta}
    found: dict[str, float] = {}
    for names in read_joint(joint):
        members = [known[name] for name in names if name in known]
        if len(members) > 1:
            amax = find_joint_amax([site.weight for site in members])
            found.update(dict.fromkeys((site.name for site in members), amax))
    return found


def find_joint_amax(weights: Iterable[Tensor]) -> float:
    """The amax of weights that have one global scale."""
    return _native.get_nonzero_amax(max(float(each.detach().abs().amax()) for each in weights))


def with_amax(form: LayerForm, amax: float | None) -> LayerForm:
    """The form of a weight whose global scale is that of an amax."""
    if amax is None:
        return form
    return dataclasses.replace(form, weight=dataclasses.replace(form.weight, scaling="amax",
                                                                amax=amax))


def quantize_(model: nn.Module, policy: Policy, *, amaxes: Mapping[str, float] | None = None,
              order: str | None = None, joint: Iterable[Collection[str]] = (),
              progress: Callable[[str, int, int], None] | None = None) -> Summary:
    """Quantizes the linear layers and the expert stacks of a model in place, by a policy.

    Each layer is decided by the first rule that matches, as docs/Policy.md says for products:
    the location of a layer is its path in the model, as "model.layers.0.self_attn.q_proj" or
    "model.layers.0.mlp.experts.down_proj", and M is dynamic: rules by `m` may leave activations
    of few rows plain, and each call of the layer decides. Weights have the bytes that
    blockscale.quantize() gives.

    Args:
      model: in evaluation mode; its weights may be on the CPU, on a GPU or on "meta".
      policy: the path of a policy, or a dict with its members.
      amaxes: of activations by the names of layers, as calibrate() measures them. Layers whose
        activations have a dynamic global scale take it from there.
      order: of the sums of all layers' products, "free" or "chain" (docs/SameBits.md), whatever
        rules say of it; None for what they say.
      joint: names of layers whose weights have one global scale, where a rule gives them one from
        their own amax: files of ModelOpt's and compressed-tensors' families have that of layers
        which loaders make one of, as of q, k and v.
      progress: called with the name of each layer, its number and how many there are.

    Returns: what became of each weight, and why others were left. Warns where none is quantized.

    Raises: ArgumentError, FileError. The model is as it was then: plain weights stay until the
      last layer has its codes.
    """
    _check(model)
    given = read_amaxes(amaxes)
    check_order(order)
    rules = Rules(policy)
    sites = list(find_sites(model))
    last = find_last(model, sites)
    decisions = [decide_site(site, rules, last) for site in sites]
    _check_stacks(sites, decisions)
    uses, ledger, installer = _count_uses(model), Ledger(model, sites), Installer(model)
    replaced = collections.Counter(id(site.weight) for site, decision in zip(sites, decisions)
                                   if decision.form is not None)
    joint_amaxes = _find_joint_amaxes(sites, decisions, joint)
    made: dict[Site, tuple[str, QuantizedWeight]] = {}
    used: set[str] = set()
    shared: dict[Any, QuantizedWeight] = {}
    for number, (site, decision) in enumerate(zip(sites, decisions)):
        if progress:
            progress(site.name, number, len(sites))
        if decision.form is None:
            continue
        form = make_static(decision.form, site.name, given)
        if form is not decision.form:
            used.add(site.name)
        form = form.with_order(order)
        amax = joint_amaxes.get(site.name)
        key, text = (id(site.weight), form, site.is_transposed, amax), form.describe()
        module = shared.get(key) if site.bias is None else None
        if module is None:
            check_finite(site.name, site.weight, form)
            module = make_module(site, *quantize_weight(site.get_weight(), with_amax(form, amax)),
                                 form)
            shared[key] = module
        if uses[id(site.weight)] > replaced[id(site.weight)]:
            text += "; others keep the plain weight that it shared with them"
        made[site] = text, module
        installer.add(site, module)
    # Nothing of the model is changed before all that can fail is done.
    installer.install()
    reasons = {site: decision.reason for site, decision in zip(sites, decisions)}
    summary = ledger.close(made, reasons, sorted(set(given) - used))
    LOG.info("quantize_ of %s:\n%s", type(model).__name__, summary)
    return summary


def _count_uses(model: nn.Module) -> dict[int, int]:
    """How many modules have a parameter."""
    uses: dict[int, int] = {}
    for module in model.modules():
        for parameter in module._parameters.values():
            if parameter is not None:
                uses[id(parameter)] = uses.get(id(parameter), 0) + 1
    return uses
