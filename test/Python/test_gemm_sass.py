# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The machine code of products. For SM100, the thread that issues them has at most 24
instructions for each, four for a step of 128 bytes of K; for sm_120a, a warp has no more than
CUTLASS's example 79a; for sm_80, where NVFP4 and MXFP8 are decoded, no more than it has now. There
are no spills, and the schedules that the model chooses have three stages or more.

Needs ptxas and nvdisasm; without one of them it is skipped, and says so."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BLOCKSCALE_BUILD_DIR", ROOT / "build"))
sys.path.insert(0, str(ROOT / "benchmarks/gpu"))
# The folder is on the path now.
import sass
import static

MOST_PER_PRODUCT = 24
STEP_PRODUCTS = 4
# In the main loop of CUTLASS 4.2's example 79a, tiles of 128 x 128 x 128 with eight warps that
# multiply, ptxas 13.0 has 124 instructions for 32 products.
CUTLASS_WARP = 124 / 32
# Of a warp for a stage of 64 bytes of K.
WARP_PRODUCTS = 32
# Of products by plain mma.sync on sm_80, which decode an operand, by its elements: the most
# instructions for each in tiles of so many plain rows and rows with scales.
MOST_PER_MMA = {
    "e2m1": {(16, 64): 15.5, (16, 128): 14, (64, 128): 5.2, (128, 128): 3.4, (128, 256): 3.2},
    "e4m3": {(16, 64): 22.5, (16, 128): 21, (64, 128): 6.8, (128, 128): 4.3, (128, 256): 4.1}}
LEAST_STAGES = 3
LAYOUTS = """#swizzled = #blockscale.layout<swizzle_128x4>
#rows = #blockscale.layout<swizzle_128x4, groups = 8, dim = 0>
#columns = #blockscale.layout<swizzle_128x4, groups = 8, dim = 1>
"""
TILES = ("", "rows = 128, cols = 128, stages = 6, band = 8",
         "rows = 128, cols = 256, stages = 4, band = 8",
         "rows = 256, cols = 256, stages = 5, band = 4, multicast = 2")
# Data, scales and the block.
FORMATS = (("f4E2M1FN", "f8E4M3FN", 16), ("f4E2M1FN", "f8E8M0FNU", 32),
           ("f8E4M3FN", "f8E8M0FNU", 32))
DECODED = {"e2m1": FORMATS[0], "e4m3": FORMATS[2]}


def function(number, form, data, scale, block, tile):
    """A product of 8192 x 8192 x 8192: of all, of groups of rows or of groups of K."""
    groups, layout_a, layout_b = {"all": ("", "swizzled", "swizzled"),
                                  "rows": ("8x", "rows", "swizzled"),
                                  "depth": ("", "columns", "columns")}[form]
    a, b = f"tensor<8192x8192x{data}>", f"tensor<{groups}8192x8192x{data}>"
    scale_a = f"tensor<8192x{8192 // block}x{scale}, #{layout_a}>"
    scale_b = f"tensor<{groups}8192x{8192 // block}x{scale}, #{layout_b}>"
    result = "tensor<8x8192x8192xbf16>" if form == "depth" else "tensor<8192x8192xbf16>"
    op, offsets, type = (("scaled_mm", "", "") if form == "all" else
                         ("scaled_grouped_mm", " offsets(%ends)", "tensor<8xi32>, "))
    schedule = (f" {{blockscale.schedule = #blockscale.gemm_schedule<{tile}, ctas = 148>}}"
                if tile else "")
    return (f"func.func @f{number}(%a: {a}, %b: {b}, %ends: tensor<8xi32>, %sa: {scale_a}, "
            f"%sb: {scale_b}) -> {result} {{\n"
            f"  %y = blockscale.{op} %a, %b{offsets} scales(%sa, %sb) block [1, {block}]"
            f"{schedule}\n      : {a}, {b}, {type}{scale_a}, {scale_b} -> {result}\n"
            f"  return %y : {result}\n}}\n")


def find_product_loops(kernel):
    """The innermost loops with products: their instructions."""
    loops = []
    for end, each in enumerate(kernel.instructions):
        begin = kernel.labels.get(each.target, end + 1)
        if each.starts("BRA") and begin <= end:
            loops.append(kernel.instructions[begin:end + 1])
    with_products = [loop for loop in loops if count_products(loop)]
    least = min(map(len, with_products), default=0)
    return [loop for loop in with_products if len(loop) == least]


def count_products(instructions):
    return sum(bool(re.fullmatch(r"(UTC\w*|[HOQ])MMA", each.opcode.split(".")[0]))
               for each in instructions)


