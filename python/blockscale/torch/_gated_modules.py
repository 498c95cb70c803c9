# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gated MLPs of models in training: modules whose three linear layers are quantized by one form,
with one op for all of them."""

from __future__ import annotations
import __future__

import functools
from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F

from blockscale.torch._gated_ops import train_gated_mlp
from blockscale.torch._modules import autocast
from blockscale.torch._ranks import is_sharded
from blockscale.torch._training_layers import TrainedLinear
from blockscale.torch._weight_codes import ShardedWeight, WeightCodes

_LAYERS = ("gate_proj", "up_proj", "down_proj")
#: What two functions of the same code share, with flags but for how annotations are kept.
_CODE = ("co_code", "co_names", "co_argcount", "co_kwonlyargcount")
_FLAGS = ~__future__.annotations.compiler_flag
#: Of transformers, where activations have classes of their own.
_ACTIVATIONS = "transformers.activations"


class _Written(nn.Module):
    """How models write a gated MLP."""

    def compute(self, x: Any) -> Any:
        return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))

    def compute_by_name(self, x: Any) -> Any:
        down_proj = self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))
        return down_proj  # noqa: RET504


def _is_same(code: Any, known: Any) -> bool:
    return (all(getattr(code, part) == getattr(known, part) for part in _CODE)
            and code.co_flags & _FLAGS == known.co_flags & _FLAGS)


def _is_written_so(module: nn.Module) -> bool:
    """Whether a module's forward pass is this code."""
    own = getattr(type(module).forward, "__code__", None)
    return own is not None and "forward" not in vars(module) and any(
        _is_same(own, known.__code__) for known in (_Written.compute, _Written.compute_by_name))


def _has_hooks(module: nn.Module) -> bool:
    return bool(module._forward_hooks or module._forward_pre_hooks or module._backward_hooks
                or module._backward_pre_hooks)


def find_activation(module: Any) -> str:
    """The name of the function that a module is, as train_gated_mlp() has it; "" for another."""
    if not isinstance(module, nn.Module) or _has_hooks(module) or "forward" in vars(module):
        return ""
    kind = type(module)
    name = kind.__name__ if kind.__module__ == _ACTIVATIONS else ""
    if kind is nn.SiLU or name == "SiLUActivation":
        return "silu"
    if kind is nn.GELU:
        return "gelu_tanh" if module.approximate == "tanh" else "gelu"
    act: Any = getattr(module, "act", None)
    if name == "GELUActivation" and act is F.gelu:
        return "gelu"
    if name == "GELUTanh" and isinstance(act, functools.partial) and act.func is F.gelu:
        return "gelu_tanh" if act.keywords == {"approximate": "tanh"} else ""
    return ""


def _is_joined(layers: list[Any]) -> bool:
    """Whether one op computes what three layers do: nothing but their own code is called for them,
    one form and one dtype are those of all, and no rank has a part of them."""
    first = layers[0]
    return all(type(each) is TrainedLinear and not _has_hooks(each) and each.bias is None
               and each.form == first.form and each.weight.dtype == first.weight.dtype
               and each.amax_group is None and not is_sharded(each.weight)
               and not isinstance(each.weight, (ShardedWeight, WeightCodes))
               for each in layers)


class TrainedGatedMlp(nn.Module):
    """A gated MLP, y = down_proj(act_fn(gate_proj(x)) * up_proj(x)), whose layers are of
    TrainedLinear. They are computed together while nothing else is called for them, as hooks are;
    layers of several forms, with biases, an amax group or gathered weights, or in whose place other
    modules come are called one after the other."""

    #: The class that it had.
    kind: type[nn.Module]

    def forward(self, x: Tensor) -> Tensor:
        layers = [getattr(self, name) for name in _LAYERS]
        activation = find_activation(self.act_fn)
        if activation and _is_joined(layers):
            return train_gated_mlp(autocast(x), *(each.weight for each in layers),
                                   form=layers[0].form, activation=activation)
        gate, up, down = layers
        y: Tensor = down(self.act_fn(gate(x)) * up(x))
        return y

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.kind,), self.__dict__


@functools.cache
def _make_class(kind: Any) -> Any:
    """The class of modules of a class, of which they stay instances."""
    return type(f"Trained{kind.__name__}", (TrainedGatedMlp, kind), {"kind": kind})


def _restore(kind: Any) -> Any:
    made = _make_class(kind)
    return made.__new__(made)


def join_gated_mlps_(model: nn.Module) -> list[str]:
    """Makes the gated MLPs of a model, whose layers are of TrainedLinear, compute these together,
    and gives their names."""
    found = []
    for name, module in model.named_modules():
        if (_is_written_so(module) and find_activation(getattr(module, "act_fn", None))
                and _is_joined([getattr(module, each, None) for each in _LAYERS])):
            kind: Any = type(module)
            module.__class__ = _make_class(kind)
            found.append(name)
    return found
