# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plants faults into products that other tests draw, and asks whether the comparisons of
these tests notice. Nothing runs but numpy: a kernel's results are those that the planted
operands have by the formulas of docs/Numerics.md. A fault that changes no exact sum, as
a wrong scale of zeros, is none. Of each kind of fault, 99 % must be noticed (rounded down,
and all in one draw of each case), and half must change a sum.

Usage: planted_faults.py [--seed SEED] [--draws N]
"""

import argparse
import math
from collections import Counter

import numpy as np

import epilogue_model
import faults
import sm100_epilogue
import sm100_matmul
import sm100_moe
from expect import Expectations, first_difference

LEAST = 0.99


class Matmul:
    """The cases of sm100_matmul.py."""

    count = 30

    def __init__(self, seed, number):
        op, case, _ = sm100_matmul.draw(seed, number)
        self.case = case
        self.name = str(op)
        groups = "" if op.kind == "mm" else op.kind
        # Scales of exact sums are powers of two, and so are the wrong ones.
        self.operands = faults.Operands(
            case.codes, case.scales, [op.a, op.b], op.scale, groups,
            [0, *(end * case.unit for end in case.legal)],
            **({} if op.scaling else {"changes": (-8, -1, 1, 8)}))
        self.expected = case.results(*self.sums(case.values)) if op.scaling else None

    def sums(self, values):
        return [self.case.sums(values).value]

    def problem(self, sums):
        return sm100_matmul.problem(self.case, self.case.results(sums[0]), self.expected)


class Epilogue:
    """The cases of sm100_epilogue.py."""

    count = len(sm100_epilogue.CASES)

    def __init__(self, seed, number):
        case = sm100_epilogue.CASES[number]
        text = self.text = sm100_epilogue.Text(np.random.default_rng((seed, number)), case)
        self.name = case.name
        unit = text.block if case.groups == "columns" else 1
        self.operands = faults.Operands(
            [each.codes for each in text.operands], [each.scales for each in text.operands],
            [text.data] * len(text.operands), text.scale, case.groups,
            [0, *(end * unit for end in text.legal)])
        self.expected = self.text.computed(self.sums(self.operands.values))

    def sums(self, values):
        return self.text.sums(values)

    def problem(self, sums):
        return first_difference(self.text.computed(sums), self.expected)


class Experts:
    """The layers of sm100_moe.py: in turn, their first two products and their last one."""

    count = 2 * len(sm100_moe.ENDS)

    def __init__(self, seed, number):
        ends = sm100_moe.ENDS[number // 2]
        layer = self.layer = sm100_moe.Layer(np.random.default_rng((seed, number)), ends)
        hidden = layer.hidden(layer.sums(*map(sm100_moe.decoded, (layer.x, layer.gate, layer.up))))
        self.is_last = number % 2
        self.name = f"ends {ends}, product {2 if self.is_last else '0 and 1'}"
        read = (hidden, layer.down) if self.is_last else (layer.x, layer.gate, layer.up)
        self.operands = faults.Operands(
            [codes for codes, _ in read], [scales for _, scales in read],
            ["f4E2M1FN"] * len(read), "f8E4M3FN", "rows", [0, *ends])
        self.expected = self.result(self.sums(self.operands.values))

    def sums(self, values):
        return self.layer.sums(*values)

    def result(self, sums):
        if not self.is_last:
            hidden = sm100_moe.decoded(self.layer.hidden(sums))
            sums = self.layer.sums(hidden, sm100_moe.decoded(self.layer.down))
        return epilogue_model.bf16(sums[0])

    def problem(self, sums):
        return sm100_moe.problem(self.result(sums), self.expected, self.layer.ends[-1])


GENERATORS = {"sm100_matmul": Matmul, "sm100_epilogue": Epilogue, "sm100_moe": Experts}


def plant(expect, name, seed, draws):
    """Draws cases, plants one fault of each kind into each, and records what was
    noticed."""
    planted, noticed, idle, missed = Counter(), Counter(), Counter(), []
    generator = GENERATORS[name]
    for number in range(draws * generator.count):
        case = generator(seed + number // generator.count, number % generator.count)
        exact = case.sums(case.operands.values)
        expect.record(f"{name}: {case.name}, without a fault", case.problem(exact))
        random = np.random.default_rng((seed, number, 1))
        for kind, fault in faults.FAULTS.items():
            values = fault(random, case.operands)
            if values is None:
                continue
            sums = case.sums(values)
            if all(map(np.array_equal, sums, exact)):
                idle[kind] += 1
                continue
            planted[kind] += 1
            if case.problem(sums):
                noticed[kind] += 1
            else:
                missed.append(f"{kind}: {case.name}")
    for kind in planted | idle:
        count = planted[kind]
        least = math.floor(LEAST * count) if draws > 1 else count
        print(f"{name}, {kind}: {noticed[kind]} of {count} noticed, {idle[kind]} without effect")
        which = "".join(f"\n  {each}" for each in missed if each.startswith(kind))
        expect.record(f"{name}, {kind}", None if noticed[kind] >= least else
                      f"expected {least} noticed, but got {noticed[kind]}; missed:{which}")
        expect.record(f"{name}, {kind}", None if count >= idle[kind] else
                      f"expected most to change a sum, but {idle[kind]} do not, and {count} do")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--draws", type=int, default=1, help="of each case")
    parser.add_argument("--only", choices=GENERATORS)
    options = parser.parse_args()
    expect = Expectations()
    for name in [options.only] if options.only else GENERATORS:
        plant(expect, name, options.seed, options.draws)
    expect.finish()


if __name__ == "__main__":
    main()
