# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of every op whose operands have sizes that types leave open, with one size of one
operand changed: what the CPU refuses, the launch plans of five chips refuse with the same text,
and nothing else.

A case is a function. Each size of each operand becomes a little smaller and larger, so that
scales still fill the same tiles; a change that memory does not show is no call.

Usage: operand_sizes.py FOLDER
"""

import itertools
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2]))

from batches import run_lines
from expect import Expectations

CHIPS = ("sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a")
PLACES = (("--on=cpu", "--optimize=0"),
          *(("--on=emulator", f"--target={chip}") for chip in CHIPS))
STATIC = (False, False, False)
LEAST_REFUSED = 2  # wrong calls of each case
SWIZZLED = ", #blockscale.layout<swizzle_128x4>"
COLUMNS = ", #blockscale.layout<swizzle_128x4, groups = 3, dim = 1>"
DTYPES = {"f32": "float32", "bf16": "uint16", "i32": "int32"}


@dataclass
class Operand:
    """`sizes` are logical; `dynamic` says which of them the type leaves open."""

    name: str
    element: str
    sizes: tuple
    dynamic: tuple = ()
    layout: str = ""
    values: tuple = ()
    changes: tuple = (-1, 1, 32)

    def __post_init__(self):
        self.dynamic = self.dynamic or (True,) * len(self.sizes)

    @property
    def type(self):
        dims = "".join(f"{'?' if dynamic else size}x"
                       for size, dynamic in zip(self.sizes, self.dynamic, strict=True))
        return f"tensor<{dims}{self.element}{self.layout}>"

    def shape(self, sizes):
        """Of memory."""
        if self.layout == COLUMNS:
            return (-(-sizes[0] // 128) * ((sizes[1] + 3 * 3) // 4), 32, 4, 4)
        if self.layout:
            return (*sizes[:-2], -(-sizes[-2] // 128), -(-sizes[-1] // 4), 32, 4, 4)
        if self.element == "f4E2M1FN":
            return (*sizes[:-1], -(-sizes[-1] // 2))
        return tuple(sizes)

    def array(self, sizes):
        if self.values:
            return np.resize(np.array(self.values, np.int32), sizes)
        return np.zeros(self.shape(sizes), DTYPES.get(self.element, "uint8"))

    def wrong_sizes(self):
        """All sizes, one of them wrong, that memory tells from the right ones."""
        known = {self.shape(self.sizes)}
        for dim, (size, dynamic) in enumerate(zip(self.sizes, self.dynamic)):
            # Codes of 4 bits are two a byte.
            packed = self.element == "f4E2M1FN" and dim == len(self.sizes) - 1
            for other in (size + change for change in self.changes):
                changed = (*self.sizes[:dim], other, *self.sizes[dim + 1:])
                if dynamic and other > 0 and not (packed and other % 2):
                    shape = self.shape(changed)
                    if shape not in known:
                        known.add(shape)
                        yield changed


@dataclass
class Case:
    """`body` has {x} for the value and {x_type} for the type of operand x."""

    name: str
    operands: list
    body: str
    results: tuple

    @property
    def text(self):
        fields = {o.name: f"%{o.name}" for o in self.operands}
        fields |= {f"{o.name}_type": o.type for o in self.operands}
        arguments = ", ".join(f"%{o.name}: {o.type}" for o in self.operands)
        names = ", ".join(f"%r{i}" for i in range(len(self.results)))
        types = ", ".join(self.results)
        return (f"func.func @{self.name}({arguments}) -> ({types}) {{\n"
                f"  {self.body.format(**fields)}\n  return {names} : {types}\n}}\n")


def mx(element="f8E4M3FN", k=128, m=8, n=24):
    """The operands of a product in MX."""
    return [Operand("a", element, (m, k)), Operand("b", element, (n, k)),
            Operand("sa", "f8E8M0FNU", (m, k // 32)), Operand("sb", "f8E8M0FNU", (n, k // 32))]


def in_tiles(operands, data, scales):
    """The operands, of which these are data and scales in tiles, with sizes that are wrong by
    as much as tiles tell."""
    for operand in operands:
        if operand.name in (data, scales):
            operand.changes = (-128, 128, 256)
        if operand.name == scales:
            operand.layout = SWIZZLED
    return operands


def nvfp4(k=128, m=8, n=24, batch=(), layout=""):
    return [Operand("a", "f4E2M1FN", (*batch, m, k)), Operand("b", "f4E2M1FN", (*batch, n, k)),
            Operand("sa", "f8E4M3FN", (*batch, m, k // 16), layout=layout),
            Operand("sb", "f8E4M3FN", (*batch, n, k // 16), layout=layout)]


def product(block, rest="", more="", result="tensor<?x?xf32>"):
    return (f"%r0 = blockscale.scaled_mm {{a}}, {{b}} scales({{sa}}, {{sb}}) block [1, {block}]"
            f"{rest} : {{a_type}}, {{b_type}}, {{sa_type}}, {{sb_type}} -> {result}{more}")


def grouped(element, scale, block, form, ends, k=128):
    """A product of groups of rows or of K."""
    groups = Operand("ends", "i32", (len(ends),), (False,), values=ends)
    b = (24, k) if form == "depth" else (len(ends), 24, k)
    dynamic = (True, True) if form == "depth" else (False, True, True)
    sb = (*b[:-1], k // block)
    rank = "3x?x?" if form == "depth" else "?x?"
    return Case(
        f"grouped_{form}_{element}",
        [Operand("a", element, (96, k)), Operand("b", element, b, dynamic), groups,
         Operand("sa", scale, (96, k // block)), Operand("sb", scale, sb, dynamic),
         Operand("bias", "f32", (24,))],
        "%r0 = blockscale.scaled_grouped_mm {a}, {b} offsets({ends}) scales({sa}, {sb}) "
        f"block [1, {block}] bias({{bias}} : {{bias_type}}) : {{a_type}}, {{b_type}}, "
        f"{{ends_type}}, {{sa_type}}, {{sb_type}} -> tensor<{rank}xf32>",
        (f"tensor<{rank}xf32>",))


BLACKWELL = ("sm_100a", "sm_120a")
Q = "tensor<?x?xf8E4M3FN>"
CASES = [
    Case("mm_mx", [*mx(), Operand("bias", "f32", (24,))],
         product(32, " bias({bias} : {bias_type})"), ("tensor<?x?xf32>",)),
    Case("mm_mxfp4", mx("f4E2M1FN"), product(32), ("tensor<?x?xf32>",)),
    Case("mm_mxfp6", mx("f6E2M3FN"), product(32), ("tensor<?x?xf32>",)),
    Case("mm_nvfp4", nvfp4(), product(16), ("tensor<?x?xf32>",)),
    Case("mm_batch", [*nvfp4(batch=(3,)), Operand("ga", "f32", (3,)), Operand("gb", "f32", (3,))],
         product(16, " global_scale_a({ga} : {ga_type}) global_scale_b({gb} : {gb_type})",
                 result="tensor<?x?x?xf32>"), ("tensor<?x?x?xf32>",)),
    Case("mm_rows", [*nvfp4(), Operand("ga", "f32", (8,)), Operand("gb", "f32", (24,))],
         product(16, " global_scale_a({ga} : {ga_type}) global_scale_b({gb} : {gb_type})"),
         ("tensor<?x?xf32>",)),
    Case("mm_tiles", in_tiles(in_tiles(mx(k=320, m=136, n=150), "a", "sa"), "b", "sb"),
         product(32), ("tensor<?x?xf32>",)),
    Case("mm_tiles_of_a", in_tiles(mx(k=320, m=136, n=150), "a", "sa"), product(32),
         ("tensor<?x?xf32>",)),
    Case("mm_plain", [Operand("a", "bf16", (8, 128)), Operand("b", "f4E2M1FN", (24, 128)),
                      Operand("sb", "f8E4M3FN", (24, 8))],
         "%r0 = blockscale.scaled_mm {a}, {b} scales(none, {sb}) block [1, 16] : {a_type}, "
         "{b_type}, {sb_type} -> tensor<?x?xbf16>", ("tensor<?x?xbf16>",)),
    grouped("f8E4M3FN", "f8E8M0FNU", 32, "rows", (32, 32, 90)),
    grouped("f4E2M1FN", "f8E4M3FN", 16, "rows", (32, 32, 90)),
    grouped("f8E4M3FN", "f8E8M0FNU", 32, "depth", (32, 32, 96)),
    grouped("f4E2M1FN", "f8E4M3FN", 16, "depth", (32, 32, 96)),
    Case("grouped_tiles", [Operand("a", "f8E4M3FN", (40, 128), (False, True)),
                           Operand("b", "f8E4M3FN", (24, 128), (False, True)),
                           Operand("ends", "i32", (3,), (False,), values=(32, 32, 96)),
                           *(Operand(name, "f8E8M0FNU", (rows, 4), (False, True), COLUMNS,
                                     changes=(-3, 4, 8))
                             for name, rows in (("sa", 40), ("sb", 24)))],
         "%r0 = blockscale.scaled_grouped_mm {a}, {b} offsets({ends}) scales({sa}, {sb}) "
         "block [1, 32] : {a_type}, {b_type}, {ends_type}, {sa_type}, {sb_type} -> "
         "tensor<3x40x24xf32>", ("tensor<3x40x24xf32>",)),
    # What quantizers and a product have in one function.
    Case("quantized_mm", [Operand("x", "bf16", (8, 128), (True, False)),
                          Operand("w", "f8E4M3FN", (24, 128), (True, False)),
                          Operand("sw", "f8E8M0FNU", (24, 4), (True, False))],
         "%q, %s = blockscale.quantize {x} block [1, 32] : {x_type} -> tensor<?x128xf8E4M3FN>, "
         "tensor<?x4xf8E8M0FNU>\n"
         "  %r0 = blockscale.scaled_mm %q, {w} scales(%s, {sw}) block [1, 32] : "
         "tensor<?x128xf8E4M3FN>, {w_type}, tensor<?x4xf8E8M0FNU>, {sw_type} -> tensor<?x?xf32>",
         ("tensor<?x?xf32>",)),
    # A quantizer that joins the kernel of a product.
    Case("grouped_quantized", [Operand("a", "f8E4M3FN", (96, 128), (True, False)),
                               Operand("b", "f8E4M3FN", (3, 64, 128), STATIC),
                               Operand("ends", "i32", (3,), (False,), values=(32, 32, 96)),
                               Operand("sa", "f8E8M0FNU", (96, 4), (True, False)),
                               Operand("sb", "f8E8M0FNU", (3, 64, 4), STATIC),
                               Operand("g", "f32", (3,))],
         "%y = blockscale.scaled_grouped_mm {a}, {b} offsets({ends}) scales({sa}, {sb}) "
         "block [1, 32] : {a_type}, {b_type}, {ends_type}, {sa_type}, {sb_type} -> "
         "tensor<?x64xbf16>\n"
         "  %r0, %r1 = blockscale.quantize %y block [1, 16] recipe te "
         "global_scale({g} : {g_type}) offsets({ends} : {ends_type}) : tensor<?x64xbf16> -> "
         "tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>",
         ("tensor<?x64xf4E2M1FN>", "tensor<?x4xf8E4M3FN>")),
    Case("quantize_rows", [Operand("x", "bf16", (3, 8, 64), (True, True, False)),
                           Operand("g", "f32", (3,)),
                           Operand("amax", "f32", (3, 8, 4), (True, True, False))],
         "%r0, %r1 = blockscale.quantize {x} block [1, 16] global_scale({g} : {g_type}) "
         "block_amax({amax} : {amax_type}) : {x_type} -> tensor<?x?x64xf4E2M1FN>, "
         "tensor<?x?x4xf8E4M3FN>", ("tensor<?x?x64xf4E2M1FN>", "tensor<?x?x4xf8E4M3FN>")),
    Case("quantize_each_row", [Operand("x", "f32", (8, 64), (True, False)),
                               Operand("g", "f32", (8,))],
         "%r0, %r1 = blockscale.quantize {x} block [1, 16] global_amax({g} : {g_type}) "
         ": {x_type} -> tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>",
         ("tensor<?x64xf4E2M1FN>", "tensor<?x4xf8E4M3FN>")),
    Case("quantize_columns", [Operand("x", "bf16", (3, 64, 32)), Operand("g", "f32", (3,))],
         "%r0, %r1 = blockscale.quantize {x} block [16, 1] transposed global_scale({g} : {g_type}) "
         ": {x_type} -> tensor<?x?x?xf4E2M1FN>, tensor<?x?x?xf8E4M3FN>",
         ("tensor<?x?x?xf4E2M1FN>", "tensor<?x?x?xf8E4M3FN>")),
    Case("quantize_squares", [Operand("x", "f32", (64, 32))],
         "%r0, %r1 = blockscale.quantize {x} block [32, 32] : {x_type} -> "
         "tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>",
         (Q, "tensor<?x?xf8E8M0FNU>")),
    Case("quantize_groups", [Operand("x", "bf16", (96, 64), (True, False)),
                             Operand("g", "f32", (3,)),
                             Operand("ends", "i32", (3,), values=(32, 32, 96))],
         "%r0, %r1 = blockscale.quantize {x} block [1, 16] global_scale({g} : {g_type}) "
         "offsets({ends} : {ends_type}) : {x_type} -> tensor<?x64xf4E2M1FN>, "
         "tensor<?x4xf8E4M3FN>", ("tensor<?x64xf4E2M1FN>", "tensor<?x4xf8E4M3FN>")),
    Case("norm_quantize", [Operand("x", "f32", (8, 64), (True, False)), Operand("g", "f32", (8,))],
         "%h = arith.constant 2.0 : f32\n"
         "  %c0 = arith.constant 0 : index\n"
         "  %m = tensor.dim {x}, %c0 : {x_type}\n"
         "  %e = tensor.empty(%m) : tensor<?x64xf32>\n"
         "  %z = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, "
         "affine_map<(i, j) -> (i, j)>], iterator_types = [\"parallel\", \"parallel\"]}} "
         "ins({x} : {x_type}) outs(%e : tensor<?x64xf32>) {{\n"
         "  ^bb0(%u: f32, %v: f32):\n    %w = arith.mulf %u, %h : f32\n"
         "    linalg.yield %w : f32\n  }} -> tensor<?x64xf32>\n"
         "  %r0, %r1 = blockscale.quantize %z block [1, 16] global_scale({g} : {g_type}) "
         ": tensor<?x64xf32> -> tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>",
         ("tensor<?x64xf4E2M1FN>", "tensor<?x4xf8E4M3FN>")),
    Case("hadamard_quantize", [Operand("x", "bf16", (64, 32)), Operand("g", "f32", ())],
         "%h = blockscale.hadamard {x} dim 0 : {x_type}\n"
         "  %r0, %r1 = blockscale.quantize %h block [16, 1] transposed recipe te "
         "global_scale({g} : {g_type}) : {x_type} -> tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN>",
         ("tensor<?x?xf4E2M1FN>", "tensor<?x?xf8E4M3FN>")),
    Case("dequantize", [Operand("q", "f4E2M1FN", (3, 8, 64)), Operand("s", "f8E4M3FN", (3, 8, 4)),
                        Operand("g", "f32", (3,))],
         "%r0 = blockscale.dequantize {q}, {s} block [1, 16] global_scale({g} : {g_type}) : "
         "{q_type}, {s_type} -> tensor<?x?x?xf32>", ("tensor<?x?x?xf32>",)),
    Case("dequantize_mx", [Operand("q", "f8E4M3FN", (8, 64)), Operand("s", "f8E8M0FNU", (8, 2))],
         "%r0 = blockscale.dequantize {q}, {s} block [1, 32] : {q_type}, {s_type} -> "
         "tensor<?x?xf32>", ("tensor<?x?xf32>",)),
    Case("dequantize_tiles", in_tiles([Operand("q", "f8E4M3FN", (140, 320)),
                                       Operand("s", "f8E8M0FNU", (140, 10))], "q", "s"),
         "%r0 = blockscale.dequantize {q}, {s} block [1, 32] : {q_type}, {s_type} -> "
         "tensor<?x?xf32>", ("tensor<?x?xf32>",)),
    Case("pad_groups", [Operand("x", "bf16", (64, 32)),
                        Operand("ends", "i32", (3,), values=(8, 9, 64))],
         "%r0, %r1 = blockscale.pad_groups {x} offsets({ends} : {ends_type}) unit 32 : {x_type} -> "
         "tensor<128x32xbf16>", ("tensor<128x32xbf16>", "tensor<?xi32>")),
    Case("hadamard", [Operand("x", "bf16", (8, 64))],
         "%r0 = blockscale.hadamard {x} dim 1 : {x_type}", ("tensor<?x?xbf16>",)),
    Case("scale_sweep", [Operand("x", "f32", (8, 64)), Operand("g", "f32", ()),
                         Operand("h", "f32", (4, 16, 16), (True, False, False))],
         "%r0 = blockscale.scale_sweep {x} global_amax({g} : {g_type}) hessian({h} : {h_type}) : "
         "{x_type} -> tensor<?x?xf32>", ("tensor<?x?xf32>",)),
]


def make_calls(case, folder):
    """The command lines of the right call and of those with one wrong size, for each place."""
    chosen = [("all sizes fit", [o.sizes for o in case.operands])]
    for i, operand in enumerate(case.operands):
        for wrong in operand.wrong_sizes():
            sizes = [o.sizes for o in case.operands]
            sizes[i] = wrong
            chosen.append((f"{operand.name} of {wrong}", sizes))
    module = folder / f"{case.name}.mlir"
    module.write_text(case.text)
    for number, (what, sizes) in enumerate(chosen):
        inputs = []
        for operand, each in zip(case.operands, sizes):
            path = folder / f"{case.name}-{number}-{operand.name}.npy"
            np.save(path, operand.array(each))
            inputs += ["--in", path]
        outputs = [("--out", folder / f"out{i}.npy") for i in range(len(case.results))]
        yield what, [module, *inputs, *itertools.chain.from_iterable(outputs)]


def refusal(printed):
    """The rule that a call broke and what was found, without what only a plan says: the
    function, and the size expected."""
    found = re.search(r"blockscale-run: error: (?:@\w+: )?(.*?)(?: \(== \d+\))?, but got (\d+)\n",
                      printed)
    if not found:
        return None
    # A plan compares the remainder of a size with 0.
    is_remainder = "to be a multiple of" in found[1]
    return found[1] if is_remainder else f"{found[1]}, but got {found[2]}"


def main():
    folder, expect = Path(sys.argv[1]), Expectations()
    folder.mkdir(parents=True, exist_ok=True)
    counts = {}
    for case in CASES:
        calls = list(make_calls(case, folder))
        counts[case.name] = 0
        lines = [[line[0], *place, *line[1:]] for place in PLACES for _, line in calls]
        ended = run_lines(lines)
        runs = [ended[i:i + len(calls)] for i in range(0, len(ended), len(calls))]
        for number, (what, _) in enumerate(calls):
            outcomes = [run[number] for run in runs]
            for place, (status, printed) in zip(PLACES, outcomes):
                name = f"{case.name} {place[-1]}: {what}"
                if number == 0:
                    expect.record(name, printed if status else None)
                    continue
                wanted, got = refusal(outcomes[0][1]), refusal(printed)
                expect.record(name, None if bool(status) == bool(wanted) and got == wanted
                              else f"expected {wanted!r}, but got {got!r} of: {printed}")
            # A size that no other operand has to fit may change.
            counts[case.name] += number > 0 and outcomes[0][0] != 0
    for name, count in counts.items():
        expect.record(f"{name} is refused", None if count >= LEAST_REFUSED
                      else f"expected {LEAST_REFUSED} wrong calls, but got {count}")
    print(f"{len(counts)} functions, {sum(counts.values())} wrong calls")
    expect.finish()


if __name__ == "__main__":
    main()
