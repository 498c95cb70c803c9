# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantized models in vLLM: the entry point `vllm.general_plugins` calls register(), after which
vLLM knows the quantization "blockscale".

    vllm serve some/model-NVFP4 --quantization blockscale

Needs vLLM: `pip install blockscale[vllm]`. docs/Vllm.md of the project says more.
"""

from importlib import import_module as _import_module

try:
    _import_module("vllm")
except ImportError as error:
    raise ImportError("expected vllm to be installed for blockscale.vllm; "
                      "pip install 'blockscale[vllm]'") from error

from blockscale.vllm._config import BlockScaleConfig
from blockscale.vllm._register import register, take_over

__all__ = ["BlockScaleConfig", "register", "take_over"]
