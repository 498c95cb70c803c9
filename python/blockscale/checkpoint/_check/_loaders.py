# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which layouts each loader reads, each with the place in its code that says so.

What is in no row is not known here, and nothing is said of it. A row is of the configuration and of
the names and types of tensors; whether the loader has a class for the model it does not say.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from blockscale.checkpoint._check._claims import LOADERS, Claim
from blockscale.checkpoint._families import NOT_KNOWN


@dataclasses.dataclass(frozen=True)
class Form:
    """How a weight is stored.

    Attributes:
      family, format: of its layout.
      quantizes_activations: whether the configuration says that activations are quantized; None
        where it says nothing.
      is_expert: whether it is of an expert, or of a stack of experts.
      is_configured: whether there is a configuration that says so.
    """

    family: str
    format: str
    quantizes_activations: bool | None = None
    is_expert: bool = False
    is_configured: bool = True


@dataclasses.dataclass(frozen=True)
class Row:
    """What a loader does with weights of a form.

    Attributes:
      loader: that.
      family: of layouts.
      formats: of these.
      is_read: whether the loader reads it.
      claim: what it does, and where its code says so.
      activations: whether activations are quantized, where that matters.
      experts, configured: the same of layers of experts and of configurations.
    """

    loader: str
    family: str
    formats: tuple[str, ...]
    is_read: bool
    claim: Claim
    activations: bool | None = None
    experts: bool | None = None
    configured: bool | None = None

    def match(self, loader: str, form: Form) -> bool:
        return (loader == self.loader and form.family == self.family
                and form.format in self.formats
                and self.activations in (None, form.quantizes_activations)
                and self.experts in (None, form.is_expert)
                and self.configured in (None, form.is_configured))


def _read(loader: str, family: str, formats: str, source: str,
          activations: bool | None = None) -> Row:
    return Row(loader, family, tuple(formats.split()) or ("",), True, Claim("reads it", source),
               activations)


def _refuse(loader: str, family: str, formats: str, text: str, source: str,
            activations: bool | None = None, experts: bool | None = None,
            configured: bool | None = None) -> Row:
    return Row(loader, family, tuple(formats.split()) or ("",), False, Claim(text, source),
               activations, experts, configured)


