# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums of tensor cores: those of an H200 (test/Data/sums), of the numpy reference, of
Numerics/TensorCoreSum.h and of the emulator, and what scripts/gpu/sums.py says of a GPU."""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

import numpy as np

from golden import ROOT, reference

SCRIPT = f"{ROOT}/scripts/gpu/sums.py"
H200 = f"{ROOT}/test/Data/sums/h200.npz"

sys.path.insert(0, f"{ROOT}/scripts/gpu")
import sum_draws
import sum_model
import sums
from sum_kernels import KINDS

BUILD = Path(os.environ.get("BLOCKSCALE_BUILD_DIR", f"{ROOT}/build"))
EMULATED_CUDA = BUILD / "lib/blockscale/libcuda.so.1"
# scripts/gpu/sums.py with smaller products.
SMALL_SCRIPT = f"""
import sys
sys.path.insert(0, {f"{ROOT}/scripts/gpu"!r})
import sums
sums.ROWS, sums.COLS = 128, 80
sys.exit(sums.main())
"""
MODEL_FOLDER = tempfile.TemporaryDirectory()
_models = []


def get_model():
    """The header, compiled once."""
    if not _models:
        _models.append(sum_model.Model(MODEL_FOLDER.name))
    return _models[0]


def tearDownModule():
    MODEL_FOLDER.cleanup()


def decode(kind, codes):
    """The values of codes, by the definition of their type."""
    codes = codes.astype(np.uint32)
    if kind in ("bf16", "tf32"):
        values = (codes << (16 if kind == "bf16" else 13)).view(np.float32)
    elif kind == "f16":
        values = codes.astype(np.uint16).view(np.float16)
    else:
        values = {"e4m3": reference.E4M3, "e5m2": reference.E5M2}[kind].decode(
            codes.astype(np.uint8))
    # NaN may be signaling.
    with np.errstate(invalid="ignore"):
        return values.astype(np.float64)


def multiply(how, kinds, operands):
    """The bits of the reference's sums."""
    a, b = (decode(kind, codes) for kind, codes in zip(kinds, (operands.a, operands.b)))
    return reference.multiply_on_tensor_cores(how, a[:, None], b[None], kinds,
                                              operands.starts.view(np.float32)).view(np.uint32)


def get_numbers(how):
    return sum_model.Numbers(how.products, how.fraction_bits, how.result_bits, how.least_exponent,
                             how.pairs_apart)


class KnownTest(unittest.TestCase):
    def test_both_know_the_same(self):
        known = 0
        for tensor_cores in sum_model.TENSOR_CORES:
            for instruction in sum_model.INSTRUCTIONS:
                for kind in sum_model.FORMATS:
                    how = reference.tensor_core_sum(tensor_cores, instruction, kind)
                    self.assertEqual(get_model().find(tensor_cores, instruction, kind),
                                     how and get_numbers(how))
                    known += how is not None
        # Two types of FP8 count as two.
        self.assertEqual(known, 3 + 6 * 5)


