# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Block-scaled products of JAX: jax.lax.scaled_dot against JAX on the CPU, what is exported
for CUDA against numpy from the same operands."""

import unittest
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax._src.cudnn import scaled_matmul_stablehlo

import blockscale
import blockscale.jax
from models import (
    BF16,
    E2M1,
    E4M3,
    E5M2,
    E8M0,
    dequantize,
    draw_data,
    draw_scales,
    export_function,
    import_function,
    quantize_mx,
    quantize_nv,
    scaled_dot_general,
    widen,
)

#: Data, scales and block.
FORMATS = {"mxfp8": (E4M3, E8M0, 32), "mxfp8_e5m2": (E5M2, E8M0, 32), "mxfp4": (E2M1, E8M0, 32),
           "nvfp4": (E2M1, E4M3, 16)}


def draw(rng, batch, m, n, k, dtype, scale, block):
    """a [B, M, K], b [B, N, K] and their scales."""
    return (draw_data(rng, (batch, m, k), dtype), draw_data(rng, (batch, n, k), dtype),
            draw_scales(rng, (batch, m, k // block), scale),
            draw_scales(rng, (batch, n, k // block), scale))


class TestCase(unittest.TestCase):
    def check_product(self, found, a, b, dtype=np.float32):
        """Whether a product of a [.., M, K] and b [.., N, K], exact f32, is within its bound."""
        wanted = widen(a).astype(np.float64) @ np.swapaxes(widen(b), -1, -2).astype(np.float64)
        size = np.abs(widen(a)) @ np.swapaxes(np.abs(widen(b)), -1, -2)
        bound = 1e-6 * max(1, a.shape[-1] / 256) * size
        if dtype == BF16:
            bound = bound + np.abs(wanted) * 2 ** -8
        self.assertEqual(np.asarray(found).dtype, dtype)
        self.assertLessEqual((np.abs(widen(found) - wanted) - bound).max(), 0)


class TestRecipe(unittest.TestCase):
    """Why rceil stands for JAX's MXFP8: its bytes, for blocks of every finite amax of bf16."""

    def test_bytes(self):
        amax = np.arange(0x7F80, dtype=np.uint16).view(BF16)
        rng = np.random.default_rng(0)
        x = widen(amax)[:, None] * rng.uniform(-1, 1, (amax.size, 32)).astype(np.float32)
        x[:, 3] = widen(amax)
        for dtype in (np.float32, BF16):
            with self.subTest(dtype):
                given = x.astype(dtype)
                data, scale = quantize_in_recipe(given)
                wanted, wanted_scale = quantize_mx(given)
                self.assertEqual(data.tobytes(), wanted.tobytes())
                self.assertEqual(scale.tobytes(), wanted_scale.tobytes())
        rounded = (amax / BF16(448)).astype(np.float32).view(np.uint32)
        rises = (rounded & 0x7FFFFF > 0) & ~((rounded >> 23 == 0) & (rounded & 0x7FFFFF <= 1 << 22))
        differs = (rounded >> 23) + rises != wanted_scale.view(np.uint8)[:, 0]
        np.testing.assert_array_equal(widen(amax[differs]), [1.7578125 * 2.0 ** -119])


@blockscale.jit
def quantize_in_recipe(x):
    return blockscale.quantize(x, format="mxfp8", recipe="rceil")


class TestScaledMatmul(TestCase):
    def test_formats(self):
        rng = np.random.default_rng(0)
        for name, kinds in FORMATS.items():
            with self.subTest(name):
                arrays = draw(rng, 2, 24, 40, 96, *kinds)
                imported = import_function(jax.nn.scaled_matmul, *arrays, platform="cuda")
                self.assertIn("blockscale.scaled_mm", str(imported.module))
                self.assertNotIn("linalg", str(imported.module))
                a, b, scale_a, scale_b = arrays
                self.check_product(imported.compile()(*arrays), dequantize(a, scale_a),
                                   dequantize(b, scale_b))

    def test_rounded_result(self):
        arrays = draw(np.random.default_rng(1), 1, 24, 40, 96, *FORMATS["nvfp4"])
        imported = import_function(
            lambda *given: jax.nn.scaled_matmul(*given, preferred_element_type=jnp.bfloat16),
            *arrays, platform="cuda")
        a, b, scale_a, scale_b = arrays
        self.check_product(imported.compile()(*arrays), dequantize(a, scale_a),
                           dequantize(b, scale_b), BF16)

    def test_in_the_emulator(self):
        arrays = draw(np.random.default_rng(2), 1, 128, 64, 64, *FORMATS["mxfp8"])
        imported = import_function(jax.nn.scaled_matmul, *arrays, platform="cuda")
        a, b, scale_a, scale_b = arrays
        self.check_product(imported.compile(target="sm_100a")(*arrays), dequantize(a, scale_a),
                           dequantize(b, scale_b))


