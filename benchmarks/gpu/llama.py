#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Llama-3-8B's architecture with random weights, by torch.compile: plain in bf16, and quantized.

  python3 benchmarks/gpu/llama.py [--commit ID] [--only PART,..]     # on the machine with the GPU
  python3 benchmarks/gpu/llama.py --tiny                             # a small one, on the CPU

Needs torch, transformers and the package blockscale with its extra for torch. Parts:

  bf16           decode and prefill of the plain model by torch.compile's modes
  nvfp4, mxfp8   weights alone, by the backend "blockscale"
  exact          both operands NVFP4: prefill, beside torchao's emulation of the same

Decode: batch 1, a static KV cache that holds `--context` tokens, `--new` tokens one after the
other. A step computes the next token from the last one, all on the GPU; it is captured in a CUDA
graph, or torch.compile does that by itself ("reduce-overhead"). The best way of each side counts.
Prefill: one call of `--prefill` tokens that gives the logits of the last one. Medians of 5;
compilation is not in them.

Prints the figures, the bytes of weights, and the bars; the exit status is 1 if one is missed.
"""

import argparse
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent))

from torch_models import (
    COMPILED,
    attempt,
    capture,
    free,
    get_position_argument,
    make_bf16,
    peak_gib,
    print_head,
    report_bar,
    time_calls,
    weights_only,
)

#: Decode and prefill over bf16's speed; bytes over bf16's, and with the head quantized.
BARS = {"nvfp4": (1.9, 0.95, 0.40, 0.33), "mxfp8": (1.4, 0.95, 0.60, 0.56)}
EXACT_BARS = (0.8, 4.0)


def make_model(options):
    from transformers import LlamaConfig, LlamaForCausalLM
    sizes = (dict(vocab_size=512, hidden_size=256, intermediate_size=512, num_hidden_layers=2,
                  num_attention_heads=4, num_key_value_heads=2) if options.tiny else
             dict(vocab_size=128256, hidden_size=4096, intermediate_size=14336,
                  num_hidden_layers=options.layers, num_attention_heads=32,
                  num_key_value_heads=8, rope_parameters={"rope_type": "default",
                                                          "rope_theta": 500000.0}))
    config = LlamaConfig(**sizes, max_position_embeddings=8192, tie_word_embeddings=False)
    return make_bf16(LlamaForCausalLM, config, options.device)


def count_bytes(model):
    """Of parameters and buffers, each once; views of one piece of memory are parts of it."""
    tensors = {tensor.data_ptr(): tensor for tensor in [*model.parameters(), *model.buffers()]}
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())


class Decoder:
    """Steps of a model, each of which reads the token that the last one gave."""

    def __init__(self, model, options, compiled):
        from transformers import StaticCache
        self.options, self.model = options, model
        count = options.context + options.new + 32
        self.cache = StaticCache(config=model.config, max_cache_len=count)
        self.token = torch.ones(1, 1, dtype=torch.long, device=options.device)
        self.position = torch.zeros(1, dtype=torch.long, device=options.device)
        ids = torch.arange(options.context, device=options.device)[None] % 1000 % \
            model.config.vocab_size
        self.call(ids, torch.arange(options.context, device=options.device))
        self.compute = compiled(self.call)
        self.reset()

    def call(self, ids, position):
        out = self.model(input_ids=ids, past_key_values=self.cache, use_cache=True,
                         logits_to_keep=1, **get_position_argument(self.model, position))
        return out.logits[:, -1:].argmax(-1)

    def reset(self):
        self.position.fill_(self.options.context)
        self.token.fill_(1)
        for layer in self.cache.layers:
            if isinstance(getattr(layer, "cumulative_length", None), torch.Tensor):
                layer.cumulative_length.fill_(self.options.context)

    def step(self):
        found = self.compute(self.token, self.position)
        self.token.copy_(found)
        self.position.add_(1)

    def measure(self, is_captured):
        step = capture(self.step, self.options.device) if is_captured else self.step
        if not is_captured:
            for _ in range(4):
                step()
        times = []
        for _ in range(5):
            self.reset()
            times.append(time_calls(step, repeats=1, calls=self.options.new))
        return sorted(times)[2] / self.options.new


def measure_decode(model, options, ways):
    """The best seconds of a token, and by which way."""
    best = None
    for name, (arguments, is_captured) in ways.items():
        def measure(arguments=arguments, is_captured=is_captured):
            torch._dynamo.reset()
            decoder = Decoder(model, options,
                              lambda function: torch.compile(function, **arguments))
            return decoder.measure(is_captured)
        with torch.no_grad():
            seconds = attempt(name, measure)
        if seconds is not None:
            print(f"  decode, {name}: {1 / seconds:.1f} tokens/s, {seconds * 1e3:.3f} ms",
                  flush=True)
            if best is None or seconds < best[0]:
                best = seconds, name
    return best


def measure_prefill(model, options, ways):
    best = None
    ids = torch.arange(options.prefill, device=options.device)[None] % model.config.vocab_size
    for name, arguments in ways.items():
        def measure(arguments=arguments):
            torch._dynamo.reset()
            compiled = torch.compile(
                lambda ids: model(input_ids=ids, use_cache=False, logits_to_keep=1).logits,
                **arguments)
            for _ in range(2):
                compiled(ids)
            return time_calls(lambda: compiled(ids))
        with torch.no_grad():
            seconds = attempt(name, measure)
        if seconds is not None:
            print(f"  prefill of {options.prefill}, {name}: {seconds * 1e3:.2f} ms", flush=True)
            if best is None or seconds < best[0]:
                best = seconds, name
    return best


def run_plain(options):
    print("bf16", flush=True)
    model = make_model(options)
    size = count_bytes(model)
    print(f"  weights {size / 1e9:.3f} GB", flush=True)
    ways = {f"{name}, captured": (arguments, True) for name, arguments in COMPILED.items()}
    ways["reduce-overhead"] = ({"mode": "reduce-overhead"}, False)
    decode = None if options.prefill_only else measure_decode(model, options, ways)
    prefill = measure_prefill(model, options, COMPILED)
    print(f"  peak memory {peak_gib():.2f} GiB", flush=True)
    del model
    free()
    return decode, prefill, size


def ours(**options):
    return {"backend": "blockscale", **({"options": options} if options else {})}


def run_weights_only(fmt, options, plain):
    import blockscale.torch
    met = True
    decode_bar, prefill_bar, size_bar, head_bar = BARS[fmt]
    for head in (False, True):
        print(f"{fmt}, weights only{', with the head' if head else ''}", flush=True)
        model = make_model(options)
        summary = blockscale.torch.quantize_(model, weights_only(fmt, head))
        size = count_bytes(model)
        print(f"  weights {size / 1e9:.3f} GB, {size / plain[2]:.3f} of bf16; "
              f"{len(summary.quantized)} layers, {len(summary.left)} left", flush=True)
        free()
        ways = {"captured": (ours(), True)}
        if not head:
            ways["reduce-overhead"] = {**ours(), "mode": "reduce-overhead"}, False
        decode = measure_decode(model, options, ways)
        prefill = measure_prefill(model, options, {"blockscale": ours()})
        print(f"  peak memory {peak_gib():.2f} GiB", flush=True)
        if not head:
            ids = torch.ones(1, 16, dtype=torch.long, device=options.device)
            with torch.no_grad():
                explained = torch._dynamo.explain(model)(ids, use_cache=False)
            print(f"  graphs {explained.graph_count}, breaks {explained.graph_break_count}")
            if plain[0]:
                met &= report_bar(f"{fmt}: decode over bf16", decode and plain[0][0] / decode[0],
                                  decode_bar)
                met &= report_bar(f"{fmt}: prefill over bf16",
                                  prefill and plain[1][0] / prefill[0], prefill_bar)
        elif plain[0]:
            print(f"  decode over bf16 {plain[0][0] / decode[0]:.2f}" if decode else "")
        met &= report_bar(f"{fmt}: bytes over bf16's{', with the head' if head else ''}",
                          size / plain[2], head_bar if head else size_bar, at_most=True)
        del model
        free()
    return met


def run_exact(options, plain):
    """Both operands NVFP4, beside torchao's emulation: bf16 products of dequantized operands."""
    import blockscale.torch
    print("both operands NVFP4", flush=True)
    model = make_model(options)
    blockscale.torch.quantize_(model, {"version": 1, "rules": [{"format": "nvfp4"}]})
    free()
    prefill = measure_prefill(model, options, {"blockscale": ours()})
    del model
    free()
    met = True
    if plain[1]:
        met = report_bar("both NVFP4: prefill over bf16", prefill and plain[1][0] / prefill[0],
                         EXACT_BARS[0])
    emulated = attempt("torchao", lambda: run_torchao(options, prefill))
    return met & bool(emulated)


