# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantized checkpoints in safetensors, loaded into models of plain layers."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Union

import torch
from torch import Tensor, nn

from blockscale._errors import ArgumentError
from blockscale._forms import LayerForm, OperandForm, check_order
from blockscale._ops import FORMATS
from blockscale._types import element_name
from blockscale.checkpoint._candidates import TRANSFORM
from blockscale.checkpoint._checkpoint import Checkpoint
from blockscale.checkpoint._checkpoint import open as open_checkpoint
from blockscale.checkpoint._config import Group, Scheme
from blockscale.checkpoint._families import LAYOUTS
from blockscale.checkpoint._layouts import EXPERTS, IGNORED, Layout
from blockscale.torch._forms import ROW_MAJOR, get_storage
from blockscale.torch._kernels import LOG
from blockscale.torch._sites import Installer, Site, find_sites, find_ties, make_module
from blockscale.torch._state import find_wrong_codes, find_wrong_scale
from blockscale.torch._summary import Ledger, Summary

Source = Union[str, "os.PathLike[str]", Sequence[Union[str, "os.PathLike[str]"]]]
#: Types of numbers, as safetensors names them.
NUMBERS = ("F32", "BF16", "F16", "F64")
#: The layouts whose codes and scales are as modules have them.
SCHEMES = tuple(layout for layout in LAYOUTS
                if layout.family in ("modelopt", "compressed-tensors", "gpt-oss")
                and layout.is_written)


class Files:
    """Tensors of a checkpoint, by the names that a model has for them, read when they are needed.

    Attributes:
      checkpoint: has them by the names of files.
      used: the names of those that were read.
    """

    def __init__(self, checkpoint: Checkpoint, rename: Callable[[str], str] | None = None):
        """`rename` gives the name in the model of a name in the files, where they differ."""
        self.checkpoint = checkpoint
        self._tensors = checkpoint.tensors
        self._paths: dict[str, str] = {}
        if rename is not None:
            self._tensors = {rename(name): tensor for name, tensor in self._tensors.items()}
            self._paths = {_get_path(name): _get_path(tensor.name)
                           for name, tensor in self._tensors.items()}
        self.used: set[str] = set()

    @property
    def names(self) -> Iterable[str]:
        return self._tensors.keys()

    def get_path(self, path: str) -> str:
        """The name that the files and their configuration have for a layer of the model."""
        return self._paths.get(path, path)

    def get_dtype(self, name: str) -> str:
        """As safetensors names it; "" where there is no such tensor."""
        tensor = self._tensors.get(name)
        return "" if tensor is None else tensor.dtype

    def read(self, name: str) -> Tensor:
        """A copy, which may be written."""
        self.used.add(name)
        tensor: Tensor = self._tensors[name].torch(copy=True)
        return tensor


def _get_path(name: str) -> str:
    return name.rpartition(".")[0]


@dataclasses.dataclass
class Part:
    """A weight as a checkpoint has it, in storage form. `path` is its name, or that of its first
    matrix."""

    path: str
    scheme: Layout
    data: Tensor
    scales: Tensor
    global_scale: Tensor | None
    input_scale: Tensor | None
    bias: Tensor | None = None


def _find_scheme(files: Files, prefix: str, is_stack: bool) -> Layout | None:
    """The layout whose data and scales there are behind a name."""
    family = files.checkpoint.scheme.family
    # Of two layouts with the same tensors, that of the configuration.
    ordered = sorted(SCHEMES, key=lambda scheme: scheme.family != family)
    return next((scheme for scheme in ordered if scheme.is_stack == is_stack
                 and files.get_dtype(prefix + scheme.data[0]) == scheme.data[1]
                 and files.get_dtype(prefix + scheme.scales[0]) == scheme.scales[1]), None)


def _check_dtype(files: Files, name: str) -> None:
    """That a tensor is of numbers: those of other types are codes, or nothing of ours."""
    if files.get_dtype(name) not in NUMBERS:
        raise ArgumentError(f"'{name}': expected numbers of {', '.join(NUMBERS)}, but got "
                            f"{files.get_dtype(name)}")


