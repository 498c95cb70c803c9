# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs products of order chain on the CPU and compares their bytes: with those of an H200
(test/Data/sums), of each class of bf16 and f16, and with the numpy reference, of plain and scaled
operands, dense and in groups, drawn at random. Without an order, other bytes must come out."""

import argparse
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np

import plain_matmul
import reference
import sm90_matmul
from expect import Expectations
from gpu_calls import ON_CPU, run_module
from products import PLAIN, Case, Op
from sm100_matmul import KINDS, draw_ends

SILICON = Path(__file__).resolve().parents[2] / "Data/sums/h200.npz"
# The bits of a result, and those of infinity.
FORMS = {"f32": (np.uint32, 0x7F800000), "bf16": (np.uint16, 0x7F80), "f16": (np.uint16, 0x7C00)}
CASES = 75


def find_problem(got, wanted, result):
    """What is wrong with a result: NaN may have any bits."""
    bits, infinity = FORMS[result]
    sides = [np.ascontiguousarray(each).view(bits) for each in (got, wanted)]
    nan = [(each & (np.iinfo(bits).max >> 1)) > infinity for each in sides]
    wrong = np.where(nan[0] | nan[1], nan[0] != nan[1], sides[0] != sides[1])
    if not wrong.any():
        return None
    at = tuple(np.argwhere(wrong)[0].tolist())
    return (f"{wrong.sum()} of {wrong.size} differ, first at {at}: expected "
            f"{sides[1][at]:#x}, but got {sides[0][at]:#x}")


def read_silicon(element):
    """A [B, M, K], B [B, N, K] and results [B, M, N] of an H200, a batch of all classes."""
    with np.load(SILICON) as archive:
        names = [key.rsplit("; ", 1)[0] for key in archive.files
                 if key.startswith(f"{element} x {element}; ") and key.endswith("; wgmma")]
        names = [name for name in names if f"{name}; start" not in archive.files]
        sides = [[archive[f"{name}; {side}"] for name in names] for side in "ab"]
        results = np.stack([archive[f"{name}; wgmma"] for name in names])
    depth = -(-max(each.shape[1] for each in sides[0]) // 16) * 16
    a, b = (np.stack([np.pad(each, ((0, 0), (0, depth - each.shape[1]))) for each in side])
            for side in sides)
    return names, a, b, results


def check_silicon(folder, element, order="chain"):
    """The number of classes, and the problem."""
    names, a, b, wanted = read_silicon(element)
    op = Op("mm", a=element, b=element, order=order, batch=1,
            shape={"B": (len(a),), "M": a.shape[1], "N": b.shape[1], "K": a.shape[2]})
    view = np.float16 if element == "f16" else np.uint16
    problem, results = run_module(op.text(), [a.view(view), b.view(view)], 1,
                                  folder / f"{element}{order}", ON_CPU)
    return len(names), problem or find_problem(results[0], wanted, "f32")


def draw_case(seed, number):
    """An op of order chain and its case."""
    random = np.random.default_rng((seed, number))
    kind = KINDS[number % len(KINDS)]
    if number % 3 == 0:
        op = plain_matmul.draw_op(random, kind)
    else:
        op = sm90_matmul.draw_op(random, "mm", kind)
        op.is_prepacked = False
        sm90_matmul.scale_elements(op, seed, number)
        if number % 3 == 1:
            # Two operands with scales: both are rounded to bf16.
            op.a = op.b = op.a if op.b in PLAIN else op.b
            op.scaling = ""
    # Rows and columns of more than one panel, and K of more than one chunk.
    wide = bool(random.integers(0, 2))
    s = op.shape
    s["M"], s["N"] = min(s["M"], 200 if wide else 24), min(s["N"], 24 if wide else 150)
    s["K"] = min(s["K"], 320 if number % 4 == 0 else 96)
    op.order = "chain"
    if op.a in PLAIN and op.b in PLAIN:
        # Other rows than those of the draw may have no length of copies.
        op.mn_major = ""
        return op, plain_matmul.draw_case(random, op)
    ends = () if op.kind == "mm" else draw_ends(random, op, op.block)
    return op, Case(op, random, ends, bias_share=0.5)


def to_multiplied(op, values):
    """The type that products multiply in, and values of it."""
    plain = [each for each in (op.a, op.b) if each in PLAIN]
    if plain:
        return plain[0], values
    with np.errstate(over="ignore", invalid="ignore"):
        return "bf16", [reference.from_bf16(reference.to_bf16(each.astype(np.float32)))
                        for each in values]


def add_chains(op, case, tensor_cores="hopper"):
    """The sums (f32) of a case by the numpy reference."""
    kind, (a, b) = to_multiplied(op, case.values)
    how = reference.tensor_core_sum(tensor_cores, "mma.sync", kind)

    def multiply(left, right):
        return reference.multiply_on_tensor_cores(
            how, left[..., :, None, :], right[..., None, :, :], (kind, kind))

    if op.kind == "mm":
        return multiply(a, b)
    bounds = list(zip([0, *case.legal], case.legal))
    if op.kind == "columns":
        return np.stack([multiply(a[:, i * case.unit:j * case.unit],
                                  b[:, i * case.unit:j * case.unit]) for i, j in bounds])
    sums = np.zeros((len(a), b.shape[-2]), np.float32)
    for group, (i, j) in enumerate(bounds):
        sums[i:j] = multiply(a[i:j], b[group])
    return sums


def check_case(folder, seed, number):
    """The op, the problem, and whether free order has other bytes."""
    op, case = draw_case(seed, number)
    problem, results = run_module(op.text(), case.arguments, 1, folder / f"{number}", ON_CPU)
    wanted = case.results(add_chains(op, case))
    problem = problem or find_problem(results[0], wanted, op.result)
    free = replace(op, order="")
    failed, others = run_module(free.text(), case.arguments, 1, folder / f"{number}", ON_CPU)
    return op, problem or failed, not failed and find_problem(others[0], wanted, op.result)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where to compile")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=CASES)
    options = parser.parse_args()
    expect = Expectations()
    for element in ("bf16", "f16"):
        count, problem = check_silicon(options.folder, element)
        expect.record(f"an H200's {count} classes of {element}", problem)
        _, problem = check_silicon(options.folder, element, "free")
        expect.record(f"other bits of {element} in free order",
                      None if problem else "expected other bits")
    kinds, others = set(), 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for op, problem, differs in pool.map(
                lambda i: check_case(options.folder, options.seed, i), range(options.cases)):
            expect.record(str(op), problem)
            kinds.add((op.kind, op.a in PLAIN, op.b in PLAIN))
            others += bool(differs)
    expect.record("kinds of operands", None if len(kinds) == 12 else
                  f"expected 12, but got {len(kinds)}: {sorted(kinds)}")
    expect.record("other bytes in free order", None if others >= options.cases // 4 else
                  f"expected at least a quarter of the cases, but got {others}")
    return expect.finish()


if __name__ == "__main__":
    sys.exit(main())
