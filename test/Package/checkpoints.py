# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small checkpoints for tests, and the numbers of quantized ones by tables."""

import json
import os
from pathlib import Path
from unittest import mock

import ml_dtypes
import numpy as np

from blockscale._native._checkpoint import Metadata, lay_out
from blockscale.checkpoint import _command

NAMES = {"uint8": "U8", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64",
         "float8_e4m3fn": "F8_E4M3", "float8_e8m0fnu": "F8_E8M0"}
#: The numbers of the codes of E2M1.
VALUES = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
VALUES = np.concatenate([VALUES, -VALUES])
HIDDEN, INNER, VOCABULARY, EXPERTS = 64, 128, 96, 3


def save(path, tensors, metadata=None):
    """Writes a file of safetensors, or of GGUF, of arrays or (type, shape, bytes)."""
    rows, parts = [], []
    for name, value in tensors.items():
        if isinstance(value, np.ndarray):
            value = NAMES[value.dtype.name], value.shape, value.tobytes()
        rows.append((name, value[0], value[1]))
        parts.append(value[2])
    format = "gguf" if str(path).endswith(".gguf") else "safetensors"
    entries = metadata if isinstance(metadata, list) else [
        Metadata(key, "string", value) for key, value in (metadata or {"format": "pt"}).items()]
    layout = lay_out(format, rows, entries if format == "safetensors" or metadata else [])
    data = bytearray(layout.nbytes)
    data[:len(layout.header)] = layout.header
    for offset, part in zip(layout.offsets, parts):
        data[offset:offset + len(part)] = part
    Path(path).write_bytes(data)


def make_model(dtype=ml_dtypes.bfloat16, layers=2, seed=0, transposed=False, per_expert=False,
               hidden=HIDDEN):
    """Tensors and configuration of a decoder: dense layers, then experts in stacks or one by
    one."""
    random = np.random.default_rng(seed)

    def make(*shape):
        # Rows of different sizes, so that their global scales differ.
        x = random.standard_normal(shape, dtype=np.float32) * np.float32(random.uniform(0.2, 3))
        return x.astype(dtype)
    tensors = {"model.embed_tokens.weight": make(VOCABULARY, hidden)}
    for layer in range(layers):
        path = f"model.layers.{layer}."
        tensors[f"{path}input_layernorm.weight"] = make(hidden)
        for name, rows in (("q", hidden), ("k", 32), ("v", 32), ("o", hidden)):
            tensors[f"{path}self_attn.{name}_proj.weight"] = make(rows, hidden)
        tensors[f"{path}self_attn.q_proj.bias"] = make(hidden)
        if layer % 2 == 0:
            for name, shape in (("gate", (INNER, hidden)), ("up", (INNER, hidden)),
                                ("down", (hidden, INNER))):
                tensors[f"{path}mlp.{name}_proj.weight"] = make(*shape)
            continue
        tensors[f"{path}mlp.gate.weight"] = make(EXPERTS, hidden)
        stacks = {"gate_up_proj": make(EXPERTS, 2 * INNER, hidden),
                  "down_proj": make(EXPERTS, hidden, INNER)}
        for name, stack in stacks.items():
            if per_expert:
                for number, each in enumerate(stack):
                    rows = {"gate_proj": each[:INNER], "up_proj": each[INNER:]}
                    for part, weight in (rows if name == "gate_up_proj"
                                         else {"down_proj": each}).items():
                        tensors[f"{path}mlp.experts.{number}.{part}.weight"] = weight
                continue
            order = (0, 2, 1) if transposed else (0, 1, 2)
            tensors[f"{path}mlp.experts.{name}"] = np.ascontiguousarray(stack.transpose(order))
    tensors["model.norm.weight"] = make(hidden)
    tensors["lm_head.weight"] = make(VOCABULARY, hidden)
    return tensors, {"model_type": "test", "hidden_size": hidden, "tie_word_embeddings": False}


def write_model(folder, tensors, config, shards=1):
    """A folder with a checkpoint; with more than one shard it has an index."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer.json").write_text('{"model": {}}')
    if shards == 1:
        save(folder / "model.safetensors", tensors)
        return folder
    names, index = list(tensors), {}
    for number in range(shards):
        name = f"model-{number + 1:05}-of-{shards:05}.safetensors"
        save(folder / name, {each: tensors[each] for each in names[number::shards]})
        index.update(dict.fromkeys(names[number::shards], name))
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
    return folder


def run_command(*arguments):
    """The exit status of blockscale-checkpoint, which leaves the environment as it was, and nothing
    in the user's cache."""
    with mock.patch.dict(os.environ, BLOCKSCALE_CACHE_DIR=""):
        return _command.main(list(map(str, arguments)))


def unpack(data):
    """Numbers of bytes of two codes, the even one in the low nibble."""
    return VALUES[np.stack([data & 15, data >> 4], -1).reshape(*data.shape[:-1], -1)]


def decode(format, data, scales, global_scale=1.0):
    """The numbers of a weight, by tables."""
    if format in ("nvfp4", "mxfp4"):
        codes = unpack(np.asarray(data).view(np.uint8))
    else:
        codes = np.asarray(data).view(ml_dtypes.float8_e4m3fn).astype(np.float32)
    scales = np.asarray(scales).view(np.uint8)
    factors = (scales.view(ml_dtypes.float8_e4m3fn) if format == "nvfp4"
               else scales.view(ml_dtypes.float8_e8m0fnu)).astype(np.float32)
    block = codes.shape[-1] // scales.shape[-1]
    return codes * np.repeat(factors, block, -1) * np.float32(global_scale)


def read_bytes(folder):
    """All files of a folder by name."""
    return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}
