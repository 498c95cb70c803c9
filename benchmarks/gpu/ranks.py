#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training on several GPUs: the codes and losses of test/Torch/test_ranks.py by NCCL, and how much
of what ranks send one another a step hides behind its kernels.

  python3 benchmarks/gpu/ranks.py [--commit ID] [--gpus N]   # on the machine with the GPUs
  python3 benchmarks/gpu/ranks.py --tiny                     # a small one, on the CPU by gloo

Needs torch, and the package blockscale with its extra for torch. The model is a stack of pairs of
linear layers, 4096 -> 14336 -> 4096, of bf16; a rank has 8192 tokens of its own with fully_shard(),
and all ranks have 8192 together in tensor-parallel layers whose activations are sequence-parallel
between them. For each form there is a line:

  step       forward and backward, with all that ranks send
  compute    the same layers of a rank without ranks, on tensors of the same sizes
  sent       what ranks send in the step, alone: weights or codes twice and gradients once, or
             activations, and the amaxes
  hidden     the part of it that the step does not wait for: (compute + sent - step) / sent

Times are medians of 5 times 3 steps, of the slowest rank.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
import torch.distributed
import torch.distributed._functional_collectives as collectives
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(Path(__file__).resolve().parent))

from blockscale.torch import prepare_training_
from torch_models import free, print_head, time_calls

#: Forms, and whether fully_shard() gathers codes.
SHARDED = (("bf16", False), ("mxfp8", False), ("mxfp8_32x32", True), ("nvfp4", False),
           ("nvfp4", True))
PARALLEL = ("bf16", "mxfp8", "nvfp4")
#: Bytes of an element as codes and scales of square blocks.
CODE_BYTES = {"mxfp8_32x32": 1 + 1 / 1024, "nvfp4": 0.5 + 1 / 256}


class Pair(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.up = nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(x)))


def make_model(options, inner, form, **more):
    torch.manual_seed(0)
    with torch.device(options.device):
        model = nn.Sequential(*[Pair(options.width, inner) for _ in range(options.pairs)])
        model = model.bfloat16()
    if form != "bf16":
        prepare_training_(model, form, leave_last_projection=False, **more)
    return model


def time_step(options, model, tokens):
    """Seconds of forward and backward, of the slowest rank."""
    x = torch.randn(tokens, options.width, device=options.device).bfloat16().requires_grad_()
    gradient = torch.randn_like(x)

    def step():
        model(x).backward(gradient)
        for each in model.parameters():
            each.grad = None
    for _ in range(3):
        step()
    return get_slowest(options, time_calls(step, calls=3) / 3)


def get_slowest(options, seconds):
    made = torch.tensor(seconds, device=options.device)
    return float(collectives.wait_tensor(collectives.all_reduce(made, "max", options.mesh)))


def time_sent(options, sends):
    for each in sends * 2:
        each()

    def send():
        for each in sends:
            each()
    return get_slowest(options, time_calls(send, calls=3) / 3)


