#!/usr/bin/env python3
# ===- make_oracle_vectors.py - Vectors of recipes that others compute ----===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Writes oracles/*.npz beside this file, or compares them with what it computes.

Every expected array is computed by a package of others, on the CPU:
tosa_reference_model of tosa-tools (`tosa*`, and the MXINT8 product), or
compressed-tensors (`compressed_tensors*`). The inputs are made here, with fixed seeds.

  scripts/peers.sh oracles
  .cache/oracles/bin/python test/Data/make_oracle_vectors.py           writes
  .cache/oracles/bin/python test/Data/make_oracle_vectors.py --check   compares

The last line of --check is `N passed, N failed`: arrays.

A case has the form of those in golden: `in_*`, `out_*` and `meta`, raw bits. E2M1 is
packed two codes to a byte, codes of 6 bits have a byte each, INT8 is its two's
complement.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from importlib.metadata import version

import ml_dtypes
import numpy as np
import torch
from compressed_tensors.compressors import BaseCompressor
from compressed_tensors.quantization import preset_name_to_scheme
from compressed_tensors.quantization.lifecycle.forward import dequantize
from compressed_tensors.quantization.utils import calculate_qparams, generate_gparam

F32 = np.float32
BF16 = ml_dtypes.bfloat16
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "oracles")
TOOLS = os.path.dirname(sys.executable)


class Case:
    """Arrays of one file. Values are stored as their bits."""

    def __init__(self, name, op, package, **meta):
        self.name, self.arrays = name, {}
        packages = {p: version(p) for p in package}
        self.meta = {"op": op, "packages": packages, **meta}

    def store(self, prefix, **arrays):
        for name, values in arrays.items():
            if isinstance(values, torch.Tensor):
                values = bits_of_torch(values)
            unsigned = {1: np.uint8, 2: np.uint16, 4: np.uint32}
            values = np.ascontiguousarray(values)
            self.arrays[prefix + name] = values.view(unsigned[values.itemsize])

    def archive(self):
        return {"meta": np.array(json.dumps(self.meta)), **self.arrays}


def bits_of_torch(tensor):
    integers = {1: torch.uint8, 2: torch.int16, 4: torch.int32}
    return tensor.contiguous().view(integers[tensor.element_size()]).numpy()


# ---------------------------------------------------------------- TOSA

# Element types of TOSA, by the prefix of their arrays.
TOSA = {
    "": ("f8E4M3FN", ml_dtypes.float8_e4m3fn),
    "e5m2_": ("f8E5M2", np.uint8),
    "fp4_": ("f4E2M1FN", np.uint8),
    "fp6e2m3_": ("f6E2M3FN", np.uint8),
    "fp6e3m2_": ("f6E3M2FN", np.uint8),
    "int8_": ("!tosa.mxint8", np.uint8),
}
BLOCK = "{block_size = #tosa.block_size<BLOCK_SIZE_32>}"


