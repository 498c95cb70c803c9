# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a job is on a GPU: its operations that have a kernel there.

The table of docs/Lowering.md, section 8. An operation that should have a kernel and
is refused by the compiler is a mismatch, so this cannot hide one.
"""

from jobs import Job

# A quantizer's operands that its kernels do not take.
OPERANDS = ("block_amax", "rng", "offsets")
# What has kernels in every form.
COMPLETE = ("amax", "dequantize", "global_scale", "hadamard", "scale_sweep", "swizzle")


def refusal(operation):
    """Why the operation has no kernel, or None where it has one."""
    if operation.name in COMPLETE:
        return None
    if operation.name != "quantize":
        return f"no kernel for {operation.name}"
    x = operation.operands[0].type
    quantized = operation.details
    block = quantized["form"].block
    if block[0] != 1 or quantized["form"].transposed:
        return "no kernel for blocks of several rows"
    if "4over6" in quantized["recipe"]:
        return "no kernel for 4over6 recipes"
    if "f6" in quantized["format"].data:
        return "no kernel for data of 6 bits"
    for name, value in quantized["given"].items():
        if name in OPERANDS:
            return f"no kernel for {name}"
        if len(value.type.shape) == len(x.shape) - 1:
            return "no kernel for a global value a row"
    if x.shape[-1] % block[1]:
        return "no kernel for rows that end within a block"
    return None


def reduce_job(job):
    """The part of a job that has kernels, and why the others have none: a list of
    (check, reason)."""
    reduced, refused = Job(job.name), []
    reduced.inputs = job.inputs
    outputs = iter(job.function.results)
    for count, checks in job.outputs:
        values = [value for _, value in zip(range(count), outputs)]
        needed = job.function.operations_of(values)
        # The last one is what is judged; what makes its operands may be refused, too.
        reasons = filter(None, map(refusal, reversed(needed)))
        if reason := next(reasons, None):
            refused += [(check, reason) for check in checks]
        else:
            reduced.output(values, checks)
    reduced.function = job.function.reduced(reduced.function.results)
    return reduced, refused
