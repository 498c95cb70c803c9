# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of the numbers in checkpoints."""

from __future__ import annotations

import math
from typing import Any, Iterator, Mapping

import ml_dtypes
import numpy as np

from blockscale.checkpoint import _kernels, _names
from blockscale.checkpoint._candidates import Candidate, list_scalars
from blockscale.checkpoint._check._report import Finding, find
from blockscale.checkpoint._checkpoint import Checkpoint, Tensor
from blockscale.checkpoint._layouts import DATA, GLOBAL, IGNORED, INPUT, PLAIN_DTYPES, SCALES

_CHUNK = 16 << 20
#: The numbers of bytes of E4M3.
E4M3 = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float32)
_NAN, _LARGEST, _RANGE = 0x7F, 0x7E, 2688.0
#: No weight and no activation of a model is larger. A scale in the wrong direction stands for
#: numbers far above.
_LARGEST_WEIGHT, _LARGEST_ACTIVATION = 2.0e3, 1.0e5
#: A share of blocks with the largest scale that a clipped weight has.
_CLIPPED, _FEW_BLOCKS = 0.02, 256
#: Below it the largest block scale wastes bits of E4M3.
_LEAST_LARGEST = 28.0
#: Where the middle of the exponents of a weight lies.
_EXPONENTS = (80, 150)


def count_bytes(tensor: Tensor) -> np.ndarray:
    """How often each byte is in a tensor."""
    counts = np.zeros(256, np.int64)
    for begin in range(0, tensor.nbytes, _CHUNK):
        end = min(begin + _CHUNK, tensor.nbytes)
        counts += np.bincount(tensor.bytes(begin, end), minlength=256)
        tensor.release(begin, end)
    return counts


def _check_scalars(candidate: Candidate) -> Iterator[Finding]:
    for role, tensor in list_scalars(candidate):
        if tensor.dtype not in ("F32", "BF16", "F16"):
            continue
        values = tensor.numpy().astype(np.float32).reshape(-1)
        bad = values[~((values > 0) & (values < np.inf))]
        if bad.size:
            rule = "global-scale-is-positive" if role == GLOBAL else "input-scale-is-positive"
            yield find(rule, tensor.name, "expected numbers above 0 that are finite, but got "
                       f"{bad[0]}")


def _read_decode(candidate: Candidate, role: str) -> np.ndarray | None:
    """The decode scales of a role as the layout means them; None where there are no good ones."""
    tensor = candidate.get(role)
    if tensor is None or candidate.layout is None or tensor.dtype not in ("F32", "BF16", "F16"):
        return None
    values = tensor.numpy().astype(np.float64).reshape(-1)
    if not values.size or not ((values > 0) & (values < np.inf)).all():
        return None
    return 1 / values if candidate.layout.is_reciprocal else values


def _check_direction(candidate: Candidate) -> Iterator[Finding]:
    for role, rule, largest in ((GLOBAL, "direction-of-global-scale", _LARGEST_WEIGHT),
                                (INPUT, "direction-of-input-scale", _LARGEST_ACTIVATION)):
        scales = _read_decode(candidate, role)
        if scales is None:
            continue
        amax = float(scales.max()) * _RANGE
        other = _RANGE / float(scales.max())
        # A scale of 1 stands for itself in both directions.
        if amax > largest and other < largest and scales.max() != 1:
            tensor = candidate.get(role)
            assert tensor is not None and candidate.layout is not None
            wanted = "2688 / amax" if candidate.layout.is_reciprocal else "amax / 2688"
            yield find(rule, tensor.name, f"expected {wanted}, as {candidate.layout.name} has, but "
                       f"got {tensor.numpy().reshape(-1)[0]:.6g}, which would be an amax of "
                       f"{amax:.4g}; the reciprocal is one of {other:.4g}")