def run_tosa(module, inputs, results):
    """The results of a TOSA function on the reference model."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "m.mlir"), "w") as file:
            file.write(module)
        serialize = "--tosa-serialize=tosa-flatbuffer-filename=m.tosa"
        call(folder, "tosa-opt", "m.mlir", serialize)
        for i, array in enumerate(inputs):
            np.save(os.path.join(folder, f"in{i}.npy"), array)

        def numbered(name, count):
            return ",".join(name.format(i) for i in range(count))

        call(
            folder,
            "tosa_reference_model",
            "--tosa_file=m.tosa",
            "--flatbuffer_dir=.",
            "--output_dir=.",
            "--tosa_level=NONE",
            "--ifm_name=" + numbered("TosaInput_{}", len(inputs)),
            "--ifm_file=" + numbered("in{}.npy", len(inputs)),
            "--ofm_name=" + numbered("TosaOutput_{}", results),
            "--ofm_file=" + numbered("out{}.npy", results),
        )
        return [np.load(os.path.join(folder, f"out{i}.npy")) for i in range(results)]


def call(folder, tool, *arguments):
    command = [os.path.join(TOOLS, tool), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{tool} failed:\n{done.stdout}{done.stderr}")


def unpack6(packed):
    """[.., 3 B / 4] bytes to [.., B] codes of 6 bits, the first in the lowest bits."""
    words = packed.reshape(*packed.shape[:-1], -1, 3).astype(np.uint32)
    words = words[..., 0] | words[..., 1] << 8 | words[..., 2] << 16
    codes = np.stack([words >> 6 * i & 63 for i in range(4)], axis=-1)
    return codes.reshape(*packed.shape[:-1], -1).astype(np.uint8)


def pack6(codes):
    words = codes.reshape(*codes.shape[:-1], -1, 4).astype(np.uint32)
    words = sum(words[..., i] << 6 * i for i in range(4))
    packed = np.stack([words >> 8 * i & 255 for i in range(3)], axis=-1)
    return packed.reshape(*codes.shape[:-1], -1).astype(np.uint8)


def pack4(codes):
    return codes[..., 0::2] | codes[..., 1::2] << 4


def tosa_types(x, prefix, element):
    m, k = x
    data = f"tensor<{m}x{k}x{TOSA[prefix][0]}>"
    return f"tensor<{m}x{k}x{element}>", data, f"tensor<{m}x{k // 32}xf8E8M0FNU>"


def tosa_quantize(x, prefix):
    """Codes and scales of x, which is f32 or bf16."""
    x_type, data, scale = tosa_types(x.shape, prefix, "f32" if x.dtype == F32 else "bf16")
    codes, scales = run_tosa(
        f"func.func @main(%x: {x_type}) -> ({data}, {scale}) {{\n"
        f"%d, %s = tosa.cast_to_block_scaled %x {BLOCK} : ({x_type}) -> ({data}, {scale})\n"
        f"return %d, %s : {data}, {scale}\n}}",
        [x],
        2,
    )
    codes = codes.view(np.uint8)
    return unpack6(codes) if "fp6" in prefix else codes, scales.view(np.uint8)


def tosa_dequantize(codes, scales, prefix, element):
    """f32 or bf16 values of codes, one a byte."""
    y_type, data, scale = tosa_types(codes.shape, prefix, element)
    stored = pack4(codes) if prefix == "fp4_" else codes
    stored = pack6(codes) if "fp6" in prefix else stored
    return run_tosa(
        f"func.func @main(%d: {data}, %s: {scale}) -> {y_type} {{\n"
        f"%y = tosa.cast_from_block_scaled %d, %s {BLOCK} : ({data}, {scale}) -> {y_type}\n"
        f"return %y : {y_type}\n}}",
        [stored.view(TOSA[prefix][1]), scales.view(ml_dtypes.float8_e8m0fnu)],
        1,
    )[0]


def tosa_case(distribution, x):
    case = named("tosa", distribution, x, "mx_quantize", ["tosa-tools"])
    for prefix in TOSA:
        codes, scales = tosa_quantize(x, prefix)
        case.store(f"out_{prefix}tosa_1x32_", qdata=codes, scale=scales)
    return case


def tosa_dequantize_case():
    """Every code under scales from end to end."""
    case = Case("tosa_dequantize__every_code", "mx_dequantize", ["tosa-tools"])
    ends = np.array([0, 1, 23, 127, 246, 252, 254, 255], np.uint8)
    for prefix in TOSA:
        count = {"fp4_": 16, "fp6e2m3_": 64, "fp6e3m2_": 64}.get(prefix, 256)
        codes = np.arange(max(count, 32)) % count
        codes = np.tile(codes.astype(np.uint8), (len(ends), 1))
        scales = np.repeat(ends[:, None], codes.shape[1] // 32, axis=1)
        stored = pack4(codes) if prefix == "fp4_" else codes
        case.store(f"in_{prefix}tosa_1x32_", qdata=stored, scale=scales)
        for element in ("f32", "bf16"):
            values = tosa_dequantize(codes, scales, prefix, element)
            case.store(f"out_{prefix}tosa_1x32_", **{f"dequant_{element}": values})
    return case


def tosa_product_case(m, k, n):
    """The product of two MXINT8 matrices, with scales from row to row."""
    case = Case(
        f"mm_mxint8__outlier_{m}x{k}x{n}",
        "mxint8_scaled_mm",
        ["tosa-tools"],
        shape=[m, k, n],
    )
    operands, exact = [], []
    for name, rows, seed in (("a", m, 41), ("b", n, 42)):
        codes, scales = tosa_quantize(outlier(rows, k, seed), "int8_")
        case.store("in_", **{f"{name}_q": codes, f"{name}_scale": scales})
        operands += [codes[None], scales.view(ml_dtypes.float8_e8m0fnu)[None]]
        factors = np.exp2(scales.astype(np.float64) - 127)
        exact.append(codes.view(np.int8) / 64 * np.repeat(factors, 32, axis=1))
    types = [
        f"tensor<1x{rows}x{columns}x{element}>"
        for rows in (m, n)
        for columns, element in ((k, "!tosa.mxint8"), (k // 32, "f8E8M0FNU"))
    ]
    y = f"tensor<1x{m}x{n}xf32>"
    arguments = ", ".join(f"%x{i}: {type}" for i, type in enumerate(types))
    (product,) = run_tosa(
        f"func.func @main({arguments}) -> {y} {{\n"
        f"%y = tosa.matmul_t_block_scaled %x0, %x1, %x2, %x3 {BLOCK}"
        f" : ({', '.join(types)}) -> {y}\nreturn %y : {y}\n}}",
        operands,
        1,
    )
    a, b = exact
    value, absdot = a @ b.T, np.abs(a) @ np.abs(b).T
    case.store(
        "out_",
        tosa_y_f32=product[0],
        y_f32=value.astype(F32),
        y_bf16=value.astype(F32).astype(BF16),
        absdot_f32=absdot.astype(F32),
    )
    return case


# -------------------------------------------------- compressed-tensors

PRESETS = {
    "": ("MXFP8", "mxfp8-quantized", "weight"),
    "fp4_": ("MXFP4", "mxfp4-pack-quantized", "weight_packed"),
    "fp6e2m3_": ("MXFP6A16", "mxfp6-pack-quantized", "weight_packed"),
}


def to_torch(x):
    tensor = torch.from_numpy(x.astype(F32))
    return tensor if x.dtype == F32 else tensor.bfloat16()


def compress(weight, preset, format, global_scale=None):
    """What a compressed checkpoint holds for a weight: tensors by name."""
    scheme = preset_name_to_scheme(preset, ["Linear"])
    blocks = weight.unflatten(-1, (-1, scheme.weights.group_size))
    scale, _ = calculate_qparams(
        blocks.amin(-1), blocks.amax(-1), scheme.weights, global_scale=global_scale
    )
    state = {"weight": weight, "weight_scale": scale}
    if global_scale is not None:
        state["weight_global_scale"] = global_scale
    compressor = BaseCompressor.get_value_from_registry(format)
    return compressor.compress(state, scheme), compressor, scheme


def compressed_mx_case(distribution, x):
    case = named(
        "compressed_tensors_mx", distribution, x, "mx_quantize", ["compressed-tensors", "torch"]
    )
    for prefix, (preset, format, data) in PRESETS.items():
        state, compressor, scheme = compress(to_torch(x), preset, format)
        codes = bits_of_torch(state[data])
        if "fp6" in prefix:
            codes = unpack6(codes)
        case.store(
            f"out_{prefix}compressed_tensors_1x32_",
            qdata=codes,
            scale=state["weight_scale"],
            dequant_bf16=compressor.decompress(state, scheme)["weight"],
        )
    return case


def compressed_nvfp4_case(distribution, x, static=()):
    """With the tensor's own global scale, and with given ones, as decode scales."""
    case = named(
        "compressed_tensors_nvfp4",
        distribution,
        x,
        "nvfp4_quantize",
        ["compressed-tensors", "torch"],
    )
    weight = to_torch(x)
    own = generate_gparam(weight.amin().reshape(1), weight.amax().reshape(1))
    amax = weight.abs().max().float().reshape(1)
    case.store("out_ct_", amax=amax, encode_scale=own)
    given = {f"ct_static{i}_": torch.tensor([1 / F32(g)]) for i, g in enumerate(static)}
    for i, g in enumerate(static):
        case.store(f"in_ct_static{i}_", per_tensor_scale=np.array([g], F32))
    for prefix, encode in {"ct_": own, **given}.items():
        state, compressor, scheme = compress(weight, "NVFP4", "nvfp4-pack-quantized", encode)
        codes, scale = state["weight_packed"], state["weight_scale"]
        case.store("out_" + prefix, qdata=codes, scale=scale)
        if prefix in given:
            case.store("out_" + prefix, dequant_f32=decompressed(codes, scale, encode, scheme))
            weights = compressor.decompress(state, scheme)["weight"]
            case.store("out_" + prefix, dequant_bf16=weights)
    return case


