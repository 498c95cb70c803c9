#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A training step of a layer of Llama-3-8B's architecture: forward and backward of 8192 tokens.

  python3 benchmarks/gpu/train.py [--commit ID] [--only PART,..] [--at-once]   # with the GPU
  python3 benchmarks/gpu/train.py --tiny                                       # on the CPU

Needs torch, transformers and the package blockscale with its extra for torch; torchao for its form.
Weights and activations are bf16, of four sequences. Forms:

  bf16           the plain layer by torch.compile
  mxfp8, nvfp4   blockscale.torch.prepare_training_, by torch.compile(fullgraph=True)
  torchao        MXFP8 of torchao's emulation (MXFP8_EMULATED_RCEIL), eager, and by torch.compile
  torch-nvfp4    the form nvfp4 in ops of PyTorch (torch_nvfp4.py), eager, and by torch.compile

Then come the parts of a step, each of the layer's weights alone, forward and backward (weights);
the same in mxfp8 as CUDA graphs, where products take codes and where they take values (values); and
fake_quantize of 8192x8192 elements beside a copy of them, as CUDA graphs (fake). The last lines are
the bars; the exit status is 1 if one is missed. Times are medians of 5 times 3 steps. --only names
forms, weights, values and fake. With --at-once, each has a process of its own: all compile at the
same time, and are timed one after the other.
"""

import argparse
import contextlib
import multiprocessing
import sys
import unittest.mock
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parent))

from torch_models import attempt, capture, free, peak_gib, print_head, report_bar, time_calls
from torch_nvfp4 import TrainLinear, make_transform

FORMS = ("bf16", "mxfp8", "nvfp4", "torchao", "torch-nvfp4")
PARTS = (*FORMS, "weights", "values", "fake")
#: The most that the step of a form takes, as a multiple of another one's.
BARS = (("mxfp8", "bf16", 1.25), ("nvfp4", "bf16", 1.35), ("mxfp8", "torchao eager", 1 / 4),
        ("mxfp8", "torchao compiled", 1.0), ("nvfp4", "torch-nvfp4 eager", 1 / 4))

#: The least share of a copy's speed that fake_quantize has in one pass.
FAKE_BARS = {"mxfp8": 0.85, "mxfp4": 0.85, "nvfp4": 0.85, "nvfp4 16x1, rht": 0.6}

#: Weights of the layer that are of different shapes.
WEIGHTS = 4
#: Rows that products of codes and of values are compared for.
ROWS = (2048, 4096, 6144, 8192)


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


def make_step(module, inputs, call):
    """Forward and backward, which have run; gradients of weights are kept and added to."""
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
    return step


def time_step(step):
    return time_calls(step, calls=3) / 3


# What measures is a generator: it yields when everything is compiled.

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
    steps = {name: attempt(name, lambda way=way: make_step(layer, (x,), way))
             for name, way in ways.items()}
    yield
    found = {}
    for name, step in steps.items():
        seconds = step and attempt(name, lambda step=step: time_step(step))
        if seconds:
            found[name] = seconds
            print(f"{name}: {seconds * 1e3:.2f} ms, {peak_gib():.1f} GiB", flush=True)
    return found


def list_shapes(options):
    """The sizes of the layer's weights, by the first name of each."""
    shapes = {}
    for name, module in list_linears(make_layer(options)[0]):
        shapes.setdefault(tuple(module.weight.shape), name)
    return {name: shape for shape, name in shapes.items()}


def measure_weights(options):
    """Forward and backward of each weight alone, by form."""
    steps = {}
    for name, (n, k) in list_shapes(options).items():
        for form in ("bf16", "mxfp8", "nvfp4"):
            layer = nn.Linear(k, n, bias=False, dtype=torch.bfloat16, device=options.device)
            model = nn.Sequential(layer)
            prepare(model, form)
            x = torch.randn(options.tokens, k, device=options.device).bfloat16().requires_grad_()
            steps.setdefault(f"{name} [{n}, {k}]", []).append(make_step(model, (x,), model))
    yield
    print("\n| weight | bf16 us | mxfp8 | nvfp4 |\n| --- | --- | --- | --- |")
    for name, of_forms in steps.items():
        times = [time_step(step) for step in of_forms]
        print(f"| {name} | {times[0] * 1e6:.0f} | "
              + " | ".join(f"{each / times[0]:.2f}" for each in times[1:]) + " |", flush=True)


@contextlib.contextmanager
def multiplying(operands):
    """Has products take codes, values, or values but in wgrad, whatever the numbers of rows."""
    from blockscale.torch import _kernels, _training_kernels
    least = 0 if operands == "values" else sys.maxsize
    with unittest.mock.patch.multiple(_training_kernels, VALUE_ROWS=least,
                                      takes_values=lambda *_: operands != "codes"), \
            unittest.mock.patch.dict(_kernels._KERNELS, clear=True):
        yield  # Kernels that were made before know of other numbers.


def make_linear_step(x, weight, gradient, options):
    """A CUDA graph of forward and backward of a weight in mxfp8."""
    from blockscale.torch import train_linear
    inputs = x.requires_grad_(), weight.requires_grad_()
    return capture(lambda: torch.autograd.grad(train_linear(*inputs, form="mxfp8"), inputs,
                                               gradient), options.device)


