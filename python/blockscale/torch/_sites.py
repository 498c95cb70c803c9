# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The weights of a model that can be quantized, and how modules come into their place."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.parameter import UninitializedParameter

from blockscale.torch._modules import (
    QuantizedExperts,
    QuantizedLinear,
    QuantizedStack,
    QuantizedWeight,
    RoutedExperts,
    find_neighbours,
)

#: Modules of torch that read the weights of the layers in them instead of calling these.
_READERS = (nn.MultiheadAttention, nn.TransformerEncoderLayer)
#: Classes of other packages that compute a linear layer in a `forward` of their own: module and
#: name, and whether the weight is [K, N].
_LINEAR_CLASSES = {
    ("transformers.pytorch_utils", "Conv1D"): True,
    ("transformers.models.falcon.modeling_falcon", "FalconLinear"): False,
}


@dataclasses.dataclass(eq=False)
class Site:
    """A weight that can be quantized: where it is, and how to put a module in its place."""

    name: str
    weight: Tensor
    bias: Tensor | None
    #: Of the weight: the module that has it, a layer or experts, and its name there.
    owner: nn.Module
    member: str
    is_stack: bool = False
    #: Whether the module holds the weight as [K, N] or [E, K, N].
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


def _has_forward_of(module: nn.Module, kind: Any) -> bool:
    return type(module).forward is kind.forward and "forward" not in vars(module)


def _is_same_code(function: Any) -> bool:
    """Whether a function is nn.Linear.forward, written anew in another class."""
    own, wanted = getattr(function, "__code__", None), nn.Linear.forward.__code__
    if own is None or function.__globals__.get("F") is not F:
        return False
    return all(getattr(own, part) == getattr(wanted, part) for part in (
        "co_code", "co_names", "co_argcount", "co_kwonlyargcount", "co_flags"))


def find_linear(module: nn.Module) -> tuple[bool, bool]:
    """Whether a module computes x times its weight and adds its bias, and whether its weight is
    [K, N]."""
    for (package, name), is_transposed in _LINEAR_CLASSES.items():
        kind = getattr(sys.modules.get(package), name, None)
        if kind is not None and isinstance(module, kind):
            return _has_forward_of(module, kind), is_transposed
    return isinstance(module, nn.Linear) and "forward" not in vars(module) and (
        _has_forward_of(module, nn.Linear) or _is_same_code(type(module).forward)), False


def _find_unusual(owner: nn.Module, names: tuple[str, ...]) -> str:
    """Why parameters are none that can be replaced."""
    for name in names:
        if getattr(owner, name, None) is None:
            continue
        held = owner._parameters.get(name)
        if held is None:
            return (f"expected a parameter '{name}', but got one that is computed from others; "
                    "call torch.nn.utils.parametrize.remove_parametrizations, or "
                    "remove_weight_norm, first")
        if isinstance(held, UninitializedParameter):
            return f"expected a parameter '{name}' with a shape, but got none yet; call the model"
        kind = type(held.data)
        if kind is not Tensor:
            return f"expected a plain tensor '{name}', but got {kind.__name__}"
    return ""


def _find_hooks(module: nn.Module) -> str:
    if module._forward_hooks or module._forward_pre_hooks:
        return "expected a layer without hooks, but got some"
    return ""


def _find_obstacle(module: nn.Module, parents: list[nn.Module]) -> str:
    unusual = _find_unusual(module, ("weight", "bias"))
    if unusual:
        return unusual
    if not find_linear(module)[0]:
        return f"expected nn.Linear, but got {type(module).__name__}, which computes something else"
    for parent in parents:
        if isinstance(parent, _READERS):
            return f"expected a layer that is called, but {type(parent).__name__} reads its weight"
    return _find_hooks(module)


def _find_obstacle_of_experts(experts: Any, names: tuple[str, ...]) -> str:
    if isinstance(experts, RoutedExperts):
        return f"expected plain experts, but got {type(experts).__name__}"
    if "forward" in vars(experts):
        return "expected experts of their class's forward, but got another one"
    biases = [f"{name}_bias" for name in names] if experts.has_bias else []
    return _find_unusual(experts, (*names, *biases)) or _find_hooks(experts)


def find_parents(model: nn.Module) -> dict[int, list[tuple[nn.Module, str]]]:
    """Where each module of a model is: in which modules, and by which names."""
    parents: dict[int, list[tuple[nn.Module, str]]] = {}
    for parent in model.modules():
        for name, child in parent._modules.items():
            if child is not None:
                parents.setdefault(id(child), []).append((parent, name))
    return parents


def _may_be_linear(module: nn.Module) -> bool:
    return isinstance(module, nn.Linear) or find_linear(module)[0]


def find_sites(model: nn.Module) -> Iterator[Site]:
    """Linear layers and stacks of experts, in the order of the model's modules. A module that is
    in the model twice is there once, by its first name."""
    parents = find_parents(model)
    for path, module in model.named_modules():
        if is_experts(module):
            owner: Any = module
            names = get_stack_names(owner)
            obstacle = _find_obstacle_of_experts(owner, names)
            for name in names:
                bias = getattr(owner, f"{name}_bias", None) if owner.has_bias else None
                yield Site(f"{path}.{name}" if path else name, getattr(owner, name), bias, owner,
                           name, True, owner.is_transposed, obstacle)
        elif path and _may_be_linear(module) and module._parameters.get("weight") is not None:
            layer: Any = module
            yield Site(path, layer.weight, layer.bias, layer, "weight", False,
                       find_linear(layer)[1],
                       _find_obstacle(layer, [each for each, _ in parents[id(layer)]]))


