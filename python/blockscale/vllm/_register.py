# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How vLLM comes to know this package."""

from __future__ import annotations

from vllm.model_executor.layers.quantization import register_quantization_config

from blockscale._errors import ArgumentError
from blockscale.vllm._config import METHODS, NAME, TAKEN, BlockScaleConfig


def register() -> None:
    """Has vLLM know the quantization "blockscale". The entry point calls it in each process."""
    register_quantization_config(NAME)(BlockScaleConfig)


def take_over(*methods: str) -> None:
    """Has this package load checkpoints of other methods, too, which vLLM's own kernels load else:
    all that it can load, by default. The variable BLOCKSCALE_VLLM_TAKE_OVER of the environment does
    so for a server.

    Args:
      methods: values of quant_method in config.json: "modelopt", "compressed-tensors", "mxfp4",
        "fp8" or "fbgemm_fp8".

    Raises: ArgumentError for another method.
    """
    for method in methods:
        if method not in METHODS:
            raise ArgumentError(f"expected methods of {', '.join(METHODS)}, but got {method!r}")
    register()
    TAKEN.update(methods or METHODS)
