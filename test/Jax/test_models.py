# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of models as users of JAX write them, imported whole, against JAX."""

import unittest

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from models import BF16, import_function, widen

WIDTH, HEADS, INNER = 64, 4, 96
_IMAGES = ("NHWC", "HWIO", "NHWC")


def draw(*shape, seed=0, dtype=np.float32):
    return (np.random.default_rng(seed).standard_normal(shape) / 8).astype(dtype)


def make_weights(dtype=np.float32, layers=()):
    shapes = {**dict.fromkeys("qkvo", (WIDTH, WIDTH)),
              "up": (WIDTH, INNER), "down": (INNER, WIDTH)}
    return {name: draw(*layers, *shape, seed=number, dtype=dtype)
            for number, (name, shape) in enumerate(shapes.items())}


def normalize(x):
    wide = x.astype(np.float32)
    return (wide * lax.rsqrt(jnp.mean(wide * wide, -1, keepdims=True) + 1e-6)).astype(x.dtype)


def split(x, weight):
    return (x @ weight).reshape(*x.shape[:-1], HEADS, -1)


def apply_block(p, x):
    """A layer of a decoder."""
    h = normalize(x)
    q, k, v = (split(h, p[name]) for name in ("q", "k", "v"))
    x = x + jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(x.shape) @ p["o"]
    return x + jax.nn.gelu(normalize(x) @ p["up"]) @ p["down"]


def decode(p, x, keys, values, position):
    """A step of attention with a cache of keys and values."""
    q, k, v = (split(x, p[name]) for name in ("q", "k", "v"))
    keys = lax.dynamic_update_slice(keys, k, (0, position, 0, 0))
    values = lax.dynamic_update_slice(values, v, (0, position, 0, 0))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, keys) / 4
    seen = jnp.arange(keys.shape[1]) <= position
    shares = jax.nn.softmax(jnp.where(seen, scores, -1e30), -1)
    y = jnp.einsum("bhqk,bkhd->bqhd", shares, values)
    return y.reshape(x.shape) @ p["o"], keys, values


def apply_experts(router, up, down, x):
    """Two experts of four for each token."""
    weights, chosen = lax.top_k(jax.nn.softmax(x @ router, -1), 2)
    h = jax.nn.silu(jnp.einsum("td,edf->tef", x, up))
    y = jnp.take_along_axis(jnp.einsum("tef,efd->ted", h, down), chosen[..., None], 1)
    return (y * weights[..., None]).sum(1), chosen


def classify(filters, x):
    """A convolutional net with a pool, strides and a depthwise layer."""
    def convolve(x, w, stride, **options):
        return lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=_IMAGES,
                                        **options)
    x = jax.nn.relu(convolve(x, filters[0], 1))
    x = lax.reduce_window(x, -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    x = jax.nn.relu(convolve(x, filters[1], 2))
    x = convolve(x, filters[2], 1, feature_group_count=16)
    return jnp.argmax(x.mean((1, 2)), -1), jnp.sort(jnp.cumsum(x.mean((1, 2)), -1), -1)


class ModelsTest(unittest.TestCase):
    def check(self, function, *args, tolerance=1e-5):
        found = jax.tree.leaves(import_function(function, *args).compile()(*args))
        wanted = jax.tree.leaves(jax.jit(function)(*args))
        for number, (a, b) in enumerate(zip(found, wanted, strict=True)):
            with self.subTest(number=number):
                self.assertEqual((a.dtype, a.shape), (b.dtype, b.shape))
                np.testing.assert_allclose(widen(a), widen(b), rtol=tolerance, atol=tolerance)

    # Its products name their algorithm, bf16 with sums in f32.
    def test_a_block_in_bf16(self):
        self.check(apply_block, make_weights(BF16), draw(2, 8, WIDTH, seed=9, dtype=BF16) * 8,
                   tolerance=2 ** -6)

    def test_layers_by_scan(self):
        def apply(p, x):
            return lax.scan(lambda x, p: (apply_block(p, x), x.mean(-1)), x, p)
        self.check(apply, make_weights(layers=(3,)), draw(2, 8, WIDTH, seed=9))

    def test_a_step_with_a_cache(self):
        cache = draw(2, 16, HEADS, WIDTH // HEADS, seed=8)
        for position in (0, 15):
            self.check(decode, make_weights(), draw(2, 1, WIDTH, seed=9), cache, cache[::-1],
                       np.int32(position))

    def test_experts(self):
        self.check(apply_experts, draw(WIDTH, 4), draw(4, WIDTH, INNER, seed=1),
                   draw(4, INNER, WIDTH, seed=2), draw(9, WIDTH, seed=3))

    def test_a_convolutional_net(self):
        filters = draw(3, 3, 3, 8), draw(3, 3, 8, 16, seed=1), draw(3, 3, 1, 16, seed=2)
        self.check(classify, filters, draw(2, 12, 12, 3, seed=3) * 8)


if __name__ == "__main__":
    unittest.main()
