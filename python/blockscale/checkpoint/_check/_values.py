# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of the numbers in checkpoints."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import ml_dtypes
import numpy as np

from blockscale.checkpoint import _kernels
from blockscale.checkpoint._candidates import Candidate, list_scalars
from blockscale.checkpoint._check._fp8 import check_fp8_scales
from blockscale.checkpoint._check._numbers import find_no_scale
from blockscale.checkpoint._check._report import Finding, find
from blockscale.checkpoint._checkpoint import Checkpoint
from blockscale.checkpoint._families import get_family
from blockscale.checkpoint._layouts import DATA, GLOBAL, IGNORED, INPUT, PLAIN_DTYPES, SCALES
from blockscale.checkpoint._tensors import Tensor

#: Bytes that are read at once; what is computed of them takes some times as many.
_CHUNK = 4 << 20
#: Bytes that are read first where one that is not zero is looked for, and bytes that stay in the
#: caches of a core while something is computed of them.
_FIRST, _PART = 64 << 10, 256 << 10
#: The numbers of bytes of E4M3.
E4M3 = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float32)
_NAN, _LARGEST, _RANGE = 0x7F, 0x7E, 2688.0
#: No weight and no activation of a model is larger. A scale in the wrong direction stands for
#: numbers far above.
_LARGEST_WEIGHT, _LARGEST_ACTIVATION = 2.0e3, 1.0e5
#: A share of blocks with the largest scale that a clipped weight has, and how many times as many
#: numbers these stand for as the next scale does. Numbers of an even distribution, of which no
#: trained weight has more of the largest, have half as many.
_CLIPPED, _FEW_BLOCKS, _HEAP = 0.02, 256, 0.75
#: Below it the largest block scale wastes bits of E4M3.
_LEAST_LARGEST = 28.0
#: The first code of a type, without its sign, that is no finite number.
_NO_NUMBERS = {"F8_E4M3": 0x7F, "F8_E5M2": 0x7C}
#: Where the middle of the exponents of a weight lies.
_EXPONENTS = (80, 150)


def _count_e4m3(tensor: Tensor) -> np.ndarray:
    """How often scales of E4M3 are there, as far as rules ask: those of good weights, which have no
    NaN, no sign and no zero, are counted by a few operations on many bytes. The two largest codes
    are counted; of all others the least and the largest are told, and how many there are."""
    least, largest, top, below = 255, 0, 0, 0
    for begin in range(0, tensor.nbytes, _PART):
        data = tensor.bytes(begin, min(begin + _PART, tensor.nbytes))
        least, most = min(least, int(data.min())), int(data.max())
        largest = max(largest, most)
        if not least or largest > _LARGEST:
            return count_bytes(tensor)
        if most >= _LARGEST - 1:
            top += int(np.count_nonzero(data == _LARGEST))
            below += int(np.count_nonzero(data == _LARGEST - 1))
    tensor.release()
    counts = np.zeros(256, np.int64)
    counts[_LARGEST], counts[_LARGEST - 1] = top, below
    rest = tensor.nbytes - top - below
    if rest and largest < _LARGEST - 1 and largest != least:
        counts[largest] = 1
        rest -= 1
    if rest:
        counts[least] += rest
    return counts


def count_bytes(tensor: Tensor) -> np.ndarray:
    """How often each byte is in a tensor."""
    counts = np.zeros(256, np.int64)
    for begin in range(0, tensor.nbytes, _PART):
        end = min(begin + _PART, tensor.nbytes)
        counts += np.bincount(tensor.bytes(begin, end), minlength=256)
        tensor.release(begin, end)
    return counts


def _count_matrices(candidate: Candidate) -> int | None:
    """How many matrices [N, K] a weight has; None where its shape is not known."""
    return None if candidate.shape is None else math.prod(candidate.shape[:-2])


def _check_scalars(candidate: Candidate) -> Iterator[Finding]:
    for role, tensor in list_scalars(candidate):
        if tensor.dtype not in ("F32", "BF16", "F16"):
            continue
        count = _count_matrices(candidate)
        if count is not None and math.prod(tensor.shape) not in (1, count):
            yield find("shape-of-scales", tensor.name, "expected one number"
                       + f", or {count}, one for each matrix," * (count > 1)
                       + f" but got {list(tensor.shape)}")
        bad = find_no_scale(tensor)
        if bad is not None:
            rule = "global-scale-is-positive" if role == GLOBAL else "input-scale-is-positive"
            yield find(rule, tensor.name, "expected numbers above 0 that are finite, but got "
                       f"{bad}")


def _read_decode(candidate: Candidate, role: str) -> np.ndarray | None:
    """The decode scales of a role as the layout means them; None where there are no good ones."""
    tensor = candidate.get(role)
    if tensor is None or candidate.layout is None or tensor.dtype not in ("F32", "BF16", "F16"):
        return None
    count = _count_matrices(candidate)
    if math.prod(tensor.shape) not in (1, count) or find_no_scale(tensor) is not None:
        return None
    values = tensor.numpy().astype(np.float64).reshape(-1)
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


