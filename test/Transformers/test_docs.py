# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What docs/Transformers.md shows runs as written, and prints what it says."""

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

PAGE = Path(__file__).resolve().parents[2] / "docs/Transformers.md"


class PageTest(unittest.TestCase):
    def test_the_blocks_in_their_order(self):
        text = PAGE.read_text(encoding="utf-8")
        blocks = re.findall(r"(?ms)^```python\n(.*?)^```$", text)
        printed = re.findall(r"(?ms)^```text\n(.*?)^```$", text)
        output, names = io.StringIO(), {}
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), quiet(), \
                contextlib.redirect_stdout(output):
            for block in blocks:
                exec(compile(block, str(PAGE), "exec"), names)
            saved = sorted(each.name for each in Path(folder).iterdir())
        self.assertEqual(output.getvalue(), "".join(printed))
        self.assertEqual(saved, ["again", "nvfp4", "packed", "plain"])


if __name__ == "__main__":
    unittest.main()
