#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention of a step of decoding, however many programs share its keys: bits and time.

  python3 benchmarks/gpu/attention.py [--commit ID] [--context N]   # on the machine with the GPU

Needs torch, triton and the package blockscale. Of Llama-3-8B's heads (32 that share 8, of width
128), in batches of 1 and 16, and of one long context. Each way of decode_attention has to have the
bits of rotary embeddings, writes to the cache and attention as ops one by one; its time is that of
a launch in a CUDA graph of many, each of which has a cache of its own. The first line of a case is
what two batched products and a softmax take, as the backend makes them beside layers of free order.

Prints `N passed, N failed` at the end.
"""

import argparse
import math
import sys
from pathlib import Path

import torch
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).resolve().parent))

from blockscale.torch import _triton_rows
from torch_models import capture, print_head, time_calls

OPS = torch.ops.blockscale
HEADS, GROUPS, WIDTH = 32, 8, 128
#: Bytes of caches that no level of the GPU's caches holds.
SPREAD = 1 << 28


def draw(*shape):
    return torch.randn(*shape, device="cuda").bfloat16()


class Step:
    """A step behind `context` tokens of caches with room for `length`."""

    def __init__(self, batch, context, length):
        count = max(2, SPREAD // (4 * batch * GROUPS * length * WIDTH))
        self.caches = [[draw(batch, GROUPS, length, WIDTH) for _ in range(2)]
                       for _ in range(min(count, 32))]
        self.q = draw(batch, HEADS, 1, WIDTH)
        self.k, self.v = (draw(batch, GROUPS, 1, WIDTH) for _ in range(2))
        self.cos, self.sin = (draw(1, 1, 1, WIDTH) for _ in range(2))
        self.position = torch.tensor([context], device="cuda")
        seen = torch.arange(length, device="cuda") <= context
        self.mask = torch.where(seen, 0.0, -math.inf).bfloat16().expand(batch, HEADS, 1, length)

    def call(self, keys, values, **options):
        tables = [each[:, 0, 0].expand(len(self.q), WIDTH) for each in (self.cos, self.sin)]
        return _triton_rows.attend(self.q, keys, values, self.mask, None, None, False,
                                   WIDTH ** -0.5, (self.k, self.v, *tables, self.position),
                                   **options)

    def call_apart(self, keys, values):
        keys.index_copy_(2, self.position, OPS.rotary_embedding(self.k, self.cos, self.sin))
        values.index_copy_(2, self.position, self.v)
        return OPS.attention(OPS.rotary_embedding(self.q, self.cos, self.sin), keys, values,
                             self.mask)

    def call_products(self, keys, values):
        rows = self.q.view(-1, HEADS // GROUPS, WIDTH)
        scores = torch.bmm(rows, keys.flatten(0, 1).mT, out_dtype=torch.float32) * WIDTH ** -0.5
        bias = self.mask.reshape(len(rows), HEADS // GROUPS, -1)
        return torch.bmm(F.softmax(scores + bias, -1).bfloat16(), values.flatten(0, 1))

    def time(self, call, **options):
        """Microseconds of a call, each with the next caches."""
        def run():
            for each in self.caches:
                call(*each, **options)
        return time_calls(capture(run, "cuda"), calls=4) / 4 / len(self.caches) * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--commit", default="unknown", help="for the head of the log")
    parser.add_argument("--context", type=int, default=1024)
    options = parser.parse_args()
    print_head(options.commit)
    passed = failed = 0
    torch.manual_seed(0)
    for batch, context, length in ((1, options.context, options.context + 96),
                                   (16, options.context, options.context + 96),
                                   (1, 8 * options.context, 9 * options.context)):
        step = Step(batch, context, length)
        print(f"batch {batch}, {context} tokens: products and softmax "
              f"{step.time(step.call_products):.2f} us", flush=True)
        apart = [each.clone() for each in step.caches[0]]
        wanted = step.call_apart(*apart), *apart
        for count in (1, _triton_rows.SEGMENT, 1 << 20):
            for warps in (2, 4, 8):
                caches = [each.clone() for each in step.caches[0]]
                found = step.call(*caches, count=count, warps=warps), *caches
                same = all(map(torch.equal, found, wanted))
                passed, failed = passed + same, failed + (not same)
                us = step.time(step.call, count=count, warps=warps)
                print(f"  {'pass' if same else 'FAIL'} chunks a program "
                      f"{count if count < 1 << 20 else 'all'}, warps {warps}: {us:.2f} us",
                      flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    with torch.no_grad():
        sys.exit(main())