def find_last(model: nn.Module, sites: list[Site]) -> str:
    """The name of the last projection: the output embeddings of a model of transformers; else,
    since modules do not tell the order of calls, the last of at least two layers."""
    get = getattr(model, "get_output_embeddings", None)
    head = get() if callable(get) else None
    for site in sites:
        if head is not None and site.owner is head:
            return site.name
    return sites[-1].name if head is None and len(sites) > 1 else ""


def explain_parameter(owner: nn.Module, name: str) -> str:
    """Why a parameter is none that find_sites() has."""
    kind = type(owner).__name__
    if isinstance(owner, nn.utils.parametrize.ParametrizationList):
        return ("expected a parameter that is the weight of a layer, but got one that it is "
                "computed from; call torch.nn.utils.parametrize.remove_parametrizations first")
    if _may_be_linear(owner) and owner._parameters.get("weight") is None:
        return _find_unusual(owner, ("weight",)) or f"expected a weight, but '{name}' is none"
    if is_experts(owner) and name.endswith("_bias"):
        return "expected the weight of a layer, but got the biases of a stack of experts"
    return f"expected a linear layer or a stack of experts, but got {name} of {kind}"


#: The method of a model of transformers that tells which of its weights are one.
_FIND_TIES = "get_expanded_tied_weights_keys"


class _Ties:
    """The names of the weights that a model of transformers ties. The model itself looks for them
    among its parameters each time, where the weight of a quantized head is not. With these names
    it gives the head the weight of its embedding again, which the head compares with its own."""

    def __init__(self, model: nn.Module, names: dict[str, str]):
        self._model, self._names = model, names

    def __call__(self, all_submodels: bool = False) -> dict[str, str]:
        if all_submodels:  # It calls the method of each model in it, this one first.
            of_class: Any = getattr(type(self._model), _FIND_TIES)
            return dict(of_class(self._model, all_submodels=True))
        return dict(self._names)


def write_ties_out(model: Any, names: dict[str, str]) -> None:
    """Has a model of transformers tie these weights, and no others."""
    setattr(model, _FIND_TIES, _Ties(model, names))


def find_ties(model: Any) -> dict[str, str] | None:
    """The weights that a model of transformers ties, of itself alone; None for another module."""
    find = getattr(model, _FIND_TIES, None)
    return dict(find()) if callable(find) else None


class Installer:
    """Puts modules in the place of weights, all at once, wherever a model has them. `undo` takes
    them out again."""

    def __init__(self, model: nn.Module):
        self._model = model
        self._modules: dict[int, nn.Module] = {}
        self._stacks: dict[int, tuple[nn.Module, dict[str, Any]]] = {}
        self._undo: list[tuple[nn.Module, str, nn.Module]] = []
        self._ties: list[nn.Module] = []

    def add(self, site: Site, module: Any) -> None:
        """A module for a site. Experts are replaced when all their stacks are there."""
        if not module.is_stack:
            module.train(site.owner.training)
            self._modules[id(site.owner)] = module
            return
        _, stacks = self._stacks.setdefault(id(site.owner), (site.owner, {}))
        stacks[site.member] = module
        if len(stacks) == len(get_stack_names(site.owner)):
            self._modules[id(site.owner)] = QuantizedExperts(site.owner, stacks)

    def install(self) -> None:
        made = [each for each in self._modules.values() if isinstance(each, QuantizedExperts)]
        try:
            self._write_ties_out()
            for parent in [*self._model.modules(), *made]:
                for name, child in list(parent._modules.items()):
                    module = self._modules.get(id(child))
                    if child is not None and module is not None:
                        self._undo.append((parent, name, child))
                        setattr(parent, name, module)
            find_neighbours(self._model)
        except BaseException:
            self.undo()
            raise

    def undo(self) -> None:
        for parent, name, child in reversed(self._undo):
            setattr(parent, name, child)
        self._undo.clear()
        for module in self._ties:
            delattr(module, _FIND_TIES)
        self._ties.clear()

    def _write_ties_out(self) -> None:
        """Keeps the names of tied weights of models of transformers, while all are parameters."""
        for module in self._model.modules():
            names = None if _FIND_TIES in vars(module) else find_ties(module)
            if names:
                write_ties_out(module, names)
                self._ties.append(module)


def make_module(site: Site, data: Any, scales: Any, global_scale: Tensor | None, form: Any,
                input_global: Tensor | None = None) -> QuantizedWeight:
    """A module for a site, of a weight in storage form."""
    n, k = site.get_sizes()
    activation = form.activation
    if input_global is None and activation is not None and activation.scaling == "amax":
        input_global = torch.tensor(activation.amax, dtype=torch.float32, device=data.device)
    kind = QuantizedStack if site.is_stack else QuantizedLinear
    return kind(data, scales, global_scale, site.bias, in_features=k, out_features=n, form=form,
                input_global=input_global, dtype=site.weight.dtype,
                is_transposed=site.is_transposed and not site.is_stack,
                is_plain_transposed=site.is_transposed)
