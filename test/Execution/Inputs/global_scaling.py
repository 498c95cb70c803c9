# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs products with global scales in every state, before and after rounding.

The sums of a product are what it gives in f32 without global scales and bias.
From them numpy computes what every other form must give, bit for bit. Then each
state is executed with constants of 1.0, which canonicalization may drop.

Usage: global_scaling.py FOLDER
"""

import itertools
import sys
from dataclasses import replace

import numpy as np

from expect import Expectations, first_difference
from module import Module
from products import Case, Op
from reference import from_bf16, to_bf16

SHAPE = {"B": (2,), "M": 37, "N": 21, "K": 96}
ENDS = {"mm": (), "rows": (9, 9, 30), "columns": (16, 16, 80)}
FORMS = {"mm": ("", "scalar", "rank_0", "each", "row")}
FORMS["rows"] = FORMS["columns"] = FORMS["mm"][:-1]
PLACES = ("before_rounding", "after_rounding")
RESULTS = ("f32", "bf16", "f16")
BIASES = ("", "f32", "bf16", "f16")

random = np.random.default_rng(61)
expect = Expectations()


def base(kind):
    shape = SHAPE if kind == "mm" else {**SHAPE, "B": (), "G": 3}
    return Op(f"{kind}_sums", kind, batch=int(kind == "mm"), shape=shape, dynamic="")


def case_of(op):
    """The same operands for each op of a kind."""
    return Case(op, np.random.default_rng([62, *op.kind.encode()]), ENDS[op.kind])


def states():
    """Every pair of forms, of groups of rows and of columns in turn, each form in
    both places; each row of the truth table: with and without scales, f32 or not,
    with and without bias."""
    def pick(choices):
        return choices[random.integers(len(choices))]

    for kind, forms in FORMS.items():
        for (i, global_a), (j, global_b) in itertools.product(enumerate(forms), repeat=2):
            if kind != "mm" and (i + j) % 2 != (kind == "columns"):
                continue
            place = PLACES[(i + j if kind == "mm" else i // 2 + j // 2) % 2]
            yield replace(base(kind), global_a=global_a, global_b=global_b, scaling=place,
                          result=pick(RESULTS), bias=pick(BIASES),
                          has_bias_each=kind != "mm" and random.random() < 0.5)
    for global_a, result, bias, place in itertools.product(("", "rank_0"), RESULTS, ("", "bf16"),
                                                           PLACES):
        yield replace(base("mm"), global_a=global_a, scaling=place, result=result, bias=bias)


def stored(values, result):
    if result == "bf16":
        return to_bf16(values)
    with np.errstate(over="ignore"):
        return values.astype(result.replace("f", "float"))


def rounded(values, result):
    """f32 values of the result type nearest to f32 values."""
    bits = stored(values, result)
    return from_bf16(bits) if result == "bf16" else bits.astype(np.float32)


def against_results(factor, form, op, is_row_of_b):
    """A factor, for [.., M, N]."""
    if form == "row":
        return factor[..., None, :] if is_row_of_b else factor[..., None]
    if form != "each":
        return factor
    if op.kind != "rows":
        return factor[..., None, None]
    group = np.searchsorted(ENDS["rows"], np.arange(SHAPE["M"]), side="right")
    return np.append(factor, np.float32(1))[group][:, None]


def expected(op, case, sums):
    """From f32 sums, one f32 operation at a time."""
    factors = [against_results(factor, form, op, side) for side, (factor, form)
               in enumerate(zip(case.factors, (op.global_a, op.global_b))) if factor is not None]
    y = sums
    if factors:
        factor = factors[0] * factors[1] if len(factors) == 2 else factors[0]
        if op.scaling == "after_rounding":
            y = rounded(rounded(y, op.result) * rounded(factor, op.result), op.result)
        else:
            y = y * factor
    bias = case.bias.astype(np.float32)
    return stored(y + bias if op.bias else y, op.result)


def named(ops):
    return [replace(op, name=f"f{i}") for i, op in enumerate(ops)]


def run(module, op):
    return module.call(op.name, *case_of(op).arguments)


ops = named(states())
sums_ops = [base(kind) for kind in FORMS]
module = Module("".join(op.text() for op in sums_ops + ops), sys.argv[1])
sums = {op.kind: run(module, op)[0] for op in sums_ops}
for op in ops:
    got = module.call(op.name, *(case := case_of(op)).arguments)
    expect.equal(str(op), got, [expected(op, case, sums[op.kind])])

# Constants of 1.0, in every state. The first module is not canonicalized.
units = named(replace(op, are_units=True) for op in ops
              if (op.global_a or op.global_b) and (op.scaling == PLACES[1] or op.kind != "mm"))
text = "".join(op.text() for op in units)
before = Module(text, sys.argv[1], first_stage="form-kernels", optimize=False)
after = Module(text, sys.argv[1], ["--canonicalize"], "form-kernels", optimize=False)
kept = after.text.count("after_rounding")
is_kept = [op.scaling == "after_rounding" and op.bias and op.result != "f32" for op in units]
expect.record("states that stay", None if kept == sum(map(bool, is_kept)) and kept
              else f"expected {sum(map(bool, is_kept))}, but got {kept}")
for op in units:
    expect.equal(f"1.0 in {op}", run(after, op), run(before, op))

# What would be lost if the last factor were dropped there.
rounds = replace(base("mm"), name="rounds", global_a="scalar", are_units=True, result="bf16",
                 bias="f32", scaling="after_rounding")
module = Module(rounds.text() + replace(rounds, name="absent", global_a="").text(), sys.argv[1])
difference = first_difference(run(module, rounds), run(module, replace(rounds, name="absent")))
expect.record("the last factor", None if difference else "makes no difference")
expect.finish()
