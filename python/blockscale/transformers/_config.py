# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How a model of transformers is quantized: what its config.json says, and what a user asks for."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from transformers.utils.quantization_config import QuantizationConfigMixin

from blockscale._errors import ArgumentError
from blockscale._forms import check_order
from blockscale._policy import Policy
from blockscale.checkpoint._families import read_scheme
from blockscale.torch._checkpoint import check_weight_only

#: The family whose tensors are those of our modules' state dicts.
OWN = "blockscale"
#: Families that save_pretrained can write, whatever a model was loaded from.
FAMILIES = (OWN, "modelopt", "compressed-tensors", "gpt-oss")


class BlockScaleConfig(QuantizationConfigMixin):
    """How a model is quantized.

    Args:
      policy: by which a plain checkpoint is quantized when it is loaded, as quantize_() takes it.
        None for a checkpoint that is quantized.
      family: of the checkpoint that save_pretrained() writes: "blockscale", "modelopt",
        "compressed-tensors" or "gpt-oss". None for that of the checkpoint that was loaded, and
        "blockscale" for what a policy quantized.
      amaxes: of activations by the names of layers, as calibrate() measures them, for a policy.
      weight_only: True for plain activations, False for quantized ones, whatever a quantized
        checkpoint says; None for what it says.
      order: of the sums of all layers' products, "free" or "chain"; None for what a policy says.
      members: quantization_config of config.json.
    """

    def __init__(self, policy: Policy | None = None, *, family: str | None = None,
                 amaxes: Mapping[str, float] | None = None, weight_only: bool | None = None,
                 order: str | None = None, members: Mapping[str, Any] | None = None):
        check_family(family)
        check_weight_only(weight_only)
        check_order(order)
        self.policy, self.amaxes = policy, dict(amaxes or {})
        self.weight_only, self.order = weight_only, order
        self.members = dict(members or {})
        self._family = family

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], return_unused_kwargs: bool = False,
                  **kwargs: Any) -> Any:
        made = cls(members=config_dict)
        return (made, kwargs) if return_unused_kwargs else made

    @property
    def quant_method(self) -> str:
        return str(self.members.get("quant_method", OWN))

    @property
    def family(self) -> str:
        """The family of the checkpoint that save_pretrained() writes."""
        return self._family or self.family_of_members or OWN

    @property
    def family_of_members(self) -> str:
        """The family that config.json speaks for, "" where it says nothing."""
        if not self.members:
            return ""
        return read_scheme({"quantization_config": self.members}, {}).family

    def choose(self, family: str, members: Mapping[str, Any]) -> None:
        """Another family, with what its configuration says."""
        self._family, self.members = family, dict(members)

    def get_loading_attributes(self) -> dict[str, Any]:
        """What a user who loads a quantized checkpoint may say beside its config.json."""
        given = {"weight_only": self.weight_only, "order": self.order, "_family": self._family}
        return {name: value for name, value in given.items() if value is not None}

    def to_dict(self) -> dict[str, Any]:
        return copy.deepcopy(self.members) or {"quant_method": OWN}


def check_family(family: Any) -> None:
    """Raises ArgumentError for what is neither a family that can be written nor None."""
    if family is not None and family not in FAMILIES:
        raise ArgumentError(f"expected family to be one of {', '.join(FAMILIES)}, or None, but got "
                            f"{family!r}")
