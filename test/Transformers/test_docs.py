# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What docs/Transformers.md and docs/QuantizeModel.md show runs as written. The first one prints
what it says."""

import contextlib
import importlib.util
import io
import re
import tempfile
import unittest
from pathlib import Path

if importlib.util.find_spec("transformers") is None:
    print("test_docs: skipped, no transformers; scripts/peers.sh transformers installs it")
    raise unittest.SkipTest("no transformers; scripts/peers.sh transformers installs it")

from families import quiet

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "Transformers.md"


def get_blocks(text):
    return re.findall(r"(?ms)^```python\n(.*?)^```$", text)


class PageTest(unittest.TestCase):
    def test_the_blocks_in_their_order(self):
        text = PAGE.read_text(encoding="utf-8")
        blocks = get_blocks(text)
        printed = re.findall(r"(?ms)^```text\n(.*?)^```$", text)
        output, names = io.StringIO(), {}
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), quiet(), \
                contextlib.redirect_stdout(output):
            for block in blocks:
                exec(compile(block, str(PAGE), "exec"), names)
            saved = sorted(each.name for each in Path(folder).iterdir())
        self.assertEqual(output.getvalue(), "".join(printed))
        self.assertEqual(saved, ["again", "nvfp4", "packed", "plain"])

    def test_quantize_model(self):
        page, output, names = DOCS / "QuantizeModel.md", io.StringIO(), {}
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), \
                contextlib.redirect_stdout(output):
            for block in get_blocks(page.read_text(encoding="utf-8")):
                exec(compile(block, str(page), "exec"), names)
        self.assertIn("lm_head", output.getvalue())
        self.assertIn("nvfp4, weights only", output.getvalue())


if __name__ == "__main__":
    unittest.main()
