# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""quantize_: layers of a model replaced by modules with quantized weights, by a policy."""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Iterator, Mapping

import torch
from torch import Tensor, nn

from blockscale._errors import ArgumentError
from blockscale._forms import LayerForm
from blockscale._policy import Decision, Layer, Policy, Rules
from blockscale._tables import make_table
from blockscale._types import element_name
from blockscale.torch._kernels import LOG
from blockscale.torch._modules import (QuantizedExperts, QuantizedLinear, QuantizedStack,
                                       QuantizedWeight, find_neighbours, quantize_weight)

_NOTHING = torch.empty(0)
#: Modules of torch that read the weights of the layers in them instead of calling these.
_READERS = (nn.MultiheadAttention, nn.TransformerEncoderLayer)


@dataclasses.dataclass(frozen=True)
class LayerSummary:
    """What became of a layer: its form as text, or "" and why it was left. `before` and `after`
    are bytes of the weight."""

    name: str
    form: str
    reason: str
    before: int
    after: int


@dataclasses.dataclass(frozen=True)
class Summary:
    """What quantize_ and load_quantized_ did. `print` shows a table.

    Attributes:
      layers: one for each linear layer and each stack of experts.
      amaxes: names of amaxes that were given and that no layer took.
    """

    layers: tuple[LayerSummary, ...]
    amaxes: tuple[str, ...] = ()

    @property
    def quantized(self) -> tuple[LayerSummary, ...]:
        return tuple(each for each in self.layers if each.form)

    @property
    def left(self) -> tuple[LayerSummary, ...]:
        return tuple(each for each in self.layers if not each.form)

    @property
    def before(self) -> int:
        """Bytes of all these weights before."""
        return sum(each.before for each in self.layers)

    @property
    def after(self) -> int:
        return sum(each.after for each in self.layers)

    def __str__(self) -> str:
        rows = [(each.name, str(each.before), str(each.after), each.form or f"left: {each.reason}")
                for each in self.layers]
        rows.append(("sum", str(self.before), str(self.after),
                     f"{len(self.quantized)} quantized, {len(self.left)} left"))
        return make_table(rows, (1, 2))


@dataclasses.dataclass(eq=False)
class Site:
    """A weight that can be quantized: where it is, and how to put a module in its place."""

    name: str
    weight: Tensor
    bias: Tensor | None
    #: Of the weight that is replaced: the module, and its name there.
    owner: nn.Module
    member: str
    is_stack: bool = False
    #: Whether the module holds the weight as [E, K, N].
    is_transposed: bool = False
    #: Why it cannot be replaced.
    obstacle: str = ""

    def get_weight(self) -> Tensor:
        weight = self.weight.detach()
        return weight.transpose(-2, -1).contiguous() if self.is_transposed else weight

    def get_sizes(self) -> tuple[int, int]:
        n, k = self.weight.shape[-2:]
        return (k, n) if self.is_transposed else (n, k)


def is_experts(module: nn.Module) -> bool:
    """Whether a module has stacks of weights as transformers' experts have them."""
    return (all(hasattr(module, name) for name in ("is_transposed", "has_gate", "num_experts"))
            and isinstance(getattr(module, "down_proj", None), nn.Parameter)
            and module.down_proj.dim() == 3)


def get_stack_names(experts: Any) -> tuple[str, str]:
    return ("gate_up_proj" if experts.has_gate else "up_proj"), "down_proj"


def find_sites(model: nn.Module) -> Iterator[Site]:
    """Linear layers and stacks of experts, in the order of the model's modules."""
    modules = dict(model.named_modules())
    for path, module in modules.items():
        if is_experts(module):
            owner: Any = module
            for name in get_stack_names(owner):
                bias = getattr(owner, f"{name}_bias", None) if owner.has_bias else None
                yield Site(f"{path}.{name}" if path else name, getattr(owner, name), bias, owner,
                           name, True, owner.is_transposed)
        elif isinstance(module, nn.Linear) and path:
            parent_path, _, name = path.rpartition(".")
            parent = modules[parent_path]
            yield Site(path, module.weight, module.bias, parent, name,
                       obstacle=_find_obstacle(module, parent))


def _find_obstacle(module: nn.Linear, parent: nn.Module) -> str:
    if type(module).forward is not nn.Linear.forward or "forward" in vars(module):
        return f"expected nn.Linear, but got {type(module).__name__}, which computes something else"
    if isinstance(parent, _READERS):
        return f"expected a layer that is called, but {type(parent).__name__} reads its weight"
    if module._forward_hooks or module._forward_pre_hooks:
        return "expected a layer without hooks, but got some"
    return ""


def find_last(model: nn.Module, sites: list[Site]) -> str:
    """The name of the last projection: the output embeddings of a model of transformers; else,
    since modules do not tell the order of calls, the last of at least two layers."""
    get = getattr(model, "get_output_embeddings", None)
    head = get() if callable(get) else None
    for site in sites:
        if head is not None and getattr(site.owner, site.member) is head:
            return site.name
    return sites[-1].name if head is None and len(sites) > 1 else ""


def make_static(form: LayerForm, name: str, amaxes: Mapping[str, float]) -> LayerForm:
    """The form with the amax of activations that was measured, where it needs one."""
    activation = form.activation
    if activation is None or activation.scaling != "dynamic" or name not in amaxes or form.rht:
        return form
    return dataclasses.replace(form, activation=dataclasses.replace(
        activation, scaling="amax", amax=float(amaxes[name])))


