# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of all classes of transformers on the meta device, where tensors have no memory: each by
its default configuration, with values for what that leaves open, and by configurations with one
member changed."""

import contextlib
import copy
import importlib
import pkgutil
import re
import signal
import sys

import torch
import transformers
from transformers import initialization

LABELS = 37  # a number of rows that no other layer has
SECONDS = 60  # of one build
#: What configurations leave open, by which a model can be built nevertheless.
OPEN = {"head_dim": 64, "vocab_size": 128, "n_routed_experts": 8, "num_key_value_heads": 8,
        "n_shared_experts": 1, "prediction_length": 24, "is_decoder": True, "n_group": 1,
        "topk_group": 1, "num_experts_per_tok": 2, "shared_expert_intermediate_size": 64,
        "hidden_size_per_layer_input": 64, "mask_token_id": 1, "moe_intermediate_size": 64,
        "out_indices": [0, 1, 2, 3], "linear_num_key_heads": 8, "linear_num_value_heads": 8}
ROPE = {"rope_type": "default", "rope_theta": 10000.0}
#: By the folder of a model: what its default configuration leaves open or has wrong.
REPAIRS = {
    "autoformer": {"context_length": 24, "feature_size": 8},
    "aya_vision": {"vision_config.num_attention_heads": 16},
    "beit": {"out_indices": [3, 5, 7, 11]},
    "bridgetower": {"contrastive_hidden_size": 64, "logit_scale_init_value": 1.0},
    "chameleon": {"vocabulary_map": {"<image>": 1}},
    "cohere_compass": {"text_config.rope_parameters": {"full_attention": ROPE,
                                                       "sliding_attention": ROPE},
                       "rope_parameters": {"full_attention": ROPE, "sliding_attention": ROPE}},
    "dbrx": {"attn_config.rope_theta": 10000.0},
    "deepseek_ocr2": {"text_config.mlp_layer_types": ["dense"] + ["sparse"] * 99,
                      "mlp_layer_types": ["dense"] + ["sparse"] * 99},
    "diffusion_gemma": {"text_config.num_experts": 4, "text_config.top_k_experts": 2,
                        "text_config.moe_intermediate_size": 64, "num_experts": 4,
                        "top_k_experts": 2, "moe_intermediate_size": 64},
    "emu3": {"vocabulary_map": {"<image>": 1}},
    "granite4_vision": {"deepstack_layer_map": [[0, 0]], "spatial_layer_map": [[0, 0]],
                        "spatial_target_layers": [0], "downsample_rate": "4/8"},
    "informer": {"context_length": 24, "feature_size": 8},
    "lfm2_moe": {"layer_types": ["full_attention", "conv"] * 99},
    "moonshine_streaming": {"num_key_value_heads": 8},
    "moshi": {"audio_vocab_size": 64},
    "qwen3_omni_moe": {"talker_config.text_config.shared_expert_intermediate_size": 64,
                       "talker_config.spatial_merge_size": 2, "spatial_merge_size": 2,
                       "text_config.shared_expert_intermediate_size": 64,
                       "shared_expert_intermediate_size": 64},
    "qwen4_exp": {path + name: value for path in ("", "text_config.") for name, value in (
        ("indexer_budget", 64), ("indexer_compress_ratio", 4), ("indexer_n_heads", 4),
        ("indexer_kv_heads", 1), ("indexer_head_dim", 64), ("ple_embed_dim", 64))},
    "time_series_transformer": {"context_length": 24, "feature_size": 8},
}
#: Members of configurations that are no switches of layers: their names have these words.
NO_SWITCH = re.compile(r"bias|cache|dropout|scale|tie_|return_|output_|norm_topk|is_|chunk|apodize|"
                       r"mask_|ignore|normalize|reinit|gradient|verbose|rope")
#: Further values of members, which change the layers of a model.
VALUES = {"q_lora_rank": (None, 16), "feed_forward_proj": ("gated-gelu", "relu"),
          "mlp_only_layers": ([0],), "num_experts": (4,), "num_local_experts": (4,),
          "n_shared_experts": (1,), "first_k_dense_replace": (1,),
          "position_embedding_type": ("relative_key",), "hidden_act": ("swiglu",),
          "embedding_size": (16,), "word_embed_proj_dim": (16,), "moe_num_experts": (4,)}


class Timeout(Exception):
    """A build that takes too long."""


def raise_timeout(*_):
    raise Timeout(f"no end after {SECONDS} s")


def find_classes(only=""):
    """Classes of models by name, those that transformers shows, in the folder of each."""
    found = {}
    folder = importlib.import_module("transformers.models")
    for package in sorted(each.name for each in pkgutil.iter_modules(folder.__path__)):
        if only not in package:
            continue
        inside = importlib.import_module(f"transformers.models.{package}")
        for module in sorted(each.name for each in pkgutil.iter_modules(inside.__path__)):
            if not module.startswith("modeling_"):
                continue
            try:
                code = importlib.import_module(f"transformers.models.{package}.{module}")
            except (ImportError, RuntimeError) as error:
                print(f"{package}: {error}", file=sys.stderr)
                continue
            for name in sorted(vars(code)):
                each = getattr(code, name)
                if (isinstance(each, type) and issubclass(each, transformers.PreTrainedModel)
                        and each.__module__ == code.__name__ and each.config_class is not None
                        and hasattr(transformers, name)
                        and not name.endswith("PreTrainedModel")):
                    found[name] = each
    return found


def list_configs(config):
    """A configuration and those inside it, with the way to each."""
    yield (), config
    for name, each in sorted(vars(config).items()):
        if isinstance(each, transformers.PreTrainedConfig):
            yield from (((name, *way), inner) for way, inner in list_configs(each))


def fill(config):
    """Gives values to members that are open."""
    for _, each in list_configs(config):
        for name, value in OPEN.items():
            if hasattr(each, name) and getattr(each, name) is None:
                with contextlib.suppress(Exception):
                    setattr(each, name, value)
    return config


def repair(model_class, config):
    """Sets what a model needs and its default configuration does not have."""
    for path, value in REPAIRS.get(model_class.__module__.split(".")[-2], {}).items():
        *way, last = path.split(".")
        with contextlib.suppress(Exception):
            target = config
            for step in way:
                target = getattr(target, step)
            setattr(target, last, value)
    return config


def make_config(model_class, labels=LABELS):
    config = model_class.config_class()
    if labels:
        with contextlib.suppress(Exception):
            config.num_labels = labels
    return config


def build(model_class, config):
    """A model without memory."""
    signal.signal(signal.SIGALRM, raise_timeout)
    signal.alarm(SECONDS)
    try:
        with torch.device("meta"), initialization.no_init_weights():
            return model_class(config)
    finally:
        signal.alarm(0)


def build_default(model_class):
    """A model by the default configuration, and that configuration; with values for what that
    leaves open where it cannot be built else."""
    ways = (lambda: make_config(model_class), lambda: make_config(model_class, 0),
            lambda: repair(model_class, make_config(model_class)),
            lambda: fill(make_config(model_class)),
            lambda: repair(model_class, fill(make_config(model_class))))
    reason = None
    for way in ways:
        try:
            config = way()
            return build(model_class, copy.deepcopy(config)), config
        except Exception as error:  # pylint: disable=broad-except
            reason = error
    raise reason


def list_variants(config):
    """Configurations with one member changed."""
    common = set(transformers.PreTrainedConfig().to_dict())
    for way, inner in list_configs(config):
        for name, value in sorted(vars(inner).items()):
            values = VALUES.get(name, ())
            if isinstance(value, bool) and name not in common and not NO_SWITCH.search(name):
                values = (not value,)
            for other in values:
                if other == value:
                    continue
                variant = copy.deepcopy(config)
                target = variant
                for step in way:
                    target = getattr(target, step)
                with contextlib.suppress(Exception):
                    setattr(target, name, other)
                    yield variant
