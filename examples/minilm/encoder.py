# ===- encoder.py - The transformer in numpy ------------------------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""MiniLM's encoder (BERT) in f32 numpy, to obtain real activations.

Shapes: T tokens of one sentence, hidden size H = 384, FFN size F = 1536.
"""

import math

import numpy as np

# The linear layers that are multiplied, by the name of their weights.
PROJECTIONS = {
    "query": "attention.self.query",
    "up": "intermediate.dense",
    "down": "output.dense",
}

_erf = np.frompyfunc(math.erf, 1, 1)


class Encoder:
    def __init__(self, model):
        self.tensors = model.tensors
        self.layers = model.config["num_hidden_layers"]
        self.heads = model.config["num_attention_heads"]
        self.epsilon = model.config["layer_norm_eps"]

    def weight(self, layer, projection):
        """f32 [N, K]; the layer computes x W^T + bias."""
        return self.tensors[f"encoder.layer.{layer}.{PROJECTIONS[projection]}.weight"]

    def run(self, ids):
        """The sentence's embedding (f32 [H], norm 1) and every layer's inputs.

        The inputs are one dict a layer, from projection to f32 [T, K].
        """
        table = "embeddings.{}_embeddings.weight"
        hidden = self.tensors[table.format("word")][ids]
        hidden = hidden + self.tensors[table.format("position")][: len(ids)]
        hidden = hidden + self.tensors[table.format("token_type")][0]
        hidden = self._normalize(hidden, "embeddings.LayerNorm")
        inputs = []
        for layer in range(self.layers):
            hidden, seen = self._layer(hidden, f"encoder.layer.{layer}.")
            inputs.append(seen)
        embedding = hidden.mean(axis=0)
        return embedding / np.linalg.norm(embedding), inputs

    def _layer(self, x, name):
        mixed = self._linear(self._attend(x, name), name + "attention.output.dense")
        middle = self._normalize(x + mixed, name + "attention.output.LayerNorm")
        active = _gelu(self._linear(middle, name + "intermediate.dense"))
        output = self._linear(active, name + "output.dense")
        seen = {"query": x, "up": middle, "down": active}
        return self._normalize(middle + output, name + "output.LayerNorm"), seen

    def _attend(self, x, name):
        # [heads, T, H / heads] each
        query, key, value = (
            self._linear(x, f"{name}attention.self.{part}")
            .reshape(len(x), self.heads, -1)
            .swapaxes(0, 1)
            for part in ("query", "key", "value")
        )
        scores = query @ key.swapaxes(1, 2) / np.float32(math.sqrt(query.shape[-1]))
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = scores / scores.sum(axis=-1, keepdims=True) @ value
        return mixed.swapaxes(0, 1).reshape(x.shape)

    def _linear(self, x, name):
        return x @ self.tensors[name + ".weight"].T + self.tensors[name + ".bias"]

    def _normalize(self, x, name):
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = np.square(centred).mean(axis=-1, keepdims=True)
        normal = centred / np.sqrt(variance + np.float32(self.epsilon))
        return normal * self.tensors[name + ".weight"] + self.tensors[name + ".bias"]


def _gelu(x):
    return x * (1 + _erf(x * np.float32(math.sqrt(0.5))).astype(np.float32)) / 2