def make_module(site: Site, form: LayerForm) -> QuantizedWeight:
    """The weight of a site, quantized."""
    n, k = site.get_sizes()
    data, scales, global_scale = quantize_weight(site.get_weight(), form)
    return wrap(site, data, scales, global_scale, form, n, k)


def wrap(site: Site, data: Any, scales: Any, global_scale: Tensor | None, form: LayerForm,
         n: int, k: int, input_global: Tensor | None = None) -> QuantizedWeight:
    activation = form.activation
    if input_global is None and activation is not None and activation.scaling == "amax":
        input_global = torch.tensor(activation.amax, dtype=torch.float32, device=data.device)
    kind = QuantizedStack if site.is_stack else QuantizedLinear
    return kind(data, scales, global_scale, site.bias, in_features=k, out_features=n, form=form,
                input_global=input_global)


def install_linear(site: Site, module: QuantizedWeight) -> None:
    module.train(getattr(site.owner, site.member).training)
    setattr(site.owner, site.member, module)


def install_experts(model: nn.Module, owner: nn.Module, stacks: dict[str, QuantizedStack]) -> None:
    """Puts experts with quantized stacks in the place of `owner`."""
    path = next(path for path, module in model.named_modules() if module is owner)
    parent, _, name = path.rpartition(".")
    setattr(model.get_submodule(parent), name, QuantizedExperts(owner, stacks))


class Installer:
    """Puts modules in the place of weights: a layer at once, experts when all their stacks are
    there."""

    def __init__(self, model: nn.Module):
        self._model = model
        self._stacks: dict[int, dict[str, QuantizedStack]] = {}

    def add(self, site: Site, module: QuantizedWeight) -> None:
        owner: Any = site.owner
        if not isinstance(module, QuantizedStack):
            install_linear(site, module)
            return
        stacks = self._stacks.setdefault(id(owner), {})
        stacks[site.member] = module
        if len(stacks) == len(get_stack_names(owner)):
            install_experts(self._model, owner, stacks)


def _check(model: Any, amaxes: Mapping[str, float]) -> None:
    if not isinstance(model, nn.Module):
        raise ArgumentError(f"expected a torch.nn.Module, but got {type(model).__name__}")
    if is_experts(model) or isinstance(model, nn.Linear):
        raise ArgumentError(f"expected a module with layers in it, but got a layer itself, "
                            f"{type(model).__name__}; wrap it in nn.Sequential")
    for name, amax in amaxes.items():
        if not amax > 0 or amax == float("inf"):
            raise ArgumentError(f"expected the amax of '{name}' to be positive and finite, but got "
                                f"{amax}")


def _decide(site: Site, rules: Rules, last: str) -> Decision:
    if site.obstacle:
        return Decision(None, reason=site.obstacle)
    if site.weight.dtype not in (torch.float32, torch.bfloat16, torch.float16):
        return Decision(None, reason="product_c1: expected a weight of float32, bfloat16 or "
                                     f"float16, but got {site.weight.dtype}")
    n, k = site.get_sizes()
    layer = Layer(site.name, n, k, site.name == last)
    return rules.decide(layer, element_name(site.weight.dtype))


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


def quantize_(model: nn.Module, policy: Policy, *, amaxes: Mapping[str, float] | None = None,
              progress: Callable[[str, int, int], None] | None = None) -> Summary:
    """Quantizes the linear layers and the expert stacks of a model in place, by a policy.

    Each layer is decided by the first rule that matches, as docs/Policy.md says for products:
    the location of a layer is its path in the model, as "model.layers.0.self_attn.q_proj" or
    "model.layers.0.mlp.experts.down_proj", and M is dynamic. Weights have the bytes that
    blockscale.quantize() gives.

    Args:
      model: in evaluation mode; its weights may be on the CPU, on a GPU or on "meta".
      policy: the path of a policy, or a dict with its members.
      amaxes: of activations by the names of layers, as calibrate() measures them. Layers whose
        activations have a dynamic global scale take it from there.
      progress: called with the name of each layer, its number and how many there are.

    Returns: what became of each layer, and why layers were left.

    Raises: ArgumentError, FileError.
    """
    given = dict(amaxes or {})
    _check(model, given)
    rules = Rules(policy)
    sites = list(find_sites(model))
    last = find_last(model, sites)
    decisions = [_decide(site, rules, last) for site in sites]
    _check_stacks(sites, decisions)
    uses = _count_uses(model)
    installer = Installer(model)
    layers, used = [], set()
    shared: dict[tuple[int, LayerForm], QuantizedWeight] = {}
    for number, (site, decision) in enumerate(zip(sites, decisions)):
        if progress:
            progress(site.name, number, len(sites))
        before = site.weight.numel() * site.weight.element_size()
        if decision.form is None:
            layers.append(LayerSummary(site.name, "", decision.reason, before, before))
            continue
        form = make_static(decision.form, site.name, given)
        if form is not decision.form:
            used.add(site.name)
        key, text = (id(site.weight), form), form.describe()
        module = shared.get(key) if site.bias is None else None
        after = 0
        if module is None:
            module = make_module(site, form)
            after = module.num_bytes
            if uses[id(site.weight)] > 1:
                text += "; others keep the plain weight that it shared with them"
                shared[key] = module
        layers.append(LayerSummary(site.name, text, "", before, after))
        installer.add(site, module)
        if uses[id(site.weight)] == 1:
            site.weight = _NOTHING  # The plain weight is freed before the next one is read.
    find_neighbours(model)
    summary = Summary(tuple(layers), tuple(sorted(set(given) - used)))
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