def _check_e4m3(candidate: Candidate, tensor: Tensor, counts: np.ndarray) -> Iterator[Finding]:
    total = int(counts.sum())
    if counts[_NAN] + counts[0xFF]:
        yield find("scales-are-numbers", tensor.name, f"expected no NaN in {total} scales, but got "
                   f"{counts[_NAN] + counts[0xFF]}")
    negative = int(counts[0x81:0xFF].sum())
    if negative:
        yield find("scales-are-positive", tensor.name, f"expected no negative scale of {total}, "
                   f"but got {negative}")
    positive = counts[:_NAN].nonzero()[0]
    if not positive.size or negative:
        return
    largest = E4M3[positive[-1]]
    clipped = counts[_LARGEST] / total
    if clipped > _CLIPPED and counts[_LARGEST] > _FEW_BLOCKS and candidate.get(GLOBAL) is not None:
        yield find("scales-in-range", tensor.name, f"expected few scales of 448, but got "
                   f"{100 * clipped:.1f} % of {total}: the global scale is too small")
    elif (candidate.layout is not None and candidate.layout.shares_global
          and 0 < largest < _LEAST_LARGEST and counts[1:_NAN].sum() > 1):
        yield find("scales-in-range", tensor.name, f"expected a largest scale near 448, but got "
                   f"{largest:g}: the global scale is too large")


def _check_e8m0(tensor: Tensor, counts: np.ndarray) -> Iterator[Finding]:
    total = int(counts.sum())
    if counts[255]:
        yield find("scales-are-numbers", tensor.name, f"expected no NaN (255) in {total} scales, "
                   f"but got {counts[255]}")
    # Blocks of zeros have the least exponent.
    rest = counts.copy()
    rest[0] = 0
    if rest.sum() < 2:
        return
    middle = int(np.searchsorted(np.cumsum(rest), rest.sum() / 2))
    if not _EXPONENTS[0] <= middle <= _EXPONENTS[1]:
        yield find("exponents-in-range", tensor.name, f"expected exponents near 127 - 8, with "
                   f"their bias, but half of them are above {middle}")


def _check_codes(candidate: Candidate, zeros: bool) -> Iterator[Finding]:
    """Codes that are all zero, and blocks that a scale of zero makes so."""
    data, scales, shape = candidate.get(DATA), candidate.get(SCALES), candidate.shape
    if data is None or shape is None or candidate.layout is None:
        return
    mask = np.uint8(0x77 if candidate.layout.is_fp4 else 0x7F)
    if data.nbytes and not _has_code(data, mask):
        yield find("codes-are-there", data.name, "expected codes other than 0, but got none in "
                   f"{data.nbytes} bytes")
    elif zeros and scales is not None and not candidate.layout.holds_swizzled:
        width = candidate.layout.block // (2 if candidate.layout.is_fp4 else 1)
        if data.nbytes != scales.nbytes * width:
            return
        count, step = 0, _CHUNK // width
        for begin in range(0, scales.nbytes, step):
            end = min(begin + step, scales.nbytes)
            lost = np.flatnonzero(scales.bytes(begin, end) & 0x7F == 0)
            blocks = data.bytes(begin * width, end * width).reshape(-1, width)
            count += int(((blocks[lost] & mask) != 0).any(-1).sum())
            data.release(begin * width, end * width)
        if count:
            yield find("no-lost-blocks", scales.name, "expected a scale above 0 of blocks with "
                       f"codes, but got 0 for {count} of {scales.nbytes}")


def _has_code(data: Tensor, mask: np.uint8) -> bool:
    """Whether a code is not zero."""
    for begin in range(0, data.nbytes, _CHUNK):
        end = min(begin + _CHUNK, data.nbytes)
        found = bool((data.bytes(begin, end) & mask).any())
        data.release(begin, end)
        if found:
            return True
    return False


def _check_interleaved(candidate: Candidate) -> Iterator[Finding]:
    """Codes of GGUF, whose scales are among them."""
    data = candidate.get(DATA)
    if data is None or candidate.layout is None:
        return
    size, scales = (36, 4) if candidate.layout.format == "nvfp4" else (17, 1)
    if data.nbytes % size:
        return
    blocks = data.bytes().reshape(-1, size)
    counts = np.bincount(blocks[:, :scales].reshape(-1), minlength=256)
    if scales == 4:
        if counts[_NAN] + counts[0xFF]:
            yield find("scales-are-numbers", data.name, "expected no NaN among scales, but got "
                       f"{counts[_NAN] + counts[0xFF]}")
        negative = int(counts[0x81:0xFF].sum())
        if negative:
            yield find("scales-are-positive", data.name, "expected no negative scale, but got "
                       f"{negative}")
    else:
        yield from _check_e8m0(data, counts)
    if not (blocks[:, scales:] & 0x77).any():
        yield find("codes-are-there", data.name, "expected codes other than 0, but got none")