def emulate_layer(layer):
    """A linear layer with torchao's weights, which multiplies what torchao makes of its
    activations. Its own product of both needs instructions of SM100."""
    from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor

    def quantize(x):
        scale = x.abs().max().float() / (448 * 6)
        return NVFP4Tensor.to_nvfp4(x, per_tensor_scale=scale)
    weight = torch.nn.Parameter(quantize(layer.weight.detach()), requires_grad=False)

    def forward(x):
        rows = quantize(x.reshape(-1, x.shape[-1])).dequantize(x.dtype)
        return torch.nn.functional.linear(rows, weight).view(*x.shape[:-1], -1)
    layer.weight, layer.forward = weight, forward


def run_torchao(options, prefill):
    """Whether ours is as fast as it has to be beside torchao's eager emulation. The emulation
    compiled, layer by layer, is shown beside it."""
    met = time_torchao(make_model(options), options, prefill)
    free()
    return met


def time_torchao(model, options, prefill):
    """What run_torchao tells of a model, in which layers of torchao take the place of others."""
    def call():
        model(input_ids=ids, use_cache=False, logits_to_keep=1)

    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Linear) and name != "lm_head":
            emulate_layer(module)
    ids = torch.arange(options.prefill, device=options.device)[None] % model.config.vocab_size
    with torch.no_grad():
        call()
        seconds = time_calls(call, repeats=3)
        print(f"  prefill, torchao eager: {seconds * 1e3:.2f} ms", flush=True)
        met = report_bar("both NVFP4: prefill over torchao's eager emulation",
                         prefill and seconds / prefill[0], EXACT_BARS[1])
        for layer in model.model.layers:
            layer.compile()

        def measure():
            call()
            return time_calls(call, repeats=3)
        found = attempt("torchao compiled", measure)
        if found:
            print(f"  prefill, torchao compiled: {found * 1e3:.2f} ms", flush=True)
    return met


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", default="unknown", help="for the head of the log")
    parser.add_argument("--tiny", action="store_true", help="a small model, on the CPU")
    parser.add_argument("--layers", type=int, default=32)
    parser.add_argument("--context", type=int, default=1024)
    parser.add_argument("--new", type=int, default=128)
    parser.add_argument("--prefill", type=int, default=4096)
    parser.add_argument("--only", default="bf16,nvfp4,mxfp8,exact", help="parts to run")
    parser.add_argument("--prefill-only", action="store_true",
                        help="no decode of bf16, which the part exact does not need")
    options = parser.parse_args()
    options.device = "cpu" if options.tiny else "cuda"
    if options.tiny:
        options.context, options.new, options.prefill = 16, 4, 32
    parts = options.only.split(",")
    print_head(options.commit)
    plain = run_plain(options) if "bf16" in parts else (None, None, count_plain(options))
    met = True
    for fmt in BARS:
        if fmt in parts:
            met &= run_weights_only(fmt, options, plain)
    if "exact" in parts:
        met &= run_exact(options, plain)
    return 0 if met or options.tiny else 1


def count_plain(options):
    model = make_model(options)
    size = count_bytes(model)
    del model
    free()
    return size


if __name__ == "__main__":
    sys.exit(main())