def _read_scalar(files: Files, name: str, is_reciprocal: bool) -> Tensor:
    _check_dtype(files, name)
    return get_decode_scale(name, files.read(name), is_reciprocal)


def get_decode_scale(name: str, value: Tensor, is_reciprocal: bool) -> Tensor:
    """The decode scale that a scalar of a checkpoint is, or whose encode scale it is.

    Raises: ArgumentError for what is no scale.
    """
    value = value.float()
    if value.numel() != 1:
        raise ArgumentError(f"'{name}': expected one number, but got shape {list(value.shape)}")
    value = value.reshape(())
    problem = find_wrong_scale(value)
    if problem:
        raise ArgumentError(f"'{name}': {problem}")
    return value.reciprocal() if is_reciprocal else value


def check_codes(prefix: str, scheme: Layout, data: Tensor, scales: Tensor) -> None:
    """Raises ArgumentError for codes or scales, as bytes, that are none of a layout."""
    ends = {"data": scheme.data[0], "scales": scheme.scales[0]}
    for member, problem in find_wrong_codes(scheme.format, data, scales):
        raise ArgumentError(f"'{prefix}{ends[member]}': {problem}")


def _read_part(files: Files, prefix: str, scheme: Layout, sizes: Sequence[int]) -> Part:
    """The tensors of a weight [.., N, K], of that size."""
    *batch, rows, cols = sizes
    if cols % FORMATS[scheme.format][2]:
        raise ArgumentError(f"'{prefix}{scheme.data[0]}': expected rows of whole blocks of "
                            f"{FORMATS[scheme.format][2]}, but the layer has {cols} columns")
    shapes = get_storage(rows, cols, scheme.format, ROW_MAJOR)
    tensors = []
    for (end, _), shape in zip((scheme.data, scheme.scales), shapes):
        name, wanted = prefix + end, [*batch, *shape]
        tensor = files.read(name).contiguous().view(torch.uint8)
        if scheme.is_stack and tensor.dim() == len(wanted) + 1:
            tensor = tensor.flatten(-2)  # Blocks are a dimension of their own.
        if list(tensor.shape) != wanted:
            raise ArgumentError(f"'{name}': expected shape {wanted} for {rows} rows and {cols} "
                                f"columns of {scheme.format}, but got {list(tensor.shape)}")
        tensors.append(tensor)
    check_codes(prefix, scheme, *tensors)
    scalars: list[Tensor | None] = []
    for end, is_needed in ((scheme.global_scale, True), (scheme.input_scale, False)):
        name = prefix + end
        if not end or not (files.get_dtype(name) or is_needed):
            scalars.append(None)
        elif not files.get_dtype(name):
            raise ArgumentError(f"expected '{name}', as {scheme.name} has it, but got none")
        else:
            scalars.append(_read_scalar(files, name, scheme.is_reciprocal))
    ending = "_bias" if scheme.is_stack else ".bias"
    bias = None
    if files.get_dtype(prefix + ending):
        _check_dtype(files, prefix + ending)
        bias = files.read(prefix + ending)
    return Part(prefix, scheme, tensors[0], tensors[1], scalars[0], scalars[1], bias)


def _join(rows: list[list[Any]]) -> Tensor:
    """The matrices of experts as a stack, each of which is of one part or several."""
    return torch.stack([torch.cat(parts) for parts in rows])


def check_expert(name: str, first: Tensor, other: Tensor) -> None:
    """Raises ArgumentError where rows of an expert have another global scale than the first."""
    if not torch.equal(first, other):
        raise ArgumentError(f"'{name}': expected the global scale of the other rows of its expert, "
                            f"{first.item()}, but got {other.item()}")


