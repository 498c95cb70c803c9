# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantizes weights that share an amax."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from blockscale import _native
from blockscale._errors import ArgumentError, check
from blockscale._native import _checkpoint as _bytes
from blockscale._ops import FORMATS
from blockscale.checkpoint import _kernels
from blockscale.checkpoint._checkpoint import Checkpoint
from blockscale.checkpoint._families import get_layout
from blockscale.checkpoint._layouts import DATA, GGML, GLOBAL, INPUT, SCALES, Layout
from blockscale.checkpoint._measure import Error
from blockscale.checkpoint._quantize import _gpu
from blockscale.checkpoint._values import Rows, list_chunks

#: Pages that groups of all threads have mapped at once.
_MAPPED_BYTES = 1 << 30
_BUFFERS = threading.local()


class _Budget:
    """Bytes that threads share."""

    def __init__(self, nbytes: int):
        self._left = nbytes
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def take(self, nbytes: int) -> Iterator[bool]:
        """Whether so many are left, which the body has then."""
        with self._lock:
            is_taken = nbytes <= self._left
            if is_taken:
                self._left -= nbytes
        try:
            yield is_taken
        finally:
            if is_taken:
                with self._lock:
                    self._left += nbytes


_MAPPED = _Budget(_MAPPED_BYTES)


def _get_buffers(rows: int, columns: int, scales: int) -> tuple[np.ndarray, np.ndarray]:
    """Arrays of uint8 for codes and scales, those of this thread's last call where they are large
    enough."""
    found = []
    for name, size in (("codes", rows * columns), ("scales", rows * scales)):
        buffer = getattr(_BUFFERS, name, None)
        if buffer is None or buffer.size < size:
            buffer = np.empty(size, np.uint8)
            setattr(_BUFFERS, name, buffer)
        found.append(buffer[:size])
    return found[0].reshape(rows, columns), found[1].reshape(rows, scales)


def _check_finite(amax: float, rows: Rows) -> None:
    if not math.isfinite(amax):
        raise ArgumentError(f"'{rows.weight.name}': expected numbers that are finite, but got an "
                            f"amax of {amax}")


def _find_amax(members: list[Rows], stays_mapped: bool) -> float:
    """The largest absolute value of all rows. Where their pages do not stay mapped, each is given
    back at once, and comes again when it is quantized.

    Raises: ArgumentError for numbers that are not finite.
    """
    largest = 0.0
    for rows in members:
        for begin, end in list_chunks(rows.count, rows.row_bytes):
            found = _kernels.compute_amax(rows.read(begin, end), rows.dtype)
            _check_finite(found, rows)
            largest = max(largest, found)
            if not stays_mapped:
                rows.release(begin, end)
    return largest


def _quantize_rows(x: np.ndarray, dtype: str, layout: Layout, how: Mapping[str, Any],
                   amax: float | None, codes: np.ndarray, scales: np.ndarray) -> np.ndarray | None:
    """Quantizes rows, and gives the blocks of GGUF that both become, where the layout has these."""
    count, cols = x.shape
    kind = layout.format.upper()
    packed: np.ndarray | None = None
    if how["recipe"] == GGML:
        packed = _bytes.quantize_gguf(kind, _kernels.STORED[dtype], count, cols, x)
        _bytes.unpack_gguf(kind, count, cols, packed, codes, scales)
        return packed
    run = _gpu.quantize if how["on"] == "cuda" else _kernels.quantize
    run(x, dtype, layout.format, how["recipe"], amax, how["is_swept"], [codes, scales])
    if layout.holds_scales:
        packed = _bytes.pack_gguf(kind, count, cols, codes, scales)[0]
    return packed


