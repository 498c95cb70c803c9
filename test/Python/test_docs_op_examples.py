# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each example of an op or attribute description is in test/Docs/op-examples.mlir.

There it stands in a function that declares its operands, and lit runs it. Lines
are compared without their indentation; a line of the test may go on (a comma).
"""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEFINITIONS = sorted((ROOT / "include/blockscale/IR").glob("*.td"))
COMPANION = ROOT / "test/Docs/op-examples.mlir"

FENCE = re.compile(r"```mlir\n(.*?)```", re.S)
# Base classes are `class`, not `def`.
DESCRIBED = re.compile(r"^def BlockScale_(\w+)(?:Op|Attr)\s*:", re.M)


def stripped(text):
    return [line.strip() for line in text.strip().splitlines()]


def occurs(example, lines):
    wanted = stripped(example)
    return any(all(want in line for want, line in zip(wanted, lines[start:]))
               for start in range(len(lines) - len(wanted) + 1))


class DocsOpExamplesTest(unittest.TestCase):
    def test_every_example_is_run(self):
        lines = stripped(COMPANION.read_text(encoding="utf-8"))
        count = 0
        for path in DEFINITIONS:
            for example in FENCE.findall(path.read_text(encoding="utf-8")):
                count += 1
                with self.subTest(f"{path.name} {stripped(example)[0]}"):
                    self.assertTrue(occurs(example, lines), f"not in {COMPANION.name}")
        self.assertGreaterEqual(count, 10)

    def test_every_op_has_an_example(self):
        for path in DEFINITIONS:
            text = path.read_text(encoding="utf-8")
            starts = [match.start() for match in DESCRIBED.finditer(text)]
            for start, end in zip(starts, [*starts[1:], len(text)]):
                name = DESCRIBED.match(text, start)[1]
                if name != "Recipe":  # a keyword of the ops, shown there
                    with self.subTest(name):
                        self.assertTrue(FENCE.search(text, start, end), "no example")

    def test_an_example_that_differs_is_noticed(self):
        lines = stripped(COMPANION.read_text(encoding="utf-8"))
        self.assertTrue(occurs("%g = blockscale.global_scale %a recipe torchao", lines))
        self.assertFalse(occurs("%g = blockscale.global_scale %a recipe te", lines))


if __name__ == "__main__":
    unittest.main()
