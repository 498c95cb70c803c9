# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each requirement is in one row of the table in docs/Testing.md, which leads to
files that name it or says why there is none."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/Testing.md"
# How many statements each public change makes.
COUNTS = {"A": 17, "B": 7, "C": 15, "D": 12, "E": 14}
REQUIREMENTS = [f"{letter}{i}" for letter, count in COUNTS.items() for i in range(1, count + 1)]
# What other packages do.
ELSEWHERE = {"A8", "A9", "B6", "D7", "D8", "D9", "E11", "E14"}
EXCUSE = "does not apply: "
RANGE = re.compile(r"([A-E])(\d+)(?:-\1(\d+))?")


def rows(page):
    """(requirements, the cell that says where) of each row of the table."""
    section = page.split("\n### Requirements\n")[1].split("\n## ")[0]
    table = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| ")]
    for ids, _, where in table[2:]:
        found = [RANGE.fullmatch(part.strip()) for part in ids.split(",")]
        yield [f"{m[1]}{i}" for m in found
               for i in range(int(m[2]), int(m[3] or m[2]) + 1)], where.strip()


def problems(page):
    found, listed = [], []
    for ids, where in rows(page):
        listed += ids
        files = re.findall(r"`([\w./-]+)`", where)
        is_excused = where.startswith(EXCUSE)
        if bool(files) == is_excused:
            found.append(f"{ids}: expected files or a reason, but got '{where}'")
        if is_excused and not ELSEWHERE.issuperset(ids):
            found.append(f"{ids}: expected tests, but got '{where}'")
        for file in files:
            text = (ROOT / file).read_text() if (ROOT / file).is_file() else ""
            found += [f"{file} does not name {id}" for id in ids
                      if not re.search(rf"\b{id}\b", text)]
    if listed != REQUIREMENTS:
        found.append(f"expected each requirement once, in order, but got {listed}")
    return found


class DocsRequirementsTest(unittest.TestCase):
    def setUp(self):
        self.page = PAGE.read_text(encoding="utf-8")

    def test_each_requirement_has_a_place(self):
        self.assertEqual(problems(self.page), [])

    def test_wrong_tables_are_noticed(self):
        for old, new, message in (
            ("| A12 |", "| A12, A13 |", "expected each requirement once"),
            ("| A8, A9 |", "| A8 |", "expected each requirement once"),
            ("| A1-A5 |", "| A1-A4 |", "expected each requirement once"),
            ("`test/IR/requirements-invalid.mlir` |", "`test/IR/hadamard.mlir` |",
             "hadamard.mlir does not name A12"),
            ("requirements-sweep.test", "requirements-absent.test", "absent.test does not name D1"),
            ("`test/Execution/requirements-sweep.test`", f"{EXCUSE}a sweep", "expected tests"),
            ("`test/Execution/requirements-sweep.test`", "soon", "expected files or a reason"),
        ):
            with self.subTest(new):
                broken = self.page.replace(old, new, 1)
                self.assertNotEqual(broken, self.page)
                self.assertIn(message, " ".join(problems(broken)))


if __name__ == "__main__":
    unittest.main()