def decompressed(packed, scale, encode, scheme):
    """The f32 values behind the bf16 ones that the package gives."""
    magnitudes = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    table = torch.cat([magnitudes, -magnitudes])
    codes = torch.stack([packed & 15, packed >> 4], dim=-1).flatten(-2)
    return dequantize(
        table[codes.long()], scale.float(), args=scheme.weights, global_scale=encode
    )


# -------------------------------------------------------------- inputs
#
# Of MXINT8, the reference model (2026.8.0) makes +-1 of some elements that are less
# than 2^-48 of their scale, by a shift that is too far. No block here reaches so low.


def named(kind, distribution, x, op, package):
    element = "f32" if x.dtype == F32 else "bf16"
    name = f"{kind}__{distribution}_{x.shape[0]}x{x.shape[1]}_{element}"
    case = Case(name, op, package, shape=list(x.shape), distribution=distribution)
    case.store("in_", x=x)
    return case


def random(m, k, seed):
    return np.random.default_rng(seed).standard_normal((m, k)).astype(F32)


def outlier(m, k, seed):
    """Columns and rows of very different size: scales differ from block to block."""
    rng = np.random.default_rng(seed)
    x = random(m, k, seed + 1000)
    x[:, rng.choice(k, k // 32, replace=False)] *= rng.uniform(20, 120)
    return x * np.exp2(rng.integers(-9, 10, (m, 1))).astype(F32)


def loguniform(m, k, seed, block):
    """Blocks between 2^-60 and 2^60."""
    gains = np.random.default_rng(seed).integers(-60, 61, (m, k // block))
    return random(m, k, seed + 1000) * np.exp2(np.repeat(gains, block, 1)).astype(F32)


def grid(m, k, seed):
    """Integers of few bits: many values lie half-way between two codes."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-255, 256, (m, k)) >> rng.integers(0, 8, (m, k))
    return np.ldexp(x.astype(F32), rng.integers(-7, 1, (m, 1)))


def uniform(m, k, seed):
    """Blocks of 16 with one amax, 1.5."""
    x = np.random.default_rng(seed).uniform(-1.5, 1.5, (m, k)).astype(F32)
    x[:, ::16] = 1.5
    return x


def tiny(m, k, seed):
    """Magnitudes about f32's smallest normal value, many of them subnormal."""
    return random(m, k, seed) * np.exp2(F32(-128))


def huge(m, k, seed):
    """Up to f32's largest value."""
    x = random(m, k, seed) * np.exp2(F32(126))
    return np.clip(x, -np.finfo(F32).max, np.finfo(F32).max)


def special(m, k, seed):
    """Blocks of zeros, -0, infinities and NaNs among ordinary ones."""
    x = random(m, k, seed)
    x[0, :32], x[1, 32:] = 0, -0.0
    x[2, 5], x[3, 40], x[4, 7], x[4, 9] = np.inf, -np.inf, np.nan, -np.inf
    x[5, 33], x[6, ::3], x[6, 1] = np.nan, -0.0, -1e-6
    x[7, :], x[7, 0] = -np.float32(2.0**-20), 1
    return x


def with_nan(m, k, seed):
    x = random(m, k, seed)
    x[1, 3] = np.nan
    return x


def with_infinity(m, k, seed):
    x = random(m, k, seed)
    x[1, 3] = -np.inf
    return x


def lanes(amax, block=32):
    """Blocks of these amaxes: also half of them below zero, -0, and ties."""
    x = np.zeros((len(amax), block), F32)
    parts = (1, -0.5, -0.0, -(2.0**-13), 0.15625, -0.4375, 0.859375, 0.33203125)
    with np.errstate(under="ignore"):
        for i, part in enumerate(parts):
            x[:, i] = amax * F32(part)
    return x


def edges_f32(exponents):
    """Amaxes at and beside where a rule takes the next scale, and powers of two."""
    mantissas = np.array([1, 1.75, 1.8125, 1.875, 1.9375, 1.9921875], np.float64)
    at = (mantissas[:, None] * np.exp2(np.array(exponents, np.float64))).astype(F32).ravel()
    beside = [np.nextafter(at, F32(0)), at, np.nextafter(at, F32(np.inf))]
    return lanes(np.unique(np.concatenate(beside)))


def edges_bf16(fields):
    """Each mantissa of bf16 with these exponent fields, zero among them."""
    bits = [field << 7 | mantissa for field in fields for mantissa in range(128)]
    return lanes(np.array(bits, np.uint16).view(BF16).astype(F32)).astype(BF16)


def ties(decode):
    """Blocks whose scale, and whose elements under it, lie at and beside a tie when
    the global scale is `decode`."""
    ends = np.array([9.5, 10.5, 13.5, 17, 19, 23, 27, 29], F32)  # of e4m3
    amax = (6 * ends * F32(decode)).astype(F32)
    x = np.zeros((3 * len(ends), 16), F32)
    beside = [np.nextafter(amax, F32(0)), amax, np.nextafter(amax, F32(np.inf))]
    x[:, 0] = np.concatenate(beside)
    encode = torch.tensor([1 / F32(decode)])
    state, _, _ = compress(to_torch(x), "NVFP4", "nvfp4-pack-quantized", encode)
    scale = state["weight_scale"].float() / encode
    middles = np.array([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5], F32)
    tie = scale.numpy() * middles
    x[:, 1:8] = np.nextafter(tie, F32(0))
    x[:, 8:15] = -np.nextafter(tie, F32(np.inf))
    x[:, 15] = tie[:, 3]
    return x


EXPONENTS = [-148, -133, *range(-128, -123), *range(-120, -116), -112, -111, 0, 1, 99,
             *range(119, 128)]


def cases():
    finite = [e for e in EXPONENTS if e < 127]
    yield tosa_case("edges", edges_f32(EXPONENTS))
    yield tosa_case("edges", edges_bf16([0, 1, 8, 127, 254]))
    yield tosa_case("normal", random(16, 96, 1).astype(BF16))
    yield tosa_case("outlier", outlier(8, 128, 2))
    yield tosa_case("loguniform", loguniform(16, 64, 3, 32))
    yield tosa_case("grid", grid(16, 64, 4))
    yield tosa_case("uniform", uniform(4, 64, 5).astype(BF16))
    yield tosa_case("tiny", tiny(8, 64, 6))
    yield tosa_case("huge", huge(8, 64, 7))
    yield tosa_case("special", special(8, 64, 8).astype(BF16))
    yield tosa_case("special", special(8, 64, 9))
    yield tosa_dequantize_case()
    yield tosa_product_case(24, 96, 20)

    yield compressed_mx_case("edges", edges_f32(finite))
    yield compressed_mx_case("edges", edges_bf16([0, 8, 127, 253]))
    yield compressed_mx_case("normal", random(16, 96, 11).astype(BF16))
    yield compressed_mx_case("outlier", outlier(8, 128, 12))
    yield compressed_mx_case("loguniform", loguniform(16, 64, 13, 32))
    yield compressed_mx_case("grid", grid(16, 64, 14))
    yield compressed_mx_case("uniform", uniform(4, 64, 15).astype(BF16))
    yield compressed_mx_case("tiny", tiny(8, 64, 16))

    static = (1.0, 2.0**-9, 0.00123)
    yield compressed_nvfp4_case("normal", random(12, 80, 21).astype(BF16), static)
    yield compressed_nvfp4_case("normal", random(8, 80, 22), static[2:])
    weights = random(32, 128, 23) * F32(0.02)
    yield compressed_nvfp4_case("weight", weights.astype(BF16))
    yield compressed_nvfp4_case("outlier", outlier(8, 128, 24))
    yield compressed_nvfp4_case("loguniform", loguniform(8, 64, 25, 16), static)
    yield compressed_nvfp4_case("grid", grid(16, 64, 26).astype(BF16), static[:1])
    yield compressed_nvfp4_case("ties", ties(1.0), static[:1])
    yield compressed_nvfp4_case("other_ties", ties(static[2]), static[2:])
    yield compressed_nvfp4_case("uniform", uniform(4, 64, 27))
    yield compressed_nvfp4_case("tiny", tiny(8, 64, 28), static)
    yield compressed_nvfp4_case("huge", huge(8, 64, 29))
    yield compressed_nvfp4_case("zero", np.zeros((2, 32), BF16))
    yield compressed_nvfp4_case("special_nan", with_nan(4, 64, 30).astype(BF16))
    yield compressed_nvfp4_case("special_infinity", with_infinity(4, 64, 31))


def check(case):
    """The arrays of a case that are stored as computed, and the others."""
    path = os.path.join(FOLDER, case.name + ".npz")
    if not os.path.exists(path):
        print(f"{case.name}: not stored")
        return 0, len(case.arrays)
    with np.load(path) as archive:
        stored = {name: archive[name] for name in archive.files if name != "meta"}
    names = stored.keys() | case.arrays.keys()
    differ = [
        name
        for name in sorted(names)
        if name not in stored
        or name not in case.arrays
        or not np.array_equal(stored[name], case.arrays[name])
    ]
    for name in differ:
        print(f"{case.name}.{name}: differs")
    return len(names) - len(differ), len(differ)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing; compare")
    arguments = parser.parse_args()
    passed = failed = 0
    names = set()
    for case in cases():
        names.add(case.name + ".npz")
        if arguments.check:
            same, different = check(case)
            passed, failed = passed + same, failed + different
        else:
            os.makedirs(FOLDER, exist_ok=True)
            np.savez_compressed(os.path.join(FOLDER, case.name), **case.archive())
    if arguments.check:
        stored = {name for name in os.listdir(FOLDER) if name.endswith(".npz")}
        for name in sorted(stored - names):
            print(f"{name}: stored, but not computed")
            failed += 1
        print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    with np.errstate(all="ignore"):
        sys.exit(main())
