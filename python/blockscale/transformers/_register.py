# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which quantized checkpoints transformers gives to this package, by quant_method of their
config.json."""

from __future__ import annotations

from transformers.quantizers import auto

from blockscale._errors import ArgumentError
from blockscale.transformers._config import OWN, BlockScaleConfig
from blockscale.transformers._quantizer import BlockScaleQuantizer

#: Methods that transformers itself has no quantizer for.
_FREE = (OWN, "modelopt")
#: Methods of quantizers of others, which are replaced when a user asks for it.
_TAKEN = ("compressed-tensors", "mxfp4", "fp8", "fbgemm_fp8", "modelopt")


def _set(method: str) -> None:
    auto.AUTO_QUANTIZATION_CONFIG_MAPPING[method] = BlockScaleConfig
    auto.AUTO_QUANTIZER_MAPPING[method] = BlockScaleQuantizer


def register() -> None:
    """Has transformers know this package."""
    for method in _FREE:
        if method not in auto.AUTO_QUANTIZER_MAPPING:
            _set(method)
    if BlockScaleConfig not in auto.LOADING_ATTRIBUTES_CONFIG_TYPES:
        auto.LOADING_ATTRIBUTES_CONFIG_TYPES = (*auto.LOADING_ATTRIBUTES_CONFIG_TYPES,
                                                BlockScaleConfig)


def take_over(*methods: str) -> None:
    """Has this package load checkpoints of other methods, too, which transformers' own quantizers
    load else: "compressed-tensors", "mxfp4", "fp8" and "fbgemm_fp8", or "modelopt" where another
    package has taken that, all of these by default. Weights stay quantized on every device then.

    Raises: ArgumentError for another method.
    """
    for method in methods:
        if method not in _TAKEN:
            raise ArgumentError(f"expected methods of {', '.join(_TAKEN)}, but got {method!r}")
    for method in methods or _TAKEN:
        _set(method)
