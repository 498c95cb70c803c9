#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A training step of a layer of Llama-3-8B's architecture: forward and backward of 8192 tokens.

  python3 benchmarks/gpu/train.py [--commit ID] [--only PART,..]     # on the machine with the GPU
  python3 benchmarks/gpu/train.py --tiny                             # a small one, on the CPU

Needs torch, transformers and the package blockscale with its extra for torch; torchao for its form.
Weights and activations are bf16, of four sequences. Forms:

  bf16           the plain layer by torch.compile
  mxfp8, nvfp4   blockscale.torch.prepare_training_, by torch.compile(fullgraph=True)
  torchao        MXFP8 of torchao's emulation (MXFP8_EMULATED_RCEIL), eager, and by torch.compile
  torch-nvfp4    the form nvfp4 in ops of PyTorch (torch_nvfp4.py), eager, and by torch.compile

Then come the parts of a step, each of the layer's weights alone, forward and backward (weights);
and fake_quantize of 8192x8192 elements beside a copy of them, as CUDA graphs (fake). The last lines
are the bars; the exit status is 1 if one is missed. Times are medians of 5 times 3 steps. --only
names forms, weights and fake.
"""

import argparse
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parent))

from torch_models import attempt, capture, free, peak_gib, print_head, report_bar, time_calls
from torch_nvfp4 import TrainLinear, make_transform

FORMS = ("bf16", "mxfp8", "nvfp4", "torchao", "torch-nvfp4")
PARTS = (*FORMS, "weights", "fake")
#: The most that the step of a form takes, as a multiple of another one's.
BARS = (("mxfp8", "bf16", 1.25), ("nvfp4", "bf16", 1.35), ("mxfp8", "torchao eager", 1 / 4),
        ("mxfp8", "torchao compiled", 1.0), ("nvfp4", "torch-nvfp4 eager", 1 / 4))

#: The least share of a copy's speed that fake_quantize has in one pass.
FAKE_BARS = {"mxfp8": 0.85, "mxfp4": 0.85, "nvfp4": 0.85, "nvfp4 16x1, rht": 0.6}


def make_layer(options):
    """The layer, and what it takes beside the hidden states."""
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaDecoderLayer, LlamaRotaryEmbedding
    sizes = (dict(hidden_size=128, intermediate_size=256, num_attention_heads=4,
                  num_key_value_heads=2) if options.tiny else
             dict(hidden_size=4096, intermediate_size=14336, num_attention_heads=32,
                  num_key_value_heads=8))
    config = LlamaConfig(**sizes, max_position_embeddings=8192, attn_implementation="sdpa")
    torch.manual_seed(0)
    with torch.device(options.device):
        layer = LlamaDecoderLayer(config, 0).bfloat16().train()
        length = options.tokens // options.sequences
        places = torch.arange(length)[None].expand(options.sequences, length)
        x = torch.randn(options.sequences, length, config.hidden_size).bfloat16()
        tables = LlamaRotaryEmbedding(config)(x, places)
    return layer, x, tables


def list_linears(layer):
    return [(name, module) for name, module in layer.named_modules()
            if isinstance(module, nn.Linear)]


def use_torchao(layer):
    from torchao.prototype.moe_training.mxfp8_linear import mx_mm
    from torchao.prototype.mx_formats.config import (
        MXFP8Dim0CastKernelChoice,
        MXFP8Dim1CastKernelChoice,
        ScaleCalculationMode,
    )
    from torchao.quantization.quantize_.common import KernelPreference
    for _, module in list_linears(layer):
        module.forward = lambda x, module=module: mx_mm.apply(
            x, module.weight, *[torch.float8_e4m3fn] * 3, 32, KernelPreference.EMULATED,
            MXFP8Dim0CastKernelChoice.TORCH, MXFP8Dim1CastKernelChoice.TORCH,
            ScaleCalculationMode.RCEIL, False)


def use_torch_nvfp4(layer):
    for _, module in list_linears(layer):
        matrix = make_transform(module.weight.device)
        module.forward = lambda x, module=module, matrix=matrix: TrainLinear.apply(
            x.flatten(0, -2), module.weight, matrix).unflatten(0, x.shape[:-1])


def prepare(layer, form):
    if form == "torchao":
        use_torchao(layer)
    elif form == "torch-nvfp4":
        use_torch_nvfp4(layer)
    elif form != "bf16":
        import blockscale.torch
        blockscale.torch.prepare_training_(layer, form, leave_last_projection=False)


def time_step(module, inputs, call):
    """Seconds of forward and backward; gradients of weights are kept and added to."""
    def step():
        made = call(*inputs)
        made = made[0] if isinstance(made, tuple) else made
        made.backward(gradient)
    with torch.no_grad():
        made = call(*inputs)
        gradient = torch.randn_like(made[0] if isinstance(made, tuple) else made)
    for each in module.parameters():
        each.grad = torch.zeros_like(each)
    for _ in range(3):
        step()
    return time_calls(step, calls=3) / 3


def measure(form, options):
    """Seconds of a step by the name of the way, eager and compiled."""
    layer, x, tables = make_layer(options)
    prepare(layer, form)
    x.requires_grad_()

    def call(x):
        return layer(x, position_embeddings=tables)
    ways = {} if form in ("bf16", "mxfp8", "nvfp4") else {f"{form} eager": call}
    is_ours = form in ("mxfp8", "nvfp4")
    compiled = torch.compile(call, fullgraph=is_ours)
    ways[form if form == "bf16" or is_ours else f"{form} compiled"] = compiled
    found = {}
    for name, way in ways.items():
        seconds = attempt(name, lambda way=way: time_step(layer, (x,), way))
        if seconds:
            found[name] = seconds
            print(f"{name}: {seconds * 1e3:.2f} ms, {peak_gib():.1f} GiB", flush=True)
    return found


def measure_weights(options):
    """Forward and backward of each weight alone, by form."""
    print("\n| weight | bf16 us | mxfp8 | nvfp4 |\n| --- | --- | --- | --- |")
    shapes = {}
    for name, module in list_linears(make_layer(options)[0]):
        shapes.setdefault(tuple(module.weight.shape), name)
    for (n, k), name in shapes.items():
        times = []
        for form in ("bf16", "mxfp8", "nvfp4"):
            layer = nn.Linear(k, n, bias=False, dtype=torch.bfloat16, device=options.device)
            model = nn.Sequential(layer)
            prepare(model, form)
            x = torch.randn(options.tokens, k, device=options.device).bfloat16().requires_grad_()
            times.append(time_step(model, (x,), model))
        print(f"| {name} [{n}, {k}] | {times[0] * 1e6:.0f} | "
              + " | ".join(f"{each / times[0]:.2f}" for each in times[1:]) + " |", flush=True)


def measure_fake_quantize(options):
    """The share of a copy's speed, by what is quantized."""
    import blockscale.torch
    size = 64 if options.tiny else 8192
    x = torch.randn(size, size, device=options.device).bfloat16()
    copy, shares = torch.empty_like(x), {}

    def measure(call):
        return time_calls(capture(call, options.device), calls=20)
    plain = measure(lambda: copy.copy_(x))
    ways = {"mxfp8": dict(format="mxfp8"), "mxfp4": dict(format="mxfp4"),
            "nvfp4": dict(format="nvfp4"), "mxfp8 32x32": dict(format="mxfp8", block=(32, 32)),
            "nvfp4 16x1, rht": dict(format="nvfp4", block=(16, 1), rht=True),
            "mxfp8 32x1": dict(format="mxfp8", block=(32, 1)),
            "nvfp4, dynamic": dict(format="nvfp4", scaling="dynamic")}
    with torch.no_grad():
        for name, way in ways.items():
            def call(way=way):
                return blockscale.torch.fake_quantize(x, **way)
            shares[name] = plain / measure(call)
            print(f"fake_quantize {name}: {shares[name]:.2f} of a copy's speed", flush=True)
    return shares


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--commit", default="unknown", help="for the head of the log")
    parser.add_argument("--tokens", type=int, default=8192)
    parser.add_argument("--sequences", type=int, default=4)
    parser.add_argument("--only", default=",".join(PARTS), help="parts to run")
    parser.add_argument("--tiny", action="store_true")
    options = parser.parse_args()
    options.device = "cpu" if options.tiny else "cuda"
    if options.tiny:
        options.tokens, options.sequences = 64, 2
    chosen = options.only.split(",")
    unknown = [each for each in chosen if each not in PARTS]
    if unknown:
        parser.error(f"expected parts of {', '.join(PARTS)}, but got {', '.join(unknown)}")
    print_head(options.commit)
    seconds, shares = {}, {}
    for form in (each for each in FORMS if each in chosen):
        seconds |= measure(form, options)
        free()
    if "weights" in chosen:
        measure_weights(options)
        print()
    if "fake" in chosen:
        shares = measure_fake_quantize(options)
        print()
    met = [report_bar(f"{one} over {other}", seconds[one] / seconds[other], bar, at_most=True)
           for one, other, bar in BARS if one in seconds and other in seconds]
    met += [report_bar(f"fake_quantize {name} over a copy", shares[name], bar)
            for name, bar in FAKE_BARS.items() if name in shares]
    sys.exit(not all(met))


if __name__ == "__main__":
    main()
