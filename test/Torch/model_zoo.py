# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small model of each type that the installed transformers has: its own default configuration,
with sizes scaled down, and random weights of which some channels lie far out, as those of trained
models do. Needs transformers."""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import torch
import transformers
from torch import nn
from transformers.models.auto import configuration_auto, modeling_auto

#: Which model of a type is taken: the first of these tables that has one.
_TABLES = ("MODEL_FOR_CAUSAL_LM_MAPPING_NAMES", "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES",
           "MODEL_FOR_MASKED_LM_MAPPING_NAMES", "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES",
           "MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES",
           "MODEL_FOR_AUDIO_CLASSIFICATION_MAPPING_NAMES", "MODEL_MAPPING_NAMES")
TOKENS, BATCH, WORDS = 9, 2, 160
#: The largest number of elements of a model: one whose sizes have names that are not known here
#: would take long.
_MOST_ELEMENTS = 3_000_000
#: What a model takes: the first of these.
_FIRST = ("input_ids", "pixel_values", "input_features", "input_values")
#: Sizes by the names that configurations give them; the first pattern that matches counts.
_SIZES: tuple[tuple[str, int], ...] = (
    (r".*vocab_size", WORDS),
    ((r"(num_|n_)?(hidden_layers|encoder_layers|decoder_layers|layers?)|encoder_layers"
      r"|decoder_layers|num_(encoder|decoder)_layers|depth|num_hidden_groups"), 2),
    (r"(num_|n_)?key_value_heads|num_kv_heads|.*num_key_value_heads", 2),
    ((r"(num_|n_)?(attention_)?heads?|(encoder|decoder)_attention_heads|num_attention_heads|n_heads"
      r"|(encoder|decoder)_num_attention_heads|.*_num_(value|key)_heads"), 4),
    ((r"head_dim|attention_head_dim|d_kv|kv_channels|v_head_dim|qk_nope_head_dim"
      r"|linear_(key|value)_head_dim"), 16),
    (r"qk_rope_head_dim|rotary_dim|rope_dim", 8),
    (r".*lora_rank", 32),
    ((r"hidden_size|d_model|n_embd|embed_dim|hidden_dim|dim|embedding_size|embedding_dim"
      r"|projection_dim|.*_hidden_size|output_dim|.*_embed_dim|n_embed|model_dim"), 64),
    ((r".*intermediate_size|.*ffn_dim|d_ff|n_inner|ffn_hidden_size|feed_forward_proj_dim"
      r"|intermediate_dim|.*mlp_dim|ff_dim"), 128),
    (r"(num_|n_)?(local_|routed_)?experts|num_experts|moe_num_experts", 4),
    (r".*(experts_per_tok|top_k|experts_per_token)", 2),
    (r"n_group|topk_group|num_expert_group", 1),
    ((r"max_position_embeddings|n_positions|max_(source|target)_positions|n_ctx"
      r"|max_sequence_length|max_seq_len"), 128),
    (r"image_size", 32), (r"patch_size", 8),
)


def _get_size(name: str, value: int) -> int:
    for pattern, size in _SIZES:
        if re.fullmatch(pattern, name):
            return min(size, value) if value > 0 else value
    return value


def shrink(config: Any) -> Any:
    """Scales the sizes of a configuration down, and those of configurations in it. A list that
    says something of each layer keeps as many entries as there are layers."""
    layers = None
    for name, value in list(vars(config).items()):
        if isinstance(value, transformers.PretrainedConfig):
            shrink(value)
        elif isinstance(value, int) and not isinstance(value, bool) and not name.startswith("_"):
            size = _get_size(name, value)
            if size != value:
                setattr(config, name, size)
                if re.fullmatch(r"(num_)?hidden_layers|n_layers?|num_layers", name):
                    layers = value
    if layers is not None:
        for name, value in list(vars(config).items()):
            if isinstance(value, (list, tuple)) and len(value) == layers:
                setattr(config, name, type(value)(value[:2]))
    for name in ("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id"):
        value = getattr(config, name, None)
        if isinstance(value, int) and value >= WORDS:
            setattr(config, name, 1)
    return config


def find_type(name: str) -> tuple[type, type] | None:
    """Configuration and model of a type, or None where no table has it."""
    for table in _TABLES:
        found = getattr(modeling_auto, table, {}).get(name)
        found = found if isinstance(found, (str, type(None))) else found[0]
        config = getattr(transformers, configuration_auto.CONFIG_MAPPING_NAMES[name], None)
        model = getattr(transformers, found, None) if found else None
        if config is not None and inspect.isclass(model):
            return config, model
    return None


def list_types() -> Iterator[str]:
    """The types that find_type knows, by name."""
    for name in sorted(configuration_auto.CONFIG_MAPPING_NAMES):
        if find_type(name) is not None:
            yield name


def _spread(model: nn.Module, generator: torch.Generator) -> None:
    """Random numbers for all parameters. One channel in 16 of each matrix is 8 times as large."""
    for parameter in model.parameters():
        if not parameter.is_floating_point():
            continue
        if parameter.dim() < 2:
            # Norms would multiply by 1, and biases add 0.
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
            continue
        columns = parameter.shape[-1]
        parameter.copy_(torch.randn(parameter.shape, generator=generator) / columns ** 0.5)
        far = torch.rand(columns, generator=generator) < 1 / 16
        parameter.mul_(torch.where(far, 8.0, 1.0))


def make_model(config: type, model: type, dtype: torch.dtype = torch.bfloat16,
               **changes: Any) -> nn.Module:
    """A small model, whose configuration has the changes; raises whatever its class raises of such
    sizes."""
    small = shrink(config(**changes))
    for name, value in changes.items():
        setattr(small, name, value)
    with torch.device("meta"):
        elements = sum(each.numel() for each in model(copy.deepcopy(small)).parameters())
    if elements > _MOST_ELEMENTS:
        raise ValueError(f"expected at most {_MOST_ELEMENTS} elements, but got {elements}")
    torch.manual_seed(0)
    made = model(small).requires_grad_(False)
    with torch.no_grad():
        _spread(made, torch.Generator().manual_seed(0))
    return made.to(dtype).eval()


def _make(name: str, config: Any, dtype: torch.dtype, generator: torch.Generator) -> Any:
    if name in ("input_ids", "decoder_input_ids"):
        return torch.randint(3, 100, (BATCH, TOKENS), generator=generator)
    if name == "pixel_values":
        return torch.randn(BATCH, getattr(config, "num_channels", 3), 32, 32,
                           generator=generator).to(dtype)
    if name == "input_features":
        bins, frames = config.num_mel_bins, 2 * config.max_source_positions
        return torch.randn(BATCH, bins, frames, generator=generator).to(dtype)
    if name == "input_values":
        return torch.randn(BATCH, 800, generator=generator).to(dtype)
    return {"use_cache": False}.get(name)


def find_inputs(model: Any, dtype: torch.dtype = torch.bfloat16) -> dict[str, Any]:
    """Arguments for a model's forward: tokens where it takes some, else pixels or sound."""
    generator = torch.Generator().manual_seed(1)
    takes = inspect.signature(model.forward).parameters
    first = next((each for each in _FIRST if each in takes), None)
    if first is None:
        raise ValueError(f"expected a model of tokens, pixels or sound, but got "
                         f"{sorted(takes)[:4]}")
    names = [first]
    if getattr(model.config, "is_encoder_decoder", False) and "decoder_input_ids" in takes:
        names.append("decoder_input_ids")
    if "use_cache" in takes:
        names.append("use_cache")
    given = {name: _make(name, model.config, dtype, generator) for name in names}
    if "use_cache" in given:
        given["use_cache"] = False
    return given


def call(model: Callable[..., Any], given: dict[str, Any]) -> torch.Tensor:
    """The first tensor of a model's results. Some models draw numbers when they are called, which
    are the same ones each time."""
    torch.manual_seed(0)
    with torch.no_grad():
        result = model(**given)
    for each in (result.values() if hasattr(result, "values") else result):
        if isinstance(each, torch.Tensor):
            return each
    raise ValueError("expected a tensor among the results, but got none")
