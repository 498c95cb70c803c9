# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs ops of groups whose number only the offsets know. A module compiled once is called with
0, 1, 3 and 8 groups, empty ones and ragged ends among them and rows behind the last; each call
gives the bytes of the module that says its number of groups.

Numbers of groups that disagree between operands are errors of the call, in the same words on
the CPU, and no result is written.

Usage: dynamic_groups.py FOLDER FORM.. --on PLACE..
"""

import argparse
import os
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from expect import Expectations, first_difference
from gpu_calls import ON_CPU, SCHEDULES, run_lines

M, N, K = 203, 48, 128
#: Ends of groups of rows, and of K in whole copies of codes of 4 bits.
ENDS = {0: (), 1: (190,), 3: (37, 37, 170), 8: (0, 5, 5, 64, 130, 131, 200, 203)}
ENDS_OF_K = {0: (), 1: (96,), 3: (32, 32, 128), 8: (0, 32, 32, 64, 64, 96, 128, 128)}

TILES = "#blockscale.layout<swizzle_128x4>"


def grouped(groups, dim=0):
    return f"#blockscale.layout<swizzle_128x4, groups = {groups}, dim = {dim}>"


def product(kind, a, b, groups, scales, result, clauses="", block=32):
    """A product: (value, type) of a and b, and of their scales, or none."""
    ends = f"tensor<{groups}xi32>"
    names = ", ".join(scale[0] if scale else "none" for scale in scales)
    types = [a[1], b[1], ends, *(scale[1] for scale in scales if scale)]
    return (f"blockscale.scaled_grouped_mm {a[0]}, {b[0]} offsets({kind}) scales({names}) "
            f"block [1, {block}]{clauses} : {', '.join(types)} -> {result}")


def linear(g):
    """Linear scales, where every size is dynamic."""
    a, b = "tensor<?x?xf8E4M3FN>", f"tensor<{g}x?x?xf8E4M3FN>"
    sa, sb = "tensor<?x?xf8E8M0FNU>", f"tensor<{g}x?x?xf8E8M0FNU>"
    y = product("%e", ("%a", a), ("%b", b), g, (("%sa", sa), ("%sb", sb)), "tensor<?x?xbf16>")
    return (f"(%a: {a}, %sa: {sa}, %b: {b}, %sb: {sb}, %e: tensor<{g}xi32>) -> tensor<?x?xbf16>",
            [f"%y = {y}"], "%y : tensor<?x?xbf16>")


def tiles(g, rows="?", groups_of_layout=None):
    """Scales that the caller has in tiles of each group."""
    a, b = f"tensor<{rows}x{K}xf8E5M2>", f"tensor<{g}x{N}x{K}xf8E4M3FN>"
    sa = f"tensor<{rows}x{K // 32}xf8E8M0FNU, {grouped(groups_of_layout or g)}>"
    sb = f"tensor<{g}x{N}x{K // 32}xf8E8M0FNU, {TILES}>"
    result = f"tensor<{rows}x{N}xf32>"
    y = product("%e", ("%a", a), ("%b", b), g, (("%sa", sa), ("%sb", sb)), result)
    return (f"(%a: {a}, %sa: {sa}, %b: {b}, %sb: {sb}, %e: tensor<{g}xi32>) -> {result}",
            [f"%y = {y}"], f"%y : {result}")


def tiles_of_rows(g):
    """The same of a known number of rows, so that the tiles alone have a dynamic size."""
    return tiles(g, M)


def tiles_of_layout(g):
    """The same in the layout of three groups."""
    return tiles(g, groups_of_layout=3)


def quantized(g):
    """A quantizer that writes tiles, with an amax, a global scale and a bias of each group. The
    codes and scales are results, too."""
    ends, each = f"tensor<{g}xi32>", f"tensor<{g}xf32>"
    x, q = f"tensor<?x{K}xbf16>", f"tensor<?x{K}xf4E2M1FN>"
    s = f"tensor<?x{K // 16}xf8E4M3FN, {grouped(g)}>"
    b, sb = f"tensor<{g}x{N}x{K}xf4E2M1FN>", f"tensor<{g}x{N}x{K // 16}xf8E4M3FN>"
    result = f"tensor<?x{N}xbf16>"
    clauses = f" global_scale_a(%g : {each}) bias(%bias : tensor<{g}x{N}xf32>)"
    y = product("%e", ("%q", q), ("%b", b), g, (("%s", s), ("%sb", sb)), result, clauses, 16)
    head = (f"(%x: {x}, %b: {b}, %sb: {sb}, %bias: tensor<{g}x{N}xf32>, %e: {ends}) "
            f"-> ({result}, {q}, {s})")
    return (head,
            [f"%m = blockscale.amax %x offsets(%e : {ends}) : {x} -> {each}",
             f"%g = blockscale.global_scale %m recipe torchao nonzero_amax : {each}",
             (f"%q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : {each}) "
              f"offsets(%e : {ends}) : {x} -> {q}, {s}"), f"%y = {y}"],
            f"%y, %q, %s : {result}, {q}, {s}")


def weights(g):
    """Rows without scales."""
    a, b, sb = f"tensor<?x{K}xbf16>", f"tensor<{g}x{N}x{K}xf4E2M1FN>", (
        f"tensor<{g}x{N}x{K // 16}xf8E4M3FN>")
    result, each = f"tensor<?x{N}xbf16>", f"tensor<{g}xf32>"
    y = product("%e", ("%a", a), ("%b", b), g, (None, ("%sb", sb)), result,
                f" global_scale_b(%gb : {each})", 16)
    return (f"(%a: {a}, %b: {b}, %sb: {sb}, %gb: {each}, %e: tensor<{g}xi32>) -> {result}",
            [f"%y = {y}"], f"%y : {result}")


def prepacked(g):
    """Rows without scales, and weights in the order of Hopper's registers, tiles as well."""
    layout = "#blockscale.data_layout<fragments_64x64>"
    a, b = f"tensor<?x{K}xbf16>", f"tensor<{g}x{N}x{K}xf4E2M1FN, {layout}>"
    sb = f"tensor<{g}x{N}x{K // 16}xf8E4M3FN, {TILES}>"
    result = f"tensor<?x{N}xbf16>"
    y = product("%e", ("%a", a), ("%b", b), g, (None, ("%sb", sb)), result, block=16)
    return (f"(%a: {a}, %b: {b}, %sb: {sb}, %e: tensor<{g}xi32>) -> {result}", [f"%y = {y}"],
            f"%y : {result}")


