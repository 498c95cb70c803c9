# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""compressed-tensors, which llm-compressor writes: groups of layers in config.json, and scalars
that are reciprocals of ModelOpt's."""

from __future__ import annotations

import collections
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from blockscale.checkpoint._config import Group, Scheme, get_names, get_object, read_cache
from blockscale.checkpoint._families._family import (
    Evidence,
    Family,
    Quantized,
    Written,
    find_fp8_format,
)
from blockscale.checkpoint._layouts import FP8_BLOCK, Layout

#: Formats that have a layout here.
_FORMATS = {"nvfp4-pack-quantized": "nvfp4", "mxfp4-pack-quantized": "mxfp4",
            "mxfp8-quantized": "mxfp8"}
#: Bits of activations beside weights of formats of less than 8.
_BITS = {"nvfp4": 4, "mxfp4": 4}
#: FP8 has either name, and its strategy tells which scales there are.
_FP8, _STRATEGIES = ("float-quantized", "naive-quantized"), {
    "tensor": "fp8_tensor", "channel": "fp8_channel", "block": "fp8_blocks"}
_NAME = "compressed-tensors"


def _get_packed_format(layer: Quantized) -> str:
    return layer.layout.name.removeprefix(f"{_NAME} ")


def _write_operand(layer: Quantized, is_activation: bool) -> dict[str, Any]:
    is_nvfp4 = layer.layout.format == "nvfp4"
    dtype = "torch.float8_e4m3fn" if is_nvfp4 else "torch.uint8"
    dynamic: Any = ("local" if is_nvfp4 else True) if is_activation else False
    observer = None if is_activation and not is_nvfp4 else (
        "static_minmax" if is_activation else "memoryless_minmax")
    return {"actorder": None, "block_structure": None, "dynamic": dynamic,
            "group_size": layer.layout.block, "num_bits": 4 if layer.layout.is_fp4 else 8,
            "observer": observer, "observer_kwargs": {}, "scale_dtype": dtype,
            "strategy": "tensor_group" if is_nvfp4 else "group", "symmetric": True,
            "type": "float", "zp_dtype": dtype}


def _read_format(algorithm: str, weights: Any) -> str:
    """Our name of the format of a group, "" of one that has no layout here."""
    if algorithm not in _FP8 or not isinstance(weights, dict):
        return _FORMATS.get(algorithm, "")
    size = weights.get("block_structure")
    if weights.get("num_bits") != 8 or weights.get("type") != "float" or (
            weights.get("strategy") == "block" and size not in (None, [FP8_BLOCK, FP8_BLOCK])):
        return ""
    return _STRATEGIES.get(str(weights.get("strategy")), "")


def _name_others(format: str, activations: Any) -> str:
    """What activations are, where they are in another format than weights; "" else."""
    if not format or not isinstance(activations, dict) or "num_bits" not in activations:
        return ""
    bits, kind = activations["num_bits"], activations.get("type", "int")
    return "" if (bits, kind) == (_BITS.get(format, 8), "float") else f"{kind} of {bits} bits"


def _is_sparse(members: Mapping[str, Any]) -> bool:
    """Whether zeros are left out of files."""
    found = members.get("sparsity_config")
    return isinstance(found, dict) and found.get("format") not in (None, "dense")


