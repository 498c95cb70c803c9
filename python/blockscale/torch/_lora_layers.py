# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Adapters of peft (LoRA) over modules with quantized weights: y = layer(x) + B A x * scaling, with
A [r, K] and B [N, r] that are trained beside codes that stay as they are.

Only the plain form of LoRA is known: what reads or changes the weight when an adapter is made, or
has other terms than these, is refused. Codes cannot hold the sum of a weight and an adapter, so
that a merge gives a plain layer.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from peft.tuners.lora.layer import Linear, LoraLayer
from peft.tuners.tuners_utils import check_adapters_to_merge
from torch import Tensor, nn
from torch.nn import functional as F

from blockscale._errors import ArgumentError
from blockscale._ops import ORDERS
from blockscale._training import SEGMENT
from blockscale.torch._hadamard import mix_back
from blockscale.torch._library import find_behind, take_by_group
from blockscale.torch._modules import QuantizedLinear, QuantizedStack, QuantizedWeight
from blockscale.torch._plain_linear import order_linear_

#: Ways to begin that leave the weight as it is.
_INITS = (True, False, "gaussian", "orthogonal")
#: Members of a config that ask for more than A and B.
_EXTRAS = ("use_dora", "use_qalora", "use_bdlora", "alora_invocation_tokens", "arrow_config",
           "velora_config", "monteclora_config", "kasa_config")
#: Rows of bf16 begin at multiples of 16 bytes in PyTorch's products by groups.
_RANK_UNIT = 8


def _check_config(config: Any, stacked: bool) -> None:
    init = config.init_lora_weights
    known = _INITS[:3] if stacked else _INITS
    if init not in known:
        raise ArgumentError(f"expected init_lora_weights to be one of {', '.join(map(str, known))} "
                            "for a layer with a quantized weight, whose codes no initialization "
                            f"can change, but got {init!r}")
    for name in (*_EXTRAS, *(["lora_bias"] if stacked else [])):
        if getattr(config, name, None):
            raise ArgumentError(f"expected {name} to be off for a layer with a quantized weight, "
                                f"but got {getattr(config, name)!r}")
    if stacked and config.lora_dropout:
        raise ArgumentError("expected lora_dropout of 0 for a stack of experts, but got "
                            f"{config.lora_dropout}")


def _read_weight(layer: QuantizedWeight) -> Tensor:
    """The matrix [N, K] of f32 that a layer multiplies x with: in front of the codes x may be
    transformed."""
    weight: Tensor = layer.weight.dequantize(torch.float32)
    weight = weight.t() if layer.is_transposed else weight
    if not layer.form.rht:
        return weight
    rows = torch.eye(SEGMENT, dtype=torch.bfloat16, device=weight.device)
    return (weight.unflatten(-1, (-1, SEGMENT)) @ mix_back(rows).float()).flatten(-2)


class _Merging:
    """How adapters are merged: never into codes, but into a plain module in their place."""

    get_base_layer: Any
    lora_A: Any
    lora_B: Any
    scaling: Any

    def merge(self, safe_merge: bool = False, adapter_names: list[str] | None = None) -> None:
        raise ArgumentError(
            "expected no merge into a layer with a quantized weight, whose codes cannot hold the "
            "sum; merge_and_unload() gives a plain layer with it")

    def unload_and_optionally_merge_module(self, merge: bool, safe_merge: bool,
                                           adapter_names: list[str] | None) -> nn.Module:
        """The module itself, or merged a plain one, whose weight is rounded once."""
        base: nn.Module = self.get_base_layer()
        names = [] if not merge else [name for name in check_adapters_to_merge(self, adapter_names)
                                      if name in self.lora_A]
        if not names:
            return base
        with torch.no_grad():
            weight, bias = self._merge_weight(names), self._merge_bias(names)
            held = [each for each in (weight, bias) if each is not None]
            if safe_merge and not all(each.isfinite().all() for each in held):
                raise ArgumentError("expected finite numbers in a merged layer, but adapters "
                                    f"{', '.join(names)} give others")
            return self._make_plain(weight, bias).train(base.training)

    def _merge_weight(self, names: list[str]) -> Tensor:
        """The weight of a layer, or the weights of a stack, with adapters, in f32."""
        weight = _read_weight(self.get_base_layer())
        for name in names:
            a, b = self.lora_A[name].weight.float(), self.lora_B[name].weight.float()
            weight = weight + (b @ a * self.scaling[name]).to(weight.device)
        return weight

    def _merge_bias(self, names: list[str]) -> Tensor | None:
        """The bias with those of adapters, in f32; None where they have none."""
        return None

    def _make_plain(self, weight: Tensor, bias: Tensor | None) -> nn.Module:
        """The plain module of what is merged."""
        raise NotImplementedError