def decoded_function(number, plain_rows, scaled_rows, data, scale, block):
    """A product of a plain operand of 8192 x 8192 x 8192 in tiles of so many rows of each."""
    x, w = "tensor<8192x8192xbf16>", f"tensor<8192x8192x{data}>"
    of_w = f"tensor<8192x{8192 // block}x{scale}, #swizzled>"
    return (f"func.func @f{number}(%x: {x}, %w: {w}, %s: {of_w}) -> {x} {{\n"
            f"  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, {block}]"
            f" {{blockscale.schedule = #blockscale.gemm_schedule<rows = {plain_rows}, cols = "
            f"{scaled_rows}, "
            f"stages = 3, band = 8, ctas = 132>}}\n      : {x}, {w}, {of_w} -> {x}\n  return %y : "
            f"{x}\n}}\n")


def assemble(target, functions):
    """What ptxas says of the products for a chip, and their machine code."""
    if subprocess.run([ROOT / "scripts/find-ptxas.sh"], capture_output=True).returncode:
        raise unittest.SkipTest("there is no ptxas of CUDA 13 or later")
    try:
        nvdisasm = static.find_nvdisasm()
    except SystemExit as reason:
        raise unittest.SkipTest(str(reason)) from None
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder) / "module.mlir", Path(folder) / "module.cubin"
        source.write_text(LAYOUTS + "".join(functions))
        done = subprocess.run([BUILD / "bin/blockscale-compile", source, f"--target={target}",
                               "--emit=cubin", "--ptxas-info", "-o", cubin], check=True,
                              capture_output=True, text=True)
        text = subprocess.run([nvdisasm, "-c", cubin], check=True, capture_output=True,
                              text=True).stdout
    return static.RESOURCES.findall(done.stdout + done.stderr), sass.parse(text)


def list_functions(tiles):
    cases = [(form, *format, tile) for form in ("all", "rows", "depth") for format in FORMATS
             for tile in tiles]
    return [function(i, *case) for i, case in enumerate(cases)]


class Checks:
    """What holds for every chip. `resources` and `kernels` are those of `assemble`."""

    def test_nothing_spills(self):
        self.assertEqual(len(self.resources), len(self.kernels))
        for name, _, stores, loads, stack, _ in self.resources:
            self.assertEqual((stores, loads, stack), ("0", "0", "0"), name)

    def test_stages(self):
        for name in self.kernels:
            self.assertGreaterEqual(int(re.search(r"_stages(\d+)_", name)[1]), LEAST_STAGES, name)


class GemmSassTest(Checks, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.resources, cls.kernels = assemble("sm_100a", list_functions(TILES))

    def test_each_product_takes_few_instructions(self):
        self.assertGreaterEqual(len(self.kernels), 3 * len(FORMATS) * (len(TILES) - 1))
        for name, kernel in self.kernels.items():
            with self.subTest(name):
                loops = find_product_loops(kernel)
                self.assertEqual([count_products(loop) for loop in loops], [STEP_PRODUCTS])
                self.assertLessEqual(len(loops[0]) / STEP_PRODUCTS, MOST_PER_PRODUCT)


class WarpSassTest(Checks, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.resources, cls.kernels = assemble("sm_120a", list_functions([""]))

    def test_a_warp_has_no_more_instructions_than_cutlass(self):
        self.assertEqual(len(self.kernels), 3 * len(FORMATS))
        for name, kernel in self.kernels.items():
            with self.subTest(name):
                loops = find_product_loops(kernel)
                self.assertEqual([count_products(loop) for loop in loops], [WARP_PRODUCTS])
                self.assertLessEqual(len(loops[0]) / WARP_PRODUCTS, CUTLASS_WARP)


class MmaSassTest(Checks, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cases = [(*tile, *DECODED[element]) for element in MOST_PER_MMA
                 for tile in MOST_PER_MMA[element]]
        cls.resources, cls.kernels = assemble("sm_80", [
            decoded_function(i, *case) for i, case in enumerate(cases)])

    def test_decoding_takes_few_instructions(self):
        found = {element: {} for element in MOST_PER_MMA}
        for name, kernel in self.kernels.items():
            (loop,) = find_product_loops(kernel)
            element, rows, cols = re.search(r"_bf16_(e\dm\d)_.*_(\d+)x(\d+)_stages", name).groups()
            found[element][int(rows), int(cols)] = len(loop) / count_products(loop)
        for element, tiles in MOST_PER_MMA.items():
            self.assertEqual(set(found[element]), set(tiles), element)
            for tile, most in tiles.items():
                self.assertLessEqual(found[element][tile], most, f"{element}, {tile}")


if __name__ == "__main__":
    unittest.main()
