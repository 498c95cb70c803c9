# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantizers in arithmetic on tensors, before and after they become `quantize`.

MLIR 22 lowers no cast to f8, so the arithmetic before the cast runs on the CPU, and ml_dtypes
casts. Blocks have amaxes of every magnitude of bf16 or f16, and among their elements are ties,
-0, subnormals, infinity and NaN. Codes under a NaN scale have no meaning and are not compared.

The arithmetic is laid out as torch-mlir does for the ops of torchao's to_mx: an op on tensors
for each op of PyTorch, and a maximum that has the place, too.
"""

import argparse
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from expect import Expectations
from module import Module

FORMATS = {"f8E4M3FN": (ml_dtypes.float8_e4m3fn, 8, 448.0, 3),
           "f8E5M2": (ml_dtypes.float8_e5m2, 15, 57344.0, 2)}
MAPS = """#b = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#r = affine_map<(d0, d1, d2) -> (d0, d1)>
#k = affine_map<(d0, d1, d2) -> (d0, d1, 0)>
"""
COLUMNS = 64


class Text:
    """Ops on tensors, one for each body."""

    def __init__(self, rows):
        self.rows, self.lines = rows, []

    def size(self, last):
        return f"{self.rows}x{COLUMNS // 32}x{last}"

    def op(self, name, inputs, result, body, last=1):
        """`inputs` are pairs of a name and a type; those of one element a block are repeated for
        a result of 32."""
        out = f"tensor<{self.size(last)}x{result}>"
        self.lines.append(f"  %{name}_e = tensor.empty() : {out}")
        maps, names, types, arguments = [], [], [], []
        for number, (value, type, size) in enumerate(inputs):
            maps.append("#b" if size == last else "#k")
            names.append(f"%{value}")
            types.append(f"tensor<{self.size(size)}x{type}>")
            arguments.append(f"%i{number}: {type}")
        self.lines += [
            (f"  %{name} = linalg.generic {{indexing_maps = [{', '.join(maps)}, #b], "
             "iterator_types "
             f"= [\"parallel\", \"parallel\", \"parallel\"]}} ins({', '.join(names)} : "
             f"{', '.join(types)}) outs(%{name}_e : {out}) {{"),
            f"  ^bb0({', '.join(arguments)}, %o: {result}):",
            *(f"    {line}" for line in body),
            f"  }} -> {out}"]


@dataclass(frozen=True)
class Quantizer:
    """`form` says what casts: "torch" (a product, a clamp and arith.truncf), "unclamped", or
    "scaling" (arith.scaling_truncf)."""

    name: str
    rule: str
    data: str
    x: str
    form: str = "torch"

    def text(self, rows, is_wide):
        """`is_wide` leaves the cast out."""
        _, exponent, largest, mantissa = FORMATS[self.data]
        t = Text(rows)
        x = f"tensor<{rows}x{COLUMNS}x{self.x}>"
        blocks = f"tensor<{t.size(32)}x{self.x}>"
        t.lines += [
            (f"  %xb = tensor.expand_shape %x [[0], [1, 2]] output_shape [{rows}, {COLUMNS // 32}, "
             f"32] : {x} into {blocks}")]
        t.op("abs", [("xb", self.x, 32)], self.x,
             [f"%0 = math.absf %i0 : {self.x}", f"linalg.yield %0 : {self.x}"], 32)
        amax, place = (f"tensor<{rows}x{COLUMNS // 32}x{type}>" for type in (self.x, "i64"))
        least = {"bf16": "0xFF80", "f16": "0xFC00"}[self.x]
        t.lines += [
            f"  %least = arith.constant {least} : {self.x}", "  %first = arith.constant 0 : i64",
            f"  %m0 = tensor.empty() : {amax}", f"  %m1 = tensor.empty() : {place}",
            f"  %m2 = linalg.fill ins(%least : {self.x}) outs(%m0 : {amax}) -> {amax}",
            f"  %m3 = linalg.fill ins(%first : i64) outs(%m1 : {place}) -> {place}",
            ("  %amax:2 = linalg.generic {indexing_maps = [#b, #r, #r], iterator_types = "
             f"[\"parallel\", \"parallel\", \"reduction\"]}} ins(%abs : {blocks}) outs(%m2, %m3 : "
             f"{amax}, {place}) {{"),
            f"  ^bb0(%i0: {self.x}, %o: {self.x}, %p: i64):",
            "    %0 = linalg.index 2 : index", "    %1 = arith.index_cast %0 : index to i64",
            f"    %2 = arith.maximumf %i0, %o : {self.x}",
            f"    %3 = arith.cmpf ogt, %i0, %o : {self.x}",
            "    %4 = arith.select %3, %1, %p : i64",
            f"    linalg.yield %2, %4 : {self.x}, i64", f"  }} -> ({amax}, {place})",
            (f"  %mk = tensor.expand_shape %amax#0 [[0], [1, 2]] output_shape [{rows}, "
             f"{COLUMNS // 32}, 1] : {amax} into tensor<{t.size(1)}x{self.x}>")]
        t.op("a", [("mk", self.x, 1)], "f32",
             [f"%0 = arith.extf %i0 : {self.x} to f32", "linalg.yield %0 : f32"])
        self._scale(t, exponent, largest, mantissa)
        t.op("sb", [("byte", "i32", 1)], "i8",
             ["%0 = arith.trunci %i0 : i32 to i8", "linalg.yield %0 : i8"])
        bytes_type = f"tensor<{rows}x{COLUMNS // 32}xi8>"
        t.lines.append(f"  %s = tensor.collapse_shape %sb [[0], [1, 2]] : tensor<{t.size(1)}xi8> "
                       f"into {bytes_type}")
        result = "f32" if is_wide else self.data
        self._cast(t, largest, is_wide)
        out = f"tensor<{rows}x{COLUMNS}x{result}>"
        t.lines.append(f"  %q = tensor.collapse_shape %qb [[0], [1, 2]] : "
                       f"tensor<{t.size(32)}x{result}> into {out}")
        return "\n".join([f"func.func @{self.name}(%x: {x}) -> ({out}, {bytes_type}) {{", *t.lines,
                          f"  return %q, %s : {out}, {bytes_type}", "}", ""])

    def _scale(self, t, exponent, largest, mantissa):
        """The byte of an amax, as an i32."""
        def constant(name, value):
            return f"%{name} = arith.constant {value} : i32"
        inverse = float(np.float32(1) / np.float32(largest))
        body = []
        source = "%i0"
        if self.rule == "rceil":
            body += [f"%inv = arith.constant {inverse!r} : f32", "%t = arith.mulf %i0, %inv : f32"]
            source = "%t"
        body += [f"%bits = arith.bitcast {source} : f32 to i32", constant("c23", 23)]
        if self.rule == "even":
            body += [constant("carry", 1 << (22 - mantissa)),
                     "%carried = arith.addi %bits, %carry : i32",
                     "%e = arith.shrui %carried, %c23 : i32"]
        else:
            body.append("%e = arith.shrui %bits, %c23 : i32")
        body += [constant("low", 0x7FFFFF), "%m = arith.andi %bits, %low : i32", constant("c0", 0),
                 constant("c255", 255), constant("half", 0x400000), constant("pow", exponent)]
        if self.rule == "rceil":
            body += ["%isZero = arith.cmpi eq, %e, %c0 : i32",
                     "%isLarge = arith.cmpi sgt, %m, %half : i32",
                     "%isNot = arith.cmpi ne, %m, %c0 : i32",
                     "%up = arith.select %isZero, %isLarge, %isNot : i1",
                     "%u = arith.extui %up : i1 to i32", "%b = arith.addi %e, %u : i32"]
        else:
            body.append("%d = arith.subi %e, %pow : i32")
            if self.rule == "ceil":
                body += ["%isNot = arith.cmpi ne, %m, %c0 : i32",
                         "%u = arith.extui %isNot : i1 to i32", "%du = arith.addi %d, %u : i32",
                         "%b = arith.maxsi %du, %c0 : i32"]
            else:
                body.append("%b = arith.maxsi %d, %c0 : i32")
        body += ["%isEnd = arith.cmpi eq, %e, %c255 : i32",
                 "%isNan = arith.cmpf uno, %i0, %i0 : f32",
                 "%isBad = arith.ori %isEnd, %isNan : i1",
                 "%r = arith.select %isBad, %c255, %b : i32", "linalg.yield %r : i32"]
        t.op("byte", [("a", "f32", 1)], "i32", body)

    def _cast(self, t, largest, is_wide):
        if self.form == "scaling":
            t.op("scale", [("sb", "i8", 1)], "f8E8M0FNU",
                 ["%0 = arith.bitcast %i0 : i8 to f8E8M0FNU", "linalg.yield %0 : f8E8M0FNU"])
            if not is_wide:
                t.op("qb", [("xb", self.x, 32), ("scale", "f8E8M0FNU", 1)], self.data,
                     [f"%0 = arith.scaling_truncf %i0, %i1 : {self.x}, f8E8M0FNU to {self.data}",
                      f"linalg.yield %0 : {self.data}"], 32)
                return
        t.op("factor", [("byte", "i32", 1)], "f32",
             ["%c254 = arith.constant 254 : i32", "%c255 = arith.constant 255 : i32",
              "%c23 = arith.constant 23 : i32", "%low = arith.constant 0x400000 : i32",
              "%nan = arith.constant 0x7FC00000 : i32", "%0 = arith.subi %c254, %i0 : i32",
              "%1 = arith.shli %0, %c23 : i32", "%2 = arith.cmpi eq, %i0, %c254 : i32",
              "%3 = arith.select %2, %low, %1 : i32", "%4 = arith.cmpi eq, %i0, %c255 : i32",
              "%5 = arith.select %4, %nan, %3 : i32", "%6 = arith.bitcast %5 : i32 to f32",
              "linalg.yield %6 : f32"])
        t.op("wide", [("xb", self.x, 32)], "f32",
             [f"%0 = arith.extf %i0 : {self.x} to f32", "linalg.yield %0 : f32"], 32)
        t.op("y", [("wide", "f32", 32), ("factor", "f32", 1)], "f32",
             ["%0 = arith.mulf %i0, %i1 : f32", "linalg.yield %0 : f32"], 32)
        clamp = ["%l = arith.constant -%f : f32", "%h = arith.constant %f : f32",
                 "%0 = arith.cmpf ult, %i0, %l : f32", "%1 = arith.select %0, %l, %i0 : f32",
                 "%2 = arith.cmpf ugt, %1, %h : f32", "%3 = arith.select %2, %h, %1 : f32",
                 "linalg.yield %3 : f32"]
        name = "qb" if is_wide else "c"
        if self.form != "torch":
            clamp = ["linalg.yield %i0 : f32"]
        t.op(name, [("y", "f32", 32)], "f32",
             [line.replace("%f", repr(largest)) if "constant" in line else line for line in clamp],
             32)
        if not is_wide:
            t.op("qb", [("c", "f32", 32)], self.data,
                 [f"%0 = arith.truncf %i0 : f32 to {self.data}",
                  f"linalg.yield %0 : {self.data}"], 32)


def list_quantizers():
    out = []
    for rule in ("rceil", "floor", "ceil", "even"):
        for data in FORMATS:
            for x in ("bf16", "f16"):
                out.append(Quantizer(f"f{len(out)}", rule, data, x))
    for rule in ("rceil", "ceil"):
        out.append(Quantizer(f"f{len(out)}", rule, "f8E4M3FN", "bf16", "unclamped"))
        out.append(Quantizer(f"f{len(out)}", rule, "f8E5M2", "bf16", "scaling"))
    return out


def make_input(type, random):
    """A block for each magnitude of the type: its amax and smaller elements, ties of E4M3 and
    E5M2 under it, -0, subnormals, infinity and NaN."""
    bits = np.arange(1 << 15, dtype=np.uint16)
    kind = ml_dtypes.bfloat16 if type == "bf16" else np.float16
    amax = bits.view(kind).astype(np.float32)
    with np.errstate(all="ignore"):
        parts = random.integers(0, 128, (len(bits), 32)) / 128
        parts[:, :8] = np.arange(8) / 8 + 1 / 16
        x = (amax[:, None] * parts).astype(kind)
    x *= random.choice(np.array([-1, 1], kind), x.shape)
    x[:, 8] = -0.0
    x[:, 9:12] = np.array([1, 2, 3], np.uint16).view(kind)
    x.view(np.uint16)[:, 12] = bits
    return x.reshape(-1, COLUMNS).view(np.uint16 if type == "bf16" else np.float16)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="where to compile")
    folder = parser.parse_args().folder
    expect = Expectations()
    random = np.random.default_rng(5)
    inputs = {type: make_input(type, random) for type in ("bf16", "f16")}
    rows = len(inputs["bf16"])
    quantizers = list_quantizers()
    before = Module(MAPS + "".join(q.text(rows, True) for q in quantizers), folder,
                    optimize=False)
    after = Module(MAPS + "".join(q.text(rows, False) for q in quantizers), folder,
                   ["--blockscale-raise-quantizers"], optimize=False)
    for quantizer in quantizers:
        found = (f"recipe {quantizer.rule} : tensor<{rows}x{COLUMNS}x{quantizer.x}> -> "
                 f"tensor<{rows}x{COLUMNS}x{quantizer.data}>")
        body = after.text[after.text.index(f"@{quantizer.name}("):].split("func.func")[0]
        expect.record(f"{quantizer}: becomes quantize", None if found in body else
                      f"expected {found}")
        x = inputs[quantizer.x]
        wide, bytes = before.call(quantizer.name, x)
        with np.errstate(all="ignore"):
            codes = wide.astype(FORMATS[quantizer.data][0]).view(np.uint8)
        got, scales = after.call(quantizer.name, x)
        expect.equal(f"{quantizer}: scales", [scales], [bytes])
        counts = np.repeat(bytes != 255, 32, axis=1)
        expect.record(f"{quantizer}: blocks with a scale", None if counts.mean() > 0.9 else
                      f"only {counts.mean()}")
        expect.equal(f"{quantizer}: codes", [np.where(counts, got, 0)],
                     [np.where(counts, codes, 0)])
    expect.finish()


if __name__ == "__main__":
    main()
