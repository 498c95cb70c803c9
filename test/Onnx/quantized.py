# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random nodes that quantize, dequantize and multiply what was dequantized."""

import dataclasses

import ml_dtypes
import numpy as np
from onnx import helper

from models import DTYPES, TYPES, make_model, run_imported, run_reference, to_bits, type_of

BF16 = ml_dtypes.bfloat16
SPECIAL = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-40, 3.4e38, -3.4e38, 2.0 ** -126,
                    448, 464, 480, 6, 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, -5, 57344, 61440, 7.5,
                    28, 2.0 ** -9, 2.0 ** -10, 1.5 * 2.0 ** -10], np.float32)
WIDE = ("f32", "f16", "bf16")
DATA = ("e2m1", "e4m3", "e5m2", "e2m3", "e3m2")


@dataclasses.dataclass
class Case:
    """Nodes, the arrays that they take, and the results to compare: of `bound`, for products,
    the largest error of each element."""

    nodes: list
    inputs: dict
    constants: dict
    outputs: list
    bounds: dict


class Maker:
    """Makes cases from random numbers. Names have a prefix."""

    def __init__(self, seed, prefix):
        self.rng = np.random.default_rng(seed)
        self.prefix = prefix
        self.case = Case([], {}, {}, [], {})

    def choose(self, *options):
        return options[self.rng.integers(len(options))]

    def node(self, op, inputs, count=1, **attributes):
        names = [f"{self.prefix}{op}{len(self.case.nodes)}.{n}" for n in range(count)]
        self.case.nodes.append(helper.make_node(op, inputs, names, name=names[0], **attributes))
        return names[0] if count == 1 else names

    def give(self, name, array, is_constant):
        name = self.prefix + name
        (self.case.constants if is_constant else self.case.inputs)[name] = np.asarray(array)
        return name

    # Arrays.

    def make_numbers(self, shape, dtype):
        """Of many magnitudes, from block to block, with special values."""
        x = self.rng.standard_normal(shape) * np.exp2(self.rng.integers(-24, 12, shape[:-1] + (1,)))
        x = x.astype(np.float32)
        for _ in range(self.rng.integers(0, 4)):
            place = tuple(self.rng.integers(size) for size in shape)
            x[place] = self.choose(*SPECIAL)
        if self.rng.random() < 0.2:
            x[..., : shape[-1] // 2] = self.choose(0.0, -0.0)
        with np.errstate(over="ignore"):
            return x.astype(DTYPES[dtype])

    def make_codes(self, shape, kind):
        limit = {"e2m1": 16, "e2m3": 64, "e3m2": 64}.get(kind, 256)
        return self.rng.integers(0, limit, shape).astype(np.uint8).view(DTYPES[kind])

    def make_scales(self, shape, kind):
        if kind == "e8m0":
            # Calls refuse scales that are NaN, of 255.
            low, high = self.choose((100, 150), (0, 255))
            return self.rng.integers(low, high, shape).astype(np.uint8).view(DTYPES[kind])
        if kind == "e4m3":
            return self.rng.integers(1, 0x7F, shape).astype(np.uint8).view(DTYPES[kind])
        scales = np.exp2(self.rng.integers(-6, 6, shape)).astype(np.float32)
        if self.rng.random() < 0.7:
            scales *= self.rng.random(shape).astype(np.float32) + 0.5
        return scales.astype(DTYPES[kind])

    # Cases.

    def finish(self, *outputs, **bounds):
        self.case.outputs += outputs
        self.case.bounds.update(bounds)
        return self.case

    def make_shape(self, kind, block):
        """A shape, and the axis with blocks."""
        # Codes of less than 8 bits are those of matrices.
        rank = self.choose(1 if kind in ("e4m3", "e5m2") else 2, 2, 2, 2, 3)
        shape = [int(self.rng.integers(1, 5)) for _ in range(rank)]
        axis = self.choose(*[rank - 1] * 3, *range(rank))
        size = block * self.rng.integers(1, 4)
        if self.rng.random() < 0.2 and block > 2 and kind not in ("e2m3", "e3m2"):
            size -= self.rng.integers(1, block)
        shape[axis] = int(size)
        if kind in ("e2m3", "e3m2"):
            shape[-1] = 32 * -(-shape[-1] // 32)
        if kind == "e2m1" and shape[-1] % 2:
            shape[-1] += 1
        return tuple(shape), axis

    def make_blocked_scale(self, shape, axis, block, kind):
        scales = list(shape)
        scales[axis] = -(-shape[axis] // block)
        return self.make_scales(tuple(scales), kind)

    def dequantize(self):
        data = self.choose(*DATA, "e2m1", "e4m3")
        kind = self.choose("e8m0", "f32", "pair" if data == "e2m1" else "e8m0", *WIDE)
        if data in ("e2m3", "e3m2"):
            kind = "e8m0"
        block = {"e8m0": 32, "pair": 16}.get(kind, self.choose(16, 32, 5, 64))
        shape, axis = self.make_shape(data, block)
        codes = self.make_codes(shape, data)
        is_known = self.rng.random() < 0.5
        x = self.give("x", codes, is_known)
        scale = self.make_blocked_scale(shape, axis, block, "e4m3" if kind == "pair" else kind)
        s = self.give("s", scale, self.rng.random() < 0.6)
        if kind == "pair":
            g = self.give("g", np.float32(self.choose(1, 0.0123, 3e-5)), True)
            s = (self.node("DequantizeLinear", [s, g]) if self.rng.random() < 0.7 else
                 self.node("Cast", [s], to=TYPES["f32"]))
        how = {"axis": axis - len(shape) if self.rng.random() < 0.5 else axis}
        if kind == "e8m0" or self.rng.random() < 0.3:
            how["output_dtype"] = TYPES[self.choose(*WIDE)]
        y = self.node("DequantizeLinear", [x, s], block_size=block, **how)
        return self.finish(y)

    def quantize(self):
        data = self.choose("e2m1", "e4m3", "e5m2")
        kind = self.choose("e8m0", *WIDE)
        block = self.choose(32, 16, 0, 0, 7) if kind != "e8m0" else 32
        shape, axis = self.make_shape(data, block or 16)
        numbers = self.choose("f32", "bf16", "f16") if kind in ("f32", "e8m0") else kind
        x = self.give("x", self.make_numbers(shape, numbers), False)
        if block:
            scale = self.make_blocked_scale(shape, axis, block, kind)
        else:
            scale = self.make_scales(self.choose((), (shape[axis],)), kind)
        s = self.give("s", scale, self.rng.random() < 0.6)
        how = {"axis": axis, "output_dtype": TYPES[data]}
        if block:
            how["block_size"] = block
        if data in ("e4m3", "e5m2") and self.rng.random() < 0.3:
            how["saturate"] = 0
        if kind in WIDE and self.rng.random() < 0.2:
            how["precision"] = TYPES["f32"]
        y = self.node("QuantizeLinear", [x, s], **how)
        if self.rng.random() < 0.4:
            how = {key: value for key, value in how.items() if key in ("axis", "block_size")}
            return self.finish(self.node("DequantizeLinear", [y, s],
                                         output_dtype=TYPES["f32"], **how))
        return self.finish(y)

    def cast(self):
        source = self.choose("e2m1", "e4m3", "e5m2", "e8m0", *WIDE)
        shape = (int(self.rng.integers(1, 5)), 2 * int(self.rng.integers(1, 20)))
        if source in WIDE:
            target = self.choose("e2m1", "e4m3", "e5m2", "e8m0")
            x = self.make_numbers(shape, source)
            how = {"to": TYPES[target]}
            if target in ("e4m3", "e5m2", "e8m0"):
                how["saturate"] = self.choose(0, 1)
            if target == "e8m0":
                x, how["round_mode"] = np.abs(x), self.choose("up", "down", "nearest")
            return self.finish(self.node("Cast", [self.give("x", x, False)], **how))
        x = (self.make_scales if source == "e8m0" else self.make_codes)(shape, source)
        return self.finish(self.node("Cast", [self.give("x", x, False)],
                                     to=TYPES[self.choose(*WIDE)]))

    def decode(self, name, shape, kind, is_known):
        """What was dequantized, with blocks along the last dimension, and its numbers."""
        block = 16 if kind == "pair" else 32
        data = "e2m1" if kind == "pair" else kind
        codes = self.make_codes(shape, data)
        bits = codes.view(np.uint8)
        if data in ("e4m3", "e5m2"):
            bits[(bits & 0x7F) >= 0x78] &= 0xF7  # No NaN, no infinity.
        x = self.give(f"{name}.x", codes, is_known)
        count = (*shape[:-1], shape[-1] // block)
        if kind == "pair":
            scale = self.make_scales(count, "e4m3")
            g = np.float32(self.choose(1, 0.0123, 0.5))
            s = self.node("DequantizeLinear", [self.give(f"{name}.s", scale, is_known),
                                               self.give(f"{name}.g", g, True)])
            factor = scale.astype(np.float64) * float(g)
        else:
            scale = self.rng.integers(110, 140, count).astype(np.uint8).view(DTYPES["e8m0"])
            s = self.give(f"{name}.s", scale, is_known)
            factor = scale.astype(np.float64)
        wide = self.node("DequantizeLinear", [x, s], axis=-1, block_size=block,
                         output_dtype=TYPES["f32"])
        return wide, codes.astype(np.float64) * np.repeat(factor, block, -1)

    def product(self):
        kind = self.choose("pair", "e4m3", "e5m2", "e2m1", "e3m2")
        m, n, k = (int(self.rng.integers(1, 40)), int(self.rng.integers(1, 40)),
                   32 * int(self.rng.integers(1, 6)))
        is_both, lead = self.rng.random() < 0.6, self.choose((), (), (2,))
        b, b_values = self.decode("b", (n, k), kind, self.rng.random() < 0.7)
        if is_both:
            a, a_values = self.decode("a", (*lead, m, k), kind, False)
        else:
            numbers = self.rng.standard_normal((*lead, m, k)).astype(np.float32)
            a, a_values = self.give("a", numbers, False), numbers.astype(np.float64)
        total = a_values @ b_values.T
        size = np.abs(a_values) @ np.abs(b_values).T
        if lead or self.rng.random() < 0.5:
            y = self.node("MatMul", [a, self.node("Transpose", [b], perm=[1, 0])])
        else:
            c = self.rng.standard_normal(n).astype(np.float32)
            y = self.node("Gemm", [a, b, self.give("c", c, True)], transB=1)
            total, size = total + c, size + np.abs(c)
        # Both sides are within this of the exact sum.
        bound = 2 * (1e-6 * max(1, k / 256) * size + 2.0 ** -23 * np.abs(total))
        return self.finish(y, **{y: bound})


def make_case(seed, prefix):
    maker = Maker(seed, prefix)
    kind = maker.choose("dequantize", "dequantize", "quantize", "quantize", "product", "cast")
    return getattr(maker, kind)()


def make_graph(cases):
    """One model of cases, what to feed it, and its results by onnx.reference."""
    kinds = {number: kind for kind, number in TYPES.items()}
    feeds = {name: array for case in cases for name, array in case.inputs.items()}
    constants = {name: array for case in cases for name, array in case.constants.items()}
    outputs = [name for case in cases for name in case.outputs]
    model = make_model([node for case in cases for node in case.nodes],
                       {name: (kinds[type_of(array)], array.shape)
                        for name, array in feeds.items()},
                       dict.fromkeys(outputs, ("f32", 0)), constants)
    results = dict(zip(outputs, map(np.asarray, run_reference(model, feeds))))
    del model.graph.output[:]
    for name, array in results.items():
        model.graph.output.append(helper.make_tensor_value_info(name, type_of(array), array.shape))
    return model, feeds, results


def find_difference(case, name, found, expected):
    """What is wrong of a result, or ""."""
    is_packed = expected.dtype == ml_dtypes.float4_e2m1fn
    if name in case.bounds:
        error = np.abs(found.astype(np.float64) - expected.astype(np.float64))
        if found.shape != expected.shape or not np.all(error <= case.bounds[name]):
            return f"errors of {np.max(error / case.bounds[name]):.3g} of the bound"
        return ""
    bits, wanted = to_bits(found, is_packed), to_bits(expected)
    if bits.shape != wanted.shape:
        return f"shape {bits.shape}, not {wanted.shape}"
    wrong = np.argwhere(bits != wanted)
    if len(wrong):
        place = tuple(map(int, wrong[0]))
        return f"{len(wrong)} of {bits.size} differ, at {place} {bits[place]}, not {wanted[place]}"
    return ""


def check(cases):
    """Problems of cases, imported as one model: (name of the result, what is wrong)."""
    model, feeds, expected = make_graph(cases)
    found = dict(zip(expected, run_imported(model, feeds), strict=True))
    problems = []
    for case in cases:
        for name in case.outputs:
            wrong = find_difference(case, name, found[name], expected[name])
            if wrong:
                problems.append((name, wrong))
    return problems
