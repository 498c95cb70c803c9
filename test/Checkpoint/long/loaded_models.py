# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small model of a type, quantized by `quantize` and loaded by transformers: whether tensors are
missing or unexpected, and how far its logits are from those of the source."""

import dataclasses
import sys
from pathlib import Path

import torch
import transformers

from blockscale import checkpoint

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "test/Torch"))

import model_zoo

E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6], dtype=torch.float64)
POLICY = {"version": 1, "rules": [{"format": "nvfp4", "weight_only": True}]}


@dataclasses.dataclass
class Loaded:
    """What transformers loaded.

    Attributes:
      layers: that are quantized.
      keys: that are missing or unexpected, or do not fit.
      noise: the ratio of logits to their difference from the source's, in decibels.
      expected: the same of weights that are rounded by NVFP4's definition.
      error: the largest difference from logits of the numbers that the codes stand for, by the
        largest of these.
    """

    layers: int
    keys: dict
    noise: float
    expected: float
    error: float


def get_ratio(one, other):
    """The ratio of numbers to a difference in decibels."""
    one, other = one.double(), other.double()
    difference = float(((one - other) ** 2).sum())
    return float("inf") if difference == 0 else float(
        10 * torch.log10((one ** 2).sum() / difference))


def round_nvfp4(weight):
    """The numbers of NVFP4 that stand for a matrix, by its definition: E2M1 with a scale in E4M3
    for 16 numbers, and one in f32 for all."""
    x = weight.double()
    overall = x.abs().max() / (6 * 448)
    blocks = x.reshape(x.shape[0], -1, 16)
    scales = (blocks.abs().amax(-1, keepdim=True) / 6 / overall).float().to(
        torch.float8_e4m3fn).double() * overall
    scaled = blocks / scales.clamp_min(1e-30)
    places = (scaled.abs()[..., None] - E2M1).abs().argmin(-1)
    return (E2M1[places] * scaled.sign() * scales).reshape(x.shape).to(weight.dtype)


def round_model(model, plain):
    """Rounds the weights of a model that are not those of a plain copy of a result."""
    others = dict(plain.named_parameters())
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 2 and not torch.equal(parameter, others[name]):
                parameter.copy_(round_nvfp4(parameter))
    return model


def load(folder, model_class):
    model, info = model_class.from_pretrained(folder, output_loading_info=True,
                                              dtype=torch.bfloat16)
    return model.eval(), {name: sorted(map(str, keys)) for name, keys in info.items() if keys}


def run(name, folder):
    """Quantizes a model of a type and loads it, and a plain copy of what the codes stand for."""
    config, model_class = model_zoo.find_type(name)
    model = model_zoo.make_model(config, model_class)
    model.save_pretrained(folder / "source")
    summary = checkpoint.quantize(folder / "source", folder / "result", POLICY,
                                  layout="compressed-tensors")
    checkpoint.convert(folder / "result", folder / "plain", "plain")
    given = model_zoo.find_inputs(model)
    loaded, keys = load(folder / "result", model_class)
    plain, _ = load(folder / "plain", model_class)
    source, found, exact = (model_zoo.call(each, given) for each in (model, loaded, plain))
    error = float((found - exact).abs().max() / exact.abs().max())
    expected = get_ratio(source, model_zoo.call(round_model(model, plain), given))
    return Loaded(len(summary.quantized), keys, get_ratio(source, found), expected, error)


def list_types():
    """Types that have a small model."""
    transformers.logging.set_verbosity_error()
    return list(model_zoo.list_types())
