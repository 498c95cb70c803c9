# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops of PyTorch as functions that are imported, compiled and compared."""

import unittest

import torch

import blockscale.torch
from models import Call


def export(model, *args, dynamic_shapes=None, **kwargs):
    return torch.export.export(model, args, kwargs, dynamic_shapes=dynamic_shapes)


class OpsTest(unittest.TestCase):
    """Many results of one function, which is compiled once."""

    def check(self, function, *args, tolerance=1e-6, dynamic_shapes=None, others=()):
        """Compares the results for `args`, and for `others`, arguments of other sizes."""
        program = export(Call(function), *args, dynamic_shapes=dynamic_shapes)
        compiled = blockscale.torch.from_export(program).compile()
        for given in (args, *others):
            for number, (one, other) in enumerate(zip(compiled(*given), function(*given),
                                                      strict=True)):
                with self.subTest(number=number):
                    self.assertEqual((one.dtype, one.shape), (other.dtype, other.shape))
                    torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance,
                                               equal_nan=True)
