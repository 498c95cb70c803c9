# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""BERT of Hugging Face with sentence vectors behind it, and all-MiniLM-L6-v2 as one."""

import sys
from pathlib import Path

import torch
from transformers import BertConfig, BertModel

ROOT = Path(__file__).resolve().parents[2]
#: What examples/minilm's configuration says of the model's sizes.
SIZES = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
         "vocab_size", "max_position_embeddings", "layer_norm_eps")


class Sentences(torch.nn.Module):
    """Sentence vectors, as sentence-transformers computes them."""

    def __init__(self, sizes):
        super().__init__()
        config = BertConfig(**sizes)
        config._attn_implementation = "eager"
        self.bert = BertModel(config)

    def forward(self, input_ids, attention_mask):
        """Tokens and what is 1 for each of them and 0 for padding, both [N, T] of int64, to
        vectors [N, H] of norm 1."""
        hidden = self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        weight = attention_mask.unsqueeze(-1).to(hidden.dtype)
        mean = (hidden * weight).sum(1) / weight.sum(1).clamp(min=1e-9)
        return torch.nn.functional.normalize(mean, dim=1)


def load(cache):
    """MiniLM with its own weights from the folder `cache`, and the tokens of each sentence of
    examples/minilm."""
    sys.path[:0] = [str(ROOT / "examples/minilm"), str(ROOT / "python")]
    import weights
    from main import SENTENCES
    from tokenizer import Tokenizer

    read = weights.load(cache)
    model = Sentences({key: read.config[key] for key in SIZES}).eval()
    missing = model.bert.load_state_dict({name: torch.tensor(array) for name, array
                                          in read.tensors.items()}, strict=False)
    if any("position_ids" not in name for name in [*missing.missing_keys,
                                                   *missing.unexpected_keys]):
        raise SystemExit(f"expected the weights of the model, but got {missing}")
    tokens = Tokenizer(read.vocabulary)
    return model, [tokens.encode(sentence) for sentence in SENTENCES]
