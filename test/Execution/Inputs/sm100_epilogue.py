# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs products with what follows them, elementwise ops and quantizations, as one kernel
of SM100 in the emulator under both schedules. Sums are exact in any order (exact.py), so
bytes are those of the CPU, where nothing is fused. One launch does it, and without fusion
several, with the same bytes.

Scales differ between rows, blocks, operands and groups. So bytes differ if a kernel reads
a scale of another row, step, product or group than the one that it multiplies, or
leaves a scale of an earlier step in tensor memory."""

import argparse
import os
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import epilogue_model
import exact
from expect import Expectations, first_difference
from gpu_calls import ON_CPU, SCHEDULES, run_launches
from gpu_producers import CONSTANTS, GELU_TANH, SWIGLU
from products import dequantized, legal_ends
from reference import (
    from_bf16,
    pack,
    scaled_grouped_matmul,
    scaled_matmul,
    swizzle,
    swizzle_groups,
    to_bf16,
)

# Data, scales, codes and the block.
FORMATS = {"nvfp4": ("f4E2M1FN", "f8E4M3FN", range(16), 16),
           "mxfp4": ("f4E2M1FN", "f8E8M0FNU", range(16), 32),
           "mxfp8": ("f8E4M3FN", "f8E8M0FNU", [*range(0x30, 0x48), *range(0xB0, 0xC8)], 32)}
SWIZZLED = ", #blockscale.layout<swizzle_128x4>"
RELU = "%y = arith.maxnumf %0, %half : f32"
SHIFT = "%y = arith.addf %0, %one : f32"
JOIN = ("%t = arith.mulf %0, %2 : f32\n    %u = arith.addf %t, %1 : f32\n"
        "    %y = arith.mulf %u, %3 : f32")


@dataclass
class Epilogue:
    """`body` makes %y of f32 block arguments: the products', then those of `inputs`: full,
    columns or rows. Groups: rows or columns (of K)."""

    name: str
    format: str = "nvfp4"
    shape: tuple = (70, 96, 128)
    products: int = 1
    body: str = ""
    inputs: tuple = ()
    quantize: str = ""  # format of the result
    recipe: str = "torchao"
    layout: str = ""  # of its scales: linear, swizzled, grouped
    offsets: bool = False
    global_value: str = ""  # of the quantization: scalar, rank_0, each
    value: str = "bf16"
    product_value: str = ""  # the type of the products' results, `value` unless given
    groups: str = ""
    ends: tuple = ()
    bias: bool = False
    schedule: str = ""
    batch: tuple = ()
    chip: str = "sm_100a"
    plain: str = ""  # the operands, a, b or ab, that are bf16 without scales
    mn_major: str = ""  # those of them whose rows run along M or N
    dynamic_cols: bool = False


PAIRS = "rows = 256, cols = 256, stages = 3, band = 2, ctas = 4"
FEW = "rows = 128, cols = 256, stages = 2, band = 1, ctas = 2"
SHARED = PAIRS + ", multicast = 2"
ENDS = (20, 20, 150, 150, 170)
# Two products of one A in each kind of tile, with operands of several ring stages.
QUANTIZED = {"nvfp4": ("te", "linear", 544), "mxfp8": ("rceil", "swizzled", 288),
             "mxfp4": ("floor", "swizzled", 544)}
SWIGLUS = tuple(
    Epilogue(f"swiglu_{format}_{tiles}", format, products=2, body=SWIGLU, quantize=format,
             recipe=recipe, layout=layout, schedule=schedule, shape=(rows, 288, depth))
    for format, (recipe, layout, depth) in QUANTIZED.items()
    for tiles, schedule, rows in (("single", FEW, 150), ("pairs", PAIRS, 300),
                                  ("shared", SHARED, 300)))
# Rows of results that are no whole fragments of 32 columns: odd ones, with a last block that is not
# whole; half a fragment at the end, known at run time; and in groups.
ODD_COLS = (
    Epilogue("odd_cols", body=JOIN, inputs=("full", "columns", "rows"), quantize="nvfp4",
             recipe="te_4over6_mse", layout="swizzled", shape=(70, 101, 128), bias=True),
    Epilogue("dynamic_moe", products=2, body=SWIGLU, quantize="nvfp4", layout="grouped",
             offsets=True, global_value="each", groups="rows", ends=ENDS, shape=(200, 176, 64),
             dynamic_cols=True),
    Epilogue("odd_values", body=GELU_TANH, value="f32", shape=(130, 133, 64), bias=True,
             dynamic_cols=True),
)
# Results of f32 of products and tensors of 16 bits, of which a thread reads half as many bytes as
# it writes: in whole columns, and in odd ones.
WIDE_VALUES = (
    Epilogue("wide_values", body=JOIN, inputs=("full", "columns", "rows"), value="f32",
             product_value="bf16", shape=(70, 96, 128)),
    Epilogue("odd_wide_values", body=JOIN, inputs=("full", "columns", "rows"), value="f32",
             product_value="f16", shape=(130, 101, 64), bias=True),
)
CASES = (
    Epilogue("quantize", quantize="nvfp4", layout="swizzled", global_value="rank_0"),
    Epilogue("silu", "mxfp8", body=SWIGLU.replace("%1", "%one"), quantize="mxfp8", recipe="rceil",
             layout="swizzled", shape=(200, 160, 96)),
    Epilogue("gelu", body=GELU_TANH, shape=(130, 288, 64), value="f32", bias=True),
    Epilogue("residual", "mxfp4", body=JOIN, inputs=("full", "columns", "rows"), schedule=PAIRS,
             shape=(300, 320, 64)),
    Epilogue("batch", "mxfp8", quantize="mxfp4", recipe="floor", layout="swizzled", batch=(2,),
             shape=(33, 64, 64), body=SHIFT),
    Epilogue("moe", products=2, body=SWIGLU, quantize="nvfp4", layout="grouped", offsets=True,
             global_value="each", groups="rows", ends=ENDS, shape=(200, 160, 64), schedule=FEW),
    Epilogue("moe_pairs", "mxfp8", products=2, body=SWIGLU, quantize="mxfp8", recipe="rceil",
             layout="grouped", offsets=True, groups="rows", ends=ENDS, shape=(200, 96, 64),
             schedule=PAIRS, bias=True),
    Epilogue("rows", body=SHIFT, quantize="nvfp4", recipe="mslk", layout="linear", groups="rows",
             ends=ENDS, shape=(200, 32, 64)),
    Epilogue("rows_of_groups", body=SHIFT, quantize="nvfp4", layout="linear", offsets=True,
             groups="rows", ends=(0, 0, 140, 140, 140), shape=(200, 64, 64)),
    Epilogue("no_groups", "mxfp8", body=SHIFT, quantize="mxfp8", recipe="rceil", layout="grouped",
             offsets=True, groups="rows", ends=(0, 0, 0), shape=(20, 64, 64)),
    Epilogue("no_tokens", quantize="nvfp4", layout="grouped", offsets=True, groups="rows",
             ends=(0, 0), shape=(0, 64, 64)),
    Epilogue("depth", body=SHIFT, quantize="nvfp4", recipe="te_4over6_mse", layout="swizzled",
             groups="columns", ends=(32, 32, 64), shape=(40, 64, 96), global_value="scalar"),
    Epilogue("depth_values", "mxfp4", body=RELU, groups="columns", ends=(32, 96), value="f32",
             shape=(140, 64, 96)),
    Epilogue("halves", "mxfp8", body=JOIN, inputs=("full", "columns", "rows"), value="f16",
             quantize="mxfp8", recipe="rceil", layout="swizzled", shape=(70, 96, 96)),
    Epilogue("half_values", value="f16", body=SHIFT, shape=(130, 96, 64)),
    *SWIGLUS,
    *ODD_COLS,
    *WIDE_VALUES,
    Epilogue("dynamic_swiglu", "mxfp8", products=2, body=SWIGLU, quantize="nvfp4",
             layout="linear", shape=(300, 272, 96), schedule=PAIRS, dynamic_cols=True),
    Epilogue("odd_halves", value="f16", body=JOIN, inputs=("full", "columns", "rows"),
             shape=(130, 46, 64)),
    Epilogue("odd_batch", "mxfp8", body=SHIFT, batch=(2,), shape=(33, 72, 64)),
)


@dataclass
class Operand:
    """Codes and scale bytes of an operand, in the form of its matrices; values and None of a
    plain one."""

    codes: np.ndarray
    scales: np.ndarray


class Text:
    """A module of one function, and its arguments. `operands` are A and, of each product,
    B."""

    def __init__(self, random, case):
        self.random, self.case = random, case
        self.names, self.arrays, self.lines, self.operands = [], [], [], []
        self.biases, self.inputs, self.factors = [], [], None
        self.data, self.scale, self.codes, self.block = FORMATS[case.format]
        self.rows, self.cols, self.depth = case.shape
        self.count = len(case.ends)
        is_depth = case.groups == "columns"
        self.legal = legal_ends(case.ends, self.depth if is_depth else self.rows,
                                self.block if is_depth else 1)
        self._write()
        a, *others = [operand.codes.astype(np.float64) if operand.scales is None else
                      dequantized(operand.codes, self.data, operand.scales, self.scale)
                      for operand in self.operands]
        for b in others:
            exact.demand(a, b)

    def sums(self, values):
        """The sums of each product of these values of the operands."""
        a, *others = values
        if not self.case.groups:
            return [scaled_matmul(a, b).value for b in others]
        unit = self.block if self.case.groups == "columns" else 1
        return [scaled_grouped_matmul(a, b, [end * unit for end in self.legal]).value
                for b in others]

    def computed(self, sums):
        """What the function makes of these sums, by numpy; scales are in linear form."""
        case = self.case
        rounding = {"bf16": epilogue_model.bf16, "f16": epilogue_model.f16, "f32": np.float32}
        to = rounding[case.product_value or case.value]
        sums = [each.astype(np.float32) for each in sums]
        covered = self.legal[-1] if case.groups == "rows" else None
        for each, bias in zip(sums, self.biases):
            each[:covered] += from_bf16(bias)
        body = epilogue_model.bodies(RELU, SHIFT, JOIN)[case.body]
        inputs = [from_bf16(each) if each.dtype == np.uint16 else each for each in self.inputs]
        x = rounding[case.value](body(*map(to, sums), *inputs))
        if not case.quantize:
            return [x]
        return epilogue_model.quantized(x, case.quantize, case.recipe, FORMATS[case.quantize][3],
                                        self.factors, case.ends if case.offsets else None)

    def argument(self, type, array):
        self.names.append(f"%a{len(self.names)}: {type}")
        self.arrays.append(array)
        return f"%a{len(self.names) - 1}"

    def f32(self, shape, type=None):
        """A bf16 array where `type` is."""
        values = np.asarray(np.round(self.random.uniform(-4, 4, shape) * 4) / 4, np.float32)
        return to_bf16(values) if type == "bf16" else values

    def operand(self, lead, rows, is_dynamic, layout, side):
        """Data and scales of an operand: their names and types."""
        if side in self.case.plain:
            values = self.random.integers(-8, 9, (*lead, rows, self.depth)).astype(np.float32)
            self.operands.append(Operand(values, None))
            sizes, array = ["?" if is_dynamic else rows, self.depth], to_bf16(values)
            if side in self.case.mn_major:
                sizes, array = sizes[::-1], np.ascontiguousarray(array.swapaxes(-1, -2))
            type = f"tensor<{'x'.join(map(str, [*lead, *sizes]))}xbf16>"
            return (self.argument(type, array), type), ("none", None)
        codes = self.random.choice(list(self.codes), (*lead, rows, self.depth)).astype(np.uint8)
        shape = (*lead, rows, self.depth // self.block)
        scales = exact.scales(self.random, self.scale, shape)
        self.operands.append(Operand(codes, scales))
        sizes = "".join(f"{size}x" for size in lead) + ("?x" if is_dynamic else f"{rows}x")
        data_type = f"tensor<{sizes}{self.depth}x{self.data}>"
        blocks = self.depth // self.block
        scale_type = f"tensor<{sizes}{blocks}x{self.scale}{self.encoding(layout)}>"
        if layout == "grouped":
            stored = swizzle_groups(scales, self.legal, int(self.case.groups == "columns"))
        else:
            stored = swizzle(scales)
        data = pack(codes) if self.data.startswith("f4") else codes
        return ((self.argument(data_type, data), data_type),
                (self.argument(scale_type, stored), scale_type))

    def encoding(self, layout):
        if layout != "grouped":
            return SWIZZLED if layout == "swizzled" else ""
        dim = int(self.case.groups == "columns")
        return f", #blockscale.layout<swizzle_128x4, groups = {self.count}, dim = {dim}>"

    def _write(self):
        case = self.case
        is_depth = case.groups == "columns"
        lead = () if case.groups else case.batch
        a, sa = self.operand(lead, self.rows, not lead, "grouped" if case.groups else "swizzled",
                             "a")
        offsets = ""
        if case.groups:
            type = f"tensor<{self.count}xi32>"
            ends = self.argument(type, np.array(case.ends, np.int32))
            offsets = f" offsets({ends})"
        sizes = "".join(f"{size}x" for size in ((self.count,) if is_depth else lead))
        self.cols_size = "?" if case.dynamic_cols else str(self.cols)
        self.sizes = sizes + ("?x" if not lead else f"{self.rows}x") + f"{self.cols_size}x"
        product = f"tensor<{self.sizes}{case.product_value or case.value}>"
        for i in range(case.products):
            of_b = (self.count,) if case.groups == "rows" else lead
            b, sb = self.operand(of_b, self.cols, case.dynamic_cols,
                                 "grouped" if is_depth else "swizzled", "b")
            bias = ""
            if case.bias:
                type = f"tensor<{self.cols_size}xbf16>"
                self.biases.append(self.f32(self.cols, "bf16"))
                bias = f" bias({self.argument(type, self.biases[-1])} : {type})"
            types = [a[1], b[1], *([f"tensor<{self.count}xi32>"] if case.groups else []),
                     *(scale[1] for scale in (sa, sb) if scale[1])]
            schedule = (f" {{blockscale.schedule = #blockscale.gemm_schedule<{case.schedule}>}}"
                        if case.schedule else "")
            op = "scaled_grouped_mm" if case.groups else "scaled_mm"
            orders = "".join(f" mn_major_{side}" for side in case.mn_major)
            self.lines.append(f"%p{i} = blockscale.{op} {a[0]}, {b[0]}{orders}{offsets} "
                              f"scales({sa[0]}, "
                              f"{sb[0]}) block [1, {self.block}]{bias}{schedule}\n"
                              f"      : {', '.join(types)} -> {product}")
        value = f"tensor<{self.sizes}{case.value}>"
        self.result, self.results = "%p0", [value]
        if case.body:
            self._write_body(product, value)
        if case.quantize:
            self._write_quantize(value, offsets)

    def _write_body(self, product, value):
        case, rank = self.case, self.sizes.count("x")
        dims = ", ".join(f"d{i}" for i in range(rank))
        maps = {"full": dims, "columns": f"d{rank - 1}", "rows": f"d{rank - 2}"}
        operands = [(f"%p{i}", product, "full") for i in range(case.products)]
        for spread in case.inputs:
            element = "f32" if spread == "rows" else "bf16"
            shape = {"full": (self.rows, self.cols), "columns": (self.cols,),
                     "rows": (self.rows,)}[spread]
            sizes = {"full": self.sizes, "columns": f"{self.cols_size}x", "rows": "?x"}[spread]
            type = f"tensor<{sizes}{element}>"
            self.inputs.append(self.f32(shape, element))
            operands.append((self.argument(type, self.inputs[-1]), type, spread))
        elements = [type.split("x")[-1].rstrip(">") for _, type, _ in operands]
        wide = "".join(f"    %{i} = arith.extf %e{i} : {element} to f32\n"
                       for i, element in enumerate(elements) if element != "f32")
        names = [f"%{i}" if element == "f32" else f"%e{i}" for i, element in enumerate(elements)]
        result = "%y" if case.value == "f32" else "%z"
        narrow = "" if case.value == "f32" else f"\n    %z = arith.truncf %y : f32 to {case.value}"
        affine = ", ".join(f"affine_map<({dims}) -> ({maps[s]})>"
                           for *_, s in [*operands, (0, "full")])
        iterators = ", ".join(['"parallel"'] * rank)
        dynamic = [i for i, size in enumerate(self.sizes.split("x")[:-1]) if size == "?"]
        sizes = "".join(f"  %at{i} = arith.constant {i} : index\n"
                        f"  %dim{i} = tensor.dim %p0, %at{i} : {product}\n" for i in dynamic)
        known = ", ".join(f"%dim{i}" for i in dynamic)
        arguments = ", ".join(f"{name}: {element}" for name, element in zip(names, elements))
        self.lines.append(f"""{sizes.lstrip()}  %init = tensor.empty({known}) : {value}
  %h = linalg.generic {{indexing_maps = [{affine}], iterator_types = [{iterators}]}}
      ins({', '.join(name for name, *_ in operands)} : {', '.join(type for _, type, _ in operands)})
      outs(%init : {value}) {{
  ^bb0({arguments}, %o: {case.value}):
{wide}    {case.body}{narrow}
    linalg.yield {result} : {case.value}
  }} -> {value}""")
        self.result = "%h"

    def _write_quantize(self, value, offsets):
        case = self.case
        data, scale, _, block = FORMATS[case.quantize]
        sizes = self.sizes
        count = "?" if case.dynamic_cols else -(-self.cols // block)
        blocks = sizes[:-1].rsplit("x", 1)[0] + f"x{count}x"
        types = [f"tensor<{sizes}{data}>", f"tensor<{blocks}{scale}{self.encoding(case.layout)}>"]
        globals = ""
        if case.global_value:
            shape = {"scalar": (), "rank_0": (), "each": (self.count,)}[case.global_value]
            type = {"scalar": "f32", "rank_0": "tensor<f32>", "each": f"tensor<{self.count}xf32>"}
            self.factors = np.asarray(self.random.uniform(0.1, 0.5, shape), np.float32)
            name = self.argument(type[case.global_value], self.factors)
            globals = f" global_scale({name} : {type[case.global_value]})"
        grouped = offsets.replace(")", f" : tensor<{self.count}xi32>)") if case.offsets else ""
        if grouped:
            grouped += " group_dim 0"
        self.lines.append(f"%q, %s = blockscale.quantize {self.result} block [1, {block}] recipe "
                          f"{case.recipe}{globals}{grouped} : {value}\n      -> {', '.join(types)}")
        self.result, self.results = "%q, %s", types

    def module(self):
        return (f"func.func @f({', '.join(self.names)}) -> ({', '.join(self.results)}) {{\n"
                f"{CONSTANTS}  " + "\n  ".join(self.lines) +
                f"\n  return {self.result} : {', '.join(self.results)}\n}}\n")


def run(folder, text, places):
    """The results at each place, or what is wrong, and the launches."""
    return [(problem or results, launches) for problem, results, launches in
            run_launches(text.module(), text.arrays, len(text.results), folder, places)]


def check(folder, seed, number, case):
    """(What is compared, its problem) for a case."""
    emulator = ["--on=emulator", f"--target={case.chip}", "--profile"]
    text = Text(np.random.default_rng((seed, number)), case)
    (expected, _), *runs = run(folder / "fused", text,
                               [ON_CPU, *([*emulator, *each] for each in SCHEDULES)])
    text.lines = [re.sub(r" \{blockscale.schedule = [^}]*\}", "", line) for line in text.lines]
    runs += run(folder / "unfused", text, [[*emulator, "--fuse=false"]])
    problems = [("the CPU runs", expected if isinstance(expected, str) else None)]
    for name, (got, _) in zip(("prompt", "adversarial", "unfused"), runs, strict=True):
        problem = got if isinstance(got, str) or isinstance(expected, str) else first_difference(
            got, expected)
        problems.append((name, problem))
    launches = [count for _, count in runs]
    # Ops without rows are not launched.
    fewer = launches[0] == launches[1] == 1 and (launches[2] > 1 or not case.shape[0])
    problems.append(("launches", None if fewer else f"expected 1, 1 and more, but got {launches}"))
    return case.name, problems


def main(cases=CASES):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where to compile")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", help="the chip, instead of that of each case")
    options = parser.parse_args()
    if options.target:
        cases = [replace(case, chip=options.target) for case in cases]
    expect = Expectations()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, problems in pool.map(
                lambda i: check(options.folder / cases[i].name, options.seed, i, cases[i]),
                range(len(cases))):
            for what, problem in problems:
                expect.record(f"{name}, {what}", problem)
    expect.finish()


if __name__ == "__main__":
    main()
