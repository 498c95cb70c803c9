# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The computed blocks of the pages are what their functions compute."""

import unittest

import docs_constraints
import docs_faults
import docs_figures
import docs_kernels
import docs_logs
import docs_numbers
import docs_pages
import docs_performance
import docs_training
from docs_pages import ROOT

MODULES = [docs_numbers, docs_constraints, docs_performance, docs_kernels, docs_faults,
           docs_training]


class DocsComputedTest(unittest.TestCase):
    maxDiff = None

    def test_pages_are_filled_in(self):
        for module in MODULES:
            with self.subTest(module.PAGE.name):
                page = module.PAGE.read_text(encoding="utf-8")
                self.assertMultiLineEqual(page, docs_pages.fill(page, vars(module)),
                                          f"run {module.__name__}.py --write")

    def test_every_marker_has_a_block(self):
        for module in MODULES:
            page = module.PAGE.read_text(encoding="utf-8")
            blocks = [block for _, block in docs_pages.MARKER.findall(page)]
            self.assertTrue(blocks)
            self.assertEqual(len(blocks), page.count("<!-- computed: "))
            self.assertTrue(all(blocks))

    def test_a_wrong_number_is_noticed(self):
        page = docs_numbers.PAGE.read_text(encoding="utf-8")
        name, block = docs_pages.MARKER.findall(page)[0]
        broken = page.replace(block, block.replace("0.5", "0.75"), 1)
        self.assertNotEqual(broken, page, name)
        self.assertEqual(docs_pages.fill(broken, vars(docs_numbers)), page)

    # Who reads a figure of a log must see of which code it is.
    def test_every_link_to_a_log_names_its_commit(self):
        links = 0
        for path in docs_logs.PAGES:
            with self.subTest(path.name):
                page = path.read_text(encoding="utf-8")
                links += len(docs_logs.LINK.findall(page))
                self.assertMultiLineEqual(page, docs_logs.fill(page), "run docs_logs.py --write")
        self.assertGreater(links, 5)

    def test_sentences_have_the_figures_of_logs(self):
        for sentence in docs_figures.SENTENCES:
            with self.subTest(sentence.text):
                page = (ROOT / sentence.page).read_text(encoding="utf-8")
                self.assertEqual(len(sentence.pattern.findall(page)), 1, "is not on the page")
                self.assertMultiLineEqual(page, sentence.fill(page), "run docs_figures.py --write")

    def test_a_wrong_figure_is_noticed(self):
        sentence = docs_figures.Sentence("a.md", "a {} of {} %.", lambda: ["7", "1.5"])
        self.assertEqual(sentence.fill("It is\na  8 of\n22.5 %. Or"), "It is\na  7 of\n1.5 %. Or")

    def test_a_wrong_commit_is_noticed(self):
        link = "[log](logs/benchmark-h200.txt)"
        right = docs_logs.fill(f"{link}.")
        self.assertRegex(right, r"\) \(commit [0-9a-f]{7,}(-dirty)?\)\.$")
        for wrong in (f"{link} (commit fffffff).", f"{link} (commits a,\nb)."):
            self.assertEqual(docs_logs.fill(wrong), right)
        self.assertEqual(docs_logs.fill(f"{link}\n(commit fffffff)."),
                         right.replace(") (", ")\n("))

    def test_every_constraint_has_a_test(self):
        labels = docs_constraints.labels()
        self.assertGreater(len(labels), 30)
        self.assertEqual(len(labels), len(set(labels)))
        for label in labels:
            with self.subTest(label):
                self.assertTrue(docs_constraints.tests_of(label), "no @" + label)


if __name__ == "__main__":
    unittest.main()
