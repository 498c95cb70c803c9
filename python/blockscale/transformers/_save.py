# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tensors and the configuration of a quantized model as a family of checkpoints has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from blockscale import _native
from blockscale._errors import ArgumentError
from blockscale._forms import LayerForm
from blockscale.checkpoint import _names
from blockscale.checkpoint._families import Quantized, get_family
from blockscale.checkpoint._kernels import get_global_scale
from blockscale.checkpoint._layouts import DATA, GLOBAL, INPUT, SCALES, Layout
from blockscale.torch._fp8 import Fp8Weight
from blockscale.torch._modules import QuantizedStack, QuantizedWeight
from blockscale.torch._sites import find_sites
from blockscale.torch._state import MARK, VERSION
from blockscale.transformers._config import OWN
from blockscale.transformers._fp8 import list_own, write_fp8
from blockscale.transformers._load import OWN_TENSORS, WEIGHTS
from blockscale.transformers._names import FileNames

_DTYPES = {"F8_E4M3": torch.float8_e4m3fn, "U8": torch.uint8}


def list_weights(model: Any) -> dict[str, QuantizedWeight | Fp8Weight]:
    """The quantized weights of a model by their names, those that it has twice under both."""
    return {name: module for name, module in model.named_modules(remove_duplicate=False)
            if isinstance(module, WEIGHTS)}


def _find_layout(name: str, family: str, module: QuantizedWeight) -> Layout:
    """The layout that a family has for a weight.

    Raises: ArgumentError where files of the family could not say how the layer computes.
    """
    hint, form = f"; choose the family {OWN}, which has all forms", module.form
    obstacle = get_family(family).find_obstacle(name, 3 if module.is_stack else 2)
    if obstacle:
        raise ArgumentError(f"'{name}': {obstacle}{hint}")
    layout = get_family(family).find_layout(form.weight.format)
    if layout is None:
        raise ArgumentError(f"'{name}': expected a weight in "
                            f"{', '.join(get_family(family).formats)}, as {family} has them, but "
                            f"got {form.weight.format}{hint}")
    found = ("a Hadamard transform of activations" if form.rht else
             "plain activations of few rows" if form.plain_rows else "")
    if found:
        raise ArgumentError(f"'{name}': expected a form that {family} has, but got {found}{hint}")
    activation, wanted = form.activation, layout.activations
    if activation is None:
        if wanted == "quantized":
            raise ArgumentError(f"'{name}': expected quantized activations, as {layout.name} "
                                f"always has them, but got plain ones{hint}")
        return layout
    if not get_family(family).says_activations:
        raise ArgumentError(f"'{name}': expected plain activations, as {layout.name} has them, but "
                            f"got {activation.format}{hint}")
    if activation.format != layout.format:
        raise ArgumentError(f"'{name}': expected activations in {layout.format}, as its weight, "
                            f"but got {activation.format}{hint}")
    if layout.needs_input_scale and activation.scaling == "dynamic":
        raise ArgumentError(f"'{name}': expected plain activations, or a static scale of them, as "
                            f"{layout.name} has it, but got a dynamic one; give amaxes of "
                            f"calibrate() when the model is quantized{hint[:-1]}")
    return layout


def _get_input_scale(given: Tensor | None, layout: Layout, form: LayerForm) -> Tensor | None:
    """The decode scale of activations, where it is static."""
    if form.activation is None or given is None or form.activation.scaling != "amax":
        return given
    amax = _native.get_nonzero_amax(float(given))
    return torch.tensor(get_global_scale(layout.activation_recipe, amax, None))


def _turn(decode: Tensor, stored: Tensor | None) -> Tensor:
    """An encode scale whose reciprocal is a decode scale: that of the file which the decode scale
    came from, since several have the same reciprocal."""
    found = decode.float().reciprocal()
    near = [found, torch.nextafter(found, 0 * found), torch.nextafter(found, 2 * found)]
    known = [] if stored is None else [stored.float().reshape(()).to(found.device)]
    return next((each for each in (*known, *near) if torch.equal(each.reciprocal(), decode)), found)


