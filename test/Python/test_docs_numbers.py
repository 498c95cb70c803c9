# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The computed tables of docs/Numerics.md are what the reference computes."""

import unittest

import docs_numbers


class DocsNumbersTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        with open(docs_numbers.PAGE, encoding="utf-8") as file:
            self.page = file.read()

    def test_page_is_filled_in(self):
        self.assertMultiLineEqual(self.page, docs_numbers.fill(self.page))

    def test_every_marker_is_followed_by_its_block(self):
        found = docs_numbers.MARKER.findall(self.page)
        self.assertEqual(len(found), self.page.count("<!-- computed: "))
        self.assertGreater(len(found), 10)

    def test_a_wrong_number_is_noticed(self):
        name, block = docs_numbers.MARKER.findall(self.page)[0]
        broken = self.page.replace(block, block.replace("0.5", "0.75"), 1)
        self.assertNotEqual(broken, self.page, name)
        self.assertEqual(docs_numbers.fill(broken), self.page)


if __name__ == "__main__":
    unittest.main()
