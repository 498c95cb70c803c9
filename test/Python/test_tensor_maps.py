# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/gpu/tensor_maps.py: its cases are those that an H200 answered, the emulator answers
as the H200 does, and a comparison shows every other difference."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BLOCKSCALE_BUILD_DIR", ROOT / "build"))
EMULATED_CUDA = BUILD / "lib/blockscale/libcuda.so.1"
H200 = ROOT / "test/Data/tensor_maps/h200.json.gz"

sys.path.insert(0, str(ROOT / "scripts/gpu"))
import tensor_maps


def describe_kind(map):
    """What a map is but for its address and sizes."""
    return json.dumps({**map, "address": None, "strides": None, "dims": len(map["dims"])},
                      sort_keys=True)


class CasesTest(unittest.TestCase):
    def test_are_drawn_as_the_h200_answered_them(self):
        cases = tensor_maps.list_cases()
        answers = tensor_maps.read_answers(H200)
        self.assertEqual(tensor_maps.digest(cases), answers["cases"])
        self.assertEqual(len(cases), len(answers["codes"]))

    # Each group has maps that the driver accepts and maps that it refuses, other than those
    # that are refused, or accepted, throughout.
    def test_are_legal_and_illegal(self):
        codes = {}
        answers = tensor_maps.read_answers(H200)
        for (group, _), code in zip(tensor_maps.list_cases(), answers["codes"]):
            codes.setdefault(group, set()).add(code)
        self.assertEqual({group for group, found in codes.items() if found != {0, 1}},
                         {"enumerations", "null pointers", "place of the map"})

    # Where this fails, make_tensor_maps.py has to be run, and an H200 be asked again.
    def test_have_the_maps_of_todays_kernels(self):
        if not (BUILD / "bin/blockscale-compile").exists():
            self.skipTest("blockscale-compile is not built")
        asked = set(map(describe_kind, json.loads(tensor_maps.PRODUCTS.read_text())))
        printed = subprocess.run([sys.executable, ROOT / "test/Data/make_tensor_maps.py",
                                  "--every=3"], check=True, capture_output=True, text=True)
        made = set(map(describe_kind, json.loads(printed.stdout)))
        self.assertEqual(made - asked, set())

    def test_a_plan_is_encoded_as_the_runtime_does(self):
        map = tensor_maps.from_plan({
            "address": {"buffer": "arg0", "offset": 64}, "box": [128, 64], "dims": [512, 300],
            "element": "16U4_ALIGN16B", "element_strides": [1, 2], "fill": "NAN",
            "interleave": "32B", "l2_promotion": "256B", "strides": [256], "swizzle": "128B"})
        self.assertEqual(map, tensor_maps.Map(
            14, 2, (512, 300), (256,), (128, 64), (1, 2), tensor_maps.ADDRESS + 64, 2, 3, 3, 1))


class EmulatorTest(unittest.TestCase):
    def test_answers_as_the_h200_does(self):
        if not EMULATED_CUDA.exists():
            self.skipTest(f"{EMULATED_CUDA} is not built")
        if any(name in EMULATED_CUDA.read_bytes() for name in (b"__asan_init", b"__tsan_init")):
            self.skipTest("a sanitizer's library needs a process that began with the sanitizer")
        with tempfile.TemporaryDirectory() as folder:
            script = [sys.executable, ROOT / "scripts/gpu/tensor_maps.py"]
            answers = Path(folder) / "emulator.json.gz"
            # A process of its own: the emulator says on standard error what it refuses.
            subprocess.run([*script, "--library", EMULATED_CUDA, "--out", answers], check=True,
                           capture_output=True)
            run = subprocess.run([*script, "--compare", H200, answers], capture_output=True,
                                 text=True)
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertRegex(run.stdout, r"\n\d+ of \d+ calls answered alike, \d+ excepted, "
                                     r"0 different\npassed\n$")


class CompareTest(unittest.TestCase):
    def setUp(self):
        base = tensor_maps.make_base()
        self.cases = [("box", base), ("box", replace(base, box=(0, 8, 2)))]
        # A case of each exception.
        self.cases += [("modes", replace(base, **changes)) for changes in (
            {"type": 14}, {"swizzle": 6}, {"place": 8}, {"interleave": 2})]

    def answers(self, codes, states=(3, 201, 719), **changes):
        return {"date": "today", "commit": "0123abc", "device": "a GPU", "driver": "1.2",
                "cases": tensor_maps.digest(self.cases), "states": states, "codes": codes,
                **changes}

    def compare(self, emulator, silicon=(0, 1, 1, 1, 0, 0), **changes):
        lines, is_right = tensor_maps.compare(
            self.answers(silicon), self.answers(emulator, **changes), self.cases)
        return "\n".join(lines), is_right

    def test_equal_answers(self):
        text, is_right = self.compare((0, 1, 0, 0, 1, 1))
        self.assertTrue(is_right)
        self.assertIn("box: 2 calls, 1 accepted by the GPU's driver, 2 answered alike", text)
        self.assertIn("2 of 6 calls answered alike, 4 excepted, 0 different\npassed", text)

    def test_a_difference(self):
        text, is_right = self.compare((0, 0, 0, 0, 1, 1))
        self.assertFalse(is_right)
        self.assertIn("box: 1, but 0 in the emulator: type UINT8, rank 3, address "
                      "0x7f4000000000, dims (1024, 300, 16), strides (1024, 307200), "
                      "box (0, 8, 2), element strides (1, 1, 1), interleave NONE", text)
        self.assertIn("1 of 6 calls answered alike, 4 excepted, 1 different\nfailed", text)

    # An exception is for the two codes that it names.
    def test_another_difference_of_an_exception(self):
        text, is_right = self.compare((0, 1, 201, 0, 1, 1))
        self.assertFalse(is_right)
        self.assertIn("modes: 1, but 201 in the emulator: type 16U4_ALIGN16B", text)

    def test_an_exception_without_a_case(self):
        text, is_right = self.compare((0, 1, 0, 0, 0, 1))
        self.assertFalse(is_right)
        self.assertIn("which documentation forbids and the driver accepts: 0 calls", text)

    def test_a_state(self):
        text, is_right = self.compare((0, 1, 0, 0, 1, 1), states=(3, 0, 719))
        self.assertFalse(is_right)
        self.assertIn("without a context: 201, but 0 in the emulator", text)

    def test_most_differences_of_a_group_are_counted(self):
        lines, _ = tensor_maps.compare(self.answers((0, 1, 1, 1, 0, 0)),
                                       self.answers((1, 0, 0, 0, 1, 1)), self.cases, most=1)
        self.assertIn("  box: 1 differences more", lines)

    def test_other_cases(self):
        text, is_right = self.compare((0, 1, 0, 0, 1, 1), cases="f" * 64)
        self.assertFalse(is_right)
        self.assertRegex(text, "^expected answers to the cases [0-9a-f]{12}, which this script "
                               "draws, but got ffffffffffff of a GPU$")


class RunApartTest(unittest.TestCase):
    def test_calls_behind_one_that_ends_the_process_go_on(self):
        self.assertEqual(
            tensor_maps.run_apart([lambda: None, lambda: 1, lambda: os.kill(os.getpid(), 9),
                                   lambda: 0]),
            [1, "signal 9", 0])


if __name__ == "__main__":
    unittest.main()