class LoraQuantizedLinear(_Merging, Linear):
    """A layer of quantize_ with adapters."""

    def __init__(self, base_layer: nn.Module, adapter_name: str, config: Any, **kwargs: Any):
        super().__init__(base_layer, adapter_name, config=config, **kwargs)
        # Of the layer's class it is, and adapters are of [N, K].
        self.fan_in_fan_out = False

    def _get_in_out_features(self, module: Any) -> tuple[int, int]:
        return module.in_features, module.out_features

    @property
    def lora_variants(self) -> dict[tuple[str, ...], Any]:
        return {(): None}

    def update_layer(self, adapter_name: str, r: int, lora_alpha: int, config: Any,
                     **kwargs: Any) -> None:
        _check_config(config, stacked=False)
        super().update_layer(adapter_name, r, lora_alpha=lora_alpha, config=config, **kwargs)

    def _merge_bias(self, names: list[str]) -> Tensor | None:
        base = self.get_base_layer()
        bias: Tensor | None = None if base.bias is None else base.bias.float()
        for name in names:
            if self.lora_B[name].bias is not None:
                more = self.lora_B[name].bias.float().to(base.data.device) * self.scaling[name]
                bias = more if bias is None else bias + more
        return bias

    def _make_plain(self, weight: Tensor, bias: Tensor | None) -> nn.Module:
        base = self.get_base_layer()
        plain = nn.Linear(base.in_features, base.out_features, bias is not None, device="meta",
                          dtype=base.dtype)
        plain.weight = nn.Parameter(weight.to(base.dtype).contiguous(), requires_grad=False)
        if bias is not None:
            kind = base.dtype if base.bias is None else base.bias.dtype
            plain.bias = nn.Parameter(bias.to(kind), requires_grad=False)
        if base.form.order != ORDERS[0]:
            order_linear_(plain, base.form.order)
        return plain


def _multiply_groups(x: Tensor, weight: Tensor, offsets: Tensor) -> Tensor:
    """Rows times the matrices [E, N, K] of their groups, in bf16, which is what PyTorch multiplies
    by groups on all devices. What rows behind the last group get is not defined."""
    return F.grouped_mm(x.to(torch.bfloat16), weight.to(torch.bfloat16).transpose(-2, -1),
                        offs=offsets)


class StackedLinear(nn.Module):
    """A weight [E, N, K] of an adapter."""

    def __init__(self, experts: int, in_features: int, out_features: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(experts, out_features, in_features))

    def forward(self, x: Tensor, offsets: Tensor) -> Tensor:
        return _multiply_groups(x, self.weight, offsets)


class PlainStack(nn.Module):
    """A stack of experts with plain weights, as adapters are merged into."""

    bias: Tensor | None

    def __init__(self, weight: Tensor, bias: Tensor | None):
        super().__init__()
        self.weight = nn.Parameter(weight, requires_grad=False)
        self.register_parameter("bias", bias)

    def forward(self, input: Tensor, offsets: Tensor) -> Tensor:
        y = _multiply_groups(input, self.weight, offsets)
        if self.bias is not None:
            y = y + take_by_group(self.bias, offsets, len(input))
        return y.masked_fill(find_behind(offsets, len(input)), 0).to(input.dtype)


