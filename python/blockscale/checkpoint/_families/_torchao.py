# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torchao: each tensor is described in the metadata of its file, and scales lie in tiles."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from blockscale.checkpoint._config import TORCHAO_NAMES, Group, Scheme, get_names
from blockscale.checkpoint._families._family import (
    Evidence,
    Family,
    Quantized,
    Written,
    find_fp8_format,
)
from blockscale.checkpoint._layouts import Layout

#: Types of configurations: format, and whether activations are quantized.
_TYPES = {
    "NVFP4WeightOnlyConfig": ("nvfp4", False),
    "NVFP4DynamicActivationNVFP4WeightConfig": ("nvfp4", True),
    "NVFP4InferenceConfig": ("nvfp4", True),
    "MXDynamicActivationMXWeightConfig": ("mxfp8", True),
    "MXFPInferenceConfig": ("mxfp8", True),
    "Float8WeightOnlyConfig": ("fp8_channel", False),
    "Float8DynamicActivationFloat8WeightConfig": ("fp8_channel", True),
}
#: PyTorch's names of the elements of MX tensors.
_ELEMENTS = {"mxfp4": "float4_e2m1fn_x2", "mxfp8": "float8_e4m3fn", "mxfp8_e5m2": "float8_e5m2"}
#: The names that the tensors of a parameter `path.name` have.
FLAT = re.compile(
    r"(.*)\._(\w+?)_(qdata|scale|zero_point|per_tensor_scale|act_per_tensor_scale)")
_DTYPES = {"f32": "float32", "bf16": "bfloat16", "f16": "float16"}


def _describe(layer: Quantized, dtype: str, has_global: bool, has_input: bool) -> dict[str, Any]:
    original = {"_type": "torch.dtype", "_data": _DTYPES[dtype]}
    if layer.layout.format == "nvfp4":
        activation = {"_type": "QuantizeTensorToNVFP4Kwargs", "_data": {
            "block_size": 16, "is_swizzled_scales": True, "use_triton_kernel": False,
            "use_dynamic_per_tensor_scale": not has_input}}
        names = ["per_tensor_scale"] * has_global + ["act_per_tensor_scale"] * has_input
        return {"_type": "NVFP4Tensor", "_data": {
            "is_swizzled_scales": True, "use_triton_kernel": False,
            "act_quant_kwargs": activation if layer.quantizes_activations else None,
            "block_size": 16, "orig_dtype": original},
            "_tensor_data_names": [*names, "qdata", "scale"]}
    element = {"_type": "torch.dtype", "_data": _ELEMENTS[layer.layout.format]}
    preference = {"_type": "KernelPreference", "_data": "AUTO"}
    activation = {"_type": "QuantizeTensorToMXKwargs", "_data": {
        "elem_dtype": element, "block_size": 32,
        "scaling_mode": {"_type": "ScaleCalculationMode", "_data": "RCEIL"},
        "kernel_preference": preference, "is_swizzled_scales": True}}
    return {"_type": "MXTensor", "_data": {
        "elem_dtype": element, "block_size": 32, "orig_dtype": original,
        "kernel_preference": preference,
        "act_quant_kwargs": activation if layer.quantizes_activations else None,
        "is_swizzled_scales": True}, "_tensor_data_names": ["qdata", "scale"]}


