#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Seconds that Triton takes for the scale sweep, from its source to PTX and on to
machine code, without a GPU, as JSON. Of the processor's time, ptxas is not counted.

    python triton_sweep.py CAPABILITY

The kernel does what sweep_reference.py does, the way ModelOpt's Triton kernel goes
about it: a block a row, its 16 elements loaded once, 126 candidates from memory in an
unrolled loop, a running minimum. The tile is the least of the three that ModelOpt's
autotuner compiles one after the other; of each, a thread has four elements. The cache
must be empty (TRITON_CACHE_DIR).
"""

import json
import sys
import time

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

TILE, WARPS = 16, 2


@triton.jit
def round_e2m1(a):
    """The nearest of 0, 0.5, 1, 1.5, 2, 3, 4, 6; to even in the middle."""
    low = tl.where(a <= 0.25, 0.0, tl.where(a < 0.75, 0.5, tl.where(a <= 1.25, 1.0, 1.5)))
    high = tl.where(a <= 2.5, 2.0, tl.where(a < 3.5, 3.0, tl.where(a <= 5.0, 4.0, 6.0)))
    return tl.where(a < 1.75, low, high)


@triton.jit
def sweep(x, candidates, global_amax, best, blocks, SIZE: tl.constexpr, COUNT: tl.constexpr,
          TILE: tl.constexpr):
    block = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = block < blocks
    offsets = block[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    magnitude = tl.abs(tl.load(x + offsets, mask=inside[:, None], other=0.0).to(tl.float32))
    amax = tl.load(global_amax)
    least = tl.full([TILE], float("inf"), dtype=tl.float32)
    winner = tl.zeros([TILE], dtype=tl.int32)
    for i in tl.static_range(COUNT):
        scale = tl.load(candidates + i) * amax / 6.0
        scale = tl.where(scale == 0.0, 1.0, scale)
        error = magnitude - round_e2m1(magnitude / scale) * scale
        loss = tl.sum(error * error, axis=1)
        is_better = loss < least
        least = tl.where(is_better, loss, least)
        winner = tl.where(is_better, i, winner)
    value = tl.load(candidates + winner, mask=inside, other=0.0)
    tl.store(best + block, amax * value, mask=inside)


def main():
    target = GPUTarget("cuda", int(sys.argv[1]), 32)
    times = {}
    backend = type(triton.compiler.make_backend(target))
    add_stages = backend.add_stages

    def timed(name, stage):
        def run(*arguments):
            result = stage(*arguments)
            times[name] = time.perf_counter() - start, time.process_time() - cpu_start
            return result
        return run

    def add_timed_stages(self, stages, *arguments):
        add_stages(self, stages, *arguments)
        stages.update({name: timed(name, stage) for name, stage in stages.items()})

    backend.add_stages = add_timed_stages
    source = ASTSource(
        sweep, {"x": "*bf16", "candidates": "*fp32", "global_amax": "*fp32", "best": "*fp32",
                "blocks": "i32", "SIZE": "constexpr", "COUNT": "constexpr", "TILE": "constexpr"},
        {(5,): 16, (6,): 126, (7,): TILE})
    start, cpu_start = time.perf_counter(), time.process_time()
    triton.compile(source, target=target, options={"num_warps": WARPS})
    print(json.dumps({"version": triton.__version__, "ptx": times["ptx"][0],
                      "ptx_cpu": times["ptx"][1], "cubin": times["cubin"][0]}))


if __name__ == "__main__":
    main()
