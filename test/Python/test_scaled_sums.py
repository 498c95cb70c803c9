# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/gpu/scaled_sums.py: its search finds rules that sums were made by, and what the emulator
does in kernels of SM100."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BLOCKSCALE_BUILD_DIR", ROOT / "build"))
EMULATED_CUDA = BUILD / "lib/blockscale/libcuda.so.1"
SCRIPT = ROOT / "scripts/gpu/scaled_sums.py"

sys.path.insert(0, str(SCRIPT.parent))
import scaled_sums
from scaled_sums import PRODUCTS, Rule


class SearchTest(unittest.TestCase):
    def search(self, product, rule):
        return scaled_sums.search(
            product, lambda a, b: scaled_sums.add(rule, product, a, b))

    # Sums that differ in one thing are told apart.
    def test_finds_the_rule(self):
        nvfp4, _, mxfp8, _ = PRODUCTS
        for product, rule in ((nvfp4, Rule(False, False, 32, 25, False)),
                              (nvfp4, Rule(True, True, 64, 25, False)),
                              (mxfp8, Rule(False, True, 64, 23, False)),
                              (mxfp8, Rule(False, False, 64, 24, True))):
            with self.subTest(f"{product.name}: {rule}"):
                is_found, line = self.search(product, rule)
                self.assertTrue(is_found)
                self.assertEqual(line.split(" (as ")[0], f"{product.name}: {rule}")

    def test_says_what_is_nearest(self):
        product = PRODUCTS[0]

        def multiply(a, b):
            rule = Rule(False, False, 64, None, True)
            results = scaled_sums.add(rule, product, a, b)
            results[0, 0] = np.nextafter(results[0, 0], np.float32(np.inf))
            return results

        is_found, line = scaled_sums.search(product, multiply)
        self.assertFalse(is_found)
        self.assertIn("nvfp4: none fits; nearest, 3 of 1152: products, 64 elements", line)


@unittest.skipUnless(EMULATED_CUDA.exists(), "the emulator is not built")
class EmulatorTest(unittest.TestCase):
    def run_packed(self, folder, chip):
        return subprocess.run(
            [sys.executable, folder / "scripts/gpu/scaled_sums.py", "search", "--driver",
             EMULATED_CUDA], capture_output=True, text=True, check=False,
            env={**os.environ, "BLOCKSCALE_EMULATE_CHIP": chip})

    # The emulator adds an instruction's products in f64 and rounds once. The chip of another
    # kernel is refused.
    def test_search(self):
        with tempfile.TemporaryDirectory() as work:
            folder = Path(work) / "pack"
            subprocess.run([sys.executable, SCRIPT, "pack", folder], check=True)
            run = self.run_packed(folder, "sm_100a")
            self.assertEqual((run.returncode, run.stderr), (0, ""))
            exact = "all bits kept below the exponent of the largest factors, to nearest"
            for line, product in zip(run.stdout.splitlines(), PRODUCTS):
                elements = 32 if product.element.startswith("f8") else 64
                self.assertEqual(
                    line.split(" (as ")[0],
                    f"{product.name}: products, {elements} elements an addition, {exact}")
            refused = self.run_packed(folder, "sm_80")
            self.assertEqual((refused.returncode, refused.stdout), (2, ""))
            self.assertIn("expected a bundle with kernels that BlockScale emulator of sm_80",
                          refused.stderr)


if __name__ == "__main__":
    unittest.main()