def make_sends(options, gathered, scattered, amaxes, times):
    """Collectives of tensors of so many bytes, as a step has them: (gathers, scatters) of each."""
    group, world = options.mesh.get_group(), options.mesh.size()
    sends = []
    for size, count in gathered:
        part = torch.zeros(size // world, dtype=torch.uint8, device=options.device)
        whole = torch.zeros(size // world * world, dtype=torch.uint8, device=options.device)
        sends += [lambda part=part, whole=whole: torch.distributed.all_gather_into_tensor(
            whole, part, group=group)] * count
    for size, count in scattered:
        part = torch.zeros(size // world // 2, device=options.device).bfloat16()
        whole = torch.zeros(size // world // 2 * world, device=options.device).bfloat16()
        sends += [lambda part=part, whole=whole: reduce_scatter(part, whole, group)] * count
    number = torch.zeros(4, dtype=torch.int32, device=options.device)
    sends += [lambda: torch.distributed.all_reduce(
        number, torch.distributed.ReduceOp.MAX, group=group)] * amaxes
    return sends * times


def reduce_scatter(part, whole, group):
    torch.distributed.reduce_scatter_tensor(part, whole, group=group)


def report(options, name, step, compute, sent):
    if options.rank == 0:
        hidden = (compute + sent - step) / sent
        print(f"| {name} | {step * 1e3:.2f} | {compute * 1e3:.2f} | {sent * 1e3:.2f} | "
              f"{(compute + sent) * 1e3:.2f} | {hidden:.0%} |", flush=True)


def head(options, title):
    if options.rank == 0:
        print(f"\n{title}\n\n| form | step ms | compute | sent | sum | hidden |\n"
              "| --- | --- | --- | --- | --- | --- |", flush=True)


def measure_sharded(options):
    head(options, f"fully_shard(), {options.pairs} pairs, {options.tokens} tokens a rank")
    size = options.width * options.inner * 2  # A pair has two of them, of bf16.
    for form, gathers in SHARDED:
        scaled = form == "nvfp4"
        more = {} if form == "bf16" else dict(amax_group=options.mesh, gather_codes=gathers)
        model = make_model(options, options.inner, form, **more)
        for each in model:
            fully_shard(each, mesh=options.mesh)
        fully_shard(model, mesh=options.mesh)
        step = time_step(options, model, options.tokens)
        del model
        free()
        compute = time_step(options, make_model(options, options.inner, form), options.tokens)
        free()
        gathered = int(2 * size * (CODE_BYTES[form] / 2 if gathers else 1))
        # Amaxes of x and the weight, of the gradient, and of shards that are quantized.
        amaxes = (4 + 4 * gathers) * scaled
        sent = time_sent(options, make_sends(options, [(gathered, 2)], [(2 * size, 1)], amaxes,
                                             options.pairs))
        free()
        report(options, f"{form}{', codes' if gathers else ''}", step, compute, sent)


def measure_parallel(options):
    world = options.mesh.size()
    head(options, f"tensor-parallel, {options.pairs} pairs, {options.tokens} tokens in all")
    activations = options.tokens * options.width * 2
    for form in PARALLEL:
        model = make_model(options, options.inner, form)
        for each in model:
            parallelize_module(each, options.mesh, {
                "up": ColwiseParallel(input_layouts=Shard(0)),
                "down": RowwiseParallel(output_layouts=Shard(0))})
        step = time_step(options, model, options.tokens // world)
        del model
        free()
        # Layers of a rank, of all tokens.
        alone = make_model(options, options.inner // world, form)
        compute = time_step(options, alone, options.tokens)
        del alone
        free()
        sent = time_sent(options, make_sends(options, [(activations, 2)], [(activations, 2)],
                                             3 * (form == "nvfp4"), options.pairs))
        free()
        report(options, form, step, compute, sent)


def work(rank, world, folder, options):
    options.rank = rank
    if options.device == "cuda":
        torch.cuda.set_device(rank)
        options.device = f"cuda:{rank}"
    torch.distributed.init_process_group("gloo" if options.tiny else "nccl", rank=rank,
                                         world_size=world, init_method=f"file://{folder}/store")
    options.mesh = init_device_mesh("cpu" if options.tiny else "cuda", (world,))
    measure_sharded(options)
    measure_parallel(options)
    torch.distributed.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--gpus", type=int, default=0, help="how many; all by default")
    parser.add_argument("--tiny", action="store_true")
    options = parser.parse_args()
    world = 2 if options.tiny else options.gpus or torch.cuda.device_count()
    options.device = "cpu" if options.tiny else "cuda"
    options.width, options.inner, options.pairs, options.tokens = (
        (128, 256, 2, 128) if options.tiny else (4096, 14336, 4, 8192))
    print_head(options.commit)
    print(f"{world} {'processes' if options.tiny else 'GPUs'}", flush=True)
    # NCCL may not have NVLink's multicast everywhere.
    os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
    tests = subprocess.run(
        [sys.executable, "-m", "unittest", "discover", "-v", "-s", ROOT / "test/Torch", "-p",
         "test_ranks.py"], check=False,
        env={**os.environ, "BLOCKSCALE_RANKS": str(0 if options.tiny else world)})
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(work, (world, folder, options), world)
    sys.exit(tests.returncode)


if __name__ == "__main__":
    main()
