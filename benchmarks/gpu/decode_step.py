#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A step of decoding, node by node: Llama-3-8B's architecture beside a stream of its bytes.

  python3 benchmarks/gpu/decode_step.py [--commit ID] [--only FORM,..]   # on the machine with it

Needs torch, triton, transformers and the package blockscale with its extra for torch. Forms:

  bf16       the plain model by torch.compile; the best of its modes counts
  nvfp4      NVFP4 weights, the head's too, by the backend "blockscale"
  chain      the same with products of order chain
  mxfp8      MXFP8 weights, the head's too
  bf16-16, nvfp4-16   16 sequences

A step computes the next token of each sequence from the last one behind `--context` tokens of a
static KV cache, and is one CUDA graph. Its bytes are those that it has to read: weights without
the table of the embedding, of which it reads a row a sequence, and the filled part of the cache.
The read-only stream is a kernel that only loads, over 2 GiB, in the same process.

Prints for each form the time of a step and the share of the stream, then the nodes of a step by
PyTorch's profiler: the kernels in the order of their first launch, how many a step has of each, how
long they run, and by how much one ends behind all before it. Where launches overlap, a kernel that
runs may wait, so that the latter is what it costs. Then come the bytes of our layers' weights, and
the time that the stream takes for them. Last come the bars; the exit status is 1 if one is missed.
"""

import argparse
import collections
import functools
import re
import sys
from pathlib import Path

import torch
import triton
import triton.language as tl

sys.path.insert(0, str(Path(__file__).resolve().parent))

import llama
from torch_models import (
    COMPILED,
    capture,
    free,
    print_head,
    report_bar,
    time_calls,
    weights_only,
)

#: Sequences; the policy's format, or none; its order.
FORMS = {"bf16": (1, None, None), "nvfp4": (1, "nvfp4", None), "chain": (1, "nvfp4", "chain"),
         "mxfp8": (1, "mxfp8", None), "bf16-16": (16, None, None),
         "nvfp4-16": (16, "nvfp4", None)}
#: The least ratio of the speed of one form to that of another.
BARS = (("nvfp4", "bf16", 2.7), ("mxfp8", "bf16", 1.85), ("nvfp4-16", "bf16-16", 2.1),
        ("chain", "nvfp4", 0.9))
#: The least share of the stream that NVFP4 reaches, by what a device's name contains.
STREAM_BARS = {"H100": 0.56, "H200": 0.48}
STREAM_BYTES = 2 << 30
BLOCK = 8192
PROFILED = 8


@triton.jit
def read_kernel(source, target, count, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.int32)
    for block in range(tl.program_id(0), count, tl.num_programs(0)):
        total ^= tl.load(source + block * BLOCK + tl.arange(0, BLOCK))
    tl.store(target + tl.program_id(0), tl.sum(total))


def measure_stream():
    """Bytes a second of a kernel that only loads."""
    words = torch.randint(0, 1 << 30, (STREAM_BYTES // 4,), dtype=torch.int32, device="cuda")
    programs = 4 * torch.cuda.get_device_properties(0).multi_processor_count
    target = torch.empty(programs, dtype=torch.int32, device="cuda")

    def read():
        read_kernel[programs,](words, target, STREAM_BYTES // 4 // BLOCK, BLOCK, num_warps=8)
    read()
    return STREAM_BYTES / time_calls(read, calls=4) * 4


def count_read_bytes(model, options, batch):
    """What a step has to read."""
    embedding = model.get_input_embeddings().weight
    config = model.config
    heads = config.num_key_value_heads * config.hidden_size // config.num_attention_heads
    cache = 2 * 2 * heads * config.num_hidden_layers * options.context * batch
    return llama.count_bytes(model) - embedding.numel() * embedding.element_size() + cache


class Decoder(llama.Decoder):
    """Steps of several sequences, which all have the same tokens behind them."""

    def __init__(self, model, options, compiled, batch):
        from transformers import StaticCache
        self.options, self.model = options, model
        self.cache = StaticCache(config=model.config,
                                 max_cache_len=options.context + options.new + 32)
        device = options.device
        self.token = torch.ones(batch, 1, dtype=torch.long, device=device)
        self.position = torch.zeros(1, dtype=torch.long, device=device)
        ids = (torch.arange(options.context, device=device) % 1000).expand(batch, -1)
        self.call(ids, torch.arange(options.context, device=device))
        self.compute = compiled(self.call)
        self.reset()


def describe(model):
    """Bytes of our layers in the order of a step, merged ones as one."""
    found = {}
    for name, module in model.named_modules():
        if hasattr(module, "form") and hasattr(module, "data"):
            place = re.sub(r"\.\d+\.", ".N.", name)
            found.setdefault(place, sum(t.numel() * t.element_size()
                                        for t in (*module.parameters(), *module.buffers())))
    return found


def profile(replay):
    """Kernels of a step in the order of their launches: name, and microseconds from their begin
    to their end, and from the end of all before them."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as found:
        for _ in range(PROFILED):
            replay()
        torch.cuda.synchronize()
    kernels = [event for event in found.events()
               if event.device_type == torch.autograd.DeviceType.CUDA]
    kernels.sort(key=lambda event: event.time_range.start)
    return measure_ends([(event.name, event.time_range.start, event.time_range.end)
                         for event in kernels])


