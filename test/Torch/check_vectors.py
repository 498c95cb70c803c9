# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What scripts/long/vectors.sh runs: the kit on other packages, which must all be there, and on
every changed rule of every form. Prints the reports on the packages."""

import sys
import unittest

import blockscale_vectors as kit
import test_vectors
from blockscale_vectors import forms
from vectors_cases import wrongly_named


def main():
    for maker, (_, quantizer, _) in test_vectors.NVFP4.items():
        for recipe in test_vectors.NVFP4:
            report = kit.check(quantizer, recipe, tails=False)
            print(f"\n-- {maker} by the recipe {recipe}\n{report}", flush=True)
    suite = unittest.defaultTestLoader.loadTestsFromModule(test_vectors)
    result = unittest.TextTestRunner(stream=sys.stdout).run(suite)
    failed = len(result.failures) + len(result.errors) + len(result.skipped)
    passed = result.testsRun - failed
    for form in forms.forms():
        tried, wrong = wrongly_named(form, global_amax=False)
        print("\n".join([f"{form}: {tried} changed rules, {len(wrong)} not named", *wrong]),
              flush=True)
        failed += bool(wrong) or not tried
        passed += bool(tried) and not wrong
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
