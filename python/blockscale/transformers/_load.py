# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantized weights of checkpoints, put into models of transformers before transformers loads all
else."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from blockscale._errors import ArgumentError
from blockscale.checkpoint._checkpoint import Checkpoint
from blockscale.checkpoint._config import read_config
from blockscale.checkpoint._families import LAYOUTS
from blockscale.checkpoint._layouts import IGNORED, INPUT
from blockscale.checkpoint._names import split_expert
from blockscale.torch._checkpoint import (
    NUMBERS,
    Files,
    check_bias,
    check_transforms,
    fit_form,
    make_form,
    place_part,
    read_site,
)
from blockscale.torch._fp8 import Fp8Weight
from blockscale.torch._modules import QuantizedWeight
from blockscale.torch._sites import (
    Installer,
    Site,
    find_sites,
    find_ties,
    make_module,
    write_ties_out,
)
from blockscale.torch._state import (
    MARK,
    check_tensor,
    find_wrong_numbers,
    list_tensors,
    read_form,
)
from blockscale.transformers._fp8 import Fp8Files
from blockscale.transformers._names import Names

#: Modules with quantized weights.
WEIGHTS = (QuantizedWeight, Fp8Weight)
#: What a module of ours has in a state dict.
OWN_TENSORS = ("data", "scales", "global_scale", "input_global")


def open_files(paths: Sequence[str] | None, members: Mapping[str, Any], names: Names) -> Files:
    """The files that transformers found, with what the configuration says of quantization.

    Raises: ArgumentError for what are no files of safetensors; FileError.
    """
    if not paths or not all(path.endswith(".safetensors") for path in paths):
        found = ", ".join(paths) if paths else "none"
        raise ArgumentError("expected files of safetensors with quantized weights, but got "
                            f"{found}")
    config, quantization = read_config(os.path.dirname(paths[0]))
    if members:
        config = {**config, "quantization_config": dict(members)}
    files = Files(Checkpoint(paths, configs=(config, quantization)), names.rename)
    check_transforms(files.checkpoint.scheme, files.checkpoint.tensors)
    return files


def describe_modelopt(quantization: Mapping[str, Any]) -> dict[str, Any]:
    """quantization_config of what older files of ModelOpt say in hf_quant_config.json alone.

    Raises: ArgumentError where they say nothing.
    """
    inner = quantization.get("quantization")
    if not isinstance(inner, dict):
        raise ArgumentError("expected a checkpoint whose configuration says how it is quantized, "
                            "or a policy, but got neither")
    return {"quant_method": "modelopt", "ignore": inner.get("exclude_modules") or [], **inner}


