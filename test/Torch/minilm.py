# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""all-MiniLM-L6-v2 as a module of PyTorch, with what examples/minilm knows of it."""

import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/minilm"
CACHE = ROOT / ".cache/minilm"


def load_example():
    """The example's modules; the package `blockscale` stays the one that is tested."""
    # The package that reads the weights is among those of .venv.
    sys.path += map(str, ROOT.glob(".venv/lib/python3*/site-packages"))
    before = list(sys.path)
    sys.path[:0] = [str(EXAMPLE), str(ROOT / "python")]
    try:
        import encoder
        import formats
        import tokenizer
        import weights
        from main import SENTENCES
    finally:
        # The example adds folders of its own.
        sys.path[:] = before
    return encoder, formats, tokenizer, weights, SENTENCES


class Linear(nn.Module):
    """A layer that takes and gives bf16, among others of f32."""

    def __init__(self, weight, bias):
        super().__init__()
        n, k = weight.shape
        self.inner = nn.Linear(k, n).bfloat16()
        self.inner.weight.data, self.inner.bias.data = weight.bfloat16(), bias.bfloat16()

    def forward(self, x):
        return self.inner(x.bfloat16()).float()


class MiniLM(nn.Module):
    """Tokens [1, T] in int64 to a vector [1, H] of norm 1, by the first `count` layers."""

    def __init__(self, tensors, config, count):
        super().__init__()
        self.heads, self.count = config["num_attention_heads"], count
        self.epsilon = config["layer_norm_eps"]
        for name, tensor in tensors.items():
            if tensor.dtype == np.float32 and not name.startswith("pooler"):
                self.register_buffer(name.replace(".", "_"), torch.from_numpy(np.array(tensor)))
        self.linears = nn.ModuleDict({
            name.removesuffix(".weight").replace(".", "_"): Linear(
                torch.from_numpy(np.array(tensor)),
                torch.from_numpy(np.array(tensors[name.replace(".weight", ".bias")])))
            for name, tensor in tensors.items()
            if name.startswith("encoder.") and name.endswith(".weight") and tensor.ndim == 2
            and int(name.split(".")[2]) < count})
        self.eval().requires_grad_(False)

    def _linear(self, x, name):
        return self.linears[name](x)

    def _norm(self, x, name):
        return nn.functional.layer_norm(x, x.shape[-1:], getattr(self, f"{name}_weight"),
                                        getattr(self, f"{name}_bias"), self.epsilon)

    def forward(self, ids):
        x = nn.functional.embedding(ids, self.embeddings_word_embeddings_weight)
        x = x + self.embeddings_position_embeddings_weight[:ids.shape[1]]
        x = self._norm(x + self.embeddings_token_type_embeddings_weight[0],
                       "embeddings_LayerNorm")
        for number in range(self.count):
            name = f"encoder_layer_{number}_"
            q, k, v = (self._linear(x, f"{name}attention_self_{part}").view(
                1, -1, self.heads, x.shape[-1] // self.heads).transpose(1, 2)
                for part in ("query", "key", "value"))
            y = nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(-2)
            y = self._linear(y, f"{name}attention_output_dense")
            x = self._norm(x + y, f"{name}attention_output_LayerNorm")
            y = nn.functional.gelu(self._linear(x, f"{name}intermediate_dense"))
            x = self._norm(x + self._linear(y, f"{name}output_dense"), f"{name}output_LayerNorm")
        return nn.functional.normalize(x.mean(1), dim=1)
