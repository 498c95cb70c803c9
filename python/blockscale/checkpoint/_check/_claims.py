# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is said of loaders, each with the place in the loader's code that it is taken from.

Loaders change, so that each place has a version, or a commit. What no place says is not said.
"""

from __future__ import annotations

import dataclasses

LOADERS = ("vLLM", "TensorRT-LLM", "SGLang", "transformers", "llama.cpp")

_VLLM = "vllm-project/vllm:vllm/model_executor/"
_SGLANG = "sgl-project/sglang:python/sglang/srt/"
_TENSORRT = "NVIDIA/TensorRT-LLM:tensorrt_llm/"
_TRANSFORMERS = "huggingface/transformers:src/transformers/"
_LLAMA = "ggml-org/llama.cpp:"
#: Files with a version or a commit, by the names that claims have for them.
SOURCES = {
    "vllm-parameter": f"{_VLLM}parameter.py@0045689b",
    "vllm-loader": f"{_VLLM}model_loader/default_loader.py@00b5ad07",
    "vllm-modelopt": f"{_VLLM}layers/quantization/modelopt.py@00155cde",
    "vllm-packed": f"{_VLLM}layers/quantization/compressed_tensors/compressed_tensors.py@v0.33.0",
    "vllm-packed-utils": f"{_VLLM}layers/quantization/compressed_tensors/utils.py@v0.33.0",
    "vllm-fp8": f"{_VLLM}layers/quantization/fp8.py@1436674b",
    "vllm-mxfp4": f"{_VLLM}layers/quantization/mxfp4.py@afdb4a4f",
    "vllm-cache": f"{_VLLM}layers/quantization/kv_cache.py@0531c222",
    "sglang-parameter": f"{_SGLANG}layers/parameter.py@v0.5.23",
    "sglang-methods": f"{_SGLANG}layers/quantization/__init__.py@v0.5.23",
    "sglang-modelopt": f"{_SGLANG}layers/quantization/modelopt_quant.py@v0.5.23",
    "sglang-packed": f"{_SGLANG}layers/quantization/compressed_tensors/compressed_tensors.py"
                     "@v0.5.23",
    "sglang-cache": f"{_SGLANG}layers/quantization/kv_cache.py@v0.5.23",
    "sglang-config": f"{_SGLANG}configs/model_config.py@v0.5.23",
    "sglang-weights": f"{_SGLANG}model_loader/weight_utils.py@v0.5.23",
    "sglang-linear": f"{_SGLANG}layers/linear.py@v0.5.23",
    "sglang-llama": f"{_SGLANG}models/llama.py@v0.5.23",
    "tensorrt-linear": f"{_TENSORRT}_torch/modules/linear.py@ed53795b",
    "tensorrt-config": f"{_TENSORRT}_torch/model_config.py@008e0af8",
    "tensorrt-packed": f"{_TENSORRT}models/quant_config_utils.py@21156a7a",
    "transformers-quantizers": f"{_TRANSFORMERS}quantizers/auto.py@v5.24.0",
    "transformers-packed": f"{_TRANSFORMERS}quantizers/quantizer_compressed_tensors.py@v5.24.0",
    "transformers-torchao": f"{_TRANSFORMERS}quantizers/quantizer_torchao.py@v5.24.0",
    "transformers-report": f"{_TRANSFORMERS}utils/loading_report.py@v5.24.0",
    "transformers-loading": f"{_TRANSFORMERS}core_model_loading.py@v5.24.0",
    "transformers-model": f"{_TRANSFORMERS}modeling_utils.py@v5.24.0",
    "gguf-constants": f"{_LLAMA}gguf-py/gguf/constants.py@gguf-v0.19.0",
    "llama-loader": f"{_LLAMA}src/llama-model-loader.cpp@3074b500",
    "ggml-scales": f"{_LLAMA}ggml/src/ggml-impl.h@00966469",
}


@dataclasses.dataclass(frozen=True)
class Claim:
    """What a loader does.

    Attributes:
      text: that.
      source: where its code does so, a name of SOURCES.
    """

    text: str
    source: str

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, str]:
        """What --json writes."""
        return {"text": self.text, "source": SOURCES[self.source]}


def tell(text: str, **sources: str) -> dict[str, Claim]:
    """The same claim of several loaders, each with its source."""
    names = {"vllm": "vLLM", "sglang": "SGLang", "tensorrt": "TensorRT-LLM",
             "transformers": "transformers", "llama": "llama.cpp"}
    return {names[loader]: Claim(text, source) for loader, source in sources.items()}


_PARAMETERS = {"vllm": "vllm-parameter", "sglang": "sglang-parameter"}
#: Numbers are copied as they are.
COMPUTES = tell("computes with what the file has", **_PARAMETERS,
                 transformers="transformers-loading")
REFUSES_SHAPES = tell("refuses the shape", **_PARAMETERS, transformers="transformers-report")
READS_OTHERS = tell("refuses the shape, or where sizes agree reads other numbers", **_PARAMETERS)
CONVERTS = tell("refuses the shape, or where it is that of the weight converts the numbers",
                 **_PARAMETERS)
#: Parameters are allocated without numbers; only models that are not quantized are asked whether
#: all were loaded.
UNINITIALISED = tell("computes with what is in its memory there", vllm="vllm-loader",
                      sglang="sglang-llama")
RANDOM = tell("initialises what is missing at random, with a warning",
               transformers="transformers-model")
MISSING = (tell("computes with what is in its memory there, but stops where nothing is quantized",
                vllm="vllm-loader") |
           tell("computes with what is in its memory there", sglang="sglang-llama") | RANDOM)
IGNORES_NAMES = tell("ignores the tensor, with a warning", sglang="sglang-llama")
STOPS_WITHOUT = tell("stops: it multiplies both scales", tensorrt="tensorrt-linear")
LARGEST = (tell("takes the largest of the group for all of it, with a warning",
                vllm="vllm-modelopt") |
           tell("takes the largest of the group for all of it", sglang="sglang-modelopt") |
           tell("stops: it asserts that they are equal", tensorrt="tensorrt-linear"))
#: The types of GGUF have scales without a sign, and one NaN at most.
READS_NAN = tell("reads NaN as a number: 0x7F of NVFP4 as 0, 0xFF as 480, and 255 of MXFP4 as "
                 "2^128", llama="ggml-scales")
DROPS_SIGN = tell("drops the sign", llama="ggml-scales")
