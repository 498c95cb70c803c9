# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recipes torchao, te and modelopt, from given global operands and from x."""

import re
from dataclasses import dataclass

import numpy as np

from cases import floats
from contract import IS_NAN, degenerate, per_element
from ir import NVFP4, Tensor
from jobs import Job, bits_check
from quantizers import Expected, dequantize_job, input_tensor, quantize


@dataclass
class Source:
    """How the arrays with one prefix were made.

    `operand` is global_scale or global_amax, None for one level. It is an
    expected array (`computed`) or an input of the case (`given`).
    """

    recipe: str
    operand: str = None
    computed: str = None
    given: np.ndarray = None


def sources(case):
    """(prefix, Source) of every array set that a case of this kind may hold."""
    if case.operation == "rht_quantize":
        yield "", Source("te", "global_amax", "amax_row")
        return
    yield "ao_single_", Source("torchao")
    of = "expert" if "ao_dyn_per_expert_scale" in case.expected else "tensor"
    yield "ao_dyn_", Source("torchao", "global_scale", f"ao_dyn_per_{of}_scale")
    for name, given in case.inputs.items():
        if match := re.fullmatch(r"(ao_static\d+_)per_tensor_scale", name):
            yield match[1], Source("torchao", "global_scale", given=given)
    yield "te_", Source("te", "global_amax", "te_amax")
    yield "mo_", Source("modelopt", "global_scale", "mo_scale2")


def nvfp4_jobs(case):
    for prefix, source in sources(case):
        if prefix + "qdata" in case.expected:
            yield _quantize_job(case, prefix, source)
        if prefix + "dequant_f32" in case.expected:
            yield dequantize_job(
                case,
                prefix,
                NVFP4,
                case.expected[prefix + "qdata"],
                case.expected[prefix + "scale"],
                source.recipe,
                case.expected.get(source.computed),
            )


def _quantize_job(case, prefix, source):
    job = Job(f"{case.name}.{prefix}quantize")
    x = input_tensor(job, case.inputs["x"])
    routes = _routes(job, x, case, source)
    qdata, scale = case.expected[prefix + "qdata"], case.expected[prefix + "scale"]
    blocked = case.expected.get(prefix + "scale_blocked")
    masks = _undefined_codes(case, source, qdata, scale)
    scales = Expected(prefix + "scale", scale)
    tiles = scales.swizzled()
    if blocked is not None:
        tiles = scales.swizzled(prefix + "scale_blocked", blocked)
    data = Expected(prefix + "qdata", qdata, masks)
    quantize(job, x, NVFP4, source.recipe, routes, [data], [scales], [tiles])
    return job


def _routes(job, x, case, source):
    """Global operands that must all give the expected bytes."""
    if source.operand is None:
        return {"": {}}
    batch = Tensor(x.type.shape[:-2], "f32")
    if source.computed is None:
        routes = {"given": {source.operand: job.input(batch, source.given)}}
        if floats(source.given) == 1:
            routes["absent"] = {}
        return routes
    value = amax = job.function.amax(x)
    routes = {"amax": {"global_amax": amax}}
    if source.operand == "global_scale":
        value = job.function.global_scale(amax, source.recipe)
        routes["amax, global_scale"] = {"global_scale": value}
    want = case.expected.get(source.computed)
    if want is not None:
        routes["given"] = {source.operand: job.input(batch, want)}
        job.output(value, [bits_check(source.computed, want, "f32")])
    return routes


def _undefined_codes(case, source, qdata, scale):
    nan = IS_NAN[NVFP4.scale](scale)
    masks = {"NaN scale": per_element(nan, NVFP4.block, 2 * qdata.shape[-1])}
    if source.operand:
        x = floats(case.inputs["x"])
        decode = np.abs(x).max((-2, -1)) / np.float32(2688)
        if source.given is not None:
            decode = floats(source.given).reshape(x.shape[:-2])
        masks["degenerate global scale"] = degenerate(decode)[..., None, None]
    return masks
