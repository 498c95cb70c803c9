# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers in training over many ranks: amaxes of all of them, and shards of DTensors, as
tensor-parallel and sequence-parallel layers have them. Ranks and what they send are PyTorch's."""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import torch
from torch import Tensor

from blockscale._errors import ArgumentError
from blockscale._over_ranks import OverRanks, Reduction
from blockscale._training import TrainingForm

#: PyTorch may be built without it.
HAS_RANKS = torch.distributed.is_available()
if TYPE_CHECKING or HAS_RANKS:
    import torch.distributed._functional_collectives as collectives
    from torch.distributed import ProcessGroup
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.tensor import DTensor, Partial, Placement, Replicate, Shard


class Ranks(NamedTuple):
    """A group of ranks as layers and graphs have it: its name, and which one this process is."""

    name: str
    rank: int


if TYPE_CHECKING:
    AmaxGroup: TypeAlias = ProcessGroup | DeviceMesh | tuple[DeviceMesh, int] | Ranks
else:
    AmaxGroup = Any


def find_ranks(group: AmaxGroup, what: str = "amax_group") -> Ranks:
    """What a user gives as a group, under the name `what`."""
    if isinstance(group, Ranks):
        return group
    if not HAS_RANKS:
        raise ArgumentError(f"expected a PyTorch with torch.distributed for {what}, but got "
                            f"{torch.__version__}")
    if isinstance(group, ProcessGroup):
        return Ranks(str(group.group_name), torch.distributed.get_rank(group))
    mesh, dim = (group, 0) if isinstance(group, DeviceMesh) else (None, 0)
    if mesh is not None and mesh.ndim != 1:
        raise ArgumentError(f"expected {what} to be a mesh of one dimension, but got one of "
                            f"{mesh.ndim}; give (mesh, dimension), or a group of all its ranks")
    if isinstance(group, tuple) and len(group) == 2 and isinstance(group[0], DeviceMesh):
        mesh, dim = group
    if mesh is None or dim not in range(mesh.ndim):
        raise ArgumentError(f"expected {what} to be a ProcessGroup, a DeviceMesh or (mesh, "
                            f"dimension), but got {group!r}")
    return Ranks(str(collectives._resolve_group_name((mesh, dim))), mesh.get_local_rank(dim))


def share_largest(values: Tensor, groups: Sequence[str]) -> Tensor:
    """The largest ones over the ranks of all groups."""
    for group in groups:
        values = collectives.wait_tensor(collectives.all_reduce(values, "max", group))
    return values


class _OnGpu:
    """Numbers in a GPU's memory, as PyTorch takes arrays of others. Amaxes are not negative, so
    that their bits are in their order, and that of NaN is the last."""

    def __init__(self, reduction: Reduction):
        self.__cuda_array_interface__ = {
            "shape": (reduction.count,), "typestr": "<i4", "data": (reduction.address, False),
            "version": 2}


def _find_stream(number: int, device: torch.device) -> torch.cuda.Stream:
    """PyTorch makes a new stream where it is asked for that of the number 0."""
    if number == 0:
        return torch.cuda.default_stream(device)
    return torch.cuda.ExternalStream(number, device)


def reduce_over_ranks(group: AmaxGroup) -> OverRanks:
    """What reduces amaxes of compiled functions over the ranks of a group: `over_ranks` of
    blockscale.Compiled. On a GPU the collective is on the stream of the call.

    Args:
      group: a ProcessGroup, a mesh of one dimension, or (mesh, dimension).
    """
    name = find_ranks(group, "group").name
    ranks = torch.distributed.distributed_c10d._resolve_process_group(name)

    def reduce(values: Tensor) -> None:
        torch.distributed.all_reduce(values, torch.distributed.ReduceOp.MAX, ranks)

    def over_ranks(reduction: Reduction) -> None:
        if reduction.device is None:
            memory = (ctypes.c_int32 * reduction.count).from_address(reduction.address)
            reduce(torch.frombuffer(memory, dtype=torch.int32))
        else:
            device = torch.device("cuda", reduction.device)
            values = torch.as_tensor(_OnGpu(reduction), device=device)
            with torch.cuda.stream(_find_stream(reduction.stream, device)):
                reduce(values)
    return over_ranks


