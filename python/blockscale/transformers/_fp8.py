# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights in FP8 of checkpoints, as modules, and as tensors of the same files again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import Tensor, nn

from blockscale._errors import ArgumentError
from blockscale.checkpoint._layouts import (
    DATA,
    EXPERTS,
    FP8_BLOCK,
    FP8_BLOCKS,
    FP8_CHANNEL,
    INPUT,
    SCALES,
    find_fp8_formats,
    get_fp8_scales,
)
from blockscale.checkpoint._tensors import Weight
from blockscale.torch._checkpoint import Files
from blockscale.torch._fp8 import (
    Fp8Linear,
    Fp8Stack,
    Fp8Weight,
    check_fp8,
    check_fp8_options,
)
from blockscale.torch._sites import Site
from blockscale.transformers._names import FileNames, Names


class Fp8Files:
    """The weights in FP8 of files, by the names that the model has for them, for what a user says
    beside the checkpoint."""

    def __init__(self, files: Files, names: Names, weight_only: bool | None = None,
                 order: str | None = None):
        self._files, self._names = files, names
        self._weight_only, self._order = weight_only, order
        self._weights = {
            self._rename(weight): weight for weight in files.checkpoint.weights.values()
            if weight.layout.is_fp8}

    def _rename(self, weight: Weight) -> str:
        data = weight.layout.data[0]
        return self._names.rename(weight.name + data).removesuffix(data)

    def read(self, site: Site) -> Fp8Weight | None:
        """The module of a layer or a stack, None where it has no weight in FP8.

        Raises: ArgumentError.
        """
        path, _, member = site.name.rpartition(".")
        if site.name in self._weights:
            return self._make(site, [[site.name]])
        if not site.is_stack:
            return None
        experts = site.weight.shape[0]
        for names in EXPERTS.get(member, ()):
            rows = [[f"{path}.{number}.{name}" for name in names] for number in range(experts)]
            if rows[0][0] in self._weights:
                return self._make(site, rows)
        return None

    def _make(self, site: Site, names: Sequence[Sequence[str]]) -> Fp8Weight:
        """A module of one weight, or of those of experts, of which each is of one part or
        several."""
        n, k = site.get_sizes()
        is_whole = site.is_stack and len(names) == 1 and names[0][0] == site.name
        parts = len(names[0])
        if parts > 1 and not getattr(site.owner, "is_concatenated", True):
            raise ArgumentError(f"'{names[0][0]}': expected one stack in which rows of gate and up "
                                f"alternate, as {type(site.owner).__name__} has them")
        sizes = [site.weight.shape[0], n, k] if is_whole else [n // parts, k]
        first = self._weights[names[0][0]]
        check_fp8_options(site.name, first.layout, self._weight_only, self._order)
        format = first.layout.format
        rows, cols = _get_block(format, n // parts, k)
        if parts > 1 and (n // parts) % rows:
            raise ArgumentError(f"'{names[0][0]}': expected whole blocks of {rows} rows, but got "
                                f"{n // parts} rows")
        read = [[self._read(name, first, sizes) for name in each] for each in names]
        stored = read[0][0][1].dtype, tuple(read[0][0][3])
        data = [torch.cat([part[0] for part in each]) for each in read]
        scales = [torch.cat([part[1].float().reshape(part[2]) for part in each]) for each in read]
        inputs = [part[4] for each in read for part in each if part[4] is not None]
        bias = self._read_bias(site, names)
        kind = Fp8Stack if site.is_stack else Fp8Linear
        is_one = is_whole or not site.is_stack
        return kind(data[0] if is_one else torch.stack(data),
                    scales[0] if is_one else torch.stack(scales), bias, rows=rows, cols=cols,
                    layout=first.layout, stored=stored, dtype=site.weight.dtype,
                    input_scale=torch.stack(inputs) if inputs else None,
                    is_transposed=site.is_transposed and not site.is_stack)

    def _read(self, name: str, first: Weight, sizes: Sequence[int]
              ) -> tuple[Tensor, Tensor, list[int], torch.Size, Tensor | None]:
        """Codes, scales, the shape that these have as a matrix and in the file, and the scale of
        activations."""
        weight = self._weights.get(name)
        if weight is None or weight.layout is not first.layout:
            raise ArgumentError(f"'{name}': expected {first.layout.name}, as '{first.name}' has "
                                "it, but got other tensors or none")
        found = {role: self._files.read(self._names.rename(part.name))
                 for role, part in weight.parts.items()}
        data, scales = found[DATA], found[SCALES]
        if list(data.shape) != list(sizes):
            raise ArgumentError(f"'{weight.parts[DATA].name}': expected shape {list(sizes)}, but "
                                f"got {list(data.shape)}")
        *batch, n, k = sizes
        wanted = [*batch, *get_fp8_scales(weight.format, n, k)]
        if weight.format not in find_fp8_formats(sizes, scales.shape) or (
                scales.numel() != torch.Size(wanted).numel()):
            raise ArgumentError(f"'{weight.parts[SCALES].name}': expected shape {wanted} for "
                                f"{weight.layout.name}, but got {list(scales.shape)}")
        codes = data.contiguous().view(torch.uint8)
        check_fp8(weight.parts[DATA].name.removesuffix(weight.layout.data[0]), weight.layout,
                  codes, scales)
        given = found.get(INPUT)
        return codes, scales, wanted, scales.shape, None if given is None else given.float()

    def _read_bias(self, site: Site, names: Sequence[Sequence[str]]) -> nn.Parameter | None:
        if site.bias is None:
            return None
        is_whole = len(names) == 1 and names[0][0] == site.name
        ending = "_bias" if site.is_stack and is_whole else ".bias"
        lost = [name + ending for each in names for name in each
                if not self._files.get_dtype(name + ending)]
        if lost:
            raise ArgumentError(f"expected a tensor '{lost[0]}', but got none")
        read = [torch.cat([self._files.read(name + ending) for name in each]) for each in names]
        bias = read[0] if is_whole else torch.stack(read)
        if bias.shape != site.bias.shape:
            raise ArgumentError(f"'{site.name}{ending}': expected shape {list(site.bias.shape)}, "
                                f"but got {list(bias.shape)}")
        return nn.Parameter(bias.to(site.bias.dtype), requires_grad=False)


def _get_block(format: str, n: int, k: int) -> tuple[int, int]:
    """Rows and columns that share a scale."""
    if format == FP8_BLOCKS:
        return FP8_BLOCK, FP8_BLOCK
    return (1 if format == FP8_CHANNEL else n), k


def write_fp8(name: str, module: Fp8Weight, names: FileNames) -> Iterator[tuple[str, Tensor]]:
    """The tensors of the files that a module came from."""
    layout, (dtype, shape) = module.layout, module.stored
    path, _, member = name.rpartition(".")
    is_split = module.is_stack and not layout.is_stack
    parts = names.split_stack(member) if is_split else ("",)
    inputs = iter([] if module.input_scale is None else module.input_scale)
    n = module.out_features // len(parts)
    groups = module.scales.shape[-2] // len(parts)
    bias_ending = "_bias" if layout.is_stack else ".bias"
    for number in range(len(module.data) if is_split else 1):
        for at, part in enumerate(parts):
            own = f"{path}.{number}.{part}" if is_split else name
            data, scales, bias = module.data, module.scales, module.bias
            if is_split:
                data = data[number, at * n:(at + 1) * n]
                scales = scales[number, at * groups:(at + 1) * groups]
                bias = None if bias is None else bias[number, at * n:(at + 1) * n]
            yield own + layout.data[0], data.contiguous().view(torch.float8_e4m3fn)
            yield own + layout.scales[0], scales.reshape(shape).to(dtype, copy=True)
            scale = next(inputs, None)
            if scale is not None:
                yield own + layout.input_scale, scale.clone()
            if bias is not None:
                yield own + bias_ending, bias.detach().contiguous()


def list_own(module: Fp8Weight) -> Mapping[str, Tensor | None]:
    """What a state dict has of a module."""
    return {"data": module.data, "scales": module.scales, "input_scale": module.input_scale,
            "bias": module.bias}
