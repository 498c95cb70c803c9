# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of JAX, exported and imported, and what their numbers must be in numpy."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import export

import blockscale.jax

BF16 = ml_dtypes.bfloat16
E4M3, E5M2 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
E8M0, E2M1 = ml_dtypes.float8_e8m0fnu, ml_dtypes.float4_e2m1fn
_UNCHECKED = [export.DisabledSafetyCheck.custom_call(name) for name in (
    "__op$block_scaled_dot", "__op$quantize", "__op$dequantize", "unknown_call")]


def export_function(function, *args, platform="cpu"):
    return export.export(jax.jit(function), platforms=(platform,),
                         disabled_checks=_UNCHECKED)(*args)


def import_function(function, *args, platform="cpu", **options):
    return blockscale.jax.from_export(export_function(function, *args, platform=platform),
                                      **options)


def widen(array):
    return np.asarray(array).astype(np.float32)


def draw_data(rng, shape, dtype):
    """Codes of any value, none of which is NaN or infinite."""
    return widen(rng.standard_normal(shape)).astype(dtype)


def draw_scales(rng, shape, dtype):
    if dtype == E8M0:
        return np.exp2(rng.integers(-6, 7, shape)).astype(np.float32).astype(dtype)
    return rng.uniform(0.1, 4, shape).astype(np.float32).astype(dtype)


def dequantize(data, scale, axis=-1):
    """f32 numbers, exact."""
    block = data.shape[axis] // scale.shape[axis]
    return widen(data) * np.repeat(widen(scale), block, axis)


def quantize_mx(x):
    """MXFP8 of JAX in IEEE arithmetic: scales are the quotient of f32 rounded up to a power
    of two. Returns data and scales."""
    blocks = widen(x).reshape(*x.shape[:-1], -1, 32)
    bits = (np.abs(blocks).max(-1) / np.float32(448)).view(np.uint32)
    exponent, mantissa = bits >> 23, bits & 0x7FFFFF
    rises = (mantissa > 0) & (exponent != 0xFE) & ~((exponent == 0) & (mantissa <= 0x400000))
    byte = (exponent + rises).astype(np.uint8)
    data = np.clip(blocks / widen(byte.view(E8M0))[..., None], -448, 448).astype(E4M3)
    return data.reshape(x.shape), byte.view(E8M0)


def quantize_nv(x, scale):
    """NVFP4 of JAX with a global scale. Returns data and scales; data of a scale of 0, which
    mean 0, are 0."""
    blocks = (widen(x) / np.float32(scale)).reshape(*x.shape[:-1], -1, 16)
    scales = np.clip(np.abs(blocks).max(-1) / np.float32(6), 0, 448).astype(E4M3)
    with np.errstate(divide="ignore", invalid="ignore"):
        data = np.clip(blocks / widen(scales)[..., None], -6, 6)
    data = np.where(widen(scales)[..., None] == 0, np.float32(0), data)
    return data.astype(E2M1).reshape(x.shape), scales


def scaled_dot_general(scales=None, dtype=jnp.float32):
    """A product of x [M, K] and y [N, K]: MXFP8, or NVFP4 with global scales."""
    def product(x, y):
        get = jax.nn.get_scaled_dot_general_config
        configs = ([get("nvfp4", jnp.float32([each])) for each in (*scales, 1)] if scales
                   else [get("mxfp8")] * 3)
        return jax.nn.scaled_dot_general(x, y, (((1,), (1,)), ((), ())), configs=configs,
                                         preferred_element_type=dtype)
    return product


# A BERT encoder in pure JAX.


def _norm(p, name, x):
    mean = x.mean(-1, keepdims=True)
    variance = jnp.square(x - mean).mean(-1, keepdims=True)
    return ((x - mean) * jax.lax.rsqrt(variance + p["epsilon"]) * p[f"{name}.weight"]
            + p[f"{name}.bias"])


def _linear(p, name, x):
    with jax.named_scope(name.replace(".", "/")):
        return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]


def _attend(p, name, x, mask, heads):
    query, key, value = (
        _linear(p, f"{name}.attention.self.{part}", x)
        .reshape(*x.shape[:-1], heads, -1).swapaxes(1, 2) for part in ("query", "key", "value"))
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1]).astype(np.float32)
    scores = jnp.where(mask[:, None, None, :], scores, np.float32(-1e9))
    mixed = jax.nn.softmax(scores, axis=-1) @ value
    return mixed.swapaxes(1, 2).reshape(x.shape)


def encode(p, ids, mask, layers, heads, approximate=False):
    """Sentence vectors [B, H] of norm 1.

    Args:
      p: weights by their names in a checkpoint of BERT, and "epsilon".
      ids, mask: tokens [B, T], and which of them there are.
    """
    p = {name: jnp.asarray(weight) for name, weight in p.items()}
    x = (p["embeddings.word_embeddings.weight"][ids]
         + p["embeddings.position_embeddings.weight"][jnp.arange(ids.shape[1])]
         + jnp.take(p["embeddings.token_type_embeddings.weight"], jnp.zeros_like(ids), axis=0))
    x = _norm(p, "embeddings.LayerNorm", x)
    for number in range(layers):
        name = f"encoder.layer.{number}"
        mixed = _linear(p, f"{name}.attention.output.dense", _attend(p, name, x, mask, heads))
        x = _norm(p, f"{name}.attention.output.LayerNorm", x + mixed)
        active = jax.nn.gelu(_linear(p, f"{name}.intermediate.dense", x), approximate=approximate)
        x = _norm(p, f"{name}.output.LayerNorm", x + _linear(p, f"{name}.output.dense", active))
    kept = mask[..., None].astype(x.dtype)
    mean = (x * kept).sum(1) / jnp.clip(kept.sum(1), 1e-9)
    return mean / jnp.linalg.norm(mean, axis=-1, keepdims=True)


def make_weights(rng, layers=1, hidden=32, inner=64, words=50, positions=16):
    shapes = {"embeddings.word_embeddings.weight": (words, hidden),
              "embeddings.position_embeddings.weight": (positions, hidden),
              "embeddings.token_type_embeddings.weight": (2, hidden),
              "embeddings.LayerNorm": hidden}
    for number in range(layers):
        name = f"encoder.layer.{number}"
        for part in ("query", "key", "value"):
            shapes[f"{name}.attention.self.{part}"] = (hidden, hidden)
        shapes |= {f"{name}.attention.output.dense": (hidden, hidden),
                   f"{name}.attention.output.LayerNorm": hidden,
                   f"{name}.intermediate.dense": (inner, hidden),
                   f"{name}.output.dense": (hidden, inner), f"{name}.output.LayerNorm": hidden}
    weights = {"epsilon": np.float32(1e-12)}
    for name, shape in shapes.items():
        if name.endswith(".weight"):
            weights[name] = widen(rng.standard_normal(shape))
            continue
        rows = shape if isinstance(shape, int) else shape[0]
        weights[f"{name}.weight"] = widen(rng.standard_normal(shape) * (
            1 if isinstance(shape, int) else shape[1] ** -0.5))
        weights[f"{name}.bias"] = widen(rng.standard_normal(rows) * 0.1)
    return weights
