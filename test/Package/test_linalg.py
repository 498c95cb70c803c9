# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops of linalg that importers write, run on this CPU and compared with NumPy."""

import math
import unittest
from typing import ClassVar

import ml_dtypes
import numpy as np
import sympy

import blockscale as bs
from blockscale import _linalg as L
from blockscale._linalg import _narrow

B, S = sympy.symbols("b s", positive=True, integer=True)
NUMPY = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16, "i1": np.bool_,
         "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "f64": np.float64}
NAMES = {np.dtype(value): key for key, value in NUMPY.items()}
SPECIAL = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1e-30, -1.5], np.float32)


def make(shape, dtype="f32", seed=0):
    generator = np.random.default_rng(seed)
    if dtype == "i1":
        return generator.integers(0, 2, shape).astype(np.bool_)
    if L.is_integer(dtype):
        return generator.integers(-9, 10, shape).astype(NUMPY[dtype])
    return (2 * generator.standard_normal(shape)).astype(NUMPY[dtype])


class Program:
    """Several results of one module, so that a test compiles once."""

    def __init__(self, constants="resources"):
        self.builder = L.Builder(constants)
        self.arrays, self.arguments, self.results, self.wanted = [], [], [], []

    def add(self, array, sizes=None):
        """An argument; its sizes may be symbols."""
        array = np.asarray(array)
        argument = self.builder.add_argument("x", sizes or array.shape, NAMES[array.dtype])
        self.arrays.append(array)
        self.arguments.append(argument)
        return argument

    def expect(self, result, wanted, tolerance=0.0):
        self.results.append(result)
        self.wanted.append((np.asarray(wanted), tolerance))

    def check(self, test):
        module = self.builder.finish("f", [each.value for each in self.arguments],
                                     [each.value for each in self.results])
        constants = (list(self.builder.constant_arrays.values())
                     if self.builder.constants == "arguments" else [])
        found = bs.compile(module)(*self.arrays, *constants)
        found = found if isinstance(found, tuple) else (found,)
        for number, (one, (wanted, tolerance)) in enumerate(zip(found, self.wanted, strict=True)):
            with test.subTest(number=number, op=self.results[number].value.name):
                test.assertEqual(one.dtype, wanted.dtype)
                test.assertEqual(one.shape, wanted.shape)
                exact = one.astype(np.float64)
                np.testing.assert_allclose(exact, wanted.astype(np.float64), rtol=tolerance,
                                           atol=tolerance)
        return found