def _read_experts(files: Files, site: Site) -> Part | None:
    """A stack whose experts have names of their own: "experts.0.gate_proj.weight"."""
    path, _, member = site.name.rpartition(".")
    n, k = site.get_sizes()
    experts = site.weight.shape[0]
    for names in EXPERTS.get(member, ()):
        prefixes = [[f"{path}.{number}.{name}" for name in names] for number in range(experts)]
        scheme = _find_scheme(files, prefixes[0][0], False)
        if scheme is None:
            continue
        if len(names) > 1 and not getattr(site.owner, "is_concatenated", True):
            raise ArgumentError(f"'{prefixes[0][0]}': expected one stack in which rows of gate and "
                                f"up alternate, as {type(site.owner).__name__} has them")
        rows = []
        for each in prefixes:
            for prefix in each:
                if _find_scheme(files, prefix, False) is not scheme:
                    raise ArgumentError(f"'{prefix}': expected {scheme.name}, as the first expert "
                                        "has it, but got other tensors or none")
            rows.append([_read_part(files, prefix, scheme, (n // len(names), k))
                         for prefix in each])
        scales = None
        if rows[0][0].global_scale is not None:
            for parts, each in zip(rows, prefixes):
                first: Any = parts[0].global_scale
                for part, prefix in zip(parts[1:], each[1:]):
                    other: Any = part.global_scale
                    check_expert(f"{prefix}{scheme.global_scale}", first, other)
            scales = torch.stack([parts[0].global_scale for parts in rows])
        flat = [part for parts in rows for part in parts]
        has_input = _have_all(flat, "input_scale", scheme.input_scale)
        # One scale is for the tokens of all experts.
        given = (torch.stack([part.input_scale for part in flat]).max()
                 if has_input else None)
        biases = [[part.bias for part in parts] for parts in rows]
        has_bias = _have_all(flat, "bias", ".bias")
        return Part(prefixes[0][0], scheme,
                    _join([[part.data for part in parts] for parts in rows]),
                    _join([[part.scales for part in parts] for parts in rows]), scales, given,
                    _join(biases) if has_bias else None)
    return None


def _have_all(parts: Sequence[Part], member: str, ending: str) -> bool:
    """Whether all experts have a tensor that none needs.

    Raises: ArgumentError where some have it.
    """
    lack = [part for part in parts if getattr(part, member) is None]
    if lack and len(lack) < len(parts):
        raise ArgumentError(f"expected a tensor '{lack[0].path}{ending}', as other experts have "
                            "one, but got none")
    return not lack


def check_bias(site: Site, bias: Tensor | None) -> None:
    """That a layer of a model has a bias where its checkpoint does.

    Raises: ArgumentError, with the name of the bias.
    """
    name = f"{site.name}{'_bias' if site.is_stack else '.bias'}"
    if site.bias is None:
        if bias is not None:
            raise ArgumentError(f"'{name}': expected a tensor of the model, but it has no such "
                                "parameter")
    elif bias is None:
        raise ArgumentError(f"expected a tensor '{name}', but got none")
    elif bias.shape != site.bias.shape:
        raise ArgumentError(f"'{name}': expected shape {list(site.bias.shape)}, but got "
                            f"{list(bias.shape)}")


def read_site(files: Files, site: Site) -> Part | None:
    n, k = site.get_sizes()
    if not site.is_stack:
        prefix = site.name
        scheme = _find_scheme(files, prefix, False)
        return None if scheme is None else _read_part(files, prefix, scheme, (n, k))
    prefix = site.name
    scheme = _find_scheme(files, prefix, True)
    if scheme is None:
        return _read_experts(files, site)
    return _read_part(files, prefix, scheme, (site.weight.shape[0], n, k))


def _quantizes_activations(scheme: Layout, group: Group | None) -> bool:
    """Whether the configuration says that a layer's activations are quantized, where its tensors
    do not tell. Those of ModelOpt's NVFP4 tell by their input scale."""
    if scheme.family == "modelopt" and scheme.needs_input_scale:
        return False
    return group is not None and group.quantizes_activations


def make_form(files: Files, part: Part, weight_only: bool | None) -> LayerForm:
    """How the layer of a weight computes: with quantized activations where the checkpoint says so,
    or as `weight_only` says."""
    group = files.checkpoint.scheme.find(files.get_path(part.path))
    return find_form(part.path, part.scheme, group, part.global_scale is not None,
                     part.input_scale is not None, weight_only)


def find_form(name: str, scheme: Layout, group: Group | None, has_global: bool, has_input: bool,
              weight_only: bool | None) -> LayerForm:
    """The same of a layer of a layout that may have scalars, and that its configuration has in a
    group.

    Raises: ArgumentError where activations are in another format than the weight.
    """
    is_quantized = _quantizes_activations(scheme, group)
    weight = OperandForm(scheme.format, scheme.recipe, "dynamic" if has_global else "none")
    if weight_only or (weight_only is None and not has_input and not is_quantized):
        return LayerForm(weight)
    if group is not None and (group.other_activations or not group.format):
        found = group.other_activations or f"those of '{group.algorithm}', which is not known"
        raise ArgumentError(f"'{name}': expected activations in {scheme.format}, as the weight is, "
                            f"but got {found}; weight_only=True leaves them plain")
    scaling = "none" if scheme.format != "nvfp4" else ("scale" if has_input else "dynamic")
    return LayerForm(weight, OperandForm(scheme.format, scheme.activation_recipe, scaling))


def fit_form(form: LayerForm, dtype: torch.dtype, name: str) -> LayerForm:
    """The form in a model of the dtype of a plain weight: activations of f32 are rounded to bf16 in
    front of products that take no others.

    Raises: ArgumentError where no product takes the dtype.
    """
    element = element_name(dtype)
    if form.find_clause(element) is None:
        return form
    cast = dataclasses.replace(form, cast="bf16")
    unmet = cast.find_clause(element)
    if unmet is None:
        return cast
    raise ArgumentError(f"'{name}': {unmet.name}: expected {unmet.expected}, but got "
                        f"{unmet.found}; load the model with dtype=torch.bfloat16")


def _find_shared(model: nn.Module, wanted: Mapping[str, Tensor]) -> list[list[str]]:
    """The names of a state dict that are of one tensor, as those of a head that is tied to the
    embedding."""
    firsts: dict[int, str] = {}
    shared: dict[str, list[str]] = {}
    for name, tensor in model.named_parameters(remove_duplicate=False):
        if name in wanted:
            shared.setdefault(firsts.setdefault(id(tensor), name), []).append(name)
    # A model without memory may still have to be tied.
    for name, source in (find_ties(model) or {}).items():
        if shared.get(name) == [name] and source in shared:
            shared[source] += shared.pop(name)
    return [names for names in shared.values() if len(names) > 1]


def _load_plain(model: nn.Module, files: Files) -> None:
    """Parameters and buffers that are not of quantized weights."""
    quantized = {f"{path}." for path, module in model.named_modules()
                 if type(module).__name__ in ("QuantizedLinear", "QuantizedStack")}

    def is_plain(name: str) -> bool:
        return not any(name.startswith(path) for path in quantized)
    wanted = {name: tensor for name, tensor in model.state_dict().items() if is_plain(name)}
    state: dict[str, Tensor] = {}
    problems = []
    for name, tensor in wanted.items():
        if not files.get_dtype(name):
            continue
        if tensor.is_floating_point():
            try:
                _check_dtype(files, name)
            except ArgumentError as error:
                problems.append(str(error))
        found = files.read(name)
        if found.shape != tensor.shape:
            problems.append(f"'{name}': expected shape {list(tensor.shape)}, but got "
                            f"{list(found.shape)}")
        state[name] = found.to(tensor.dtype)
    is_meta = any(tensor.is_meta for tensor in wanted.values())
    for names in _find_shared(model, wanted):
        first, *others = [name for name in names if name in state] or [""]
        problems += [f"'{name}': expected the values of '{first}', which is the same tensor of the "
                     "model, but got others" for name in others
                     if not torch.equal(state[name], state[first])]
        if first:
            shared = state[first]
            # One parameter takes the place of theirs.
            state.update(dict.fromkeys(names, nn.Parameter(shared, shared.is_floating_point())
                                       if is_meta else shared))
    missing = [name for name in wanted if name not in state and not name.endswith("inv_freq")]
    problems += [f"expected a tensor '{name}', but got none" for name in missing]
    left = [name for name in files.names if name not in files.used and not name.endswith(IGNORED)]
    problems += [f"'{name}': expected a tensor of the model, but it has no such parameter"
                 for name in left]
    if problems:
        raise ArgumentError("\n".join(problems))
    model.load_state_dict(state, strict=False, assign=is_meta)


def check_transforms(scheme: Scheme, names: Iterable[str]) -> None:
    """Refuses a checkpoint, of tensors of these names, whose layers compute with other activations
    than those that they read, which no module does.

    Raises: ArgumentError.
    """
    if scheme.transforms:
        raise ArgumentError(f"{scheme.origin}: expected no {scheme.transforms}, whose transforms "
                            "of activations no layer here does, but got some")
    found = next((name for name in names if name.endswith(TRANSFORM)), None)
    if found is not None:
        raise ArgumentError("expected no factors of activations, which no layer here multiplies "
                            f"them by, but got '{found}'")


def check_weight_only(weight_only: Any) -> None:
    if weight_only not in (None, True, False):
        raise ArgumentError(f"expected weight_only to be True, False or None, but got "
                            f"{weight_only!r}")


def load_quantized_(model: nn.Module, source: Source, *,
                    weight_only: bool | None = None, order: str | None = None) -> Summary:
    """Loads a quantized checkpoint into a model of plain layers, in place: layers and stacks of
    experts with quantized weights become modules of these, all other tensors are loaded as they
    are. Checkpoints are those of ModelOpt (NVFP4, MXFP8), compressed-tensors (NVFP4, MXFP4,
    MXFP8) and gpt-oss (MXFP4).

    Args:
      model: with the names of the checkpoint; it may be on "meta".
      source: a folder, a file of safetensors, or several files. A folder's config.json says
        whether activations are quantized, where no input scale does.
      weight_only: True for plain activations, False for quantized ones, whatever the checkpoint
        says; None for what it says.
      order: of the sums of all layers' products, "free" (None) or "chain" (docs/SameBits.md),
        which no checkpoint says.

    Returns: what became of each layer.

    Raises: ArgumentError with all tensors that are missing, left over or of other shapes;
      FileError. The model's layers are as they were then.
    """
    if not isinstance(model, nn.Module):
        raise ArgumentError(f"expected a torch.nn.Module, but got {type(model).__name__}")
    check_weight_only(weight_only)
    check_order(order)
    files = Files(open_checkpoint(source))
    check_transforms(files.checkpoint.scheme, files.checkpoint.tensors)
    sites = list(find_sites(model))
    ledger, installer = Ledger(model, sites), Installer(model)
    made: dict[Site, tuple[str, Any]] = {}
    reasons: dict[Site, str] = {}
    with torch.no_grad():
        for site in sites:
            part = None if site.obstacle else read_site(files, site)
            if part is None:
                reasons[site] = site.obstacle or "the checkpoint has a plain weight"
                continue
            form = make_form(files, part, weight_only).with_order(order)
            module = place_part(site, part, form)
            made[site] = f"{form.describe()} of {part.scheme.name}", module
            installer.add(site, module)
        installer.install()
        try:
            _load_plain(model, files)
        except BaseException:
            installer.undo()
            raise
    summary = ledger.close(made, reasons)
    LOG.info("load_quantized_ of %s:\n%s", type(model).__name__, summary)
    return summary


def place_part(site: Site, part: Part, form: LayerForm) -> Any:
    """The module of a weight for a site, on the device of its plain weight; on the CPU where that
    is "meta"."""
    device = torch.device("cpu") if site.weight.is_meta else site.weight.device

    def move(tensor: Tensor | None) -> Tensor | None:
        return None if tensor is None else tensor.to(device)
    check_bias(site, part.bias)
    if site.bias is not None and part.bias is not None:
        site.bias = nn.Parameter(part.bias.to(device, site.bias.dtype), requires_grad=False)
    is_scaled = form.activation is not None and form.activation.scaling == "scale"
    return make_module(site, move(part.data), move(part.scales), move(part.global_scale), form,
                       move(part.input_scale) if is_scaled else None)
