#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small Llama on the CPU, plain by torch.compile and quantized by the backend "blockscale".

  taskset -c 0-15 python3 benchmarks/cpu_decode.py [--commit ID] [--formats nvfp4,mxfp8]

Needs torch, a C++ compiler for Inductor, and the package blockscale. The model has the
architecture of Llama, random weights, and some 300 M parameters unless --layers says otherwise.
All ways are in one process, which compiles all of them first. They are timed in turns, a few calls
of each in a round; a figure is the median over rounds, and a ratio the median of the ratios within
rounds. Threads are those that the process may run on.

  decode    one token with a static cache of keys and values that holds --context tokens
  rows      one call of --rows tokens without a cache
  layer     the gate projection alone, with one row and with --rows rows

Prints the processor, the milliseconds, and how many times as fast as the fastest plain way each
quantized one is.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version

import torch
from torch import nn
from torch.nn import functional

#: Of NVFP4 over the fastest plain way: a step of decoding, and a product of many rows.
DECODE_BAR, ROWS_BAR = 1.5, 0.9


class Attention(nn.Module):
    def __init__(self, hidden, heads, shared):
        super().__init__()
        self.heads, self.shared, self.size = heads, shared, hidden // heads
        self.q_proj = nn.Linear(hidden, hidden, bias=False)
        self.k_proj, self.v_proj = (nn.Linear(hidden, shared * self.size, bias=False)
                                    for _ in range(2))
        self.o_proj = nn.Linear(hidden, hidden, bias=False)

    def forward(self, x, rotation, cache, position):
        tokens = x.shape[1]
        q, k, v = (project(x).view(1, tokens, -1, self.size).transpose(1, 2)
                   for project in (self.q_proj, self.k_proj, self.v_proj))
        q, k = (rotate(each, rotation) for each in (q, k))
        mask = None
        if cache is not None:
            k, v = (held.index_copy_(2, position, new) for held, new in zip(cache, (k, v)))
            mask = torch.arange(k.shape[2])[None, :] <= position[:, None]
        y = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask,
                                                    is_causal=mask is None, enable_gqa=True)
        return self.o_proj(y.transpose(1, 2).reshape(1, tokens, -1))


def rotate(x, rotation):
    cos, sin = rotation
    left, right = x.chunk(2, -1)
    return x * cos + torch.cat([-right, left], -1) * sin


class Gated(nn.Module):
    def __init__(self, hidden, inner):
        super().__init__()
        self.gate_proj, self.up_proj = (nn.Linear(hidden, inner, bias=False) for _ in range(2))
        self.down_proj = nn.Linear(inner, hidden, bias=False)

    def forward(self, x):
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, hidden, inner, heads, shared):
        super().__init__()
        self.input_layernorm, self.post_attention_layernorm = (
            nn.RMSNorm(hidden, eps=1e-5) for _ in range(2))
        self.self_attn = Attention(hidden, heads, shared)
        self.mlp = Gated(hidden, inner)

    def forward(self, x, rotation, cache, position):
        x = x + self.self_attn(self.input_layernorm(x), rotation, cache, position)
        return x + self.mlp(self.post_attention_layernorm(x))


