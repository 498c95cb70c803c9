# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The versions of packages that pages name are those that are installed to compare with them."""

import re
import unittest

from docs_pages import ROOT

#: What pages call a package, and its name on PyPI.
PACKAGES = {"torchao": "torchao", "TransformerEngine": "transformer-engine",
            "ModelOpt": "nvidia-modelopt", "compressed-tensors": "compressed-tensors",
            "transformers": "transformers", "vLLM": "vllm"}
NAMED = re.compile(rf"\b({'|'.join(PACKAGES)}) (\d+\.\d+)\b")


def list_pins():
    """The packages that files of requirements pin, with major and minor version."""
    for folder in ("benchmarks", "python", "test"):
        for path in (ROOT / folder).rglob("requirements*.txt"):
            yield from re.findall(r"(?m)^(?:# wheel )?([\w-]+)==(\d+\.\d+)",
                                  path.read_text(encoding="utf-8"))


class DocsVersionsTest(unittest.TestCase):
    def test_versions_are_pinned(self):
        pins, named = set(list_pins()), 0
        for path in sorted((ROOT / "docs").glob("*.md")):
            if path.name == "Performance.md":
                continue  # There a number behind a name is what was measured of it.
            text = " ".join(path.read_text(encoding="utf-8").split())
            for package, version in NAMED.findall(text):
                named += 1
                with self.subTest(path.name, package=package, version=version):
                    self.assertTrue((PACKAGES[package], version) in pins)
        self.assertGreater(named, 10)


if __name__ == "__main__":
    unittest.main()