def measure_values(number, options):
    """Forward and backward of a weight alone in mxfp8, where products take codes or values."""
    ways = ("codes", "values", "values but in wgrad")
    name, (n, k) = list(list_shapes(options).items())[number]
    steps, tensors = {}, {}  # A graph reads memory that it does not keep.
    for rows in [options.tokens] if options.tiny else ROWS:
        tensors[rows] = [torch.randn(*size, device=options.device).bfloat16()
                         for size in ((rows, k), (n, k), (rows, n))]
    for way in ways:
        with multiplying(way):
            for rows, given in tensors.items():
                steps.setdefault(rows, []).append(make_linear_step(*given, options))
    yield
    if number == 0:
        print(f"\n| weight | rows | {ways[0]} us | {' | '.join(ways[1:])} |\n"
              "| --- | --- | --- | --- | --- |")
    for rows, of_ways in steps.items():
        times = [time_calls(step, calls=20) / 20 for step in of_ways]
        print(f"| {name} [{n}, {k}] | {rows} | {times[0] * 1e6:.0f} | "
              + " | ".join(f"{each / times[0]:.2f}" for each in times[1:]) + " |", flush=True)


def measure_fake_quantize(options):
    """The share of a copy's speed, by what is quantized."""
    import blockscale.torch
    size = 64 if options.tiny else 8192
    x = torch.randn(size, size, device=options.device).bfloat16()
    copy, shares = torch.empty_like(x), {}
    ways = {"mxfp8": dict(format="mxfp8"), "mxfp4": dict(format="mxfp4"),
            "nvfp4": dict(format="nvfp4"), "mxfp8 32x32": dict(format="mxfp8", block=(32, 32)),
            "nvfp4 16x1, rht": dict(format="nvfp4", block=(16, 1), rht=True),
            "mxfp8 32x1": dict(format="mxfp8", block=(32, 1)),
            "nvfp4, dynamic": dict(format="nvfp4", scaling="dynamic")}
    with torch.no_grad():
        plain = capture(lambda: copy.copy_(x), options.device)
        calls = {name: capture(lambda way=way: blockscale.torch.fake_quantize(x, **way),
                               options.device) for name, way in ways.items()}
    yield
    print()
    seconds = time_calls(plain, calls=20)
    for name, call in calls.items():
        shares[name] = seconds / time_calls(call, calls=20)
        print(f"fake_quantize {name}: {shares[name]:.2f} of a copy's speed", flush=True)
    return shares


def begin(part, options):
    """The generator that measures a part."""
    kind, _, number = part.partition(" ")
    if kind == "values":
        return measure_values(int(number), options)
    others = {"weights": measure_weights, "fake": measure_fake_quantize}
    return others[kind](options) if kind in others else measure(kind, options)


def finish(made):
    """What a generator returns that has yielded."""
    try:
        next(made)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("expected a generator to yield once")


def work(part, options, parent):
    """Measures a part in a process of its own, when the parent says so."""
    made = begin(part, options)
    next(made)
    parent.send(None)
    parent.recv()
    parent.send(finish(made))
    with contextlib.suppress(EOFError):
        parent.recv()  # What a process does at its end would take time from others.


def measure_at_once(parts, options):
    """What each part finds, by its name."""
    context = multiprocessing.get_context("spawn")
    children = {}
    with contextlib.ExitStack() as stack:
        for part in parts:
            children[part], other = context.Pipe()
            stack.enter_context(contextlib.closing(children[part]))
            context.Process(target=work, args=(part, options, other)).start()
            other.close()

        def receive(part):
            try:
                return True, children[part].recv()
            except EOFError:
                print(f"  {part}: not measured: its process ended", flush=True)
                return False, None
        found = {}
        for part in [part for part in parts if receive(part)[0]]:
            children[part].send(None)
            found[part] = receive(part)[1]
    return found


def measure_in_turn(parts, options):
    found = {}
    for part in parts:
        made = begin(part, options)
        next(made)
        found[part] = finish(made)
        free()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--commit", default="unknown", help="for the head of the log")
    parser.add_argument("--tokens", type=int, default=8192)
    parser.add_argument("--sequences", type=int, default=4)
    parser.add_argument("--only", default=",".join(PARTS), help="parts to run")
    parser.add_argument("--at-once", action="store_true", help="compile all parts at once")
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
    measure_parts = measure_at_once if options.at_once else measure_in_turn
    parts = []
    for part in (each for each in PARTS if each in chosen):
        parts += [f"{part} {number}" for number in range(WEIGHTS)] if part == "values" else [part]
    found = measure_parts(parts, options)
    shares = found.get("fake") or {}
    seconds = {name: each for form in FORMS for name, each in (found.get(form) or {}).items()}
    print()
    met = [report_bar(f"{one} over {other}", seconds[one] / seconds[other], bar, at_most=True)
           for one, other, bar in BARS if one in seconds and other in seconds]
    met += [report_bar(f"fake_quantize {name} over a copy", shares[name], bar)
            for name, bar in FAKE_BARS.items() if name in shares]
    sys.exit(not all(met))


if __name__ == "__main__":
    main()
