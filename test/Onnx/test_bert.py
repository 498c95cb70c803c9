# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An encoder as PyTorch exports it, with sizes that are not known: as it is, against PyTorch's
results, and with quantized layers, against onnx.reference."""

import unittest

import numpy as np

import blockscale.onnx
from encoders import FOLDER, check_plain, check_quantized, get_feeds


class TestEncoder(unittest.TestCase):
    def test_against_pytorch(self):
        function = check_plain(FOLDER / "bert-dynamo.onnx", 2e-6)
        # The first two words of the third sentence, alone.
        known = get_feeds(FOLDER / "bert.npz")
        alone = function(known["input_ids"][2:, :2], known["attention_mask"][2:, :2])
        np.testing.assert_allclose(alone, known["vectors"][2:], atol=2e-6)

    # The other exporter; scripts/long/onnx.sh runs it.
    def test_the_older_exporter(self):
        module = blockscale.onnx.from_model(FOLDER / "bert-script.onnx").module
        self.assertEqual(str(module.results[0].spec), "tensor<?x32xf32>")

    def test_quantized_layers(self):
        check_quantized(FOLDER / "bert-dynamo.onnx", "nvfp4")


if __name__ == "__main__":
    unittest.main()
