# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Imported functions in programs of JAX, called through XLA's FFI."""

import unittest

import jax
import jax.numpy as jnp
import numpy as np

import blockscale
from blockscale.jax import _ffi
from models import (
    E2M1,
    E4M3,
    E8M0,
    draw_data,
    draw_scales,
    import_function,
    scaled_dot_general,
    widen,
)


class TestCalls(unittest.TestCase):
    def test_types(self):
        """Every type that crosses the call, in both directions."""
        rng = np.random.default_rng(0)
        arrays = {
            "f32": widen(rng.standard_normal((3, 8))), "bf16": jnp.ones((2, 4), jnp.bfloat16) / 3,
            "f16": np.arange(6, dtype=np.float16), "i1": rng.integers(0, 2, (5,)).astype(bool),
            "i8": rng.integers(-128, 127, (4,)).astype(np.int8), "i32": np.int32([[7, -7]]),
            "ui8": rng.integers(0, 255, (4,)).astype(np.uint8),
            "ui32": np.uint32([0, 2 ** 32 - 1]), "e4m3": draw_data(rng, (4, 4), E4M3),
            "e8m0": draw_scales(rng, (4, 4), E8M0), "e2m1": draw_data(rng, (4, 32), E2M1),
            "scalar": np.float32(2),
        }
        function = import_function(lambda given: {**given, "sum": given["f32"] * given["scalar"]},
                                   arrays).compile()
        found = jax.jit(function)(arrays)
        for name, array in {**arrays, "sum": arrays["f32"] * 2}.items():
            with self.subTest(name):
                self.assertEqual((found[name].dtype, found[name].shape),
                                 (np.asarray(array).dtype, np.shape(array)))
                self.assertEqual(np.asarray(found[name]).tobytes(), np.asarray(array).tobytes())

    def test_product(self):
        rng = np.random.default_rng(1)
        x, y = (widen(rng.standard_normal(shape)) for shape in ((24, 64), (16, 64)))
        function = import_function(scaled_dot_general(), x, y, platform="cuda").compile()

        @jax.jit
        def program(x, y):
            return jnp.tanh(function(x * 2, y)) + function(x, y)
        np.testing.assert_allclose(program(x, y), jnp.tanh(function(x * 2, y)) + function(x, y),
                                   rtol=1e-6)

    def test_constants(self):
        weight = widen(np.random.default_rng(2).standard_normal((64, 32)))
        x = widen(np.random.default_rng(3).standard_normal((2, 64)))
        for constants in ("arguments", "resources"):
            imported = import_function(lambda x: x @ weight, x, constants=constants)
            self.assertEqual(len(imported.constants), constants == "arguments")
            function = imported.compile()
            self.assertEqual(np.asarray(jax.jit(function)(x)).tobytes(),
                             np.asarray(function(x)).tobytes())

    def test_two_functions(self):
        x = np.float32([[1, 2]])
        first = import_function(lambda x: x + 1, x).compile()
        second = import_function(lambda x: x * 10, x).compile()
        found = jax.jit(lambda x: (first(x), second(x), first(second(x))))(x)
        np.testing.assert_array_equal(np.concatenate(found), [[2, 3], [10, 20], [11, 21]])

    def test_nan_scales(self):
        data, scale = np.ones((2, 32), E4M3), np.array([[127], [255]], np.uint8).view(E8M0)
        function = import_function(
            lambda a, s: jax.nn.scaled_matmul(a[None], a[None], s[None], s[None]), data, scale,
            platform="cuda").compile()
        for found in (function(data, scale), jax.jit(function)(data, scale)):
            np.testing.assert_array_equal(found, [[[32, np.nan], [np.nan, np.nan]]])


class TestRefused(unittest.TestCase):
    def setUp(self):
        self.x = np.float32([[1, 2]])
        self.function = import_function(lambda x: x + 1, self.x).compile()

    def test_vmap(self):
        with self.assertRaisesRegex(blockscale.ArgumentError, "expected no jax.vmap of an imported "
                                                              "function, .* export jax.vmap"):
            jax.vmap(self.function)(self.x[None])

    def test_grad(self):
        with self.assertRaisesRegex(ValueError, "blockscale_call.* cannot be differentiated"):
            jax.grad(lambda x: self.function(x).sum())(self.x)

    def test_another_target(self):
        function = import_function(lambda x: x + 1, self.x).compile(target="sm_100a")
        with self.assertRaisesRegex(blockscale.ArgumentError,
                                    "expected a function for the CPU in jax.jit, but got one for "
                                    "sm_100a"):
            jax.jit(function)(self.x)

    def test_another_process(self):
        call = _ffi.make_call(10 ** 6, ["f32"], [((1, 2), "f32", np.float32)])
        with self.assertRaisesRegex(jax.errors.JaxRuntimeError,
                                    "expected a function that this process imported"):
            jax.jit(call)(self.x)

    def test_other_buffers(self):
        jax.jit(self.function)(self.x)  # Registers it.
        number = len(_ffi._KEPT) - 1
        for shape, kind, pattern in (((1, 3), np.float32, "shape"),
                                     ((1, 2), np.int8, ("expected a buffer of float32, but got "
                                                        "type 2 of XLA"))):
            call = _ffi.make_call(number, ["f32"], [((1, 2), "f32", np.float32)])
            with self.assertRaisesRegex(jax.errors.JaxRuntimeError, pattern):
                jax.jit(call)(np.zeros(shape, kind))
        call = _ffi.make_call(number, ["f32", "f32"], [((1, 2), "f32", np.float32)])
        with self.assertRaises(jax.errors.JaxRuntimeError):
            jax.jit(call)(self.x, self.x)


if __name__ == "__main__":
    unittest.main()
