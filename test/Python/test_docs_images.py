# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The committed pictures are the output of docs/images/make.py, and each is shown."""

import sys
import unittest
import xml.etree.ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs/images"
sys.path.append(str(IMAGES))

import make


class DocsImagesTest(unittest.TestCase):
    def test_committed_files_are_the_output(self):
        for name, draw in make.PICTURES.items():
            with self.subTest(name):
                committed = (IMAGES / name).read_text(encoding="utf-8")
                self.assertTrue(committed == draw(), "run docs/images/make.py")

    def test_there_are_no_others(self):
        self.assertEqual({path.name for path in IMAGES.glob("*.svg")},
                         set(make.PICTURES))

    def test_each_is_shown_on_a_page(self):
        pages = "".join(path.read_text(encoding="utf-8")
                        for path in (ROOT / "docs").glob("*.md"))
        for name in make.PICTURES:
            self.assertTrue(f"(images/{name})" in pages, f"{name} is on no page")

    def test_everything_lies_inside_the_picture(self):
        for name, draw in make.PICTURES.items():
            root = xml.etree.ElementTree.fromstring(draw())
            width, height = float(root.get("width")), float(root.get("height"))
            for item in root:
                for key, limit in (("x", width), ("y", height), ("x2", width),
                                   ("y2", height)):
                    at = float(item.get(key, 0))
                    self.assertTrue(0 <= at <= limit, f"{name}: {key}={at}")


if __name__ == "__main__":
    unittest.main()
