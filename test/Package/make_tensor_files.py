# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes Inputs/written.safetensors and Inputs/written.gguf, which test_tensor_files.py reads, by
the packages of these formats: safetensors 0.8.0 and gguf 0.19.0, with PyTorch."""

from pathlib import Path

import gguf
import numpy as np
import torch
from safetensors.torch import save_file

FOLDER = Path(__file__).parent / "Inputs"


def write_safetensors():
    save_file({"weight": torch.arange(-8, 8, dtype=torch.bfloat16).reshape(2, 8) / 4,
               "scale": torch.tensor([1, 0.5, 448, 2 ** -9]).to(torch.float8_e4m3fn),
               "codes": torch.arange(6, dtype=torch.uint8).reshape(3, 2),
               "empty": torch.empty(0, 3), "global": torch.tensor(0.25)},
              str(FOLDER / "written.safetensors"), {"format": "pt", "quote": '"\n\u00e9'})


def write_gguf():
    writer = gguf.GGUFWriter(FOLDER / "written.gguf", "llama")
    writer.add_uint32("llama.block_count", 2)
    writer.add_float32("llama.rope.freq_base", 10000.0)
    writer.add_bool("tokenizer.ggml.add_bos_token", True)
    writer.add_array("tokenizer.ggml.tokens", ["a", "\u00e9", ""])
    writer.add_array("tokenizer.ggml.scores", [0.5, -1.5, 0.0])
    # With ties, zeros of both signs, and a block of zeros.
    x = np.random.default_rng(3).standard_normal((4, 64)).astype(np.float32)
    x[0, :16] = [6, .25, .75, 1.25, 1.75, 2.5, 3.5, 5,
                 -.25, -.75, -1.25, -1.75, -2.5, -3.5, -5, -0.]
    x[1, 32:] = 0
    x[2] *= np.float32(1e-20)
    writer.add_tensor("x", x)
    kind = gguf.GGMLQuantizationType.MXFP4
    writer.add_tensor("x.mxfp4", gguf.quants.quantize(x, kind), raw_dtype=kind)
    writer.add_tensor("half", x[:1].astype(np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    write_safetensors()
    write_gguf()
