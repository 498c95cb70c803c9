# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converts weights: codes and scales stay, or follow a closed form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from blockscale import _native
from blockscale._errors import ArgumentError, check
from blockscale._native import _checkpoint as _bytes
from blockscale.checkpoint._checkpoint import Checkpoint
from blockscale.checkpoint._codes import read_codes, read_factors, read_fp8, read_scalars
from blockscale.checkpoint._families import get_layout
from blockscale.checkpoint._layouts import (
    DATA,
    FP8_BLOCK,
    FP8_BLOCKS,
    GLOBAL,
    INPUT,
    SCALES,
    Layout,
    get_fp8_scales,
)
from blockscale.checkpoint._tensors import Weight
from blockscale.checkpoint._values import list_chunks


def _select(member: Mapping[str, Any], begin: int, end: int) -> slice:
    """Rows of the source that are rows of the result."""
    first, step = member["first"], member["step"]
    return slice(first + begin * step, first + (end - 1) * step + 1, step)


def turn(scale: np.float32, layout: Layout, target: Layout) -> tuple[np.float32, bool]:
    """A scalar of a layout as another one has it, and whether the same way back gives its bits."""
    if layout.is_reciprocal == target.is_reciprocal:
        return scale, True
    turned = np.float32(1) / scale
    return turned, bool(np.float32(1) / turned == scale)


