# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of a model under a mode of their own, which torch.export keeps in graphs of their own:
without gradients, as rotary embeddings of transformers are, or with another autocast."""

import unittest

import torch
from torch import nn

import blockscale.torch

#: What computes a part, and the op that torch.export makes of it.
MODES = ((torch.no_grad, "wrap_with_set_grad_enabled"),
         (lambda: torch.autocast("cpu", enabled=False), "wrap_with_autocast"),
         (lambda: torch.autocast("cpu", dtype=torch.bfloat16), "wrap_with_autocast"))


class Parts(nn.Module):
    """Two results of a part, one of which a layer behind it takes."""

    def __init__(self, mode, op=torch.cos):
        super().__init__()
        self.layer, self.mode, self.op = nn.Linear(8, 8), mode, op

    def forward(self, x):
        with self.mode():
            squares = x @ x.transpose(0, 1)
            y = self.op((squares @ x).float())
        return self.layer(y), squares * 2


def export(model):
    x = torch.randn(4, 8)
    return torch.export.export(model, (x,), dynamic_shapes=({0: torch.export.Dim("rows")},))


class ModesTest(unittest.TestCase):
    def test_values(self):
        torch.manual_seed(0)
        for number, (mode, op) in enumerate(MODES):
            model = Parts(mode).eval()
            program = export(model)
            self.assertIn(op, [str(node.target) for node in program.graph.nodes])
            function = blockscale.torch.from_export(program).compile()
            for rows in (1, 7):
                x = torch.randn(rows, 8)
                for found, wanted in zip(function(x), model(x), strict=True):
                    with self.subTest(mode=number, rows=rows):
                        self.assertEqual(found.dtype, wanted.dtype)
                        torch.testing.assert_close(found, wanted)

    def test_an_op_that_is_not_imported(self):
        """It is named as it is elsewhere."""
        with self.assertRaisesRegex(blockscale.torch.UnsupportedError, "special_bessel_j0"):
            blockscale.torch.from_export(export(Parts(torch.no_grad, torch.special.bessel_j0)))


if __name__ == "__main__":
    unittest.main()
