# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of the tensors of weights: which there are, their types and shapes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from blockscale.checkpoint._candidates import TRANSFORM, Candidate
from blockscale.checkpoint._check._report import Finding, find
from blockscale.checkpoint._checkpoint import Checkpoint
from blockscale.checkpoint._config import TORCHAO_NAMES, get_size
from blockscale.checkpoint._families import get_family
from blockscale.checkpoint._layouts import (
    DATA,
    GLOBAL,
    INPUT,
    SCALES,
    Layout,
    find_fp8_formats,
    get_fp8_scales,
)

#: Types that hold the same bits as that of a layout.
_ALIKE = {"U8": ("U8", "I8"), "F8_E8M0": ("F8_E8M0", "U8")}


def check_parts(checkpoint: Checkpoint, candidate: Candidate) -> Iterator[Finding]:
    """Which tensors of a weight there are, and their types."""
    name, layout, parts = candidate.name, candidate.layout, candidate.parts
    group = checkpoint.scheme.find(name)
    if layout is None:
        data = parts.get(".weight")
        scales = ", ".join(f"'{tensor.name}'" for ending, tensor in parts.items()
                           if ending != ".weight")
        if data is None:
            yield find("has-codes", name, f"expected codes beside {scales}, but got none")
        elif data.dtype in ("F32", "BF16", "F16"):
            yield find("has-codes", name, f"expected codes beside {scales}, but got a plain weight "
                       f"of {data.dtype}")
        return
    for role, ending in layout.endings.items():
        tensor = candidate.get(role)
        if tensor is None:
            yield from _check_missing(candidate, layout, role, name + ending, group)
            continue
        if not has_type(candidate, role):
            yield find("types-of-parts", tensor.name, f"expected {layout.get_dtype(role)}, as "
                       f"{layout.name} has, but got {tensor.dtype}")
    if candidate.get(INPUT) is not None and group is not None and (
            not group.quantizes_activations):
        yield find("needs-input-scale", name, "expected no input scale, since "
                   f"{checkpoint.scheme.origin} says {group.algorithm} without activations, but "
                   "got one")
    algorithm = group.algorithm if group is not None else ""
    if TRANSFORM in parts and not any(each in algorithm for each in ("AWQ", "SVD")):
        yield find("has-transform", name, "expected NVFP4_AWQ or NVFP4_SVD in the configuration "
                   f"beside a pre_quant_scale, but got '{algorithm}'")


def _check_missing(candidate: Candidate, layout: Layout, role: str, name: str,
                   group: Any) -> Iterator[Finding]:
    """A tensor that is not there."""
    if role == SCALES:
        yield find("has-scales", candidate.name, f"expected '{name}', but got none")
    elif role == GLOBAL and layout.holds_scales:
        yield find("has-tensor-scale", candidate.name, f"expected '{name}', but got none")
    elif role == GLOBAL and get_family(layout.family).needs_global:
        yield find("has-global-scale", candidate.name, f"expected '{name}', but got none")
    elif role == INPUT and group is not None and group.has_static_scale and (
            group.format == layout.format):
        yield find("has-input-scale", candidate.name, f"expected '{name}', since the configuration "
                   f"says {group.algorithm}, but got none")
    elif role == DATA:
        yield find("has-codes", candidate.name, f"expected '{name}', but got none")


def _count(shape: Sequence[int]) -> int:
    product = 1
    for size in shape:
        product *= size
    return product


def has_type(candidate: Candidate, role: str) -> bool:
    """Whether a tensor has a type with the bits of that of its layout."""
    tensor, layout = candidate.get(role), candidate.layout
    if tensor is None or layout is None:
        return False
    return layout.accepts(role, tensor.dtype) or (
        tensor.dtype in _ALIKE.get(layout.get_dtype(role), ()))


