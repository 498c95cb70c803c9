# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a foreign checkpoint is: its files, and the numbers that they stand for."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import decoders
from foreign.files import describe, write_safetensors

#: How models have plain stacks of experts: whether they are [E, K, N], and whether rows of gate and
#: up alternate. Others have [E, N, K] with gate before up.
STACKS = {"gpt_oss": (True, True), "llama4_text": (True, False), "llama4": (True, False)}
_STACK = re.compile(r"(.*\.experts)\.(gate_up_proj|down_proj)(?:\.weight)?")


@dataclasses.dataclass
class Source:
    """A checkpoint of another package.

    Attributes:
      name: of the case.
      maker: the package that wrote it, or "hand".
      tensors: by name, arrays or Stored.
      config: config.json.
      truth: the numbers of every tensor that stands for numbers, by the names of layers, those of
        experts one by one. Empty where the format is not known here.
      quantized: the layers among them that have codes.
      unknown: the name of the format that messages must have, "" where it is known.
      files: other files of JSON, by name.
      metadata: of the file of tensors.
      path: of what the package wrote itself; None for what `write` writes.
    """

    name: str
    maker: str
    tensors: Mapping[str, Any]
    config: Mapping[str, Any]
    truth: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    quantized: tuple[str, ...] = ()
    unknown: str = ""
    files: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    metadata: Mapping[str, str] | None = None
    path: Path | None = None

    def write(self, folder: Path) -> Path:
        """Writes the checkpoint; returns its path."""
        if self.path is not None:
            return self.path
        folder.mkdir(parents=True, exist_ok=True)
        for name, members in {"config.json": self.config, **self.files}.items():
            (folder / name).write_text(json.dumps(members), encoding="utf-8")
        write_safetensors(folder / "model.safetensors", self.tensors, self.metadata)
        return folder

    def write_plain(self, folder: Path, has_stacks: bool = False) -> Path:
        """Writes the numbers as a plain checkpoint in f32, with experts in stacks where the model
        has those and they are asked for; returns its path."""
        folder.mkdir(parents=True, exist_ok=True)
        plain = {name: value for name, value in self.config.items()
                 if name not in ("quantization_config", "quantization")}
        (folder / "config.json").write_text(json.dumps(plain), encoding="utf-8")
        model_type = find_model_type(self.config)
        write_safetensors(folder / "model.safetensors", join_stacks(self.truth, model_type)
                          if has_stacks and model_type in STACKS else self.truth)
        return folder


def split_stack(name: str, values: np.ndarray, model_type: str) -> dict[str, np.ndarray]:
    """The layers of experts that a plain stack of a model has, by name; the tensor itself of
    others."""
    match = _STACK.fullmatch(name)
    if not match or values.ndim != 3:
        return {name: values}
    is_transposed, is_interleaved = STACKS.get(model_type, (False, False))
    return split_matrices(match[1], match[2],
                          values.swapaxes(1, 2) if is_transposed else values, is_interleaved)


def split_matrices(path: str, stack: str, values: np.ndarray,
                   is_interleaved: bool) -> dict[str, np.ndarray]:
    """[E, N, K] as layers of experts."""
    found: dict[str, np.ndarray] = {}
    for number, matrix in enumerate(values):
        if stack == "down_proj":
            found[f"{path}.{number}.down_proj.weight"] = matrix
            continue
        half = len(matrix) // 2
        gate, up = (matrix[0::2], matrix[1::2]) if is_interleaved else (matrix[:half],
                                                                       matrix[half:])
        found[f"{path}.{number}.gate_proj.weight"] = gate
        found[f"{path}.{number}.up_proj.weight"] = up
    return found


def join_stacks(numbers: Mapping[str, np.ndarray], model_type: str) -> dict[str, np.ndarray]:
    """The reverse of split_stack and split_biases: experts one by one as stacks of a model."""
    is_transposed, is_interleaved = STACKS[model_type]
    found: dict[str, np.ndarray] = {}
    experts: dict[str, dict[tuple[int, str], np.ndarray]] = {}
    for name, values in numbers.items():
        match = re.fullmatch(r"(.*\.experts)\.(\d+)\.(gate|up|down)_proj\.(weight|bias)", name)
        if not match:
            found[name] = values
            continue
        path, number, kind, what = match.groups()
        stack = f"{path}.{'down_proj' if kind == 'down' else 'gate_up_proj'}"
        stack += "_bias" * (what == "bias")
        experts.setdefault(stack, {})[int(number), kind] = values
    for stack, parts in experts.items():
        matrices = []
        for number in range(1 + max(number for number, _ in parts)):
            rows = [parts[number, kind] for kind in ("gate", "up", "down")
                    if (number, kind) in parts]
            matrices.append(np.stack(rows, 1).reshape(-1, *rows[0].shape[1:])
                            if is_interleaved else np.concatenate(rows))
        joined = np.stack(matrices)
        found[stack] = joined.swapaxes(1, 2) if is_transposed and joined.ndim == 3 else joined
    return found


def split_biases(name: str, values: np.ndarray) -> dict[str, np.ndarray]:
    """The biases of gpt-oss' experts, one by one; the tensor itself of others."""
    match = re.fullmatch(r"(.*\.experts)\.(gate_up_proj|down_proj)_bias", name)
    if not match:
        return {name: values}
    found = {}
    for number, row in enumerate(values):
        parts = ({"down_proj": row} if match[2] == "down_proj" else
                 {"gate_proj": row[0::2], "up_proj": row[1::2]})
        found |= {f"{match[1]}.{number}.{layer}.bias": part for layer, part in parts.items()}
    return found


def make_tensors(family: str) -> dict[str, Any]:
    """The tensors of a decoder, without the expert of zeros alone, of which packages make NaN."""
    tensors = decoders.make_tensors(family)
    empty = "model.layers.1.mlp.experts.3.down_proj.weight"
    if empty in tensors:
        tensors[empty] = decoders.make_weight(2077, tensors[empty].shape)
    return tensors


def find_model_type(config: Mapping[str, Any]) -> str:
    return str((config.get("text_config") or config).get("model_type", ""))


def is_linear(name: str, value: Any) -> bool:
    """Whether packages quantize a weight of a decoder: not embeddings, heads, norms and routers."""
    left = re.compile(r"(^|\.)(lm_head|router|embed_tokens|mlp\.gate|shared_head\.head)\.weight$|"
                      r"embed|norm|eh_proj")
    return (name.endswith(".weight") and len(describe(value)[1]) == 2
            and not left.search(name))


#: Gives the tensors of a layer by the ends of their names, and its numbers.
Encoder = Callable[[str, np.ndarray], tuple[dict[str, Any], np.ndarray]]


def quantize(tensors: Mapping[str, Any], encode: Encoder,
             chosen: Callable[[str, Any], bool] = is_linear
             ) -> tuple[dict[str, Any], dict[str, np.ndarray], tuple[str, ...]]:
    """Tensors of a plain model with the chosen weights encoded, their numbers, and the layers that
    have codes."""
    found: dict[str, Any] = {}
    truth: dict[str, np.ndarray] = {}
    layers = []
    for name, value in tensors.items():
        if not chosen(name, value):
            found[name] = value
            truth[name] = value.astype(np.float32)
            continue
        layer = name.removesuffix(".weight")
        parts, numbers = encode(layer, value.astype(np.float32))
        found |= {layer + ending: part for ending, part in parts.items()}
        truth[name] = numbers
        layers.append(layer)
    return found, truth, tuple(layers)
