# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small model, and rules that freeze its weights as codes: tests differentiate through them."""

import torch
from torch import nn
from torch.nn import functional as F

WIDTH = 128
RULES = ({"format": "nvfp4", "weight_only": True}, {"format": "mxfp8", "weight_only": True},
         {"format": "mxfp4", "weight_only": True, "order": "chain"})


def policy(rule):
    return {"version": 1, "leave_last_projection": False, "rules": [rule]}


class Block(nn.Module):
    """An attention with biases, a gated MLP, norms and residuals."""

    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList(nn.RMSNorm(WIDTH) for _ in range(2))
        self.q, self.k, self.v, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.gate, self.up = (nn.Linear(WIDTH, 256, bias=False) for _ in range(2))
        self.down = nn.Linear(256, WIDTH, bias=False)

    def forward(self, x):
        h = self.norms[0](x)
        q, k, v = self.q(h), self.k(h), self.v(h)
        x = x + self.out(torch.softmax(q @ k.transpose(-2, -1) / 16, -1) @ v)
        h = self.norms[1](x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))
