# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plain casts of narrow floats by search in a table of their values, for comparison."""

import ml_dtypes
import numpy as np

#: MLIR's names, and what ml_dtypes has for them.
TYPES = {"f4E2M1FN": ml_dtypes.float4_e2m1fn, "f6E2M3FN": ml_dtypes.float6_e2m3fn,
         "f6E3M2FN": ml_dtypes.float6_e3m2fn, "f8E4M3FN": ml_dtypes.float8_e4m3fn,
         "f8E5M2": ml_dtypes.float8_e5m2, "f8E8M0FNU": ml_dtypes.float8_e8m0fnu}
#: Bits of a code, without which it means the same magnitude.
BITS = {name: int(name[1]) for name in TYPES}


def all_codes(type):
    return np.arange(1 << BITS[type], dtype=np.uint8)


def decode(codes, type):
    """Values in f64."""
    return np.asarray(codes, np.uint8).view(TYPES[type]).astype(np.float64)


def encode(x, type):
    """Codes of the nearest numbers, ties to the even code; of E8M0, to the larger number."""
    with np.errstate(invalid="ignore"):
        x = np.asarray(x, np.float64)
    if type == "f8E8M0FNU":
        values = decode(np.arange(255, dtype=np.uint8), type)
        middle = (values[:-1] + values[1:]) / 2
        code = np.searchsorted(middle, x, side="right")
        code = np.where((x >= 2.0 ** 127 * 1.5) | (x < 0) | np.isnan(x), 255, code)
        return code.astype(np.uint8)
    sign = 1 << (BITS[type] - 1)
    values = decode(np.arange(sign, dtype=np.uint8), type)
    largest = int(np.nanargmax(np.where(np.isfinite(values), values, np.nan)))
    finite = values[:largest + 1]
    # A code above the largest one, as if numbers went on.
    finite = np.append(finite, 2 * finite[-1] - finite[-2])
    middle = (finite[:-1] + finite[1:]) / 2
    magnitude = np.abs(x)
    code = np.searchsorted(middle, magnitude, side="left")
    is_tie = (code < len(middle)) & (middle[np.minimum(code, len(middle) - 1)] == magnitude)
    code = np.where(is_tie & (code % 2 == 1), code + 1, code)
    # Beyond the largest: infinity, NaN, or where there is neither, the largest.
    above = {"f8E5M2": 0x7C, "f8E4M3FN": 0x7F}.get(type, largest)
    code = np.where(code > largest, above, code)
    code = np.where(np.signbit(x), code | sign, code)
    return np.where(np.isnan(x), 0x7F if sign == 0x80 else largest, code).astype(np.uint8)


def encode_to(x, type, mode):
    """Codes as `encode` gives them, in another rounding mode of MLIR."""
    with np.errstate(invalid="ignore"):
        x = np.asarray(x, np.float64)
    is_e8m0 = type == "f8E8M0FNU"
    if is_e8m0 and mode == "to_nearest_away":
        return encode(x, type)
    sign = 0 if is_e8m0 else 1 << (BITS[type] - 1)
    values = decode(np.arange(255 if is_e8m0 else sign, dtype=np.uint8), type)
    finite = values[np.isfinite(values)]
    finite = np.append(finite, 2 * finite[-1] if is_e8m0 else 2 * finite[-1] - finite[-2])
    last = len(finite) - 1
    magnitude = np.abs(np.where(np.isnan(x), 0, x))
    below = np.clip(np.searchsorted(finite, magnitude, side="right") - 1, 0, last)
    above = np.where(finite[below] < magnitude, np.minimum(below + 1, last), below)
    is_negative = np.signbit(x)
    if mode == "to_nearest_away":
        is_above = (magnitude - finite[below] >= finite[above] - magnitude) | (below == last)
    else:
        is_above = {"toward_zero": np.zeros_like(is_negative), "downward": is_negative,
                    "upward": ~is_negative}[mode]
    code = np.where(is_above, above, np.minimum(below, last - 1))
    code = np.where(np.isinf(x), last, code)
    if type.startswith(("f4", "f6")):
        code = np.minimum(code, last - 1)
    if is_e8m0:
        code = np.where((x < 0) | np.isnan(x), 255, code)
        return code.astype(np.uint8)
    code = np.where(is_negative, code | sign, code)
    return np.where(np.isnan(x), 0x7F if sign == 0x80 else last - 1, code).astype(np.uint8)


def edges():
    """Numbers in f32 around which a cast changes: values of all formats, the middles between
    them, and their neighbours; tiny, huge and special ones."""
    numbers = [np.float32([0, 1e-45, 1e-39, 2.0 ** -126, 2.0 ** -127, 3e38, np.inf, np.nan])]
    for type in TYPES:
        values = np.unique(np.abs(decode(all_codes(type), type)))
        values = values[np.isfinite(values)]
        values = np.append(values, 2 * values[-1] - values[-2])
        numbers += [values[values < 3.4e38].astype(np.float32),
                    ((values[:-1] + values[1:]) / 2).astype(np.float32)]
    numbers = np.unique(np.concatenate(numbers))
    with np.errstate(over="ignore"):
        numbers = np.concatenate([numbers, np.nextafter(numbers, np.float32(0)),
                                  np.nextafter(numbers, np.float32(np.inf))])
    numbers = np.unique(numbers)
    return np.concatenate([numbers, -numbers]).astype(np.float32)


def store(codes, type):
    """Codes [.., K] as memory has them."""
    if BITS[type] != 4 or codes.ndim == 0:
        return codes
    if codes.shape[-1] % 2:
        codes = np.concatenate([codes, np.zeros((*codes.shape[:-1], 1), np.uint8)], axis=-1)
    return codes[..., ::2] | codes[..., 1::2] << 4


def one_nan(codes, type):
    """Codes with every NaN the same."""
    limit = {"f8E4M3FN": 0x7F, "f8E5M2": 0x7D}.get(type)
    if limit is None:
        return codes
    return np.where((codes & 0x7F) >= limit, np.uint8(0x7F), codes)