def _read_all(weight: Weight, member: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    return read_codes(weight, member["matrix"] or 0, _select(member, 0, member["count"]))


def _write_codes(names: Mapping[str, str], target: Layout, codes: np.ndarray, scales: np.ndarray,
                 at: int, sink: Any) -> int:
    """Writes rows from row `at` of a tensor on; the number of scales that mean something else
    there."""
    if target.holds_scales:
        packed, changed = _bytes.pack_gguf(target.format.upper(), len(codes),
                                           2 * codes.shape[1], codes, scales)
        sink.write(names[DATA], packed, at * packed.shape[1])
        return changed
    sink.write(names[DATA], codes, at * codes.shape[1])
    if not target.holds_swizzled:
        sink.write(names[SCALES], scales, at * scales.shape[1])
    return 0


def _copy_codes(weight: Weight, member: Mapping[str, Any], target: Layout, sink: Any) -> int:
    """Writes codes and scales in another order; the number of blocks that change."""
    names, matrix, count = member["outputs"], member["target_matrix"], member["count"]
    changed = 0
    tiles = []
    for begin, end in list_chunks(count, weight.shape[-1]):
        codes, scales = read_codes(weight, member["matrix"] or 0, _select(member, begin, end))
        changed += _write_codes(names, target, codes, scales, matrix * count + begin, sink)
        if target.holds_swizzled:
            tiles.append(scales)
    if target.holds_swizzled:
        swizzled = check(_native.swizzle(np.concatenate(tiles)))[0]
        sink.write(names[SCALES], swizzled, matrix * swizzled.nbytes)
    return changed


def _get_part(values: np.ndarray | None, member: Mapping[str, Any]) -> np.float32 | None:
    return None if values is None else np.float32(values[member["matrix"] or 0])


def _write_scalars(weight: Weight, member: Mapping[str, Any], target: Layout, sink: Any) -> bool:
    """Global scale and input scale in the direction of the layout; whether both come back."""
    names, at, is_same = member["outputs"], member["target_matrix"] * 4, True
    if GLOBAL in names:
        found = _get_part(read_scalars(weight, GLOBAL), member)
        if found is None:
            turned, is_same = np.float32(1), True
        else:
            turned, is_same = turn(found, weight.layout, target)
        sink.write(names[GLOBAL], np.array([turned], np.float32), at)
    if INPUT in names:
        stored = _get_part(read_scalars(weight, INPUT), member)
        if stored is not None:
            turned, comes_back = turn(stored, weight.layout, target)
            is_same = is_same and comes_back
            sink.write(names[INPUT], np.array([turned], np.float32), at)
    return is_same


def _widen(weights: Sequence[Weight], members: Sequence[Mapping[str, Any]],
           targets: Sequence[Layout], sink: Any) -> list[int]:
    """MXFP4 as NVFP4: the global scale is a power of two, that of the largest exponent of all."""
    parts = [_read_all(weight, member) for weight, member in zip(weights, members)]
    exponent = max(_bytes.mxfp4_max_exponent(scales) for _, scales in parts)
    lost = []
    for (codes, scales), member, target in zip(parts, members, targets):
        wide, block_scales, scale, count = _bytes.mxfp4_to_nvfp4(
            len(codes), 2 * codes.shape[1], codes, scales, exponent)
        names, at = member["outputs"], member["target_matrix"]
        _write_codes(names, target, wide, block_scales, at * len(wide), sink)
        if target.holds_swizzled:
            swizzled = check(_native.swizzle(block_scales))[0]
            sink.write(names[SCALES], swizzled, at * swizzled.nbytes)
        stored = 1 / scale if target.is_reciprocal else scale  # A power of two.
        if GLOBAL in names:
            sink.write(names[GLOBAL], np.array([stored], np.float32), at * 4)
        lost.append(count)
    return lost


def _to_fp8(weight: Weight, member: Mapping[str, Any], sink: Any) -> int:
    """MXFP4 as E4M3 with a scale for each 128 x 128."""
    codes, scales = _read_all(weight, member)
    data, factors, lost = _bytes.mxfp4_to_fp8(len(codes), 2 * codes.shape[1],
                                              (FP8_BLOCK, FP8_BLOCK), codes, scales)
    sink.write(member["outputs"][DATA], data, member["target_matrix"] * data.nbytes)
    sink.write(member["outputs"][SCALES], factors, member["target_matrix"] * factors.nbytes)
    return lost


def _to_blocks(weight: Weight, member: Mapping[str, Any], sink: Any) -> None:
    """E4M3 as it is, with a scale for each 128 x 128.

    Raises: ArgumentError where rows of two blocks of the source are in one of the result.
    """
    matrix, count, first = member["matrix"] or 0, member["count"], member["first"]
    if weight.format == FP8_BLOCKS and (first % FP8_BLOCK or member["step"] != 1):
        raise ArgumentError(f"expected rows of whole blocks of {FP8_BLOCK} for '{member['name']}', "
                            f"but it begins at row {first} of '{weight.name}', or its rows "
                            "alternate with others")
    cols, names, at = weight.shape[-1], member["outputs"], member["target_matrix"]
    for begin, end in list_chunks(count, cols):
        codes = read_fp8(weight, matrix, _select(member, begin, end))
        sink.write(names[DATA], codes, (at * count + begin) * cols)
    tall, wide = get_fp8_scales(FP8_BLOCKS, count, cols)
    factors = read_factors(weight, matrix)
    if weight.format == FP8_BLOCKS:
        factors = factors[first // FP8_BLOCK:][:tall]
    scales = np.ascontiguousarray(np.broadcast_to(factors, (tall, wide)))
    sink.write(names[SCALES], scales, at * scales.nbytes)


def _stack(weights: Sequence[Weight], members: Sequence[Mapping[str, Any]], sink: Any) -> None:
    """Rows of layers of one expert that alternate in a stack."""
    parts = [_read_all(weight, member) for weight, member in zip(weights, members)]
    names, at = members[0]["outputs"], members[0]["target_matrix"]
    for role, number in ((DATA, 0), (SCALES, 1)):
        rows = [part[number] for part in parts]
        both = np.stack(rows, 1).reshape(-1, rows[0].shape[-1])
        sink.write(names[role], both, at * both.nbytes)


def convert_group(arguments: Mapping[str, Any], source: Checkpoint, sink: Any) -> Any:
    """Converts weights that share a global scale.

    The arguments are `how`, "same", "stack", "mxfp4_to_nvfp4", "mxfp4_to_fp8" or "fp8_to_blocks",
    and `members` as quantize_group() has them.
    """
    members, how = arguments["members"], arguments["how"]
    weights = [source.weights[member["weight"]] for member in members]
    targets = [get_layout(member["layout"]) for member in members]
    comes_back = [True] * len(members)
    lost = [0] * len(members)
    if how == "mxfp4_to_nvfp4":
        lost = _widen(weights, members, targets, sink)
    elif how == "mxfp4_to_fp8":
        lost = [_to_fp8(weight, member, sink) for weight, member in zip(weights, members)]
    elif how == "fp8_to_blocks":
        for weight, member in zip(weights, members):
            _to_blocks(weight, member, sink)
    elif how == "stack":
        _stack(weights, members, sink)
    else:
        lost = [_copy_codes(weight, member, target, sink)
                for weight, member, target in zip(weights, members, targets)]
        comes_back = [_write_scalars(weight, member, target, sink)
                      for weight, member, target in zip(weights, members, targets)]
    for weight in weights:
        if len(weight.shape) == 2:
            for part in weight.parts.values():
                part.release()
    return {"members": [{"name": member["name"], "lost": int(count), "comes_back": back}
                        for member, count, back in zip(members, lost, comes_back)]}
