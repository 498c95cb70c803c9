# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How a model in vLLM is quantized: what its config.json and the heads of its files say."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from vllm.model_executor.layers.attention import Attention, MLAAttention
from vllm.model_executor.layers.fused_moe import RoutedExperts
from vllm.model_executor.layers.linear import LinearBase, UnquantizedLinearMethod
from vllm.model_executor.layers.quantization.base_config import (
    QuantizationConfig,
    QuantizeMethodBase,
)
from vllm.model_executor.layers.quantization.kv_cache import BaseKVCacheMethod
from vllm.model_executor.layers.vocab_parallel_embedding import ParallelLMHead
from vllm.transformers_utils.config import get_safetensors_params_metadata

from blockscale._errors import ArgumentError
from blockscale._forms import check_order
from blockscale.checkpoint._families import read_scheme
from blockscale.torch._checkpoint import check_transforms
from blockscale.vllm._experts import BlockScaleExpertsMethod
from blockscale.vllm._files import ORDER, WEIGHT_ONLY, Files, Options
from blockscale.vllm._linear import BlockScaleLinearMethod

#: What --quantization takes, and what quant_method is in checkpoints of this package.
NAME = "blockscale"
#: Values of quant_method in checkpoints of others that can be loaded.
METHODS = ("modelopt", "compressed-tensors", "mxfp4", "fp8", "fbgemm_fp8")
#: Those that are loaded without --quantization.
TAKEN: set[str] = set()
#: The variable of the environment that names others.
_TAKE_OVER = "BLOCKSCALE_VLLM_TAKE_OVER"
#: What vLLM calls methods where it has several for one.
_RENAMED = {"gpt_oss_mxfp4": "mxfp4", "compressed_tensors": "compressed-tensors"}


def get_method(members: Mapping[str, Any]) -> str:
    """quant_method as the files have it, whatever vLLM made of it."""
    method = str(members.get("quant_method", "")).lower()
    return "modelopt" if method.startswith("modelopt") else _RENAMED.get(method, method)


def _read_taken() -> set[str]:
    """Methods that the environment names.

    Raises: ArgumentError for others.
    """
    named = {each.strip() for each in os.environ.get(_TAKE_OVER, "").split(",")} - {""}
    for method in sorted(named - {"all", *METHODS}):
        raise ArgumentError(f"{_TAKE_OVER}: expected methods of {', '.join(METHODS)}, or all, but "
                            f"got {method!r}")
    return set(METHODS) if "all" in named else named


def _read_options() -> Options:
    """Raises: ArgumentError for values that mean nothing."""
    given = os.environ.get(WEIGHT_ONLY, "")
    if given not in ("", "0", "1"):
        raise ArgumentError(f"{WEIGHT_ONLY}: expected 0 or 1, but got {given!r}")
    order = os.environ.get(ORDER) or None
    try:
        check_order(order)
    except ArgumentError as error:
        raise ArgumentError(f"{ORDER}: {error}") from None
    return Options(None if given == "" else given == "1", order)


class BlockScaleConfig(QuantizationConfig):
    """Layers of a checkpoint whose weights stay quantized, and that compute by kernels of this
    package."""

    def __init__(self, members: Mapping[str, Any]):
        super().__init__()
        method = get_method(members)
        if method not in (NAME, *METHODS):
            raise ArgumentError(f"quantization_config: expected quant_method to be one of {NAME}, "
                                f"{', '.join(METHODS)}, but got {method!r}")
        self.options = _read_options()
        # Older files of ModelOpt have all of it in an object.
        is_old = method == "modelopt" and "quantization" in members
        self.scheme = (read_scheme({}, members) if is_old else
                       read_scheme({"quantization_config": {**members, "quant_method": method}},
                                   {}))
        check_transforms(self.scheme, ())
        self._files: Files | None = None

    @classmethod
    def get_name(cls) -> Any:
        return NAME

    def get_supported_act_dtypes(self) -> list[torch.dtype]:
        return [torch.bfloat16, torch.float16, torch.float32]

    @classmethod
    def get_min_capability(cls) -> int:
        return 80

    @staticmethod
    def get_config_filenames() -> list[str]:
        return ["hf_quant_config.json"]

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> BlockScaleConfig:
        return cls(config)

    @classmethod
    def override_quantization_method(cls, hf_quant_cfg: Any, user_quant: str | None,
                                     hf_config: Any = None) -> Any:
        """vLLM asks each quantization whether a checkpoint is its own: this one takes those of
        others where a user says so."""
        if not isinstance(hf_quant_cfg, dict):
            return None
        method = get_method(hf_quant_cfg)
        is_taken = user_quant is None and method in TAKEN | _read_taken()
        return NAME if user_quant == NAME or is_taken or method == NAME else None

    # What the files have.

    def maybe_update_config(self, model_name: str, hf_config: Any = None,
                            revision: str | None = None) -> None:
        """vLLM calls it in front of all else with the folder or the repository of the model."""
        stored = get_safetensors_params_metadata(model_name, revision=revision)
        if not stored:
            raise ArgumentError(f"expected files of safetensors in {model_name}, whose heads say "
                                "what is quantized, but got none")
        check_transforms(self.scheme, stored)
        self._files = Files(stored, self.scheme)

    @property
    def files(self) -> Files:
        if self._files is None:
            raise ArgumentError("expected a call of maybe_update_config() with a model in front of "
                                "its layers, as vLLM makes it, but got none")
        return self._files

    def apply_vllm_mapper(self, hf_to_vllm_mapper: Any) -> None:
        self.files.rename(hf_to_vllm_mapper.map_name)

    def get_quant_method(self, layer: torch.nn.Module, prefix: str) -> QuantizeMethodBase | None:
        """How a layer computes. What is no layer with a quantized weight is vLLM's own business:
        the KV cache, tables of embeddings, and layers that the checkpoint has plain weights of."""
        if isinstance(layer, (Attention, MLAAttention)):
            return BaseKVCacheMethod(self)
        if isinstance(layer, RoutedExperts):
            return BlockScaleExpertsMethod.find(layer, prefix, self.files, self.options)
        if isinstance(layer, (LinearBase, ParallelLMHead)):
            parts = self.files.find(prefix, self._split(prefix), layer.input_size)
            if parts is not None:
                return BlockScaleLinearMethod(prefix, parts, self.options)
            return UnquantizedLinearMethod() if isinstance(layer, LinearBase) else None
        return None

    def _split(self, prefix: str) -> Sequence[str]:
        """The names of the layers that one of vLLM stands for, as q_proj, k_proj and v_proj."""
        path, _, name = prefix.rpartition(".")
        names = self.packed_modules_mapping.get(name, [name])
        return [f"{path}.{each}" if path else each for each in names]
