# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/gpu: what is packed here is complete, and runs elsewhere. The driver here runs no
kernel, so that everything has to differ by what memory was filled with."""

import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BLOCKSCALE_BUILD_DIR", ROOT / "build"))
FAKE_CUDA = BUILD / "lib/fake-cuda/libcuda.so.1"
LIBRARY = BUILD / "lib/libBlockScaleRuntime.so"
CASE = "nvfp4__normal_3x48_f32.npz"


def why_not():
    if not LIBRARY.exists():
        return f"{LIBRARY} is not built"
    if any(name in LIBRARY.read_bytes() for name in (b"__asan_init", b"__tsan_init")):
        return "a sanitizer's library needs a process that began with the sanitizer"
    return None


class GpuPackTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if reason := why_not():
            raise unittest.SkipTest(reason)
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        golden, cls.pack = Path(folder.name) / "golden", Path(folder.name) / "pack"
        golden.mkdir()
        shutil.copy(ROOT / "test/Data/golden" / CASE, golden)
        subprocess.run(
            [sys.executable, ROOT / "scripts/gpu/pack.py", cls.pack, "--target", "sm_90a",
             "--every", "300", "--golden", golden],
            check=True, capture_output=True, text=True,
            env={**os.environ, "BLOCKSCALE_BUILD_DIR": str(BUILD)})

    def run_pack(self, driver, settings="capability=90", log=""):
        # Nothing of the repository or of the environment is used there.
        run = subprocess.run(
            [sys.executable, "-I", self.pack / "run.py", CASE.removesuffix(".npz")],
            capture_output=True, text=True, cwd="/",
            env={"BLOCKSCALE_LIBCUDA": str(driver), "FAKE_CUDA": settings, "FAKE_CUDA_LOG": log})
        self.assertEqual(run.stderr, "")
        return run.returncode, run.stdout

    def test_everything_is_launched_and_compared(self):
        log = self.pack / "log"
        status, text = self.run_pack(FAKE_CUDA, log=str(log))
        self.assertEqual(status, 1)
        self.assertIn("Fake GPU, compute capability 9.0, driver", text)
        self.assertRegex(text, r"  MISMATCH nvfp4__normal_3x48_f32.ao_single_scale: "
                               r"9 of 9, first at \(0, 0\): got 0xa5, expected 0x")
        kinds, empty, empty_firsts = 0, 0, 0
        for path in self.pack.glob("kernels/*.npz"):
            arrays = np.load(path)
            count = len(arrays["kinds"])
            ends = np.cumsum([0, *arrays.get("counts", [2] * count)])
            kinds += count
            for first, end in itertools.pairwise(ends):
                sizes = [arrays[f"out{i}"].size for i in range(first, end)]
                empty += not any(sizes)
                empty_firsts += not sizes[0]
        self.assertGreaterEqual(kinds, 2 + len(list(self.pack.glob("kernels/gpu_*.npz"))))
        # Nothing of nothing differs.
        self.assertEqual(text.count(": result 0: "), kinds - empty_firsts)
        self.assertRegex(text, r"but got 0xa5\n")
        self.assertIn(f"  kinds of kernels equal {empty}, mismatching {kinds - empty}\n", text)
        self.assertRegex(text, rf"\n{empty} passed, \d+ failed\n$")
        self.assertRegex(log.read_text(), r"(?m)^launch quantize_e2m1_torchao_f32_k48_sm90 ")

    def test_a_gpu_of_another_chip(self):
        status, text = self.run_pack(FAKE_CUDA, "capability=100")
        self.assertEqual(status, 1)
        self.assertIn("BLOCKSCALE_WRONG_CHIP: ", text)
        self.assertRegex(text, r"\n0 passed, \d+ failed\n$")

    def test_no_driver(self):
        status, text = self.run_pack("/nowhere/libcuda.so")
        self.assertEqual(status, 1)
        self.assertIn("error: expected the library of a CUDA driver", text)


class CompareTest(unittest.TestCase):
    # Products of a few elements in place of those of models.
    CODE = '''
import sys
sys.path.insert(0, sys.argv.pop(1))
import compare_products
compare_products.LARGE = {"nvfp4": compare_products.op(
    compare_products.NVFP4, {"M": 4, "N": 32, "K": 64}, result="f32")}
compare_products.main()
'''

    def call(self, folder, *arguments, **environment):
        return subprocess.run(
            [sys.executable, "-c", self.CODE, Path(folder) / "scripts/gpu", *arguments],
            capture_output=True, text=True, env={**os.environ, **environment})

    def test_problems_of_calls_are_recorded(self):
        if reason := why_not():
            self.skipTest(reason)
        with tempfile.TemporaryDirectory() as folder:
            pack = Path(folder) / "pack"
            done = self.call(ROOT, "pack", pack, "--cases", "1", BLOCKSCALE_BUILD_DIR=str(BUILD))
            self.assertEqual(done.returncode, 0, done.stderr)
            for settings, problem in (("capability=90", "128 of 128 elements differ"),
                                      ("capability=100", "BLOCKSCALE_WRONG_CHIP: ")):
                done = self.call(pack, "run", BLOCKSCALE_LIBCUDA=str(FAKE_CUDA),
                                 FAKE_CUDA=settings)
                self.assertEqual((done.stderr, done.returncode), ("", 1))
                self.assertRegex(done.stdout, f"CPU and GPU, nvfp4 .*: .*{problem}")
                self.assertRegex(done.stdout, r"\n0 passed, 3 failed\n$")


if __name__ == "__main__":
    unittest.main()
