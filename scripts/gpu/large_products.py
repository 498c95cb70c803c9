# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products as large as models have them, of bf16 activations and block-scaled weights: operands
that are the same on each machine, some rows of the CPU's results, and what is wrong with a GPU's.
"""

import dataclasses
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gpu_calls import run_places
from products import Case, Op
from reference import from_bf16, pack, swizzle, to_bf16

# Rows of each group, or of a product without groups, that the CPU computes.
_ROWS_OF_GROUP, _ROWS = 8, 64


@dataclass(frozen=True)
class Large:
    """A product of weights [N, K], or one for each group of rows that ends at an end."""

    name: str
    element: str
    scale: str
    rows: int
    cols: int
    depth: int
    ends: tuple = ()

    @property
    def op(self):
        shape = {"M": self.rows, "N": self.cols, "K": self.depth}
        shape |= {"G": len(self.ends)} if self.ends else {"B": ()}
        return Op("mm", "rows" if self.ends else "mm", scale=self.scale, a="bf16", b=self.element,
                  result="bf16", layout_b="swizzled", dynamic="", shape=shape)

    def draw(self):
        """Activations, codes and scale bytes; none is NaN or infinity."""
        random = np.random.default_rng((self.rows, self.cols, self.depth))
        lead = (len(self.ends),) if self.ends else ()
        x = to_bf16(random.standard_normal((self.rows, self.depth), dtype=np.float32))
        limit = 16 if self.element == "f4E2M1FN" else 256
        codes = random.integers(0, limit, (*lead, self.cols, self.depth), dtype=np.uint8)
        if limit == 256:
            codes[(codes & 127) == 127] = 0
        # Of E4M3 all numbers that are not negative, of E8M0 powers of two about 1.
        low, high = (0, 127) if self.scale == "f8E4M3FN" else (119, 136)
        shape = (*lead, self.cols, self.depth // self.op.block)
        return x, codes, random.integers(low, high, shape, dtype=np.uint8)

    def choose_rows(self):
        """Numbers of rows, the first and last one of each group among them, and ends of the groups
        that these are."""
        random, chosen, ends = np.random.default_rng(self.rows), [], []
        ranges = zip((0, *self.ends), self.ends) if self.ends else ((0, self.rows),)
        most = _ROWS_OF_GROUP if self.ends else _ROWS
        for begin, end in ranges:
            if end > begin:
                others = random.integers(begin, end, most - 2)
                chosen += sorted({begin, end - 1, *others.tolist()})
            ends.append(len(chosen))
        return chosen, ends


LARGE = (
    Large("4096^3, NVFP4", "f4E2M1FN", "f8E4M3FN", 4096, 4096, 4096),
    Large("4096^3, MXFP8", "f8E4M3FN", "f8E8M0FNU", 4096, 4096, 4096),
    Large("8 experts of 14336x4096, NVFP4", "f4E2M1FN", "f8E4M3FN", 2048, 14336, 4096,
          (300, 301, 301, 700, 1212, 1300, 1999, 2040)),
    Large("8 experts of 4096x14336, few rows, NVFP4", "f4E2M1FN", "f8E4M3FN", 16, 4096, 14336,
          (1, 1, 4, 6, 9, 11, 15, 16)),
    Large("32 experts of 5760x2880, MXFP4", "f4E2M1FN", "f8E8M0FNU", 512, 5760, 2880,
          tuple(range(16, 513, 16))),
)


def compute_on_cpu(large):
    """The chosen rows of the CPU's result, as bits of bf16."""
    x, codes, scales = large.draw()
    rows, ends = large.choose_rows()
    op = large.op
    op = dataclasses.replace(op, shape={**op.shape, "M": len(rows)})
    data = pack(codes) if large.element == "f4E2M1FN" else codes
    arrays = [x[rows], data, *([np.array(ends, np.int32)] if large.ends else []), swizzle(scales)]
    with tempfile.TemporaryDirectory() as work:
        ((failed, results),) = run_places(op.text(), arrays, 1, Path(work), [["--on=cpu"]])
    if failed:
        raise SystemExit(failed)
    return results[0]


def find_problem(large, execute, cpu):
    """What is wrong with the result of `execute`, which calls the function with arguments, or with
    the rows that the CPU computed; and the share of these that are equal."""
    x, codes, scales = large.draw()
    case = Case(large.op, np.random.default_rng(0), large.ends, a=x, b=codes, sb=scales)
    got, problem = execute(*case.arguments)
    if problem or (problem := case.problem(got[0])):
        return problem, 0.0
    rows, _ = large.choose_rows()
    equal = float(np.mean(from_bf16(got[0][rows]) == from_bf16(cpu)))
    of_cpu = got[0].copy()
    of_cpu[rows] = cpu
    problem = case.problem(of_cpu)
    return problem and f"of the CPU: {problem}", equal
