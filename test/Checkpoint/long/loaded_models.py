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

import model_zoo  # noqa: E402

POLICY = {"version": 1, "rules": [{"format": "nvfp4", "weight_only": True}]}


@dataclasses.dataclass
class Loaded:
    """What transformers loaded.

    Attributes:
      layers: that are quantized.
      keys: that are missing or unexpected, or do not fit.
      noise: the ratio of logits to their difference from the source's, in decibels.
      error: the largest difference from logits of the numbers that the codes stand for, by the
        largest of these.
    """

    layers: int
    keys: dict
    noise: float
    error: float


def get_ratio(one, other):
    """The ratio of numbers to a difference in decibels."""
    one, other = one.double(), other.double()
    difference = float(((one - other) ** 2).sum())
    return float("inf") if difference == 0 else float(
        10 * torch.log10((one ** 2).sum() / difference))


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
    return Loaded(len(summary.quantized), keys, get_ratio(source, found), error)


def list_types():
    """Types that have a small model."""
    transformers.logging.set_verbosity_error()
    return list(model_zoo.list_types())
