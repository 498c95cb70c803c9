# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each row of README's table names tests or logs that exist, and these are about what it claims.
The start page leads to every page, as README says, and each row of the table of what is proved
where (docs/Testing.md) names a suite, or files that exist. The contents of docs/Rationale.md are
its sections, and what is unreleased in CHANGELOG.md begins with what breaks.

The last cell of a row has the names: files of test/Execution, or paths from the root on. Each code
span and each format of the first cell stands in one of these files: in the test, in the programs
that it runs, in the modules that these import, or, where a folder is named, in the names of its
files. A row holds as it stands, so it has no word that takes something back.
"""

import fnmatch
import re
import unittest
from pathlib import Path

from docs_pages import PAGES, ROOT

PAGE = ROOT / "README.md"
TESTS = Path("test/Execution")
#: Where tests and logs are; `check` runs the tests.
PROOFS = ("test", "unittests", "emulator/test", "emulator/unittests", "docs/logs")
EXCEPTIONS = re.compile(r"\b(but|except|not|no|only|unless|without|partly|some)\b")
CHIP = re.compile(r"\bsm_\d+a?\b")
CHIPS = re.compile(r'makeChip\("(\w+)"')
#: Modules that tests of all subjects import.
SHARED = ("module", "expect", "gpu_calls")
#: What tests call the elements of a format, and the ops of a dialect.
IN_TESTS = {"NVFP4": "f4E2M1FN", "MXFP4": "f4E2M1FN", "MXFP6": "f6E2M3FN", "MXFP8": "f8E4M3FN",
            "MXINT8": '"i8"', "linalg": "linalg.", "tensor": "tensor.", "scf": "scf.",
            "TOSA": "tosa."}


def find_rows(page, heading="What works"):
    """The cells of each row of the first table below a heading."""
    section = page.split(f"\n## {heading}\n")[1].split("\n## ")[0].split("\n### ")[0]
    table = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]]


def read_python(path, seen):
    """The text of a program, and of the modules beside it that it imports."""
    if path in seen or path.stem in SHARED or not path.is_file():
        return ""
    seen.add(path)
    text = path.read_text(encoding="utf-8")
    modules = re.findall(r"^(?:from|import) (\w+)", text, re.M)
    return text + "".join(read_python(path.parent / f"{name}.py", seen) for name in modules)


def read_proof(path):
    """All that says what a test, a folder of vectors or a log is about."""
    if path.is_dir():
        return "\n".join(each.name for each in path.iterdir())
    text = path.read_text(encoding="utf-8")
    programs = re.findall(r"%S/Inputs/([\w./-]+)", text)
    return text + "".join(read_python(path.parent / "Inputs" / name, set()) for name in programs)


def problems(page):
    rows = find_rows(page)
    if not rows:
        yield "expected rows"
    for cells in rows:
        what, names = cells[0], re.findall(r"`([^`]+)`", cells[-1])
        paths = [ROOT / (name if "/" in name else TESTS / name) for name in names]
        absent = [name for name, path in zip(names, paths)
                  if not path.exists() or not any(path.is_relative_to(ROOT / folder)
                                                  for folder in PROOFS)]
        if not names or absent:
            yield f"{what}: expected tests or logs that exist, but got {absent or cells[-1]}"
            continue
        proofs = "".join(map(read_proof, paths))
        claimed = [*re.findall(r"`([^`]+)`", what), *re.findall(r"\bNVFP4|\bMX\w+|\bTOSA", what)]
        for word in claimed:
            if not re.search(rf"(?<!\w){re.escape(IN_TESTS.get(word, word))}", proofs):
                yield f"{what}: expected {word} in one of {names}"
        if found := EXCEPTIONS.search(f"{what} {' '.join(cells[1:-1])}"):
            yield f"{what}: expected no exception, but got '{found[0]}'"


class DocsClaimsTest(unittest.TestCase):
    def setUp(self):
        self.page = PAGE.read_text(encoding="utf-8")

    def test_each_row_names_its_tests(self):
        self.assertEqual([*problems(self.page)], [])

    def test_the_page_is_short(self):
        self.assertLessEqual(len(self.page.splitlines()), 100)

    def test_the_start_page_leads_everywhere(self):
        text = (ROOT / "docs/index.md").read_text(encoding="utf-8").split("\n## From here\n")[1]
        headings = re.findall(r"^### (.+)", text, re.M)
        self.assertEqual(len(headings), 5)
        nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[1]
        nav = nav.split("\n\n")[0].split("\n#")[0]
        self.assertEqual(re.findall(r"^  - (.+):$", nav, re.M), headings)
        linked = {(ROOT / "docs" / link).resolve() for link in re.findall(r"\]\(([^)#]+)", text)}
        pages = {*PAGES} - {PAGE, ROOT / "docs/index.md"}
        self.assertEqual(sorted(pages - linked), [])

    def test_each_proof_is_there(self):
        page = (ROOT / "docs/Testing.md").read_text(encoding="utf-8")
        suites, = re.findall(r"^NAMES = \[(.*?)\]",
                             (ROOT / "scripts/run_suites.py").read_text(encoding="utf-8"),
                             re.M | re.S)
        files = [str(path.relative_to(ROOT))
                 for folder in ("test", "unittests", "emulator", "scripts")
                 for path in (ROOT / folder).rglob("*")]
        rows = find_rows(page, "What is proved where")
        self.assertGreater(len(rows), 100)
        for what, proof, *_ in rows:
            names = [word.split()[0].removeprefix("./") for word in re.findall(r"`([^`]+)`", proof)]
            with self.subTest(what):
                self.assertTrue(names or proof in suites, "expected a suite or files")
                for name in names:
                    self.assertTrue(name in suites or name.startswith("--")
                                    or fnmatch.filter(files, f"*{name}*"), f"no {name}")

    def test_contents_of_the_rationale(self):
        text = (ROOT / "docs/Rationale.md").read_text(encoding="utf-8")
        listed = re.findall(r"\* \[([^]]+)\]\(#", text.split("\n## ")[0])
        self.assertEqual([" ".join(name.split()) for name in listed],
                         re.findall(r"^###? (.+)$", text, re.M))

    def test_changes_are_by_area(self):
        text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
        unreleased = text.split("\n## ")[1]
        areas = re.findall(r"^### (.+)$", unreleased, re.M)
        self.assertEqual(areas[:1], ["What breaks"])
        self.assertFalse({"Added", "Changed", "Fixed"} & {*areas}, "expected areas")

    def test_chips_are_those_of_the_compiler(self):
        known = CHIPS.findall((ROOT / "lib/Target/Chip.cpp").read_text(encoding="utf-8"))
        section = self.page.split("\n## What works\n")[1].split("\n| what ")[0]
        self.assertEqual(CHIP.findall(section), known)

    def test_what_is_wrong_is_noticed(self):
        row = "| `quantize`, NVFP4 | `quantize.test` |"
        page = f"\n## What works\n\n| what | tests |\n| --- | --- |\n{row}\n"
        self.assertEqual([*problems(page)], [])
        for old, new, message in (
                ("`quantize.test`", "", "expected tests or logs that exist"),
                ("quantize.test", "absent.test", "but got ['absent.test']"),
                ("quantize.test", "docs/Spec.md", "but got ['docs/Spec.md']"),
                ("NVFP4", "MXINT8", "expected MXINT8 in one of"),
                ("`quantize`", "`scaled_mm`", "expected scaled_mm in one of"),
                ("NVFP4 |", "NVFP4, but for tails |", "but got 'but'"),
                (row, "", "expected rows")):
            with self.subTest(new):
                self.assertIn(message, " ".join(problems(page.replace(old, new))))


if __name__ == "__main__":
    unittest.main()
