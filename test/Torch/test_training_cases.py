# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Some of the random cases of check_training.py, of each kind of model with each form;
scripts/long/training.sh has all."""

import sys
import unittest
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent))

import check_training


class CasesTest(unittest.TestCase):
    def test_some(self):
        for number in range(3 * len(check_training.NAMES)):
            with self.subTest(number):
                self.assertEqual(check_training.find_problem(number), "")

    def test_faults(self):
        """A result that is off by little more than roundings is noticed, in every place."""
        for number in range(3):
            model, x, _ = check_training.make_case(number)
            x.requires_grad_()
            with check_training.Recorder() as recorder:
                y = model(x)
                y.backward(y.detach() / 8)
            call = recorder.calls[0]
            self.assertLess(max(check_training.check_call(call).values()), 1)
            for place, name in (("y", "y"), ("of_x", "gradient of x"),
                                ("of_weight", "gradient of the weight")):
                kept = getattr(call, place)
                changed = kept.clone()
                largest = changed.view(-1).abs().argmax()
                changed.view(-1)[largest] *= 1 + 2.0 ** -6
                setattr(call, place, changed)
                self.assertGreater(check_training.check_call(call)[name], 1)
                setattr(call, place, kept)


if __name__ == "__main__":
    unittest.main()
