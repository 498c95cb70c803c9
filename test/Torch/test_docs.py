# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What docs/Torch.md shows runs as written, and its table names every op."""

import contextlib
import io
import re
import unittest
from pathlib import Path

import torch

from blockscale.torch._importer import HANDLERS

PAGE = Path(__file__).resolve().parents[2] / "docs/Torch.md"


class TestPage(unittest.TestCase):
    def test_the_example(self):
        block, = re.findall(r"(?ms)^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"))
        torch.manual_seed(0)
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(block, str(PAGE), "exec"), {})
        for part in ("blockscale.scaled_mm", "tensor<?x256xbf16>", ".target sm_100a"):
            self.assertIn(part, output.getvalue())

    def test_the_table(self):
        table = PAGE.read_text(encoding="utf-8").partition("## What is imported")[2]
        # What changes no number, or is told in words.
        quiet = {"_to_copy", "_unsafe_view", "alias", "clone", "contiguous", "detach", "dropout",
                 "lift_fresh_copy", "t", "to", "transpose", "unflatten", "unsqueeze"}
        for name in {name.split(".")[1] for name in HANDLERS} - quiet:
            with self.subTest(name):
                self.assertIn(f"`{name}`", table)


if __name__ == "__main__":
    unittest.main()
