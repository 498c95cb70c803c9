# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Block i holds bf16 pattern i; expected are its scale and its first 4 codes.

Set `one` has lanes pattern i, 1.0, -0, 0x0001, 0 ...; set `solo` has pattern i,
pattern i with the 3 low bits cleared (0 if Inf or NaN), -0, 0 ...
"""

import re

import numpy as np

from cases import unpack_e2m1
from contract import IS_NAN, compare_bits
from ir import MXFP8, NVFP4, Tensor
from jobs import Check, Job, bits_check
from mx import superseded, undefined

# The recipe and its global operand.
NVFP4_SOURCES = {
    "ao_single": ("torchao", None, None),
    "ao_pts1": ("torchao", "global_scale", 1.0),
    "ao_pts2m10": ("torchao", "global_scale", 2.0**-10),
    "te_amax2688": ("te", "global_amax", 2688.0),
    "mo_s2one": ("modelopt", "global_scale", 1.0),
}
NAME = re.compile(
    r"(?P<prefix>(?P<set>one|solo)_(?:mx_(?:ao018|aoaug26|mo)"
    rf"_(?P<rule>floor|rceil|ceil|even)|nv_(?P<source>{'|'.join(NVFP4_SOURCES)}))_)q4"
)


def blocks(kind, size):
    """bf16 bits of the 65,536 blocks of set `kind`."""
    bits = np.zeros((65536, size), np.uint16)
    bits[:, 0] = np.arange(65536)
    bits[:, 2] = 0x8000
    if kind == "one":
        bits[:, 1], bits[:, 3] = 0x3F80, 0x0001
    else:
        finite = (bits[:, 0] & 0x7F80) != 0x7F80
        bits[:, 1] = np.where(finite, bits[:, 0] & 0xFFF8, 0)
    return bits


def edge_jobs(case):
    for array in case.expected:
        match = NAME.fullmatch(array)
        if match and not superseded(case, array):
            yield _job(case, match)


def _job(case, match):
    format = NVFP4 if match["source"] else MXFP8
    recipe, operand, value = NVFP4_SOURCES.get(
        match["source"], (match["rule"], None, None)
    )
    job = Job(f"{case.name}.{match['prefix']}quantize")
    bits = blocks(match["set"], format.block)
    x = job.input(Tensor(bits.shape, "bf16"), bits)
    operands = {}
    if operand:
        given = np.array([value], np.float32)
        operands[operand] = job.input(Tensor((), "f32"), given)
    q, s = job.function.quantize(x, format, recipe, **operands)

    scale = match["prefix"] + "scale"
    want_codes, want_scale = case.expected[match[0]], case.expected[scale]
    masks = {}
    if match["rule"]:
        column = want_scale[:, None]
        masks = undefined(case, bits, scale, column, match["rule"], format)
        masks = {reason: mask[:, 0] for reason, mask in masks.items()}
    code_masks = dict(masks)
    if match["source"]:
        code_masks["NaN scale"] = IS_NAN[format.scale](want_scale)
    code_masks = {reason: mask[:, None] for reason, mask in code_masks.items()}

    def first_codes(stored):
        return (unpack_e2m1(stored) if match["source"] else stored)[:, :4]

    def judge(got):
        return compare_bits(got, want_codes, format.data, code_masks)

    # Not written where a checker of bits would meet the accidents of a source: its
    # NaN codes and NaN signs, and edge rules of its own.
    written = format is MXFP8 and not masks
    codes = Check(match[0], want_codes, first_codes, judge, written=written)
    job.output(q, [codes])
    options = dict(written=written)
    job.output(s, [bits_check(scale, want_scale, format.scale, masks, **options)])
    return job