_TORCHAO = "nvfp4 mxfp4 mxfp8 mxfp8_e5m2 fp8_tensor fp8_channel"
_NO_METHOD = "refuses a quant_method that it does not list"
_NO_SCHEME = "refuses groups that it has no scheme for"
#: The first row that matches counts.
ROWS = (
    _read("vLLM", "modelopt", "nvfp4 mxfp8 fp8_tensor fp8_channel fp8_blocks", "vllm-modelopt"),
    _refuse("vLLM", "modelopt", "mxfp4", "refuses algorithms that it does not list",
            "vllm-modelopt"),
    _read("vLLM", "compressed-tensors", "nvfp4 mxfp4 mxfp8", "vllm-packed"),
    _read("vLLM", "gpt-oss", "mxfp4", "vllm-mxfp4"),
    _read("vLLM", "torchao", "nvfp4 mxfp4 mxfp8 mxfp8_e5m2", "vllm-loader"),
    _read("vLLM", "fp8-blocks", "fp8_blocks", "vllm-fp8"),
    _read("SGLang", "modelopt", "nvfp4 fp8_tensor", "sglang-modelopt"),
    _read("SGLang", "modelopt", "mxfp8", "sglang-config"),
    _read("SGLang", "compressed-tensors", "nvfp4 fp8_tensor fp8_channel", "sglang-packed"),
    _refuse("SGLang", "compressed-tensors", "mxfp8", _NO_SCHEME, "sglang-packed"),
    _refuse("SGLang", "compressed-tensors", "mxfp4", f"{_NO_SCHEME}, but reads it of experts",
            "sglang-packed"),
    _read("SGLang", "gpt-oss", "mxfp4", "sglang-methods"),
    _read("SGLang", "fp8-blocks", "fp8_blocks", "sglang-methods"),
    _refuse("SGLang", "torchao", _TORCHAO, _NO_METHOD, "sglang-methods"),
    _read("TensorRT-LLM", "modelopt", "nvfp4", "tensorrt-linear", True),
    _refuse("TensorRT-LLM", "compressed-tensors", "nvfp4", f"{_NO_SCHEME}: weights alone",
            "tensorrt-packed", False),
    _read("TensorRT-LLM", "compressed-tensors", "nvfp4", "tensorrt-packed", True),
    _read("TensorRT-LLM", "compressed-tensors", "mxfp4", "tensorrt-packed", False),
    _refuse("TensorRT-LLM", "compressed-tensors", "mxfp4", f"{_NO_SCHEME}: quantized activations",
            "tensorrt-packed", True),
    _read("TensorRT-LLM", "compressed-tensors", "fp8_channel", "tensorrt-packed", True),
    _refuse("TensorRT-LLM", "compressed-tensors", "mxfp8 fp8_tensor", _NO_SCHEME,
            "tensorrt-packed"),
    _read("TensorRT-LLM", "gpt-oss", "mxfp4", "tensorrt-config"),
    _read("TensorRT-LLM", "fp8-blocks", "fp8_blocks", "tensorrt-config"),
    _refuse("transformers", "modelopt", "nvfp4 mxfp4", "skips a quant_method that it does not "
            "list, with a warning, and refuses the shape of codes", "transformers-quantizers"),
    _refuse("transformers", "modelopt", "mxfp8 fp8_tensor fp8_channel fp8_blocks",
            "skips a quant_method that it does not list, with a warning, and takes codes for the "
            "numbers of a plain weight", "transformers-quantizers"),
    _refuse("transformers", "compressed-tensors", "nvfp4", "computes layers of experts without "
            "their global scales", "transformers-packed", experts=True),
    _refuse("transformers", "compressed-tensors", "mxfp8", "stops at layers of experts",
            "transformers-packed", experts=True),
    _read("transformers", "compressed-tensors", "nvfp4 mxfp4 mxfp8 fp8_tensor fp8_channel",
          "transformers-packed"),
    _read("transformers", "gpt-oss", "mxfp4", "transformers-quantizers"),
    _refuse("transformers", "torchao", _TORCHAO, "makes no quantized tensors without a "
            "quantization_config", "transformers-quantizers", configured=False),
    _refuse("transformers", "torchao", _TORCHAO, "has no place for codes of experts",
            "transformers-loading", experts=True),
    _read("transformers", "torchao", _TORCHAO, "transformers-torchao"),
    _read("transformers", "fp8-blocks", "fp8_blocks", "transformers-quantizers"),
    _read("llama.cpp", "gguf", "nvfp4 mxfp4", "gguf-constants"),
    *(_read(loader, "plain", "", source) for loader, source in (
        ("vLLM", "vllm-loader"), ("SGLang", "sglang-llama"), ("TensorRT-LLM", "tensorrt-linear"),
        ("transformers", "transformers-loading"))),
    _read("llama.cpp", "plain", "", "gguf-constants"),
)


#: What reads files of GGUF, and nothing else.
GGUF_ALONE = Claim("reads files of GGUF alone", "llama-loader")


def find_row(loader: str, form: Form) -> Row | None:
    """What is known of a loader and a form; None where nothing is."""
    return next((row for row in ROWS if row.match(loader, form)), None)


def explain_forms(loader: str, forms: Iterable[Form]) -> str:
    """What a loader does with weights of these forms: "" where it reads all of them."""
    refused: dict[str, None] = {}
    unknown: dict[str, None] = {}
    for form in forms:
        row = find_row(loader, form)
        name = f"{form.family} {form.format}".strip()
        if row is None:
            unknown[name] = None
        elif not row.is_read:
            refused[f"does not read {name}: {row.claim}"] = None
    if refused:
        return "; ".join(refused)
    return f"{NOT_KNOWN}: {', '.join(unknown)}" if unknown else ""


__all__ = ["GGUF_ALONE", "LOADERS", "NOT_KNOWN", "ROWS", "Form", "Row", "explain_forms", "find_row"]
