# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Norms that are quantized in rows and in columns, in squares, or in columns alone, or in any of
these forms in groups, by one kernel each in the emulator. All results are those of the CPU,
where a norm is a function of its own and quantizers read what it stored.

Usage: gpu_norm_strips.py FOLDER [--seed SEED] [--random N] [--target CHIP]...
"""

from dataclasses import dataclass

import numpy as np

import values
from block_shapes import CODECS, MX_RECIPES, NVFP4_RECIPES, tensor
from gpu_lines import check, parse_options
from norms import Norm
from sm100_kernels import draw_offsets
from sm100_kinds import GROUPS, mx, nvfp4

ARRAYS = {"bf16": np.uint16, "f16": np.float16, "f32": np.float32}
# Blocks, whether data are transposed, and how scales are repeated.
MX_FORMS = (((1, 32), False, ""), ((32, 1), True, ""), ((32, 1), False, ""),
            ((32, 32), False, "n"), ((32, 32), False, ""))
NVFP4_FORMS = (((1, 16), False, ""), ((16, 1), True, ""), ((16, 16), False, "k"))


@dataclass
class Case:
    """`forms` are the numbers of forms, of `family`. `keeps` says whether the function
    returns what is quantized, too, and `groups` which dimension groups cut, whose scales are in
    tiles of groups where they are swizzled. `shares` says whether all forms have one operand
    with the ends of groups, rather than each its own."""

    norm: Norm
    shape: tuple
    family: str
    forms: tuple
    swizzled: bool = True
    keeps: bool = False
    source: str = ""
    groups: int | None = None
    shares: bool = False


# Rows and columns of what real models have, of fewer rows than a CTA has, of none, of rows
# that warps do not divide, in several passes, in batches, and with the sum of a residual.
# Groups of rows and of columns, of rows alone, which fragments have, and of columns, with global
# values of each group.
CASES = (
    Case(Norm("rms", "bf16", "bf16"), (128, 256), "mx", (0, 1)),
    Case(Norm("layer", "bf16", "bf16"), (192, 512), "nvfp4", (0, 1)),
    Case(Norm("rms", "bf16", "f32", residual=True), (32, 1536), "mx", (0, 1)),
    Case(Norm("rms", "bf16", "bf16"), (0, 64), "mx", (0, 1)),
    Case(Norm("rms", "bf16", "bf16"), (32, 20480), "mx", (0, 1), swizzled=False),
    Case(Norm("layer", "bf16", "f32", keeps_dim=True), (3, 64, 96), "nvfp4", (0, 1), source="each"),
    Case(Norm("softmax", "bf16", "bf16"), (96, 160), "mx", (0, 2, 3), keeps=True),
    Case(Norm("rms", "f32", "f32"), (64, 128), "mx", (1,)),
    Case(Norm("layer", "f16", "f16"), (64, 64), "nvfp4", (1,), source="rank_0"),
    Case(Norm("rms", "f32", "f32"), (32, 96), "mx", (4,), swizzled=False),
    Case(Norm("rms", "bf16", "bf16"), (160, 256), "mx", (0,), groups=0),
    Case(Norm("layer", "bf16", "f32", residual=True), (96, 512), "nvfp4", (0,), source="group",
         groups=0),
    Case(Norm("rms", "f32", "f32"), (33, 192), "nvfp4", (0,), source="group", groups=1),
    Case(Norm("rms", "bf16", "bf16"), (4, 20480), "mx", (0,), groups=0),
    Case(Norm("rms", "bf16", "bf16"), (224, 256), "mx", (0, 1), groups=0, shares=True),
    Case(Norm("layer", "bf16", "bf16"), (192, 288), "nvfp4", (0, 1), source="group", groups=0),
    Case(Norm("rms", "bf16", "bf16"), (64, 352), "mx", (0, 2, 3), swizzled=False, groups=1,
         keeps=True),
    Case(Norm("rms", "f16", "f16"), (128, 64), "nvfp4", (1,), groups=0),
)
RANDOM_CASES, RANDOM_GROUPS = 8, 6


def draw_case(random, has_groups=False):
    family = str(random.choice(("mx", "nvfp4")))
    count = int(random.integers(1, 4))
    forms = NVFP4_FORMS if family == "nvfp4" else MX_FORMS
    chosen = tuple(sorted(random.choice(len(forms), min(count, len(forms)), replace=False)))
    # Rows alone and without groups are those of gpu_norms.py.
    chosen = chosen if chosen != (0,) or has_groups else (0, 1)
    norm = Norm(str(random.choice(("rms", "layer", "softmax"))), "bf16",
                str(random.choice(("bf16", "f32"))), *(random.random(2) < 0.4).tolist())
    batch = tuple(int(size) for size in random.integers(1, 3, random.integers(2)))
    batch = () if has_groups else batch
    step = 16 if family == "nvfp4" else 32
    m, k = (-(-int(random.integers(1, 260)) // step) * step for _ in range(2))
    sources = ("", "rank_0", "scalar", *(("each",) if batch else ()),
               *(("group",) if has_groups else ()))
    return Case(norm, (*batch, m, k), family, tuple(int(form) for form in chosen),
                random.random() < 0.6, random.random() < 0.3,
                str(random.choice(sources)) if family == "nvfp4" else "",
                int(random.integers(2)) if has_groups else None, random.random() < 0.5)


class Call:
    """A case with arrays, and with sizes that are known."""

    def __init__(self, random, n, case):
        self.n, self.case, self.what = n, case, str(case)
        # Few long rows of a known number stay in two kernels.
        dynamic = [*(random.random(len(case.shape) - 1) < 0.5).tolist(), False]
        dynamic[0] |= case.shape[-1] >= 256
        self.known = tuple(None if is_dynamic else size
                           for is_dynamic, size in zip(dynamic, case.shape))
        norm, self.kinds = case.norm, []
        for block, transposed, scale_dim in (
                (MX_FORMS if case.family == "mx" else NVFP4_FORMS)[i] for i in case.forms):
            form = {"x": norm.x, "shape": case.shape, "block": block, "transposed": transposed,
                    "scale_dim": scale_dim, "dynamic": tuple(dynamic),
                    "swizzled": case.swizzled and (transposed or block[0] == 1)}
            if case.groups is not None:
                form |= {"extra": ("offsets",), "group_dim": case.groups,
                         "grouped": form.pop("swizzled")}
            self.kinds.append(
                mx(str(random.choice(MX_RECIPES)), str(random.choice(tuple(CODECS))), **form)
                if case.family == "mx" else
                nvfp4(str(random.choice(NVFP4_RECIPES)), form=case.source or "rank_0",
                      source="global_scale" if case.source else "", **form))
        self.types = norm.operands(self.known)
        sizes = [case.shape] * (1 + norm.residual)
        sizes += [case.shape[-1:]] * (len(self.types) - len(sizes))
        elements = [type.removesuffix(">").split("x")[-1].removeprefix("tensor<")
                    for type in self.types]
        kinds = values.TAME if random.random() < 0.8 else (*values.TAME, *values.WILD)
        self.arrays = [values.floats(random, size, ARRAYS[element], kinds)
                       for size, element in zip(sizes, elements)]
        draw = {"each": case.shape[:-2], "group": (GROUPS,)}
        # Multiples of every block, so that all forms may have one operand.
        unit = 1 if case.groups is None else max(kind.block[case.groups] for kind in self.kinds)
        self.operands, ends = [], None
        for kind in self.kinds:
            _, (_, *types), _ = kind.signature()
            names = [name for name, _ in kind.operands(self.known)]
            numbers = []
            for name, type in zip(names, types):
                if case.shares and name == "offsets" and ends and self.types[ends] == type:
                    numbers.append(ends)
                    continue
                numbers.append(len(self.types))
                self.types.append(type)
                if name == "offsets":
                    ends = len(self.types) - 1
                    self.arrays.append(draw_offsets(random, GROUPS, case.shape[case.groups], unit))
                else:
                    self.arrays.append(np.asarray(np.exp2(random.uniform(
                        -4, 4, draw.get(case.source, ()))), np.float32))
            self.operands.append(numbers)

    def write(self):
        n, norm = self.n, self.case.norm
        names = [f"%x{n}_{i}" for i in range(len(self.types))]
        count = len(norm.operands(self.known))
        lines, x, total = norm.text(n, names[:count], self.known)
        of_x = tensor(self.known, norm.x)
        made = [(total, of_x)] if total else []
        made += [(x, of_x)] if self.case.keeps else []
        for i, kind in enumerate(self.kinds):
            op, _, results = kind.signature()
            lines += (f"  %q{n}_{i}, %s{n}_{i} = blockscale."
                      f"{op.format(x, *(names[j] for j in self.operands[i]))}\n")
            made += list(zip((f"%q{n}_{i}", f"%s{n}_{i}"), results))
        return lines, list(zip(names, self.types)), made


def main():
    options = parse_options(RANDOM_CASES)
    random = np.random.default_rng(options.seed)
    cases = [*CASES, *(draw_case(random) for _ in range(options.random)),
             *(draw_case(random, has_groups=True)
               for _ in range(options.random * RANDOM_GROUPS // RANDOM_CASES))]
    check(options.folder, [Call(random, n, case) for n, case in enumerate(cases)],
          options.target)


main()
