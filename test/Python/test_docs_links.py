# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages and comments of C++ name files that exist, and no line is too wide to read.

What a command printed (a `console` block) is as wide as it is.
"""

import re
import unittest

from docs_pages import PAGES, ROOT

WIDTH = 140

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
# Paths in code spans: with a folder of the project in front.
PATH = re.compile(r"`((?:docs|emulator|examples|include|lib|python|scripts|test|tools|unittests)/"
                  r"[\w./*-]+)`")
OUTPUT = re.compile(r"^```console$.*?^```$", re.S | re.M)
COMMAND = re.compile(r"(?<![\w/])\./(scripts/[\w.-]+)")
# In comments of C++ and TableGen, in parentheses: from any folder on.
SOURCE = re.compile(r"\(((?:[\w-]+/)*[A-Z]\w*\.(?:h|cpp|td))[),]")


class DocsLinksTest(unittest.TestCase):
    def for_each_page(self, check):
        self.assertTrue(PAGES)
        for page in PAGES:
            with self.subTest(page.name):
                check(page, page.read_text(encoding="utf-8"))

    def test_links_resolve(self):
        def check(page, text):
            for target in LINK.findall(text):
                if "://" not in target:
                    self.assertTrue((page.parent / target).exists(), target)

        self.for_each_page(check)

    def test_named_files_exist(self):
        def check(page, text):
            for name in [*PATH.findall(text), *COMMAND.findall(text)]:
                # A log is there after the first run only.
                if not name.startswith("docs/logs/"):
                    self.assertTrue(any(ROOT.glob(name)), f"no {name}")

        self.for_each_page(check)

    def test_files_that_comments_name(self):
        sources = [path for folder in ("emulator", "include", "lib", "tools", "unittests")
                   for ending in ("h", "cpp", "td")
                   for path in (ROOT / folder).rglob(f"*.{ending}")]
        paths = [f"/{path.relative_to(ROOT)}" for path in sources]
        named = [(path, name) for path in sources
                 for name in SOURCE.findall(path.read_text(encoding="utf-8"))
                 if not name.startswith(("llvm", "mlir"))]
        self.assertGreater(len(named), 30)
        for path, name in named:
            with self.subTest(path.relative_to(ROOT)):
                self.assertTrue(any(each.endswith(f"/{name}") for each in paths), f"no {name}")

    def test_lines_fit(self):
        def check(page, text):
            # As many lines as before, so that their numbers stay right.
            text = OUTPUT.sub(lambda m: "\n" * m[0].count("\n"), text)
            for number, line in enumerate(text.splitlines(), start=1):
                self.assertLessEqual(len(line), WIDTH, f"line {number}")

        self.for_each_page(check)


if __name__ == "__main__":
    unittest.main()
