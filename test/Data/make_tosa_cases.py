#!/usr/bin/env python3
# ===- make_tosa_cases.py - Programs of TOSA and what they compute --------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Writes tosa/cases.npz, tosa/casts.npz and the flatbuffers tosa/*.tosa beside this file, and what
tosa-opt prints of these.

A case is a program with block-scaled ops of TOSA, its arguments and its results, which
tosa_reference_model of tosa-tools computed. All are drawn at random from a seed; the stored
ones are small. scripts/long/tosa.py draws others.

  scripts/peers.sh tosa
  .venv/bin/python test/Data/make_tosa_cases.py

casts.npz has the codes that tosa.cast makes, for each of its types of 8 bits, of the f32 with each
high half and a low half of 0.

Arrays are in storage form, as blockscale-run takes them: two codes of E2M1 to a byte, a byte for
each other code and scale, bits of bf16.
"""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import ml_dtypes
import numpy as np

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "test/Data/tosa"
TOOLS = Path(os.environ.get("BLOCKSCALE_TOSA_TOOLS", ROOT / ".cache/tosa/bin"))
BLOCK = 32
SCALE = "f8E8M0FNU"
#: Element types of data in TOSA, and the number of their codes.
CODES = {"f8E4M3FN": 256, "f8E5M2": 256, "f4E2M1FN": 16, "f6E2M3FN": 64, "f6E3M2FN": 64,
         "!tosa.mxint8": 256}
KINDS = ("cast_to", "cast_from", "matmul", "program")
#: Cases that are stored: one of each kind for each type of data.
STORED = [(kind, data) for kind in KINDS for data in CODES]
#: Seed of the first of them.
SEED = 7


@dataclass
class Case:
    """A program whose function is @main. Types are lists of (shape, element); `is_dynamic` says
    which arguments and results leave their rows open in the text for BlockScale."""

    kind: str
    data: str
    arguments: list = field(default_factory=list)
    results: list = field(default_factory=list)
    body: str = ""
    inputs: list = field(default_factory=list)
    outputs: list = field(default_factory=list)
    #: The types in the body whose sizes the dynamic text leaves open.
    sizes: list = field(default_factory=list)

    def text(self, is_dynamic=False):
        """MLIR; with `is_dynamic` without the sizes of all but the last dimensions."""
        def name(type):
            return tensor(*type)

        arguments = ", ".join(f"%a{i}: {name(t)}" for i, t in enumerate(self.arguments))
        results = ", ".join(map(name, self.results))
        names = ", ".join(f"%r{i}" for i in range(len(self.results)))
        text = (f"func.func @main({arguments}) -> ({results}) {{\n{self.body}"
                f"  return {names} : {results}\n}}\n")
        if is_dynamic:
            for shape, element in sorted(self.sizes, key=lambda t: -len(t[0])):
                open_ = ["?"] * (len(shape) - 1) + [shape[-1]]
                text = text.replace(tensor(shape, element), tensor(open_, element))
        return text


def tensor(shape, element):
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


# ------------------------------------------------------- what is drawn

def draw_values(rng, shape):
    """f32 values of one of several distributions, edges of recipes among them."""
    x = rng.standard_normal(shape)
    kind = rng.integers(8)
    if kind == 1:  # blocks of very different size
        gains = rng.integers(-60, 61, (*shape[:-1], shape[-1] // BLOCK))
        x = x * np.exp2(np.repeat(gains, BLOCK, -1))
    elif kind == 2:  # few bits: values half-way between codes
        x = np.ldexp((rng.integers(-255, 256, shape) >> rng.integers(0, 8, shape)) * 1.0,
                     rng.integers(-7, 1, shape))
    elif kind == 3:  # about f32's smallest normal number
        x = x * 2.0 ** -128
    elif kind == 4:  # up to f32's largest number
        x = np.clip(x * 2.0 ** 126, -np.finfo(np.float32).max, np.finfo(np.float32).max)
    elif kind == 5:  # amaxes at and beside where the rule takes the next scale
        edges = np.array([1, 1.75, 1.8125, 1.875, 1.9375, 1.96875, 1.9921875])
        amax = rng.choice(edges, (*shape[:-1], shape[-1] // BLOCK))
        amax = amax * np.exp2(rng.integers(-20, 20, amax.shape))
        x = np.clip(x, -1, 1) * np.repeat(amax, BLOCK, -1)
        x[..., ::BLOCK] = np.nextafter(amax.astype(np.float32),
                                       rng.choice([0, np.inf], amax.shape).astype(np.float32))
    elif kind == 6:  # blocks of zeros, -0, infinities and NaN
        for value in (np.nan, np.inf, -np.inf, -0.0):
            x[rng.random(shape) < 1 / 200] = value
        x[rng.random(shape[:-1]) < 0.2] = -0.0
    return x.astype(np.float32)


def draw_codes(rng, shape, data, is_finite):
    """Codes, one a byte."""
    codes = rng.integers(0, CODES[data], shape).astype(np.uint8)
    if is_finite and data == "f8E4M3FN":
        codes[codes & 127 == 127] = 1
    if is_finite and data == "f8E5M2":
        codes[codes & 127 >= 124] = 1
    return codes


def store(codes, data):
    """Codes in storage form."""
    return codes[..., 0::2] | codes[..., 1::2] << 4 if data == "f4E2M1FN" else codes


def draw(kind, data, seed, is_small=False):
    """A case with its inputs, without its outputs."""
    rng = np.random.default_rng([seed, KINDS.index(kind), list(CODES).index(data)])
    case = Case(kind, data)
    return globals()[f"draw_{kind}"](case, rng, is_small)


def draw_shape(rng, is_small):
    rank = int(rng.integers(1, 5))
    most = 3 if is_small else 9
    columns = BLOCK * int(rng.integers(1, 3 if is_small else 6))
    return [int(size) for size in rng.integers(1, most, rank - 1)] + [columns]


def scale_shape(shape):
    return [*shape[:-1], shape[-1] // BLOCK]


def bits_of(x, element):
    return x.astype(ml_dtypes.bfloat16).view(np.uint16) if element == "bf16" else x


def cast_to(result, x, types, indent="  "):
    """Lines that quantize %x into %{result}d and %{result}s."""
    (x_type, data, scale) = types
    return (f"{indent}%{result}d, %{result}s = tosa.cast_to_block_scaled %{x} "
            f"{{block_size = BLOCK_SIZE_32}} : ({tensor(*x_type)}) -> "
            f"({tensor(*data)}, {tensor(*scale)})\n")


def draw_cast_to(case, rng, is_small):
    shape = draw_shape(rng, is_small)
    element = str(rng.choice(["f32", "bf16"]))
    types = [(shape, element), (shape, case.data), (scale_shape(shape), SCALE)]
    case.arguments, case.results, case.sizes = types[:1], types[1:], types
    case.body = cast_to("q", "a0", types).replace("%qd, %qs", "%r0, %r1")
    case.inputs = [bits_of(draw_values(rng, shape), element)]
    return case


def draw_cast_from(case, rng, is_small):
    shape = draw_shape(rng, is_small)
    element = str(rng.choice(["f32", "bf16"]))
    types = [(shape, case.data), (scale_shape(shape), SCALE), (shape, element)]
    case.arguments, case.results, case.sizes = types[:2], types[2:], types
    case.body = (f"  %r0 = tosa.cast_from_block_scaled %a0, %a1 {{block_size = BLOCK_SIZE_32}} : "
                 f"({tensor(*types[0])}, {tensor(*types[1])}) -> {tensor(*types[2])}\n")
    codes = draw_codes(rng, shape, case.data, is_finite=False)
    scales = rng.integers(0, 256, scale_shape(shape)).astype(np.uint8)
    case.inputs = [store(codes, case.data), scales]
    return case


def draw_product(rng, is_small):
    """N, H, C, D, W of a product."""
    n, h, w = (int(size) for size in rng.integers(1, 5 if is_small else 33, 3))
    n = 1 + n % 4
    return n, h, BLOCK * int(rng.integers(1, 3 if is_small else 7)), int(rng.choice([1, n])), w


def matmul(result, names, types):
    listed = ", ".join(tensor(*type) for type in types[:-1])
    return (f"  %{result} = tosa.matmul_t_block_scaled {', '.join(f'%{each}' for each in names)} "
            f"{{block_size = BLOCK_SIZE_32}} : ({listed}) -> {tensor(*types[-1])}\n")


def draw_matmul(case, rng, is_small):
    n, h, c, d, w = draw_product(rng, is_small)
    types = [([n, h, c], case.data), ([n, h, c // BLOCK], SCALE),
             ([d, w, c], case.data), ([d, w, c // BLOCK], SCALE), ([n, h, w], "f32")]
    case.arguments, case.results = types[:-1], types[-1:]
    case.sizes = types[:2] + types[-1:]
    case.body = matmul("r0", ["a0", "a1", "a2", "a3"], types)
    for shape in (types[0][0], types[2][0]):
        scales = rng.integers(107, 148, scale_shape(shape)).astype(np.uint8)
        if rng.random() < 0.2:
            scales[rng.random(scales.shape) < 0.02] = 255
        case.inputs += [store(draw_codes(rng, shape, case.data, True), case.data), scales]
    return case


def draw_program(case, rng, is_small):
    """max(x W^T + b, 0) of values, whose data and scales are results too."""
    n, h, c, d, w = draw_product(rng, is_small)
    x, weight, y = ([n, h, c], "f32"), ([d, w, c], "f32"), ([n, h, w], "f32")
    q, qs = (x[0], case.data), (scale_shape(x[0]), SCALE)
    v, vs = (weight[0], case.data), (scale_shape(weight[0]), SCALE)
    bias = ([1, 1, w], "f32")
    case.arguments, case.results = [x, weight, bias], [y, q, qs, v, vs]
    case.body = (cast_to("q", "a0", [x, q, qs]) + cast_to("v", "a1", [weight, v, vs])
                 + matmul("p", ["qd", "qs", "vd", "vs"], [q, qs, v, vs, y])
                 + f"  %s = tosa.add %p, %a2 : ({tensor(*y)}, {tensor(*bias)}) -> {tensor(*y)}\n"
                 f"  %r0 = tosa.clamp %s {{min_val = 0.0 : f32, max_val = 3.0e38 : f32}} : "
                 f"({tensor(*y)}) -> {tensor(*y)}\n")
    for old, new in (("qd", "r1"), ("qs", "r2"), ("vd", "r3"), ("vs", "r4")):
        case.body = case.body.replace(f"%{old}", f"%{new}")
    gains = np.exp2(rng.integers(-4, 5, (n, h, 1)))
    case.inputs = [(rng.standard_normal(x[0]) * gains).astype(np.float32),
                   rng.standard_normal(weight[0]).astype(np.float32),
                   rng.standard_normal(bias[0]).astype(np.float32)]
    return case


# ------------------------------------------------- the reference model

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


def to_model(array, element):
    """An array in storage form as the model takes it."""
    if element == "bf16":
        return array.view(ml_dtypes.bfloat16)
    if element == "f8E4M3FN":
        return array.view(ml_dtypes.float8_e4m3fn)
    if element == SCALE:
        return array.view(ml_dtypes.float8_e8m0fnu)
    return pack6(array) if element.startswith("f6") else array


def from_model(array, type):
    """An array of the model in storage form."""
    shape, element = type
    if element == "bf16":
        return array.view(np.uint16)
    if element == "f32":
        return array
    codes = unpack6(array.view(np.uint8)) if element.startswith("f6") else array.view(np.uint8)
    return codes.reshape(*shape[:-1], -1)


def call(folder, tool, *arguments):
    """What a tool prints, with an empty module as its input."""
    done = subprocess.run([TOOLS / tool, *arguments], cwd=folder, capture_output=True, text=True,
                          input="module {}")
    if done.returncode:
        raise RuntimeError(f"{tool} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def serialize(text, path):
    """Writes the flatbuffer of a program."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "model.mlir").write_text(text)
        call(folder, "tosa-opt", "model.mlir", "-o", "/dev/null",
             "--tosa-serialize=tosa-flatbuffer-filename=model.tosa")
        Path(path).write_bytes(Path(folder, "model.tosa").read_bytes())