def _write_member(member: Mapping[str, Any], rows: Rows, layout: Layout, how: Mapping[str, Any],
                  amax: float | None, scale: np.float32 | None, sink: Any) -> dict[str, Any]:
    """Quantizes rows of a weight, and measures the error of some of them."""
    names, format = member["outputs"], layout.format
    columns = _kernels.get_code_columns(format, rows.cols)
    blocks = -(-rows.cols // FORMATS[format][2])
    error = Error(rows.dtype, format, scale, how["counts_blocks"])
    matrix = member["target_matrix"]
    tiles = np.empty((rows.count, blocks), np.uint8) if member["is_swizzled"] else None
    for begin, end in list_chunks(rows.count, rows.row_bytes):
        x = rows.read(begin, end)
        if how["scaling"] != "dynamic":  # Whose amax was computed.
            _check_finite(_kernels.compute_amax(x, rows.dtype), rows)
        codes, scales = _get_buffers(end - begin, columns, blocks)
        packed = _quantize_rows(x, rows.dtype, layout, how, amax, codes, scales)
        at = matrix * rows.count + begin
        if packed is not None:
            sink.write(names[DATA], packed, at * packed.shape[1])
        else:
            sink.write(names[DATA], codes, at * columns)
            if tiles is None:
                sink.write(names[SCALES], scales, at * blocks)
        if tiles is not None:
            tiles[begin:end] = scales
        measured = min(max((end - begin) // how["measured"], 1), end - begin)
        if measured:
            error.add(x[:measured], codes[:measured], scales[:measured])
        rows.release(begin, end)
    if tiles is not None:
        swizzled = check(_native.swizzle(tiles))[0]
        sink.write(names[SCALES], swizzled, matrix * swizzled.nbytes)
    return error.describe()


def _get_scalars(layout: Layout, how: Mapping[str, Any], amax: float) -> tuple[np.float32,
                                                                                np.float32]:
    """The global scale as it is stored, and the decode scale that it stands for."""
    if layout.is_reciprocal:
        encode = _kernels.get_global_scale(how["recipe"], amax, how["dtype"])
        return encode, np.float32(1) / encode
    decode = _kernels.get_global_scale(how["recipe"], amax, None)
    return decode, decode


def make_kernels_ahead(groups: Iterable[Mapping[str, Any]]
                       ) -> contextlib.AbstractContextManager[None]:
    """Makes what `quantize_group` of these arguments calls on the CPU, while the body runs."""
    quantizers, dequantizers = [], []
    for each in groups:
        for format in {get_layout(member["layout"]).format for member in each["members"]}:
            dequantizers.append((format, format == "nvfp4", "f32"))
            if each["recipe"] != GGML and each["on"] == "cpu":
                quantizers.append((format, each["recipe"], each["dtype"], each["is_swept"],
                                   each["scaling"] != "none"))
    return _kernels.make_ahead(quantizers, dequantizers)


def quantize_group(arguments: Mapping[str, Any], source: Checkpoint, sink: Any) -> Any:
    """Quantizes weights that share an amax.

    The arguments are:
      members: each with `weight` and `matrix` of the source, `first`, `count` and `step` of its
        rows, `layout`, `outputs` by role, `target_matrix`, `input_amax` and `is_swizzled`.
      scaling: "none", "dynamic" or "amax", which is that of `amax`.
      on: "cpu" or "cuda", which give the same bytes.
      recipe, is_swept, cast, dtype: as forms of layers have them.
      measured: one of so many rows is dequantized to measure the error, and `counts_blocks` whether
        blocks are counted that have other numbers.
    """
    members = [Rows(source.weights[each["weight"]], each["matrix"], each["first"], each["count"],
                    each["step"], arguments["cast"]) for each in arguments["members"]]
    size = sum(rows.count * rows.row_bytes for rows in members)
    with _MAPPED.take(size) as stays_mapped:
        amax = None
        if arguments["scaling"] != "none":
            amax = _native.get_nonzero_amax(
                float(arguments["amax"]) if arguments["scaling"] == "amax"
                else _find_amax(members, stays_mapped))
        return {"amax": amax, "members": _write_members(arguments, members, amax, sink)}


def _write_members(arguments: Mapping[str, Any], members: list[Rows], amax: float | None,
                   sink: Any) -> list[dict[str, Any]]:
    """Quantizes weights under an amax, and gives their errors."""
    layouts = [get_layout(each["layout"]) for each in arguments["members"]]
    found = []
    for member, rows, layout in zip(arguments["members"], members, layouts):
        stored = decode = None
        if layout.format == "nvfp4":
            stored = decode = np.float32(1)
            if amax is not None:
                stored, decode = _get_scalars(layout, arguments, amax)
        error = _write_member(member, rows, layout, arguments, amax, decode, sink)
        names, matrix = member["outputs"], member["target_matrix"]
        if GLOBAL in names:
            sink.write(names[GLOBAL], np.array([stored], np.float32), matrix * 4)
        if INPUT in names:
            value, _ = _get_scalars(layout, {**arguments, "recipe": layout.activation_recipe},
                                    _native.get_nonzero_amax(member["input_amax"]))
            sink.write(names[INPUT], np.array([value], np.float32), matrix * 4)
        found.append({"name": member["name"], **error})
    return found