def _is_clipped(counts: np.ndarray, block: int) -> bool:
    """Whether more blocks have the largest scale than a weight has that fits its global scale.

    The numbers that are counted are those of blocks. A share p of blocks whose largest number is
    above a bound stands for a share 1 - (1 - p)^(1 / block) of numbers. Of these there are fewer
    the larger they are, but for those that a bound has heaped up."""
    total, top, below = int(counts.sum()), int(counts[_LARGEST]), int(counts[_LARGEST - 1])
    if top <= _FEW_BLOCKS or top <= _CLIPPED * total:
        return False
    if top == total:
        return True
    above = 1 - (1 - top / total) ** (1 / block)
    both = 1 - (1 - min((top + below) / total, 1.0)) ** (1 / block)
    return bool(above > _HEAP * (both - above))


def _check_e4m3(candidate: Candidate, tensor: Tensor, counts: np.ndarray,
                has_codes: bool) -> Iterator[Finding]:
    total = int(counts.sum())
    if counts[_NAN] + counts[0xFF]:
        yield find("scales-are-numbers", tensor.name, f"expected no NaN in {total} scales, but got "
                   f"{counts[_NAN] + counts[0xFF]}")
    negative = int(counts[0x81:0xFF].sum())
    if negative:
        yield find("scales-are-positive", tensor.name, f"expected no negative scale of {total}, "
                   f"but got {negative}")
    positive = counts[:_NAN].nonzero()[0]
    if not positive.size or negative or not has_codes:
        return
    largest = E4M3[positive[-1]]
    clipped = counts[_LARGEST] / total
    if _is_clipped(counts, 16) and candidate.get(GLOBAL) is not None:
        yield find("scales-in-range", tensor.name, f"expected few scales of 448, but got "
                   f"{100 * clipped:.1f} % of {total}: the global scale is too small")
    elif (candidate.layout is not None and candidate.layout.shares_global
          and 0 < largest < _LEAST_LARGEST and counts[1:_NAN].sum() > 1):
        yield find("scales-in-range", tensor.name, f"expected a largest scale near 448, but got "
                   f"{largest:g}: the global scale is too large")


def _check_e8m0(tensor: Tensor, counts: np.ndarray, has_codes: bool) -> Iterator[Finding]:
    total = int(counts.sum())
    # Weights of one exponent there are, if their numbers are spread evenly, but not of this size.
    for value, meaning in ((0, "2^-127"), (127, "1.0")):
        if has_codes and total > 1 and counts[value] == total:
            yield find("exponents-in-range", tensor.name, "expected exponents of blocks, but got "
                       f"{value}, which is {meaning}, for all {total}")
            return
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


def _check_codes(candidate: Candidate, counts: np.ndarray, has_codes: bool) -> Iterator[Finding]:
    """Codes that are all zero, and blocks that a scale of zero makes so."""
    data, scales, layout = candidate.get(DATA), candidate.get(SCALES), candidate.layout
    if data is None or scales is None or candidate.shape is None or layout is None:
        return
    if data.nbytes and not has_codes:
        yield from _check_zero(data, counts)
        return
    zeros = layout.format == "nvfp4" and counts[0] + counts[0x80]
    if zeros and not layout.holds_swizzled:
        mask, width = np.uint8(0x77), layout.block // 2
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


def _check_zero(data: Tensor, counts: np.ndarray) -> Iterator[Finding]:
    """Codes of zeros alone. Those of a weight of zeros have one scale for all blocks; other scales
    are of a weight that the codes are not of. Padding of scales in tiles is 0."""
    if np.count_nonzero(counts[1:]) > 1:
        yield find("codes-are-there", data.name, "expected codes other than 0, since scales "
                   f"differ, but got none in {data.nbytes} bytes")


def has_code(data: Tensor, mask: np.uint8) -> bool:
    """Whether a code is not zero."""
    begin, step = 0, _FIRST
    while begin < data.nbytes:
        end = min(begin + step, data.nbytes)
        found = bool((data.bytes(begin, end) & mask).any())
        data.release(begin, end)
        if found:
            return True
        begin, step = end, _CHUNK
    return False


def _check_numbers(data: Tensor, least: int) -> Iterator[Finding]:
    """Codes of eight bits that are NaN or infinite: from `least` on, without their sign."""
    bad = 0
    for begin in range(0, data.nbytes, _PART):
        end = min(begin + _PART, data.nbytes)
        codes = data.bytes(begin, end) & np.uint8(0x7F)
        if int(codes.max()) >= least:
            bad += int((codes >= least).sum())
        data.release(begin, end)
    if bad:
        yield find("codes-are-numbers", data.name, f"expected numbers alone, but got {bad} of "
                   f"{data.nbytes} codes that are NaN or infinite")