class LoraQuantizedStack(_Merging, nn.Module, LoraLayer):
    """A stack of experts with adapters, which have an A and a B for each expert."""

    def __init__(self, base_layer: nn.Module, adapter_name: str, config: Any, r: int = 0,
                 lora_alpha: int = 1, **kwargs: Any):
        super().__init__()
        LoraLayer.__init__(self, base_layer)
        self._active_adapter = adapter_name
        self.update_layer(adapter_name, r, lora_alpha=lora_alpha, config=config)

    def _get_in_out_features(self, module: Any) -> tuple[int, int]:
        return module.in_features, module.out_features

    def update_layer(self, adapter_name: str, r: int, lora_alpha: int, config: Any,
                     **_: Any) -> None:
        _check_config(config, stacked=True)
        if r <= 0 or r % _RANK_UNIT:
            raise ArgumentError(f"expected r to be a multiple of {_RANK_UNIT} for a stack of "
                                f"experts, but got {r}")
        experts = self.get_base_layer().data.shape[0]
        self.r[adapter_name], self.lora_alpha[adapter_name] = r, lora_alpha
        self.lora_A[adapter_name] = StackedLinear(experts, self.in_features, r)
        self.lora_B[adapter_name] = StackedLinear(experts, r, self.out_features)
        self.lora_dropout[adapter_name] = nn.Identity()
        self.lora_bias[adapter_name] = self.use_dora[adapter_name] = False
        self.use_rslora[adapter_name] = config.use_rslora
        self.scaling[adapter_name] = lora_alpha / (math.sqrt(r) if config.use_rslora else r)
        self.reset_lora_parameters(adapter_name, config.init_lora_weights)
        self._move_adapter_to_device_of_base_layer(adapter_name)
        self.set_adapter(self.active_adapters, inference_mode=config.inference_mode)

    def reset_lora_parameters(self, adapter_name: str, init_lora_weights: Any) -> None:
        """As peft does it for each matrix."""
        if adapter_name not in self.lora_A:
            return
        weight = self.lora_A[adapter_name].weight
        if init_lora_weights == "gaussian":
            nn.init.normal_(weight, std=1 / self.r[adapter_name])
        else:
            for each in weight.detach():
                nn.init.kaiming_uniform_(each, a=math.sqrt(5))
        if init_lora_weights is False:
            for each in self.lora_B[adapter_name].weight.detach():
                nn.init.kaiming_uniform_(each, a=math.sqrt(5))
        else:
            nn.init.zeros_(self.lora_B[adapter_name].weight)

    def forward(self, input: Tensor, offsets: Tensor, adapter_names: Any = None) -> Tensor:
        if adapter_names is not None:
            raise ArgumentError("expected no adapter_names beside a stack of experts, whose rows "
                                "are in another order than those of the call")
        y: Tensor = self.base_layer(input, offsets)
        names = [] if self.disable_adapters else [
            name for name in self.active_adapters if name in self.lora_A]
        if not names:
            return y
        dtype = y.dtype
        is_behind = find_behind(offsets, input.shape[0])
        x = input.masked_fill(is_behind, 0)
        for name in names:
            a, b = self.lora_A[name], self.lora_B[name]
            more = b(a(x, offsets), offsets).masked_fill(is_behind, 0)
            y = y + more.float() * self.scaling[name]
        return y.to(dtype)

    def _make_plain(self, weight: Tensor, bias: Tensor | None) -> nn.Module:
        base = self.get_base_layer()
        return PlainStack(weight.to(base.dtype).contiguous(), base.bias)

    def __repr__(self) -> str:
        return f"lora.{super().__repr__()}"


#: Our modules, and what peft puts in their place.
ADAPTERS = {QuantizedLinear: LoraQuantizedLinear, QuantizedStack: LoraQuantizedStack}
