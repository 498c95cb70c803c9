# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantizers of other packages on the CPU, as blockscale_vectors.check calls them.

Each takes f32 of bf16 values and the amax of the tensor, which the packages compute themselves, and
gives data and scales as bytes. A package is imported when its quantizer is first called.
"""

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "Data"))


def _bytes(tensor):
    return tensor.detach().contiguous().view(torch.uint8).numpy()


def _bf16(x):
    return torch.from_numpy(x).bfloat16()


def torchao_nvfp4(x, amax):
    from torchao.prototype.mx_formats.nvfp4_tensor import nvfp4_quantize, per_tensor_amax_to_scale
    g = None if amax is None else per_tensor_amax_to_scale(torch.tensor(float(amax)))
    scales, data = nvfp4_quantize(_bf16(x), 16, g)
    return _bytes(data).reshape(len(x), -1), _bytes(scales).reshape(len(x), -1)


def torchao_mx(mode, dtype=torch.float8_e4m3fn):
    def quantize(x, _):
        from torchao.prototype.mx_formats.config import ScaleCalculationMode
        from torchao.prototype.mx_formats.mx_tensor import to_mx
        scales, data = to_mx(_bf16(x), dtype, 32, ScaleCalculationMode(mode))
        return _bytes(data).reshape(len(x), -1), _bytes(scales).reshape(len(x), -1)
    return quantize


def transformer_engine_nvfp4(x, _):
    """The reference of TransformerEngine, in pure PyTorch."""
    from make_training_vectors import load_reference
    kind, e2m1 = load_reference()
    made = kind(dtype=e2m1, quant_tile_shape=(1, 16), with_rht=False).quantize(_bf16(x))
    return _bytes(made.data), _bytes(made.scale)


def modelopt_nvfp4(x, _):
    from modelopt.torch.quantization.qtensor.nvfp4_tensor import NVFP4QTensor
    quantized, scales, _ = NVFP4QTensor.quantize(_bf16(x), 16, try_tensorrt=False)
    # Rows are padded to whole blocks.
    return _bytes(quantized._quantized_data)[:, : -(-x.shape[1] // 2)], _bytes(scales)


def modelopt_mxfp8(x, _):
    from modelopt.torch.quantization.qtensor.mxfp8_tensor import MXFP8QTensor
    quantized, scales = MXFP8QTensor.quantize(_bf16(x))
    return _bytes(quantized._quantized_data), _bytes(scales)


def _compressed(x, preset, form, data, global_scale=None):
    from compressed_tensors.compressors import BaseCompressor
    from compressed_tensors.quantization import preset_name_to_scheme
    from compressed_tensors.quantization.utils import calculate_qparams
    weight = _bf16(x)
    scheme = preset_name_to_scheme(preset, ["Linear"])
    blocks = weight.unflatten(-1, (-1, scheme.weights.group_size))
    scale, _ = calculate_qparams(blocks.amin(-1), blocks.amax(-1), scheme.weights,
                                 global_scale=global_scale)
    state = {"weight": weight, "weight_scale": scale}
    if global_scale is not None:
        state["weight_global_scale"] = global_scale
    made = BaseCompressor.get_value_from_registry(form).compress(state, scheme)
    return _bytes(made[data]), _bytes(made["weight_scale"])


def compressed_tensors_nvfp4(x, _):
    from compressed_tensors.quantization.utils import generate_gparam
    weight = _bf16(x)
    encode = generate_gparam(weight.amin().reshape(1), weight.amax().reshape(1))
    return _compressed(x, "NVFP4", "nvfp4-pack-quantized", "weight_packed", encode)


def compressed_tensors_mx(x, _):
    return _compressed(x, "MXFP8", "mxfp8-quantized", "weight")
