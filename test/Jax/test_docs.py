# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What docs/Jax.md shows runs as written, its table names the ops, and docs/Doors.md lists them."""

import contextlib
import io
import re
import sys
import tempfile
import unittest
from pathlib import Path

import jax

import blockscale.jax
from blockscale.jax._importer import HANDLERS

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/Jax.md"
sys.path.append(str(ROOT / "scripts"))

import docs_doors


class TestPage(unittest.TestCase):
    def test_the_example(self):
        block, = re.findall(r"(?ms)^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"))
        output = io.StringIO()
        # JAX takes the lines of functions from a file.
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(output):
            path = Path(folder) / "page.py"
            path.write_text(block)
            exec(compile(block, str(path), "exec"), {})
        for part in ("blockscale.scaled_mm", "recipe rceil", "%x: tensor<100x256xf32>"):
            self.assertIn(part, output.getvalue())
        self.assertTrue(output.getvalue().endswith("True\n"))

    def test_refused_ops(self):
        """The errors that the page shows, but for lines."""
        def f(x):
            call = jax.ffi.ffi_call("mine", jax.ShapeDtypeStruct(x.shape, x.dtype))
            return call(call(jax.lax.reduce_precision(x, 5, 10)))
        checks = [jax.export.DisabledSafetyCheck.custom_call("mine")]
        exported = jax.export.export(jax.jit(f), disabled_checks=checks)(jax.numpy.ones((4, 8)))
        with self.assertRaises(blockscale.jax.UnsupportedError) as raised:
            blockscale.jax.from_export(exported)
        place = re.compile(r"(?m)^\S+\.py:\d+: ")
        shown, = re.findall(r"(?ms)^```text\n(.*?)^```$", PAGE.read_text(encoding="utf-8"))
        self.assertEqual(place.sub("", shown).splitlines(),
                         place.sub("", str(raised.exception)).splitlines())

    def test_the_list_of_ops(self):
        page = docs_doors.PAGE.read_text(encoding="utf-8")
        self.assertEqual(page, docs_doors.fill(page, "jax"),
                         "run scripts/docs_doors.py --write jax")

    def test_the_tables(self):
        page = PAGE.read_text(encoding="utf-8")
        # Told in words, or one of their like.
        quiet = {"abs", "add", "ceil", "chlo.erf", "compare", "composite", "cosine", "divide",
                 "exponential_minus_one", "floor", "is_finite", "log", "log_plus_one", "logistic",
                 "maximum", "minimum", "multiply", "negate", "not", "power", "remainder",
                 "round_nearest_even", "shift_left", "shift_right_arithmetic",
                 "shift_right_logical", "sign", "sine", "sqrt", "subtract", "xor"}
        for name in HANDLERS:
            short = name.removeprefix("stablehlo.")
            if short not in quiet:
                with self.subTest(name):
                    self.assertIn(f"`{short.split('@')[-1].split(' ')[-1]}`", page)


if __name__ == "__main__":
    unittest.main()
