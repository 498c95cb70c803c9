# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What transformers calls while it loads and saves a quantized model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from transformers.quantizers.base import HfQuantizer

from blockscale._errors import ArgumentError
from blockscale.torch._modules import QuantizedWeight
from blockscale.torch._quantize_model import quantize_
from blockscale.torch._sites import find_sites
from blockscale.transformers._config import OWN, BlockScaleConfig, check_family
from blockscale.transformers._load import (
    WEIGHTS,
    Hidden,
    describe_modelopt,
    install_weights,
    open_files,
    plain_tensors,
    read_encode_scales,
)
from blockscale.transformers._names import FileNames, Names
from blockscale.transformers._save import find_fused, list_weights, make_state


class BlockScaleQuantizer(HfQuantizer):
    """Quantized weights of files become modules of ours before transformers loads all else. What a
    policy quantizes is quantized when all is loaded."""

    def __init__(self, quantization_config: BlockScaleConfig, **kwargs: Any):
        super().__init__(quantization_config, **kwargs)
        # Older files of ModelOpt say in hf_quant_config.json alone how they are quantized.
        self.pre_quantized = quantization_config.policy is None
        self._devices: dict[str, Any] = {}
        self._model: Any = None
        self._hidden: Hidden | None = None
        self._encode_scales: Mapping[str, Tensor] = {}
        self.file_names: Any = None

    def validate_environment(self, device_map: Any = None, **kwargs: Any) -> None:
        """transformers calls it again when it has chosen devices for the modules of a model."""
        if not isinstance(device_map, dict):
            return
        kinds = {each if each == "disk" else torch.device(each).type
                 for each in device_map.values()}
        if "disk" in kinds or ("cpu" in kinds and len(kinds) > 1):
            raise ArgumentError("expected a device_map whose devices hold the whole model, since "
                                "quantized weights are not moved in and out, but got "
                                f"{', '.join(sorted(kinds))}; give max_memory or other devices")
        self._devices = device_map
        if self._model is not None:
            for name, module in list_weights(self._model).items():
                module.to(self._place(name))

    def _place(self, name: str) -> torch.device:
        """The device of what is under a name: that of the longest path in front of it."""
        found = max((path for path in self._devices
                     if not path or name == path or name.startswith(f"{path}.")),
                    key=len, default=None)
        return torch.device("cpu" if found is None else self._devices[found])

    def _process_model_before_weight_loading(self, model: Any, device_map: Any = None,
                                             checkpoint_files: Any = None, **kwargs: Any) -> Any:
        if not self.pre_quantized:
            return model
        config = self.quantization_config
        names = Names(model)
        files = open_files(checkpoint_files, config.members, names)
        if not config.members:
            config.members = describe_modelopt(files.checkpoint.quantization)
        with plain_tensors():
            install_weights(model, files, names, weight_only=config.weight_only,
                            order=config.order, place=self._place)
            self._encode_scales = read_encode_scales(files)
        self._hidden = Hidden(model, files, names)
        self._model = model
        return model

    def _process_model_after_weight_loading(self, model: Any, **kwargs: Any) -> Any:
        config = self.quantization_config
        if self._hidden is not None:
            self._hidden.show()
            self._hidden = self._model = None
        if config.policy is not None:
            joint = [] if config.family == OWN else list_fused(model)
            quantize_(model, config.policy, amaxes=config.amaxes, order=config.order, joint=joint)
        self.adopt(model, FileNames(model))
        if config.policy is not None:
            config.members = self.make_state(model, config.family)[1]
        return model

    def adopt(self, model: Any, names: FileNames) -> None:
        """Gives a model what it has beside those of other quantizers."""
        weights = list_weights(model)
        stacks = {name.rpartition(".")[2] for name, module in weights.items() if module.is_stack}
        self.file_names = names
        model._weight_conversions = names.list_conversions(stacks)
        model.resize_token_embeddings = _Resize(model)
        for module in weights.values():
            # Modules that others moved are brought into the order of their device.
            module.to(module.data.device)

    def make_state(self, model: Any, family: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """The tensors of a model and quantization_config, as a family has them."""
        config = self.quantization_config
        members = config.members if family == config.family_of_members else None
        return make_state(model, family, self.file_names, self._encode_scales, members)

    def get_state_dict_and_metadata(self, model: Any) -> tuple[dict[str, Tensor], dict[str, str]]:
        config = self.quantization_config
        state, members = self.make_state(model, config.family)
        config.members = members
        return state, {}

    def is_serializable(self) -> bool:
        return True

    @property
    def is_trainable(self) -> bool:
        """Adapters over quantized weights have gradients, and so has what is plain."""
        return True

    @property
    def is_qat_trainable(self) -> bool:
        """A Trainer takes a model without adapters, too: to evaluate it, or to train what is
        plain."""
        return True

    @property
    def is_compileable(self) -> bool:
        return True


class _Resize:
    """resize_token_embeddings() of a model, which leaves the model as it is where its head has
    codes."""

    def __init__(self, model: Any):
        self._model = model

    def __call__(self, new_num_tokens: int | None = None, pad_to_multiple_of: int | None = None,
                 *args: Any, **kwargs: Any) -> Any:
        model = self._model
        is_asked = new_num_tokens is not None or pad_to_multiple_of is not None
        tables = {"head": model.get_output_embeddings(), "embedding": model.get_input_embeddings()}
        for what, module in tables.items():
            if is_asked and isinstance(module, WEIGHTS):
                format = (module.form.weight.format if isinstance(module, QuantizedWeight)
                          else module.layout.name)
                raise ArgumentError(
                    f"expected a plain {what} to give it another number of tokens, but got one in "
                    f"{format}, whose rows are codes; resize the plain model, "
                    "and quantize that")
        return type(model).resize_token_embeddings(model, new_num_tokens, pad_to_multiple_of, *args,
                                                   **kwargs)


def list_fused(model: Any) -> list[list[str]]:
    """The names of linear layers of a model of transformers that loaders make one of, as of q, k
    and v: what `joint` of quantize_() takes for a checkpoint of ModelOpt's or compressed-tensors'
    family."""
    if not hasattr(model, "base_model_prefix"):
        raise ArgumentError("expected a model of transformers, but got "
                            f"{type(model).__name__}")
    layers = [site.name for site in find_sites(model) if not site.is_stack]
    return find_fused(model, FileNames(model), layers)


def set_family(model: Any, family: str) -> None:
    """Chooses the family of checkpoints in which save_pretrained() writes a quantized model, and
    has its config say how it is quantized. Models of from_pretrained() have that of their
    checkpoint; one that quantize_() made has none before this.

    Args:
      family: "blockscale" (all that quantize_ makes, for this package), "modelopt" (NVFP4 and
        MXFP8), "compressed-tensors" (NVFP4, MXFP4 and MXFP8) or "gpt-oss" (experts in MXFP4).

    Raises: ArgumentError for a layer that the family has no place for. The model is as it was then.
    """
    check_family(family)
    if not hasattr(model, "save_pretrained") or not list_weights(model):
        raise ArgumentError("expected a model of transformers with quantized layers, but got "
                            f"{type(model).__name__}")
    quantizer = getattr(model, "hf_quantizer", None)
    if quantizer is None:
        names = FileNames(model)
        members = make_state(model, family, names, {})[1]
        quantizer = BlockScaleQuantizer(BlockScaleConfig(family=family, members=members))
        quantizer.adopt(model, names)
        model.hf_quantizer, model.is_quantized = quantizer, True
    elif isinstance(quantizer, BlockScaleQuantizer):
        members = quantizer.make_state(model, family)[1]
    else:
        raise ArgumentError("expected a model that BlockScale quantized, but got one of "
                            f"{type(quantizer).__name__}")
    config = quantizer.quantization_config
    config.choose(family, members)
    model.quantization_method = config.quant_method
    model.config.quantization_config = config
