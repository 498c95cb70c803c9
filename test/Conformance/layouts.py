# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""map[dst] = source index or -1: index-coded bytes go through `swizzle`.

An index takes two bytes, so a low and a high matrix go through. Indices count
from 1: 0 is the padding, which layouts fill with zero bytes.
"""

import re

import numpy as np

from contract import compare_bits, compare_map
from ir import Layout, Tensor
from jobs import Check, Job

ELEMENT = "f8E8M0FNU"
MAP = re.compile(r"map_(\d+)x(\d+)")
GROUP = re.compile(r"((m|k)group\d+)_map")


def swizzle_jobs(case):
    for array, want in case.expected.items():
        if match := MAP.fullmatch(array):
            yield _plain_job(case, array, want, int(match[1]), int(match[2]))
        elif match := GROUP.fullmatch(array):
            yield _group_job(case, array, want, match)


def _split(index):
    """Low and high bytes of source indices, -1 being padding."""
    code = index + 1
    return [(code >> shift & 0xFF).astype(np.uint8) for shift in (0, 8)]


def _joined(shape=-1):
    def form(low, high):
        return (low + (high.astype(np.int32) << 8) - 1).reshape(shape)

    return form


def _map_check(array, want):
    return Check(array, want, _joined(), lambda got: compare_map(got, want))


def _plain_job(case, array, want, rows, cols):
    """Linear to swizzled, and the expected swizzled bytes back to linear."""
    job = Job(f"{case.name}.{array}")
    index = np.arange(rows * cols, dtype=np.int32).reshape(rows, cols)
    layout = Layout(name=case.meta.get("layout", "swizzle_128x4"))
    linear, tiled = (Tensor(index.shape, ELEMENT, to) for to in (None, layout))
    there = [job.input(linear, code) for code in _split(index)]
    back = [job.input(tiled, code) for code in _split(want)]
    there = [job.function.swizzle(value, layout) for value in there]
    back = [job.function.swizzle(value, None) for value in back]
    job.output(there, [_map_check(array, want)])

    def judge(got):
        return compare_bits(got, index, "i32")

    form = _joined(index.shape)
    job.output(back, [Check(array, index, form, judge, "unswizzle", False)])
    return job


def _group_job(case, array, want, match):
    """Groups along rows (m) or columns (k), bounded by end offsets."""
    job = Job(f"{case.name}.{array}")
    group, along = match.groups()
    ends = case.inputs[group + "_offs"]
    total = int(ends[-1])
    if along == "m":
        shape = (total, int(case.inputs[group + "_cols"][0]))
    else:
        shape = (int(case.inputs[group + "_rows"][0]), total)
    layout = Layout(len(ends), dim=0 if along == "m" else 1)
    index = np.arange(np.prod(shape), dtype=np.int32)
    source = Tensor(shape, ELEMENT)
    codes = [job.input(source, code) for code in _split(index)]
    offsets = job.input(Tensor(ends.shape, "i32"), ends)
    tiled = [job.function.swizzle(value, layout, offsets) for value in codes]
    job.output(tiled, [_map_check(array, want), _starts_check(case, match, shape)])
    return job


def _starts_check(case, match, shape):
    """Where each group starts: at the tile that holds its first byte, and one of no
    bytes where the next does; the last entry is where the buffer's bytes end."""
    group, along = match.groups()
    along_rows = along == "m"
    array = group + ("_start_rows" if along_rows else "_start_cols")
    want = case.expected[array]
    ends = case.inputs[group + "_offs"]
    other = -(-shape[1] // 4) if along_rows else -(-shape[0] // 128)

    def form(low, high):
        place = {code: at for at, code in enumerate(_joined()(low, high))}
        last = max(at for code, at in place.items() if code >= 0)
        starts = [last // 512 + 1]
        for start, end in reversed(list(zip([0, *ends], ends))):
            first = start * shape[1] if along_rows else start
            starts.append(place[first] // 512 if end > start else starts[-1])
        tiles = np.array(starts[::-1]) // other
        return (tiles * (128 if along_rows else 4)).astype(want.dtype)

    return Check(array, want, form, lambda got: compare_bits(got, want, "i32"))
