# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NVIDIA's ModelOpt: NVFP4 and MXFP8 with a configuration in either of two files."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from blockscale import _native
from blockscale.checkpoint._config import (
    MODELOPT_CONFIG,
    Group,
    Scheme,
    get_names,
    get_object,
    read_cache,
)
from blockscale.checkpoint._families._family import (
    Evidence,
    Family,
    Quantized,
    Written,
    find_fp8_format,
)
from blockscale.checkpoint._layouts import Layout

#: Algorithms that have a layout here: format, and whether activations are quantized.
_ALGORITHMS = {
    "NVFP4": ("nvfp4", True), "W4A16_NVFP4": ("nvfp4", False), "NVFP4_AWQ": ("nvfp4", True),
    "NVFP4_SVD": ("nvfp4", True), "MXFP8": ("mxfp8", True), "MXFP4": ("mxfp4", True),
    "FP8": ("fp8_tensor", True), "FP8_PER_CHANNEL_PER_TOKEN": ("fp8_channel", True),
    "FP8_PB_WO": ("fp8_blocks", True),
}
#: What loaders look for: they take a configuration of ModelOpt from this producer alone.
_PRODUCER = {"name": "modelopt", "version": f"blockscale-{_native.version}"}


def _read_group(algorithm: Any, targets: Iterable[str] = ()) -> Group:
    format, is_quantized = _ALGORITHMS.get(str(algorithm).upper(), ("", True))
    return Group(str(algorithm), format, is_quantized,
                 is_quantized and format in ("nvfp4", "fp8_tensor"), tuple(targets))


def read_members(members: Mapping[str, Any], where: str, ignored: str) -> Scheme:
    """What the members of either file say; names that are left have another member in each."""
    cache = read_cache(members)
    names = get_names(members.get(ignored), f"{where}: {ignored}")
    algorithm = members.get("quant_algo")
    if algorithm == "MIXED_PRECISION":
        by_algorithm: dict[str, list[str]] = {}
        layers = get_object(members.get("quantized_layers", {}), f"{where}: quantized_layers")
        for name, each in layers.items():
            found = get_object(each, f"{where}: quantized_layers: {name}").get("quant_algo")
            by_algorithm.setdefault(str(found), []).append(name)
        return Scheme("modelopt", tuple(_read_group(each, targets)
                                        for each, targets in by_algorithm.items()), names, where,
                      cache)
    groups = () if algorithm is None else (_read_group(algorithm),)
    return Scheme("modelopt", groups, names, where, cache)


def _get_algorithm(layer: Quantized) -> str:
    if layer.algorithm:
        return layer.algorithm
    name = layer.layout.format.upper()
    return name if layer.quantizes_activations or name != "NVFP4" else "W4A16_NVFP4"


def _write_group(algorithm: str, group_size: int) -> dict[str, Any]:
    bits = 8 if algorithm == "MXFP8" else 4
    operand = {"dynamic": False, "num_bits": bits, "type": "float", "group_size": group_size}
    if algorithm == "W4A16_NVFP4":
        return {"weights": operand}
    return {"input_activations": dict(operand), "weights": operand}