def plain(g):
    """Neither operand has scales."""
    a, b, result = f"tensor<?x{K}xbf16>", f"tensor<{g}x{N}x{K}xbf16>", f"tensor<?x{N}xf32>"
    y = product("%e", ("%a", a), ("%b", b), g, (None, None), result, block=16)
    return (f"(%a: {a}, %b: {b}, %e: tensor<{g}xi32>) -> {result}", [f"%y = {y}"],
            f"%y : {result}")


def depth(g):
    """Groups of K of linear scales."""
    a, b = f"tensor<{M}x{K}xf4E2M1FN>", f"tensor<{N}x{K}xf4E2M1FN>"
    sa, sb = f"tensor<{M}x{K // 16}xf8E4M3FN>", f"tensor<{N}x{K // 16}xf8E4M3FN>"
    result = f"tensor<{g}x{M}x{N}xf32>"
    y = product("%e", ("%a", a), ("%b", b), g, (("%sa", sa), ("%sb", sb)), result, block=16)
    return (f"(%a: {a}, %sa: {sa}, %b: {b}, %sb: {sb}, %e: tensor<{g}xi32>) -> {result}",
            [f"%y = {y}"], f"%y : {result}")


def gradients(g):
    """Groups of tokens of any length, padded and quantized along tokens for a product of K."""
    x, dy, ends = f"tensor<?x{N}xbf16>", "tensor<?x40xbf16>", f"tensor<{g}xi32>"
    layout, lines, operands = grouped(g, 1), [], []
    for name, type, columns in (("dy", dy, 40), ("x", x, N)):
        q, s = f"tensor<{columns}x?xf8E4M3FN>", f"tensor<{columns}x?xf8E8M0FNU, {layout}>"
        lines += [(f"%p{name}, %e{name} = blockscale.pad_groups %{name} offsets(%e : {ends}) "
                   f"unit 32 : {type} -> {type}"),
                  (f"%q{name}, %s{name} = blockscale.quantize %p{name} block [32, 1] transposed "
                   f"offsets(%edy : {ends}) : {type} -> {q}, {s}")]
        operands.append(((f"%q{name}", q), (f"%s{name}", s)))
    result = f"tensor<{g}x40x{N}xf32>"
    (a, sa), (b, sb) = operands
    lines.append("%y = " + product("%edy", a, b, g, (sa, sb), result))
    return (f"(%x: {x}, %dy: {dy}, %e: {ends}) -> {result}", lines, f"%y : {result}")


