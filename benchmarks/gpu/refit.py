#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""New weights into quantized layers by refit_, beside copies of the plain weights.

  python3 benchmarks/gpu/refit.py [--commit ID]    # on the machine with the GPU
  python3 benchmarks/gpu/refit.py --tiny           # small ones, on the CPU

Needs torch and the package blockscale with its extra for torch. The layers are those of a block
of Llama-3-8B. New weights are bf16; a copy is `copy_` into plain weights of bf16, which is what a
model takes that is not quantized. A share is the time of the copies over that of refit_. Parts:

  layers  layers of one shape, as many as caches do not hold, in one CUDA graph, in the order of the
          device's products and as rows of codes ("row_major")
  blocks  whole blocks by one call of refit_, beside a loop of copy_, both as a program calls them;
          layers that read the same activations lie together in memory

All layers have the bytes of quantize_ afterwards. Times are medians of 5 times 10 calls. The last
lines are the bars; the exit status is 1 if one is missed, or if bytes differ.
"""

import argparse
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parent))

import blockscale.torch
from blockscale.torch._forms import ROW_MAJOR
from torch_models import capture, free, print_head, report_bar, time_calls, weights_only

FORMATS = ("nvfp4", "mxfp8")
HIDDEN, INNER, SHARED = 4096, 14336, 1024
SHAPES = ((SHARED, HIDDEN), (HIDDEN, HIDDEN), (INNER, HIDDEN), (HIDDEN, INNER))
#: Bytes of plain weights that one call takes, several times what a cache holds.
LEAST_BYTES = 400e6
BLOCKS = 2
CALLS = 10
BAR = 0.8


def make_plain(options, shapes, name="{}"):
    """Layers of these shapes by names, with random weights."""
    with torch.device(options.device):
        layers = {name.format(number): nn.Linear(k, n, bias=False, dtype=torch.bfloat16)
                  for number, (n, k) in enumerate(shapes)}
    return nn.ModuleDict(layers).eval()


class Block(nn.Module):
    """The layers of a block of Llama."""

    def __init__(self, hidden, inner, shared):
        super().__init__()
        shapes = {"q_proj": (hidden, hidden), "k_proj": (shared, hidden),
                  "v_proj": (shared, hidden), "o_proj": (hidden, hidden),
                  "gate_proj": (inner, hidden), "up_proj": (inner, hidden),
                  "down_proj": (hidden, inner)}
        for name, (n, k) in shapes.items():
            self.add_module(name, nn.Linear(k, n, bias=False, dtype=torch.bfloat16))


def make_blocks(options):
    sizes = (256, 512, 128) if options.tiny else (HIDDEN, INNER, SHARED)
    with torch.device(options.device):
        return nn.ModuleList(Block(*sizes) for _ in range(BLOCKS)).eval()


def quantize(model, fmt):
    blockscale.torch.quantize_(model, weights_only(fmt, head=True))
    return model


def find_layers(model):
    return [each for each in model.modules() if isinstance(each, blockscale.torch.QuantizedLinear)]


def has_bytes_of(live, plain, fmt):
    """Whether the layers are those that quantize_ makes of plain ones, which it replaces."""
    one, other = live.state_dict(), quantize(plain, fmt).state_dict()
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def measure(options, make, fmt, layout, captured):
    """Seconds of refit_ and of copies, and whether bytes are right."""
    torch.manual_seed(1)
    trained = make()
    torch.manual_seed(0)
    plain, live = make(), quantize(make(), fmt)
    if layout:
        for layer in find_layers(live):
            layer._set_layout(layout)
    new, old = dict(trained.named_parameters()), dict(plain.named_parameters())

    @torch.no_grad()
    def copy():
        for name, tensor in new.items():
            old[name].copy_(tensor)

    def refit():
        blockscale.torch.refit_(live, new)
    if captured:
        copy, refit = (capture(each, options.device) for each in (copy, refit))
    else:
        copy(), refit()
    calls = 1 if options.tiny else CALLS
    times = [time_calls(each, calls=calls) / calls for each in (refit, copy)]
    is_right = has_bytes_of(live, trained, fmt)
    return *times, is_right


def print_row(cells, seconds, copied, is_right):
    print(f"| {' | '.join(map(str, cells))} | {seconds * 1e6:.1f} | {copied * 1e6:.1f} | "
          f"{copied / seconds:.2f} | {'the same' if is_right else 'WRONG'} |", flush=True)


def measure_layers(options):
    print("layers\n\n| weight | layers | format | order | refit us | copy us | share | bytes |\n"
          + "| --- " * 8 + "|")
    least, is_right = {}, True
    for n, k in ((64, 128),) if options.tiny else SHAPES:
        count = 2 if options.tiny else int(LEAST_BYTES / (2 * n * k)) + 1

        def make(shapes=((n, k),) * count):
            return make_plain(options, shapes)
        for fmt in FORMATS:
            own = find_layers(quantize(make_plain(options, ((64, 128),)), fmt))[0].layout
            for layout in dict.fromkeys((own, ROW_MAJOR)):
                refit, copied, same = measure(options, make, fmt, layout, captured=True)
                print_row((f"[{n}, {k}]", count, fmt, layout), refit / count, copied / count, same)
                key = f"layers, {fmt} in {layout}"
                least[key] = min(least.get(key, copied / refit), copied / refit)
                is_right &= same
                free()
    print()
    return least, is_right


def measure_blocks(options):
    print("blocks\n\n| blocks | format | refit us | copy us | share | bytes |\n"
          + "| --- " * 6 + "|")
    least, is_right = {}, True
    for fmt in FORMATS:
        refit, copied, same = measure(options, lambda: make_blocks(options), fmt, None,
                                      captured=False)
        print_row((BLOCKS, fmt), refit, copied, same)
        least[f"blocks, {fmt}"] = copied / refit
        is_right &= same
        free()
    print()
    return least, is_right


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--commit", default="unknown", help="for the head of the log")
    parser.add_argument("--tiny", action="store_true")
    options = parser.parse_args()
    options.device = "cpu" if options.tiny else "cuda"
    print_head(options.commit)
    shares, is_right = {}, True
    for part in (measure_layers, measure_blocks):
        found, same = part(options)
        shares |= found
        is_right &= same
    met = [report_bar(f"{name}, copy over refit_, the least", share, BAR)
           for name, share in shares.items()]
    sys.exit(not (all(met) and is_right))


if __name__ == "__main__":
    main()
