# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantized models in Hugging Face transformers: the import alone has `from_pretrained` keep the
weights of ModelOpt's checkpoints quantized, and compute by the kernels of this package.

    import blockscale.transformers
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained("some/model-NVFP4", device_map="auto")
    model.save_pretrained("again")

Needs transformers and torch: `pip install blockscale[transformers]`. docs/Transformers.md of the
project says more.
"""

from importlib import import_module as _import_module

try:
    _import_module("transformers")
except ImportError as error:
    raise ImportError("expected transformers to be installed for blockscale.transformers; "
                      "pip install 'blockscale[transformers]'") from error

from blockscale.transformers._config import FAMILIES, BlockScaleConfig
from blockscale.transformers._quantizer import BlockScaleQuantizer, list_fused, set_family
from blockscale.transformers._register import register, take_over

register()

__all__ = ["FAMILIES", "BlockScaleConfig", "BlockScaleQuantizer", "list_fused", "set_family",
           "take_over"]