def measure_ends(kernels):
    """Name, time and time behind all before, of kernels of PROFILED steps with begin and end."""
    nodes, last = [], 0.0
    for number, (name, begin, end) in enumerate(kernels):
        if number % (len(kernels) // PROFILED) == 0:
            last = begin  # Between steps the GPU waits for the host.
        nodes.append((name, end - begin, max(end - last, 0.0)))
        last = max(last, end)
    return nodes


def print_nodes(nodes):
    times = collections.defaultdict(list)
    for name, *each in nodes:
        times[name].append(each)
    total = sum(behind for _, _, behind in nodes) / PROFILED
    print(f"  {len(nodes) / PROFILED:.0f} nodes, {total:.0f} us from the first to the last")
    print("  | node | a step | us each | us behind | us a step |\n"
          "  | --- | --- | --- | --- | --- |")
    for name, each in times.items():
        us, behind = (sum(column) for column in zip(*each))
        print(f"  | {name[:100]} | {len(each) / PROFILED:g} | {us / len(each):.2f} "
              f"| {behind / len(each):.2f} | {behind / PROFILED:.1f} |")
    sys.stdout.flush()


def measure(options, form, stream):
    """Seconds of a step, and the share of the stream."""
    batch, fmt, order = FORMS[form]
    model = llama.make_model(options)
    if fmt:
        import blockscale.torch
        blockscale.torch.quantize_(model, weights_only(fmt, head=True),
                                   **({"order": order} if order else {}))
        free()
        ways = {"blockscale": llama.ours()}
    else:
        ways = COMPILED
    size = count_read_bytes(model, options, batch)
    print(f"{form}: a step reads {size / 1e9:.3f} GB", flush=True)
    best = None
    for name, arguments in ways.items():
        torch._dynamo.reset()
        with torch.no_grad():
            decoder = Decoder(model, options, functools.partial(torch.compile, **arguments), batch)
            replay = capture(decoder.step, options.device)
            times = []
            for _ in range(5):
                decoder.reset()
                times.append(time_calls(replay, repeats=1, calls=options.new) / options.new)
            seconds = sorted(times)[2]
            decoder.reset()
            nodes = profile(replay)
        print(f"  {name}: {seconds * 1e6:.0f} us, {size / seconds / stream:.2f} of the stream",
              flush=True)
        if best is None or seconds < best[0]:
            best = seconds, nodes
    print_nodes(best[1])
    for place, each in describe(model).items() if fmt else ():
        print(f"  {place}: {each / 1e6:.2f} MB, {each / stream * 1e6:.2f} us of the stream")
    del model, decoder, replay
    free()
    return best[0], size / best[0] / stream


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", default="unknown", help="for the head of the log")
    parser.add_argument("--layers", type=int, default=32)
    parser.add_argument("--context", type=int, default=1024)
    parser.add_argument("--new", type=int, default=64)
    parser.add_argument("--only", default=",".join(FORMS), help="forms to run")
    options = parser.parse_args()
    options.device, options.tiny = "cuda", False
    print_head(options.commit)
    stream = measure_stream()
    print(f"read-only stream {stream / 1e12:.3f} TB/s", flush=True)
    found = {form: measure(options, form, stream) for form in options.only.split(",")}
    met = True
    for form, other, bar in BARS:
        if form in found and other in found:
            met &= report_bar(f"{form} over {other}", found[other][0] / found[form][0], bar)
    for device, bar in STREAM_BARS.items():
        if "nvfp4" in found and device in torch.cuda.get_device_name():
            met &= report_bar("nvfp4, share of the stream", found["nvfp4"][1], bar)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