def experts(g):
    """A pair of products with an elementwise op and a quantizer behind them, in tiles."""
    ends, x, h = f"tensor<{g}xi32>", f"tensor<?x{K}xbf16>", f"tensor<?x{N}xbf16>"
    q, s = f"tensor<?x{K}xf8E4M3FN>", f"tensor<?x{K // 32}xf8E8M0FNU, {grouped(g)}>"
    p, t = f"tensor<?x{N}xf4E2M1FN>", f"tensor<?x{N // 16}xf8E4M3FN, {grouped(g)}>"
    w, sw = f"tensor<{g}x{N}x{K}xf8E4M3FN>", f"tensor<{g}x{N}x{K // 32}xf8E8M0FNU, {TILES}>"
    pair = [f"%{name} = " + product("%e", ("%q", q), (f"%b{name}", w), g,
                                    (("%s", s), (f"%s{name}", sw)), h) for name in "uv"]
    return (f"(%x: {x}, %bu: {w}, %su: {sw}, %bv: {w}, %sv: {sw}, %e: {ends}) -> ({p}, {t})",
            [(f"%q, %s = blockscale.quantize %x block [1, 32] offsets(%e : {ends}) "
              f": {x} -> {q}, {s}"), *pair,
             "%c0 = arith.constant 0 : index", f"%rows = tensor.dim %u, %c0 : {h}",
             f"%empty = tensor.empty(%rows) : {h}",
             ("%h = linalg.generic {indexing_maps = [#id, #id, #id], "
              'iterator_types = ["parallel", "parallel"]} '
              f"ins(%u, %v : {h}, {h}) outs(%empty : {h}) {{"),
             "^bb0(%i: bf16, %j: bf16, %o: bf16):", "%k = arith.mulf %i, %j : bf16",
             "linalg.yield %k : bf16", f"}} -> {h}",
             (f"%p, %t = blockscale.quantize %h block [1, 16] recipe torchao "
              f"offsets(%e : {ends}) : {h} -> {p}, {t}")], f"%p, %t : {p}, {t}")


def swizzles(g):
    """Tiles of groups of rows and columns, there and back."""
    s, ends = "tensor<?x?xf8E4M3FN>", f"tensor<{g}xi32>"
    lines, types = ["%c0 = arith.constant 0 : index", "%c1 = arith.constant 1 : index",
                    f"%m = tensor.dim %s, %c0 : {s}", f"%n = tensor.dim %s, %c1 : {s}"], []
    for name, dim, block in (("r", 0, ""), ("c", 1, " block 16")):
        tiled = f"tensor<?x?xf8E4M3FN, {grouped(g, dim)}>"
        lines += [(f"%{name} = blockscale.swizzle %s offsets(%e{name} : {ends}){block} "
                   f": {s} -> {tiled}"),
                  (f"%{name}s = blockscale.swizzle %{name} offsets(%e{name} : {ends}) "
                   f"sizes(%m, %n){block} : {tiled} -> {s}")]
        types += [tiled, s]
    return (f"(%s: {s}, %er: {ends}, %ec: {ends}) -> ({', '.join(types)})", lines,
            f"%r, %rs, %c, %cs : {', '.join(types)}")


FORMS = {form.__name__: form for form in (linear, tiles, tiles_of_rows, quantized, weights,
                                          prepacked, plain, depth, gradients, experts, swizzles)}


#: Forms that can say statically that there are no groups: a layout has a positive number.
WITHOUT_LAYOUT = ("linear", "weights", "prepacked", "plain", "depth")


def text(form, groups):
    head, lines, results = form(groups)
    body = "\n  ".join(lines)
    return (f"#id = affine_map<(i, j) -> (i, j)>\n"
            f"func.func @f{head} {{\n  {body}\n  return {results}\n}}\n")


