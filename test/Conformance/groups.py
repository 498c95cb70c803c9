# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operands of grouped products, quantized again from their exact values.

An operand's own codes and scales must come back, the scales in the layouts that
pad each group as well. The arrays are inputs of the cases; they are reported as
`in_` arrays.

One kind of block comes back in another form of the same values. Its amax was a
little above 224 times its scale and was rounded to 224, half of the largest value:
from there rceil takes the scale below, and codes of twice the value.
"""

import numpy as np

from cases import swizzled
from contract import compare_map, per_element
from ir import MXFP8, NVFP4, SWIZZLED, Form, Layout, Tensor
from jobs import Check, Job, bits_check

CODE_OF_224 = 0x76


def operand_jobs(case):
    format = NVFP4 if case.operation.startswith("nvfp4") else MXFP8
    recipe = "torchao" if format is NVFP4 else "rceil"
    columns = case.operation.endswith("2d_2d")
    yield _grouped_job(case, "a", format, recipe, 1 if columns else 0)
    if columns:
        yield _grouped_job(case, "b", format, recipe, 1)
    elif "b_scale_32x32" in case.inputs:
        yield _square_job(case, format, recipe)


def _values(job, case, name, format, scale):
    """The exact values, f32, and the shape of the operand."""
    codes = case.inputs[name + "_q"]
    shape = (*codes.shape[:-1], codes.shape[-1] * (2 if format is NVFP4 else 1))
    q = job.input(Tensor(shape, format.data), codes)
    linear = case.inputs[scale]
    s = job.input(Tensor(linear.shape, format.scale), linear)
    return job.function.dequantize(q, s, format, "f32"), s


def _expected(case, name, format, block, dim=0):
    """The arrays of an operand, from its exact values."""
    arrays = {a: w for a, w in case.inputs.items() if a.startswith(name + "_")}
    if format is NVFP4:
        return arrays
    codes = arrays[name + "_q"]
    *batch, rows, cols = codes.shape
    magnitudes = codes & 0x7F
    blocks = magnitudes.reshape(
        *batch, rows // block[0], block[0], cols // block[1], block[1]
    )
    halved = blocks.max((-3, -1)) == CODE_OF_224
    doubled = np.where(magnitudes < 8, 2 * magnitudes, magnitudes + 8) | codes & 0x80
    arrays[name + "_q"] = np.where(
        per_element(halved, block, codes.shape), doubled, codes
    )
    linear = np.repeat(halved, block[0], axis=-2)
    ends = case.inputs["offs"] // (block[1] if dim else 1)
    groups = _in_groups(linear, ends, dim) if linear.ndim == 2 else None
    for part, lower in {
        "scale": linear,
        "scale_32x32": halved,
        "scale_blocked": swizzled(linear),
        "scale_groups_blocked": groups,
        "scale_mgroups_blocked": groups,
        "scale_kgroups_blocked": groups,
    }.items():
        if (array := f"{name}_{part}") in arrays:
            arrays[array] = arrays[array].copy()
            arrays[array].reshape(-1)[: lower.size] -= lower.ravel()
    return arrays


def _in_groups(matrix, ends, dim):
    """The tiles of each group of rows or columns, one after the other."""
    parts = np.split(matrix, ends, axis=dim)[:-1]
    return np.concatenate([swizzled(part) for part in parts])


def _check(want, array, element, route):
    return bits_check(
        "in_" + array, want[array], element, route=route, written=False
    )


def _grouped_job(case, name, format, recipe, dim):
    job = Job(f"{case.name}.{name}_quantize")
    x, _ = _values(job, case, name, format, name + "_scale")
    want = _expected(case, name, format, (1, format.block), dim)
    ends = case.inputs["offs"]
    offsets = job.input(Tensor(ends.shape, "i32"), ends)
    operands = dict(offsets=offsets, group_dim=dim)
    q, scale = job.function.quantize(x, format, recipe, **operands)
    job.output(q, [_check(want, name + "_q", format.data, "linear")])
    job.output(scale, [_check(want, name + "_scale", format.scale, "linear")])
    layout = Layout(len(ends), dim)
    q, scale = job.function.quantize(x, format, recipe, layout, **operands)
    job.output(q, [_check(want, name + "_q", format.data, "grouped")])
    job.output(scale, _buffer_checks(want, name))
    return job


def _buffer_checks(want, name):
    """Buffers of other upper bounds, that end in zeros."""

    def check(array):
        def judge(got):
            return compare_map(got, want[array])

        return Check("in_" + array, want[array], np.ravel, judge, "quantize", False)

    parts = ("groups", "mgroups", "kgroups")
    names = [f"{name}_scale_{part}_blocked" for part in parts]
    return [check(array) for array in names if array in want]


def _square_job(case, format, recipe):
    """B in squares: compact scales, and expanded ones as the product takes them."""
    job = Job(f"{case.name}.b_quantize")
    x, linear = _values(job, case, "b", format, "b_scale")
    want = _expected(case, "b", format, (32, 32))
    square = case.inputs["b_scale_32x32"]
    compact = job.input(Tensor(square.shape, format.scale), square)
    for to, array in ((None, "b_scale"), (SWIZZLED, "b_scale_blocked")):
        check = _check(case.inputs, array, format.scale, "expand_scale")
        shape = linear.type.shape
        job.output(job.function.expand_scale(compact, 32, "k", shape, to), [check])
        form = Form((32, 32), scale_dim="k")
        q, scale = job.function.quantize(x, format, recipe, to, form)
        job.output(q, [_check(want, "b_q", format.data, "scale_dim k")])
        job.output(scale, [_check(want, array, format.scale, "scale_dim k")])
    q, scale = job.function.quantize(x, format, recipe, form=Form((32, 32)))
    job.output(q, [_check(want, "b_q", format.data, "compact")])
    job.output(scale, [_check(want, "b_scale_32x32", format.scale, "compact")])
    return job
