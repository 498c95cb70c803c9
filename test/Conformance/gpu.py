# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a job is on a GPU: its operations that have a kernel there.

The table of docs/Lowering.md, section 8. An operation that should have a kernel and
is refused by the compiler is a mismatch, so this cannot hide one.
"""

from jobs import Job

# What has kernels in every form, on every chip.
COMPLETE = ("amax", "dequantize", "expand_scale", "global_scale", "hadamard", "quantize",
            "scale_sweep", "swizzle")
PRODUCTS = ("scaled_mm", "scaled_grouped_mm")


def refusal(operation, chip):
    """Why the operation has no kernel, or None where it has one."""
    if operation.name in PRODUCTS and operation.operands[0].type.element == "i8":
        return f"no kernel for {operation.name} of MXINT8"
    return None if operation.name in COMPLETE + PRODUCTS else f"no kernel for {operation.name}"


def reduce_job(job, chip):
    """The part of a job that has kernels for a chip, and why the others have none: a
    list of (check, reason)."""
    reduced, refused = Job(job.name), []
    reduced.inputs = job.inputs
    outputs = iter(job.function.results)
    for count, checks in job.outputs:
        values = [value for _, value in zip(range(count), outputs)]
        needed = job.function.operations_of(values)
        # The last one is what is judged; what makes its operands may be refused, too.
        reasons = filter(None, (refusal(each, chip) for each in reversed(needed)))
        if reason := next(reasons, None):
            refused += [(check, reason) for check in checks]
        else:
            reduced.output(values, checks)
    reduced.function = job.function.reduced(reduced.function.results)
    return reduced, refused
