# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The sweep over 126 block scales, and quantization with its winners."""

import numpy as np

from cases import floats
from contract import compare_winners
from ir import NVFP4, Tensor
from jobs import Check, Job, bits_check
from quantizers import Expected, input_tensor, quantize

MAGNITUDES = np.array([6, 4, 3, 2, 1.5, 1, 0.5, 0] * 2, np.float32)


def sweep_jobs(case):
    yield _winners_job(case)
    yield _candidates_job(case)
    yield _static_job(case)


def _winners_job(case):
    job = Job(f"{case.name}.scale_sweep")
    x = input_tensor(job, case.inputs["x"])
    amax = job.function.amax(x)
    want = case.inputs["global_amax"]
    job.output(amax, [bits_check("in_global_amax", want, "f32", written=False)])
    given = job.input(Tensor((), "f32"), want)
    for route, operand in {"given": given, "amax": amax}.items():
        best = job.function.scale_sweep(x, operand)
        job.output(best, list(_winner_checks(case, route)))
    return job


def _winner_checks(case, route):
    values, best_loss = floats(case.inputs["x"]), floats(case.expected["loss_best"])
    amax_of = floats(case.expected["candidates"]) * floats(case.inputs["global_amax"])
    written = route == "given"

    def judge(want):
        return lambda got: compare_winners(got, want, values, best_loss)

    for array in ("best_amax", "triton_best_amax"):
        want = floats(case.expected[array])
        yield Check(array, want, lambda stored: stored[:, 0], judge(want), route, written)

    indices = case.expected["best_index"]

    def index(stored):
        return np.abs(stored - amax_of).argmin(-1).astype(np.uint8)

    judge_amax = judge(amax_of[indices])

    def judge_index(got):
        # NaN, which wins nowhere, is that of an index beyond the candidates.
        found = np.append(amax_of, np.float32(np.nan))
        return judge_amax(found[np.minimum(got, amax_of.size)])

    yield Check("best_index", indices, index, judge_index, route, written)


def _candidates_job(case):
    """Blocks that only candidate k represents, of a tensor whose amax is 1, so
    that winners are the candidates."""
    job = Job(f"{case.name}.candidates")
    want = case.expected["candidates"]
    blocks = floats(want)[:, None] / np.float32(6) * MAGNITUDES
    x = input_tensor(job, blocks.astype(np.float32).view(np.uint32))
    one = job.input(Tensor((), "f32"), np.ones(1, np.float32))
    best = job.function.scale_sweep(x, one)
    job.output(best, [bits_check("candidates", want, "f32")])
    return job


def _static_job(case):
    """The export of the chosen amaxes."""
    job = Job(f"{case.name}.static_quantize")
    x = input_tensor(job, case.inputs["x"])
    best, scale = case.expected["best_amax"], case.expected["static_scale"]
    amax = job.input(Tensor((), "f32"), case.inputs["global_amax"])
    block_amax = job.input(Tensor(scale.shape, "f32"), best)
    decode = job.function.global_scale(amax, "modelopt")
    want = case.expected["static_scale2"]
    job.output(decode, [bits_check("static_scale2", want, "f32")])
    routes = {
        route: {operand: value, "block_amax": block_amax}
        for route, operand, value in (
            ("amax", "global_amax", amax),
            ("global_scale", "global_scale", decode),
        )
    }
    scales = Expected("static_scale", scale)
    data = Expected("static_qdata", case.expected["static_qdata"])
    tiles = [scales.swizzled()]
    quantize(job, x, NVFP4, "modelopt", routes, [data], [scales], tiles)
    return job
