# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Forms of training as values: what they say, as text and back, and what is refused."""

import dataclasses
import unittest

import blockscale
from blockscale import TrainingForm, TrainingOperand, get_training_form
from blockscale._training import read_form

NAMES = ("mxfp8", "mxfp8_32x32", "nvfp4")


class FormTest(unittest.TestCase):
    def test_named(self):
        for name in NAMES:
            form = get_training_form(name)
            self.assertEqual(read_form(form.text), form)
            self.assertEqual(hash(read_form(form.text)), hash(form))
        self.assertEqual(get_training_form("mxfp8").describe(),
                         "forward mxfp8 rceil by mxfp8 rceil; dgrad mxfp8 rceil by mxfp8 rceil; "
                         "wgrad mxfp8 rceil by mxfp8 rceil")
        self.assertEqual(get_training_form("nvfp4").describe(),
                         "forward nvfp4 te by nvfp4 te, 16x16; "
                         "dgrad nvfp4 te, stochastic by nvfp4 te, 16x16; "
                         "wgrad nvfp4 te, transformed, stochastic by nvfp4 te, transformed")
        self.assertEqual(get_training_form("nvfp4").stochastic,
                         ("dgrad_gradient", "wgrad_gradient"))

    def test_operands_that_the_dialect_has_not(self):
        for options, message in (
                (("int4",), "format of an operand to be one of nvfp4, .* but got 'int4'"),
                (("nvfp4", "te", False, "static"), "scaling of an operand to be one of none, dyn"),
                (("mxfp8", None, False, "dynamic"), "scaling 'none' but of nvfp4, but got 'dyn"),
                (("mxfp8", "te"), "recipe te: .*expected an MX recipe .* but got te"),
                (("mxfp8", "up"), "recipe to be one of"),
                (("mxfp8", None, False, "none", None, True), "rng"),
                (("nvfp4", "te_4over6_mae", True), "te_4over6_mae: .*block"),
                (("nvfp4", "te_4over6_mae", False, "none", None, True), "rng"),
                (("nvfp4", "te", False, "none", 1 << 16), "sign_mask"),
                (("nvfp4", "te", False, "none", "+-"), "sign_mask to be 16 bits or None")):
            with self.subTest(options), self.assertRaisesRegex(blockscale.ArgumentError, message):
                TrainingOperand(*options)

    def test_products_that_the_dialect_has_not(self):
        form = get_training_form("nvfp4")
        plain = TrainingOperand("nvfp4", "te", scaling="dynamic")
        for changes, message in (
                ({"wgrad_input": plain}, ("operands of wgrad of one sign_mask, but got 55272 of "
                                          "wgrad_gradient and None of wgrad_input")),
                ({"forward_weight": TrainingOperand("mxfp8")},
                 ("operands of forward of one format, but got 'nvfp4' of forward_input and 'mxfp8' "
                  "of forward_weight")),
                ({"dgrad_weight": "mxfp8"}, "dgrad_weight to be a TrainingOperand, but got str")):
            with self.subTest(message), self.assertRaisesRegex(blockscale.ArgumentError, message):
                dataclasses.replace(form, **changes)
        for text in ("", "{}", "[1]", '{"a": 1}', '{"forward_input": {"format": "mxfp8"}}'):
            with self.subTest(text), self.assertRaisesRegex(blockscale.ArgumentError,
                                                            "a form of training in JSON"):
                read_form(text)

    def test_own(self):
        """Products of other formats, each with its own recipes."""
        forward, backward = TrainingOperand("mxfp4", "even"), TrainingOperand("mxfp8_e5m2", "floor")
        form = TrainingForm(forward, forward, backward, backward, backward, backward)
        self.assertEqual(read_form(form.text), form)
        self.assertEqual(form.stochastic, ())


if __name__ == "__main__":
    unittest.main()