def ask(case, folder):
    """The results of the reference model. The flatbuffer stays in the folder as m.tosa."""
    serialize(case.text(), Path(folder, "m.tosa"))
    for i, (array, (_, element)) in enumerate(zip(case.inputs, case.arguments)):
        np.save(Path(folder, f"in{i}.npy"), to_model(array, element))

    def numbered(name, count):
        return ",".join(name.format(i) for i in range(count))

    inputs, results = len(case.inputs), len(case.results)
    call(folder, "tosa_reference_model", "--tosa_file=m.tosa", "--flatbuffer_dir=.",
         "--output_dir=.", "--tosa_level=NONE",
         "--ifm_name=" + numbered("TosaInput_{}", inputs),
         "--ifm_file=" + numbered("in{}.npy", inputs),
         "--ofm_name=" + numbered("TosaOutput_{}", results),
         "--ofm_file=" + numbered("out{}.npy", results))
    return [from_model(np.load(Path(folder, f"out{i}.npy")), type)
            for i, type in enumerate(case.results)]


# --------------------------------------------------------- the archive

def save(cases, path):
    arrays = {"cases": np.array(json.dumps(
        [{"kind": case.kind, "data": case.data, "arguments": case.arguments,
          "results": case.results, "body": case.body, "sizes": case.sizes} for case in cases]))}
    for i, case in enumerate(cases):
        arrays |= {f"{i}_in{j}": array for j, array in enumerate(case.inputs)}
        arrays |= {f"{i}_out{j}": array for j, array in enumerate(case.outputs)}
    np.savez_compressed(path, **arrays)


