# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small decoders of three families, as folders that Hugging Face's packages load, made from seeds.

`dense` is a Llama with grouped queries, gated MLPs and tied embeddings. `moe` is a Qwen3 with a
dense layer and a layer of experts that have tensors one by one. `gptoss` has its experts in
tensors of three dimensions. Among their weights are outliers, blocks of zeros, -0, denormals,
ties between codes, and an expert of zeros alone.

Files are written here byte by byte, so that a test can also write what no package would.
"""

import hashlib
import itertools
import json
import struct

import ml_dtypes
import numpy as np

DTYPES = {
    "F32": np.float32, "F16": np.float16, "BF16": ml_dtypes.bfloat16, "U8": np.uint8,
    "I8": np.int8, "F8_E4M3": ml_dtypes.float8_e4m3fn, "F8_E8M0": ml_dtypes.float8_e8m0fnu,
    "I64": np.int64,
}
NAMES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}

HIDDEN, HEADS, KV_HEADS, HEAD, VOCABULARY = 128, 4, 2, 32, 160

COMMON = {
    "hidden_size": HIDDEN, "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS,
    "head_dim": HEAD, "vocab_size": VOCABULARY, "num_hidden_layers": 2, "rms_norm_eps": 1e-6,
    "max_position_embeddings": 64, "hidden_act": "silu", "initializer_range": 0.02,
    "attention_dropout": 0.0, "use_cache": True, "bos_token_id": 0, "eos_token_id": 1,
    "pad_token_id": 1, "dtype": "bfloat16",
}
CONFIGS = {
    "dense": COMMON | {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "intermediate_size": 192,
        "tie_word_embeddings": True, "attention_bias": False, "mlp_bias": False,
    },
    "moe": COMMON | {
        "architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe",
        "intermediate_size": 192, "moe_intermediate_size": 64, "num_experts": 4,
        "num_experts_per_tok": 2, "norm_topk_prob": True, "decoder_sparse_step": 1,
        "mlp_only_layers": [0], "tie_word_embeddings": False, "attention_bias": False,
    },
    "gptoss": COMMON | {
        "architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss", "intermediate_size": 64,
        "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 16,
        "layer_types": ["sliding_attention", "full_attention"], "attention_bias": True,
        "tie_word_embeddings": False, "rms_norm_eps": 1e-5,
    },
}
EXPERTS = 4


def bf16(values):
    """The nearest numbers of bf16."""
    return np.asarray(values, np.float32).astype(ml_dtypes.bfloat16)


def make_weight(seed, shape):
    """A weight [.., N, K] in bf16 with what quantizers treat in a way of its own."""
    random = np.random.RandomState(seed)
    values = (random.standard_normal(shape) * 0.05).astype(np.float32)
    rows = values.reshape(-1, shape[-1])
    # Channels differ, and a few are far larger than the others: in trained models the same ones of
    # all weights that read a tensor.
    channels = np.random.RandomState(shape[-1])
    gains = np.exp(0.4 * channels.standard_normal(shape[-1]))
    gains[channels.randint(0, shape[-1], 3)] *= 8
    rows *= gains.astype(np.float32)
    # Members of a group that shares its global scale have amaxes of their own.
    rows[random.randint(len(rows)), random.randint(shape[-1])] = random.uniform(1.25, 2.75)
    # A row that is small, one on a grid with ties between codes, and one of denormals.
    small, grid, tiny, empty = random.permutation(len(rows))[:4]
    rows[small] *= 2.0 ** -14
    rows[grid] = random.randint(-6, 7, shape[-1]) / 8
    rows[grid, 0] = 0.75
    rows[tiny] *= 2.0 ** -125
    rows[empty] = 0
    # A block of zeros and one of -0 among others.
    rows[small, :32] = 0
    rows[grid, 32:64] = -0.0
    return bf16(values)


def add_attention(tensors, seed, layer, has_bias):
    prefix = f"model.layers.{layer}.self_attn."
    for number, (name, rows) in enumerate({"q_proj": HEADS * HEAD, "k_proj": KV_HEADS * HEAD,
                                           "v_proj": KV_HEADS * HEAD}.items()):
        tensors[f"{prefix}{name}.weight"] = make_weight(seed + number, (rows, HIDDEN))
        if has_bias:
            tensors[f"{prefix}{name}.bias"] = make_weight(seed + 20 + number, (4, rows))[0]
    tensors[f"{prefix}o_proj.weight"] = make_weight(seed + 3, (HIDDEN, HEADS * HEAD))
    if has_bias:
        tensors[f"{prefix}o_proj.bias"] = make_weight(seed + 23, (4, HIDDEN))[0]


def add_mlp(tensors, seed, prefix, rows):
    tensors[f"{prefix}gate_proj.weight"] = make_weight(seed, (rows, HIDDEN))
    tensors[f"{prefix}up_proj.weight"] = make_weight(seed + 1, (rows, HIDDEN))
    tensors[f"{prefix}down_proj.weight"] = make_weight(seed + 2, (HIDDEN, rows))


def make_tensors(family):
    """Name -> array, all bf16, in the order of the model."""
    config = CONFIGS[family]
    base = {"dense": 1000, "moe": 2000, "gptoss": 3000}[family]
    tensors = {"model.embed_tokens.weight": make_weight(base, (VOCABULARY, HIDDEN))}
    for layer in range(config["num_hidden_layers"]):
        seed, prefix = base + 100 * (layer + 1), f"model.layers.{layer}."
        tensors[prefix + "input_layernorm.weight"] = bf16(
            1 + np.random.RandomState(seed + 50).standard_normal(HIDDEN) / 8)
        add_attention(tensors, seed, layer, family == "gptoss")
        if family == "moe":
            for number, name in enumerate(["q_norm", "k_norm"]):
                tensors[f"{prefix}self_attn.{name}.weight"] = bf16(
                    1 + np.random.RandomState(seed + 53 + number).standard_normal(HEAD) / 8)
        if family == "gptoss":
            tensors[prefix + "self_attn.sinks"] = bf16(
                np.random.RandomState(seed + 51).standard_normal(HEADS))
        tensors[prefix + "post_attention_layernorm.weight"] = bf16(
            1 + np.random.RandomState(seed + 52).standard_normal(HIDDEN) / 8)
        if family == "dense" or layer in config.get("mlp_only_layers", ()):
            add_mlp(tensors, seed + 10, prefix + "mlp.", config["intermediate_size"])
        elif family == "moe":
            tensors[prefix + "mlp.gate.weight"] = make_weight(seed + 60, (EXPERTS, HIDDEN))
            for expert in range(EXPERTS):
                add_mlp(tensors, seed + 10 + 3 * expert, f"{prefix}mlp.experts.{expert}.",
                        config["moe_intermediate_size"])
            if layer == 1:
                # An expert that training never reached.
                tensors[prefix + "mlp.experts.3.down_proj.weight"][:] = 0
        else:
            add_gptoss_experts(tensors, seed, prefix + "mlp.", config["intermediate_size"])
    tensors["model.norm.weight"] = bf16(np.ones(HIDDEN))
    if not config["tie_word_embeddings"]:
        tensors["lm_head.weight"] = make_weight(base + 1, (VOCABULARY, HIDDEN))
    return tensors


def add_gptoss_experts(tensors, seed, prefix, rows):
    """Experts [E, inputs, outputs], as models of transformers have them in bf16: rows of gate and
    up alternate."""
    tensors[prefix + "router.weight"] = make_weight(seed + 60, (EXPERTS, HIDDEN))
    tensors[prefix + "router.bias"] = bf16(
        np.random.RandomState(seed + 61).standard_normal(EXPERTS) / 4)
    for number, (name, outputs, inputs) in enumerate([("gate_up_proj", 2 * rows, HIDDEN),
                                                      ("down_proj", HIDDEN, rows)]):
        weight = make_weight(seed + 62 + number, (EXPERTS, outputs, inputs))
        tensors[prefix + "experts." + name] = np.ascontiguousarray(weight.transpose(0, 2, 1))
        tensors[prefix + f"experts.{name}_bias"] = make_weight(seed + 70 + number,
                                                               (EXPERTS, outputs))


def hash_array(array):
    """Sixteen bytes of a digest of an array's dtype, shape and bytes. NaN has no sign."""
    digest = hashlib.sha256(f"{NAMES[array.dtype]} {list(array.shape)} ".encode())
    if NAMES[array.dtype] == "F8_E4M3":
        array = array.view(np.uint8)
        array = np.where(array == 0xFF, np.uint8(0x7F), array)
    digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:32]


