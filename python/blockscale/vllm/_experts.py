# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Experts of vLLM with quantized weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from vllm.config import get_current_vllm_config_or_none
from vllm.model_executor.layers.fused_moe import FusedMoEConfig, FusedMoEMethodBase
from vllm.model_executor.layers.fused_moe.activation import (
    ApplyMoEActivationConfig,
    apply_moe_activation,
)
from vllm.model_executor.layers.fused_moe.config import FusedMoEQuantConfig
from vllm.model_executor.utils import set_weight_attrs

from blockscale._errors import ArgumentError
from blockscale.checkpoint._layouts import (
    DATA,
    FP8_BLOCK,
    FP8_BLOCKS,
    FP8_CHANNEL,
    FP8_TENSOR,
    GLOBAL,
    INPUT,
    SCALES,
    Layout,
)
from blockscale.torch._checkpoint import (
    check_codes,
    check_expert,
    find_form,
    fit_form,
    get_decode_scale,
)
from blockscale.torch._fp8 import Fp8Stack, check_fp8, check_fp8_options
from blockscale.torch._modules import QuantizedStack, run_experts
from blockscale.vllm._files import VARIABLES, Files, Options, Part, Slot
from blockscale.vllm._linear import check_device
from blockscale.vllm._parameters import take

#: vLLM's names of the stacks of all experts, and of the layers in each expert.
_STACKS = {"w13": ("w1", "w3"), "w2": ("w2",)}


class _Loader:
    """Loads a tensor of an expert by the loader of vLLM, which cuts it for tensor parallelism, when
    its dtype and its shape are right. Scalars become decode scales here, on the device of the file,
    where no GPU is waited for.

    Attributes:
      loaded: the numbers of experts and the layers in them that there were tensors for.
    """

    def __init__(self, layer: Any, stack: str, slot: Slot, layout: Layout,
                 load: Callable[..., Any]):
        self._layer, self._slot, self._layout, self._load = layer, slot, layout, load
        self._shards = _STACKS[stack]
        self.loaded: set[tuple[int, str]] = set()

    def __call__(self, param: Any, loaded_weight: Tensor, weight_name: str, shard_id: str,
                 expert_id: int, return_success: bool = False) -> bool | None:
        slot, moe = self._slot, self._layer.moe_config
        name = f"{weight_name}' of expert {expert_id}, '{shard_id}"
        sizes = moe.intermediate_size, moe.hidden_dim
        slot.check(name, loaded_weight, *(sizes if shard_id != "w2" else sizes[::-1]))
        is_local = self._layer._map_global_expert_id_to_local_expert_id(expert_id) >= 0
        if slot.is_scalar:
            value = loaded_weight.reshape(())
            if _is_decoded(self._layout, slot):
                value = get_decode_scale(name, value, self._layout.is_reciprocal)
            param.data[expert_id, self._shards.index(shard_id)] = value
        else:
            self._load(param, loaded_weight, weight_name, shard_id, expert_id)
        self.loaded.add((expert_id, shard_id))
        return is_local if return_success else None


def _is_decoded(layout: Layout, slot: Slot) -> bool:
    """Whether a tensor is a scalar that products here multiply by, which those of FP8 do not."""
    return slot.role in (GLOBAL, INPUT) and not layout.is_fp8


