# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantizations under a global scale that follows from the amax of what they quantize, in
the emulator: of norms, and of what memory holds. A kernel computes parts of the amax,
along with the norm, and the kernel that quantizes does the rest. All results are those of
the CPU, where each op is a function of its own.

Usage: gpu_global_chains.py FOLDER [--seed SEED] [--random N] [--target CHIP]...
"""

from dataclasses import dataclass

import numpy as np

import values
from block_shapes import NVFP4_RECIPES, tensor
from gpu_calls import PLACES, run_module
from gpu_lines import check, parse_options
from norms import Norm
from sm100_kinds import FOUR_OVER_SIX, TAKE_TAILS, nvfp4

ARRAYS = {"bf16": np.uint16, "f16": np.float16, "f32": np.float32}


@dataclass
class Case:
    """`norm` is None where x is in memory. `keeps` says whether the function returns the
    amax and the global scale, too."""

    norm: Norm | None
    x: str
    shape: tuple
    recipe: str = "torchao"
    clause: str = "global_scale"
    nonzero: bool = False
    swizzled: bool = True
    keeps: bool = True


# Each way to say the global value, each type, no rows, tails of blocks and of rows, rows
# that no CTA holds in registers, batches, and what real models have.
CASES = (
    Case(Norm("rms", "bf16", "bf16"), "bf16", (7, 4096)),
    Case(Norm("rms", "bf16", "bf16"), "bf16", (0, 256), nonzero=True),
    Case(Norm("layer", "f16", "f16"), "f16", (130, 80), "modelopt", nonzero=True),
    Case(Norm("rms", "f16", "f32"), "f16", (33, 512), "mslk", "global_amax", swizzled=False),
    Case(Norm("rms", "f32", "f32", residual=True), "f32", (2, 3, 96), "te"),
    Case(Norm("rms", "bf16", "bf16"), "bf16", (2, 20480), keeps=False),
    Case(Norm("layer", "bf16", "bf16", residual=True), "bf16", (5, 72), "te", "global_amax"),
    Case(Norm("rms", "bf16", "bf16"), "bf16", (20, 128), "te_4over6_mse", "global_amax",
         keeps=False),
    Case(None, "bf16", (130, 4096)),
    Case(None, "bf16", (0, 64), "mslk"),
    Case(None, "f16", (3, 0, 64), "torchao", nonzero=True),
    Case(None, "f16", (2, 65, 48), "modelopt", "global_amax", swizzled=False),
    Case(None, "f32", (200, 208), "te_4over6_mae"),
    Case(None, "bf16", (17, 24), "te", "global_amax", keeps=False),
)
RANDOM_CASES = 12


def draw_case(random):
    x = str(random.choice(("bf16", "f16", "f32")))
    recipe = str(random.choice((*NVFP4_RECIPES, *FOUR_OVER_SIX)))
    norm = None
    if random.random() < 0.6:
        norm = Norm(str(random.choice(("rms", "layer", "softmax"))), x,
                    str(random.choice((x, "f32"))), *(random.random(2) < 0.3).tolist())
    batch = tuple(int(size) for size in random.integers(1, 4, random.integers(2)))
    step = 1 if recipe in TAKE_TAILS else 16
    k = -(-int(random.integers(2, 400)) // step) * step
    return Case(norm, x, (*batch, int(random.integers(1, 80)), k), recipe,
                str(random.choice(("global_scale", "global_amax"))), random.random() < 0.5,
                random.random() < 0.6, random.random() < 0.6)


class Call:
    """A case with arrays, and with sizes that are known."""

    def __init__(self, random, n, case):
        self.n, self.case, self.what = n, case, str(case)
        # Rows have a known length where a norm reduces them.
        dynamic = [*(random.random(len(case.shape) - 1) < 0.5), False]
        self.known = tuple(None if is_dynamic else size
                           for is_dynamic, size in zip(dynamic, case.shape))
        norm = case.norm
        self.types = norm.operands(self.known) if norm else [tensor(self.known, case.x)]
        sizes = [case.shape] * (1 + bool(norm and norm.residual))
        sizes += [case.shape[-1:]] * (len(self.types) - len(sizes))
        elements = [type.removesuffix(">").split("x")[-1].removeprefix("tensor<")
                    for type in self.types]
        kinds = values.TAME if random.random() < 0.8 else (*values.TAME, *values.WILD)
        self.arrays = [values.floats(random, size, ARRAYS[element], kinds)
                       for size, element in zip(sizes, elements)]

    def write(self):
        n, case = self.n, self.case
        arguments = [f"%x{n}_{i}" for i in range(len(self.types))]
        lines, x = "", arguments[0]
        if case.norm:
            lines, x, _ = case.norm.text(n, arguments, self.known)
        of_x = tensor(self.known, case.x)
        lines += f"  %a{n} = blockscale.amax {x} : {of_x} -> tensor<f32>\n"
        given, kept = f"%a{n}", [f"%a{n}"]
        nonzero = " nonzero_amax" if case.nonzero else ""
        if case.clause == "global_scale":
            lines += (f"  %g{n} = blockscale.global_scale %a{n} recipe {case.recipe}{nonzero}"
                      " : tensor<f32>\n")
            given, nonzero = f"%g{n}", ""
            kept.append(given)
        kind = nvfp4(case.recipe, source=case.clause, form="rank_0", x=case.x, shape=case.shape,
                     dynamic=tuple(size is None for size in self.known), swizzled=case.swizzled)
        op, _, results = kind.signature()
        op = op.format(x, given)
        if nonzero:
            op = op.replace(f"{given} : tensor<f32>)", f"{given} : tensor<f32>) nonzero_amax")
        lines += f"  %q{n}, %s{n} = blockscale.{op}\n"
        made = list(zip((f"%q{n}", f"%s{n}"), results))
        if case.keeps:
            made += [(name, "tensor<f32>") for name in kept]
        return lines, list(zip(arguments, self.types)), made


def check_many_rows(folder, random):
    """More pieces of rows than there are parts, which CTAs take one after the other."""
    shape = (8200, 16)
    norm = Norm("rms", "bf16", "bf16")
    x, weight = (values.floats(random, size, np.uint16, [values.ordinary])
                 for size in (shape, shape[-1:]))
    lines, y, _ = norm.text(0, ["%in", "%weight"], (None, 16))
    of_parts = (f"  %p = blockscale.amax_parts {y} : tensor<?x16xbf16> -> tensor<1x512xf32>\n"
                "  %a = blockscale.amax %p : tensor<1x512xf32> -> tensor<f32>\n")
    whole = f"  %a = blockscale.amax {y} : tensor<?x16xbf16> -> tensor<f32>\n"

    def run(text, place, name):
        problem, loaded = run_module(
            "func.func @calls(%in: tensor<?x16xbf16>, %weight: tensor<16xbf16>) -> tensor<f32> {\n"
            f"{lines}{text}  return %a : tensor<f32>\n}}\n", [x, weight], 1, folder / name, place)
        assert not problem, problem
        return loaded[0]

    wanted = run(whole, PLACES[0], "whole")
    for i, place in enumerate(PLACES[1:]):
        got = run(of_parts, place, f"parts-{i}")
        assert wanted > 0 and got == wanted, f"{place}: expected {wanted}, but got {got}"
    print("many rows: right")


def main():
    options = parse_options(RANDOM_CASES)
    random = np.random.default_rng(options.seed)
    cases = [*CASES, *(draw_case(random) for _ in range(options.random))]
    check_many_rows(options.folder, random)
    check(options.folder, [Call(random, n, case) for n, case in enumerate(cases)],
          options.target)


main()
