# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NVFP4 recipes, from given global operands and from x."""

import re
from dataclasses import dataclass

import numpy as np

from cases import floats
from contract import IS_NAN, degenerate, per_element
from ir import NVFP4, Form, Tensor
from jobs import Job, bits_check
from quantizers import Expected, dequantize_job, expand, input_tensor, quantize

ROWS = Form((1, 16))
COLUMNS = Form((16, 1), transposed=True)
TILES = Form((16, 16), scale_dim="k")
# Of the transposed data, that is: along the rows of x.
TURNED_TILES = Form((16, 16), transposed=True, scale_dim="n")


@dataclass
class Source:
    """How the arrays with one prefix were made.

    `operand` is global_scale or global_amax, None for one level. It is an
    expected array (`computed`) or an input of the case (`given`), `of` the matrix
    or each row.
    """

    recipe: str
    operand: str = None
    computed: str = None
    given: np.ndarray = None
    form: Form = ROWS
    of: str = "matrix"


def sources(case):
    """(prefix, Source) of every array set that a case of this kind may hold."""
    yield "ao_single_", Source("torchao")
    each = "expert" if "ao_dyn_per_expert_scale" in case.expected else "tensor"
    yield "ao_dyn_", Source("torchao", "global_scale", f"ao_dyn_per_{each}_scale")
    for name, given in case.inputs.items():
        if match := re.fullmatch(r"((ao|ct)_static\d+_)per_tensor_scale", name):
            recipe = {"ao": "torchao", "ct": "compressed_tensors"}[match[2]]
            yield match[1], Source(recipe, "global_scale", given=given)
    te = ("global_amax", "te_amax")
    yield "te_", Source("te", *te)
    for name, form in ("te_t", COLUMNS), ("te2d", TILES), ("te2d_t", TURNED_TILES):
        yield name + "_", Source("te", *te, form=form)
    yield "terow_", Source("te", "global_amax", "terow_amax", of="row")
    for error in ("mae", "mse"):
        yield f"te46{error}_", Source(f"te_4over6_{error}", *te)
    yield "mo_", Source("modelopt", "global_scale", "mo_scale2")
    yield "ct_", Source("compressed_tensors", "global_amax", "ct_amax")


def nvfp4_jobs(case):
    for prefix, source in sources(case):
        if prefix + "qdata" in case.expected:
            job = Job(f"{case.name}.{prefix}quantize")
            check_quantize(job, input_tensor(job, case.inputs["x"]), case, prefix, source)
            yield job
        if prefix + "dequant_f32" in case.expected:
            yield dequantize_job(
                case,
                prefix,
                NVFP4,
                case.expected[prefix + "qdata"],
                case.expected[prefix + "scale"],
                source.recipe,
                case.expected.get(source.computed, source.given),
            )


def check_quantize(job, x, case, prefix, source):
    """Quantizes `x` into the arrays with this prefix."""
    routes = _routes(job, x, case, source)
    qdata, scale = case.expected[prefix + "qdata"], case.expected[prefix + "scale"]
    undefined = _undefined_codes(case, x, source, qdata, scale)
    data = [Expected(prefix + "qdata", qdata, undefined)]
    scales = Expected(prefix + "scale", scale)
    form = source.form
    if form.scale_dim:
        # The array has the rows of whole tiles, quantize those of its result.
        compact = Form(form.block, form.transposed)
        first = dict(list(routes.items())[:1])
        s = quantize(job, x, NVFP4, source.recipe, first, data, [], [], compact)
        expand(job, s, 16, "k", scale.shape, scales)
        rows = form.shapes(x.type.shape)[1][0]
        scales = Expected(prefix + "scale", scale[:rows], written=False)
    blocked = case.expected.get(prefix + "scale_blocked")
    tiles = scales.swizzled()
    if blocked is not None:
        tiles = scales.swizzled(prefix + "scale_blocked", blocked)
    quantize(job, x, NVFP4, source.recipe, routes, data, [scales], [tiles], form)


def _routes(job, x, case, source):
    """Global operands that must all give the expected bytes."""
    if source.operand is None:
        return {"": {}}
    type = Tensor(x.type.shape[: -1 if source.of == "row" else -2], "f32")
    if source.computed is None:
        routes = {"given": {source.operand: job.input(type, source.given)}}
        if floats(source.given) == 1:
            routes["absent"] = {}
        return routes
    value = amax = job.function.amax(x, source.of)
    routes = {"amax": {"global_amax": amax}}
    if source.operand == "global_scale":
        value = job.function.global_scale(amax, source.recipe)
        routes["amax, global_scale"] = {"global_scale": value}
    want = case.expected.get(source.computed)
    if want is not None:
        if source.form == ROWS:
            routes["given"] = {source.operand: job.input(type, want)}
        job.output(value, [bits_check(source.computed, want, "f32")])
    return routes


def _undefined_codes(case, x, source, qdata, scale):
    """Masks over the rows of the result, whose scales are one a row and 16 columns."""
    if source.recipe == "modelopt":
        return {}
    nan = IS_NAN[NVFP4.scale](scale)
    shape = (*qdata.shape[:-1], 2 * qdata.shape[-1])
    masks = {"NaN scale": per_element(nan, (1, NVFP4.block), shape)}
    # The other recipes have a rule for each global scale.
    if source.operand and source.recipe == "torchao":
        rows = -1 if source.of == "row" else 1
        decode = _decode_scale(case, source).reshape(*x.type.shape[:-2], rows, 1)
        masks["degenerate global scale"] = degenerate(decode)
    return masks


def _decode_scale(case, source):
    """The global scale in the form that divides amaxes, by torchao's formula."""
    if source.given is not None:
        return floats(source.given)
    if source.computed in case.expected:
        value = floats(case.expected[source.computed])
        return value if source.operand == "global_scale" else value / np.float32(2688)
    return np.abs(floats(case.inputs["x"])).max((-2, -1)) / np.float32(2688)
