# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checkpoints that can be changed, and the lists of the faults that are planted into them: each is
a function that changes one, with the one rule that tells it, or the reason why none does."""

import copy
import dataclasses
import json
from collections.abc import Callable
from typing import Any

import numpy as np

import decoders

F8, BF16 = decoders.DTYPES["F8_E4M3"], decoders.DTYPES["BF16"]


@dataclasses.dataclass
class Files:
    """A checkpoint that can be changed: tensors by name, and what is beside them."""

    tensors: dict[str, np.ndarray]
    config: dict[str, Any]
    modelopt: dict[str, Any] | None = None
    metadata: dict[str, str] = dataclasses.field(default_factory=dict)
    shards: int = 1
    has_index: bool = True

    @classmethod
    def read(cls, folder):
        tensors, metadata = {}, {}
        for path in sorted(folder.glob("*.safetensors")):
            found, said = decoders.read_file(path)
            tensors |= {name: array.copy() for name, array in found.items()}
            metadata |= said
        beside = folder / "hf_quant_config.json"
        return cls(tensors, json.loads((folder / "config.json").read_text()),
                   json.loads(beside.read_text()) if beside.exists() else None, metadata)

    def copy(self):
        return copy.deepcopy(self)

    def write(self, folder):
        decoders.write_folder(folder, self.tensors, self.config, self.shards, self.metadata)
        if self.modelopt is not None:
            (folder / "hf_quant_config.json").write_text(json.dumps(self.modelopt))
        if not self.has_index:
            (folder / "model.safetensors.index.json").unlink()

    # What several faults change.

    @property
    def quantization(self):
        return self.config["quantization_config"]

    def set_algorithm(self, member, value):
        """In both configurations of ModelOpt."""
        self.quantization[member] = value
        self.modelopt["quantization"][member] = value

    def ignore(self, *names):
        self.quantization.setdefault("ignore", []).extend(names)
        if self.modelopt is not None:
            self.modelopt["quantization"].setdefault("exclude_modules", []).extend(names)

    def make_plain(self, layer, shape):
        """Gives a layer a plain weight instead of its codes and scales."""
        for name in [name for name in self.tensors if name.startswith(f"{layer}.")]:
            del self.tensors[name]
        self.tensors[f"{layer}.weight"] = decoders.make_weight(5, shape)

    def drop(self, *beginnings):
        """Removes tensors by the beginnings of their names."""
        for name in [name for name in self.tensors if name.startswith(beginnings)]:
            del self.tensors[name]

    def quantize_like(self, layer, other):
        """Gives a layer the codes and scales of another one."""
        self.tensors.pop(f"{layer}.weight", None)
        for name in [name for name in self.tensors if name.startswith(f"{other}.")]:
            self.tensors[layer + name.removeprefix(other)] = self.tensors[name].copy()

    def add_cache_scales(self):
        """Scales of keys and values for each layer, and what the configuration says of them."""
        for layer in range(2):
            for name in "kv":
                self.tensors[f"model.layers.{layer}.self_attn.{name}_proj.{name}_scale"] = np.array(
                    0.01 + layer / 64, np.float32)
        self.modelopt["quantization"]["kv_cache_quant_algo"] = "FP8"
        self.quantization["kv_cache_scheme"] = {"dynamic": False, "num_bits": 8, "type": "float"}

    def scale(self, names, factor):
        for name in names:
            self.tensors[name] = (self.tensors[name] * np.float32(factor)).astype(np.float32)


#: (name, the file that it is planted in, the rule that it breaks, the function)
FAULTS: list[tuple[str, str, str, Callable[[Files], Any]]] = []
LAYER = "model.layers.0."
DOWN, GATE, UP = (f"{LAYER}mlp.{name}_proj" for name in ("down", "gate", "up"))
Q, K, V, OUT = (f"{LAYER}self_attn.{name}_proj" for name in "qkvo")
EXPERT = "model.layers.1.mlp.experts.2."
STACK = "model.layers.0.mlp.experts.gate_up_proj"
#: The second layer, which is of the same kind as the first in most files.
SECOND = "model.layers.1."


def fault(file, rule, **options):
    """Registers a function as a fault. `options` are those of check()."""
    def register(function):
        FAULTS.append((function.__name__, file, rule, function, options))
        return function
    return register


#: (name, the file that it is planted in, why nothing tells it, the function)
UNTOLD: list[tuple[str, str, str, Callable[[Files], Any]]] = []


def untold(file, reason):
    """Registers a function as a fault that check() cannot tell."""
    def register(function):
        UNTOLD.append((function.__name__, file, reason, function))
        return function
    return register