class TestScaledDot(TestCase):
    """jax.lax.scaled_dot, whose second operand is [B, K, N]."""

    def check(self, function, *arrays, is_scaled=True):
        imported = import_function(function, *arrays)
        self.assertEqual("blockscale.scaled_mm" in str(imported.module), is_scaled)
        found, wanted = imported.compile()(*arrays), jax.jit(function)(*arrays)
        self.assertEqual(found.dtype, wanted.dtype)
        a, b, *scales = arrays
        size = jax.jit(function)(*(np.abs(widen(each)).astype(each.dtype) for each in (a, b)),
                                 *scales)
        bound = 2e-6 * widen(size) + np.abs(widen(wanted)) * (
            2 ** -7 if wanted.dtype == jnp.bfloat16 else 0)
        self.assertLessEqual((np.abs(widen(found) - widen(wanted)) - bound).max(), 0)
        return str(imported.module)

    def dot(self, **options):
        return lambda a, b, scale_a, scale_b: lax.scaled_dot(
            a, b, lhs_scale=scale_a, rhs_scale=scale_b, **options)

    def test_formats(self):
        rng = np.random.default_rng(3)
        for name, kinds in FORMATS.items():
            with self.subTest(name):
                a, b, scale_a, scale_b = draw(rng, 2, 24, 40, 96, *kinds)
                self.check(self.dot(preferred_element_type=jnp.float32), a, b.swapaxes(1, 2),
                           scale_a, scale_b.swapaxes(1, 2))

    def test_dimensions(self):
        # a is [K, B, M], b is [N, K, B]: each has to be transposed.
        a, b, scale_a, scale_b = draw(np.random.default_rng(4), 2, 24, 40, 64,
                                      *FORMATS["mxfp8"])
        self.check(self.dot(dimension_numbers=(((0,), (1,)), ((1,), (2,)))),
                   np.transpose(a, (2, 0, 1)), np.transpose(b, (1, 2, 0)),
                   np.transpose(scale_a, (2, 0, 1)), np.transpose(scale_b, (1, 2, 0)))

    def test_weights_only(self):
        _, b, _, scale_b = draw(np.random.default_rng(5), 1, 24, 40, 96, *FORMATS["mxfp8"])
        x = widen(np.random.default_rng(6).standard_normal((24, 96))).astype(BF16)
        text = self.check(lambda x, b, scale: lax.scaled_dot(x, b, rhs_scale=scale), x, b[0].T,
                          scale_b[0].T)
        self.assertIn("scales(none,", text)

    def test_what_is_no_product_of_the_dialect(self):
        """The composite's own ops are imported: blocks of 64; E4M3 beside E5M2."""
        rng = np.random.default_rng(7)
        for name, (kinds, options) in {
                "blocks of 64": (((E4M3, E8M0, 64),) * 2, {}),
                "two types": ((FORMATS["mxfp8"], FORMATS["mxfp8_e5m2"]), {})}.items():
            with self.subTest(name):
                a, _, scale_a, _ = draw(rng, 1, 8, 8, 128, *kinds[0])
                _, b, _, scale_b = draw(rng, 1, 8, 16, 128, *kinds[1])
                self.check(self.dot(preferred_element_type=jnp.float32, **options), a[0],
                           b[0].T, scale_a[0], scale_b[0].T, is_scaled=False)


