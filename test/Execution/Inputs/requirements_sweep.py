# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Requirements D1-D6, D11 and D12: the sweep over 126 scales and its export. The
formulas are here in numpy as they are stated.

Usage: requirements_sweep.py FOLDER
"""

import sys

import numpy as np

from module import Module
from reference import E2M1, E4M3, from_bf16, scale_sweep, to_bf16, unpack
from requirements_checks import Requirements, f32, tensor

MAGNITUDES = np.array([6, 4, 3, 2, 1.5, 1, 0.5, 0] * 2, f32)
VALUES = E4M3.decode(np.arange(0x01, 0x7F, dtype=np.uint8))
CANDIDATES = VALUES / f32(448)
INFINITY = f32(np.inf)

random = np.random.default_rng(43)
expect = Requirements()


def sweep_function(name, element, hessian=False):
    x, result = tensor("??", element), tensor("??", "f32")
    argument = ", %h: tensor<?x16x16xf32>" * hessian
    attribute = " hessian(%h : tensor<?x16x16xf32>)" * hessian
    return (f"func.func @{name}(%x: {x}, %g: f32{argument}) -> {result} {{\n"
            f"  %best = blockscale.scale_sweep %x global_amax(%g : f32){attribute}\n"
            f"      : {x} -> {result}\n  return %best : {result}\n}}\n")


def export_function():
    """The quantization with given block amaxes."""
    x, amax = tensor("??", "f32"), tensor("??", "f32")
    q, s = tensor("??", "f4E2M1FN"), tensor("??", "f8E4M3FN")
    return (f"func.func @export(%x: {x}, %g: f32, %best: {amax}) -> ({q}, {s}) {{\n"
            f"  %q, %s = blockscale.quantize %x block [1, 16] recipe modelopt\n"
            f"      global_amax(%g : f32) block_amax(%best : {amax}) : {x} -> {q}, {s}\n"
            f"  return %q, %s : {q}, {s}\n}}\n")


module = Module(sweep_function("f32", "f32") + sweep_function("bf16", "bf16")
                + sweep_function("weighed", "f32", hessian=True) + export_function(), sys.argv[1])


def sweep(x, g):
    [best] = module.call("f32", x, f32(g))
    return best[:, 0]


def losses(x, g):
    """Of each block under each candidate. Sums are of f64: only losses that are far
    apart or exactly equal are compared."""
    scale = (CANDIDATES * f32(g)) / f32(6)
    scale = np.where(scale == 0, f32(1), scale)
    magnitude = np.abs(x)[:, None, :]
    codes = E2M1.encode(magnitude / scale[:, None])
    error = magnitude - E2M1.decode(codes) * scale[:, None]
    return (error.astype(np.float64) ** 2).sum(-1)


def random_blocks(count):
    kinds = [random.standard_normal((count, 16)), random.standard_t(3, (count, 16)),
             random.laplace(size=(count, 16)), random.uniform(-1, 1, (count, 16)) ** 9]
    return np.concatenate(kinds).astype(f32)


def check_candidates():
    expect.holds("D1: 126 candidates", len(VALUES) == 126 and VALUES[0] == 2.0**-9
                 and VALUES[-1] == 448)
    # Blocks that only one scale represents, of a tensor whose amax is 1.
    x = CANDIDATES[:, None] / f32(6) * MAGNITUDES
    expect.equal("D1: each of them wins", [sweep(x, 1)], [CANDIDATES])


def check_losses():
    x = random_blocks(512)
    g = np.abs(x).max()
    of_each, got = losses(x, g), sweep(x, g)
    index = np.abs(got[:, None] - g * CANDIDATES).argmin(1)
    expect.equal("D2: the result is a candidate's", [got], [(g * CANDIDATES)[index]])
    loss = np.take_along_axis(of_each, index[:, None], 1)[:, 0]
    worst = (loss / of_each.min(1)).max()
    expect.holds("D2: the smallest loss", worst < 1 + 1e-5, f"lost by {worst}")
    plain = np.abs(of_each[:, -1] / of_each.min(1) - 1).max()
    expect.holds("D2: the losses tell candidates", plain > 0.1)
    # Scales that underflow count as 1, under which these blocks are exact.
    expect.told("D2: a scale of 0 is 1", sweep(MAGNITUDES[None], 2.0**-146),
                np.zeros(1, f32), np.full(1, 2.0**-146, f32))


def check_order():
    # Equal blocks are exact under several scales, zeros under all.
    x = np.concatenate([np.zeros((2, 16), f32), np.repeat(VALUES[:, None], 16, axis=1)])
    of_each = losses(x, 448)
    first = of_each.argmin(1)
    last = of_each.shape[1] - 1 - of_each[:, ::-1].argmin(1)
    amax = f32(448) * CANDIDATES
    expect.told("D3: the smallest of equals", sweep(x, 448), amax[first], amax[last])
    expect.equal("D3: the first where no loss is finite",
                 [sweep(np.full((1, 16), INFINITY), 448)], [amax[:1]])


def check_bytes():
    x = np.zeros((126, 16), f32)
    want = np.arange(0x01, 0x7F, dtype=np.uint8)[:, None]
    for binade in range(-20, 21):
        for g in (random.uniform(1, 2, 3) * 2.0**binade).astype(f32):
            got = module.call("export", x, g, (g * CANDIDATES)[:, None])[1]
            expect.equal(f"D4: amax {g}", [got], [want])


def check_signs():
    x = random_blocks(256)
    g = np.abs(x).max()
    for name, signed in (("negative", -x), ("absolute", np.abs(x)),
                         ("of random sign", np.where(random.random(x.shape) < 0.5, x, -x))):
        expect.equal(f"D5: {name}", [sweep(signed, g)], [sweep(x, g)])


def check_reference():
    x = from_bf16(to_bf16(random_blocks(1024)))
    g = np.abs(x).max()
    want = scale_sweep(x, g)
    expect.equal("D6: of 4096 blocks", module.call("f32", x, g), [want])
    expect.equal("D6: of 4096 blocks, bf16", module.call("bf16", to_bf16(x), g), [want])
    one = np.eye(16, dtype=f32)[None]
    expect.equal("D11: the identity weighs nothing", module.call("weighed", x, g, one), [want])
    # Errors of one element alone, which is exact under some scale.
    corner = np.zeros((1, 16, 16), f32)
    corner[0, 0, 0] = 1
    expect.told("D11: one element", module.call("weighed", x, g, corner)[0],
                scale_sweep(x, g, corner), want)
    # Losses of exact blocks are sums of -0 where the elements are negative.
    exact = np.repeat(-VALUES[:, None], 16, axis=1)
    expect.told("D11: losses of -0", module.call("weighed", exact, f32(448), one)[0],
                scale_sweep(exact, 448, one), np.full((126, 1), 448 * CANDIDATES[0]))
    indefinite = random.standard_normal((1, 16, 16)).astype(f32)
    expect.told("D11: negative losses", module.call("weighed", x, g, indefinite)[0],
                scale_sweep(x, g, indefinite), want)


def check_export():
    x = random_blocks(512)
    g = np.abs(x).max()
    best = sweep(x, g)
    best[:64] = np.abs(random.standard_normal(64) * g * 2.0**-14).astype(f32)
    best[0] = 0
    q, s = module.call("export", x, g, best[:, None])

    def scale_of(block, least):
        block = np.where(block == 0, f32(1), block)
        return E4M3.encode(np.clip(block * f32(448) / (g / f32(6)), f32(least), f32(448)))

    want = scale_of(best / f32(6), 2.0**-9)
    expect.told("D12: scales", s[:, 0], want, scale_of(best / f32(6), 2.0**-6))
    scale = E4M3.decode(want)[:, None] * (g / f32(2688))
    codes = E2M1.encode(np.clip(x / scale, f32(-6), f32(6)))
    codes[x / scale == 0] = 0
    expect.equal("D12: data", [unpack(q)], [codes])
    # 1 * 448 / (2688 / 6) is 1; of an amax, not of what it is divided by.
    zero = module.call("export", np.zeros((1, 16), f32), f32(2688), np.zeros((1, 1), f32))
    expect.equal("D12: of a zero block", zero, [np.zeros((1, 8), np.uint8),
                                                np.full((1, 1), 0x38, np.uint8)])


check_candidates()
check_losses()
check_order()
check_bytes()
check_signs()
check_reference()
check_export()
expect.finish()