class SiliconTest(unittest.TestCase):
    """The bits of an H200, of each class."""

    @classmethod
    def setUpClass(cls):
        with np.load(H200) as archive:
            cls.arrays = {key: archive[key] for key in archive.files}

    def cases(self):
        """Instruction, types, class, operands and the results of the H200."""
        for key, results in self.arrays.items():
            types, name, array = key.split("; ")
            if array in ("a", "b", "start"):
                continue
            of_class = f"{types}; {name}"
            starts = self.arrays.get(f"{of_class}; start", np.zeros_like(results))
            operands = sum_draws.Operands(self.arrays[f"{of_class}; a"],
                                          self.arrays[f"{of_class}; b"], starts)
            yield array, tuple(types.split(" x ")), name, operands, results

    def test_has_all_classes(self):
        found = {(instruction, types, name)
                 for instruction, types, name, _, _ in self.cases()}
        wanted = {(kind.instruction, kind.types, sum_draws.describe_class(*each))
                  for kind in KINDS for each in sum_draws.list_classes(kind.types)}
        self.assertEqual(found, wanted)

    def test_reference(self):
        for instruction, types, name, operands, results in self.cases():
            with self.subTest(f"{instruction} {types}, {name}"):
                how = reference.tensor_core_sum("hopper", instruction, types[0])
                np.testing.assert_array_equal(multiply(how, types, operands), results)

    def test_header(self):
        model = get_model()
        for instruction, types, name, operands, results in self.cases():
            with self.subTest(f"{instruction} {types}, {name}"):
                numbers = model.find("hopper", instruction, types[0])
                np.testing.assert_array_equal(
                    model.multiply_codes(numbers, types, operands), results)

    # The vectors tell each number of each instruction from its neighbours.
    def test_tells_numbers_apart(self):
        model, cases = get_model(), list(self.cases())
        for instruction in ("mma.sync", "wgmma"):
            for types in sorted({case[1] for case in cases}):
                right = model.find("hopper", instruction, types[0])
                wrong = [replace(right, products=right.products // 2),
                         replace(right, products=8 if right.products == 16 else 16),
                         replace(right, fraction_bits=right.fraction_bits - 1),
                         replace(right, fraction_bits=right.fraction_bits + 1),
                         replace(right, result_bits=right.result_bits - 1),
                         replace(right, pairs_apart=not right.pairs_apart)]
                # Narrow types have no products so small.
                if types[0] in ("bf16", "tf32"):
                    wrong += [replace(right, least_exponent=least)
                              for least in (-10000, -134, -132, -126)]
                for numbers in wrong:
                    if numbers == right:
                        continue
                    with self.subTest(f"{instruction} {types}: {numbers}"):
                        self.assertTrue(any(
                            (model.multiply_codes(numbers, types, operands) != results).any()
                            for at, of, _, operands, results in cases
                            if (at, of) == (instruction, types)))


class ReferenceTest(unittest.TestCase):
    # Half a million sums, of every instruction that is known and every class.
    def test_is_the_header(self):
        model, count = get_model(), 0
        for (tensor_cores, instruction, bits), how in reference.tensor_core.SUMS.items():
            for types in sorted({kind.types for kind in KINDS}):
                if sum_draws.FIELDS[types[0]][0] != bits:
                    continue
                for name, start in sum_draws.list_classes(types):
                    seed = sums.make_seed(tensor_cores, instruction, types, name, start)
                    operands = sum_draws.draw(seed, types, name, start, 40, 32, 1 + seed % 70)
                    with self.subTest(f"{tensor_cores} {instruction} {types}, {name}, {start}"):
                        np.testing.assert_array_equal(
                            multiply(how, types, operands),
                            model.multiply_codes(get_numbers(how), types, operands))
                    count += operands.starts.size
        self.assertGreater(count, 5e5)


class FakeMachine:
    """A GPU that adds by numbers of its own."""

    def __init__(self, numbers):
        self.numbers = numbers

    def multiply(self, kind, operands):
        return get_model().multiply_codes(self.numbers, kind.types, operands)


class SearchTest(unittest.TestCase):
    def search(self, kind, machine):
        run = sums.Run.__new__(sums.Run)
        run.machine, run.model = machine, get_model()
        with contextlib.redirect_stdout(io.StringIO()) as out:
            found = run.search_kind(kind)
        return found, out.getvalue()

    def test_finds_numbers(self):
        bf16 = next(kind for kind in KINDS if kind.types == ("bf16", "bf16"))
        for numbers in (sum_model.Numbers(8, 24, 23, -132), sum_model.Numbers(16, 26, 23, -131)):
            self.assertEqual(self.search(bf16, FakeMachine(numbers)),
                             (True, f"{bf16}: {numbers}\n"))

    def test_says_that_none_fits(self):
        class Exact(FakeMachine):
            def multiply(self, kind, operands):
                with np.errstate(all="ignore"):
                    exact = decode("bf16", operands.a) @ decode("bf16", operands.b).T
                    return exact.astype(np.float32).view(np.uint32)

        bf16 = next(kind for kind in KINDS if kind.types == ("bf16", "bf16"))
        self.assertEqual(self.search(bf16, Exact(None)),
                         (False, f"{bf16}: none fits (of the ordinary numbers alone: none)\n"))


@unittest.skipUnless(EMULATED_CUDA.exists(), "the emulator is not built")
class EmulatorTest(unittest.TestCase):
    """Ten million sums by the emulator, which has rules of its own, beside the header's."""

    def run_script(self, chip, *arguments):
        run = subprocess.run([sys.executable, "-c", SMALL_SCRIPT, *arguments, "--library",
                              EMULATED_CUDA], capture_output=True, text=True, check=False,
                             env={**os.environ, "BLOCKSCALE_EMULATE_CHIP": chip})
        self.assertEqual((run.returncode, run.stderr), (0, ""), run.stdout)
        return run.stdout.splitlines()

    def test_every_chip_is_the_header(self):
        total = 0
        for chip, instructions in (("sm_80", 3), ("sm_89", 7), ("sm_90a", 21), ("sm_100a", 7),
                                   ("sm_120a", 7)):
            with self.subTest(chip):
                lines = self.run_script(chip, "check", "--sums", "1")
                self.assertEqual(sum(line.endswith(", 0 differ") for line in lines),
                                 instructions + 1, lines)
                total += int(lines[-1].split()[0])
        self.assertGreater(total, 1e7)

    def test_a_search_finds_what_the_emulator_adds(self):
        self.assertEqual(
            self.run_script("sm_89", "search", "--only", "mma.sync bf16")[-2:],
            [f"mma.sync bf16: {sum_model.Numbers(8, 24, 23, -132)}", "1 of 1 instructions found"])


class ScriptTest(unittest.TestCase):
    def test_refuses_a_machine_without_a_gpu(self):
        run = subprocess.run([sys.executable, SCRIPT, "search", "--library", "libnone.so"],
                             capture_output=True, text=True)
        self.assertEqual((run.returncode, run.stdout), (2, ""))
        self.assertTrue(run.stderr.startswith(
            "error: expected a GPU with tensor cores and its driver: libnone.so"), run.stderr)


if __name__ == "__main__":
    unittest.main()