class TorchAo(Family):
    """Tensors are those of subclasses of torch.Tensor, flat."""

    name = "torchao"
    layouts = (
        Layout("torchao NVFP4", "torchao", "nvfp4", "torchao", "torchao", ("._weight_qdata", "U8"),
               ("._weight_scale", "F8_E4M3"), "._weight_per_tensor_scale",
               "._weight_act_per_tensor_scale", holds_swizzled=True),
        Layout("torchao MXFP4", "torchao", "mxfp4", "rceil", "rceil", ("._weight_qdata", "U8"),
               ("._weight_scale", "F8_E8M0"), activations="quantized", holds_swizzled=True),
        Layout("torchao MXFP8", "torchao", "mxfp8", "rceil", "rceil",
               ("._weight_qdata", "F8_E4M3"), ("._weight_scale", "F8_E8M0"),
               activations="quantized", holds_swizzled=True),
        Layout("torchao MXFP8 E5M2", "torchao", "mxfp8_e5m2", "rceil", "rceil",
               ("._weight_qdata", "F8_E5M2"), ("._weight_scale", "F8_E8M0"),
               activations="quantized", holds_swizzled=True),
        *(Layout(f"torchao {name}", "torchao", format, data=("._weight_qdata", "F8_E4M3"),
                 scales=("._weight_scale", "F32"), scale_types=("BF16", "F16"), is_written=False)
          for name, format in (("FP8", "fp8_tensor"), ("FP8 of rows", "fp8_channel"))),
    )
    methods = ("torchao",)
    describes_itself = True
    needs_global = False
    may_lack_global = True

    def read(self, members: Mapping[str, Any], where: str) -> Scheme:
        types = members.get("quant_type")
        default = types.get("default") if isinstance(types, dict) else None
        name = default.get("_type") if isinstance(default, dict) else types
        format, is_quantized = _TYPES.get(str(name), ("", False))
        data = default.get("_data") if isinstance(default, dict) else None
        element = data.get("weight_dtype") if isinstance(data, dict) else None
        if format == "mxfp8" and isinstance(element, dict):
            format = next((each for each, dtype in _ELEMENTS.items()
                           if dtype == element.get("_data")), "")
        ignored = get_names(members.get("modules_to_not_convert"),
                            f"{where}: modules_to_not_convert")
        return Scheme(self.name, (Group(str(name), format, is_quantized),), ignored, where)

    def guess(self, evidence: Evidence) -> Layout | None:
        dtype = evidence.get_dtype("._weight_qdata")
        if not dtype:
            return None
        if dtype == "U8":
            is_mx = evidence.get_dtype("._weight_scale") == "F8_E8M0" or (
                str(evidence.described.get("_type")) == "MXTensor")
            return self.find_read("mxfp4" if is_mx else "nvfp4")
        if dtype == "F8_E5M2":
            return self.find_layout("mxfp8_e5m2")
        return self.find_read(find_fp8_format(evidence, "._weight_qdata", "._weight_scale"))

    def split_stack(self, name: str) -> tuple[str, str] | None:
        match = FLAT.fullmatch(name)
        return (f"{match[1]}.{match[2]}", f"._weight_{match[3]}") if match else None

    def write(self, layers: Mapping[str, Quantized], left: Sequence[str],
              kv_cache: str) -> Written:
        first = next(iter(layers.values()))
        each: dict[str, Any]
        if first.layout.format == "nvfp4" and not first.quantizes_activations:
            each = {"_type": "NVFP4WeightOnlyConfig", "_version": 1,
                    "_data": {"use_dynamic_per_tensor_scale": True}}
        elif first.layout.format == "nvfp4":
            each = {"_type": "NVFP4DynamicActivationNVFP4WeightConfig", "_version": 1,
                    "_data": {"use_triton_kernel": False, "use_dynamic_per_tensor_scale": True,
                              "step": None}}
        else:
            element = {"_type": "torch.dtype", "_data": _ELEMENTS[first.layout.format]}
            each = {"_type": "MXDynamicActivationMXWeightConfig", "_version": 1,
                    "_data": {"block_size": 32, "activation_dtype": element,
                              "weight_dtype": element,
                              "kernel_preference": {"_type": "KernelPreference", "_data": "AUTO"},
                              "scaling_mode": {"_type": "ScaleCalculationMode", "_data": "RCEIL"}}}
        return Written({"quant_method": "torchao", "quant_type": {"default": each},
                        "modules_to_not_convert": list(left) or None,
                        "include_input_output_embeddings": False,
                        "untie_embedding_weights": False})

    def describe(self, name: str, layer: Quantized, dtype: str, has_global: bool,
                 has_input: bool) -> dict[str, str]:
        return {f"{name}.weight": json.dumps(_describe(layer, dtype, has_global, has_input))}

    def make_metadata(self, described: Mapping[str, Mapping[str, str]],
                      names: Sequence[str]) -> dict[str, str]:
        """Every file describes the tensors of all files: by that loaders find those that they make
        of several."""
        found: dict[str, str] = {}
        for name in names:
            found.update(described.get(name, {name: json.dumps({"_type": "Tensor"})}))
        return {**found, TORCHAO_NAMES: json.dumps(list(found))}
