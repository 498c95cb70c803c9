# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every expected array is judged by a job or set aside with a reason."""

import re
from dataclasses import dataclass

from casts import cast_jobs
from edges import edge_jobs
from groups import operand_jobs
from layouts import swizzle_jobs
from mx import mx_dequantize_jobs, mx_jobs, successor, superseded
from nvfp4 import nvfp4_jobs
from products import gmm_jobs, mm_jobs
from rht import rht_jobs
from roofline import roofline_jobs
from sweep import sweep_jobs

BUILDERS = [
    (r"nvfp4_quantize(_3d)?", nvfp4_jobs),
    (r"rht_quantize", rht_jobs),
    (r"nvfp4_scale_sweep", sweep_jobs),
    (r"mx_quantize(_3d)?", mx_jobs),
    (r"mx_dequantize", mx_dequantize_jobs),
    (r"block_amax_all_bf16", edge_jobs),
    (r"cast_.*", cast_jobs),
    (r"swizzle", swizzle_jobs),
    (r"roofline", roofline_jobs),
    (r"(nvfp4|mxfp8|mxint8)_scaled_mm", mm_jobs),
    (r"(nvfp4|mxfp8)_scaled_grouped_mm_2d_[23]d", gmm_jobs),
    (r"(nvfp4|mxfp8)_scaled_grouped_mm_2d_[23]d", operand_jobs),
]

# Operation, array, why no operation of the dialect computes it; the first match
# counts.
UNSUPPORTED = [
    (r"rht_.*", r"rht_t_f32", "the sum before its one rounding to bf16"),
    (r"cast_.*", r".*_e8m0.*", "no recipe rounds an amax to the nearest power of two"),
    (r".*", r".*", "unknown array"),
]
REFERENCE = {
    "absdot_f32": "the bound of the products, not a result",
    "ct_encode_scale": "its reciprocal is the result, which is rounded once more",
    "loss_best": "the bound of other winners, not a result",
    "loss_second": "the loss after the best, not a result",
}


@dataclass
class Aside:
    """An array that no job computes."""

    category: str  # unsupported, superseded or reference
    reason: str


def plan(case):
    """The jobs of a case, and what is set aside: array to Aside."""
    jobs = []
    for pattern, builder in BUILDERS:
        if re.fullmatch(pattern, case.operation):
            jobs += builder(case)
    judged = {check.array for job in jobs for check in job.checks()}
    aside = {a: _aside(case, a) for a in case.expected if a not in judged}
    return jobs, aside


def _aside(case, array):
    if superseded(case, array):
        return Aside("superseded", f"by {successor(array)}")
    if array in REFERENCE:
        return Aside("reference", REFERENCE[array])
    for operation, name, reason in UNSUPPORTED:
        if re.fullmatch(operation, case.operation) and re.fullmatch(name, array):
            return Aside("unsupported", reason)
    return None
