# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Requirements A1-A7, A14, A15, B1-B3 and B7: quantization to NVFP4 with one level
of scales and with two. Each formula is here in numpy as it is stated, on inputs that
tell it from its neighbours.

Usage: requirements_nvfp4.py FOLDER
"""

import sys

import numpy as np

from expect import first_difference
from module import Module
from reference import (
    E2M1,
    E4M3,
    dequantize_nvfp4,
    from_bf16,
    pack,
    quantize_nvfp4,
    swizzle,
    to_bf16,
    unpack,
)
from requirements_checks import SWIZZLED, Requirements, around, blocks_of, f32, scale_boundaries

EPS = f32(0.015625)  # The smallest normal E4M3 value.
TIES = np.array([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5], f32)
RECIPES = ("torchao", "mslk", "te", "modelopt")
ROWS = (128, 256, 512, 1024, 100, 200, 384)
COLUMNS = (64, 128, 256, 512, 32, 96, 160)

random = np.random.default_rng(41)
expect = Requirements()


def function(name, recipe, element, operand="", encoding=""):
    """`operand`: none, given (a decode scale) or dynamic (from the amax of x)."""
    x, scale = f"tensor<?x?x{element}>", f"tensor<?x?xf8E4M3FN{encoding}>"
    text, argument, attribute = "", "", ""
    if operand == "given":
        argument, attribute = ", %g: f32", " global_scale(%g : f32)"
    elif operand == "dynamic":
        text = (f"  %a = blockscale.amax %x : {x} -> tensor<f32>\n"
                f"  %g = blockscale.global_scale %a recipe {recipe} : tensor<f32>\n")
        attribute = " global_scale(%g : tensor<f32>)"
    results, returned = f"tensor<?x?xf4E2M1FN>, {scale}", "%q, %s"
    text += (f"  %q, %s = blockscale.quantize %x block [1, 16] recipe {recipe}{attribute}\n"
             f"      : {x} -> {results}\n")
    if operand == "dynamic":
        results, returned = results + ", tensor<f32>", returned + ", %g"
    return (f"func.func @{name}(%x: {x}{argument}) -> ({results}) {{\n{text}"
            f"  return {returned} : {results}\n}}\n")


text = ""
for element in ("f32", "bf16"):
    for recipe in RECIPES:
        for operand in ("none", "given", "dynamic"):
            text += function(f"{recipe}_{operand}_{element}", recipe, element, operand)
    for operand in ("none", "dynamic"):
        text += function(f"swizzled_{operand}_{element}", "torchao", element, operand, SWIZZLED)
module = Module(text, sys.argv[1])


def run(recipe, x, *g):
    """Scale bytes and codes of x, f32; in bf16 too, where x is that."""
    operand = "given" if g else "none"
    q, s = module.call(f"{recipe}_{operand}_f32", x, *g)
    if (from_bf16(to_bf16(x)) == x).all():
        expect.equal(f"{recipe} of bf16", module.call(f"{recipe}_{operand}_bf16", to_bf16(x), *g),
                     [q, s])
    return s[:, 0], unpack(q)


def scale_of(value, floor=EPS):
    return E4M3.encode(np.clip(value, floor, f32(448)))


def data_of(y):
    """A5: clamp to [-6, 6], round to the nearest code, ties to even."""
    return E2M1.encode(np.clip(y, f32(-6), f32(6)))


def tie_aligned(unit):
    """Blocks whose largest is 6 units and whose rest is halfway between two codes, as
    they are, and in f32 one below and above."""
    exact = np.zeros((len(unit), 16), f32)
    exact[:, 0] = f32(6) * unit
    exact[:, 1:8], exact[:, 8:15] = unit[:, None] * TIES, -unit[:, None] * TIES
    around = np.repeat(exact, 2, axis=0)
    around[::2, 1:] = np.nextafter(around[::2, 1:], f32(0))
    around[1::2, 1:15] = np.nextafter(around[1::2, 1:15], f32(np.inf))
    return exact, around


def check_one_level():
    amax = around(scale_boundaries() * f32(6), 1)
    got = run("torchao", blocks_of(amax))[0]
    expect.told("A1: division by 6", got, scale_of(amax / f32(6)),
                scale_of(amax * (f32(1) / f32(6))))
    expect.told("A1: the smallest scale", got, scale_of(amax / f32(6)),
                scale_of(amax / f32(6), f32(2.0**-9)))
    expect.told("A1: the largest scale", run("torchao", blocks_of([f32(3000)]))[0],
                np.array([0x7E], np.uint8), np.array([0x7F], np.uint8))

    exact, around_ties = tie_aligned(E4M3.decode(np.arange(0x08, 0x7F, dtype=np.uint8)))
    for where, x in (("on ties", exact), ("beside ties", around_ties)):
        s, q = run("torchao", x)
        scale = E4M3.decode(s)[:, None]
        wanted = data_of(x * (f32(1) / scale))
        expect.told(f"A2: the rounded reciprocal {where}", q, wanted, data_of(x / scale))
        expect.told(f"A5: even element in the low half {where}",
                    module.call("torchao_none_f32", x)[0], wanted[:, ::2] | wanted[:, 1::2] << 4,
                    wanted[:, ::2] << 4 | wanted[:, 1::2])


def check_rounding():
    """A5 by the codes it lists: a block of scale 1 holds each boundary, and values
    that a scale rounded down leaves above 6."""
    x = np.zeros((2, 16), f32)
    x[:, :8] = 6, *TIES
    x[1] *= -1
    codes = np.array([7, 0, 2, 2, 4, 4, 6, 6, *[0] * 8], np.uint8)
    expect.equal("A5: ties to even", [run("torchao", x)[1]], [np.stack([codes, codes | 8])])
    x = blocks_of(around([f32(6 * 17 / 16)], 0))  # Scale 1 and 1/16, rounded to 1.
    s, q = run("torchao", x)
    expect.equal("A5: clamped to 6", [s, q[:, :1]], [np.array([0x38], np.uint8),
                                                   np.array([[7]], np.uint8)])


def check_two_levels():
    g = f32(0.0034280804)  # Its reciprocal is rounded by nearly half a unit.
    encode = f32(1) / g
    amax = np.abs(around(scale_boundaries() * f32(6) * g, 8))
    expect.told("A3: by 6, then by the global scale", run("torchao", blocks_of(amax), g)[0],
                scale_of(amax / f32(6) / g), scale_of(amax / (f32(6) * g)))
    for x in tie_aligned(E4M3.decode(np.arange(0x08, 0x7F, dtype=np.uint8)) * g):
        s, q = run("torchao", x, g)
        scale = E4M3.decode(s)[:, None]
        expect.told("A4: two roundings before the product", q, data_of(x * (encode / scale)),
                    data_of(x * (f32(1) / (g * scale))))

    least = f32(2.0**-9)
    expect.told("A7: mslk is handed the reciprocal", run("mslk", blocks_of(amax), g)[0],
                scale_of(amax / f32(6) * encode, least), scale_of(amax / f32(6) / g, least))
    s, q = run("mslk", x, g)
    expect.equal("A7: and so its data", [q], [data_of(x * (encode / E4M3.decode(s)[:, None]))])
    got = run("mslk", blocks_of(amax))[0]
    expect.equal("A7: or nothing", [got], [scale_of(amax / f32(6), least)])


def check_absent():
    x = np.concatenate([*tie_aligned(E4M3.decode(np.arange(0x01, 0x7F, dtype=np.uint8))),
                        random.standard_normal((512, 16)).astype(f32), np.zeros((1, 16), f32)])
    for recipe in RECIPES:
        expect.equal(f"A6: none is 1.0, {recipe}", run(recipe, x), run(recipe, x, f32(1)))
    # Zero and NaN are values, not absence.
    for recipe in ("torchao", "mslk"):
        for g in (f32(0), f32(-0.0), f32(np.nan)):
            got, absent = run(recipe, x, g), run(recipe, x)
            expect.holds(f"B3: {recipe} of {g}", first_difference(got, absent), "is as if absent")
            expect.equal(f"B3: {recipe} of {g}", [got[0]],
                         [quantize_nvfp4(x, recipe, global_scale=g)[1][:, 0]])


def check_dynamic():
    for exponent in range(-30, 30, 3):
        x = (random.standard_normal((64, 128)) * 2.0**exponent).astype(f32)
        q, s, g = module.call("torchao_dynamic_f32", x)
        amax = np.abs(x).max()
        expect.told("B2: the scale of a tensor", g, np.asarray(amax / f32(2688)),
                    np.asarray(np.clip(amax / f32(448), EPS, f32(448))))
        expect.equal("B2: as if given", [q, s], module.call("torchao_given_f32", x, g))
        # Of each call, not of the function.
        expect.equal("B1: of twice the tensor", module.call("torchao_dynamic_f32", 2 * x),
                     [q, s, np.asarray(2 * g)])
        expect.holds("B1: without it", first_difference(module.call("torchao_none_f32", x), [q, s]),
                     "gives the same")


def check_zero():
    """What a tensor of zeros gives, by recipe: scale byte and code."""
    known = {"torchao": 0x7F, "modelopt": 0x7F, "te": 0x00, "mslk": 0x01}
    for recipe, byte in known.items():
        for zero in (f32(0), f32(-0.0)):
            q, s, _ = module.call(f"{recipe}_dynamic_f32", np.full((4, 32), zero))
            expect.equal(f"B7: {recipe}", [s], [np.full((4, 2), byte, np.uint8)])
            if byte != 0x7F:
                magnitudes = unpack(q) & 7
                expect.equal(f"B7: {recipe}, data", [magnitudes], [np.zeros_like(magnitudes)])


def check_shapes():
    """A15: each size, in both types, with one level and two, bit for bit and so at any
    signal to noise ratio; A14: the shapes of the results."""
    for m in ROWS:
        for k in COLUMNS:
            x = from_bf16(to_bf16((random.standard_normal((m, k)) * 3).astype(f32)))
            for operand in ("none", "dynamic"):
                source = {} if operand == "none" else {"global_scale": np.abs(x).max() / f32(2688)}
                codes, scale = quantize_nvfp4(x, "torchao", **source)
                want = [pack(codes), scale], [pack(codes), swizzle(scale)]
                for element, stored in (("f32", x), ("bf16", to_bf16(x))):
                    what = f"{m}x{k}, {operand}, {element}"
                    linear = module.call(f"torchao_{operand}_{element}", stored)[:2]
                    tiles = module.call(f"swizzled_{operand}_{element}", stored)[:2]
                    expect.equal(f"A15: {what}", linear, want[0])
                    expect.equal(f"A15: {what}, swizzled", tiles, want[1])
                shapes = [a.shape for a in (*linear, tiles[1].reshape(-1))]
                blocked = -(-m // 128) * 128 * (-(-(k // 16) // 4) * 4)
                expect.holds(f"A14: {m}x{k}", shapes == [(m, k // 2), (m, k // 16), (blocked,)],
                             f"got shapes {shapes}")
            value = dequantize_nvfp4(codes, scale, "torchao", source["global_scale"])
            noise = np.sum((value - x) ** 2) / np.sum(x**2)
            expect.holds(f"A15: {m}x{k}, signal", noise < 0.02, f"noise {noise}")


check_one_level()
check_rounding()
check_two_levels()
check_absent()
check_dynamic()
check_zero()
check_shapes()
expect.finish()
