# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One thing of a valid call that is broken, and what has to come of that.

A fault is of an operand. What it gives is an array for that operand, or a view of one, and what
is expected: REFUSED, an error; SAME, the results of the valid call or an error; or CPU, what the
CPU gives, be it results or an error.
"""

from dataclasses import dataclass

import numpy as np

from reference import swizzle, swizzle_groups, unswizzle

REFUSED, SAME, CPU = "refused", "same", "cpu"
#: Bytes that are NaN in E4M3 and in E8M0.
NAN = {"f8E4M3FN": 0x7F, "f8E8M0FNU": 0xFF}
#: Other types of the same width, and of others.
OTHER_DTYPES = {"uint8": ("int8", "uint16", "float32", "bool"),
                "uint16": ("int16", "float16", "uint8", "float32"),
                "float16": ("uint16", "float32"), "float32": ("uint32", "int32", "float64"),
                "int32": ("uint32", "float32", "int64"), "int64": ("uint64", "int32", "float64")}


@dataclass
class Fault:
    """`array` is what the operand `number` gets; None leaves it out. `accept` takes scales that
    are NaN. `part` is what of the operand is broken, such as a dimension, where rules tell these
    apart. `is_least` says that less could not be wrong, so that the fewest rules are broken."""

    number: int
    kind: str
    what: str
    array: object
    expected: str
    accept: bool = False
    part: str = ""
    is_least: bool = False


def resized(array, axis, size):
    """Cut, or repeated from its begin."""
    if array.shape[axis] == 0:
        shape = list(array.shape)
        shape[axis] = size
        return np.zeros(shape, array.dtype)
    return np.take(array, range(size), axis, mode="wrap")


def with_array(subject, number, array):
    arrays = [operand.array for operand in subject.operands]
    arrays[number] = array
    return arrays


def expected_of(subject, number, array):
    return CPU if subject.fits(with_array(subject, number, array)) else REFUSED


def sizes(subject, number, operand):
    """Another size of a dimension; a fixed one, too, which the type tells to be wrong."""
    for axis, size in enumerate(operand.array.shape):
        is_free = operand.sizes[axis] != "" and operand.sizes[axis][0] not in subject.fixed
        for changed in sorted({0, 1, size - 1, size + 1, 2 * size, size + 16} - {size, -1}):
            array = resized(operand.array, axis, changed)
            expected = expected_of(subject, number, array)
            yield Fault(number, "size", f"dimension {axis} of {changed} for {size}", array,
                        expected, part=f"dimension {axis - operand.array.ndim}",
                        is_least=(is_free and expected == REFUSED and changed == size - 1))


def ranks(subject, number, operand):
    if operand.role == "size":
        return
    array = operand.array
    yield Fault(number, "rank", "a dimension of 1 in front", array[None], REFUSED)
    yield Fault(number, "rank", "a dimension of 1 behind", array[..., None], REFUSED)
    if array.ndim:
        yield Fault(number, "rank", "the first of a dimension", array[0], REFUSED)
        yield Fault(number, "rank", "all elements in one", array.reshape(-1)[None, None, None, :],
                    REFUSED)


def dtypes(subject, number, operand):
    """Another type. Values that both types have may be taken."""
    for other in OTHER_DTYPES[operand.array.dtype.name]:
        if np.dtype(other).itemsize == operand.array.itemsize and other != "bool":
            yield Fault(number, "dtype", f"{other} in its bytes", operand.array.view(other),
                        SAME)
        # Python's numbers have no width.
        expected = SAME if operand.role == "size" else REFUSED
        with np.errstate(all="ignore"):
            yield Fault(number, "dtype", f"{other} of its numbers", operand.array.astype(other),
                        expected)


def strides(subject, number, operand):
    array = operand.array
    if not array.ndim or array.size < 2:
        return
    spread = np.full((*array.shape, 2), array.ravel()[0])
    spread[..., 0] = array
    yield Fault(number, "stride", "every other element", spread[..., 0], SAME)
    yield Fault(number, "stride", "backwards", np.ascontiguousarray(array[::-1])[::-1], SAME)
    if array.ndim > 1:
        yield Fault(number, "stride", "columns first", np.asfortranarray(array), SAME)
        wide = np.zeros((*array.shape[:-1], array.shape[-1] + 3), array.dtype)
        wide[..., :-3] = array
        yield Fault(number, "stride", "rows of a wider array", wide[..., :-3], SAME)


def placed(array, before, fill=0xFF):
    """A copy `before` bytes into other memory."""
    memory = np.full(before + array.nbytes + 64, fill, np.uint8)
    # Memory of NumPy begins at a multiple of 16.
    view = np.ndarray(array.shape, array.dtype, memory, before)
    view[...] = array
    return view


def alignments(subject, number, operand):
    if operand.array.size == 0 or operand.role == "size":
        return
    for before in {1, operand.array.itemsize, 2}:
        yield Fault(number, "alignment", f"{before} bytes behind a multiple of 16",
                    placed(operand.array, before), SAME)


def offsets(subject, number, operand):
    """A part of other memory, whose content does not matter."""
    if operand.array.size == 0 or operand.role == "size":
        return
    for before in (16, 48, 256):
        for fill in (0xFF, 0x7F):
            yield Fault(number, "offset", f"{before} bytes of 0x{fill:02X} before it",
                        placed(operand.array, before, fill), SAME)


def scales(subject, number, operand):
    """The scales of another tensor."""
    if operand.role != "scale":
        return
    others = [(f"that of {other.name}", other.array) for i, other in enumerate(subject.operands)
              if other.role == "scale" and i != number]
    if operand.layout == "grouped":
        for what, other in others:
            yield Fault(number, "scale", what, other, expected_of(subject, number, other))
        return
    array = operand.array
    logical = unswizzle(array, *operand.logical[-2:]) if operand.layout else array
    others.append(("in tiles" if not operand.layout else "row by row",
                   logical if operand.layout else swizzle(array)))
    turned = np.ascontiguousarray(np.swapaxes(logical, -1, -2))
    others.append(("of the transposed", swizzle(turned) if operand.layout else turned))
    half = logical[..., ::2]
    others.append(("of blocks twice as long", swizzle(half) if operand.layout else half))
    twice = np.repeat(logical, 2, -1)
    others.append(("of blocks half as long", swizzle(twice) if operand.layout else twice))
    rows = np.repeat(logical, 2, -2)
    others.append(("of twice the rows", swizzle(rows) if operand.layout else rows))
    for what, other in others:
        other = np.ascontiguousarray(other)
        if operand.element == "f8E8M0FNU":
            # What fills tiles up is 1, since sums of products with 2^-127 depend on their order.
            other = np.where(other == 0, np.uint8(127), other)
        yield Fault(number, "scale", what, other, expected_of(subject, number, other))


def ends(subject, number, operand):
    if operand.role != "ends":
        return
    extent, unit = subject.ends
    valid = operand.array
    bad = {"beyond the extent": [*valid[:-1], extent + unit],
           "far beyond it": [*valid[:-1], 2**31 - 1],
           "below zero": [-unit, *valid[1:]], "far below it": [-2**31, *valid[1:]],
           "in descending order": [extent, 0, extent],
           "of a group that ends before it begins": [valid[0], max(0, valid[0] - unit), extent]}
    if unit > 1:
        bad["within a block"] = [min(valid[0] + unit // 2, extent - 1), *valid[1:]]
        bad["one behind a block"] = [valid[0], valid[1], extent - unit + 1]
    # Tiles of groups are laid out for the ends; other ones read scales from where none are.
    has_tiles = any(other.layout == "grouped" for other in subject.operands)
    for what, given in bad.items():
        array = np.array(given, valid.dtype)
        steps = np.diff([0, *array.astype(np.int64)])
        is_valid = (steps >= 0).all() and array[-1] <= extent and (array % unit == 0).all()
        if not (is_valid and has_tiles):
            yield Fault(number, "end", what, array, CPU if is_valid else REFUSED)
    if has_tiles:
        return
    for what, given in {"all of the first group": [extent] * 3, "of empty groups": [0, 0, extent],
                        "of a part": [0, unit, extent // unit // 2 * unit]}.items():
        array = np.array(given, valid.dtype)
        if (np.diff([0, *given]) >= 0).all() and given[-1] <= extent:
            yield Fault(number, "end", what, array, CPU)


def paddings(subject, number, operand):
    """What is in tiles and in no row or block."""
    if not operand.layout:
        return
    tiles = operand.array
    inside = np.ones(operand.logical, np.uint8)
    if operand.layout == "grouped":
        ends, = (other.array for other in subject.operands if other.role == "ends")
        dim = int(subject.op.endswith("columns"))
        inside = swizzle_groups(inside, ends // subject.ends[1], dim)
    else:
        inside = swizzle(inside)
    inside = inside.astype(bool)
    if inside.all():
        return
    nan = NAN[operand.element]
    for what, fill in {f"0x{nan:02X}, which is NaN": nan, "0x55": 0x55, "0x7E": 0x7E,
                       "0x01": 1}.items():
        for accept in (False, True):
            yield Fault(number, "padding", f"{what}{', accepted' * accept}",
                        np.where(inside, tiles, np.uint8(fill)), SAME, accept)


def planted(array, value, places):
    array = np.array(array)
    array[tuple(places)] = value
    return array


def values(subject, number, operand):
    """A value that is none, out of range, or rare."""
    array, last = operand.array, [size - 1 for size in np.shape(operand.array)]
    if operand.role == "size":
        for value in (-1, 0, int(array) - 1, int(array) + 1, 1 << 40, -2**63):
            changed = np.int64(value)
            # Sizes of results that no memory has are an error.
            yield Fault(number, "value", f"{value}", changed,
                        REFUSED if value >= 1 << 40 else expected_of(subject, number, changed))
        return
    if not array.size:
        return
    if operand.role == "scale":
        # In the last row and block, which is no padding.
        inside, store = operand.array, lambda each: each
        if operand.layout == "swizzled":
            inside, store = unswizzle(inside, *operand.logical[-2:]), swizzle
        at = [0 if operand.layout == "grouped" else size - 1 for size in inside.shape]
        nan = NAN[operand.element]
        # Ops that move scales move any byte.
        is_used = subject.op.startswith(("scaled", "dequantize"))
        expected = REFUSED if is_used else CPU
        yield Fault(number, "value", "NaN", store(planted(inside, nan, at)), expected)
        yield Fault(number, "value", "NaN, accepted", store(planted(inside, nan, at)), CPU, True)
        if operand.element == "f8E4M3FN":
            for byte in (0x80, 0xB8, 0xFE):
                yield Fault(number, "value", f"0x{byte:02X}, which has a sign",
                            store(planted(inside, byte, at)), expected, True)
    elif operand.role == "global":
        # An amax of NaN is that of a tensor with NaN.
        of_nan = REFUSED if operand.name.startswith("global_scale") else CPU
        for what, value, expected in (("NaN", np.nan, of_nan), ("infinity", np.inf, CPU),
                                      ("-infinity", -np.inf, CPU), ("0", 0, CPU),
                                      ("-1", -1, CPU)):
            yield Fault(number, "value", what, planted(array, value, last), expected)
    elif operand.role == "data":
        codes = (0xFF, 0x80, 0x7F, 0x40) if operand.element not in ("bf16", "f16") else ()
        for code in codes:
            yield Fault(number, "value", f"code 0x{code:02X}", planted(array, code, last), CPU)
    elif operand.element in ("f32", "bf16"):
        for what, value in (("NaN", np.nan), ("infinity", np.inf), ("-infinity", -np.inf)):
            if operand.element == "bf16":
                value = np.uint16(np.float32(value).view(np.uint32) >> 16)
            yield Fault(number, "value", what, planted(array, value, last), CPU)


def counts(subject, number, operand):
    yield Fault(number, "count", "left out", None, REFUSED)


KINDS = (sizes, ranks, dtypes, strides, alignments, offsets, scales, ends, paddings, values, counts)


def make_faults(subject):
    """All faults of all operands."""
    return [fault for number, operand in enumerate(subject.operands) for kind in KINDS
            for fault in kind(subject, number, operand)]