def _write_matrix(name: str, layout: Layout, tensors: Mapping[str, Tensor],
                  encode_scales: Mapping[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
    """The tensors of a weight under the names that a layout has for them. Scalars that are given
    are decode scales."""
    for role, ending in layout.endings.items():
        tensor = tensors.get(role)
        if tensor is None:
            continue
        if role in (DATA, SCALES):
            tensor = tensor.view(_DTYPES[layout.get_dtype(role)])
            if role == DATA and layout.has_block_dimension:
                tensor = tensor.unflatten(-1, (-1, 16))
        else:
            if layout.is_reciprocal:
                tensor = _turn(tensor, encode_scales.get(name + ending))
            tensor = tensor.float().reshape(layout.scalar_shape).clone()
        yield name + ending, tensor.contiguous()


def _split_stack(name: str, experts: Any, names: FileNames, tensors: Mapping[str, Tensor],
                 bias: Tensor | None) -> Iterator[tuple[str, dict[str, Tensor], Tensor | None]]:
    """The layers of experts that a stack consists of, with their names and biases."""
    path, _, member = name.rpartition(".")
    parts = names.split_stack(member)
    if len(parts) > 1 and not getattr(experts, "is_concatenated", True):
        raise ArgumentError(f"'{name}': expected rows of gate before those of up, but they "
                            "alternate in this model; choose the family gpt-oss or blockscale")
    rows = tensors[DATA].shape[1] // len(parts)
    for number in range(len(tensors[DATA])):
        for at, part in enumerate(parts):
            own = slice(at * rows, (at + 1) * rows)
            matrix = {role: tensor[number, own] for role, tensor in tensors.items()
                      if role in (DATA, SCALES)}
            matrix |= {role: tensor if role == INPUT else tensor[number]
                       for role, tensor in tensors.items() if role in (GLOBAL, INPUT)}
            yield (f"{path}.{number}.{part}", matrix,
                   None if bias is None else bias[number, own])


def find_fused(model: Any, names: FileNames, layers: Iterable[str]) -> list[list[str]]:
    """Those of some layers that loaders make one of, as of q, k and v."""
    by_path = {names.get_path(name): name for name in layers}
    known = _names.Names(get_config(model))
    return [[by_path[path] for path in group] for group in known.find_groups(by_path)
            if len(group) > 1]


def _check_shared(model: Any, names: FileNames, scales: Mapping[str, Tensor]) -> None:
    """Layers that loaders make one of have one global scale.

    Raises: ArgumentError.
    """
    for group in find_fused(model, names, scales):
        first = scales[group[0]]
        for name in group[1:]:
            if not torch.equal(scales[name].cpu(), first.cpu()):
                raise ArgumentError(
                    f"'{name}': expected the global scale of '{group[0]}', {first.item()}, with "
                    f"which loaders make one layer of it, but got {scales[name].item()}; give "
                    f"joint=blockscale.transformers.list_fused(model) to quantize_, or choose the "
                    f"family {OWN}")


def get_config(model: Any) -> dict[str, Any]:
    """config.json of a model."""
    return {**model.config.to_dict(), "architectures": [type(model).__name__]}


def make_state(model: Any, family: str, names: FileNames, encode_scales: Mapping[str, Tensor],
               members: Mapping[str, Any] | None = None
               ) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors of a model by the names that a family has for them behind those of the model, and
    the configuration, whose names are those of the files. `encode_scales` are those of the files
    that the model came from, by the same names, and `members` their configuration, where that is of
    the family.

    Raises: ArgumentError for a weight that the family has no place for.
    """
    state = model.state_dict()
    weights: dict[str, QuantizedWeight] = {}
    for name, module in list_weights(model).items():
        if isinstance(module, QuantizedWeight):
            weights[name] = module
            continue
        if module.layout.family != family:
            raise ArgumentError(f"'{name}': expected the family {module.layout.family}, since "
                                f"{module.layout.name} stays as it is, but got {family}")
        for each in list_own(module):
            state.pop(f"{name}.{each}", None)
        state.update(write_fp8(name, module, names))
    if family == OWN:
        return state, describe_own(weights)
    layers: dict[str, Quantized] = {}
    shared: dict[str, Tensor] = {}
    for name, module in weights.items():
        layout = _find_layout(name, family, module)
        has_activations = module.form.activation is not None
        own = {each: state.pop(f"{name}.{each}") for each in (*OWN_TENSORS, MARK, "bias")
               if f"{name}.{each}" in state}
        found = {DATA: own["data"], SCALES: own["scales"], GLOBAL: own.get("global_scale"),
                 INPUT: _get_input_scale(own.get("input_global"), layout, module.form)}
        tensors = {role: tensor for role, tensor in found.items() if tensor is not None}
        bias = own.get("bias")
        if layout.shares_global and not module.is_stack:
            shared[name] = tensors[GLOBAL]
        if isinstance(module, QuantizedStack) and not layout.is_stack:
            experts = model.get_submodule(name.rpartition(".")[0])
            parts = list(_split_stack(name, experts, names, tensors, bias))
            ending = ".bias"
        else:
            parts, ending = [(name, tensors, bias)], "_bias" if layout.is_stack else ".bias"
        for path, matrix, own_bias in parts:
            state.update(_write_matrix(path, layout, matrix, encode_scales))
            if own_bias is not None:
                state[path + ending] = own_bias.contiguous()
            layers[names.get_path(path)] = Quantized(layout, has_activations)
    _check_shared(model, names, shared)
    if members is not None:
        return state, dict(members)
    return state, _describe(model, family, layers, names)


def describe_own(weights: Mapping[str, QuantizedWeight]) -> dict[str, Any]:
    """The configuration of the family that has the tensors of our modules. Marks in the files say
    all else."""
    formats = sorted({module.form.weight.format for module in weights.values()})
    return {"quant_method": OWN, "version": VERSION, "formats": formats,
            "producer": {"name": OWN, "version": _native.version}}


def _describe(model: Any, family: str, layers: Mapping[str, Quantized], names: FileNames
              ) -> dict[str, Any]:
    plain = [names.get_path(site.name) for site in find_sites(model)]
    plain += [names.get_path(name.removesuffix(".weight"))
              for name, each in model.named_parameters()
              if name.endswith(".weight") and each.dim() == 2]
    left = _names.Names(get_config(model)).list_left(dict.fromkeys(plain), layers)
    written = get_family(family).write(layers, left, "")
    assert written is not None
    return dict(written.members)
