# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantizers of every NVFP4 recipe under global scales and amaxes that are no positive finite
numbers, one for each matrix of a batch: the CPU and kernels of three chips give the bytes of the
numpy reference, where they mean something, and each other's.

Usage: odd_globals.py FOLDER
"""

import sys
from pathlib import Path

import numpy as np

from expect import Expectations, first_difference
from gpu_calls import ON_CPU, run_places
from reference import from_bf16, pack, quantize_nvfp4, to_bf16

# Types of x, and the chips whose kernels take them here.
TYPES = {"bf16": (to_bf16, ("sm_80", "sm_100a")), "f16": (np.float16, ("sm_120a",)),
         "f32": (np.float32, ("sm_100a",))}
RECIPES = ("torchao", "mslk", "te", "modelopt", "te_4over6_mae", "te_4over6_mse",
           "compressed_tensors", "torchao_training")
KINDS = ("global_scale", "global_amax")
# Attributes, the block, and the shapes of data and scales.
FORMS = {"rows": ("[1, 16]", (1, 16), (32, 64), (32, 4)),
         "columns": ("[16, 1] transposed", (16, 1), (64, 32), (64, 2))}
INFINITY = np.float32(np.inf)
GLOBALS = np.array([INFINITY, -INFINITY, 0.0, -0.0, np.nan, -1.5, 1e-40, -1e-40, 2.0**-127,
                    3e38, -3e38, 0.37], np.float32)
SHAPE = (len(GLOBALS), 32, 64)
E4M3_NAN = 0x7F


def make_input():
    """Numbers of every size and sign, zeros of both, and whole blocks of these."""
    random = np.random.default_rng(10)
    x = random.standard_normal(SHAPE[1:]) * 2.0 ** random.integers(-10, 10, SHAPE[1:])
    x[:, :16] = random.choice([0.0, -0.0, 1.0, -1.0], (SHAPE[1], 16))
    x[3, 16:32], x[4, 16:32], x[5] = 0.0, -0.0, x[5] * 2.0**-20
    return np.broadcast_to(x, SHAPE).astype(np.float32).copy()


def make_text(type):
    """One function: a quantizer for each recipe, kind of operand and form of blocks."""
    x = f"tensor<{'x'.join(map(str, SHAPE))}x{type}>"
    g, body, names, types = f"tensor<{SHAPE[0]}xf32>", "", [], []
    for recipe in RECIPES:
        for kind in KINDS:
            for block, _, *shapes in FORMS.values():
                n = len(names)
                names += [f"%r{n}", f"%r{n + 1}"]
                types += [f"tensor<{SHAPE[0]}x{rows}x{cols}x{element}>" for (rows, cols), element
                          in zip(shapes, ("f4E2M1FN", "f8E4M3FN"), strict=True)]
                body += (f"  %r{n}, %r{n + 1} = blockscale.quantize %x block {block} "
                         f"recipe {recipe} {kind}(%g : {g}) : {x} -> {types[-2]}, {types[-1]}\n")
    return (f"func.func @f(%x: {x}, %g: {g}) -> ({', '.join(types)}) {{\n{body}"
            f"  return {', '.join(names)} : {', '.join(types)}\n}}\n")


def main():
    folder, expect = Path(sys.argv[1]), Expectations()
    wide = make_input()
    for type, (store, chips) in TYPES.items():
        places = [ON_CPU, *(("--on=emulator", f"--target={chip}") for chip in chips)]
        x = store(wide)
        exact = from_bf16(x) if type == "bf16" else x.astype(np.float32)
        cases = [(recipe, kind, form) for recipe in RECIPES for kind in KINDS for form in FORMS]
        runs = run_places(make_text(type), [x, GLOBALS], 2 * len(cases), folder / type, places)
        for place, (problem, got) in zip(places, runs, strict=True):
            if problem:
                expect.record(f"{type} {place}", problem)
                continue
            for i, (recipe, kind, form) in enumerate(cases):
                codes, scales = quantize_nvfp4(exact, recipe, **{kind: GLOBALS},
                                               block=FORMS[form][1],
                                               transposed=form == "columns", x_type=type)
                for j, value in enumerate(GLOBALS):
                    what = f"{type} {place[-1]} {recipe} {kind} {form} {value}"
                    wanted = [pack(codes[j]), scales[j]]
                    found = [each[j] for each in got[2 * i:2 * i + 2]]
                    # Codes under a NaN scale have no meaning.
                    is_nan = np.repeat(scales[j] == E4M3_NAN, 8, axis=-1)
                    for each in (wanted, found):
                        each[0] = np.where(is_nan, np.uint8(0), each[0])
                    expect.record(what, first_difference(found, wanted))
    expect.finish()


if __name__ == "__main__":
    main()
