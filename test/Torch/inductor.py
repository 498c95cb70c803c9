# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tests see of Inductor."""

import contextlib
import unittest.mock

import torch
from torch._inductor import exc, lowering


@contextlib.contextmanager
def list_described_ops():
    """A list of ops of ours for which Inductor writes down all arguments, which takes exponential
    time behind calls of ours. It has not heard of any op of ours before."""
    others = {op: found for op, found in lowering.lowerings.items()
              if getattr(op, "namespace", None) != "blockscale"}
    described = []

    def describe(op, args, kwargs):
        if op.namespace == "blockscale":
            described.append(op)
        return str(op)
    torch._dynamo.reset()
    with (unittest.mock.patch.dict(lowering.lowerings, others, clear=True),
          unittest.mock.patch.object(exc.OperatorIssue, "operator_str", describe),
          torch._inductor.config.patch(force_disable_caches=True)):
        yield described