class TestScaledDotGeneral(TestCase):
    def draw(self, dtype, seed=8):
        rng = np.random.default_rng(seed)
        x, y = (widen(rng.standard_normal(shape)) for shape in ((40, 96), (24, 96)))
        x *= np.exp2(rng.integers(-9, 6, (40, 3))).repeat(32, 1)
        x[3] = 0
        x[4, :32] = np.float32(448 / 512)  # The scale is a power of two itself.
        x[5, 7] = -x[5].max() * 4
        return x.astype(dtype), y.astype(dtype)

    def test_mxfp8(self):
        for dtype in (np.float32, BF16):
            with self.subTest(dtype):
                x, y = self.draw(dtype)
                imported = import_function(scaled_dot_general(), x, y, platform="cuda")
                text = str(imported.module)
                self.assertEqual(text.count("blockscale.quantize"), 2)
                self.assertIn("recipe rceil", text)
                self.assertNotIn("linalg.generic", text)
                self.check_product(imported.compile()(x, y), dequantize(*quantize_mx(x)),
                                   dequantize(*quantize_mx(y)))

    def test_nvfp4(self):
        # No recipe has these bytes: the quantizer is imported op by op.
        scales = (0.0078125, 0.02)
        for dtype in (np.float32, BF16):
            with self.subTest(dtype):
                x, y = self.draw(dtype)
                imported = import_function(scaled_dot_general(scales), x, y, platform="cuda")
                self.assertIn("blockscale.scaled_mm", str(imported.module))
                a, b = (dequantize(*quantize_nv(each, scale)) * np.float32(scale)
                        for each, scale in zip((x, y), scales))
                self.check_product(imported.compile()(x, y), a, b)

    def test_infinity_and_nan(self):
        # JAX's bytes of such blocks are others than a recipe's; the product is not.
        x, y = self.draw(np.float32)
        x[7, 3], x[8, 4], x[9, 5] = np.inf, np.nan, -np.inf
        found = import_function(scaled_dot_general(), x, y, platform="cuda").compile()(x, y)
        np.testing.assert_array_equal(np.isnan(found).any(1), np.isin(np.arange(40), (7, 8, 9)))
        np.testing.assert_array_equal(np.isnan(found).all(1), np.isin(np.arange(40), (7, 8, 9)))

    def test_f16_is_imported_op_by_op(self):
        # JAX rounds the quotient to f16 before it rounds it up.
        x, y = self.draw(np.float16)
        imported = import_function(scaled_dot_general(), x, y, platform="cuda")
        self.assertNotIn("blockscale.quantize", str(imported.module))
        self.assertIn("blockscale.scaled_mm", str(imported.module))

    def test_bytes_that_others_read(self):
        """A quantizer whose bytes leave is imported op by op, and the bytes are JAX's."""
        config = jax.nn.get_scaled_dot_general_config("mxfp8")

        def function(x, y):
            data, scale = scaled_matmul_stablehlo.quantize(x, config)
            other, other_scale = scaled_matmul_stablehlo.quantize(y, config)
            return data, scale, jax.nn.scaled_matmul(data, other, scale, other_scale)
        x, y = (each[None] for each in self.draw(np.float32))
        imported = import_function(function, x, y, platform="cuda")
        self.assertEqual(str(imported.module).count("blockscale.quantize"), 1)  # That of y.
        data, scale, product = imported.compile()(x, y)
        wanted = quantize_mx(x)
        self.assertEqual(np.asarray(data).tobytes(), wanted[0].tobytes())
        self.assertEqual(np.asarray(scale).tobytes(), wanted[1].tobytes())
        self.check_product(product, dequantize(*wanted), dequantize(*quantize_mx(y)))

    def test_another_quantizer(self):
        """One that rounds scales down is not taken for JAX's."""
        x, y = self.draw(np.float32)
        with mock.patch.object(scaled_matmul_stablehlo, "cast_to_e8m0_with_rounding_up",
                               lambda x: (x.view(np.uint32) >> 23).astype(np.uint8)):
            exported = export_function(scaled_dot_general(), x, y, platform="cuda")
        imported = blockscale.jax.from_export(exported)
        self.assertNotIn("blockscale.quantize", str(imported.module))

        def floor(x):
            blocks = x.reshape(x.shape[0], -1, 32)
            byte = ((np.abs(blocks).max(-1) / np.float32(448)).view(np.uint32) >> 23)
            scale = widen(byte.astype(np.uint8).view(E8M0))
            return widen(np.clip(blocks / scale[..., None], -448, 448).astype(E4M3)).reshape(
                x.shape) * scale.repeat(32, 1)
        self.check_product(imported.compile()(x, y), floor(x), floor(y))


if __name__ == "__main__":
    unittest.main()