def load(path):
    with np.load(path) as archive:
        cases = [Case(**fields) for fields in json.loads(str(archive["cases"]))]
        for i, case in enumerate(cases):
            case.inputs = [archive[f"{i}_in{j}"] for j in range(len(case.arguments))]
            case.outputs = [archive[f"{i}_out{j}"] for j in range(len(case.results))]
    return cases


#: A program of the type that later versions of TOSA have for block-scaled tensors.
LATER = """
func.func @main(%x: tensor<4x64xf32>) -> (tensor<4x64xf32>) {
  %q = tosa.cast %x : (tensor<4x64xf32>)
      -> tensor<4x64x!tosa.block_scaled<BLOCK_SHAPE_32:f8E8M0FNU:f8E4M3FN>>
  %r = tosa.cast %q : (tensor<4x64x!tosa.block_scaled<BLOCK_SHAPE_32:f8E8M0FNU:f8E4M3FN>>)
      -> tensor<4x64xf32>
  return %r : tensor<4x64xf32>
}
"""


def cast_all(data):
    """Codes of all f32 whose low half is 0."""
    count = 1 << 16
    types = [([1, count], "f32"), ([1, count], data)]
    case = Case("cast", data, types[:1], types[1:],
                f"  %r0 = tosa.cast %a0 : ({tensor(*types[0])}) -> {tensor(*types[1])}\n",
                [(np.arange(count, dtype=np.uint32) << 16).view(np.float32)[None]])
    with tempfile.TemporaryDirectory() as folder:
        return ask(case, folder)[0][0]


def main():
    np.savez_compressed(FOLDER / "casts.npz",
                        **{data: cast_all(data) for data in ("f8E4M3FN", "f8E5M2")})
    cases = []
    for number, (kind, data) in enumerate(STORED):
        case = draw(kind, data, SEED + number, is_small=True)
        with tempfile.TemporaryDirectory() as folder:
            case.outputs = ask(case, folder)
        cases.append(case)
    save(cases, FOLDER / "cases.npz")
    program = next(case for case in cases if case.kind == "program")
    for name, text in (("program", program.text()), ("later", LATER)):
        serialize(text, FOLDER / f"{name}.tosa")
        # As tosa-opt prints it again.
        printed = call(FOLDER, "tosa-opt", "--mlir-print-debuginfo",
                       f"--tosa-deserialize=tosa-flatbuffer-filename={name}.tosa")
        Path(FOLDER, f"{name}.mlir.txt").write_text(printed)
    print(f"{len(cases)} cases")


if __name__ == "__main__":
    sys.exit(main())
