# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The comparison accepts the expected arrays and notices what differs."""

import os
import unittest

import numpy as np

from cases import Case, case_names, load_case, swizzled
from contract import (
    compare_bits,
    compare_map,
    compare_product,
    compare_winners,
    degenerate,
    edge_blocks,
    product_bound,
)
from jobs import bits_check
from plan import plan

DATA = os.path.join(os.path.dirname(__file__), "..", "Data")
FOLDERS = [os.path.join(DATA, name) for name in ("golden", "oracles")]
PRODUCTS = ("y_f32", "y_bf16", "ao_y_f32", "te_y_f32", "tosa_y_f32", "ao_emulated_bf16")
WINNERS = ("best_amax", "triton_best_amax", "best_index")
TIMES = ("table",)


def bytes_of(*values):
    return np.array(values, np.uint8)


def mismatches(got, want, element, **options):
    return compare_bits(bytes_of(*got), bytes_of(*want), element, **options).mismatches


class GoldenTest(unittest.TestCase):
    """Every check over every case of the project's vectors."""

    @classmethod
    def setUpClass(cls):
        cases = [
            load_case(os.path.join(folder, name + ".npz"))
            for folder in FOLDERS
            for name in case_names(folder)
        ]
        cls.plans = [(case, *plan(case)) for case in cases]

    def each_check(self):
        for case, jobs, _ in self.plans:
            for job in jobs:
                for check in job.checks():
                    yield f"{case.name}.{check.array} {check.route}", check

    def test_every_array_is_judged_or_set_aside(self):
        for case, jobs, aside in self.plans:
            judged = {check.array for job in jobs for check in job.checks()}
            # Operands of products that are quantized again are inputs.
            known = set(case.expected) | {"in_" + array for array in case.inputs}
            self.assertLessEqual(judged, known, case.name)
            self.assertLessEqual(set(case.expected), judged | set(aside), case.name)
            self.assertFalse(judged & set(aside), case.name)
            for array, entry in aside.items():
                self.assertTrue(entry.reason, f"{case.name}.{array}")

    def test_what_is_unsupported(self):
        entries = [entry for _, _, aside in self.plans for entry in aside.items()]
        unsupported = {a for a, entry in entries if entry.category == "unsupported"}
        casts = {"torch_e8m0", "torch_e8m0_from_bf16", "mld_e8m0"}
        self.assertEqual(unsupported, casts | {"rht_t_f32"})

    def test_expected_arrays_are_equal(self):
        for name, check in self.each_check():
            verdict = check.judge(check.want)
            self.assertTrue(verdict.equal, f"{name}: {verdict.first}")

    def test_a_flipped_bit_is_one_mismatch(self):
        """In each array, but where the contract leaves all of it open."""
        random = np.random.default_rng(0)
        for name, check in self.each_check():
            if check.array in PRODUCTS + WINNERS + TIMES:
                continue
            uncompared = check.judge(check.want).notes
            noticed = 0
            for at in random.integers(check.want.size, size=40):
                got = check.want.copy()
                got.ravel().view(f"u{got.itemsize}")[at] ^= 1
                verdict = check.judge(got)
                noticed += verdict.mismatches
                self.assertLessEqual(verdict.mismatches, 1, name)
                self.assertEqual(bool(verdict.first), not verdict.equal, name)
            # The cases `special` and `zero` have NaN, where one bit may be payload.
            if not uncompared and "special" not in name and "zero" not in name:
                self.assertGreaterEqual(noticed, 20, name)

    def test_winners_of_other_blocks_are_noticed(self):
        for name, check in self.each_check():
            if check.array in WINNERS:
                verdict = check.judge(np.roll(check.want, 1))
                self.assertGreater(verdict.mismatches, verdict.total // 2, name)

    def test_a_time_that_is_off_is_noticed(self):
        for name, check in self.each_check():
            if check.array in TIMES:
                known = int(np.isfinite(check.want).sum())
                zeros = int((check.want == 0).sum())
                verdict = check.judge(check.want * (1 + 1e-11))
                self.assertEqual(verdict.mismatches, known - zeros, name)
                self.assertTrue(check.judge(check.want * (1 + 1e-14)).equal, name)
                verdict = check.judge(np.zeros(check.want.shape))
                self.assertEqual(verdict.mismatches, check.want.size - zeros, name)

    def test_a_wrong_product_is_noticed(self):
        for name, check in self.each_check():
            if check.array not in PRODUCTS:
                continue
            got = check.want.copy()
            sign = got.dtype.type(1 << (8 * got.itemsize - 1))
            largest = np.argmax(got.ravel() & ~sign)
            got.ravel()[largest] ^= sign
            self.assertEqual(check.judge(got).mismatches, 1, name)


class BitsTest(unittest.TestCase):
    def test_nan_equals_nan_only(self):
        self.assertEqual(mismatches([0x7F, 0xFF], [0xFF, 0x7F], "f8E4M3FN"), 0)
        self.assertEqual(mismatches([0x7E, 0x7F], [0x7F, 0xFE], "f8E4M3FN"), 2)
        self.assertEqual(mismatches([0x7D, 0xFF], [0x7F, 0x7E], "f8E5M2"), 0)
        self.assertEqual(mismatches([0x7C], [0x7F], "f8E5M2"), 1)
        self.assertEqual(mismatches([0x7F], [0xFF], "f8E8M0FNU"), 1)
        self.assertEqual(mismatches([0xFE], [0xFF], "f8E8M0FNU"), 1)

    def test_zero_keeps_its_sign(self):
        self.assertEqual(mismatches([8], [0], "f4E2M1FN"), 1)
        self.assertEqual(mismatches([0x80], [0], "f8E4M3FN"), 1)
        zeros = np.array([0, 0x80000000], np.uint32)
        self.assertEqual(compare_bits(zeros, zeros[::-1], "f32").mismatches, 2)

    def test_nan_payload_of_floats(self):
        nans = np.array([0x7FC00000, 0xFF800001], np.uint32)
        self.assertTrue(compare_bits(nans, nans[::-1], "f32").equal)
        infinity = np.array([0x7F800000, 0xFF800000], np.uint32)
        self.assertEqual(compare_bits(infinity, nans, "f32").mismatches, 2)
        nan, infinity = np.array([0x7F81], np.uint16), np.array([0x7F80], np.uint16)
        self.assertEqual(compare_bits(infinity, nan, "bf16").mismatches, 1)

    def test_first_mismatch_is_named(self):
        got = np.zeros((2, 3), np.uint8)
        want = got.copy()
        want[1, 1], want[1, 2] = 0x2A, 1
        verdict = compare_bits(got, want, "f8E4M3FN")
        self.assertEqual(verdict.mismatches, 2)
        self.assertEqual(verdict.first, "at (1, 1): got 0x0, expected 0x2a")

    def test_shape_and_dtype_must_agree(self):
        want = np.zeros((2, 3), np.uint8)
        for got in (np.zeros((3, 2), np.uint8), np.zeros((2, 3), np.int8)):
            self.assertFalse(compare_bits(got, want, "f8E4M3FN").equal)

    def test_masked_elements_are_counted_not_compared(self):
        mask = np.array([True, True, False])
        verdict = compare_bits(
            bytes_of(1, 2, 3), bytes_of(0, 2, 3), "f4E2M1FN", {"reason": mask}
        )
        self.assertTrue(verdict.equal)
        self.assertEqual(verdict.notes, ["2 not compared (reason), of which 1 differ"])
        masked = dict(uncompared={"reason": mask})
        self.assertEqual(mismatches([1, 2, 4], [0, 2, 3], "f4E2M1FN", **masked), 1)

    def test_packed_codes_count_each_nibble(self):
        want = bytes_of(0x21, 0x43).reshape(1, 2)
        judge = bits_check("q", want, "f4E2M1FN").judge
        verdict = judge(bytes_of(0x31, 0x42).reshape(1, 2))
        self.assertEqual(verdict.mismatches, 2)
        self.assertEqual(verdict.first, "at (0, 1): got 0x3, expected 0x2")

    def test_longer_expected_rows_must_end_in_zero(self):
        for rest, expected in ((0, 0), (0x10, 1)):
            want = bytes_of(0x21, 0x43, rest).reshape(1, 3)
            check = bits_check("q", want, "f4E2M1FN")
            got = check.form(bytes_of(0x21, 0x43).reshape(1, 2))
            self.assertEqual(check.judge(got).mismatches, expected)


class RuleTest(unittest.TestCase):
    def test_degenerate_global_scales(self):
        scales = np.array([np.nan, np.inf, 0, 2.0**-127, 2.0**-126, 1], np.float32)
        self.assertEqual(degenerate(scales).tolist(), [True] * 4 + [False] * 2)

    def test_product_bound(self):
        exact, absdot = np.array([100.0]), np.array([1000.0])
        bound = product_bound(exact, absdot, 512, bf16_result=False)
        np.testing.assert_allclose(bound, 2e-3)
        np.testing.assert_allclose(
            product_bound(exact, absdot, 16, bf16_result=True), 1e-3 + 100 / 256
        )
        for got, expected in ((100.0019, 0), (99.9981, 0), (100.0021, 1), (np.nan, 1)):
            verdict = compare_product(np.array([got]), exact, bound)
            self.assertEqual(verdict.mismatches, expected, got)

    def test_maps_compare_the_common_prefix(self):
        want = np.array([[0, 1], [-1, -1]])
        for got, expected in (
            ([0, 1], 0),
            ([0, 1, -1, -1, -1, 0], 0),
            ([0, 1, -1, 2], 1),
            ([0, 1, -1, -1, 5], 1),
            ([0], 1),
        ):
            self.assertEqual(compare_map(np.array(got), want).mismatches, expected, got)

    def test_another_winner_is_a_tie_only_where_it_loses_no_more(self):
        codes = np.array([6, 4, 3, 2, 1.5, 1, 0.5, 0] * 2, np.float32)
        x, want = np.stack([codes, 0 * codes]), np.array([6, 1], np.float32)
        for got, expected in (([6, 1], 0), ([6, 2], 0), ([5, 1], 1), ([np.nan, 1], 1)):
            got = np.array(got, np.float32)
            verdict = compare_winners(got, want, x, np.zeros(2))
            self.assertEqual(verdict.mismatches, expected, got)
            self.assertEqual(bool(verdict.notes), got[1] == 2)

    def test_swizzled_pads_and_orders(self):
        tiles = swizzled(np.arange(1, 130 * 5 + 1).reshape(130, 5))
        self.assertEqual(tiles.size, 2 * 2 * 512)
        self.assertEqual(tiles[16 + 4 + 2], 33 * 5 + 3)  # row 33, column 2
        self.assertEqual(tiles[512], 5)  # row 0, column 4
        self.assertEqual(tiles[2 * 512 + 16 + 1], 129 * 5 + 2)  # row 129, column 1
        self.assertEqual(np.count_nonzero(tiles), 130 * 5)

    def test_edge_blocks(self):
        blocks = np.ones((6, 32), np.float32)
        blocks[1, 3], blocks[2, 3] = np.inf, np.nan
        blocks[4, 3] = 448 * (1 + 2.0**-22)
        blocks[5, 3] = 1.8 * 2.0**127
        scale = np.full((6, 1), 119, np.uint8)
        scale[3] = 0
        bits = blocks.view(np.uint32)
        always = [False, True, True, True]

        def edges(rule):
            return edge_blocks(bits, (1, 32), scale, rule, 448.0).ravel().tolist()

        self.assertEqual(edges("floor"), always + [False, False])
        self.assertEqual(edges("rceil"), always + [True, False])
        self.assertEqual(edges("even"), always + [False, True])


class PlanTest(unittest.TestCase):
    """Which array states the contract, and what is set aside."""

    @staticmethod
    def mx_case(identical=(), **extra):
        x = np.zeros((1, 32), np.uint16)
        x[0, 0] = 0x7F80
        prefix = "ao018_floor_1x32_"
        expected = {
            prefix + "qdata": np.full((1, 32), 0x7E, np.uint8),
            prefix + "scale": np.full((1, 1), 247, np.uint8),
        }
        meta = {"op": "mx_quantize", "identical_to_ao018": {"aoaug26": list(identical)}}
        return Case("mx", meta, {"x": x}, {**expected, **extra})

    def checks(self, case, array):
        jobs, aside = plan(case)
        checks = [c for job in jobs for c in job.checks() if c.array == array]
        return checks, aside

    def test_edge_rules_of_0_18_are_no_contract(self):
        checks, _ = self.checks(self.mx_case(), "ao018_floor_1x32_scale")
        for check in checks:
            got = check.want.copy()
            got.ravel()[0] ^= 8
            self.assertTrue(check.judge(got).equal)

    def test_arrays_identical_to_main_are(self):
        case = self.mx_case(["out_aoaug26_floor_1x32_scale"])
        checks, _ = self.checks(case, "ao018_floor_1x32_scale")
        self.assertTrue(checks)
        self.assertFalse(any(c.judge(c.want ^ 8).equal for c in checks))

    def test_main_supersedes_0_18(self):
        nan = np.full((1, 32), 0x7F, np.uint8)
        case = self.mx_case(aoaug26_floor_1x32_qdata=nan)
        checks, aside = self.checks(case, "ao018_floor_1x32_qdata")
        self.assertEqual(checks, [])
        self.assertEqual(aside["ao018_floor_1x32_qdata"].category, "superseded")
        checks, _ = self.checks(case, "aoaug26_floor_1x32_qdata")
        self.assertTrue(checks)
        self.assertFalse(any(c.judge(nan - 1).equal for c in checks))

    def test_unknown_arrays_and_operations_are_unsupported(self):
        case = self.mx_case(fp3_scale=np.zeros(1, np.uint8))
        self.assertEqual(plan(case)[1]["fp3_scale"].category, "unsupported")
        case.meta["op"] = "convolve"
        jobs, aside = plan(case)
        self.assertEqual(jobs, [])
        self.assertEqual({a.category for a in aside.values()}, {"unsupported"})


if __name__ == "__main__":
    unittest.main()
