#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients through frozen quantized weights, and steps of LoRA on them, beside bf16.

  python3 benchmarks/gpu/frozen.py [--commit ID] [--only PART,..]    # on the machine with the GPU
  python3 benchmarks/gpu/frozen.py --tiny                            # small ones, on the CPU

Needs torch, transformers, peft and the package blockscale with its extra for torch; bitsandbytes
for its form. Weights are quantized, activations bf16. Parts:

  dense     the gradient of x through a linear layer, beside cuBLAS with the plain weight: its share
            of that speed, by rows
  grouped   the gradient of x through a stack of experts, beside the forward pass of the stack;
            groups have rows at random
  lora      a step of a model of Llama-3-8B's sizes and of one of gpt-oss's, of fewer layers:
            forward, backward and AdamW of adapters of rank 16, in Llama's model beside all linear
            layers of the blocks, in gpt-oss's beside those of attention, where gradients pass
            through experts. Peers are the plain model and bitsandbytes' NF4 (Llama's alone). For
            each form: the step, eager, the bytes of the quantized layers over those of bf16, the
            bytes of the model, and the most that a step holds

`dense` and `grouped` are captured in CUDA graphs; times are medians of 5 times 20 calls, or of 5
times 3 steps. The last lines are the bars; the exit status is 1 if one is missed.
"""

import argparse
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parent))

import blockscale.torch
from llama import count_bytes
from moe_torch import make_block
from torch_models import (
    attempt,
    capture,
    free,
    make_bf16,
    peak_gib,
    print_head,
    report_bar,
    time_calls,
    weights_only,
)

PARTS = ("dense", "grouped", "lora")
FORMATS = ("nvfp4", "mxfp4", "mxfp8")
WEIGHTS = ((4096, 4096), (14336, 4096), (4096, 14336))
ROWS = (1024, 2048, 4096, 8192)
#: How many rows all groups have.
GROUPED_ROWS = 16384
DENSE_BAR, GROUPED_BAR, LORA_BAR = 0.9, 0.85, 1.1
#: The most bytes of quantized layers over those of bf16.
BYTE_BARS = {"nvfp4": 0.29, "mxfp4": 0.27}


def capture_gradient(options, x, call):
    """The gradient of x through `call` as one replay of a CUDA graph."""
    if options.tiny:
        y = call(x)
        return lambda: torch.autograd.grad(y, x, y.detach(), retain_graph=True)
    # The backward pass runs on the stream of the forward pass.
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        y = call(x)
        gradient = torch.randn_like(y)
        for _ in range(3):
            torch.autograd.grad(y, x, gradient, retain_graph=True)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, stream=stream):
        torch.autograd.grad(y, x, gradient, retain_graph=True)
    return graph.replay


def time_captured(replay):
    return time_calls(replay, calls=20) / 20


def make_layer(options, n, k, fmt):
    with torch.device(options.device):
        layer = nn.Linear(k, n, bias=False, dtype=torch.bfloat16)
    model = nn.Sequential(layer).eval()
    if fmt != "bf16":
        blockscale.torch.quantize_(model, weights_only(fmt, head=True))
    return model


def measure_dense(options):
    weights, rows = (((128, 64),), (96,)) if options.tiny else (WEIGHTS, ROWS)
    print("dense\n\n| weight | rows | bf16 us | " + " | ".join(FORMATS) + " |\n"
          + "| --- " * (3 + len(FORMATS)) + "|")
    least = {}
    for n, k in weights:
        models = {fmt: make_layer(options, n, k, fmt) for fmt in ("bf16", *FORMATS)}
        models["bf16"].requires_grad_(False)
        for count in rows:
            x = torch.randn(count, k, device=options.device).bfloat16().requires_grad_()
            times = {fmt: time_captured(capture_gradient(options, x, model))
                     for fmt, model in models.items()}
            plain = times.pop("bf16")
            for fmt, time in times.items():
                least[fmt] = min(least.get(fmt, plain / time), plain / time)
            print(f"| [{n}, {k}] | {count} | {plain * 1e6:.1f} | "
                  + " | ".join(f"{plain / time:.2f}" for time in times.values()) + " |", flush=True)
    print()
    return [(f"dense, {fmt} over cuBLAS, the least", value, DENSE_BAR, False)
            for fmt, value in least.items()]


def list_stacks(options, name, fmt):
    """Stacks of experts of a block of transformers, by their names."""
    block, _ = make_block(name, options)
    blockscale.torch.quantize_(block, weights_only(fmt, head=True))
    return {place.rpartition(".")[2]: each for place, each in block.named_modules()
            if isinstance(each, blockscale.torch.QuantizedStack)}


def measure_grouped(options):
    rows = 200 if options.tiny else GROUPED_ROWS
    print("grouped\n\n| stack | format | rows | forward us | gradient us | share |\n"
          + "| --- " * 6 + "|")
    least = {}
    for name in ("Mixtral", "gpt-oss"):
        for fmt in FORMATS:
            for place, stack in list_stacks(options, name, fmt).items():
                count = stack.data.shape[0]
                torch.manual_seed(0)
                groups = torch.multinomial(torch.rand(count) + 0.5, rows, replacement=True)
                ends = torch.bincount(groups, minlength=count).cumsum(0).int().to(options.device)
                x = torch.randn(rows, stack.in_features, device=options.device).bfloat16()

                def call(x, stack=stack, ends=ends):
                    return stack(x, ends)
                with torch.no_grad():
                    forward = time_captured(capture(lambda x=x, call=call: call(x),
                                                    options.device))
                backward = time_captured(capture_gradient(options, x.requires_grad_(), call))
                share = forward / backward
                least[fmt] = min(least.get(fmt, share), share)
                print(f"| {name} {place} [{count}, {stack.out_features}, {stack.in_features}] | "
                      f"{fmt} | {rows} | {forward * 1e6:.0f} | {backward * 1e6:.0f} | "
                      f"{share:.2f} |", flush=True)
            free()
    print()
    return [(f"grouped, {fmt} forward over gradient, the least", value, GROUPED_BAR, False)
            for fmt, value in least.items()]


def make_model(options, name):
    from transformers import GptOssConfig, GptOssForCausalLM, LlamaConfig, LlamaForCausalLM
    tiny = options.tiny
    if name == "Llama":
        sizes = (dict(vocab_size=512, hidden_size=128, intermediate_size=256, num_attention_heads=4,
                      num_key_value_heads=2, num_hidden_layers=2) if tiny else
                 dict(vocab_size=128256, hidden_size=4096, intermediate_size=14336,
                      num_attention_heads=32, num_key_value_heads=8, num_hidden_layers=8))
        kind, config = LlamaForCausalLM, LlamaConfig(**sizes, tie_word_embeddings=False)
    else:
        sizes = (dict(vocab_size=512, hidden_size=128, intermediate_size=128, num_attention_heads=4,
                      num_key_value_heads=2, head_dim=32, num_hidden_layers=2, num_local_experts=8)
                 if tiny else dict(num_hidden_layers=4))
        kind, config = GptOssForCausalLM, GptOssConfig(**sizes)
        config._experts_implementation = "grouped_mm"
    model = make_bf16(kind, config, options.device)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.02)
    return model


def use_nf4(model):
    """bitsandbytes' layers inside the blocks, as transformers makes them. Returns their bytes over
    those of bf16."""
    import bitsandbytes
    held = plain = 0
    for name, module in list(model.named_modules()):
        if isinstance(module, nn.Linear) and name != "lm_head":
            layer = bitsandbytes.nn.Linear4bit(
                module.in_features, module.out_features, bias=module.bias is not None,
                compute_dtype=torch.bfloat16, quant_type="nf4")
            layer.load_state_dict({"weight": module.weight.data.cpu()})
            layer.to(module.weight.device)
            held += layer.weight.nbytes + layer.weight.quant_state.absmax.nbytes
            plain += module.weight.nbytes
            model.set_submodule(name, layer)
    return held / plain


def use_codes(model, fmt):
    """Our layers and stacks inside the blocks. Returns their bytes over those of bf16."""
    kinds = blockscale.torch.QuantizedLinear, blockscale.torch.QuantizedStack
    blockscale.torch.quantize_(model, weights_only(fmt))
    held = plain = 0
    for module in model.modules():
        if isinstance(module, kinds):
            held += module.data.nbytes + module.scales.nbytes
            experts = module.data.shape[0] if module.is_stack else 1
            plain += 2 * experts * module.in_features * module.out_features
    return held / plain


def measure_step(options, name, form):
    """Prints a row of a form. Returns the seconds of a step and the bytes of quantized layers over
    those of bf16."""
    from peft import LoraConfig, get_peft_model
    model = make_model(options, name)
    share = (1.0 if form == "bf16" else use_nf4(model) if form == "nf4" else
             use_codes(model, form))
    free()
    whole = count_bytes(model)
    targets = ["q_proj", "k_proj", "v_proj", "o_proj"]
    if name == "Llama":
        targets += ["gate_proj", "up_proj", "down_proj"]
    torch.manual_seed(1)
    model = get_peft_model(model, LoraConfig(r=16, lora_alpha=32, target_modules=targets)).train()
    trained = [each for each in model.parameters() if each.requires_grad]
    optimizer = torch.optim.AdamW(trained, 1e-4)
    words = torch.randint(512, (2, 16 if options.tiny else 2048), device=options.device)
    losses = []

    def step():
        optimizer.zero_grad()
        loss = model(input_ids=words, labels=words).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    for _ in range(3):
        step()
    seconds = time_calls(step, calls=3) / 3
    print(f"| {name} | {form} | {seconds * 1e3:.1f} | {share:.3f} | {whole / 2 ** 30:.2f} | "
          f"{peak_gib():.1f} | {losses[0].item():.4f} | {losses[-1].item():.4f} |", flush=True)
    return seconds, share


def measure_lora(options):
    print("lora\n\n| model | form | step ms | bytes of quantized layers | GiB of the model | "
          "GiB of a step | first loss | last loss |\n" + "| --- " * 8 + "|")
    bars = []
    for name, forms in (("Llama", ("bf16", "nvfp4", "mxfp4", "nf4")),
                        ("gpt-oss", ("bf16", "nvfp4", "mxfp4"))):
        found = {}
        for form in forms:
            def measure(name=name, form=form):
                return measure_step(options, name, form)
            found[form] = attempt(f"{name} {form}", measure) if form == "nf4" else measure()
            free()
        for fmt, bar in BYTE_BARS.items():
            bars += [(f"{name}, {fmt} step over bf16", found[fmt][0] / found["bf16"][0], LORA_BAR,
                      True), (f"{name}, {fmt} bytes over bf16", found[fmt][1], bar, True)]
    print()
    return bars


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--commit", default="unknown", help="for the head of the log")
    parser.add_argument("--only", default=",".join(PARTS), help="parts to run")
    parser.add_argument("--tiny", action="store_true")
    options = parser.parse_args()
    options.device = "cpu" if options.tiny else "cuda"
    chosen = options.only.split(",")
    unknown = [each for each in chosen if each not in PARTS]
    if unknown:
        parser.error(f"expected parts of {', '.join(PARTS)}, but got {', '.join(unknown)}")
    print_head(options.commit)
    parts = {"dense": measure_dense, "grouped": measure_grouped, "lora": measure_lora}
    bars = []
    for part in PARTS:
        if part in chosen:
            bars += parts[part](options)
            free()
    met = [report_bar(*bar) for bar in bars]
    sys.exit(not all(met))


if __name__ == "__main__":
    main()
