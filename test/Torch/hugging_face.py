# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models of Hugging Face with random weights, their inputs and their programs. Needs
transformers."""

from __future__ import annotations

import dataclasses
import logging
import operator
import warnings
from typing import Any

import torch
import transformers
from torch.utils import _pytree as pytree

WORDS = 64
IMAGE = 32
# What transformers tells of small configurations.
logging.getLogger("transformers").setLevel(logging.ERROR)
warnings.filterwarnings("ignore", category=FutureWarning, module="copyreg")

_DECODER = dict(vocab_size=WORDS, hidden_size=64, num_attention_heads=4, num_key_value_heads=2,
                max_position_embeddings=64)
_MODELS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "bert": ("BertConfig", "BertModel", dict(
        vocab_size=WORDS, hidden_size=64, intermediate_size=128, num_attention_heads=4,
        max_position_embeddings=64)),
    "llama": ("LlamaConfig", "LlamaForCausalLM", dict(_DECODER, intermediate_size=128)),
    "qwen2": ("Qwen2Config", "Qwen2ForCausalLM", dict(_DECODER, intermediate_size=128)),
    "qwen3": ("Qwen3Config", "Qwen3ForCausalLM", dict(_DECODER, intermediate_size=128,
                                                      head_dim=16)),
    "gpt_oss": ("GptOssConfig", "GptOssForCausalLM", dict(
        _DECODER, intermediate_size=64, head_dim=16, num_local_experts=4, num_experts_per_tok=2,
        sliding_window=4)),
    "mixtral": ("MixtralConfig", "MixtralForCausalLM", dict(
        _DECODER, intermediate_size=64, num_local_experts=4, num_experts_per_tok=2)),
    "vit": ("ViTConfig", "ViTModel", dict(
        hidden_size=64, intermediate_size=128, num_attention_heads=4, image_size=IMAGE,
        patch_size=8)),
    # The encoder alone, which begins with convolutions of sound.
    "whisper": ("WhisperConfig", "models.whisper.modeling_whisper.WhisperEncoder", dict(
        vocab_size=WORDS, d_model=64, encoder_attention_heads=4, encoder_ffn_dim=128,
        num_mel_bins=16, max_source_positions=20, pad_token_id=0, bos_token_id=1, eos_token_id=2,
        decoder_start_token_id=1, init_std=0.125)),
    "t5": ("T5Config", "T5EncoderModel", dict(
        vocab_size=WORDS, d_model=64, d_kv=16, d_ff=128, num_heads=4)),
}


_OF_NO_TOKENS = ("vit", "whisper")


@dataclasses.dataclass(frozen=True)
class Form:
    """A model as it is exported.

    Attributes:
      name: of _MODELS.
      is_dynamic: in its batch and number of tokens.
      inputs: what a caller passes besides tokens or pixels: "mask" and "positions".
      options: what is set of the model: "attention" and "experts".
    """

    name: str
    is_dynamic: bool = False
    inputs: tuple[str, ...] = ("mask",)
    dtype: torch.dtype = torch.float32
    options: tuple[tuple[str, str], ...] = ()
    layers: int = 2

    def __str__(self) -> str:
        parts = [self.name, *(["dynamic"] if self.is_dynamic else []), *(
            self.inputs if self.name not in _OF_NO_TOKENS else []), *(
            value for _, value in self.options)]
        return ", ".join([*parts, str(self.dtype).removeprefix("torch.")])


def make_model(form: Form) -> Any:
    config, model, sizes = _MODELS[form.name]
    count = {"t5": "num_layers", "whisper": "encoder_layers"}.get(form.name, "num_hidden_layers")
    torch.manual_seed(0)
    # Weights of the default's size would leave each token nearly as its embedding.
    made = operator.attrgetter(model)(transformers)(getattr(transformers, config)(
        **sizes, **{count: form.layers}, initializer_range=0.125))
    options = dict(form.options)
    if "attention" in options:
        made.set_attn_implementation(options["attention"])
    if "experts" in options:
        made.set_experts_implementation(options["experts"])
    made.requires_grad_(False)
    for parameter in made.parameters():
        if parameter.dim() == 1:
            # Norms would multiply by 1, and biases add 0.
            parameter += 0.2 * torch.randn(parameter.shape)
    return made.to(form.dtype).eval()


def make_inputs(form: Form, batch: int = 2, tokens: int = 9) -> dict[str, Any]:
    """Arguments by name. The first sequence has padding at its end."""
    generator = torch.Generator().manual_seed(100 * batch + tokens)
    if form.name == "vit":
        pixels = torch.randn(batch, 3, IMAGE, IMAGE, generator=generator)
        return {"pixel_values": pixels.to(form.dtype)}
    if form.name == "whisper":
        return {"input_features": torch.randn(batch, 16, 40, generator=generator).to(form.dtype)}
    given: dict[str, Any] = {
        "input_ids": torch.randint(0, WORDS, (batch, tokens), generator=generator)}
    if "mask" in form.inputs:
        given["attention_mask"] = torch.ones(batch, tokens, dtype=torch.int64)
        given["attention_mask"][0, tokens - tokens // 3:] = 0
    if "positions" in form.inputs:
        given["position_ids"] = torch.arange(tokens).expand(batch, -1) + 7
    if form.name not in ("bert", "t5"):
        given["use_cache"] = False
    return given


def export(model: Any, form: Form) -> torch.export.ExportedProgram:
    given, shapes = make_inputs(form), None
    if form.is_dynamic:
        size = torch.export.Dim.AUTO
        shapes = {name: None if not isinstance(value, torch.Tensor) else {0: size} if
                  name in ("pixel_values", "input_features") else {0: size, 1: size}
                  for name, value in given.items()}
    return torch.export.export(model, (), given, dynamic_shapes=shapes)


def get_tensors(results: Any) -> list[torch.Tensor]:
    return [each for each in pytree.tree_leaves(results) if isinstance(each, torch.Tensor)]


def get_error(found: Any, wanted: Any) -> float:
    """The largest difference of results, relative to the largest value of its tensor."""
    error = 0.0
    for one, other in zip(get_tensors(found), get_tensors(wanted), strict=True):
        if (one.dtype, one.shape) != (other.dtype, other.shape):
            raise AssertionError(f"expected {other.dtype} {tuple(other.shape)}, but got "
                                 f"{one.dtype} {tuple(one.shape)}")
        one, other = one.double(), other.double()
        # A NaN is not below any bound.
        difference = ((one - other).abs().max() / other.abs().max()).item()
        error = difference if difference != difference else max(error, difference)
    return error