class Draw:
    """Arrays of a call with `groups` groups."""

    def __init__(self, groups):
        self.g, self.random = groups, np.random.default_rng(groups)
        self.ends = np.array(ENDS[groups], np.int32)
        self.ends_of_k = np.array(ENDS_OF_K[groups], np.int32)

    def codes(self, *shape, low=0x10, high=0x50):
        return (self.random.integers(low, high, shape)
                | self.random.integers(0, 2, shape) << 7).astype(np.uint8)

    def fp4(self, *shape):
        return self.random.integers(0, 256, (*shape[:-1], shape[-1] // 2)).astype(np.uint8)

    def e8m0(self, *shape):
        return self.random.integers(122, 132, shape).astype(np.uint8)

    def e4m3(self, *shape):
        return self.random.integers(0x28, 0x48, shape).astype(np.uint8)

    def floats(self, *shape):
        return self.random.standard_normal(shape).astype(np.float32)

    def bf16(self, *shape):
        return (self.floats(*shape).view(np.uint32) >> 16).astype(np.uint16)

    def exact(self, rows, columns):
        """Numbers whose products have exact sums, of unlike scales in each block of rows."""
        factors = 1 << self.random.integers(0, 3, (-(-rows // 32), columns)).repeat(32, 0)[:rows]
        values = self.random.integers(-8, 9, (rows, columns)) * factors
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)

    def tiles(self, rows, cols):
        """Scales in tiles of each group of rows, none of which is NaN where it is padding."""
        most = (rows + self.g * 127) // 128 * -(-cols // 4)
        return self.e8m0(most, 32, 4, 4)

    def arrays(self, form):
        g = self.g
        if form == "linear":
            return [self.codes(M, K), self.e8m0(M, K // 32), self.codes(g, N, K),
                    self.e8m0(g, N, K // 32), self.ends]
        if form in ("tiles", "tiles_of_rows"):
            return [self.codes(M, K), self.tiles(M, K // 32), self.codes(g, N, K),
                    self.e8m0(g, 1, 1, 32, 4, 4), self.ends]
        if form == "quantized":
            return [self.bf16(M, K), self.fp4(g, N, K), self.e4m3(g, N, K // 16),
                    self.floats(g, N), self.ends]
        if form == "weights":
            return [self.bf16(M, K), self.fp4(g, N, K), self.e4m3(g, N, K // 16),
                    self.floats(g), self.ends]
        if form == "prepacked":
            return [self.bf16(M, K), self.codes(g, 1, 2, 2048, low=0, high=0x80),
                    self.e4m3(g, 1, 2, 32, 4, 4), self.ends]
        if form == "plain":
            return [self.bf16(M, K), self.bf16(g, N, K), self.ends]
        if form == "depth":
            return [self.fp4(M, K), self.e4m3(M, K // 16), self.fp4(N, K),
                    self.e4m3(N, K // 16), self.ends_of_k]
        if form == "gradients":
            # How many parts K has depends on whether the number of groups is known.
            return [self.exact(M, N), self.exact(M, 40), self.ends]
        if form == "experts":
            return [self.bf16(M, K), self.codes(g, N, K), self.e8m0(g, 1, 1, 32, 4, 4),
                    self.codes(g, N, K), self.e8m0(g, 1, 1, 32, 4, 4), self.ends]
        return [self.e4m3(M, K // 16), self.ends, self.ends_of_k]


class Place:
    """Runs of one form in one place."""

    def __init__(self, folder, form, place, schedule):
        self.folder = folder / form / place
        self.folder.mkdir(parents=True, exist_ok=True)
        self.results = FORMS[form](1)[0].split(" -> ")[-1].count("tensor")
        self.options = ON_CPU if place == "cpu" else ("--on=emulator", f"--target={place}",
                                                      *SCHEDULES[schedule])
        self.lines, self.ended = [], {}

    def add(self, name, module, arrays):
        """A run of the function of a module, which is the pair of a name and a text."""
        path = self.folder / f"{module[0]}.mlir"
        path.write_text(module[1])
        words = [path, *self.options]
        for number, array in enumerate(arrays):
            np.save(self.folder / f"{name}-in{number}.npy", array)
            words += ["--in", self.folder / f"{name}-in{number}.npy"]
        for path in self.results_of(name):
            path.unlink(missing_ok=True)
            words += ["--out", path]
        self.lines.append((name, words))

    def run(self):
        """Makes the runs, those of a module behind each other so that it is compiled once."""
        ended = run_lines([words for _, words in self.lines],
                          env={**os.environ, "BLOCKSCALE_NUM_THREADS": "1"})
        self.ended = {name: end for (name, _), end in zip(self.lines, ended, strict=True)}

    def results_of(self, name):
        return [self.folder / f"{name}-out{number}.npy" for number in range(self.results)]

    def load(self, name):
        return [np.load(path) for path in self.results_of(name)]

    def failure(self, name):
        """What a run said that failed; None of one that did not."""
        status, said = self.ended[name]
        return said[-2000:] if status else None

    def refusal(self, name):
        """What is wrong with a run that ends in the error WRONG and writes nothing."""
        status, said = self.ended[name]
        isWritten = any(path.exists() for path in self.results_of(name))
        if status and re.search(WRONG[name], said) and not isWritten:
            return None
        return f"expected the error '{WRONG[name]}', but got status {status} and {said[-2000:]}"


def check(folder, form, place, schedule):
    """(What, its problem) of all calls of a form in a place."""
    runs = Place(folder, form, place, schedule)
    draws = {groups: Draw(groups).arrays(form) for groups in ENDS}
    any_groups = "any", text(FORMS[form], "?")
    for groups, arrays in draws.items():
        runs.add(f"any{groups}", any_groups, arrays)
    # What disagrees with three ends, or with three of something else.
    for name, arrays in wrong_arrays(form, draws).items():
        runs.add(name, any_groups, arrays)
    for groups, arrays in draws.items():
        if groups or form in WITHOUT_LAYOUT:
            runs.add(f"own{groups}", (f"of{groups}", text(FORMS[form], groups)), arrays)
    if form == "tiles":
        of_layout = "layout", text(tiles_of_layout, "?")
        runs.add("layout3", of_layout, draws[3])
        runs.add("eight groups in the layout of three", of_layout,
                 [draws[8][0], draws[3][1], *draws[8][2:]])
    runs.run()
    for groups in draws:
        hasOwn = f"own{groups}" in runs.ended
        problem = runs.failure(f"any{groups}") or (hasOwn and runs.failure(f"own{groups}")) or None
        if not problem and hasOwn:
            problem = first_difference(runs.load(f"any{groups}"), runs.load(f"own{groups}"))
        if not problem and not groups and any(each.any() for each in runs.load("any0")):
            problem = "expected zeros, as nothing is in a group"
        yield f"{form} with {groups} groups on {place}", problem
    for name in runs.ended:
        if name in WRONG:
            yield f"{form} with {name} on {place}", runs.refusal(name)
    if form == "tiles":
        yield f"tiles in the layout of three groups on {place}", runs.failure("layout3") or (
            first_difference(runs.load("layout3"), runs.load("own3")))


def rule(what, source, expected, found):
    """The error of a size; launch plans say what it is compared with, too."""
    return (f"scaled_grouped_mm: expected dimension 0 of {what}( in memory)? to fit the shape of "
            f"{source}( \\(== {expected}\\))?, but got {found}\n")


#: The errors of calls whose operands disagree.
WRONG = {
    "two ends": rule("b", "a and offsets", 2, 3),
    # Where no kernel reads weights in this order, they are brought into that of rows first.
    "two ends of blocks": rule("b", "a and offsets", 2, 3) + (
        "|prepack: expected dimension 0 of source in memory to fit the shape of the result"
        "( \\(== 2\\))?, but got 3\n"),
    "tiles of two groups": rule("scale_a", "a", 4, 3),
    "two biases": rule("bias", "b and offsets", 3, 2),
    "two scales": rule("global_scale_b", "offsets", 3, 2),
    "eight groups in the layout of three": rule("offsets", "the layout of scale_a", 3, 8),
}


def wrong_arrays(form, draws):
    """Arrays of calls that are errors of WRONG, by the name there."""
    arrays, ends = draws[3][:-1], draws[3][-1]
    if form in ("depth", "gradients", "swizzles"):
        return {}
    wrong = {"two ends of blocks" if form == "prepacked" else "two ends": [*arrays, ends[1:]]}
    if form.startswith("tiles"):
        wrong["tiles of two groups"] = [arrays[0], arrays[1][:-1], *arrays[2:], ends]
    if form == "quantized":
        wrong["two biases"] = [*arrays[:-1], arrays[-1][1:], ends]
    if form == "weights":
        wrong["two scales"] = [*arrays[:-1], arrays[-1][1:], ends]
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("forms", nargs="*", default=[*FORMS])
    parser.add_argument("--on", nargs="+", required=True, metavar="PLACE", help="cpu or chips")
    options = parser.parse_args()
    expect = Expectations()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        turns = [(form, place, number % len(SCHEDULES)) for number, (form, place) in enumerate(
            (form, place) for form in options.forms or FORMS for place in options.on)]
        for results in pool.map(lambda turn: list(check(options.folder, *turn)), turns):
            for what, problem in results:
                expect.record(what, problem)
    expect.finish()


main()