class BlockScaleExpertsMethod(FusedMoEMethodBase):
    """How experts load the tensors of files, and compute with them. When all are there, modules of
    this package have them."""

    def __init__(self, moe: FusedMoEConfig, name: str, parts: Mapping[str, Part],
                 options: Options):
        """`parts` are those of the first expert, by vLLM's names of its layers."""
        super().__init__(moe)
        self.name, self._options = name, options
        self.parts = {"w13": parts["w1"], "w2": parts["w2"]}
        if self.layout.is_fp8:
            check_fp8_options(name, self.layout, options.weight_only, options.order, VARIABLES)
        self._loaders: dict[str, list[_Loader]] = {}

    @staticmethod
    def find(layer: Any, prefix: str, files: Files, options: Options
             ) -> BlockScaleExpertsMethod | None:
        """The method of experts, None where they have plain weights."""
        moe = layer.moe_config
        names = {"w1": layer.ckpt_gate_proj_name, "w3": layer.ckpt_up_proj_name,
                 "w2": layer.ckpt_down_proj_name}
        names = {each: name for each, name in names.items() if name is not None}
        cols = {name: moe.intermediate_size if each == "w2" else moe.hidden_dim
                for each, name in names.items()}
        found = files.find_experts(prefix, moe.num_logical_experts, cols)
        if found is None:
            return None
        if moe.has_bias and not files.has_bias(prefix):
            raise ArgumentError(f"expected a tensor '{found[names['w1']].name}.bias', or one for "
                                "all experts, but got none")
        return BlockScaleExpertsMethod(
            moe, prefix, {each: found[name] for each, name in names.items()}, options)

    @property
    def layout(self) -> Any:
        return self.parts["w2"].layout

    def get_fused_moe_quant_config(self, layer: Any) -> FusedMoEQuantConfig:
        return FusedMoEQuantConfig.make(
            gemm1_alpha=getattr(layer, "swiglu_alpha", None),
            gemm1_beta=getattr(layer, "swiglu_beta", None),
            gemm1_clamp_limit=getattr(layer, "swiglu_limit", None))

    def create_weights(self, layer: Any, num_experts: int, hidden_size: int,
                       intermediate_size_per_partition: int, params_dtype: torch.dtype,
                       **extra_weight_attrs: Any) -> None:
        """vLLM gives the sizes of this rank."""
        inner = intermediate_size_per_partition
        self._check_sizes(hidden_size, inner, extra_weight_attrs.get("unpadded_hidden_size"))
        self.dtype = params_dtype
        self.sizes = {"w13": (len(self._list_shards("w13")) * inner, hidden_size),
                      "w2": (hidden_size, inner)}
        for stack, (rows, cols) in self.sizes.items():
            part, load = self.parts[stack], extra_weight_attrs["weight_loader"]
            shards = self._list_shards(stack)
            self._loaders[stack] = []
            for slot in part.slots:
                loader = _Loader(layer, stack, slot, self.layout, load)
                # Scales of activations are one for the rows of all experts.
                shape = ([self.moe.num_experts, len(shards)] if slot.is_scalar else
                         [num_experts, *slot.get_shape(rows, cols)])
                made = torch.empty(shape, dtype=torch.float32 if _is_decoded(self.layout, slot)
                                   else slot.dtype)
                if slot.is_scalar:
                    made.fill_(torch.nan)
                param = nn.Parameter(made, requires_grad=False)
                layer.register_parameter(f"{stack}_{slot.member}", param)
                kind = "channel" if self.layout.format == FP8_CHANNEL else "block"
                set_weight_attrs(param, {"weight_loader": loader, "quant_method": kind})
                self._loaders[stack].append(loader)
            if self.moe.has_bias:
                bias = nn.Parameter(torch.zeros(num_experts, rows, dtype=params_dtype),
                                    requires_grad=False)
                layer.register_parameter(f"{stack}_bias", bias)
                set_weight_attrs(bias, {"weight_loader": load})

    def _list_shards(self, stack: str) -> tuple[str, ...]:
        """The layers of an expert in a stack. Experts whose activation multiplies nothing have no
        w3."""
        return _STACKS[stack][:2 if self.moe.is_act_and_mul else 1]

    def _check_sizes(self, hidden: int, inner: int, unpadded: int | None) -> None:
        if unpadded not in (None, hidden):
            raise ArgumentError(f"'{self.name}': expected experts without padding, but got "
                                f"{hidden} columns for {unpadded}")
        layout = self.layout
        block = layout.block if layout.has_block_scales or layout.format == FP8_BLOCKS else 1
        for what, size in (("columns", hidden), ("columns of this rank", inner)):
            if size % block:
                raise ArgumentError(f"'{self.name}': expected experts with whole blocks of {block} "
                                    f"{what}, but got {size}")

    def process_weights_after_loading(self, layer: Any) -> None:
        """vLLM calls it when all tensors are loaded, on the device of the layer."""
        if hasattr(layer, "blockscale_w13"):
            return
        with torch.no_grad():
            for stack in self.sizes:
                self._check_loaded(layer, stack)
            for stack in self.sizes:
                module = self._make(layer, stack)
                layer.add_module(f"blockscale_{stack}", module)
        quant_config = self.get_fused_moe_quant_config(layer)
        self._activation = ApplyMoEActivationConfig.from_configs(self.moe, quant_config)

    def _list_local(self, layer: Any) -> list[int]:
        """The numbers of the experts of this rank, in its order."""
        numbers = {layer._map_global_expert_id_to_local_expert_id(number): number
                   for number in range(self.moe.num_experts)}
        return [numbers[local] for local in range(layer.local_num_experts)]

    def _check_loaded(self, layer: Any, stack: str) -> None:
        shards = self._list_shards(stack)
        for slot, loader in zip(self.parts[stack].slots, self._loaders[stack]):
            lost = [(number, shard) for number in self._list_local(layer) for shard in shards
                    if (number, shard) not in loader.loaded]
            if lost:
                raise ArgumentError(f"'{self.name}': expected a tensor '{slot.ending}' of expert "
                                    f"{lost[0][0]}, '{lost[0][1]}', but got none")

    def _make(self, layer: Any, stack: str) -> QuantizedStack | Fp8Stack:
        part, (rows, cols) = self.parts[stack], self.sizes[stack]
        found = {slot.role: take(layer, f"{stack}_{slot.member}") for slot in part.slots}
        data = found[DATA].view(torch.uint8)
        if self.layout.is_fp8:
            return self._make_fp8(layer, data, found[SCALES], rows, cols)
        scales = found[SCALES].view(torch.uint8)
        check_codes(self.name, self.layout, data, scales)
        given = self._read_input(found.get(INPUT))
        shared = self._read_global(layer, found.get(GLOBAL))
        form = find_form(self.name, self.layout, part.group, shared is not None,
                         given is not None, self._options.weight_only)
        form = fit_form(form, self.dtype, self.name).with_order(self._options.order)
        check_device(self.name, data.device, form)
        is_static = form.activation is not None and form.activation.scaling == "scale"
        return QuantizedStack(data, scales, shared, None, in_features=cols, out_features=rows,
                              form=form, input_global=given if is_static else None,
                              dtype=self.dtype)

    def _read_global(self, layer: Any, found: Tensor | None) -> Tensor | None:
        """One scale for each expert of this rank."""
        if found is None:
            return None
        name, numbers = f"{self.name}{self.layout.global_scale}", self._list_local(layer)
        for number, own in zip(numbers, found[numbers].cpu()):
            check_expert(f"{name}' of expert '{number}", own[0], own[-1])
        return found[numbers, 0]

    @staticmethod
    def _read_input(found: Tensor | None) -> Tensor | None:
        """One scale is for the rows of all experts. Ranks read those of their own, or of all: there
        is NaN where none was read."""
        return None if found is None else found.nan_to_num(0).max()

    def _make_fp8(self, layer: Any, data: Tensor, scales: Tensor, rows: int, cols: int
                  ) -> Fp8Stack:
        format = self.layout.format
        check_device(self.name, data.device, None)
        if data.device.type == "cuda" and not self._is_eager():
            raise ArgumentError(f"'{self.name}': expected --enforce-eager for experts in FP8, "
                                "whose rows are counted on the CPU, but got CUDA graphs")
        if format == FP8_TENSOR:
            own = scales[self._list_local(layer)]
            scales = own.repeat_interleave(rows // own.shape[1], 1)
        check_fp8(self.name, self.layout, data, scales)
        stored, scales = (scales.dtype, tuple(scales.shape[1:])), scales.float()
        is_blocks = format == FP8_BLOCKS
        return Fp8Stack(data, scales if is_blocks else scales.reshape(len(data), rows, 1), None,
                        rows=FP8_BLOCK if is_blocks else 1, cols=FP8_BLOCK if is_blocks else cols,
                        layout=self.layout, stored=stored, dtype=self.dtype)

    @staticmethod
    def _is_eager() -> bool:
        config = get_current_vllm_config_or_none()
        model = None if config is None else config.model_config
        return model is None or bool(model.enforce_eager)

    def apply(self, layer: Any, x: Tensor, topk_weights: Tensor, topk_ids: Tensor,
              shared_experts: Any, shared_experts_input: Tensor | None) -> Tensor:
        experts, numbers = layer.local_num_experts, topk_ids.long()
        if layer.expert_map is not None:
            numbers = layer.expert_map[numbers].long()
            # Experts of other ranks come behind those of this one.
            numbers = torch.where(numbers < 0, experts, numbers)

        def compute(rows: Tensor, offsets: Tensor) -> Tensor:
            inner = layer.blockscale_w13.compute(rows, getattr(layer, "w13_bias", None), offsets)
            size = self.sizes["w2"][1]
            made = torch.empty(len(inner), size, dtype=inner.dtype, device=inner.device)
            apply_moe_activation(layer.activation, made, inner, activation_config=self._activation)
            y: Tensor = layer.blockscale_w2.compute(made, getattr(layer, "w2_bias", None), offsets)
            return y
        return run_experts(compute, x, numbers, topk_weights, experts,
                           layer.apply_router_weight_on_input)
