# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops of StableHLO against JAX on the CPU, many in one module, and conversions of narrow
types against ml_dtypes on all values."""

import unittest

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from models import BF16, E2M1, E4M3, E5M2, E8M0, encode, import_function, make_weights, widen


def draw(shape, dtype=np.float32, seed=0):
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iu":
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    if dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(np.bool_)
    return widen(rng.standard_normal(shape)).astype(dtype)


F, G = draw((3, 4, 8)), draw((3, 4, 8), seed=1)
H, I32, U32 = draw((3, 8), BF16, 2), draw((3, 8), np.int32, 3), draw((3, 8), np.uint32, 4)
U8, I8, MASK = draw((3, 8), np.uint8, 5), draw((3, 8), np.int8, 6), draw((3, 8), np.bool_, 7)
ROWS = np.array([[2, -7], [0, 1]], np.int32)
SPECIAL = np.array([[0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 2.5]], np.float32)
BIG = draw((20, 40), seed=8)
_IMAGES = ("NHWC", "HWIO", "NHWC")

#: Functions whose results are the same bits.
EXACT = {
    # Products are not added: XLA rounds such a sum once.
    "arithmetic": (lambda a, b: (a + b, a - b, a * b, a / b, (a + b) * b / (a + 3)), (F, G)),
    "several readers": (lambda a, b: ((a + b) * (a + b), -(a + b), abs(a - b)), (F, G)),
    "maxima": (lambda a, b: (jnp.maximum(a, b), jnp.minimum(a, b)), (SPECIAL, SPECIAL[:, ::-1])),
    "clip": (lambda a: jnp.clip(a, -0.5, 0.25), (F,)),
    "sign and rounding": (lambda a: (jnp.sign(a), jnp.floor(a), jnp.ceil(a), jnp.round(a * 4)),
                          (F,)),
    "is finite": (jnp.isfinite, (SPECIAL,)),
    "comparisons": (lambda a, b: (a < b, a <= b, a > b, a >= b, a == b, a != b),
                    (SPECIAL, SPECIAL[:, ::-1])),
    "square root": (jnp.sqrt, (abs(F),)),
    "bf16": (lambda h: (h + h * jnp.bfloat16(3), lax.neg(h), h.astype(np.float32)), (H,)),
    "integers": (lambda i: (i + 7, i * i, i - 3, -i, abs(i), i // 7, i % 5, i < 0, jnp.sign(i)),
                 (I32,)),
    "integer division": (lambda i: (lax.div(i, np.int32(-7)), lax.rem(i, np.int32(5))), (I32,)),
    "bits": (lambda i: (i & 12, i | 5, i ^ 77, ~i), (I32,)),
    "unsigned": (lambda u: (u > 5, u + 1, jnp.maximum(u, np.uint32(2 ** 31)),
                            u.astype(np.float32)), (U32,)),
    "shifts": (lambda u, i: (u >> 3, u << 5, i >> 2, lax.shift_right_logical(i, np.int32(40)),
                             lax.shift_left(i, i & 63)), (U32, I32)),
    "integer conversions": (lambda u, i, k: (u.astype(np.int32), i.astype(np.int32), i != 0,
                                             k.astype(np.int8), u.astype(np.uint32) << 4),
                            (U8, I8, I32)),
    "numbers to integers": (lambda a: [
        lax.convert_element_type(jnp.full(a.shape, number, np.float32), kind) + a.astype(kind)
        for number in (3e10, -3e10, np.nan, np.inf, 300.7, -3.9)
        for kind in (np.int8, np.uint8, np.int32, np.uint32)], (abs(F),)),
    "to integers": (lambda a: (lax.convert_element_type(a * 100, np.int32),
                               lax.convert_element_type(abs(a) * 300, np.uint8)),
                    (F,)),
    "bitcast": (lambda a, i: (a.view(np.uint32), i.view(np.float32)), (F, I32)),
    "truth values": (lambda m, i: (~m, m & (i > 0), m ^ (i > 9), m.astype(np.float32),
                                   jnp.where(m, i, 0)), (MASK, I32)),
    "choice of a scalar": (lambda a: jnp.where(a[0, 0, 0] > 0, a, 1), (F,)),
    "broadcasts": (lambda a: (a + a[:, :1], a * a[..., -1:], jnp.broadcast_to(a[0], (2, 4, 8))),
                   (F,)),
    "reshapes": (lambda a: (a.reshape(12, 8), a.reshape(3, 2, 16), a.reshape(-1), a[None]), (F,)),
    "transposes": (lambda a: (a.T, a.transpose(1, 0, 2), a.swapaxes(1, 2) + 1), (F,)),
    "slices": (lambda a: (a[1:, ::2, 3:], a[0], a[:, -1]), (F,)),
    "reverse": (lambda a: a[::-1, :, ::-1], (F,)),
    "joins": (lambda a, b: (jnp.concatenate([a, b, a[:, :1]], 1), jnp.stack([a, b])), (F, G)),
    "padding": (lambda a: (jnp.pad(a, ((0, 1), (2, 0), (0, 0)), constant_values=7),
                           lax.pad(a, np.float32(1), ((-1, 0, 0), (0, 1, 2), (2, -3, 0)))), (F,)),
    "iota": (lambda a: a + jnp.arange(8) + jnp.arange(4)[:, None], (F,)),
    "gather": (lambda a, rows: (a[rows], jnp.take(a, rows, axis=1, mode="clip"), a[:, rows]),
               (F, ROWS)),
    "gather out of range": (lambda a, rows: (jnp.take(a, rows, axis=0), a.at[rows].get()),
                            (F, ROWS)),
    "gather of pairs": (lambda a, rows: a[rows[0], :, rows[1]], (F, np.abs(ROWS) % 3)),
    "gather along": (lambda a, i: jnp.take_along_axis(a, i % 4, axis=1),
                     (F[..., :8], draw((3, 2, 8), np.int32, 9) % 4)),
    "slices at": (lambda a, rows: (lax.dynamic_slice(a, (rows[0, 0], 1, rows[1, 1]), (2, 2, 4)),
                                   lax.dynamic_index_in_dim(a, rows[0, 1], 1)), (F, ROWS)),
    "maxima along": (lambda a, i: (a.max(1), a.min((0, 2)), i.max(0), i.sum(1)), (F, I32)),
    "any and all": (lambda m: (m.any(1), m.all(0), m.sum(1)), (MASK,)),
    "a large constant": (lambda a: a[0, 0, 0] + BIG, (F,)),
    "small constants": (lambda a: (a + np.arange(8, dtype=np.float32),
                                   a.astype(BF16) * np.arange(1, 9).astype(BF16),
                                   jnp.where(np.arange(8) % 3 == 0, a, 0)), (F,)),
    "a result that is an argument": (lambda a: (a, np.float32(3)), (F,)),
    "optimization barrier": (lambda a: lax.optimization_barrier((a + 1, a)), (F,)),
    "sorts": (lambda a, s, i, m: (jnp.sort(a, axis=1), jnp.sort(s), jnp.argsort(s, axis=-1),
                                  jnp.argsort(a, axis=0, descending=True), jnp.sort(i, axis=0),
                                  lax.sort((i % 3, i, i.astype(np.float32)), num_keys=1),
                                  jnp.sort(m), lax.sort(a[0, 0])), (F, SPECIAL, I32, MASK)),
    # Zeros and NaN have signs there.
    "the largest": (lambda s, h, i: (lax.top_k(s, 8), lax.top_k(h, 3), lax.top_k(i, 2)),
                    (SPECIAL, H, I32)),
    "places of extremes": (lambda a, s, i: (jnp.argmax(a, 1), jnp.argmin(a), jnp.argmax(s, -1),
                                            jnp.argmin(s[:, :4], 1), i.argmax(0)),
                           (F, SPECIAL, I32)),
    "windows": (lambda a, i: (jnp.cumsum(i, 1), lax.cummax(a, axis=1, reverse=True),
                              lax.cummin(a, axis=2), jnp.cumprod(i % 5, 0),
                              lax.reduce_window(a, -np.inf, lax.max, (1, 2, 3), (1, 2, 2), "SAME"),
                              lax.reduce_window(i, 0, lax.add, (2, 2), (1, 1), "VALID",
                                                window_dilation=(1, 3))), (F, I32)),
    "updates": (lambda a, i, m, rows: (
        lax.dynamic_update_slice(a, a[:2, :1, 3:5] + 1, (rows[1, 1], 2, rows[0, 0])),
        lax.dynamic_update_slice(a, a[:2], (rows[0, 1], 0, 0)),
        lax.dynamic_update_slice(i, i[:1, :3], (2, 7)),
        lax.dynamic_update_slice(m, m[1:2], (rows[1, 1], 0))), (F, I32, MASK, ROWS)),
    "writes": (lambda a, i, m, rows: (
        a.at[1, 2:4].set(7), a.at[:, rows[0, 1] + 8].set(a[:, 0]), a.at[rows[1]].set(a[:2] * 2),
        a.at[rows[0] - 5, :, rows[1]].set(3), i.at[jnp.arange(3)[:, None], rows[1]].add(i[:, :2]),
        # Windows that are not whole within the tensor are left out, and a window is moved into it.
        a.at[jnp.array([0, 9, -9]), 1].set(a[:, 2]), m.at[rows[0, 0]].set(True),
        jax.vmap(lambda x, j: x.at[j].set(0))(a, jnp.array([1, 3, 0])), a.at[..., 2:5].add(1),
        i.at[rows[1, 1]].set(5, mode="drop"), i.at[1].set(i[0]), i.at[7:2].set(3)),
        (F, I32, MASK, ROWS)),
    "loops": (lambda a, i: (
        lax.fori_loop(0, 5, lambda k, x: x + k, i),
        lax.while_loop(lambda s: s[0] > -4, lambda s: (s[0] - 2, jnp.abs(s[1]) - 1), (3, a))[1],
        lax.scan(lambda x, row: (x + row[0], (x[0], row)), a[0, 0], a),
        lax.fori_loop(0, 3, lambda k, x: lax.fori_loop(k, 3, lambda j, y: y + j * k, x), i),
        lax.scan(lambda x, row: (x, row - 1), 0, a, reverse=True)[1],
        lax.fori_loop(0, 0, lambda k, x: x * 2, a),
        # Counters that are unsigned, wrap around, or are truth values.
        lax.while_loop(lambda s: s[0] > 250, lambda s: (s[0] + np.uint8(2), s[1] + 1),
                       (np.uint8(251), i))[1],
        lax.while_loop(lambda s: s[0] | (s[1] < 3),
                       lambda s: (s[1] < 1, s[1] + 1, s[2] * 2), (True, 0, a))[2],
        lax.while_loop(lambda s: s[0].astype(bool) & (s[0] != 2), lambda s: (s[0] - 2, -s[1]),
                       (8, a))[1]), (F, I32)),
    "8-bit numbers moved": (lambda a: (a.astype(E4M3).T, a.astype(E5M2)[:, ::2],
                                       jnp.ones((2, 2), E4M3)), (F,)),
    "4-bit numbers moved": (lambda a: (a.astype(E2M1).reshape(6, 16),
                                       a.reshape(6, 16).T.reshape(6, 16).astype(E2M1)), (F,)),
}
#: Functions with sums or approximations.
CLOSE = {
    "functions": (lambda a: (jnp.exp(a), jnp.expm1(a), jnp.tanh(a), jax.nn.sigmoid(a),
                             jnp.sin(a), jnp.cos(a), lax.erf(a)), (F,)),
    "logarithms": (lambda a: (jnp.log(a), jnp.log1p(a), lax.rsqrt(a), a ** 1.7), (abs(F) + 0.1,)),
    "sums": (lambda a, h: (a.sum(), a.mean(1), a.prod(2), h.sum(0)), (F, H)),
    "products": (lambda a, b: (a @ b.swapaxes(1, 2), a @ b[0].T,
                               jnp.einsum("bij,bkj->kbi", a, b), a[0, 0] @ b[0, 0]), (F, G)),
    "products of transposes": (lambda a, b: (a.transpose(0, 2, 1) @ b,
                                             jnp.einsum("bij,ckj->ibkc", a, b)), (F, G)),
    "products of bf16": (lambda h: (h @ h.T, lax.dot(h, h.T,
                                                     preferred_element_type=np.float32)), (H,)),
    "products of integers": (lambda i: lax.dot(i, i.T, preferred_element_type=np.int32), (I8,)),
    "algorithms of products": (lambda a, h: (
        lax.dot(a[0], a[1].T, precision=lax.DotAlgorithmPreset.F32_F32_F32),
        lax.dot(h, h.T, precision=lax.DotAlgorithmPreset.BF16_BF16_F32,
                preferred_element_type=np.float32)), (F, H)),
    "sums of windows": (lambda a, h: (
        jnp.cumsum(a, 1), lax.cumsum(a, axis=2, reverse=True), jnp.cumsum(h, 0),
        lax.reduce_window(a, np.float32(0), lax.add, (2, 2, 2), (1, 2, 1), "SAME")), (F, H)),
    "convolutions": (lambda x, w, each: (
        lax.conv_general_dilated(x, w, (1, 2), "SAME", dimension_numbers=_IMAGES),
        lax.conv_general_dilated(x, each, (1, 1), ((2, 0), (-1, 1)), rhs_dilation=(2, 1),
                                 dimension_numbers=_IMAGES, feature_group_count=4),
        lax.conv_transpose(x, w, (2, 1), "SAME", dimension_numbers=_IMAGES),
        lax.conv_general_dilated(x[:, :, 0].swapaxes(1, 2), w[0].transpose(2, 1, 0), (1,), "VALID"),
        lax.conv_general_dilated(x.astype(BF16), w.astype(BF16), (1, 1), "VALID",
                                 dimension_numbers=_IMAGES)),
        (draw((2, 6, 5, 4), seed=10), draw((3, 2, 4, 6), seed=11) / 4,
         draw((2, 2, 1, 8), seed=12))),
    "softmax": (lambda a: jax.nn.softmax(a, axis=-1), (F,)),
    "activations": (lambda a: (jax.nn.gelu(a), jax.nn.gelu(a, approximate=False), jax.nn.silu(a),
                               jax.nn.relu(a)), (F,)),
}


def gather_in_one(cases):
    """One function of all arguments of cases, with all their results."""
    arguments = [args for _, args in cases.values()]

    def function(arguments):
        return [case(*args) for (case, _), args in zip(cases.values(), arguments)]
    return function, arguments


class TestOps(unittest.TestCase):
    def compare(self, cases, check):
        function, arguments = gather_in_one(cases)
        found = import_function(function, arguments).compile()(arguments)
        wanted = jax.jit(function)(arguments)
        self.assertEqual(jax.tree.structure(found), jax.tree.structure(wanted))
        for name, results, expected in zip(cases, found, wanted):
            for a, b in zip(jax.tree.leaves(results), jax.tree.leaves(expected)):
                with self.subTest(name):
                    self.assertEqual((a.dtype, a.shape), (b.dtype, b.shape))
                    check(np.asarray(a), np.asarray(b))

    def test_exact(self):
        def check(a, b):
            if a.dtype.kind == "f":
                # NaN has several bits.
                np.testing.assert_array_equal(a, b)
                a, b = np.signbit(a) & (a == 0), np.signbit(b) & (b == 0)
            np.testing.assert_array_equal(a, b)
        self.compare(EXACT, check)

    def test_close(self):
        def check(a, b):
            step = 2 ** -7 if a.dtype == BF16 else 3e-6
            np.testing.assert_allclose(widen(a), widen(b), rtol=step, atol=step)
        self.compare(CLOSE, check)

    def test_wide_numbers(self):
        x = np.array([1 / 3, 1e6, 1e-8, 65519.999, np.nan, 1 + 2 ** -11 + 2 ** -40])
        places = np.array([2 ** 63 + 5, 1, 2 ** 64 - 1], np.uint64)
        with jax.enable_x64(True):
            self.compare({
                "f64 to 16 bits": (lambda x: (x.astype(np.float16), x.astype(BF16)), (x,)),
                "unsigned places": (lambda x, places: jnp.take(x, places, mode="clip"),
                                    (x[:3], places))},
                         lambda a, b: np.testing.assert_array_equal(widen(a), widen(b)))

    # XLA multiplies more digits on the CPU than the algorithm has.
    def test_operands_that_an_algorithm_rounds(self):
        a, b = F[0], G[0].T
        y = import_function(lambda a, b: lax.dot(
            a, b, precision=lax.DotAlgorithmPreset.BF16_BF16_F32), a, b).compile()(a, b)
        rounded = widen(a.astype(BF16)) @ widen(b.astype(BF16))
        np.testing.assert_allclose(y, rounded, rtol=3e-6, atol=3e-6)
        self.assertFalse(np.allclose(y, a @ b, rtol=3e-6, atol=3e-6))

    # The passes of a loop stand in the module, and their counters do not.
    def test_passes_of_loops(self):
        imported = import_function(lambda x: lax.scan(
            lambda x, w: (jnp.tanh(x @ w), None), x, BIG.reshape(5, 4, 40)[:, :, :4])[0],
            draw((2, 4)))
        self.assertEqual(str(imported.module).count("linalg.matmul"), 5)
        self.assertNotIn("tensor<i32>", str(imported.module))

    def test_constants_as_resources(self):
        imported = import_function(lambda x: x @ BIG, draw((2, 20)), constants="resources")
        self.assertIn("dense_resource<", str(imported.module))
        self.assertLess(len(str(imported.module)), 2000)
        self.assertEqual(imported.constants, {})
        x = draw((2, 20), seed=9)
        np.testing.assert_allclose(imported.compile()(x), x @ BIG, rtol=1e-5, atol=1e-5)

    def test_chains_are_one_op(self):
        imported = import_function(lambda a, b: jnp.tanh(jnp.exp(a) * b + 1) - 0.5, F, G)
        self.assertEqual(str(imported.module).count("linalg.generic"), 1)

    def test_long_chains_are_several_ops(self):
        def function(x):
            for _ in range(1000):
                x = jnp.sin(x)
            return x
        imported = import_function(function, F)
        self.assertEqual(str(imported.module).count("linalg.generic"), 10)
        wanted = F.astype(np.float64)
        for _ in range(1000):
            wanted = np.sin(wanted)
        # One op less would differ by 5e-4 of it.
        np.testing.assert_allclose(imported.compile()(F), wanted, rtol=1e-4)

    def test_chains_round_each_op(self):
        # JAX rounds a sum of a product once; numpy rounds twice, as the program says.
        for dtype in (np.float32, BF16):
            a, b = (draw((64, 64), dtype, seed) for seed in (10, 11))
            found = import_function(lambda a, b: a * b + b * 3 - a, a, b).compile()(a, b)
            wanted = a * b + b * dtype(3) - a
            self.assertEqual(np.asarray(found).tobytes(), wanted.tobytes())

    def test_locations(self):
        def function(x):
            with jax.named_scope("block"):
                return jnp.tanh(x)
        source = import_function(function, F).module.source.decode()
        line = function.__code__.co_firstlineno + 2
        self.assertRegex(source, r'loc\("jit\(function\)/block/tanh"\("[^"]*test_ops.py"'
                                 rf':{line}:1\)')


class TestNarrow(unittest.TestCase):
    """All codes, and numbers at each rounding boundary."""

    def test_decode(self):
        codes = np.arange(256, dtype=np.uint8).reshape(1, 256)
        arrays = [codes.view(dtype) for dtype in (E4M3, E5M2, E8M0)]
        imported = import_function(lambda *given: [x.astype(np.float32) for x in given], *arrays)
        for found, array in zip(imported.compile()(*arrays), arrays):
            np.testing.assert_array_equal(found, widen(array))
            np.testing.assert_array_equal(np.signbit(found), np.signbit(widen(array)))

    def test_encode(self):
        patterns = np.arange(65536, dtype=np.uint32)
        x = np.concatenate([(patterns << 16).view(np.float32),
                            (patterns << 16 | 1).view(np.float32),
                            (patterns << 16 | 0xFFFF).view(np.float32)])
        imported = import_function(lambda x: (x.astype(E4M3), x.astype(E5M2)), x)
        with np.errstate(all="ignore"):
            wanted = x.astype(E4M3), x.astype(E5M2)
        for found, expected in zip(imported.compile()(x), wanted):
            found = np.asarray(found)
            is_nan = np.isnan(expected.astype(np.float32))
            np.testing.assert_array_equal(np.isnan(found.astype(np.float32)), is_nan)
            self.assertEqual(found[~is_nan].tobytes(), expected[~is_nan].tobytes())

    def test_scales_from_bytes(self):
        x = np.arange(256, dtype=np.uint8).reshape(1, 256)
        found = import_function(lambda x: x.view(E8M0), x).compile()(x)
        self.assertEqual(np.asarray(found).tobytes(), x.tobytes())

    def test_4_bits(self):
        ties = np.array([0, 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, 6, 7, 1e30, np.inf], np.float32)
        near = np.concatenate([ties, np.nextafter(ties, 0), np.nextafter(ties, 9), [1e-40] * 4])
        x = np.concatenate([near, -near]).astype(np.float32).reshape(5, 16)
        imported = import_function(lambda x: (x.astype(E2M1), x.astype(E2M1).astype(np.float32)),
                                   x)
        codes, numbers = imported.compile()(x)
        wanted = np.clip(x, -6, 6).astype(E2M1)
        self.assertEqual(np.asarray(codes).tobytes(), wanted.tobytes())
        np.testing.assert_array_equal(numbers, widen(wanted))

    def test_4_bit_inputs(self):
        x = np.arange(16, dtype=np.uint8).repeat(3).reshape(4, 12).view(E2M1)
        imported = import_function(lambda x: (x, x.T.astype(BF16)), x)
        same, moved = imported.compile()(x)
        self.assertEqual(np.asarray(same).tobytes(), x.tobytes())
        np.testing.assert_array_equal(widen(moved), widen(x).T)


class TestEncoder(unittest.TestCase):
    """BERT of random weights, which are arguments, or constants of the function."""

    def test_bert(self):
        rng = np.random.default_rng(0)
        weights = make_weights(rng)
        ids = rng.integers(0, 50, (2, 12)).astype(np.int32)
        mask = np.arange(12) < np.array([[12], [7]])

        def function(p, ids, mask):
            return encode(p, ids, mask, layers=1, heads=4)
        imported = import_function(function, weights, ids, mask)
        self.assertEqual(str(imported.module).count("linalg.matmul"), 6)
        self.assertEqual(str(imported.module).count("linalg.batch_matmul"), 2)
        wanted = jax.jit(function)(weights, ids, mask)
        np.testing.assert_allclose(imported.compile()(weights, ids, mask), wanted, atol=1e-5)
        constant = import_function(lambda ids, mask: function(weights, ids, mask), ids, mask)
        shapes = [array.shape for array in constant.constants.values()]
        self.assertEqual(sorted(shapes), sorted(
            array.shape for array in weights.values() if array.nbytes > 1024))


if __name__ == "__main__":
    unittest.main()
