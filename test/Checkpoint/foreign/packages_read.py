# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What packages wrote, with the numbers that their own decoders make of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import decoders
from foreign.files import Stored, read_safetensors
from foreign.matrix import BF16
from foreign.package_decoders import decode_by
from foreign.results import Result, decode
from foreign.sources import Source, find_model_type, split_biases, split_matrices, split_stack

FLOATS = (np.dtype(np.float32), np.dtype(np.float16), decoders.DTYPES["BF16"])


def read_source(name: str, maker: str, folder: Path, unknown: str = "") -> Source:
    """What a package wrote into a folder; its numbers are those of the package's decoder."""
    tensors: dict[str, Any] = {}
    metadata: dict[str, str] = {}
    for path in sorted(folder.glob("*.safetensors")):
        found, said = read_safetensors(path)
        tensors |= found
        metadata |= said
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    source = Source(name, maker, tensors, config, unknown=unknown, metadata=metadata, path=folder)
    if unknown:
        return source
    model_type = find_model_type(config)
    decoded, used = decode_by(maker, tensors, config, metadata)
    if maker == "compressed-tensors":  # It gives bf16: the numbers before that are taken.
        exact = decode(Result(folder))
        for layer, values in decoded.items():
            check_alike(layer, exact[f"{layer}.weight"], values)
            decoded[layer] = exact[f"{layer}.weight"]
    source.quantized = tuple(decoded)
    for layer, values in decoded.items():
        if values.ndim == 3 and maker == "torchao":  # Of rows of outputs, as torchao is given them.
            path, _, stack = layer.rpartition(".")
            source.truth |= split_matrices(path, stack, values, model_type == "gpt_oss")
            continue
        source.truth |= split_stack(layer if values.ndim == 3 else f"{layer}.weight", values,
                                    model_type)
    for key, value in tensors.items():
        if key in used or isinstance(value, Stored) or value.dtype not in FLOATS:
            continue
        for each, values in split_stack(key, value.astype(np.float32), model_type).items():
            source.truth |= split_biases(each, values)
    return source


def check_alike(layer: str, exact: np.ndarray, values: np.ndarray) -> None:
    """Raises where numbers are not those of bf16 that a package gives for them."""
    different = np.abs(exact - values) > BF16 * np.abs(exact)
    if different.any():
        raise AssertionError(f"{layer}: the package reads {values[different][0]} for "
                             f"{exact[different][0]}")
