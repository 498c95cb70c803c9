#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Encoders of published sizes on a GPU, each one launch plan, beside PyTorch.

  scripts/gpu/check_encoders.py [--commit ID]     # on the machine with the GPU
  scripts/gpu/check_encoders.py --cpu             # small ones, shows that it runs, without one

Needs torch, transformers and the package blockscale with its extra for torch. The models are those
of transformers' configurations, in bf16 with random weights:

  MiniLM    BertModel of all-MiniLM-L6-v2's sizes, 8 sentences of 128 words, some with padding
  Whisper   the encoder of whisper-tiny, 30 s of sound, twice
  ViT       ViTModel of vit-base-patch16-224's sizes, 4 images

torch.export and blockscale.torch.from_export bring each one in, plain and with the weights of all
linear layers in NVFP4 and MXFP8 by quantize_. For each

* the module is one launch plan, and a call of it takes no op of PyTorch that computes;
* results are as near to those of PyTorch in f32 as PyTorch's own in bf16, within a factor of two,
  in norm; of quantized weights PyTorch has their values;
* the same call in a CUDA graph has the same bytes.

Prints the head of a log, the launches and distances, and `N passed, N failed` at the end.
"""

import argparse
import copy
import json
import sys
from pathlib import Path

import torch
from torch import nn
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

import blockscale.torch

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benchmarks/gpu"), str(ROOT / "scripts/gpu")]

from check_torch import Checks, distance
from torch_models import capture, print_head, weights_only

FORMATS = (None, "nvfp4", "mxfp8")
WORDS = 2048
#: The most times PyTorch's distance in bf16 that a result may have.
MOST_ERROR = 2
#: Ops of PyTorch that a call may take: memory for results, and views of them.
MEMORY_OPS = {"aten::empty", "aten::empty_strided", "aten::view", "aten::as_strided",
              "aten::detach", "aten::alias", "aten::_reshape_alias"}


class Ops(TorchDispatchMode):
    """Notes the ops of PyTorch that are called."""

    def __init__(self):
        super().__init__()
        self.names = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.names.add(function.name().split(".")[0])
        return function(*args, **(kwargs or {}))


def make_minilm(is_tiny):
    from transformers import BertConfig, BertModel
    batch, words = (2, 9) if is_tiny else (8, 128)
    config = BertConfig(vocab_size=WORDS, hidden_size=384, intermediate_size=1536,
                        num_hidden_layers=1 if is_tiny else 6, num_attention_heads=12)
    mask = torch.ones(batch, words, dtype=torch.int64)
    mask[0, words // 2:] = 0
    return BertModel(config, add_pooling_layer=False), {
        "input_ids": torch.randint(0, WORDS, (batch, words)), "attention_mask": mask}


def make_whisper(is_tiny):
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder
    frames = 64 if is_tiny else 3000
    config = WhisperConfig(d_model=384, encoder_layers=1 if is_tiny else 4, num_mel_bins=80,
                           encoder_attention_heads=6, encoder_ffn_dim=1536,
                           max_source_positions=frames // 2)
    return WhisperEncoder(config), {"input_features": torch.randn(2, 80, frames)}


def make_vit(is_tiny):
    from transformers import ViTConfig, ViTModel
    size = 32 if is_tiny else 224
    config = ViTConfig(image_size=size, num_hidden_layers=1 if is_tiny else 12)
    return ViTModel(config, add_pooling_layer=False), {
        "pixel_values": torch.randn(2 if is_tiny else 4, 3, size, size)}


MODELS = {"MiniLM": make_minilm, "Whisper": make_whisper, "ViT": make_vit}


def make(name, options):
    """A model in bf16 and its arguments, on the CPU. Layers have their part in the results: weights
    keep the magnitude of what they multiply, and no bias is 0."""
    torch.manual_seed(0)
    model, given = MODELS[name](options.cpu)
    model.requires_grad_(False)
    for parameter in model.parameters():
        if parameter.dim() == 1:
            parameter += 0.1 * torch.randn(parameter.shape)
        elif parameter.dim() == 2:
            nn.init.normal_(parameter, std=parameter.shape[1] ** -0.5)
    return model.bfloat16().eval(), {key: each.bfloat16() if each.is_floating_point() else each
                                     for key, each in given.items()}


def with_values(model):
    """A copy whose quantized layers are plain ones with the values of their weights."""
    plain = copy.deepcopy(model)
    for name, layer in model.named_modules():
        if isinstance(layer, blockscale.torch.QuantizedLinear):
            made = nn.Linear(layer.in_features, layer.out_features, layer.bias is not None,
                             device=layer.data.device, dtype=layer.dtype)
            made.weight = nn.Parameter(layer._read(layer.dtype), requires_grad=False)
            made.bias = layer.bias
            plain.set_submodule(name, made)
    return plain


def get_tensor(results):
    return next(each for each in pytree.tree_leaves(results) if isinstance(each, torch.Tensor))


def read_plan(imported, chip):
    """The functions of a module's launch plan, and the launches of them."""
    from blockscale.torch._kernels import _PLAN, _emit
    plan = json.loads(_emit(imported.module, chip, _PLAN))
    return len(plan["functions"]), sum("launch" in step for function in plan["functions"]
                                       for step in function["steps"])


@torch.no_grad()
def check_model(checks, name, fmt, options):
    title = f"{name}, {fmt or 'plain'}"
    model, given = make(name, options)
    if fmt:
        blockscale.torch.quantize_(model, weights_only(fmt, head=True))
    imported = blockscale.torch.from_export(torch.export.export(model, (), given))
    functions, launches = read_plan(imported, options.chip)
    compiled = imported.compile(**options.place)
    model, given = model.to(options.device), {key: each.to(options.device)
                                              for key, each in given.items()}
    compiled(**given)  # The first call brings weights to the device.
    with Ops() as ops:
        found = get_tensor(compiled(**given))
    computing = ops.names - MEMORY_OPS
    checks.check(f"{title}: one launch plan computes it", functions == 1 and not computing,
                 f"{launches} launches" + (f", but also {sorted(computing)}" if computing else ""))

    plain = with_values(model)
    of_torch = get_tensor(plain(**given))
    wanted = get_tensor(plain.float()(**{key: each.float() if each.is_floating_point() else each
                                         for key, each in given.items()}))
    ours, theirs = distance(found, wanted), distance(of_torch, wanted)
    checks.check(f"{title}: as near to f32 as PyTorch in bf16", ours <= MOST_ERROR * theirs,
                 f"{ours:.2e}, PyTorch {theirs:.2e}")
    if options.cpu:
        return
    results = []

    def call():
        results[:] = [get_tensor(compiled(**given))]
    replay = capture(call, options.device)
    results[0].zero_()
    replay()
    torch.cuda.synchronize()
    checks.check(f"{title}: the same bytes in a CUDA graph", torch.equal(results[0], found))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--cpu", action="store_true")
    options = parser.parse_args()
    options.device = "cpu" if options.cpu else "cuda"
    options.chip, options.place = "sm_90a", {}
    if not options.cpu:
        from blockscale.torch import _cuda
        options.chip = _cuda.get_chip(0)
        options.place = {"target": options.chip, "on": "cuda"}
    print_head(options.commit)
    checks = Checks()
    for name in MODELS:
        for fmt in FORMATS:
            check_model(checks, name, fmt, options)
    print(f"{checks.passed} passed, {checks.failed} failed")
    sys.exit(checks.failed > 0)


if __name__ == "__main__":
    main()