class CompressedTensors(Family):
    """Codes of FP4 have a name of their own. MXFP8 and FP8 have the tensors that ModelOpt's have,
    and config.json tells them apart."""

    name = _NAME
    layouts = (
        Layout("compressed-tensors nvfp4-pack-quantized", _NAME, "nvfp4",
               "compressed_tensors", "compressed_tensors", (".weight_packed", "U8"),
               (".weight_scale", "F8_E4M3"), ".weight_global_scale", ".input_global_scale",
               is_reciprocal=True, scalar_shape=(1,), needs_input_scale=True,
               shares_global=True),
        Layout("compressed-tensors mxfp4-pack-quantized", _NAME, "mxfp4",
               "compressed_tensors", "compressed_tensors", (".weight_packed", "U8"),
               (".weight_scale", "U8")),
        Layout("compressed-tensors mxfp8-quantized", _NAME, "mxfp8",
               "compressed_tensors", "rceil", (".weight", "F8_E4M3"), (".weight_scale", "U8")),
        *(Layout(f"compressed-tensors float-quantized {name}", _NAME, format,
                 data=(".weight", "F8_E4M3"), scales=(".weight_scale", "BF16"),
                 scale_types=("F32", "F16"), input_scale=".input_scale", is_written=False)
          for name, format in _STRATEGIES.items()),
    )
    methods = (_NAME,)
    caches = ("FP8",)

    def read(self, members: Mapping[str, Any], where: str) -> Scheme:
        groups = []
        found = get_object(members.get("config_groups") or {}, f"{where}: config_groups")
        for name, value in found.items():
            if name == value:  # The name of a preset stands for its groups.
                continue
            place = f"{where}: config_groups: {name}"
            each = get_object(value, place)
            algorithm = each.get("format") or members.get("format") or ""
            activations = each.get("input_activations")
            is_static = isinstance(activations, dict) and activations.get("dynamic") in (
                False, "local")
            format = "" if _is_sparse(members) else _read_format(str(algorithm),
                                                                 each.get("weights"))
            groups.append(Group(str(algorithm), format, activations is not None,
                                is_static and format in ("nvfp4", "fp8_tensor"),
                                get_names(each.get("targets"), f"{place}: targets"),
                                _name_others(format, activations)))
        transforms = members.get("transform_config")
        has_any = isinstance(transforms, dict) and any(transforms.values())
        return Scheme(self.name, tuple(groups),
                      get_names(members.get("ignore"), f"{where}: ignore"), where,
                      read_cache(members), is_exact=True,
                      transforms="transform_config" if has_any else "")

    def guess(self, evidence: Evidence) -> Layout | None:
        scales = evidence.get_dtype(".weight_scale")
        packed = evidence.get_dtype(".weight_packed")
        if packed in ("U8", "I8") or (packed and scales in ("U8", "F8_E4M3")):
            format = evidence.format
            if ".weight_global_scale" in evidence.parts or scales == "F8_E4M3":
                format = "nvfp4"
            elif scales:
                format = "mxfp4"
            return self.find_read(format or "nvfp4")
        if evidence.scheme.family == self.name:
            return self.find_read(find_fp8_format(evidence))
        return None

    def write(self, layers: Mapping[str, Quantized], left: Sequence[str],
              kv_cache: str) -> Written:
        by_form: dict[Quantized, list[str]] = collections.defaultdict(list)
        for name, layer in layers.items():
            by_form[layer].append(name)
        groups = {}
        for number, (layer, names) in enumerate(by_form.items()):
            targets = ["Linear"] if len(by_form) == 1 else _name_targets(names)
            activations = (_write_operand(layer, True) if layer.quantizes_activations else None)
            groups[f"group_{number}"] = {
                "format": _get_packed_format(layer), "input_activations": activations,
                "output_activations": None, "targets": targets,
                "weights": _write_operand(layer, False)}
        formats = {_get_packed_format(layer) for layer in by_form}
        cache = None if kv_cache != "FP8" else {
            "dynamic": False, "num_bits": 8, "strategy": "tensor", "symmetric": True,
            "type": "float"}
        return Written({
            "config_groups": groups,
            "format": formats.pop() if len(formats) == 1 else "mixed-precision",
            "global_compression_ratio": None, "ignore": list(left), "kv_cache_scheme": cache,
            "quant_method": self.name, "quantization_status": "compressed",
            "sparsity_config": {}, "transform_config": {}, "version": "0.18.0"})

    def take_over(self, original: Written, written: Written) -> Written:
        """Transforms, and the KV cache, whatever its form."""
        return Written({**written.members, **{
            name: original.members[name] for name in ("transform_config", "kv_cache_scheme")
            if original.members.get(name) and not written.members.get(name)}}, written.files)

    def keep(self, original: Written, written: Written | None, layers: Mapping[str, Quantized],
             kept: Sequence[str], decoded: Sequence[str]) -> Written:
        if written is None:
            ignored = list(original.members.get("ignore") or ())
            return Written({**original.members, "ignore": [
                *ignored, *(name for name in decoded if name not in ignored)]})
        written = self.take_over(original, written)
        scheme = self.read(original.members, "")
        groups = dict(written.members["config_groups"])
        for name, group in groups.items():
            if group["targets"] == ["Linear"]:
                groups[name] = {**group, "targets": _name_targets(layers)}
        said = list(original.members["config_groups"].values())
        by_group: dict[int, list[str]] = {}
        for name in kept:
            group = scheme.find(name)
            if group is not None:
                by_group.setdefault(scheme.groups.index(group), []).append(name)
        for number, names in by_group.items():
            format = said[number].get("format") or original.members.get("format")
            groups[f"group_{len(groups)}"] = {**said[number], "format": format,
                                              "targets": _name_targets(names)}
        return Written({**written.members, "config_groups": groups, "format": "mixed-precision"})


def _name_targets(names: Iterable[str]) -> list[str]:
    return [f"re:{re.escape(name)}$" for name in names]
