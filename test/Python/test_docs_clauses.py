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
ENUM = f"{PRODUCTS}/ProductClauses.h"
CODE = f"{PRODUCTS}/ProductClauses.cpp"
SMALL = "lib/Conversion/ToSmall/SmallFamily.cpp"
FILES = {
    HEADER: "///  - wide_c1: first.\n///  - wide_c2: second.\n///  - wide_c3 (of all): third.\n",
    "include/blockscale/IR/B.td": "    - `op_c1`: first.\n    - `op_c2`: second,\n",
    "lib/Analysis/A.cpp": 'refuse("wide_c1"); refuse("(wide_c2): expected");\n// wide_c3: it.\n',
    "lib/IR/B.cpp": "// op_c1, _c2: both.\n",
    ENUM:
        "enum class ProductKernel { Big, Small };\nenum class ProductClause {\n"
        "  /// c1 (all): first.\n  First = 1,\n  /// c2 (big_mm): second,\n  /// at length.\n"
        "  Second,\n  /// c3 (all): third.\n  Third,\n"
        "  /// c4 (small_mm): fourth.\n  Fourth,\n};\n",
    CODE:
        'StringLiteral prefixes[] = {"big_mm_",\n  "small_mm_"};\n\n'
        "static int verifyIt(int product) {\n  refuseProduct(product, ProductClause::First);\n}\n\n"
        "int verifyBoth(int product) {\n  if (verifyIt(product))\n"
        "    refuseProduct(product, ProductClause::Second);\n}\n",
    f"{PRODUCTS}/ProductFamily.h":
        "struct BigKind : Defaults {\n  int verify() { return verifyBoth(1); }\n};\n\n"
        "template <typename Family>\nint lowerProducts() {\n  ProductClause::Third;\n}\n",
    "lib/Conversion/ToBig/BigFamily.cpp":
        "struct BigFamily : BigKind {\n  ProductKernel kernel = ProductKernel::Big;\n};\n",
    SMALL:
        "struct SmallFamily {\n  ProductKernel kernel = ProductKernel::Small;\n};\n"
        "verifyIt(2);\nrefuseProduct(product, ProductClause::Fourth);\n",
    "python/blockscale/_a.py": 'CLAUSE = "wide_c2"\n',
    "docs/Page.md":
        "The clauses `wide_c1` to `wide_c3` are in [`A.h`](../include/blockscale/Analysis/A.h).\n"
        "`small_mm_c4` is one of products.\n",
    "docs/Products.md":
        "| clause | `big_mm` | `small_mm` | expects |\n| --- | --- | --- | --- |\n"
        "| `c1` | yes | yes | a |\n| `c2` | yes |  | b |\n| `c3` | yes | yes | c |\n"
        "| `c4` |  | yes | d |\n",
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
                (ENUM, "c2 (big_mm)", "c2 (all)",
                 f"{ENUM}: states small_mm_c2, by which no code refuses a product",
                 "docs/Products.md: expected a row of c2 for big_mm, small_mm"),
                (ENUM, "c4 (small_mm)", "c4 (big_mm)",
                 f"{ENUM}: states big_mm_c4, by which no code refuses a product",
                 f"{ENUM}: expected Fourth of small_mm, by which code refuses products",
                 "docs/Products.md: expected a row of c4 for big_mm",
                 "docs/Page.md: names small_mm_c4, which no header states"),
                (CODE, "verifyIt(product))", "isWrong(product))",
                 f"{ENUM}: states big_mm_c1, by which no code refuses a product"),
                (CODE, "ProductClause::Second", "ProductClause::Fourth",
                 f"{ENUM}: expected Fourth of big_mm, by which code refuses products",
                 f"{ENUM}: states big_mm_c2, by which no code refuses a product"),
                (SMALL, "verifyIt(2)", "verifyBoth(2)",
                 f"{ENUM}: expected Second of small_mm, by which code refuses products"),
                ("docs/Products.md", "| `c2` | yes |  | b |\n", "",
                 "docs/Products.md: expected a row of c2 for big_mm"),
                ("docs/Products.md", "| `c4` |  |", "| `c4` | yes |",
                 "docs/Products.md: expected a row of c4 for small_mm"),
                ("docs/Products.md", "`c4`", "`c5`",
                 "docs/Products.md: expected a row of c4 for small_mm",
                 f"docs/Products.md: has a row of c5, which {ENUM} does not state"),
                ("docs/Products.md", " `small_mm` |", "",
                 ("docs/Products.md: expected a column of each of ['big_mm', 'small_mm'], but got "
                  "['big_mm']")),
                ("docs/Page.md", "small_mm_c4", "small_mm_c5",
                 "docs/Page.md: names small_mm_c5, which no header states"),
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
