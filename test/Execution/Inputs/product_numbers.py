# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products times a number, before and after canonicalization made the number the global scale
of the product: constants in the types of products, and numbers known at run time that are
infinite, NaN, -0 and subnormal. Numbers that canonicalization keeps where they are
would have other bytes as global scales.

Usage: product_numbers.py FOLDER
"""

import sys
from dataclasses import dataclass, replace

import numpy as np

from expect import Expectations, first_difference
from fold_product_scales import NUMBERS, RESULT, Case, arguments, call
from module import Module

TYPES = ("f32", "bf16", "f16")
CONSTANTS = ("0.375", "3.0", "0.0078125")


@dataclass(frozen=True)
class Product(Case):
    """A product of a case times its number by an op on tensors; `scales` are attributes that
    the product has before."""

    is_left: bool = True
    scales: str = ""

    def text(self):
        type = RESULT[self.result]
        lines = [self.head(), self.product_text("y", type, self.scales)]
        if self.number == "g":
            lines.append("  %t = tensor.extract %g[] : tensor<f32>")
            lines.append(f"  %s = tensor.splat %t : {type}")
        else:
            lines.append(f"  %s = arith.constant dense<{self.number}> : {type}")
        factors = "%y, %s" if self.is_left else "%s, %y"
        return "\n".join([*lines, f"  %z = arith.mulf {factors} : {type}",
                          f"  return %z : {type}", "}", ""])

    def wrong_text(self):
        """The number as the global scale, beside those that the product has."""
        return "\n".join([
            self.head(), f"  %n = arith.constant {self.number} : f32",
            self.product_text("y", RESULT[self.result],
                              f"{self.scales} global_scale_b(%n : f32) "),
            f"  return %y : {RESULT[self.result]}", "}", ""])


MERGED = [Product(f"{operands}_{type}_{i}", operands, type, type, number, is_left=i % 2 == 0)
          for operands in ("two", "plain") for type in TYPES
          for i, number in enumerate(("g", *CONSTANTS)) if number != "g" or type == "f32"]
KEPT = [
    # A global scale is multiplied first, and 3 * 0.1 is rounded.
    Product("beside_a_global", "two", "f32", "f32", "0.1",
            scales="global_scale_a(%v : f32) "),
    # A negative number is no global scale.
    Product("negative", "two", "f32", "f32", "-3.0"),
]


def write(product, text):
    """With the number that a global scale of A is."""
    return text.replace("{\n", "{\n  %v = tensor.extract %g[] : tensor<f32>\n", 1) \
        if "%v" in product.scales else text


def main():
    folder = sys.argv[1]
    expect, random = Expectations(), np.random.default_rng(17)
    # As the pipelines do before kernels are formed: bf16 is computed in f32.
    lower = ["--convert-elementwise-to-linalg",
             "--arith-emulate-unsupported-floats=source-types=bf16 target-type=f32",
             "--blockscale-expand-math"]
    text = "".join(product.text() for product in MERGED)
    before = Module(text, folder, lower, "form-kernels", optimize=False)
    after = Module(text, folder, ["--canonicalize", *lower], "form-kernels", optimize=False)
    left = after.text.count("arith.mulf")
    expect.record("numbers behind products", None if left == 0 else f"{left} are left")
    for product in MERGED:
        for g, h in NUMBERS if product.number == "g" else NUMBERS[:1]:
            values = arguments(product, random, g, h)
            expect.equal(f"{product}: {g}", call(after, product, values),
                         call(before, product, values))
    text = "".join(write(product, product.text()) for product in KEPT)
    kept = Module(text, folder, ["--canonicalize", *lower], "form-kernels", optimize=False)
    expect.record("numbers that are kept", None if kept.text.count("arith.mulf") == len(KEPT)
                  else "expected none to be merged")
    wrong = [replace(KEPT[0], name="wrong")]
    other = Module("".join(write(product, product.wrong_text()) for product in wrong), folder,
                   first_stage="form-kernels", optimize=False)
    values = arguments(KEPT[0], random, 0.1, 1.0)
    pair = [call(module, product, values) for module, product in ((kept, KEPT[0]),
                                                                  (other, wrong[0]))]
    expect.record("a second global scale is another number",
                  None if first_difference(*pair) else "expected a difference, but got none")
    expect.finish()


if __name__ == "__main__":
    main()
