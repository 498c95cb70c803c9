#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""unittest with the generators of Python, NumPy and PyTorch seeded before each test.

A test draws the same numbers on every day, whichever tests run before it: PyTorch's generator
begins with a number of the system in each process. The arguments are those of `unittest`.

  scripts/run_tests.py discover -s test/Torch
"""

import random
import sys
import unittest

SEED = 1


def seed_generators():
    """Seeds the generators of what is imported."""
    random.seed(SEED)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(SEED)
    if "torch" in sys.modules and hasattr(sys.modules["torch"], "manual_seed"):
        sys.modules["torch"].manual_seed(SEED)


class SeededResult(unittest.TextTestResult):
    def startTest(self, test):
        seed_generators()
        super().startTest(test)


class SeededSuite(unittest.TestSuite):
    """Seeds before what a class sets up for its tests, too."""

    def _handleClassSetUp(self, test, result):
        seed_generators()
        super()._handleClassSetUp(test, result)


class SeededLoader(unittest.TestLoader):
    suiteClass = SeededSuite


if __name__ == "__main__":
    # As `python -m unittest` finds modules.
    sys.path.insert(0, "")
    unittest.main(module=None, testLoader=SeededLoader(),
                  testRunner=unittest.TextTestRunner(resultclass=SeededResult))
