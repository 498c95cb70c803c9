# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ten of the models and layouts of check_families.py; scripts/long/hf-checkpoints.sh has all."""

import importlib.util
import tempfile
import unittest
from pathlib import Path

if importlib.util.find_spec("transformers") is None:
    print("test_families: skipped, no transformers; scripts/peers.sh transformers installs it")
    raise unittest.SkipTest("no transformers; scripts/peers.sh transformers installs it")

from check_families import find_problems
from families import FAMILIES, LAYOUTS, choose_models, taken_over

CASES = [("llama", "modelopt-mxfp8"), ("mistral", "blockscale"), ("qwen2", "packed-nvfp4"),
         ("qwen3", "fp8-blocks"), ("gemma2", "packed-mxfp4"), ("phi3", "modelopt-nvfp4"),
         ("t5", "packed-mxfp4"), ("mixtral", "fp8-blocks"), ("qwen3_moe", "modelopt-nvfp4"),
         ("deepseek_v3", "modelopt-mxfp8")]


class FamiliesTest(unittest.TestCase):
    def test_models(self):
        self.enterContext(taken_over())
        for family, layout in CASES:
            with self.subTest(family, layout=layout), tempfile.TemporaryDirectory() as folder:
                self.assertEqual(find_problems(family, layout, Path(folder))[0], [])

    def test_patterns(self):
        """What scripts are asked for by --only; a pattern of nothing is no success."""
        self.assertEqual(len(choose_models(FAMILIES, ["*"])), len(FAMILIES) * len(LAYOUTS))
        self.assertEqual(choose_models(FAMILIES, ["t5/packed-m*", "*/packed-mxfp4"])[-1],
                         ("deepseek_v3/packed-mxfp4", "deepseek_v3", "packed-mxfp4"))
        self.assertEqual(choose_models(["t5"], ["*/fp8-blocks", "t5/f*"]),
                         [("t5/fp8-blocks", "t5", "fp8-blocks")])
        for patterns in (["llama"], ["llama/*", "gpt/fp8"]):
            with self.assertRaisesRegex(SystemExit, f"but got '{patterns[-1]}', which none is of"):
                choose_models(FAMILIES, patterns)


if __name__ == "__main__":
    unittest.main()
