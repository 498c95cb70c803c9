# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers and biases behind products, before and after they become global scales and biases.

The sums are those of one kernel, so that bytes are compared. Rewrites that the pass refuses
are written out, too, and must differ on some input.
"""

import argparse
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from expect import Expectations, first_difference
from module import Module
from reference import pack, to_bf16

M, N, K = 24, 40, 64
RESULT = {"f32": f"tensor<{M}x{N}xf32>", "bf16": f"tensor<{M}x{N}xbf16>",
          "f16": f"tensor<{M}x{N}xf16>"}
MAPS = """#id = affine_map<(d0, d1) -> (d0, d1)>
#id3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#none = affine_map<(d0, d1) -> ()>
#none3 = affine_map<(d0, d1, d2) -> ()>
#cols = affine_map<(d0, d1) -> (d1)>
#scalar = affine_map<() -> ()>
"""
OPERANDS = {
    "two": ((f"%a: tensor<{M}x{K}xf4E2M1FN>, %sa: tensor<{M}x{K // 16}xf8E4M3FN>, "
             f"%b: tensor<{N}x{K}xf4E2M1FN>, %sb: tensor<{N}x{K // 16}xf8E4M3FN>"),
            "%a, %b scales(%sa, %sb) block [1, 16]",
            (f"tensor<{M}x{K}xf4E2M1FN>, tensor<{N}x{K}xf4E2M1FN>, tensor<{M}x{K // 16}xf8E4M3FN>, "
             f"tensor<{N}x{K // 16}xf8E4M3FN>")),
    "plain": ((f"%a: tensor<{M}x{K}xbf16>, %b: tensor<{N}x{K}xf4E2M1FN>, "
               f"%sb: tensor<{N}x{K // 16}xf8E4M3FN>"),
              "%a, %b scales(none, %sb) block [1, 16]",
              (f"tensor<{M}x{K}xbf16>, tensor<{N}x{K}xf4E2M1FN>, "
               f"tensor<{N}x{K // 16}xf8E4M3FN>"))}


@dataclass(frozen=True)
class Case:
    """A product of `operands` with a result of `product`, times or over `number` (a constant, or
    "g" for an argument of f32, "gh" for the product of two, "gc" for that of one and a constant),
    rounded to `result`."""

    name: str
    operands: str
    product: str
    result: str
    number: str
    op: str = "mulf"
    has_bias: bool = False
    is_reshaped: bool = False
    #: Whether a number behind a product of f32 is rounded to bf16 before.
    has_rounded_number: bool = False

    @property
    def is_narrow(self):
        return self.product != "f32"

    def head(self):
        bias = f", %bias: tensor<{N}x{self.result}>" * self.has_bias
        return (f"func.func @{self.name}({OPERANDS[self.operands][0]}, %g: tensor<f32>, "
                f"%h: tensor<f32>{bias}) -> {RESULT[self.result]} {{")

    def product_text(self, name, type, globals=""):
        _, names, types = OPERANDS[self.operands]
        return f"  %{name} = blockscale.scaled_mm {names} {globals}: {types} -> {type}"

    def merged(self):
        yield "  %c0 = arith.constant dense<0.7> : tensor<f32>"
        yield "  %m0 = tensor.empty() : tensor<f32>"
        second = "%h" if self.number == "gh" else "%c0"
        yield ("  %m = linalg.generic {indexing_maps = [#scalar, #scalar, #scalar], iterator_types "
               f"= []}} ins(%g, {second} : tensor<f32>, tensor<f32>) outs(%m0 : tensor<f32>) {{")
        yield "  ^bb0(%p: f32, %q: f32, %o: f32):"
        yield "    %v = arith.mulf %p, %q : f32"
        yield "    linalg.yield %v : f32"
        yield "  } -> tensor<f32>"

    def text(self):
        """The product, and what follows by linalg."""
        lines = [self.head(), self.product_text("y", RESULT[self.product])]
        value, shape, extra = "%y", f"{M}x{N}", ""
        if self.is_reshaped:
            shape, extra = f"2x{M // 2}x{N}", "3"
            lines.append(f"  %r = tensor.expand_shape %y [[0, 1], [2]] output_shape "
                         f"[2, {M // 2}, {N}] : {RESULT[self.product]} into "
                         f"tensor<{shape}x{self.product}>")
            value = "%r"
        loops = ", ".join(['"parallel"'] * (3 if self.is_reshaped else 2))
        inputs, types, arguments = [value], [f"tensor<{shape}x{self.product}>"], []
        maps = [f"#id{extra}"]
        body = []
        if self.number.startswith("g"):
            number = "%g"
            if self.number != "g":
                lines += self.merged()
                number = "%m"
            type = "f32"
            if self.is_narrow or self.has_rounded_number:
                type = self.product if self.is_narrow else "bf16"
                lines += [f"  %t0 = tensor.empty() : tensor<{type}>",
                          ("  %t = linalg.generic {indexing_maps = [#scalar, #scalar], "
                           f"iterator_types = []}} ins({number} : tensor<f32>) "
                           f"outs(%t0 : tensor<{type}>) {{"),
                          f"  ^bb0(%p: f32, %o: {type}):",
                          f"    %v = arith.truncf %p : f32 to {type}",
                          f"    linalg.yield %v : {type}", f"  }} -> tensor<{type}>"]
                number = "%t"
            inputs.append(number)
            types.append(f"tensor<{type}>")
            maps.append(f"#none{extra}")
            arguments = [f"%n: {type}"]
            if type != "f32":
                body.append(f"    %nw = arith.extf %n : {type} to f32")
            factor = "%n" if type == "f32" else "%nw"
        else:
            body.append(f"    %n = arith.constant {self.number} : f32")
            factor = "%n"
        source = "%p"
        if self.is_narrow:
            body.insert(0, f"    %pw = arith.extf %p : {self.product} to f32")
            source = "%pw"
        body.append(f"    %v = arith.{self.op} {source}, {factor} : f32")
        last = "%v"
        if self.result != "f32":
            body.append(f"    %t1 = arith.truncf %v : f32 to {self.result}")
            last = "%t1"
        out = f"tensor<{shape}x{self.result}>"
        lines += [f"  %e = tensor.empty() : {out}",
                  (f"  %z = linalg.generic {{indexing_maps = [{', '.join(maps)}, #id{extra}], "
                   f"iterator_types = [{loops}]}} ins({', '.join(inputs)} : {', '.join(types)}) "
                   f"outs(%e : {out}) {{"),
                  f"  ^bb0({', '.join([f'%p: {self.product}', *arguments])}, %o: {self.result}):",
                  *body, f"    linalg.yield {last} : {self.result}", f"  }} -> {out}"]
        value = "%z"
        if self.is_reshaped:
            lines.append(f"  %c = tensor.collapse_shape %z [[0, 1], [2]] : {out} into "
                         f"{RESULT[self.result]}")
            value = "%c"
        if self.has_bias:
            lines += [(f"  %w = linalg.generic {{indexing_maps = [#id, #cols, #id], "
                       f"iterator_types = [{loops}]}} ins({value}, %bias : {RESULT[self.result]}, "
                       f"tensor<{N}x{self.result}>) outs(%e : {out}) {{"),
                      f"  ^bb0(%p: {self.result}, %q: {self.result}, %o: {self.result}):",
                      f"    %0 = arith.extf %p : {self.result} to f32",
                      f"    %1 = arith.extf %q : {self.result} to f32",
                      "    %2 = arith.addf %0, %1 : f32",
                      f"    %3 = arith.truncf %2 : f32 to {self.result}",
                      f"    linalg.yield %3 : {self.result}", f"  }} -> {out}"]
            value = "%w"
        return "\n".join([*lines, f"  return {value} : {RESULT[self.result]}", "}", ""])

    def refused_text(self):
        """The product with the number as a global scale, though the pass refuses it."""
        number = self.number
        if self.op == "divf":
            number = repr(float(np.float32(1) / np.float32(float(self.number))))
        place = "global_scaling after_rounding " * self.is_narrow
        return "\n".join([
            self.head(), f"  %n = arith.constant {number} : f32",
            self.product_text("y", RESULT[self.result], f"global_scale_b(%n : f32) {place}"),
            f"  return %y : {RESULT[self.result]}", "}", ""])


def arguments(case, random, g, h):
    """Codes of all magnitudes, scales of which one is NaN, and numbers."""
    def codes(rows):
        return pack(random.integers(0, 16, (rows, K)).astype(np.uint8))

    def scales(rows):
        return random.integers(0, 0x7F, (rows, K // 16)).astype(np.uint8)
    sb = scales(N)
    sb[3, 1] = 0x7F
    if case.operands == "two":
        out = [codes(M), scales(M), codes(N), sb]
    else:
        x = random.standard_normal((M, K)).astype(np.float32)
        x[0, 0], x[1, 1], x[2, 2] = np.inf, 3e38, 1e-40
        out = [to_bf16(x), codes(N), sb]
    out += [np.array(g, np.float32), np.array(h, np.float32)]
    if case.has_bias:
        bias = random.standard_normal(N).astype(np.float32)
        bias[0], bias[1] = -0.0, 3e4
        out.append(to_bf16(bias) if case.result == "bf16" else bias.astype(np.float16))
    return out


def call(module, case, values):
    """The result, of which bf16 is not stored as integers, so that NaN is told."""
    return [result.view(ml_dtypes.bfloat16) if case.result == "bf16" else result
            for result in module.call(case.name, *values)]


FOLDED = [
    Case("f32", "two", "f32", "f32", "g"),
    Case("f32_of_plain", "plain", "f32", "f32", "g"),
    Case("f32_two_numbers", "two", "f32", "f32", "gh"),
    Case("f32_constant_factor", "two", "f32", "f32", "gc"),
    Case("f32_constant", "two", "f32", "f32", "0.1"),
    Case("f32_divided", "two", "f32", "f32", "8.0", "divf"),
    Case("f32_divided_by_huge", "plain", "f32", "f32", "0x7F000000", "divf"),
    Case("f32_rounded_number", "two", "f32", "f32", "g", has_rounded_number=True),
    Case("f32_to_bf16", "two", "f32", "bf16", "g"),
    Case("f32_to_f16", "plain", "f32", "f16", "gh"),
    Case("bf16", "two", "bf16", "bf16", "g"),
    Case("bf16_two_numbers", "two", "bf16", "bf16", "gh", has_bias=True),
    Case("bf16_constant_factor", "two", "bf16", "bf16", "gc", has_bias=True),
    Case("bf16_of_plain", "plain", "bf16", "bf16", "g", has_bias=True),
    Case("bf16_constant", "two", "bf16", "bf16", "1.5"),
    Case("bf16_divided", "two", "bf16", "bf16", "4.0", "divf"),
    Case("f16", "two", "f16", "f16", "gh", has_bias=True),
    Case("reshaped", "two", "f32", "f32", "g", is_reshaped=True),
    Case("reshaped_bf16", "two", "bf16", "bf16", "gh", is_reshaped=True),
]
REFUSED = [
    Case("divided_by_three", "two", "f32", "f32", "3.0", "divf"),
    Case("a_number_of_f32", "two", "bf16", "bf16", "0.1"),
]
NUMBERS = [(0.37, 1.9), (1e-30, 1e-9), (np.inf, 1.0), (np.nan, 1.0), (-0.0, 2.0), (1e-45, 0.5)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="where to compile")
    folder = parser.parse_args().folder
    expect = Expectations()
    text = MAPS + "".join(case.text() for case in FOLDED)
    before = Module(text, folder, first_stage="form-kernels", optimize=False)
    after = Module(text, folder, ["--blockscale-raise-products", "--canonicalize"],
                   "form-kernels", optimize=False)
    count = after.text.count("global_scale_b(")
    expect.record("numbers that are folded", None if count == len(FOLDED) else
                  f"expected {len(FOLDED)}, but got {count}")
    left = sum(after.text.count(op) for op in ("arith.mulf", "arith.divf", "arith.addf"))
    expect.record("arithmetic that is left", None if left == 0 else f"expected none, got {left}")
    random = np.random.default_rng(3)
    for case in FOLDED:
        for g, h in NUMBERS if case.number.startswith("g") else NUMBERS[:1]:
            values = arguments(case, random, g, h)
            expect.equal(f"{case}: {g}, {h}", call(after, case, values),
                         call(before, case, values))
    text = MAPS + "".join(case.text() for case in REFUSED)
    kept = Module(text, folder, ["--blockscale-raise-products"], "form-kernels", optimize=False)
    other = Module("".join(case.refused_text() for case in REFUSED), folder,
                   first_stage="form-kernels", optimize=False)
    expect.record("numbers that are kept", None if "global_scale" not in kept.text else
                  "expected none to be folded")
    for case in REFUSED:
        values = arguments(case, random, 1, 1)
        pair = [call(module, case, values) for module in (kept, other)]
        expect.record(f"{case}: a global scale is another number",
                      None if first_difference(*pair) else "expected a difference, but got none")
    expect.finish()


if __name__ == "__main__":
    main()
