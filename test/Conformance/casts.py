# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Casts of single elements, as the data of blocks whose scale is 1.

Codes of 4 bits come from blocks whose amax is given, so that every value has one.
The others come from MX blocks in which one lane holds the largest power of two of
the format and the rest values up to the largest: beyond it the scale is not 1.
"""

import re

import numpy as np

from cases import floats, unpack_e2m1
from contract import compare_bits
from ir import MXFP6_E2M3, MXFP6_E3M2, MXFP8, MXFP8_E5M2, NVFP4, Tensor
from jobs import Check, Job

MX_FORMATS = {"e4m3": MXFP8, "e5m2": MXFP8_E5M2, "e2m3": MXFP6_E2M3, "e3m2": MXFP6_E3M2}
NVFP4_RECIPES = {"te": "te", "mo": "modelopt"}
NAME = re.compile(
    rf"(torch|mld|ao|te|mo)_(e2m1|{'|'.join(MX_FORMATS)})(_clamp448|_from_bf16)?"
)


def cast_jobs(case):
    groups = {}
    for array in case.expected:
        if match := NAME.fullmatch(array):
            recipe = NVFP4_RECIPES.get(match[1], "torchao")
            key = (match[2], recipe if match[2] == "e2m1" else "floor")
            groups.setdefault(key, []).append(array)
    every_bf16 = np.arange(65536, dtype=np.uint16)
    for (element, recipe), arrays in groups.items():
        job = Job(f"{case.name}.{element}_{recipe}")
        bits = case.inputs.get("x", every_bf16)
        convert = _nvfp4 if element == "e2m1" else _mx
        convert(job, case, arrays, bits, element, recipe)
        yield job


def _blocks(bits, lanes):
    """Rows of `lanes` values, zero-filled."""
    padded = np.pad(bits, (0, -bits.size % lanes))
    return padded.reshape(-1, lanes)


def _element(bits):
    return "bf16" if bits.dtype == np.uint16 else "f32"


def _nvfp4(job, case, arrays, bits, element, recipe):
    blocks = _blocks(bits, 16)
    x = job.input(Tensor(blocks.shape, _element(bits)), blocks)
    six = np.full((len(blocks), 1), 6, np.float32)
    operands = {}
    if recipe != "torchao":
        most = np.array([2688], np.float32)
        operands["global_amax"] = job.input(Tensor((), "f32"), most)
    operands["block_amax"] = job.input(Tensor(six.shape, "f32"), six)
    q, _ = job.function.quantize(x, NVFP4, recipe, **operands)
    masks = {"NaN": np.isnan(floats(bits))}
    _output(job, case, q, arrays, "f4E2M1FN", masks, unpack_e2m1)


def _mx(job, case, arrays, bits, element, recipe):
    format = MX_FORMATS[element]
    with np.errstate(invalid="ignore"):
        beyond = ~(np.abs(floats(bits)) <= format.largest)
    blocks = _blocks(np.where(beyond, 0, bits).astype(bits.dtype), 31)
    power = np.float32(2.0 ** np.floor(np.log2(format.largest)))
    lane = power.view(np.uint32) >> (16 if bits.dtype == np.uint16 else 0)
    blocks = np.column_stack([np.full(len(blocks), lane, bits.dtype), blocks])
    x = job.input(Tensor(blocks.shape, _element(bits)), blocks)
    q, _ = job.function.quantize(x, format, recipe)
    masks = {"beyond the largest value": beyond}
    _output(job, case, q, arrays, format.data, masks, lambda stored: stored[:, 1:])


def _output(job, case, q, arrays, element, masks, lanes):
    def check(array):
        want = case.expected[array]
        return Check(
            array,
            want,
            lambda stored: lanes(stored).ravel()[: want.size],
            lambda got: compare_bits(got, want, element, masks),
            # A checker of bits would compare what is left out here, too.
            written=False,
        )

    job.output(q, [check(array) for array in arrays])
