# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantizations in blocks of several rows, or in rows and columns, under global scales that follow
from the amaxes of what they quantize, in the emulator. A kernel computes parts of the amaxes of x
and of its transform, and the kernel that quantizes takes the largest of each, and computes the
scales. All results are those of the CPU, where each op is a function of its own.

Usage: gpu_strip_chains.py FOLDER [--seed SEED] [--random N] [--target CHIP]...
"""

from dataclasses import dataclass
from itertools import chain

import numpy as np

import values
from block_shapes import NVFP4_RECIPES, TAKES_TAILS, tensor
from gpu_calls import PLACES, run_module
from gpu_lines import check, parse_options
from sm100_kinds import nvfp4

ARRAYS = {"bf16": np.uint16, "f16": np.float16, "f32": np.float32}
ROWS = {"block": (1, 16)}
COLUMNS = {"block": (16, 1), "transposed": True}
WEIGHT = {"block": (16, 16), "scale_dim": "k"}
WEIGHT_TURNED = {"block": (16, 16), "transposed": True, "scale_dim": "n"}


@dataclass
class Case:
    """`forms` are the quantizations of x, `turned` those of the transform of its columns. `keeps`
    says whether the function returns the amaxes and the scales, too; `early` whether scales stand
    before the quantizations in the text."""

    shape: tuple
    forms: tuple
    turned: tuple = ()
    x: str = "bf16"
    recipe: str = "te"
    clause: str = "global_amax"
    nonzero: bool = False
    swizzled: bool = True
    keeps: bool = True
    early: bool = False
    unknown: tuple = ()


# Activations and weights of a layer that is trained, with each way to say the global value; one
# result alone; no rows and no columns, also where types do not say so; tails; a batch; more columns
# than a CTA has.
CASES = (
    Case((144, 320), (ROWS,), (COLUMNS,)),
    Case((144, 320), (ROWS,), (COLUMNS,), keeps=False, early=True),
    Case((96, 160), (ROWS,), (COLUMNS,), recipe="torchao", clause="global_scale"),
    Case((64, 80), (WEIGHT, WEIGHT_TURNED)),
    Case((64, 80), (WEIGHT, WEIGHT_TURNED), recipe="modelopt", clause="global_scale",
         nonzero=True, swizzled=False),
    Case((48, 200), (COLUMNS,), x="f32"),
    Case((48, 208), (WEIGHT,), x="f16", recipe="mslk"),
    Case((0, 64), (ROWS,), (COLUMNS,), unknown=(0,)),
    Case((0, 64), (WEIGHT,), recipe="torchao", clause="global_scale"),
    Case((32, 0), (COLUMNS,), recipe="modelopt", clause="global_scale", unknown=(0, 1)),
    Case((2, 0, 32), (COLUMNS,), recipe="torchao", clause="global_scale", unknown=(1,)),
    Case((80, 40), (ROWS, COLUMNS), unknown=(0,)),
    Case((2, 48, 96), (ROWS,), (COLUMNS,), unknown=(0, 1), recipe="mslk"),
    Case((80, 1056), (ROWS,), (COLUMNS,), early=True),
)
# Several x, whose quantizers share a launch: the same code but for what it computes first, and
# other code.
BESIDE = (
    (Case((64, 96), (ROWS,), (COLUMNS,)), Case((80, 96), (ROWS,), (COLUMNS,), unknown=(0,))),
    (Case((48, 80), (ROWS,), (COLUMNS,)), Case((32, 80), (WEIGHT, WEIGHT_TURNED)),
     Case((0, 48), (COLUMNS,), recipe="modelopt", clause="global_scale", unknown=(0,))),
)
RANDOM_CASES = 10


def draw_case(random):
    recipe = str(random.choice(NVFP4_RECIPES))
    batch = tuple(int(size) for size in random.integers(1, 3, random.integers(2)))
    step = 1 if recipe in TAKES_TAILS else 16
    m, k = 16 * int(random.integers(1, 12)), -(-int(random.integers(1, 400)) // step) * step
    forms, turned = [((ROWS,), (COLUMNS,)), ((), (COLUMNS,)), ((ROWS, COLUMNS), ()),
                     ((WEIGHT, WEIGHT_TURNED), ()), ((COLUMNS,), ())][random.integers(5)]
    is_one = len(forms) + len(turned) == 1 and not turned
    return Case((*batch, m, k), forms, turned,
                str(random.choice(("bf16", "f16", "f32"))) if is_one else "bf16", recipe,
                str(random.choice(("global_scale", "global_amax"))), random.random() < 0.4,
                random.random() < 0.6, random.random() < 0.7, random.random() < 0.5,
                tuple(dim for dim in range(len(batch) + 1) if random.random() < 0.5))


class Call:
    """A case with an array for x."""

    def __init__(self, random, n, case):
        self.n, self.case, self.what = n, case, str(case)
        kinds = values.TAME if random.random() < 0.8 else (*values.TAME, *values.WILD)
        self.arrays = [values.floats(random, case.shape, ARRAYS[case.x], kinds)]
        self.known = tuple(None if dim in case.unknown else size
                           for dim, size in enumerate(case.shape))
        self.dynamic = tuple(size is None for size in self.known)

    def _write_of(self, x, name, forms):
        """The lines of what is made of `x`, in parts: amax, scale and quantizations."""
        case = self.case
        of_x = tensor(self.known, case.x)
        amax, scale = f"%a{name}", f"%g{name}"
        nonzero = " nonzero_amax" if case.nonzero else ""
        needs_scale = case.clause == "global_scale"
        first = f"  {amax} = blockscale.amax {x} : {of_x} -> tensor<f32>\n"
        scaled = (f"  {scale} = blockscale.global_scale {amax} recipe {case.recipe}{nonzero}"
                  " : tensor<f32>\n") if needs_scale or case.keeps else ""
        given = scale if needs_scale else amax
        made, last = [], ""
        for i, form in enumerate(forms):
            kind = nvfp4(case.recipe, source=case.clause, form="rank_0", x=case.x,
                         shape=case.shape, dynamic=self.dynamic, swizzled=case.swizzled, **form)
            op, _, results = kind.signature()
            op = op.format(x, given)
            if nonzero and not needs_scale:
                op = op.replace(f"{given} : tensor<f32>)", f"{given} : tensor<f32>){nonzero}")
            names = f"%q{name}_{i}", f"%s{name}_{i}"
            last += f"  {', '.join(names)} = blockscale.{op}\n"
            made += zip(names, results)
        if case.keeps:
            made += [(amax, "tensor<f32>"), (scale, "tensor<f32>")]
        if needs_scale or case.early:
            return [first, scaled + last], made
        return [first, last + scaled], made

    def write_parts(self):
        """The lines of amaxes and those behind them, and all arguments and results."""
        n, case = self.n, self.case
        x, of_x = f"%x{n}", tensor(self.known, case.x)
        parts, transform = [], ""
        if case.forms:
            parts.append(self._write_of(x, f"{n}x", case.forms))
        if case.turned:
            transform = f"  %h{n} = blockscale.hadamard {x} dim 0 : {of_x}\n"
            parts.append(self._write_of(f"%h{n}", f"{n}h", case.turned))
        first, last = ("".join(texts) for texts in zip(*(text for text, _ in parts)))
        return (transform + first, last), [(x, of_x)], list(chain.from_iterable(
            made for _, made in parts))

    def write(self):
        lines, arguments, made = self.write_parts()
        return "".join(lines), arguments, made


class Beside:
    """Calls whose quantizers can share a launch, since all amaxes are taken before."""

    def __init__(self, calls):
        self.calls, self.what = calls, " beside ".join(call.what for call in calls)
        self.arrays = [array for call in calls for array in call.arrays]

    def write(self):
        lines, arguments, made = zip(*(call.write_parts() for call in self.calls))
        return ("".join(map("".join, zip(*lines))), list(chain.from_iterable(arguments)),
                list(chain.from_iterable(made)))


def check_many_pieces(folder, random):
    """More pieces of x than there are parts, which CTAs take one after the other."""
    case = Case((1030 * 256, 2), (COLUMNS,), (COLUMNS,), unknown=(0,))
    call = Call(random, 0, case)
    # The largest elements are in the last pieces.
    x = values.floats(random, case.shape, np.uint16, [values.ordinary])
    x[-3, 0], x[-300, 1] = 0x4640, 0xC641
    lines, arguments, _ = call.write()
    text = (f"func.func @calls({arguments[0][0]}: {arguments[0][1]}) -> (tensor<f32>, "
            f"tensor<f32>) {{\n{lines}  return %a0x, %a0h : tensor<f32>, tensor<f32>\n}}\n")
    runs = [run_module(text, [x], 2, folder / f"pieces-{i}", place)
            for i, place in enumerate(PLACES)]
    assert not any(problem for problem, _ in runs), runs
    (_, wanted), *others = runs
    assert wanted[0] > 10000 and wanted[1] > 0
    for place, (_, got) in zip(PLACES[1:], others):
        assert got == wanted, f"{place}: expected {wanted}, but got {got}"
    print("many pieces: right")


def main():
    options = parse_options(RANDOM_CASES)
    random = np.random.default_rng(options.seed)
    cases = [*CASES, *(draw_case(random) for _ in range(options.random))]
    check_many_pieces(options.folder, random)
    calls = [Call(random, n, case) for n, case in enumerate(cases)]
    calls += [Beside([Call(random, f"{n}b{i}", case) for i, case in enumerate(of)])
              for n, of in enumerate(BESIDE)]
    check(options.folder, calls, options.target)


main()
