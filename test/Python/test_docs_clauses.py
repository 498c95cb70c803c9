# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Headers, code and pages have the same clauses, and each kind of difference is noticed."""

import tempfile
import unittest
from pathlib import Path

import docs_clauses

ROOT = Path(__file__).resolve().parents[2]
HEADER = "include/blockscale/Analysis/A.h"
PRODUCTS = "lib/Conversion/Products"
BIG = "lib/Conversion/ToBig/BigClauses.h"
SMALL = "lib/Conversion/ToSmall/SmallClauses.h"
FILES = {
    HEADER: "///  - wide_c1: first.\n///  - wide_c2: second.\n///  - wide_c3 (of all): third.\n",
    "include/blockscale/IR/B.td": "    - `op_c1`: first.\n    - `op_c2`: second,\n",
    "lib/Analysis/A.cpp": 'refuse("wide_c1"); refuse("(wide_c2): expected");\n// wide_c3: it.\n',
    "lib/IR/B.cpp": "// op_c1, _c2: both.\n",
    f"{PRODUCTS}/ProductClauses.cpp":
        'StringLiteral prefixes[] = {"big_", "small_"};\nrefuseProduct(product, site, "c1");\n',
    f"{PRODUCTS}/ScaledClauses.cpp": 'refuseProduct(product, site, "c2");\n',
    f"{PRODUCTS}/ScaledClauses.h": '#include "ProductClauses.h"\n',
    f"{PRODUCTS}/ProductClauses.h": "",
    BIG:
        '//   big_c1  first\n//   big_c2  second\n//   big_c3  third\n'
        '#include "Products/ScaledClauses.h"\n',
    "lib/Conversion/ToBig/BigClauses.cpp": 'refuseProduct(product, site, "c3");\n',
    SMALL:
        '//   small_c1  first\n//   small_c4  fourth\n#include "Products/ProductClauses.h"\n',
    "lib/Conversion/ToSmall/SmallClauses.cpp": 'refuseProduct(product, site, "c4");\n',
    "python/blockscale/_a.py": 'CLAUSE = "wide_c2"\n',
    "docs/Page.md":
        "The clauses `wide_c1` to `wide_c3` are in [`A.h`](../include/blockscale/Analysis/A.h).\n"
        "| `big_c1` | a |\n| `big_c2` | b |\n| `big_c3` | c |\n\n`small_c4` is one.\n",
}


class DocsClausesTest(unittest.TestCase):
    def test_the_project(self):
        self.assertEqual([*docs_clauses.problems(ROOT)], [])
        stated = docs_clauses.stated_clauses(ROOT)
        self.assertGreater(sum(map(len, stated.values())), 150)
        self.assertGreaterEqual(len([*docs_clauses.product_families(ROOT)]), 1)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for path, text in FILES.items():
            self.write(path, text)

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def test_what_agrees(self):
        self.assertEqual([*docs_clauses.problems(self.root)], [])

    def test_each_difference(self):
        for path, old, new, *expected in (
                (HEADER, "wide_c2: second", "wide: second",
                 "expected clauses of wide from 1 on without gaps, but got [1, 3]",
                 "lib/Analysis/A.cpp: names wide_c2, which no header states",
                 "python/blockscale/_a.py: names wide_c2, which no header states"),
                (HEADER, "///  - wide_c3 (of all): third.\n", "",
                 "lib/Analysis/A.cpp: names wide_c3, which no header states",
                 "docs/Page.md: names wide_c3, which no header states",
                 "docs/Page.md: expected wide_c1 to _c2, but got _c3"),
                ("lib/Analysis/A.cpp", 'refuse("wide_c1");', "",
                 f"{HEADER}: states wide_c1, which no code names"),
                ("lib/IR/B.cpp", ", _c2", "",
                 "include/blockscale/IR/B.td: states op_c2, which no code names"),
                ("lib/IR/B.cpp", "op_c1", "other_c1",
                 "include/blockscale/IR/B.td: states op_c1, which no code names",
                 "include/blockscale/IR/B.td: states op_c2, which no code names",
                 "lib/IR/B.cpp: names other_c1, of which no header knows"),
                (BIG, "//   big_c3  third\n", "",
                 "expected clauses of products from 1 on without gaps, but got [1, 2, 4]",
                 f"{BIG}: expected big_c3, by which code refuses products",
                 "docs/Page.md: names big_c3, which no header states",
                 "docs/Page.md: expected a row for each of [1, 2] of big, but got [1, 2, 3]"),
                (f"{PRODUCTS}/ScaledClauses.cpp", '"c2"', '"c3"',
                 f"{BIG}: states big_c2, by which no code refuses a product"),
                (SMALL, "small_c1", "small_c2",
                 f"{SMALL}: expected small_c1, by which code refuses products",
                 f"{SMALL}: states small_c2, by which no code refuses a product"),
                (f"{PRODUCTS}/ProductClauses.cpp", '"small_"', '"tiny_", "small_"',
                 f"{PRODUCTS}/ProductClauses.cpp: no header states clauses of tiny"),
                ("docs/Page.md", "| `big_c2` | b |\n", "",
                 "docs/Page.md: expected a row for each of [1, 2, 3] of big, but got [1, 3]"),
                ("docs/Page.md", "small_c4", "small_c5",
                 "docs/Page.md: names small_c5, which no header states"),
                ("docs/Page.md", "/A.h)", "/../IR/B.h)",
                 *(f"docs/Page.md: expected wide_c{number} in "
                   f"../include/blockscale/Analysis/../IR/B.h, but {HEADER} states it"
                   for number in (1, 2, 3)))):
            with self.subTest(path=path, old=old):
                self.write("include/blockscale/IR/B.h", "")
                self.assertIn(old, FILES[path])
                self.write(path, FILES[path].replace(old, new))
                found = [*docs_clauses.problems(self.root)]
                self.write(path, FILES[path])
                self.assertEqual(found, expected)


if __name__ == "__main__":
    unittest.main()
