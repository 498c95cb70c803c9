# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every expected array is judged by a job or set aside with a reason."""

import re
from dataclasses import dataclass

from edges import edge_jobs
from layouts import swizzle_jobs
from mx import mx_jobs, successor, superseded
from nvfp4 import nvfp4_jobs
from products import gmm_jobs, mm_jobs

BUILDERS = [
    (r"nvfp4_quantize(_3d)?|rht_quantize", nvfp4_jobs),
    (r"mx_quantize(_3d)?", mx_jobs),
    (r"block_amax_all_bf16", edge_jobs),
    (r"swizzle", swizzle_jobs),
    (r"(nvfp4|mxfp8)_scaled_mm", mm_jobs),
    (r"(nvfp4|mxfp8)_scaled_grouped_mm_2d_[23]d", gmm_jobs),
]

# Operation, array, what no operation of the dialect does; the first match counts.
UNSUPPORTED = [
    (r"nvfp4_.*", r"te2d_.*", "16x16 blocks"),
    (r"nvfp4_.*", r"te_t_.*", "quantization along columns"),
    (r"nvfp4_.*", r"terow_.*", "a global amax per row"),
    (r"nvfp4_.*", r"te46.*", "4over6 choice of block scales"),
    (r"mx_.*", r"fp6.*", "6-bit data"),
    (r"mx_.*", r".*_32x1_.*", "32x1 blocks"),
    (r"mx_.*", r".*_32x32_.*", "32x32 blocks"),
    (r"rht_.*", r".*", "Hadamard transform"),
    (r"nvfp4_scale_sweep", r".*", "scale sweep"),
    (r"swizzle", r".*_start_.*", "group starts as a result"),
    (r"cast_.*", r".*", "casts of single elements"),
    (r"roofline", r".*", "cost model"),
    (r".*", r".*", "unknown array"),
]
REFERENCE = {"absdot_f32": "the bound of the products, not a result"}


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
            jobs = list(builder(case))
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