class ElementwiseTest(unittest.TestCase):
    # Every pair of types; out of range, integers wrap and floating-point numbers saturate.
    def test_conversions(self):
        program = Program()
        values = {"f32": [0, -0.0, 1.5, -2.75, 127.6, -1e10, 3e38, np.inf, -np.inf, np.nan, 300],
                  "i64": [0, 1, -1, 127, 128, -129, 2 ** 31, 2 ** 62, -(2 ** 40), 16777217, 5]}
        for source, given in values.items():
            for narrow in ("f32", "bf16", "f16") if source == "f32" else ("i64", "i32", "i8"):
                with np.errstate(all="ignore"):
                    array = np.array(given, NUMPY[source]).astype(NUMPY[narrow])
                x = program.add(array)
                for target in ("f32", "bf16", "f16", "i1", "i8", "i32", "i64"):
                    program.expect(L.emit_convert(program.builder, x, target),
                                   self.convert(array, target))
        truth = make(9, "i1")
        x = program.add(truth)
        for target in ("f32", "bf16", "i8", "i64"):
            program.expect(L.emit_convert(program.builder, x, target),
                           truth.astype(NUMPY[target]))
        program.check(self)

    def convert(self, array, target):
        with np.errstate(all="ignore"):
            if L.is_float(target) or target == "i1" or array.dtype.kind in "iu":
                # Through f32, as the ops go.
                wide = array if target in ("f32", "i1") or not L.is_float(target) else (
                    array.astype(np.float32))
                return wide.astype(NUMPY[target])
            limits = np.iinfo(NUMPY[target])
            found = [0 if math.isnan(each) else
                     int(min(max(math.trunc(each) if math.isfinite(each) else each, limits.min),
                             limits.max)) for each in map(float, array)]
            return np.array(found, NUMPY[target])

    def test_functions(self):
        program = Program()
        x = np.concatenate([np.linspace(-6, 6, 200), SPECIAL]).astype(np.float32)
        for dtype, tolerance in (("f32", 2e-6), ("bf16", 2 ** -8)):
            given = x.astype(NUMPY[dtype])
            wide, argument = given.astype(np.float32).astype(np.float64), program.add(given)
            with np.errstate(all="ignore"):
                erf = np.vectorize(math.erf)
                sigmoid = 1 / (1 + np.exp(-wide))
                wanted = {
                    "abs": abs(wide), "neg": -wide, "sign": np.sign(wide), "exp": np.exp(wide),
                    "square": wide * wide, "tanh": np.tanh(wide), "erf": erf(wide),
                    "sigmoid": sigmoid, "relu": np.maximum(wide, 0), "reciprocal": 1 / wide,
                    "sqrt": np.sqrt(wide), "rsqrt": 1 / np.sqrt(wide), "log": np.log(wide)}
            for name, expected in wanted.items():
                found = L.emit_unary(program.builder, name, argument)
                with np.errstate(all="ignore"):
                    program.expect(found, expected.astype(np.float32).astype(given.dtype),
                                   tolerance)
        program.check(self)

    def test_gelu(self):
        program, x = Program(), np.linspace(-3, 6, 500).astype(np.float32)
        argument = program.add(x)
        exact = x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)
        program.expect(L.emit_unary(program.builder, "gelu", argument),
                       exact.astype(np.float32), 1e-5)
        program.expect(L.emit_unary(program.builder, "gelu_tanh", argument),
                       (0.5 * x * (1 + np.tanh(inner))).astype(np.float32), 1e-5)
        program.check(self)

    # Shapes of any rank broadcast; sizes of 1 stand for any.
    def test_arithmetic_with_broadcasts(self):
        program = Program()
        for dtype in ("f32", "i32"):
            a, b = make((3, 1, 4), dtype), make((5, 1), dtype, 1)
            x, y = program.add(a, (B, 1, 4)), program.add(b, (S, 1))
            for name, function in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply),
                                   ("max", np.maximum), ("min", np.minimum)):
                program.expect(L.emit_binary(program.builder, name, x, y), function(a, b))
            for name in L.COMPARISONS:
                function = {"eq": np.equal, "ne": np.not_equal, "lt": np.less,
                            "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}[name]
                program.expect(L.emit_compare(program.builder, name, x, y), function(a, b))
            condition = L.emit_compare(program.builder, "lt", x, y)
            program.expect(L.emit_select(program.builder, condition, x, 7), np.where(a < b, a, 7)
                           .astype(a.dtype))
        program.check(self)

    def test_integers(self):
        program = Program()
        limits = [-(2 ** 31), 2 ** 31 - 1, -7, 7, 0, 5]
        a = np.repeat(np.array(limits, np.int32), 6)
        b = np.tile(np.array([-1, 1, 2, -2, 0, 3], np.int32), 6)
        x, y = program.add(a), program.add(b)
        quotient, rest, floor = [], [], []
        for one, other in zip(a.tolist(), b.tolist()):
            exact = 0 if other == 0 else int(math.copysign(abs(one) // abs(other),
                                                           one * other)) if one else 0
            quotient.append(exact)
            rest.append(0 if other == 0 else one - exact * other)
            floor.append(0 if other == 0 else one // other)
        for name, wanted in (("div", quotient), ("rem", rest), ("floor_div", floor)):
            program.expect(L.emit_binary(program.builder, name, x, y),
                           np.array(wanted, np.int64).astype(np.int32))
        for name, function in (("and", np.bitwise_and), ("or", np.bitwise_or),
                               ("xor", np.bitwise_xor)):
            program.expect(L.emit_binary(program.builder, name, x, y), function(a, b))
        program.expect(L.emit_unary(program.builder, "not", x), ~a)
        program.check(self)

    def test_truth_values(self):
        program = Program()
        a, b = make((4, 5), "i1"), make((5,), "i1", 1)
        x, y = program.add(a), program.add(b)
        for name, function in (("and", np.logical_and), ("or", np.logical_or),
                               ("xor", np.logical_xor), ("max", np.logical_or),
                               ("min", np.logical_and)):
            program.expect(L.emit_binary(program.builder, name, x, y), function(a, b))
        program.expect(L.emit_compare(program.builder, "lt", x, y), a < b)
        program.expect(L.emit_unary(program.builder, "not", x), ~a)
        program.expect(L.emit_reduce(program.builder, "max", x, [0]), a.any(0))
        program.expect(L.emit_reduce(program.builder, "min", x, [1]), a.all(1))
        program.expect(L.emit_reduce(program.builder, "sum", x, [1], dtype="i64"), a.sum(1))
        program.check(self)


class NarrowTest(unittest.TestCase):
    """Codes by those of ml_dtypes, -0 and NaN among them."""

    KINDS: ClassVar = {"f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2,
             "f8E8M0FNU": ml_dtypes.float8_e8m0fnu, "f6E2M3FN": ml_dtypes.float6_e2m3fn,
             "f6E3M2FN": ml_dtypes.float6_e3m2fn, "f4E2M1FN": ml_dtypes.float4_e2m1fn}

    def check(self, array, sizes, dtype, cases):
        """Cases of (emit, wanted) of an argument in storage form."""
        builder = L.Builder()
        x = builder.add_argument("x", sizes, dtype)
        with builder.tracing():
            results = [emit(builder, x).value for emit, _ in cases]
        found = bs.compile(builder.finish("f", [x.value], results))(array)
        found = found if isinstance(found, tuple) else (found,)
        for number, (one, (_, wanted)) in enumerate(zip(found, cases, strict=True)):
            with self.subTest(number=number, dtype=dtype):
                self.assertEqual(np.asarray(one).tobytes(), wanted.tobytes())

    def list_numbers(self, kind):
        """Numbers of a type, the ties between them, and what is beyond, with what is one bit
        below and above each; and numbers of any bits."""
        numbers = np.arange(128, dtype=np.uint8).view(kind).astype(np.float64)
        numbers = numbers[np.isfinite(numbers)]
        step = numbers[-1] - numbers[-2]
        beyond = numbers[-1] + step * np.array([0.5, 1, 4])
        near = np.concatenate([numbers, (numbers[1:] + numbers[:-1]) / 2, beyond])
        bits = near.astype(np.float32).view(np.uint32)
        any_bits = np.random.default_rng(0).integers(0, 2 ** 32, 4096).astype(np.uint32)
        special = np.array([0x7F800000, 0x7F800001, 0x7FC00000, 0x7FFFFFFF, 1], np.uint32)
        found = np.concatenate([bits, bits + 1, np.maximum(bits, 1) - 1, special, any_bits])
        return np.concatenate([found, found ^ 2 ** 31]).astype(np.uint32).view(np.float32)

    def test_encode(self):
        for name in ("f8E4M3FN", "f8E5M2"):
            kind = self.KINDS[name]
            x = self.list_numbers(kind)
            largest = float(ml_dtypes.finfo(kind).max)
            with np.errstate(all="ignore"):
                wanted = x.astype(kind).view(np.uint8)
                held = np.clip(x, -largest, largest).astype(kind).view(np.uint8)
            # Bits of NaN but for its sign have no meaning, and one code stands for it.
            nan = (x.view(np.uint32) >> 24 & 128 | (0x7F if "4" in name else 0x7E)).astype(np.uint8)
            wanted, held = (np.where(np.isnan(x), nan, each) for each in (wanted, held))
            self.check(x, x.shape, "f32", [
                (lambda builder, a: _narrow.emit_encode(builder, a, name, saturates=False), wanted),
                (lambda builder, a: _narrow.emit_encode(builder, a, name, saturates=True), held)])

    def test_decode(self):
        codes = np.arange(256, dtype=np.uint8)
        for name in ("f8E4M3FN", "f8E5M2", "f8E8M0FNU"):
            array = codes.view(self.KINDS[name])
            wanted = array.astype(np.float32)
            sign = 0 if name == "f8E8M0FNU" else codes.astype(np.uint32) >> 7 << 31
            nan = (sign | np.full(256, 0x7FC00000, np.uint32)).astype(np.uint32)
            self.check(array, (256,), name, [
                (_narrow.emit_decode, np.where(np.isnan(wanted), nan, wanted.view(np.uint32)))])

    def test_codes_of_ops(self):
        kind = self.KINDS["f4E2M1FN"]
        x = np.array([0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 1e30],
                     np.float32)
        x = np.concatenate([x, np.nextafter(x, 0), np.nextafter(x, 9), [np.inf]])
        x = np.concatenate([x, -x]).astype(np.float32).reshape(2, -1)
        codes = np.clip(x, -6, 6).astype(kind).view(np.uint8)
        packed = codes[:, ::2] | codes[:, 1::2] << 4
        self.check(x, x.shape, "f32", [(_narrow.emit_encode_e2m1, packed)])
        for name, count in (("f4E2M1FN", 18), ("f6E2M3FN", 64), ("f6E3M2FN", 64)):
            codes = np.arange(2 * count, dtype=np.uint8).reshape(2, count) % (
                16 if name == "f4E2M1FN" else 64)
            stored = codes[:, ::2] | codes[:, 1::2] << 4 if name == "f4E2M1FN" else codes
            self.check(stored, codes.shape, name, [
                (_narrow.emit_decode_by_op, codes.view(self.KINDS[name]).astype(np.float32))])


class ReductionTest(unittest.TestCase):
    def test_reductions(self):
        program = Program()
        for dtype in ("f32", "bf16", "i32"):
            a = make((3, 5, 7), dtype)
            x = program.add(a, (B, S, 7))
            wide = a.astype(np.float64)
            for axes in (None, (0,), (1,), (-1,), (0, 2)):
                for name in ("sum", "max", "min", "mean"):
                    if name == "mean" and dtype == "i32":
                        continue
                    wanted = getattr(wide, name)(axis=axes, keepdims=axes == (1,))
                    program.expect(
                        L.emit_reduce(program.builder, name, x, axes, keepdims=axes == (1,)),
                        np.asarray(wanted, np.float32).astype(a.dtype),
                        {"f32": 1e-6, "bf16": 2 ** -8, "i32": 0}[dtype])
        program.check(self)

    def test_nan_reaches_its_own_row(self):
        program, a = Program(), make((3, 4))
        a[1, 2] = np.nan
        x = program.add(a)
        program.expect(L.emit_reduce(program.builder, "max", x, [1]), a.max(1))
        program.expect(L.emit_reduce(program.builder, "min", x, [1]), a.min(1))
        program.check(self)

    def test_softmax(self):
        program, a = Program(), make((3, 5, 7)) * 30
        a[0, 0, :] = -np.inf
        a[1, 1, 2] = -np.inf
        x = program.add(a, (B, S, 7))
        for axis in (-1, 1):
            with np.errstate(all="ignore"):
                shifted = a.astype(np.float64) - a.max(axis, keepdims=True)
                total = np.exp(shifted).sum(axis, keepdims=True)
            wanted = np.exp(shifted) / total
            program.expect(L.emit_softmax(program.builder, x, axis), wanted.astype(np.float32),
                           2e-6)
            program.expect(L.emit_softmax(program.builder, x, axis, empty=0),
                           np.nan_to_num(wanted).astype(np.float32), 2e-6)
            with np.errstate(all="ignore"):
                program.expect(L.emit_softmax(program.builder, x, axis, logarithm=True),
                               (shifted - np.log(total)).astype(np.float32), 2e-5)
        program.check(self)

    def test_norms(self):
        program = Program()
        for dtype, tolerance in (("f32", 3e-6), ("bf16", 2 ** -7)):
            a, w, b = (make(shape, dtype, seed) for seed, shape in enumerate(
                ((3, 5, 16), (16,), (16,))))
            x, weight, bias = program.add(a, (B, S, 16)), program.add(w), program.add(b)
            wide, w, b = (each.astype(np.float64) for each in (a, w, b))
            centred = wide - wide.mean(-1, keepdims=True)
            for mean, is_centered in ((centred, True), (wide, False)):
                deviation = np.sqrt((mean * mean).mean(-1, keepdims=True) + 1e-5)
                program.expect(
                    L.emit_layer_norm(program.builder, x, [-1], 1e-5, weight,
                                      bias if is_centered else None, centered=is_centered),
                    (mean / deviation * w + is_centered * b).astype(np.float32).astype(a.dtype),
                    tolerance)
        program.check(self)


class ProductTest(unittest.TestCase):
    def test_matmul(self):
        program = Program()
        cases = [
            ((B, 3, S, 8), (2, 3, 5, 8), (B, 3, 8, 4), (2, 3, 8, 4)),
            ((B, 3, S, 8), (2, 3, 5, 8), (3, 8, 4), (3, 8, 4)),
            ((B, S, 8), (2, 5, 8), (8, 4), (8, 4)), ((8,), (8,), (3, 8, 4), (3, 8, 4)),
            ((S, 8), (5, 8), (8,), (8,)), ((8,), (8,), (8,), (8,))]
        for sizes_a, shape_a, sizes_b, shape_b in cases:
            a, b = make(shape_a), make(shape_b, seed=1)
            found = L.emit_matmul(program.builder, program.add(a, sizes_a),
                                  program.add(b, sizes_b))
            program.expect(found, np.matmul(a, b), 1e-5)
        program.check(self)

    def test_transposed_operands_and_types(self):
        program = Program()
        for dtype, tolerance in (("f32", 1e-5), ("bf16", 2 ** -8), ("i32", 0)):
            a, b, bias = make((2, 8, 5), dtype), make((2, 4, 8), dtype, 1), make((4,), dtype, 2)
            found = L.emit_matmul(program.builder, program.add(a), program.add(b),
                                  transpose_a=True, transpose_b=True, bias=program.add(bias))
            wide = [each.astype(np.float64) for each in (a, b, bias)]
            wanted = wide[0].swapaxes(1, 2) @ wide[1].swapaxes(1, 2) + wide[2]
            program.expect(found, wanted.astype(np.float32).astype(a.dtype), tolerance)
        program.check(self)

    def test_linear_layers_are_one_matmul(self):
        program = Program()
        a, w, b = make((2, 5, 8)), make((6, 8), seed=1), make((6,), seed=2)
        found = L.emit_linear(program.builder, program.add(a, (B, S, 8)), program.add(w),
                              program.add(b))
        program.expect(found, a @ w.T + b, 1e-5)
        program.expect(L.emit_linear(program.builder, program.add(a[0, 0]), program.add(w)),
                       a[0, 0] @ w.T, 1e-5)
        names = [op.name for op in program.builder.trace.ops]
        self.assertEqual(names.count("linalg.matmul"), 2)
        self.assertNotIn("linalg.batch_matmul", names)
        program.check(self)

    def test_dot_general(self):
        program = Program()
        a, b = make((2, 5, 3, 8)), make((2, 6, 3, 8), seed=1)
        x, y = program.add(a, (B, S, 3, 8)), program.add(b, (B, 6, 3, 8))
        program.expect(L.emit_dot_general(program.builder, x, y, ([3], [3]), ([0, 2], [0, 2])),
                       np.einsum("bqhd,bkhd->bhqk", a, b), 1e-5)
        program.expect(L.emit_dot_general(program.builder, x, y, ([2, 3], [2, 3]), ([0], [0])),
                       np.einsum("bqhd,bkhd->bqk", a, b), 1e-5)
        c, d = make((4, 8, 5)), make((4, 8, 6), seed=1)
        program.expect(L.emit_dot_general(program.builder, program.add(c), program.add(d),
                                          ([1], [1]), ([0], [0])),
                       np.einsum("bkm,bkn->bmn", c, d), 1e-5)
        program.check(self)


class ShapeTest(unittest.TestCase):
    def test_moves(self):
        program = Program()
        for dtype in ("f32", "bf16", "i64", "i1"):
            a = make((3, 5, 8), dtype)
            x, add = program.add(a, (B, S, 8)), program.builder
            program.expect(L.emit_transpose(add, x, [2, 0, 1]), a.transpose(2, 0, 1))
            program.expect(L.emit_slice(add, x, (0, 0, 1), (B, S - 1, 3), (1, 1, 2)),
                           a[:, :-1, 1:7:2])
            program.expect(L.emit_concat(add, [x, x, x], 1), np.concatenate([a, a, a], 1))
            # Parts of no elements, behind the last one.
            nothing = L.emit_slice(add, x, (0, 0, 8), (B, S, 0))
            program.expect(nothing, a[:, :, 8:])
            program.expect(L.emit_concat(add, [x, nothing], 2), a)
            program.expect(L.emit_reverse(add, x, [1, -1]), a[:, ::-1, ::-1])
            program.expect(L.emit_broadcast(add, x, (2, B, S, 8)), np.broadcast_to(a, (2, 3, 5, 8)))
            program.expect(L.emit_pad(add, x, (0, 1, 2), (0, 2, 0), 1), np.pad(
                a, ((0, 0), (1, 2), (2, 0)), constant_values=1))
            program.expect(L.emit_reshape(add, x, (B * S, 2, 4)), a.reshape(15, 2, 4))
        program.check(self)

    def test_interior_padding(self):
        program, a = Program(), make((3, 4))
        wanted = np.full((3, 9), 2, np.float32)
        wanted[:, 1:8:2] = a
        program.expect(L.emit_pad(program.builder, program.add(a), (0, 1), (0, 1), 2, (0, 1)),
                       wanted)
        program.check(self)

    # Indices outside of a tensor read its nearest element.
    def test_gathers(self):
        program, a = Program(), make((6, 5, 4))
        for dtype in ("i8", "i32", "i64"):
            indices = np.array([[0, 5, 2], [-1, 6, 100]], NUMPY[dtype])
            clipped = np.clip(indices, 0, 5).astype(np.int64)
            x, i = program.add(a, (B, S, 4)), program.add(indices)
            program.expect(L.emit_gather(program.builder, x, i), a[clipped])
            wrapped = np.clip(np.where(indices < 0, indices.astype(np.int64) + 5, indices), 0, 4)
            program.expect(L.emit_gather(program.builder, x, i, 1, wraps=True),
                           a[:, wrapped.astype(np.int64)])
        program.check(self)

    def test_made_tensors(self):
        program = Program()
        x = program.add(make((3, 5)), (B, S))
        add = program.builder
        for dtype in ("f32", "bf16", "i32", "i64"):
            iota = np.broadcast_to(np.arange(5), (3, 5))
            program.expect(L.emit_iota(add, (B, S), 1, dtype), iota.astype(NUMPY[dtype]))
            program.expect(L.emit_iota(add, (B, S), 1, dtype, start=3, step=2),
                           (3 + 2 * iota).astype(NUMPY[dtype]))
            program.expect(L.emit_full(add, (B, S), 3, dtype), np.full((3, 5), 3, NUMPY[dtype]))
        program.expect(L.emit_unary(add, "neg", x), -program.arrays[0])
        program.check(self)

    def test_constants(self):
        for constants in ("resources", "arguments"):
            program = Program(constants)
            program.add(make((3,)))
            for dtype in NUMPY:
                for shape in ((), (3,), (2, 3), (0, 4), (40, 50)):
                    array = make(shape, dtype)
                    found = program.builder.add_constant(array, "known")
                    program.expect(found, array)
            program.check(self)

    # A name may look like another one with its number.
    def test_names_are_used_once(self):
        program = Program()
        for name in ("x", "x_1", "x", "x", "x_1_1", "x_1"):
            program.expect(program.builder.add_constant(make(2), name), make(2))
        names = [each.value.name for each in program.results]
        self.assertEqual(len(set(names)), len(names))

    # The weight is not printed with the ops, and is left out where nothing takes it.
    def test_a_million_elements_are_a_resource(self):
        program = Program()
        x, w = make((2, 1024)), make((1024, 1024), seed=1)
        y = L.emit_linear(program.builder, program.add(x), program.builder.add_constant(w, "w"))
        program.builder.add_constant(w + 1, "unused")
        program.expect(y, x @ w.T, 1e-3)
        program.check(self)
        module = program.builder.finish("f", [program.arguments[0].value], [y.value])
        self.assertLess(len(str(module)), 2000)
        self.assertEqual(list(module.resources), ["w"])


class OrderTest(unittest.TestCase):
    def test_orders(self):
        program = Program()
        x = np.array([[3, -1, np.nan, 2, -1, 7], [0, -0.0, np.inf, -np.inf, np.nan, 0]], np.float32)
        for array in (x, make((5, 3), "i32"), make((2, 40), "i1"), make((6, 2), "bf16")):
            argument = program.add(array)
            for axis in (0, 1):
                order = np.argsort(array, axis, kind="stable")
                values, indices = L.emit_sort(program.builder, argument, axis)
                program.expect(indices, order)
                program.expect(values, np.take_along_axis(array, order, axis))
            # The largest first, and equal ones in their order.
            behind = np.flip(np.argsort(np.flip(array, 1), 1, kind="stable"), 1)
            order = (array.shape[1] - 1 - behind)[:, :2]
            values, indices = L.emit_sort(program.builder, argument, -1, descending=True, count=2)
            program.expect(indices, order)
            program.expect(values, np.take_along_axis(array, order, 1))
            for kind, function in (("max", np.argmax), ("min", np.argmin)):
                program.expect(L.emit_extremum_index(program.builder, kind, argument, 1),
                               function(array, 1))
        program.check(self)

    def test_sums_and_counts(self):
        program = Program()
        x, i = make((3, 7)), make((4, 5), "i32")
        a, b = program.add(x), program.add(i, (S, 5))
        program.expect(L.emit_cumulative_sum(program.builder, a, 1), np.cumsum(x, 1), 1e-5)
        program.expect(L.emit_cumulative_sum(program.builder, b, 0), np.cumsum(i, 0, np.int32))
        # Both limits are inside, and NaN is nowhere.
        y = np.array([0, 1, 2.5, 3, 3.01, -0.1, np.nan, 1.49, 1.5], np.float32)
        program.expect(L.emit_histogram(program.builder, program.add(y), 2, 0, 3, dtype="i64"),
                       np.array([3, 3]))
        program.check(self)


class ScatterTest(unittest.TestCase):
    def test_writes(self):
        program = Program()
        x, rows = make((4, 5)), np.array([3, 0, 3, -2, 9])
        columns, values = np.array([1, 4, 1, 0, 0], np.int32), make((5,), seed=1)
        a, i, j = program.add(x, (S, 5)), program.add(rows), program.add(columns)
        v = program.add(values)
        wanted, added = x.copy(), x.copy()
        wanted[rows[:4], columns[:4]] = values[:4]  # the last one is outside
        np.add.at(added, (rows[:4], columns[:4]), values[:4])
        program.expect(L.emit_put(program.builder, a, [i, j], v), wanted)
        program.expect(L.emit_put(program.builder, a, [i, j], v, adds=True), added, 1e-6)
        slices, wanted = make((5, 5), seed=2), x.copy()
        wanted[rows[:4]] = slices[:4]
        program.expect(L.emit_put(program.builder, a, [i], program.add(slices)), wanted)
        program.check(self)

    def test_along_an_axis(self):
        program = Program()
        x, indices, values = make((3, 4)), np.array([[3, 1], [0, 0], [-1, 2]]), make((3, 2), seed=1)
        a, i, v = program.add(x), program.add(indices), program.add(values)
        wanted, added = x.copy(), x.copy()
        for row in range(3):
            for column in range(2):
                wanted[row, indices[row, column]] = values[row, column]
                added[row, indices[row, column]] += values[row, column]
        program.expect(L.emit_scatter(program.builder, a, 1, i, v), wanted)
        program.expect(L.emit_scatter(program.builder, a, -1, i, v, adds=True), added, 1e-6)
        program.expect(L.emit_take_along(program.builder, a, i, 1, wraps=True),
                       np.take_along_axis(x, indices, 1))
        program.expect(L.emit_repeat(program.builder, a, [2, 3]), np.tile(x, (2, 3)))
        program.expect(L.emit_repeat_each(program.builder, a, 3, 1), np.repeat(x, 3, 1))
        program.check(self)


class RefusedTest(unittest.TestCase):
    def refuse(self, part, function):
        with self.assertRaisesRegex(bs.ArgumentError, part):
            function()

    def test_what_is_refused(self):
        builder = L.Builder()
        x = builder.add_argument("x", (S, 8), "f32")
        i = builder.add_argument("i", (4,), "i32")
        t = builder.add_argument("t", (S, 8), "i1")
        other = builder.add_argument("o", (B, 8), "f32")
        for part, function in (
                (r"operands that broadcast, but got \[s, 8\] and \[4\]",
                 lambda: L.emit_binary(builder, "add", x, i)),
                (r"broadcast, but got \[s, 8\] and \[b, 8\]",
                 lambda: L.emit_compare(builder, "lt", x, other)),
                ("exp of floating-point numbers, but got i32",
                 lambda: L.emit_unary(builder, "exp", i)),
                ("and of integers or truth values, but got f32",
                 lambda: L.emit_binary(builder, "and", x, x)),
                ("sub of numbers, but got truth values",
                 lambda: L.emit_binary(builder, "sub", t, t)),
                ("condition of truth values, but got f32",
                 lambda: L.emit_select(builder, x, x, x)),
                (r"axes of a tensor of rank 2, but got \[2\]",
                 lambda: L.emit_reduce(builder, "sum", x, [2])),
                (r"different axes of a tensor of rank 2, but got \[0, -2\]",
                 lambda: L.emit_reduce(builder, "sum", x, [0, -2])),
                ("mean of floating-point numbers, but got i32",
                 lambda: L.emit_reduce(builder, "mean", i)),
                ("sum of numbers, but got truth values",
                 lambda: L.emit_reduce(builder, "sum", t)),
                (r"same size along the sum, but got \[s, 8\] and \[s, 8\]",
                 lambda: L.emit_matmul(builder, x, x)),
                ("both floating-point numbers or both integers, but got f32 and i32",
                 lambda: L.emit_matmul(builder, x, i)),
                (r"order of 2 dimensions, but got \[0, 0\]",
                 lambda: L.emit_transpose(builder, x, [0, 0])),
                (r"a part of \[4\], but got \[3\] from \[2\] on with strides \[1\]",
                 lambda: L.emit_slice(builder, i, [2], [3])),
                (r"a shape of 4 elements, but got \[3\]",
                 lambda: L.emit_reshape(builder, i, [3])),
                ("tensors of one dtype that differ along dimension 0 alone",
                 lambda: L.emit_concat(builder, [x, t], 0)),
                (r"padding of 0 or more, but got \[-1, 0, 0\]",
                 lambda: L.emit_pad(builder, i, [-1], [0])),
                ("indices of integers, but got f32", lambda: L.emit_gather(builder, x, x)),
                ("indices of integers, but got i1",
                 lambda: L.emit_take_along(builder, x, t, 0)),
                (r"indices of its rank, but got \[s, 8\] and \[4\]",
                 lambda: L.emit_take_along(builder, x, i, 0)),
                ("indices of integers, but got f32", lambda: L.emit_put(builder, i, [x], i)),
                ("indices of integers, but got i1",
                 lambda: L.emit_scatter(builder, x, 0, t, x)),
                (r"of those of the tensor, but got \[4\], \[4\] and \[s, 8\]",
                 lambda: L.emit_scatter(builder, x, 0, i, i)),
                (r"axes of a tensor of rank 1, but got \[1\]", lambda: L.emit_sort(builder, i, 1)),
                ("elements along dimension 0, but got",
                 lambda: L.emit_gather(builder, builder.add_argument("e", (0, 2), "f32"), i)),
                ("expected sizes of inputs, but got q",
                 lambda: L.emit_full(builder, [sympy.Symbol("q")], 0, "f32")),
                ("sums, products, quotients, minima and maxima of inputs' sizes, but got",
                 lambda: L.emit_full(builder, [S ** S], 0, "f32")),
                (r"an array of float32, but got float64",
                 lambda: builder.add_constant(np.zeros(3), "w", "f32"))):
            with self.subTest(part):
                self.refuse(part, function)


if __name__ == "__main__":
    unittest.main()