def check_shapes(checkpoint: Checkpoint, candidate: Candidate) -> Iterator[Finding]:
    """The shapes of the scales of a weight."""
    layout, scales = candidate.layout, candidate.get(SCALES)
    shape = get_shape(checkpoint, candidate)
    if layout is None or shape is None or not has_type(candidate, DATA):
        return
    *batch, n, k = shape
    block = layout.block
    if k % block and not layout.is_fp8:
        yield find("whole-blocks", candidate.name, f"expected K of whole blocks of {block}, but "
                   f"got {k}")
    if layout.holds_scales or scales is None:
        return
    if layout.is_fp8:
        yield from _check_fp8(candidate, shape, scales)
        return
    columns = -(-k // block)
    wanted = [*batch, n, columns]
    tiles = _count([*batch, -(-n // 128), -(-columns // 4), 512])
    found = list(scales.shape)
    if layout.holds_swizzled:
        yield from _check_described(checkpoint, candidate, _count(found), _count(wanted), tiles)
        return
    weight = checkpoint.weights.get(candidate.name)
    if found == wanted or (weight is not None and weight.is_transposed):
        return
    if found == [*batch, wanted[-1], wanted[-2]]:
        yield find("order-of-scales", scales.name, f"expected shape {wanted}, but got {found}, "
                   "which is transposed")
    elif _count(found) == tiles:
        yield find("order-of-scales", scales.name, f"expected shape {wanted}, but got {found}, as "
                   "many as in the tiles of swizzle_128x4")
    else:
        yield find("shape-of-scales", scales.name, f"expected shape {wanted} for a weight "
                   f"{list(shape)}, but got {found}")


def get_shape(checkpoint: Checkpoint, candidate: Candidate) -> tuple[int, ...] | None:
    """The shape [.., N, K] of a weight, as its codes say, and where they are transposed, its
    scales."""
    weight = checkpoint.weights.get(candidate.name)
    is_one = weight is not None and not weight.layout.is_plain
    return weight.shape if is_one and weight is not None else candidate.shape


def _check_fp8(candidate: Candidate, shape: Sequence[int], scales: Any) -> Iterator[Finding]:
    layout = candidate.layout
    assert layout is not None
    *batch, n, k = shape
    if layout.format in find_fp8_formats(shape, scales.shape):
        return
    tall, wide = get_fp8_scales(layout.format, n, k)
    wanted, found = [*batch, tall, wide], list(scales.shape)
    if tall != wide and found == [*batch, wide, tall]:
        yield find("order-of-scales", scales.name, f"expected shape {wanted}, but got {found}, "
                   "which is transposed")
    else:
        yield find("shape-of-scales", scales.name, f"expected shape {wanted} for a weight "
                   f"{list(shape)}, but got {found}")


def check_metadata(checkpoint: Checkpoint, candidates: Mapping[str, Candidate]
                   ) -> Iterator[Finding]:
    """Whether there are the tensors that the metadata of files describe for torchao."""
    unknown = {each.name for each in checkpoint.unknown}
    for name, described in checkpoint.torchao.items():
        if described["_type"] != "Tensor" and name not in candidates and name not in unknown:
            yield find("described-tensors", name, f"expected tensors of torchao's "
                       f"{described['_type']}, as the metadata of the file say, but got none")


def _check_described(checkpoint: Checkpoint, candidate: Candidate, found: int, linear: int,
                     tiles: int) -> Iterator[Finding]:
    """What the metadata say of a tensor of torchao."""
    described = checkpoint.torchao.get(candidate.name)
    data = described.get("_data") if described is not None else None
    # Stacks of experts are parameters of their own, and not the `weight` of a module.
    shape = candidate.shape
    name = candidate.name + ".weight" * (shape is None or len(shape) == 2)
    if not isinstance(data, dict):
        yield find("described-tensors", candidate.name, "expected metadata of the file for "
                   f"'{name}', but got none")
        return
    if name not in checkpoint.torchao_names:
        yield find("described-tensors", candidate.name, f"expected '{name}' among "
                   f"the {TORCHAO_NAMES} of the files' metadata, but it is not there")
    size = data.get("block_size")
    if candidate.layout is not None and isinstance(size, int) and size != candidate.layout.block:
        yield find("described-tensors", candidate.name, f"expected block_size "
                   f"{candidate.layout.block}, as {candidate.layout.name} has, but got {size}")
    is_swizzled = bool(data.get("is_swizzled_scales"))
    scales, shape, layout = candidate.get(SCALES), candidate.shape, candidate.layout
    if is_swizzled and scales is not None and shape is not None and layout is not None:
        rows = layout.get_shape(SCALES, shape)
        if scales.shape != rows and scales.shape == (*rows[:-2], rows[-1], rows[-2]):
            yield find("order-of-scales", scales.name, f"expected shape {list(rows)}, but got "
                       f"{list(scales.shape)}, which is transposed")
    wanted = tiles if is_swizzled else linear
    if found != wanted:
        yield find("described-tensors", candidate.name,
                   f"expected {wanted} scales {'in tiles' if is_swizzled else 'in rows'}, as "
                   f"is_swizzled_scales says, but got {found}")


#: Layers that read what other layers wrote into the model's hidden state, and those that write it.
_READERS = ("q_proj", "k_proj", "v_proj", "qkv_proj", "gate_proj", "up_proj", "gate_up_proj", "w1",
            "w3", "q_a_proj", "kv_a_proj_with_mqa")
_WRITERS = ("o_proj", "down_proj", "w2", "out_proj")


def check_orientation(checkpoint: Checkpoint, candidate: Candidate) -> Iterator[Finding]:
    """Whether rows are outputs, by the sizes of the configuration."""
    hidden = get_size(checkpoint.config, "hidden_size")
    shape = get_shape(checkpoint, candidate)
    if hidden is None or shape is None or candidate.layout is None:
        return
    last = candidate.name.rpartition(".")[2]
    n, k = shape[-2:]
    # Of codes that are packed along rows, the other size counts bytes.
    sizes = (hidden, 2 * hidden) if candidate.layout.is_fp4 else (hidden,)
    if last in _READERS and k != hidden and n == hidden:
        yield find("orientation", candidate.name, f"expected K of {hidden}, the hidden size, but "
                   f"got [{n}, {k}], which is transposed")
    elif last in _WRITERS and n != hidden and k in sizes:
        yield find("orientation", candidate.name, f"expected N of {hidden}, the hidden size, but "
                   f"got [{n}, {k}], which is transposed")


def check_tensor_parallel(candidate: Candidate, degrees: Sequence[int]) -> Iterator[Finding]:
    """Whether blocks stay whole where a weight is cut in parts."""
    shape, layout = candidate.shape, candidate.layout
    if shape is None or layout is None:
        return
    n, k = shape[-2:]
    last = candidate.name.rpartition(".")[2]
    block = layout.block
    for degree in degrees:
        if last in _WRITERS and k % (degree * block):
            yield find("tensor-parallel-blocks", candidate.name,
                       f"expected K of whole blocks of {block} in each of {degree} parts, but got "
                       f"{k} / {degree} = {k / degree:g}")
        elif last in _READERS and last not in ("k_proj", "v_proj", "kv_a_proj_with_mqa") and (
                n % degree):
            yield find("tensor-parallel-rows", candidate.name, f"expected rows that {degree} parts "
                       f"share, but got {n}")


def check_groups(checkpoint: Checkpoint, candidates: Mapping[str, Candidate]) -> Iterator[Finding]:
    """Whether layers that loaders fuse are quantized alike."""
    names = [*candidates, *(name for name, weight in checkpoint.weights.items()
                            if name not in candidates and len(weight.shape) == 2)]
    for group in checkpoint.names.find_groups(names):
        if len(group) < 2:
            continue
        layouts = {name: candidates[name].layout if name in candidates else None
                   for name in group}
        forms = {name: "plain" if layout is None else layout.name
                 for name, layout in layouts.items()}
        first = group[0]
        for name in group[1:]:
            if forms[name] != forms[first]:
                yield find("whole-fused-groups", name, f"expected {forms[first]}, as '{first}' "
                           f"has, but got {forms[name]}")
