# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of elements and scales, and contractions with scales, that became `dequantize`.

MLIR 22 lowers none of their ops on narrow elements, so numpy computes what the ops are
documented to do, in f32 and with one rounding, for each code with each scale. Sums of
contractions are added in the order of the loops.
"""

import argparse
import itertools

import ml_dtypes
import numpy as np

from expect import Expectations
from module import Module
from products import CODECS
from reference import decode_e8m0, pack

KINDS = {"bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32}
BLOCK = """#e = affine_map<(m, k, b) -> (m, k, b)>
#s = affine_map<(m, k, b) -> (m, k)>
"""


def decode(data):
    codec = CODECS[data]
    return codec.decode(np.arange(2 * codec.sign_bit)).astype(np.float32)


def decoder_text(name, data, result, form, rows, blocks):
    """One of `arith.scaling_extf`, and of a product that is rounded behind it."""
    q, s, w = (f"tensor<{rows}x{blocks}x32x{data}>", f"tensor<{rows}x{blocks}xf8E8M0FNU>",
               f"tensor<{rows}x{blocks}x32x{result}>")
    body = [f"    %t = arith.scaling_extf %i, %c : {data}, f8E8M0FNU to {result}"]
    if form == "product":
        body = [f"    %0 = arith.extf %i : {data} to f32",
                "    %1 = arith.extf %c : f8E8M0FNU to f32", "    %v = arith.mulf %1, %0 : f32",
                f"    %t = arith.truncf %v : f32 to {result}"]
        if result == "f32":
            body = [*body[:2], "    %t = arith.mulf %1, %0 : f32"]
    return "\n".join([
        f"func.func @{name}(%q: {q}, %s: {s}) -> {w} {{", f"  %e = tensor.empty() : {w}",
        ("  %w = linalg.generic {indexing_maps = [#e, #s, #e], iterator_types = [\"parallel\", "
         f"\"parallel\", \"parallel\"]}} ins(%q, %s : {q}, {s}) outs(%e : {w}) {{"),
        f"  ^bb0(%i: {data}, %c: f8E8M0FNU, %o: {result}):", *body,
        f"    linalg.yield %t : {result}", f"  }} -> {w}", f"  return %w : {w}", "}", ""])


def check_decoders(folder, expect):
    cases = [(data, result, form) for data in CODECS for result in KINDS
             for form in ("scaling", "product") if (result, form) != ("f16", "scaling")]
    rows = {data: 256 * max(1, len(decode(data)) // 32) for data in CODECS}
    text = BLOCK + "".join(decoder_text(f"f{number}", *case, rows[case[0]], 2)
                           for number, case in enumerate(cases))
    module = Module(text, folder, ["--blockscale-raise-quantizers"], optimize=False)
    count = module.text.count("blockscale.dequantize")
    expect.record("decoders", None if count == len(cases) else
                  f"expected {len(cases)}, but got {count}")
    for number, (data, result, form) in enumerate(cases):
        values = decode(data)
        codes = np.resize(np.arange(len(values), dtype=np.uint8), (rows[data] // 256, 2, 32))
        codes = np.repeat(codes[None], 256, axis=0).reshape(-1, 2, 32)
        scales = np.repeat(np.arange(256, dtype=np.uint8), rows[data] // 256)
        scales = np.stack([scales, scales[::-1]], axis=1)
        with np.errstate(all="ignore"):
            want = values[codes] * decode_e8m0(scales).astype(np.float32)[..., None]
            want = want.astype(KINDS[result])
        stored = pack(codes) if data == "f4E2M1FN" else codes
        [got] = module.call(f"f{number}", np.ascontiguousarray(stored), scales)
        expect.equal(f"{data} to {result} by {form}", [got.view(KINDS[result])], [want])


def contraction_text(name, data, m, n, blocks):
    a, b = f"tensor<{m}x{blocks}x32x{data}>", f"tensor<{n}x{blocks}x32x{data}>"
    s, t = f"tensor<{m}x{blocks}xf8E8M0FNU>", f"tensor<{n}x{blocks}xf8E8M0FNU>"
    y = f"tensor<{m}x{n}xf32>"
    maps = ", ".join(f"affine_map<(m, n, k, b) -> ({read})>"
                     for read in ("m, k, b", "n, k, b", "m, k", "n, k", "m, n"))
    return "\n".join([
        f"func.func @{name}(%a: {a}, %b: {b}, %s: {s}, %t: {t}) -> {y} {{",
        f"  %e = tensor.empty() : {y}", "  %zero = arith.constant 0.0 : f32",
        f"  %z = linalg.fill ins(%zero : f32) outs(%e : {y}) -> {y}",
        (f"  %y = linalg.generic {{indexing_maps = [{maps}], iterator_types = [\"parallel\", "
         "\"parallel\", \"reduction\", \"reduction\"]} "
         f"ins(%a, %b, %s, %t : {a}, {b}, {s}, {t}) outs(%z : {y}) {{"),
        f"  ^bb0(%i: {data}, %j: {data}, %c: f8E8M0FNU, %d: f8E8M0FNU, %o: f32):",
        f"    %0 = arith.scaling_extf %i, %c : {data}, f8E8M0FNU to f32",
        f"    %1 = arith.scaling_extf %j, %d : {data}, f8E8M0FNU to f32",
        "    %2 = arith.mulf %0, %1 : f32", "    %3 = arith.addf %o, %2 : f32",
        "    linalg.yield %3 : f32", f"  }} -> {y}", f"  return %y : {y}", "}", ""])


def check_contractions(folder, expect):
    m, n, blocks = 5, 7, 3
    text = "".join(contraction_text(f"f{number}", data, m, n, blocks)
                   for number, data in enumerate(CODECS))
    module = Module(text, folder, ["--blockscale-raise-quantizers"], optimize=False)
    count = module.text.count("blockscale.dequantize")
    expect.record("contractions", None if count == 2 * len(CODECS) else
                  f"expected {2 * len(CODECS)}, but got {count}")
    random = np.random.default_rng(7)
    for (number, data), kind in itertools.product(enumerate(CODECS), ("sums", "ends")):
        values = decode(data)
        # Values whose sums f32 holds, as a product may add them in any order; or one element
        # beside zeros, with any scale.
        small = np.flatnonzero((np.abs(values) <= 4) & (values * 8 == np.rint(values * 8)))
        small = small.astype(np.uint8)
        if kind == "sums":
            operands = [random.choice(small, (rows, blocks, 32)) for rows in (m, n)]
            scales = [random.integers(125, 130, (rows, blocks)).astype(np.uint8)
                      for rows in (m, n)]
        else:
            finite = np.flatnonzero(np.isfinite(values)).astype(np.uint8)
            operands = [np.zeros((rows, blocks, 32), np.uint8) for rows in (m, n)]
            for each in operands:
                each[:, 1, 3] = random.choice(finite, len(each))
            scales = [random.integers(0, 255, (rows, blocks)).astype(np.uint8) for rows in (m, n)]
            scales[0][2, 0] = 255
        with np.errstate(all="ignore"):
            a, b = (values[codes] * decode_e8m0(scale).astype(np.float32)[..., None]
                    for codes, scale in zip(operands, scales))
            want = np.zeros((m, n), np.float32)
            for k in np.ndindex(blocks, 32):
                want += a[:, None, k[0], k[1]] * b[None, :, k[0], k[1]]
        stored = [pack(codes) if data == "f4E2M1FN" else codes for codes in operands]
        [got] = module.call(f"f{number}", *map(np.ascontiguousarray, stored), *scales)
        expect.equal(f"contraction of {data}: {kind}", [got], [want])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="where to compile")
    folder = parser.parse_args().folder
    expect = Expectations()
    check_decoders(folder, expect)
    check_contractions(folder, expect)
    expect.finish()


if __name__ == "__main__":
    main()
