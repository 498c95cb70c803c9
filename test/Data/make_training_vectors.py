#!/usr/bin/env python3
# ===- make_training_vectors.py - Operands that others quantize for training ----===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Writes training/*.npz beside this file, or compares them with what it computes.

Each file has a linear layer's x, weight and gradient of y, and the operands of its three products
as TransformerEngine's reference of NVFP4 quantizes them, which is pure PyTorch, or as torchao's
kernels do (torchao_kernels.py). Gradients are rounded to nearest there: the reference has no
stochastic rounding, and that of torchao's kernels is an instruction of Blackwell. The inputs are
made here, with fixed seeds.

  scripts/peers.sh training
  .cache/training/bin/python test/Data/make_training_vectors.py           writes
  .cache/training/bin/python test/Data/make_training_vectors.py --check   compares
  ... --only torchao                                                      those of one package

The last line of --check is `N passed, N failed`: arrays.
"""

import argparse
import functools
import importlib.util
import json
import sys
import types
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch

import torchao_kernels

FOLDER = Path(__file__).resolve().parent / "training"
#: 0xD7E8, whose bit i is the sign of element i of a segment.
SIGNS = tuple(-1 if 0xD7E8 >> i & 1 else 1 for i in range(16))


@functools.cache
def load_reference():
    """TransformerEngine's modules of the reference, without the library in C++ that the package
    loads: empty modules stand for what is around them."""
    root = Path(next(iter(importlib.util.find_spec("transformer_engine")
                          .submodule_search_locations)))

    def stand_in(name, folder=None):
        module = types.ModuleType(name)
        if folder is not None:
            module.__path__ = [str(folder)]
        sys.modules[name] = module
        return module

    stand_in("transformer_engine", root)
    stand_in("transformer_engine.pytorch", root / "pytorch")
    stand_in("transformer_engine.pytorch.custom_recipes", root / "pytorch/custom_recipes")
    stand_in("transformer_engine.pytorch.tensor")
    stand_in("transformer_engine.pytorch.tensor.utils").is_custom = lambda *_, **__: True

    class Quantizer:
        def __init__(self, *, rowwise, columnwise):
            self.rowwise_usage, self.columnwise_usage, self.internal = rowwise, columnwise, False

    tensors = stand_in("transformer_engine.pytorch.quantized_tensor")
    tensors.QuantizedTensorStorage, tensors.Quantizer = type("Storage", (), {}), Quantizer
    from transformer_engine.pytorch.custom_recipes import reference_nvfp4, reference_utils
    return reference_nvfp4.NVFP4QuantizerRef, reference_utils.Fp4Formats.E2M1


def quantize_by_te(x, is_weight):
    """Rows and columns of x by the quantizers of NVFP4BlockScaling's defaults: squares for weights,
    else rows as they are and transformed columns."""
    kind, e2m1 = load_reference()
    quantizer = kind(dtype=e2m1, quant_tile_shape=(16, 16) if is_weight else (1, 16),
                     with_rht=not is_weight)
    made = quantizer.quantize(x)
    return ((made.data, made.scale, made.global_amax_row),
            (made.data_t, made.scale_t, made.global_amax_col))


def quantize_by_torchao(x, is_weight):
    """The same by torchao's kernels."""
    if is_weight:
        return torchao_kernels.quantize_weight(x)
    return torchao_kernels.quantize_rows(x, SIGNS)


#: How a package quantizes, and the packages whose versions decide.
QUANTIZERS = {"te": (quantize_by_te, ("torch", "transformer-engine")),
              "torchao": (quantize_by_torchao, ("torch", "torchao", "ml_dtypes"))}


def draw(shape, kind, seed):
    random = torch.Generator().manual_seed(seed)
    x = torch.randn(shape, generator=random)
    if kind == "outlier":
        x[:, ::17] *= 50
        x *= torch.exp2(torch.randint(-6, 7, (shape[0], 1), generator=random).float())
    elif kind == "sparse":
        x[torch.rand(shape, generator=random) < 0.6] = 0
        x[16:32, :32] = 0
        x[:, 3] = -0.0
    elif kind == "grid":
        x = torch.randint(-48, 49, shape, generator=random) / 8
    elif kind == "tiny":
        # The encode scales 2688 / amax of most tensors are beyond f32.
        x = torch.round(x * 4) * 2.0 ** -122
    return x.bfloat16()


#: The package, the distribution, M, K, N and the seed. M of 48 is no multiple of 32; torchao's
#: kernels take multiples of 128.
CASES = (("te", "normal", 64, 96, 48, 1), ("te", "outlier", 48, 64, 80, 2),
         ("te", "sparse", 32, 64, 64, 3), ("te", "grid", 48, 48, 32, 4),
         ("torchao", "outlier", 128, 256, 128, 5), ("torchao", "sparse", 128, 128, 128, 6),
         ("torchao", "grid", 128, 128, 128, 7), ("torchao", "tiny", 128, 128, 128, 8))


def to_bits(tensor):
    kinds = {1: torch.uint8, 2: torch.int16, 4: torch.int32}
    bits = tensor.contiguous().view(kinds[tensor.element_size()]).numpy()
    return bits.view({1: np.uint8, 2: np.uint16, 4: np.uint32}[bits.itemsize])


def make(package, kind, m, k, n, seed):
    quantize, packages = QUANTIZERS[package]
    tensors = {"x": draw((m, k), kind, seed), "weight": draw((n, k), kind, seed + 100),
               "gradient": draw((m, n), kind, seed + 200) / 64}
    arrays = {f"in_{name}": to_bits(tensor) for name, tensor in tensors.items()}
    for name, operands in (("x", ("forward_input", "wgrad_input")),
                           ("weight", ("forward_weight", "dgrad_weight")),
                           ("gradient", ("dgrad_gradient", "wgrad_gradient"))):
        for operand, made in zip(operands, quantize(tensors[name], name == "weight")):
            for what, tensor in zip(("data", "scales", "amax"), made):
                arrays[f"out_{operand}_{what}"] = to_bits(tensor)
    meta = {"op": "nvfp4_training", "shape": [m, k, n], "seed": seed, "distribution": kind,
            "packages": {name: version(name) for name in packages}}
    return f"{package}_nvfp4__{kind}_{m}x{k}x{n}", {"meta": np.array(json.dumps(meta)), **arrays}


def check(name, arrays):
    stored = np.load(FOLDER / f"{name}.npz")
    differ = [key for key in arrays if key != "meta" and not np.array_equal(arrays[key],
                                                                          stored[key])]
    for key in differ:
        print(f"{name}: {key} differs")
    return len(arrays) - 1 - len(differ), len(differ)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--only", choices=QUANTIZERS, help="the package")
    arguments = parser.parse_args()
    passed = failed = 0
    for case in CASES:
        if case[0] != (arguments.only or case[0]):
            continue
        name, arrays = make(*case)
        if arguments.check:
            good, bad = check(name, arrays)
            passed, failed = passed + good, failed + bad
        else:
            FOLDER.mkdir(exist_ok=True)
            np.savez_compressed(FOLDER / f"{name}.npz", **arrays)
    if arguments.check:
        print(f"{passed} passed, {failed} failed")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