def _check_interleaved(candidate: Candidate) -> Iterator[Finding]:
    """Codes of GGUF, whose scales are among them."""
    data = candidate.get(DATA)
    if data is None or candidate.layout is None:
        return
    size, scales = (36, 4) if candidate.layout.format == "nvfp4" else (17, 1)
    if data.nbytes % size:
        return
    counts, has_codes = np.zeros(256, np.int64), False
    step = _CHUNK // size * size
    for begin in range(0, data.nbytes, step):
        end = min(begin + step, data.nbytes)
        blocks = data.bytes(begin, end).reshape(-1, size)
        counts += np.bincount(blocks[:, :scales].reshape(-1), minlength=256)
        has_codes = has_codes or bool((blocks[:, scales:] & np.uint8(0x77)).any())
        data.release(begin, end)
    if scales == 4:
        if counts[_NAN] + counts[0xFF]:
            yield find("scales-are-numbers", data.name, "expected no NaN among scales, but got "
                       f"{counts[_NAN] + counts[0xFF]}")
        negative = int(counts[0x81:0xFF].sum())
        if negative:
            yield find("scales-are-positive", data.name, "expected no negative scale, but got "
                       f"{negative}")
    else:
        yield from _check_e8m0(data, counts, has_codes)
    if not has_codes:
        yield from _check_zero(data, counts)


def check_values(candidate: Candidate) -> Iterator[Finding]:
    """The numbers of the tensors of a weight."""
    layout = candidate.layout
    if layout is None:
        return
    yield from _check_scalars(candidate)
    yield from _check_direction(candidate)
    data = candidate.get(DATA)
    if data is not None and data.dtype in _NO_NUMBERS:
        yield from _check_numbers(data, _NO_NUMBERS[data.dtype])
    if layout.holds_scales:
        yield from _check_interleaved(candidate)
        return
    scales = candidate.get(SCALES)
    if scales is None:
        return
    if layout.is_fp8:
        has_codes = data is not None and has_code(data, np.uint8(0x7F))
        yield from check_fp8_scales(candidate, has_codes)
        return
    is_nvfp4 = layout.format == "nvfp4"
    if scales.dtype not in (("F8_E4M3",) if is_nvfp4 else ("U8", "F8_E8M0")):
        return  # Another rule says so, and the bytes are of something else.
    counts = _count_e4m3(scales) if is_nvfp4 and not layout.holds_swizzled else count_bytes(scales)
    mask = np.uint8(0x77 if layout.is_fp4 else 0x7F)
    has_codes = data is not None and has_code(data, mask)
    if is_nvfp4:
        yield from _check_e4m3(candidate, scales, counts, has_codes)
    else:
        yield from _check_e8m0(scales, counts, has_codes)
    yield from _check_codes(candidate, counts, has_codes)


def check_equal_scales(checkpoint: Checkpoint, candidates: Mapping[str, Candidate]
                       ) -> Iterator[Finding]:
    """Whether layers that loaders fuse have one global scale and one input scale."""
    shared = [name for name, candidate in candidates.items()
              if candidate.layout is not None and candidate.layout.shares_global
              and get_family(candidate.layout.family).is_fused]
    for group in checkpoint.names.find_groups(shared):
        for role, rule in ((GLOBAL, "equal-global-scales"), (INPUT, "equal-input-scales")):
            found = [(name, tensor) for name in group
                     if (tensor := candidates[name].get(role)) is not None
                     and tensor.dtype == "F32"]
            for _, tensor in found[1:]:
                first, second = found[0][1].numpy(), tensor.numpy()
                if first.size == second.size and not np.array_equal(first.reshape(-1),
                                                                    second.reshape(-1)):
                    yield find(rule, tensor.name, f"expected {first.reshape(-1)[0]:.8g}, as "
                               f"'{found[0][0]}' has, but got {second.reshape(-1)[0]:.8g}")


def check_plain(checkpoint: Checkpoint, used: set[str]) -> Iterator[Finding]:
    """Whether plain tensors are finite."""
    for name, tensor in checkpoint.tensors.items():
        if (name in used or tensor.dtype not in PLAIN_DTYPES or not tensor.nbytes
                or name.endswith(IGNORED)):  # Another rule is about scales of the cache.
            continue
        dtype = PLAIN_DTYPES[tensor.dtype]
        amax = 0.0
        for begin in range(0, tensor.nbytes, _CHUNK):
            end = min(begin + _CHUNK, tensor.nbytes)
            amax = _kernels.compute_amax(tensor.bytes(begin, end), dtype)
            tensor.release(begin, end)
            if not math.isfinite(amax):
                break
        if not math.isfinite(amax):
            yield find("plain-numbers", name, f"expected finite numbers, but got {amax}")