class ModelOpt(Family):
    """Two files have the configuration; loaders read hf_quant_config.json where config.json says
    nothing."""

    name = "modelopt"
    layouts = (
        Layout("ModelOpt NVFP4", "modelopt", "nvfp4", "modelopt", "modelopt", (".weight", "U8"),
               (".weight_scale", "F8_E4M3"), ".weight_scale_2", ".input_scale",
               needs_input_scale=True, shares_global=True),
        Layout("ModelOpt MXFP8", "modelopt", "mxfp8", "rceil", "rceil", (".weight", "F8_E4M3"),
               (".weight_scale", "U8"), activations="quantized"),
        Layout("ModelOpt MXFP4", "modelopt", "mxfp4", data=(".weight", "U8"),
               scales=(".weight_scale", "U8"), is_written=False),
        *(Layout(f"ModelOpt {name}", "modelopt", format, data=(".weight", "F8_E4M3"),
                 scales=(".weight_scale", "F32"), scale_types=("BF16", "F16"),
                 input_scale=".input_scale", is_written=False)
          for name, format in (("FP8", "fp8_tensor"), ("FP8 of rows", "fp8_channel"),
                               ("FP8 in blocks", "fp8_blocks"))),
        # Stacks of experts, as those of Llama-4 are.
        Layout("ModelOpt NVFP4 stack", "modelopt", "nvfp4", data=("", "U8"),
               scales=("_weight_scale", "F8_E4M3"), global_scale="_weight_scale_2",
               input_scale="_input_scale", is_stack=True, is_written=False),
        *(Layout(f"ModelOpt {name} stack", "modelopt", format, data=("", "F8_E4M3"),
                 scales=("_weight_scale", "F32"), scale_types=("BF16", "F16"),
                 input_scale="_input_scale", is_stack=True, is_written=False)
          for name, format in (("FP8", "fp8_tensor"), ("FP8 of rows", "fp8_channel"))),
    )
    methods = ("modelopt",)
    caches = ("FP8",)

    def recognizes(self, members: Mapping[str, Any]) -> bool:
        method = members.get("quant_method")
        return method == "modelopt" or (method is None and "quant_algo" in members)

    def read(self, members: Mapping[str, Any], where: str) -> Scheme:
        return read_members(members, where, "ignore" if "ignore" in members else "exclude_modules")

    def guess(self, evidence: Evidence) -> Layout | None:
        dtype = evidence.get_dtype(".weight")
        if "" in evidence.parts:
            if evidence.get_dtype("") == "U8":
                return self.find_read("nvfp4", is_stack=True)
            return self.find_read(find_fp8_format(evidence, "", "_weight_scale"), is_stack=True)
        if dtype in ("U8", "I8"):
            return self._guess_fp4(evidence, dtype)
        return self.find_read(find_fp8_format(evidence))

    def _guess_fp4(self, evidence: Evidence, dtype: str) -> Layout | None:
        scales = evidence.parts.get(".weight_scale")
        if dtype == "I8" and (scales is None or scales.dtype not in ("U8", "F8_E4M3")):
            return None  # Integers.
        data = evidence.parts[".weight"]
        # A byte has two codes.
        is_mx = scales is not None and scales.dtype == "U8" and bool(data.shape) and (
            scales.shape == (*data.shape[:-1], data.shape[-1] // 16))
        return self.find_read("mxfp4" if is_mx and evidence.format in ("", "mxfp4") else "nvfp4")

    def write(self, layers: Mapping[str, Quantized], left: Sequence[str],
              kv_cache: str) -> Written:
        by_algorithm: dict[tuple[str, int], list[str]] = collections.defaultdict(list)
        for name, layer in layers.items():
            by_algorithm[_get_algorithm(layer), layer.layout.block].append(name)
        inner: dict[str, Any] = {"quant_algo": None, "kv_cache_quant_algo": None,
                                 "exclude_modules": list(left)}
        outer: dict[str, Any] = {}
        if len(by_algorithm) == 1:
            (algorithm, size), = by_algorithm
            inner = {"quant_algo": algorithm, "kv_cache_quant_algo": None, "group_size": size,
                     "exclude_modules": list(left)}
            if algorithm != "MXFP8":
                group = {**_write_group(algorithm, size), "targets": ["Linear"]}
                outer["config_groups"] = {"group_0": group}
        elif by_algorithm:
            each = {name: {"quant_algo": algorithm, "group_size": size}
                    for (algorithm, size), names in by_algorithm.items() for name in names}
            inner = {"quant_algo": "MIXED_PRECISION", "kv_cache_quant_algo": None,
                     "quantized_layers": each, "exclude_modules": list(left)}
            outer["config_groups"] = {
                f"group_{number}": {**_write_group(algorithm, size), "targets": sorted(names)}
                for number, ((algorithm, size), names) in enumerate(by_algorithm.items())}
            outer["quantized_layers"] = each
        outer.update({"ignore": list(left), "quant_algo": inner["quant_algo"],
                      "producer": _PRODUCER, "quant_method": "modelopt"})
        if kv_cache == "FP8":
            inner["kv_cache_quant_algo"] = kv_cache
            outer["kv_cache_scheme"] = {"dynamic": False, "num_bits": 8, "type": "float"}
        return Written(outer, {MODELOPT_CONFIG: {"producer": _PRODUCER, "quantization": inner}})

    def take_over(self, original: Written, written: Written) -> Written:
        """The KV cache, whatever its form."""
        inner = _get_inner(original)
        if not inner.get("kv_cache_quant_algo") and not original.members.get("kv_cache_scheme"):
            return written
        outer = dict(written.members)
        if original.members.get("kv_cache_scheme") and not outer.get("kv_cache_scheme"):
            outer["kv_cache_scheme"] = original.members["kv_cache_scheme"]
        files = {name: dict(each) for name, each in written.files.items()}
        said = dict(files[MODELOPT_CONFIG]["quantization"])
        if inner.get("kv_cache_quant_algo"):
            said["kv_cache_quant_algo"] = inner["kv_cache_quant_algo"]
        files[MODELOPT_CONFIG]["quantization"] = said
        return Written(outer, files)

    def keep(self, original: Written, written: Written | None, layers: Mapping[str, Quantized],
             kept: Sequence[str], decoded: Sequence[str]) -> Written:
        inner = _get_inner(original)
        said = {**inner.get("quantized_layers", {})} or {
            **original.members.get("quantized_layers", {})}
        all_alike = {name: inner[name] for name in ("quant_algo", "group_size") if name in inner}
        if not all_alike and "quant_algo" in original.members:
            all_alike = {"quant_algo": original.members["quant_algo"]}
        each = {name: said.get(name, all_alike) for name in kept}
        if written is not None:
            each = {**{name: {"quant_algo": _get_algorithm(layer),
                              "group_size": layer.layout.block}
                       for name, layer in layers.items()}, **each}
        left = list((written or original).members.get("ignore", ()))
        left += [name for name in decoded if written is None and name not in left]
        mixed = {"quant_algo": "MIXED_PRECISION", "quantized_layers": each}
        outer = {**(written or original).members, **mixed, "ignore": left}
        outer.pop("config_groups", None)
        cache = inner.get("kv_cache_quant_algo")
        return Written(outer, {MODELOPT_CONFIG: {
            "producer": _PRODUCER, "quantization": {
                **mixed, "kv_cache_quant_algo": cache, "exclude_modules": left}}})


def _get_inner(original: Written) -> Mapping[str, Any]:
    found = original.files.get(MODELOPT_CONFIG, {}).get("quantization", {})
    return found if isinstance(found, dict) else {}
