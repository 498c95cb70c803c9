# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matmuls with linear, swizzled and grouped scales, and of a plain A that the codes and scales of
a case stand for, in f32 and bf16."""

import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2] / "python"))

from blockscale_reference import dequantize_mx, dequantize_nvfp4
from blockscale_reference.codecs import E4M3, INT8
from cases import floats, unpack_e2m1
from contract import compare_product, product_bound
from ir import MXFP8, MXINT8, NVFP4, SWIZZLED, Layout, Tensor
from jobs import Check, Job, reshaped

# Other people's emulations of the same product: the result element, and their
# own distance from the exact sum as a multiple of absdot beside an f32 sum's.
EMULATIONS = {
    "ao_y_f32": ("f32", 0.0),
    "te_y_f32": ("f32", 0.0),
    "tosa_y_f32": ("f32", 0.0),
    "ao_emulated_bf16": ("bf16", 2.0**-7),
}


FORMATS = {"nvfp4": NVFP4, "mxfp8": MXFP8, "mxint8": MXINT8}
# Elements of those whose scales are powers of two.
ELEMENTS = {"mxfp8": E4M3, "mxint8": INT8}


def _format(case):
    return FORMATS[case.operation.split("_")[0]]


def _operand(job, case, name):
    bits, format = case.inputs[name + "_q"], _format(case)
    k = bits.shape[-1] * (2 if format is NVFP4 else 1)
    return job.input(Tensor((*bits.shape[:-1], k), format.data), bits)


def _plain(job, case):
    """A in bf16, which has each code times its scale exactly; no global scale is applied."""
    codes, scale = case.inputs["a_q"], case.inputs["a_scale"]
    name = case.operation.split("_")[0]
    with np.errstate(over="ignore"):
        values = (
            dequantize_nvfp4(unpack_e2m1(codes), scale)
            if name == "nvfp4"
            else dequantize_mx(codes, scale, ELEMENTS[name])
        )
    bits = values.view(np.uint32)
    assert not (bits & 0xFFFF).any(), f"{case.name}: bf16 lacks a value of A"
    return job.input(Tensor(values.shape, "bf16"), (bits >> 16).astype(np.uint16))


def _with_plain(job, case, a, routes):
    """By the name of each route A and the scales, and the same of a plain A."""
    plain = _plain(job, case)
    forms = {route: (a, scales) for route, scales in routes.items()}
    forms.update(
        (f"plain A, {route}", (plain, [None, scales[1]]))
        for route, scales in routes.items()
    )
    return forms


def _scale(job, case, name, layout=None, stored=None):
    """The scale argument of operand `name`; group buffers are cut or zero-filled
    to the upper bound that the layout has."""
    linear = case.inputs[name + "_scale"]
    type = Tensor(linear.shape, _format(case).scale, layout)
    if layout is None:
        return job.input(type, linear)
    size = int(np.prod(type.storage()[1]))
    stored = stored.ravel()[:size]
    return job.input(type, np.pad(stored, (0, size - stored.size)))


def _checks(case, element, route, written):
    exact = floats(case.expected["y_f32"]).astype(np.float64)
    absdot = floats(case.expected["absdot_f32"])
    k = case.meta["shape"][1]
    bound = product_bound(exact, absdot, k, element == "bf16")

    def check(array, reference, bound):
        want = case.expected[array]
        return Check(
            array,
            want,
            reshaped(want),
            lambda got: compare_product(floats(got), reference, bound),
            route,
            written,
        )

    if f"y_{element}" in case.expected:
        yield check(f"y_{element}", exact, bound)
    for array, (of, extra) in EMULATIONS.items():
        if of == element and array in case.expected:
            slack = product_bound(exact, absdot, k, False) + extra * absdot
            yield check(array, floats(case.expected[array]), bound + slack)


def _multiply(job, case, route, multiply):
    for element in ("f32", "bf16"):
        checks = list(_checks(case, element, route, route == "linear"))
        job.output(multiply(element), checks)


def mm_jobs(case):
    job = Job(f"{case.name}.scaled_mm")
    a, b = _operand(job, case, "a"), _operand(job, case, "b")
    globals = {
        f"global_scale_{name}": job.input(Tensor((), "f32"), case.inputs[array])
        for name in "ab"
        if (array := f"{name}_per_tensor_scale") in case.inputs
    }
    block = _format(case).block
    routes = {"linear": [_scale(job, case, name) for name in "ab"]}
    if "a_scale_blocked" in case.inputs:
        routes["swizzled"] = [
            _scale(job, case, name, SWIZZLED, case.inputs[name + "_scale_blocked"])
            for name in "ab"
        ]
    for route, (of_a, scales) in _with_plain(job, case, a, routes).items():
        _multiply(
            job,
            case,
            route,
            lambda element: job.function.scaled_mm(
                of_a, b, scales, block, element, **globals
            ),
        )
    yield job


def gmm_jobs(case):
    job = Job(f"{case.name}.scaled_grouped_mm")
    a, b = _operand(job, case, "a"), _operand(job, case, "b")
    ends = case.inputs["offs"]
    offsets = job.input(Tensor(ends.shape, "i32"), ends)
    block = _format(case).block
    routes = {"linear": [_scale(job, case, name) for name in "ab"]}
    routes.update(_grouped_scales(job, case, len(ends)))
    forms = {route: (a, scales) for route, scales in routes.items()}
    # Groups of K have scales on both sides.
    if len(b.type.shape) == 3:
        forms = _with_plain(job, case, a, routes)
    for route, (of_a, scales) in forms.items():
        _multiply(
            job,
            case,
            route,
            lambda element: job.function.scaled_grouped_mm(
                of_a, b, offsets, scales, block, element
            ),
        )
    yield job


def _grouped_scales(job, case, groups):
    """The same scales in the layouts that kernels read, where the case has them."""
    buffers = case.inputs
    if "a_scale_kgroups_blocked" in buffers:
        layout = Layout(groups, dim=1)
        yield "grouped", [
            _scale(job, case, name, layout, buffers[name + "_scale_kgroups_blocked"])
            for name in "ab"
        ]
    if "b_scale_blocked" in buffers:
        b = _scale(job, case, "b", SWIZZLED, buffers["b_scale_blocked"])
        if "b_scale_32x32" in buffers:
            yield "32x32", [_scale(job, case, "a"), _expanded_scale(job, case)]
        for name in ("a_scale_groups_blocked", "a_scale_mgroups_blocked"):
            if name in buffers:
                layout = Layout(groups, dim=0)
                yield name, [_scale(job, case, "a", layout, buffers[name]), b]


def _expanded_scale(job, case):
    """The scale of a B in squares, as a product along K takes it."""
    compact = case.inputs["b_scale_32x32"]
    scale = job.input(Tensor(compact.shape, _format(case).scale), compact)
    shape = case.inputs["b_scale"].shape
    return job.function.expand_scale(scale, 32, "k", shape)