def check_values(candidate: Candidate) -> Iterator[Finding]:
    """The numbers of the tensors of a weight."""
    layout = candidate.layout
    if layout is None:
        return
    yield from _check_scalars(candidate)
    yield from _check_direction(candidate)
    if layout.family == "gguf":
        yield from _check_interleaved(candidate)
        return
    scales = candidate.get(SCALES)
    if scales is None:
        return
    if layout.format == "fp8_blocks":
        if scales.dtype in ("F32", "BF16"):
            values = scales.numpy().astype(np.float32)
            for bad, rule in ((np.isnan(values) | np.isinf(values), "scales-are-numbers"),
                              (values < 0, "scales-are-positive")):
                if bad.any():
                    yield find(rule, scales.name, f"expected none, but got {int(bad.sum())} of "
                               f"{values.size}")
        return
    counts = count_bytes(scales)
    is_nvfp4 = layout.format == "nvfp4"
    if scales.dtype not in (("F8_E4M3",) if is_nvfp4 else ("U8", "F8_E8M0")):
        return  # Another rule says so, and the bytes are of something else.
    if is_nvfp4:
        yield from _check_e4m3(candidate, scales, counts)
    else:
        yield from _check_e8m0(scales, counts)
    yield from _check_codes(candidate, is_nvfp4 and bool(counts[0] + counts[0x80]))


def check_equal_scales(candidates: Mapping[str, Candidate]) -> Iterator[Finding]:
    """Whether layers that loaders fuse have one global scale and one input scale."""
    shared = [name for name, candidate in candidates.items()
              if candidate.layout is not None and candidate.layout.shares_global]
    for group in _names.find_groups(shared):
        for role, rule in ((GLOBAL, "equal-global-scales"), (INPUT, "equal-input-scales")):
            found = [(name, tensor) for name in group
                     if (tensor := candidates[name].get(role)) is not None
                     and tensor.dtype == "F32"]
            for name, tensor in found[1:]:
                first, second = found[0][1].numpy(), tensor.numpy()
                if first.size == second.size and not np.array_equal(first.reshape(-1),
                                                                    second.reshape(-1)):
                    yield find(rule, tensor.name, f"expected {first.reshape(-1)[0]:.8g}, as "
                               f"'{found[0][0]}' has, but got {second.reshape(-1)[0]:.8g}")


def check_plain(checkpoint: Checkpoint, used: set[str]) -> Iterator[Finding]:
    """Whether plain tensors are finite."""
    for name, tensor in checkpoint.tensors.items():
        if name in used or tensor.dtype not in PLAIN_DTYPES or not tensor.nbytes:
            continue
        dtype = PLAIN_DTYPES[tensor.dtype]
        step = _CHUNK // _kernels.DTYPES[dtype].itemsize
        flat = tensor.numpy().reshape(1, -1)
        amax = 0.0
        for begin in range(0, flat.shape[1], step):
            amax = _kernels.compute_amax(flat[:, begin:begin + step], dtype)
            tensor.release(begin * flat.itemsize, min(begin + step, flat.size) * flat.itemsize)
            if not math.isfinite(amax):
                break
        if not math.isfinite(amax):
            yield find("plain-numbers", name, f"expected finite numbers, but got {amax}")


def check_cache(checkpoint: Checkpoint) -> Iterator[Finding]:
    """Scales of the KV cache."""
    names = [name for name in checkpoint.tensors if name.endswith(IGNORED)]
    for name in names:
        tensor = checkpoint.tensors[name]
        if tensor.dtype in PLAIN_DTYPES:
            values = tensor.numpy().astype(np.float32)
            if not ((values > 0) & (values < np.inf)).all():
                yield find("cache-scales", name, "expected numbers above 0 that are finite, but "
                           f"got {values.reshape(-1)[0]}")
    inner: Any = checkpoint.quantization.get("quantization") or {}
    outer: Any = checkpoint.config.get("quantization_config") or {}
    algorithm = inner.get("kv_cache_quant_algo") or outer.get("kv_cache_scheme")
    if algorithm and not names:
        yield find("cache-scales", checkpoint.path, "expected scales of keys and values, since the "
                   f"configuration says {algorithm!r}, but got none")