def torchao_name(name, part):
    """The name of a part of a weight in torchao's files."""
    module, _, weight = name.rpartition(".")
    return f"{module}._{weight}_{part}"


def blank_codes(codes, values):
    """torchao's codes with zeros for those that have no meaning, or not the one that later
    versions give them: those of a tensor of zeros in NVFP4, whose scales are NaN, and in MX those
    of blocks below 3e-36, whose scale is 2^-127, with which 0.18 divides by another number.

    `values` [.., N, K] is what was quantized, to `codes` of its shape, perhaps two to a byte."""
    magnitudes = np.abs(values.astype(np.float32))
    if not magnitudes.any():
        return np.zeros_like(codes)
    amaxes = magnitudes.reshape(*values.shape[:-1], -1, 32).max(-1)
    blocks = codes.view(np.uint8).reshape(*amaxes.shape, 32 * codes.shape[-1] // values.shape[-1])
    return np.where((amaxes < 3e-36)[..., None], 0, blocks).astype(np.uint8).view(
        codes.dtype).reshape(codes.shape)


def blank_tiny_blocks(blocks, values):
    """MXFP4 of GGUF with zeros for blocks of 32 values below 2^-125: the package gguf has a byte
    for their exponents that has wrapped around."""
    amaxes = np.abs(values.astype(np.float32)).reshape(*values.shape[:-1], -1, 32).max(-1)
    parts = blocks.reshape(*amaxes.shape, 17)
    return np.where((amaxes < 2.0 ** -125)[..., None], 0, parts).astype(np.uint8).reshape(
        blocks.shape)


def pack_file(tensors, metadata=None):
    """The bytes of a file of safetensors."""
    header, offset = {}, 0
    if metadata:
        header["__metadata__"] = metadata
    for name, array in tensors.items():
        header[name] = {"dtype": NAMES[array.dtype], "shape": list(array.shape),
                        "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    return pack_header(header) + b"".join(np.ascontiguousarray(array).tobytes()
                                          for array in tensors.values())


def pack_header(header):
    """A header's length and text, which a multiple of 8 bytes ends."""
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text


def read_file(path):
    """(name -> array, metadata) of a file of safetensors that is known to be right."""
    data = path.read_bytes()
    size, = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + size])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        first, last = (8 + size + offset for offset in entry["data_offsets"])
        tensors[name] = np.frombuffer(data[first:last], DTYPES[entry["dtype"]]).reshape(
            entry["shape"])
    return tensors, metadata


def read_folder(folder):
    """Name -> array of all files of a folder."""
    return {name: array for path in sorted(folder.glob("*.safetensors"))
            for name, array in read_file(path)[0].items()}


def write_folder(folder, tensors, config, shards=1, metadata=None):
    """Writes a checkpoint: config.json and safetensors, of several shards with an index."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
    if shards == 1:
        (folder / "model.safetensors").write_bytes(pack_file(tensors, metadata))
        return
    names = list(tensors)
    cuts = [len(names) * number // shards for number in range(shards + 1)]
    index = {"metadata": {"total_size": sum(array.nbytes for array in tensors.values())},
             "weight_map": {}}
    for number, (first, last) in enumerate(itertools.pairwise(cuts), 1):
        file = f"model-{number:05}-of-{shards:05}.safetensors"
        part = {name: tensors[name] for name in names[first:last]}
        (folder / file).write_bytes(pack_file(part, metadata or {"format": "pt"}))
        index["weight_map"] |= dict.fromkeys(part, file)
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")


def write_decoder(folder, family, shards=2):
    """Writes a decoder in bf16; returns its tensors."""
    tensors = make_tensors(family)
    write_folder(folder, tensors, CONFIGS[family], shards)
    return tensors
