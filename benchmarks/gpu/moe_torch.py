#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Blocks of experts of Mixtral's and gpt-oss's shape, with quantized weights, beside torch's own.

  python3 benchmarks/gpu/moe_torch.py [--commit ID]     # on the machine with the GPU
  python3 benchmarks/gpu/moe_torch.py --tiny            # small ones, on the CPU

Needs torch, transformers and the package blockscale with its extra for torch. A block is the
router with the experts, of random bf16 weights. It is called with 1, 8, 64 and 4096 tokens, each
time captured in a CUDA graph. The peers are transformers' ways to compute plain experts, compiled:
`grouped_mm` (torch's grouped product) and `batched_mm` (which gathers the weights of each token);
and a loop over all experts, each of which computes all tokens. The best one counts. Ours is the
backend "blockscale". Medians of 5 times 20 calls; before each call 256 MiB are overwritten, so that
weights come from memory.

Prints the figures and the bars; the exit status is 1 if one is missed.
"""

import argparse
import sys
from pathlib import Path

import torch
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).resolve().parent))

from torch_models import attempt, capture, free, print_head, report_bar, time_calls, weights_only

TOKENS = (1, 8, 64, 4096)
#: Over the best of torch's, by tokens.
BARS = {1: 1.5, 8: 1.5, 64: 1.5, 4096: 0.95}
FORMATS = {"Mixtral": "nvfp4", "gpt-oss": "mxfp4"}


def make_block(name, options):
    from transformers import GptOssConfig, MixtralConfig
    from transformers.models.gpt_oss.modeling_gpt_oss import GptOssMLP
    from transformers.models.mixtral.modeling_mixtral import MixtralSparseMoeBlock
    tiny = options.tiny
    if name == "Mixtral":
        kind, config = MixtralSparseMoeBlock, MixtralConfig(
            hidden_size=128 if tiny else 4096, intermediate_size=256 if tiny else 14336,
            num_local_experts=8, num_experts_per_tok=2)
    else:
        kind, config = GptOssMLP, GptOssConfig(
            hidden_size=128 if tiny else 2880, intermediate_size=128 if tiny else 2880,
            num_local_experts=8 if tiny else 32, num_experts_per_tok=4)
    config._experts_implementation = "grouped_mm"
    torch.manual_seed(0)
    with torch.device(options.device):
        block = kind(config).to(torch.bfloat16)
    for parameter in block.parameters():
        torch.nn.init.normal_(parameter, std=0.02)
    return torch.nn.ModuleDict({"block": block}).eval(), config


def compute_all(block, x):
    """Experts one after the other, each of which computes all tokens."""
    experts = block.experts
    router = block.gate if hasattr(block, "gate") else block.router
    _, scores, index = router(x)
    weights = torch.zeros(len(x), experts.num_experts, dtype=x.dtype, device=x.device)
    weights.scatter_(1, index, scores.to(x.dtype))
    total = torch.zeros_like(x)
    for number in range(experts.num_experts):
        up, down = experts.gate_up_proj[number], experts.down_proj[number]
        if experts.is_transposed:
            up, down = up.t(), down.t()
        bias = ((experts.gate_up_proj_bias[number], experts.down_proj_bias[number])
                if experts.has_bias else (None, None))
        inner = experts._apply_gate(F.linear(x, up, bias[0]))
        total = total + F.linear(inner, down, bias[1]) * weights[:, number, None]
    return total


class Flush:
    """Overwrites what the L2 cache holds."""

    def __init__(self, device):
        count = 1 if device == "cpu" else 256 << 20
        self.buffer = torch.empty(count, dtype=torch.uint8, device=device)

    def __call__(self):
        self.buffer.zero_()


def measure(function, flush, device):
    """Seconds of a call; what overwriting takes is measured alone and subtracted."""
    call = capture(function, device)

    def both():
        flush()
        call()
    return time_calls(both, calls=20) / 20 - time_calls(flush, calls=20) / 20


def run(name, options, flush):
    import blockscale.torch
    model, config = make_block(name, options)
    block = model["block"]
    plain, results = {}, {}
    width = config.hidden_size
    inputs = {count: torch.randn(1, count, width, device=options.device, dtype=torch.bfloat16)
              for count in options.tokens}
    size = sum(each.numel() * each.element_size() for each in block.experts.parameters())
    for way in ("grouped_mm", "batched_mm", "loop"):
        for count, x in inputs.items():
            if way == "batched_mm" and count > 64:
                continue  # It would gather weights for each of thousands of tokens.

            def call(way=way, x=x):
                torch._dynamo.reset()
                if way == "loop":
                    compiled = torch.compile(lambda x: compute_all(block, x[0]))
                else:
                    config._experts_implementation = way
                    compiled = torch.compile(block)
                return measure(lambda: compiled(x), flush, options.device)
            seconds = attempt(f"{way}, {count} tokens", call)
            if seconds is not None:
                plain.setdefault(count, []).append((seconds, way))
    config._experts_implementation = "grouped_mm"
    with torch.no_grad():
        wanted = {count: block(x) for count, x in inputs.items()}
    summary = blockscale.torch.quantize_(model, weights_only(FORMATS[name], head=True))
    block = model["block"]
    held = sum(each.num_bytes for each in block.experts.children() if hasattr(each, "num_bytes"))
    print(f"{name}, {FORMATS[name]} weights: {size / 1e6:.0f} MB become {held / 1e6:.0f} MB, "
          f"{len(summary.quantized)} weights")
    met = True
    for count, x in inputs.items():
        def call(x=x, count=count):
            torch._dynamo.reset()
            compiled = torch.compile(block, backend="blockscale")
            found, plain_result = compiled(x), wanted[count]
            if isinstance(found, tuple):
                found, plain_result = found[0], plain_result[0]
            error = ((found.float() - plain_result.float()).norm()
                     / plain_result.float().norm()).item()
            print(f"  {count} tokens: differs from bf16 by {error:.3f} of the norm")
            return measure(lambda: compiled(x), flush, options.device)
        seconds = attempt(f"blockscale, {count} tokens", call)
        for other, way in sorted(plain.get(count, [])):
            print(f"  {count} tokens: {way} {other * 1e6:.1f} us")
        if seconds is not None:
            print(f"  {count} tokens: blockscale {seconds * 1e6:.1f} us", flush=True)
            results[count] = seconds
        best = min(plain.get(count, []), default=None)
        if count in BARS and best:
            met &= report_bar(f"{name}, {count} tokens: over torch's {best[1]}",
                              seconds and best[0] / seconds, BARS[count])
    free()
    return met


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", default="unknown", help="for the head of the log")
    parser.add_argument("--tiny", action="store_true", help="small blocks, on the CPU")
    options = parser.parse_args()
    options.device = "cpu" if options.tiny else "cuda"
    options.tokens = (1, 8) if options.tiny else TOKENS
    print_head(options.commit)
    flush = Flush(options.device)
    with torch.no_grad():
        met = [run(name, options, flush) for name in FORMATS]
    return 0 if all(met) or options.tiny else 1


if __name__ == "__main__":
    sys.exit(main())
