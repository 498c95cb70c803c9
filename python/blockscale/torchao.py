# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers of this package by torchao's quantize_:

    from blockscale.torchao import BlockScaleConfig
    from torchao import quantize_

    quantize_(model, BlockScaleConfig("nvfp4"))

Needs torchao: `pip install blockscale[torch]`. docs/QuantizeModel.md of the project says more.
"""

import dataclasses as _dataclasses
from collections.abc import Mapping as _Mapping
from importlib import import_module as _import_module
from typing import Any as _Any

try:
    _config = _import_module("torchao.core.config")
    _transform = _import_module("torchao.quantization.transform_module")
except ImportError as error:
    raise ImportError("expected torchao to be installed for blockscale.torchao; "
                      "pip install 'blockscale[torch]'") from error

from torch import nn as _nn

from blockscale.torch._quantize_model import quantize_ as _quantize

__all__ = ["BlockScaleConfig"]

_Base: _Any = _config.AOBaseConfig


@_dataclasses.dataclass
class BlockScaleConfig(_Base):  # type: ignore[misc]
    """What torchao's quantize_ makes of each layer that its filter takes: a QuantizedLinear with
    the bytes of blockscale.torch.quantize_.

    Attributes:
      format: "nvfp4", "mxfp8", "mxfp8_e5m2", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp4" or "mxint8".
      weight_only: whether activations stay plain.
      order: of the sums of products, "free" or "chain" (docs/SameBits.md).
      rule: further members of a policy's rule (docs/Policy.md), as "recipe" or "weights".

    A layer that the rule cannot quantize, as one whose rows are no multiple of a block, stays
    plain, and a warning says why. Names of layers are torchao's business: rules cannot match them.
    """

    format: str = "nvfp4"
    weight_only: bool = True
    order: str | None = None
    rule: _Mapping[str, _Any] | None = None

    def make_policy(self) -> dict[str, _Any]:
        rule = {"format": self.format, "weight_only": self.weight_only, **(self.rule or {})}
        return {"version": 1, "leave_last_projection": False, "rules": [rule]}


@_transform.register_quantize_module_handler(BlockScaleConfig)  # type: ignore[untyped-decorator]
def _quantize_layer(module: _nn.Module, config: BlockScaleConfig) -> _nn.Module:
    holder = _nn.ModuleDict({"layer": module})
    _quantize(holder, config.make_policy(), order=config.order)
    return holder["layer"]
