# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of vLLM with quantized weights, loaded by its own loader, beside those that
blockscale.transformers makes of the same files."""

import json
import sys
import tempfile
from pathlib import Path

from vllm_stubs import DEVICE

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "Transformers"))

import torch
from vllm.config import DeviceConfig, LoadConfig, ModelConfig, VllmConfig, set_current_vllm_config
from vllm.distributed import (
    destroy_model_parallel,
    init_distributed_environment,
    initialize_model_parallel,
)
from vllm.model_executor.layers.fused_moe import RoutedExperts
from vllm.model_executor.layers.linear import LinearBase
from vllm.model_executor.model_loader import get_model_loader

import blockscale.vllm
import families
from blockscale.vllm._linear import MODULES


class Models:
    """Where models are loaded: a process with one rank, on the device DEVICE."""

    def __init__(self):
        blockscale.vllm.register()

    def configure(self, folder, **options):
        model = ModelConfig(model=str(folder), skip_tokenizer_init=True, max_model_len=64,
                            **{"dtype": "bfloat16", "quantization": "blockscale",
                               "enforce_eager": True, **options})
        return VllmConfig(model_config=model, device_config=DeviceConfig(DEVICE),
                          load_config=LoadConfig(use_tqdm_on_load=False))

    def load(self, folder, **options):
        """What `vllm serve FOLDER --quantization blockscale` loads."""
        config = self.configure(folder, **options)
        with set_current_vllm_config(config):
            if not torch.distributed.is_initialized():
                file = tempfile.NamedTemporaryFile()  # noqa: SIM115
                init_distributed_environment(1, 0, f"file://{file.name}.init", 0, "gloo")
            # Groups of experts are there for models that have these.
            destroy_model_parallel()
            initialize_model_parallel(1, 1)
            loader = get_model_loader(config.load_config)
            return loader.load_model(vllm_config=config, model_config=config.model_config)


def load_by_transformers(folder):
    with families.taken_over():
        return families.load(folder).to(DEVICE)


def make_rows(cols, rows=5):
    torch.manual_seed(3)
    return torch.randn(rows, cols).bfloat16().to(DEVICE)


def list_parts(model, prefix):
    """The layers of a model of transformers that one of vLLM stands for."""
    path, _, name = prefix.rpartition(".")
    names = {"qkv_proj": ["q_proj", "k_proj", "v_proj"],
             "gate_up_proj": ["gate_proj", "up_proj"],
             "fused_qkv_a_proj": ["q_a_proj", "kv_a_proj_with_mqa"]}.get(name, [name])
    owner = model.get_submodule(path)
    return ([getattr(owner, name)] if hasattr(owner, name) else
            [getattr(owner, each) for each in names])


def get_ratio(found, expected):
    """How far results are off, in relation to their size."""
    return ((found.float() - expected.float()).norm() / expected.float().norm()).item()


def compare_layers(model, door):
    """The names of quantized linear layers, and how far their results are off those of the layers
    of the other model, by name."""
    names, ratios = [], {}
    for layer in model.modules():
        if isinstance(layer, LinearBase) and hasattr(layer, MODULES):
            x = make_rows(layer.input_size)
            with torch.no_grad():
                found = layer.quant_method.apply(layer, x, layer.bias)
                expected = torch.cat([each(x) for each in list_parts(door, layer.prefix)], -1)
            names.append(layer.prefix)
            ratios[layer.prefix] = get_ratio(found, expected)
    return names, ratios


def list_experts(model):
    return [each for each in model.modules() if isinstance(each, RoutedExperts)]


def compare_experts(layer, door):
    """How far the results of experts are off those of the experts of the other model, in relation
    to their size: the op of the activation is vLLM's."""
    x, moe = make_rows(layer.hidden_size), layer.moe_config
    torch.manual_seed(4)
    weights, numbers = torch.softmax(torch.randn(len(x), moe.num_experts), -1).topk(
        moe.experts_per_token)
    weights, numbers = weights.to(DEVICE), numbers.to(DEVICE, torch.int32)
    # Models of transformers may call them otherwise.
    name = layer.layer_name.replace("block_sparse_moe", "mlp")
    with torch.no_grad():
        found = layer.forward_modular(x, weights, numbers)
        expected = door.get_submodule(name)(x, numbers.long(), weights)
    return get_ratio(found, expected)


def read_config(folder, **members):
    """The configuration of a checkpoint for single layers, with other members than it has."""
    found = json.loads((Path(folder) / "config.json").read_text())["quantization_config"]
    config = blockscale.vllm.BlockScaleConfig({**found, **members})
    config.maybe_update_config(str(folder))
    config.packed_modules_mapping = {"qkv_proj": ["q_proj", "k_proj", "v_proj"],
                                     "gate_up_proj": ["gate_proj", "up_proj"]}
    return config


def load_layer(layer, tensors, parts):
    """Loads the tensors of files into a layer as models of vLLM do. `parts` are the names of its
    layers in the files, with what vLLM calls them."""
    params = dict(layer.named_parameters())
    for path, part in parts.items():
        for name, tensor in tensors.items():
            param = params.get(name.removeprefix(f"{path}."))
            if name.startswith(f"{path}.") and param is not None:
                param.weight_loader(param, tensor, *(() if part is None else (part,)))
    layer.quant_method.process_weights_after_loading(layer)
    return layer
