# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""New plain weights for a model that is quantized already, in the memory that it has."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TypeAlias

import torch
from torch import Tensor, nn

from blockscale._errors import ArgumentError
from blockscale._types import element_name
from blockscale.torch._library import PLAIN
from blockscale.torch._modules import QuantizedWeight
from blockscale.torch._quantize_model import find_joint_amax, read_joint, with_amax
from blockscale.torch._requantize import Requantizer

Weights: TypeAlias = Mapping[str, Tensor] | Iterable[tuple[str, Tensor]]


def refit_(model: nn.Module, weights: Weights, *, joint: Iterable[Collection[str]] = ()
           ) -> list[str]:
    """Quantizes new weights into the layers and expert stacks of a model that quantize_ or
    load_quantized_ made, in place: codes, scales and global scales are those that quantize_ would
    give, in the memory that the old ones had. So captured CUDA graphs, compiled models and views
    see them. Other parameters and buffers are copied.

    Args:
      model: with its tensors on a device, not on "meta".
      weights: tensors by the names of the plain model's state dict, as "layers.0.up_proj.weight" or
        "layers.0.experts.gate_up_proj", or pairs of both, which may be part of a model and are
        taken one by one. Weights are of a type that quantize_ takes for the layer's form, on any
        device.
      joint: names of layers whose weights have one global scale, as for quantize_; all layers of
        such a set have a weight in `weights`, which is a mapping then.

    Returns: the names of the quantized weights that `weights` did not have.

    Raises: ArgumentError for a name that the model does not have, or a tensor of another shape or
      type. Where `weights` is a mapping the model is as it was then; of pairs, those before have
      been taken.
    """
    targets = _find_targets(model)
    left = {name: None for name, target in targets.items() if isinstance(target, QuantizedWeight)}
    amaxes = _find_joint_amaxes(targets, weights, joint) if joint else {}
    pairs = weights.items() if isinstance(weights, Mapping) else weights
    is_whole = isinstance(weights, Mapping)
    requantizer = Requantizer(is_settled=is_whole)
    with torch.no_grad():
        try:
            for write in _check(targets, pairs, amaxes, is_whole):
                left.pop(write(requantizer), None)
        finally:
            requantizer.finish()
    return list(left)


#: What a tensor is written into: a layer or stack, whose codes it becomes, or a tensor.
_Target: TypeAlias = QuantizedWeight | Tensor
#: Writes a tensor and gives its name.
_Write: TypeAlias = Callable[[Requantizer], str]


def _find_targets(model: nn.Module) -> dict[str, _Target]:
    """By the names of the plain model's state dict."""
    found: dict[str, _Target] = {}

    def visit(module: nn.Module, name: str) -> None:
        prefix = f"{name}." if name else ""
        if isinstance(module, QuantizedWeight):
            found[name if module.is_stack else f"{prefix}weight"] = module
            bias = module._parameters["bias"]
            if bias is not None:
                found[f"{name}_bias" if module.is_stack else f"{prefix}bias"] = bias
        else:
            for members in (module._parameters, module._buffers):
                for member, tensor in members.items():
                    if tensor is not None:
                        found[prefix + member] = tensor
        for child, each in module._modules.items():
            if each is not None:
                visit(each, prefix + child)
    visit(model, "")
    return found


def _find_joint_amaxes(targets: dict[str, _Target], weights: Weights,
                       joint: Iterable[Collection[str]]) -> dict[str, float]:
    """The amax of each weight whose global scale is that of several, by its name."""
    found: dict[str, float] = {}
    for names in read_joint(joint):
        members = [f"{name}.weight" for name in names
                   if isinstance(targets.get(f"{name}.weight"), QuantizedWeight)]
        if len(members) < 2:
            continue
        if not isinstance(weights, Mapping) or any(name not in weights for name in members):
            raise ArgumentError("expected a mapping with the weights of all of "
                                f"{', '.join(names)}, which have one global scale")
        found.update(dict.fromkeys(members, find_joint_amax([weights[name] for name in members])))
    return found


def _check(targets: dict[str, _Target], pairs: Iterable[tuple[str, Tensor]],
           amaxes: dict[str, float], whole: bool) -> Iterator[_Write]:
    """Calls that write a tensor each. If `whole` says so, all are checked before the first one, and
    those of layers come last: no copy may still run behind the first of them."""
    checked = ((_check_one(targets, name, tensor, amaxes.get(name)),
                isinstance(targets[name], QuantizedWeight)) for name, tensor in pairs)
    ordered = sorted(checked, key=operator.itemgetter(1)) if whole else checked
    return (write for write, _ in ordered)


def _check_one(targets: dict[str, _Target], name: str, tensor: Tensor, amax: float | None
               ) -> _Write:
    if name not in targets:
        raise ArgumentError(f"expected names of the model's weights, but got '{name}'")
    target = targets[name]
    if isinstance(target, QuantizedWeight):
        return _check_weight(name, target, tensor, amax)
    is_number = {target.dtype, tensor.dtype} <= {*PLAIN, torch.float64}
    if (target.is_meta or target.shape != tensor.shape
            or not (is_number or target.dtype == tensor.dtype)):
        raise ArgumentError(f"expected '{name}' as {_describe(target)}, but got "
                            f"{_describe(tensor)}")

    def copy(_: Requantizer) -> str:
        target.copy_(tensor)
        return name
    return copy


def _describe(tensor: Tensor) -> str:
    where = " on \"meta\"" if tensor.is_meta else ""
    return f"{str(tensor.dtype).removeprefix('torch.')} of shape {list(tensor.shape)}{where}"


def _check_weight(name: str, layer: QuantizedWeight, tensor: Tensor, amax: float | None
                  ) -> _Write:
    shape = [layer.out_features, layer.in_features]
    if layer.is_plain_transposed:
        shape.reverse()
    shape = [*layer.data.shape[:1], *shape] if layer.is_stack else shape
    if list(tensor.shape) != shape or tensor.dtype not in PLAIN or tensor.is_meta:
        raise ArgumentError(f"expected '{name}' as float32, bfloat16 or float16 of shape {shape}, "
                            f"but got {_describe(tensor)}")
    if layer.data.is_meta:
        raise ArgumentError(f"expected '{name}' of a model on a device, but it is on \"meta\"")
    unmet = layer.form.find_clause(element_name(tensor.dtype))
    if unmet is not None:
        raise ArgumentError(f"'{name}': {unmet.name}: expected {unmet.expected} for a layer in "
                            f"{layer.form.describe()}, but got {unmet.found}")

    def quantize(requantizer: Requantizer) -> str:
        requantizer.write(layer, tensor, with_amax(layer.form, amax))
        return name
    return quantize