@contextlib.contextmanager
def plain_tensors() -> Iterator[None]:
    """New tensors are of f32 and on the CPU, where nothing else is said, whatever they are around:
    transformers makes models on "meta" and in the dtype of the model."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        with torch.no_grad(), torch.device("cpu"):
            yield
    finally:
        torch.set_default_dtype(before)


def _read_own(files: Files, site: Site, order: str | None) -> QuantizedWeight | None:
    """The module whose state dict has these tensors, None where there is no mark of one."""
    prefix = f"{site.name}."
    if not files.get_dtype(prefix + MARK):
        return None
    try:
        form = read_form(files.read(prefix + MARK))
    except ArgumentError as error:
        raise ArgumentError(f"'{prefix}{MARK}': {error}") from None
    found: dict[str, Tensor | None] = {
        name: files.read(prefix + name) if files.get_dtype(prefix + name) else None
        for name in (*OWN_TENSORS, "bias")}
    lost = [name for name in ("data", "scales") if found[name] is None]
    if lost:
        raise ArgumentError("\n".join(f"expected a tensor '{prefix}{name}', but got none"
                                      for name in lost))
    bias = found.pop("bias")
    check_bias(site, bias)
    if site.bias is not None and bias is not None:
        site.bias = nn.Parameter(bias.to(site.bias.dtype), requires_grad=False)
    form = fit_form(form, site.weight.dtype, site.name).with_order(order)
    module = make_module(site, found["data"], found["scales"], found["global_scale"], form,
                         found["input_global"])
    problems = [check_tensor(prefix + name, tensor, list_tensors(module).get(name))
                for name, tensor in found.items() if tensor is not None]
    problems = [each for each in problems if each] or [
        f"'{prefix}{name}': {problem}" for name, problem in find_wrong_numbers(
            form.weight.format, found)]
    if problems:
        raise ArgumentError("\n".join(problems))
    return module


def _read_module(files: Files, fp8: Fp8Files, site: Site, weight_only: bool | None,
                 order: str | None) -> QuantizedWeight | Fp8Weight | None:
    own = _read_own(files, site, order) or fp8.read(site)
    if own is not None:
        return own
    part = read_site(files, site)
    if part is None:
        return None
    form = fit_form(make_form(files, part, weight_only), site.weight.dtype, site.name)
    form = form.with_order(order)
    module: QuantizedWeight = place_part(site, part, form)
    return module


def _find_site(name: str, sites: Mapping[str, Site]) -> Site | None:
    """The layer or the stack of the model that a layer of files is, or is a part of."""
    if name in sites:
        return sites[name]
    expert = split_expert(name)
    path = expert[0] if expert is not None else name.rpartition(".")[0]
    return next((site for site in sites.values() if site.is_stack
                 and site.name.rpartition(".")[0] == path), None)


def _explain_lost(checkpoint: Checkpoint, name: str, tensors: Sequence[str]) -> str:
    """Why the tensors of a layer are no weight that modules have."""
    candidate = checkpoint.candidates.get(name)
    layout = candidate.layout if candidate is not None else None
    lost = [] if candidate is None or layout is None else [
        ending for role, ending in layout.endings.items()
        if role != INPUT and candidate.get(role) is None]
    if layout is not None and lost:
        return ", ".join(f"expected '{name}{ending}', as {layout.name} has it, but got none"
                         for ending in lost)
    title = next((each.title for each in checkpoint.unexplained if each.name == name), "")
    if name in checkpoint.weights:
        title = checkpoint.weights[name].layout.name
    listed = ", ".join(f"'{each}'" for each in tensors)
    return f"expected the tensors of a layout that modules have, but got {listed} of {title}"


def _find_untaken(files: Files, names: Names, sites: Mapping[str, Site]) -> list[str]:
    """What is wrong with quantized weights of layers of the model that no module took."""
    checkpoint = files.checkpoint
    known = {name: [part.name for part in weight.parts.values()]
             for name, weight in checkpoint.weights.items() if not weight.layout.is_plain}
    known |= {each.name: list(each.tensors) for each in checkpoint.unexplained}
    problems = []
    for name, tensors in known.items():
        if any(names.rename(each) in files.used for each in tensors):
            continue
        site = _find_site(names.rename(f"{name}.weight").removesuffix(".weight"), sites)
        if site is not None:
            problems.append(f"'{site.name}': {site.obstacle}" if site.obstacle
                            else _explain_lost(checkpoint, name, tensors))
    return problems


def _find_wrong(model: Any, files: Files, names: Names, taken: set[str]) -> list[str]:
    """Plain parameters of repeated layers that no tensor of the files is for, or one of another
    shape. Others, as the head of a task, may be new or other ones: transformers tells of them."""
    patterns = [re.compile(each) for each in model._keys_to_ignore_on_load_missing or ()]
    ties = model.all_tied_weights_keys
    tied = {*ties.keys(), *ties.values()}
    tensors = {names.rename(name): tensor for name, tensor in files.checkpoint.tensors.items()}
    found = {target for name in files.checkpoint.tensors for target in names.find_targets(name)}
    problems = []
    for name, parameter in model.named_parameters():
        if name in tied or not re.search(r"\.\d+\.", name) or _list_prefixes(name) & taken:
            continue
        if name not in found:
            if not any(each.search(name) for each in patterns):
                problems.append(f"expected a tensor '{name}', but got none")
        elif (name in tensors and tensors[name].dtype in NUMBERS
              and tensors[name].shape != tuple(parameter.shape)):
            problems.append(f"'{name}': expected shape {list(parameter.shape)}, but got "
                            f"{list(tensors[name].shape)}")
    return problems


def _list_prefixes(name: str) -> set[str]:
    words = name.split(".")
    return {".".join(words[:count]) for count in range(1, len(words) + 1)}


def install_weights(model: Any, files: Files, names: Names, *, weight_only: bool | None,
                    order: str | None, place: Callable[[str], Any]) -> list[str]:
    """Puts modules with the quantized weights of files in the place of a model's layers and stacks
    of experts. `place` gives the device of a layer.

    Returns: their names.

    Raises: ArgumentError with all tensors that are wrong or missing. The model is as it was then.
    """
    sites = {site.name: site for site in find_sites(model)}
    installer, problems = Installer(model), []
    fp8 = Fp8Files(files, names, weight_only, order)
    made: list[str] = []
    for name, site in sites.items():
        try:
            module = None if site.obstacle else _read_module(files, fp8, site, weight_only, order)
        except ArgumentError as error:
            problems += str(error).split("\n")
            made.append(name)
            continue
        if module is not None:
            installer.add(site, module.to(place(name)))
            made.append(name)
    problems += _find_untaken(files, names, {name: site for name, site in sites.items()
                                             if name not in made})
    biases = {f"{name}_bias" for name in made if sites[name].is_stack}
    problems += _find_wrong(model, files, names, {*made, *biases})
    if problems:
        raise ArgumentError("\n".join(problems))
    _untie(model, made)
    installer.install()
    return made


def _untie(model: Any, names: Sequence[str]) -> None:
    """A head whose codes are in the files is tied to nothing."""
    def drop(ties: Mapping[str, str], path: str) -> dict[str, str]:
        return {name: other for name, other in ties.items()
                if (path + name).removesuffix(".weight") not in names}
    model.all_tied_weights_keys = drop(model.all_tied_weights_keys, "")
    for path, module in model.named_modules():
        ties = find_ties(module)
        kept = drop(ties or {}, f"{path}." if path else "")
        if ties is not None and len(kept) < len(ties):
            write_ties_out(module, kept)


def _save_nothing(destination: Any, prefix: str, keep_vars: bool) -> None:
    """What a module puts into state dicts while it is hidden."""


class Hidden:
    """The quantized weights of a model, which transformers neither waits for nor reports while it
    loads all else."""

    def __init__(self, model: Any, files: Files, names: Names):
        self._model = model
        self._modules = [each for each in model.modules() if isinstance(each, WEIGHTS)]
        for module in self._modules:
            module._is_hf_initialized = True
            # A state dict has copies of weights that lie together in memory.
            module._save_to_state_dict = _save_nothing  # type: ignore[method-assign]
        self._before = model._keys_to_ignore_on_load_unexpected
        known = {_generalize(name) for name in _list_read(files, names)}
        model._keys_to_ignore_on_load_unexpected = {*(self._before or ()), *known}

    def show(self) -> None:
        for module in self._modules:
            del module._save_to_state_dict
        self._model._keys_to_ignore_on_load_unexpected = self._before


def read_encode_scales(files: Files) -> dict[str, Tensor]:
    """The scalars of files that have encode scales. Of a decode scale, which modules have, one
    cannot tell from which of several encode scales it came."""
    scalars = {layout.global_scale for layout in LAYOUTS if layout.is_reciprocal}
    scalars |= {layout.input_scale for layout in LAYOUTS if layout.is_reciprocal}
    return {name: files.read(name) for name in files.used
            if name.endswith(tuple(scalars - {""}))}


def _list_read(files: Files, names: Names) -> Iterator[str]:
    """What transformers calls the tensors that were read, and those for other runtimes."""
    for name in files.checkpoint.tensors:
        if names.rename(name) in files.used or name.endswith(IGNORED):
            yield name
            yield from names.find_targets(name)


def _generalize(name: str) -> str:
    """A pattern of a name and of those that differ in numbers alone."""
    return "^" + re.sub(r"\d+", r"\\d+", re.escape(name)) + "$"
