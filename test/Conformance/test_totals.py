# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is pinned of the stored cases, and that no array of theirs is compared with
nothing: one whose bits are all inverted is a mismatch."""

import os
import tempfile
import unittest

import numpy as np

import totals
from cases import case_names, load_case
from plan import plan

DATA = os.path.join(os.path.dirname(__file__), "../Data")
FOLDERS = [os.path.join(DATA, name) for name in ("golden", "oracles")]
NAN_TENSOR = "the tensor has a NaN, so every scale is NaN, and the codes have no meaning"
# Arrays of which nothing is compared.
UNCOMPARED = {
    "nvfp4__special_64x64_bf16.ao_dyn_qdata": NAN_TENSOR,
    "nvfp4__special_64x64_bf16.te_qdata": NAN_TENSOR,
    "nvfp4__special_64x64_bf16.te_t_qdata": NAN_TENSOR,
    "nvfp4__special_64x64_bf16.te2d_qdata": NAN_TENSOR,
    "nvfp4__special_64x64_bf16.te2d_t_qdata": NAN_TENSOR,
    "nvfp4__subconst_16x32_bf16.ao_dyn_qdata": "torchao divides by a subnormal number",
    "nvfp4__subnormal_32x32_bf16.ao_dyn_qdata": "torchao divides by a subnormal number",
    "nvfp4__zero_16x32_bf16.ao_dyn_qdata": "torchao divides 0 by 0",
}


def inverted(array):
    width = f"u{array.itemsize}"
    return np.invert(np.ascontiguousarray(array).view(width)).view(array.dtype)


class InvertedTest(unittest.TestCase):
    def test_every_array_is_compared(self):
        equal = set()
        for folder in FOLDERS:
            for name in case_names(folder):
                equal |= self.equal_when_inverted(load_case(os.path.join(folder, f"{name}.npz")))
        self.assertEqual(equal, set(UNCOMPARED))

    def equal_when_inverted(self, case):
        jobs, _ = plan(case)
        checks = [check for job in jobs for check in job.checks() if check.want.size]
        noticed = {check.array for check in checks if not check.judge(inverted(check.want)).equal}
        for check in checks:
            verdict = check.judge(check.want)
            self.assertTrue(verdict.equal, f"{case.name}.{check.array}: {verdict.first}")
        return {f"{case.name}.{check.array}" for check in checks if check.array not in noticed}


class TotalsTest(unittest.TestCase):
    LINES = tuple(line.split() for line in (
        "equal cpu 2", "equal emulator 1", "unsupported emulator case.b",
        "reference cpu emulator case.c"))

    def test_pinned_arrays(self):
        found = {"case.a": "equal", "case.b": "equal", "case.c": "reference"}
        self.assertEqual(totals.problems(self.LINES, "cpu", found), [])
        found["case.b"] = "unsupported"
        self.assertEqual(totals.problems(self.LINES, "emulator", found), [])

    def test_array_that_nothing_computes(self):
        found = {"case.a": "equal", "case.b": "unsupported", "case.c": "reference"}
        self.assertEqual(totals.problems(self.LINES, "cpu", found),
                         ["case.b: expected equal, but got unsupported",
                          "expected 2 arrays that are compared, but got 1"])

    def test_array_that_is_gone(self):
        self.assertEqual(totals.problems(self.LINES, "emulator", {"case.a": "equal"}),
                         ["case.b: expected unsupported, but there is no such array",
                          "case.c: expected reference, but there is no such array"])

    def test_array_that_is_computed_now(self):
        found = {"case.a": "equal", "case.b": "equal", "case.c": "reference"}
        self.assertEqual(totals.problems(self.LINES, "emulator", found),
                         ["case.b: expected unsupported, but got equal",
                          "expected 1 arrays that are compared, but got 2"])

    def test_mismatch_is_told_once(self):
        found = {"case.a": "mismatching", "case.b": "equal", "case.c": "reference"}
        self.assertEqual(totals.problems(self.LINES, "cpu", found), [])

    def test_folder_without_a_list(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertIsNone(totals.load(folder))

    def test_stored_lists(self):
        for folder in FOLDERS:
            lines = totals.load(folder)
            self.assertEqual([line[:2] for line in lines[:2]],
                             [["equal", "cpu"], ["equal", "emulator"]])
            names = {f"{name}.{array}" for name in case_names(folder)
                     for array in load_case(os.path.join(folder, f"{name}.npz")).expected}
            self.assertLessEqual({line[-1] for line in lines[2:]}, names)


if __name__ == "__main__":
    unittest.main()
