# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The random Hadamard transform down columns, its amax and its quantization.

The matrix itself is what an identity transforms into.
"""

import numpy as np

from cases import floats
from contract import compare_bits
from ir import Tensor
from jobs import Check, Job, bits_check
from nvfp4 import COLUMNS, Source, check_quantize
from quantizers import input_tensor

# Prefix of the arrays, and the sign mask: the default one or none.
TRANSFORMS = {"t_": None, "nosign_t_": 0}


def rht_jobs(case):
    yield _matrix_job(case)
    job = Job(f"{case.name}.quantize")
    x = input_tensor(job, case.inputs["x"])
    check_quantize(job, x, case, "", Source("te", "global_amax", "amax_row"))
    yield job
    for prefix, sign_mask in TRANSFORMS.items():
        job = Job(f"{case.name}.{prefix}quantize")
        x = input_tensor(job, case.inputs["x"])
        y = job.function.hadamard(x, 0, sign_mask)
        if prefix == "t_":
            job.output(y, [_on_its_side(case, "rht_t_bf16")])
        amax = prefix.replace("t_", "amax_col")
        source = Source("te", "global_amax", amax, form=COLUMNS)
        check_quantize(job, y, case, prefix, source)
        yield job


def _on_its_side(case, array):
    want = case.expected[array]
    return Check(
        array,
        want,
        lambda stored: np.ascontiguousarray(stored.T),
        lambda got: compare_bits(got, want, "bf16"),
    )


def _matrix_job(case):
    job = Job(f"{case.name}.matrix")
    bits = np.where(np.eye(16), 0x3F80, 0).astype(np.uint16)
    identity = job.input(Tensor(bits.shape, "bf16"), bits)
    matrix = job.function.hadamard(identity, 1)
    checks = [
        bits_check(array, case.expected[array], "bf16")
        for array in ("hadamard_signed_bf16", "ao_rht_matrix_bf16")
    ]
    checks.append(_form_check(case, "hadamard_signed_f32", _widened))
    checks.append(_form_check(case, "sign", _signs))
    job.output(matrix, checks)
    # The transform along columns has the same matrix, on its side.
    down = job.function.hadamard(identity, 0)
    array = "hadamard_signed_bf16"
    want = case.expected[array].T
    job.output(down, [bits_check(array, want, "bf16", route="down", written=False)])
    return job


def _widened(stored):
    return floats(stored).view(np.uint32)


def _signs(stored):
    """The signs of the first column, that of the plain matrix being positive."""
    return np.sign(floats(stored)[:, 0]).astype(np.int8)


def _form_check(case, array, form):
    want = case.expected[array]
    element = "f32" if want.dtype == np.uint32 else "i32"
    return Check(array, want, form, lambda got: compare_bits(got, want, element))