class Llama(nn.Module):
    def __init__(self, options):
        super().__init__()
        hidden, heads = options.hidden, options.hidden // 64
        self.embed_tokens = nn.Embedding(options.vocabulary, hidden)
        self.layers = nn.ModuleList(
            Layer(hidden, 4 * hidden, heads, max(heads // 4, 1)) for _ in range(options.layers))
        self.norm = nn.RMSNorm(hidden, eps=1e-5)
        self.lm_head = nn.Linear(hidden, options.vocabulary, bias=False)
        rates = 10000.0 ** (-torch.arange(0, 64, 2) / 64)
        self.register_buffer("rates", torch.cat([rates, rates]), persistent=False)

    def forward(self, ids, position, caches=None):
        x = self.embed_tokens(ids)
        angles = position[:, None].float() * self.rates.float()
        rotation = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        for number, layer in enumerate(self.layers):
            x = layer(x, rotation, None if caches is None else caches[number], position)
        return self.lm_head(self.norm(x[:, -1:]))


class Way:
    """A model in one form, whose calls are timed."""

    def __init__(self, name, options, fmt, dtype, compiled):
        self.name = name
        torch.manual_seed(0)
        model = Llama(options).to(dtype).eval()
        if fmt:
            import blockscale.torch
            blockscale.torch.quantize_(model, {
                "version": 1, "leave_last_projection": not options.head,
                "rules": [{"format": fmt, "weight_only": True}]})
        self.is_plain = fmt is None
        attention = model.layers[0].self_attn
        shape = 1, attention.shared, options.context + options.steps + 1, attention.size
        caches = [tuple(torch.zeros(shape, dtype=dtype) for _ in range(2)) for _ in model.layers]
        self.calls = [model.forward, model.forward, model.layers[0].mlp.gate_proj.forward,
                      model.layers[0].mlp.gate_proj.forward]
        if compiled is not None:
            self.calls = [torch.compile(call, dynamic=False, **compiled) for call in self.calls]
        ids = torch.arange(options.rows)[None] % options.vocabulary
        row = torch.randn(1, options.hidden).to(dtype)
        rows = torch.randn(options.rows, options.hidden).to(dtype)
        step = torch.tensor([options.context])
        self.arguments = [(ids[:, :1], step, caches), (ids, torch.arange(options.rows)),
                          (row,), (rows,)]

    def measure(self, case, count):
        """Seconds of a call."""
        call, arguments = self.calls[case], self.arguments[case]
        start = time.perf_counter()
        for _ in range(count):
            call(*arguments)
        return (time.perf_counter() - start) / count


def read_processor():
    """The name of the processor, and which instructions of products it has."""
    found = subprocess.run(["lscpu"], capture_output=True, text=True).stdout.splitlines()
    pairs = (line.split(":", 1) for line in found if ":" in line)
    named = {name.strip(): text.strip() for name, text in pairs}
    known = [flag for flag in ("avx2", "avx512f", "avx512_bf16", "amx_bf16")
             if flag in named.get("Flags", "").split()]
    family = f"family {named.get('CPU family')} model {named.get('Model')}"
    return f"{named.get('Model name')} ({family}; {', '.join(known)})"


def print_head(options):
    print(f"date      {time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC\n"
          f"commit    {options.commit}\nprocessor {read_processor()}\n"
          f"threads   {len(os.sched_getaffinity(0))}\n"
          f"command   {' '.join(['python3', *sys.argv])}")
    names = []
    for name in ("torch", "blockscale"):
        try:
            names.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            names.append(f"{name} of a checkout")
    print(", ".join(names), flush=True)


def make_ways(options):
    bf16, f32 = torch.bfloat16, torch.float32
    yield Way("bf16 eager", options, None, bf16, None)
    yield Way("bf16 inductor", options, None, bf16, {})
    yield Way("f32 inductor", options, None, f32, {})
    for fmt in options.formats.split(","):
        yield Way(f"{fmt} eager", options, fmt, bf16, None)
        yield Way(f"{fmt} blockscale", options, fmt, bf16, {"backend": "blockscale"})


def report(options, ways):
    """Times all ways and prints them; whether the bars are met."""
    met = True
    cases = ("decode", options.steps), (f"{options.rows} rows", 1), \
        ("layer, 1 row", 50), (f"layer, {options.rows} rows", 5)
    for case in range(len(cases)):
        for way in ways:
            way.measure(case, 1)
    print("compiled", flush=True)
    for case, (title, count) in enumerate(cases):
        for way in ways:
            way.measure(case, 2)
        rounds = [[way.measure(case, count) for way in ways] for _ in range(options.rounds)]
        print(f"{title}:")
        for number, way in enumerate(ways):
            seconds = statistics.median(each[number] for each in rounds)
            line = f"  {way.name:18} {seconds * 1e3:9.3f} ms"
            if not way.is_plain:
                ratio = statistics.median(
                    min(each[other] for other, plain in enumerate(ways) if plain.is_plain)
                    / each[number] for each in rounds)
                line += f"  {ratio:5.2f} of the fastest plain way"
                bar = DECODE_BAR if case == 0 else ROWS_BAR if case == 1 else None
                if bar is not None and way.name == "nvfp4 blockscale":
                    line += f", bar {bar}: {'met' if ratio >= bar else 'MISSED'}"
                    met &= ratio >= bar
            print(line, flush=True)
    return met


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--formats", default="nvfp4,mxfp8")
    parser.add_argument("--layers", type=int, default=16)
    parser.add_argument("--hidden", type=int, default=1024)
    parser.add_argument("--vocabulary", type=int, default=32000)
    parser.add_argument("--context", type=int, default=64)
    parser.add_argument("--rows", type=int, default=128)
    parser.add_argument("--steps", type=int, default=4, help="calls in a round of decode")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--head", action="store_true", help="quantize the head, too")
    options = parser.parse_args()
    print_head(options)
    with torch.no_grad():
        ways = list(make_ways(options))
        parameters = sum(each.numel() for each in Llama(options).parameters())
        print(f"parameters {parameters / 1e6:.0f} M, head "
              f"{'quantized' if options.head else 'left'}", flush=True)
        return 0 if report(options, ways) else 1


if __name__ == "__main__":
    sys.exit(main())