#: Numbers of random bits with the place of a part: seed, offset, first segment, and segments of a
#: row of the whole (docs/Numerics.md, section 16).
PLACED = 4
_SEGMENT = 16

#: Where a part of a tensor lies: the first segment of it, and those of a row of the whole tensor.
Place = tuple[int, int]


class Part(NamedTuple):
    """What a rank has of a layer: the names of the groups of ranks whose amaxes are shared, those
    of x and the weight and those of the gradient, and the places of x, the weight and y."""

    forward: tuple[str, ...]
    backward: tuple[str, ...]
    x: Place
    weight: Place
    y: Place


def count_segments(cols: int) -> int:
    """Of a row, which have their random bits together."""
    return -(-cols // _SEGMENT)


def _get_place(rows: int, cols: int, row_shard: int, col_shard: int, col_shards: int) -> Place:
    """That of shard (row_shard, col_shard) of [rows, cols] each."""
    per_row = count_segments(cols * col_shards)
    return row_shard * rows * per_row + col_shard * cols // _SEGMENT, per_row


def find_part(x: Tensor, weight: Tensor, ranks: Ranks) -> Part:
    """That of a rank, where all have the weight and as many rows of x."""
    (name, rank), (n, k), rows = ranks, weight.shape, math.prod(x.shape[:-1])
    return Part((name,), (name,), _get_place(rows, k, rank, 0, 1), _get_place(n, k, 0, 0, 1),
                _get_place(rows, n, rank, 0, 1))


def _make_places(places: tuple[Place, ...], device: torch.device) -> Tensor:
    return torch.tensor(places, dtype=torch.int64, device=device)


_keep_places = functools.lru_cache(maxsize=256)(_make_places)


def make_places(places: tuple[Place, ...], device: torch.device) -> Tensor:
    """Of operands, int64 [n, 2]. A copy to a GPU waits for it, so it is made once."""
    return (_make_places if torch.compiler.is_compiling() else _keep_places)(places, device)


def is_sharded(*tensors: Tensor | None) -> bool:
    return HAS_RANKS and any(isinstance(each, DTensor) for each in tensors)


class _Side(NamedTuple):
    """How the tensors of a layer lie along one dimension of a mesh, with the places of gradients
    that their shards have."""

    x: Placement
    of_x: Placement
    weight: Placement
    of_weight: Placement
    bias: Placement
    of_bias: Placement
    y: Placement


def _choose_side(x: Placement, weight: Placement, last: int) -> _Side:
    """The weight stays where it is, and x goes to it: as a whole to its rows, and by columns to its
    columns. Rows of x stay at a whole weight."""
    whole, total = Replicate(), Partial()
    if weight.is_shard(0):
        return _Side(whole, total, weight, weight, Shard(0), Shard(0), Shard(last))
    if weight.is_shard(1):
        columns = Shard(last)
        return _Side(columns, columns, weight, weight, whole, whole, total)
    if not weight.is_replicate():
        raise ArgumentError(f"expected a weight that is sharded or whole, but got {weight}")
    if x.is_shard() and not x.is_shard(last):
        return _Side(x, x, whole, total, whole, total, x)
    return _Side(whole, whole, whole, whole, whole, whole, whole)


def _check_shards(what: str, size: int, count: int, block: int) -> None:
    if size % (count * block):
        raise ArgumentError(f"expected {count} shards of {what} that cut no block of {block}, so a "
                            f"multiple of {count * block}, but got {size}")


def _get_placements(tensor: DTensor) -> list[Placement]:
    placements = list(tensor.placements)
    for each in placements:
        if not isinstance(each, (Shard, Replicate, Partial)):
            raise ArgumentError("expected placements that are Shard, Replicate or Partial, but got "
                                f"{each}")
    return placements


def _take(tensor: DTensor, places: Sequence[Placement], of_gradient: Sequence[Placement]) -> Tensor:
    """The shard of this rank, once the tensor is placed so."""
    if list(tensor.placements) != list(places):
        tensor = tensor.redistribute(placements=places)
    return tensor.to_local(grad_placements=of_gradient)


def _find_shard(mesh: DeviceMesh, places: Sequence[Placement], last: int, rows: int = 0
                ) -> tuple[int, int, int]:
    """This rank's number among shards of rows and of columns, and how many of the latter there are.
    Tensors are split along the first dimension of a mesh first, and before that are part `rows`."""
    cols, count = 0, 1
    for number, place in enumerate(places):
        size, here = mesh.size(number), mesh.get_local_rank(number)
        if place.is_shard(last):
            cols, count = cols * size + here, count * size
        elif place.is_shard():
            rows = rows * size + here
    return rows, cols, count


def multiply_shards(x: Tensor, weight: Tensor, bias: Tensor | None, form: TrainingForm,
                    ranks: Ranks | None,
                    multiply: Callable[[Tensor, Tensor, Tensor | None, Part], Tensor]) -> Tensor:
    """A layer of DTensors by `multiply`, the layer of shards. Amaxes are those of whole tensors,
    and of `ranks`, if there are some."""
    mesh: Any = None
    for what, tensor in (("x", x), ("the weight", weight), ("the bias", bias)):
        if tensor is None:
            continue
        if not isinstance(tensor, DTensor):
            raise ArgumentError(f"expected DTensors alone in a layer that has one, but got {what} "
                                "as a torch.Tensor; parallelize_module() makes DTensors of it, or "
                                "DTensor.from_local()")
        if mesh is None:
            mesh = tensor.device_mesh
        elif tensor.device_mesh != mesh:
            raise ArgumentError(f"expected {what} on the mesh of x, {mesh}, but got "
                                f"{tensor.device_mesh}")
    last = x.dim() - 1
    sides = [_choose_side(*each, last)
             for each in zip(_get_placements(x), _get_placements(weight))]
    n, k = weight.shape
    forward = [] if ranks is None else [ranks.name]
    backward = list(forward)
    is_first = True  # Of the ranks whose sums make y.
    for number, side in enumerate(sides):
        count, (name, rank) = mesh.size(number), find_ranks((mesh, number))
        if side.y.is_partial():
            _check_shards("the weight's columns", k, count, form.forward_input.block)
            is_first = is_first and rank == 0
        elif side.weight.is_shard():
            _check_shards("the weight's rows", n, count, form.dgrad_gradient.block)
        elif side.x.is_shard() and weight.requires_grad:
            _check_shards("rows of x", math.prod(x.shape[side.x.dim:last]), count,
                          form.wgrad_input.block)
        if side.x.is_shard() or side.weight.is_shard():
            forward.append(name)
        if side.y.is_shard():
            backward.append(name)
    of_x = _take(x, [each.x for each in sides], [each.of_x for each in sides])
    of_weight = _take(weight, [each.weight for each in sides], [each.of_weight for each in sides])
    of_bias = None
    if bias is not None:
        of_bias = _take(bias, [each.bias for each in sides], [each.of_bias for each in sides])
        if not is_first:  # One rank adds the bias to its sum. All of them have its gradient.
            of_bias = of_bias - of_bias.detach()
    rows, (n, k) = math.prod(of_x.shape[:-1]), of_weight.shape
    first = 0 if ranks is None else ranks.rank
    part = Part(tuple(forward), tuple(backward),
                _get_place(rows, k, *_find_shard(mesh, [each.x for each in sides], last, first)),
                _get_place(n, k, *_find_shard(mesh, [each.weight for each in sides], 1)),
                _get_place(rows, n, *_find_shard(mesh, [each.y for each in sides], last, first)))
    y = multiply(of_x, of_weight, of_bias, part)
    return DTensor.from_local(y, mesh, [each.y for each in sides], run_check=False)
