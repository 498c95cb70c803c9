# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs that the package has."""

import importlib.metadata
import pathlib
import subprocess
import sys
import tempfile
import unittest

import blockscale

PROGRAM = pathlib.Path(blockscale.__file__).parent / "_lib" / "blockscale"
NAMES = ("compile", "emulate", "launch", "opt", "report", "roofline", "run")
INPUTS = pathlib.Path(__file__).parent / "Inputs"


# What pip makes a program of, wherever it puts that.
START = "import sys; sys.argv.pop(0); from blockscale._programs import main; main()"


def run(name, *arguments, input=None):
    command = [sys.executable, "-c", START, f"/usr/bin/blockscale-{name}", *arguments]
    return subprocess.run(command, capture_output=True, input=input, text=True)


@unittest.skipUnless(PROGRAM.exists(), f"the package has no programs: {PROGRAM}")
class ProgramsTest(unittest.TestCase):
    def test_entry_points(self):
        found = {each.name: each.value for each in importlib.metadata.distribution(
            "blockscale").entry_points if each.group == "console_scripts"}
        self.assertEqual(found, {
            "blockscale-checkpoint": "blockscale.checkpoint._command:main",
            "blockscale-import": "blockscale._import:main",
            **{f"blockscale-{name}": "blockscale._programs:main" for name in NAMES}})

    def test_each_says_its_own_name_and_version(self):
        for name in NAMES:
            shown = run(name, "--version").stdout
            self.assertIn(f"blockscale-{name} {blockscale.__version__}", shown)

    def test_options_of_one_are_not_those_of_another(self):
        shown = run("roofline", "--emit=ptx")
        self.assertEqual(shown.returncode, 1)
        self.assertIn("Unknown command line argument '--emit=ptx'", shown.stderr)

    def test_compile_and_run(self):
        with tempfile.TemporaryDirectory() as folder:
            module = pathlib.Path(folder, "copy.mlir")
            module.write_text("func.func @f() -> tensor<2xf32> { %0 = arith.constant dense<[1.0, "
                              "2.0]> : tensor<2xf32>\n return %0 : tensor<2xf32> }")
            done = run("run", module, "--out", f"{folder}/y.npy")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            import numpy as np
            self.assertEqual(np.load(f"{folder}/y.npy").tolist(), [1, 2])
            done = run("compile", module, "--target=cpu", "--emit=object", "-o",
                       f"{folder}/y.o")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(pathlib.Path(folder, "y.o").read_bytes()[:4], b"\x7fELF")

    # A program that knows nothing of the emulator finds it as its device, through the driver's
    # library and the runtime's.
    def test_emulate_a_program_of_cuda(self):
        program = (sys.executable, INPUTS / "cuda_store.py")
        done = run("emulate", "--program", *program)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "7\n", ""))
        done = run("emulate", "--program", *program, "4096")
        self.assertEqual(done.returncode, 1)
        self.assertIn("out-of-bounds: write of 4 bytes", done.stderr)

    # The dialects and passes of the pipelines; those of all of MLIR are a build's.
    def test_opt(self):
        source = ("func.func @f(%x: tensor<?x64xbf16>) -> tensor<f32> { %0 = blockscale.amax %x "
                  ": tensor<?x64xbf16> -> tensor<f32>\n return %0 : tensor<f32> }")
        for passes, expected in (("--blockscale-to-cpu", "llvm.func @_mlir_ciface_f("),
                                 ("--canonicalize --cse", "blockscale.amax"),
                                 ("--blockscale-to-gpu=chip=sm_90a", "gpu.module"),
                                 ("--convert-tensor-to-linalg", "blockscale.amax")):
            done = run("opt", "-", *passes.split(), input=source)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn(expected, done.stdout)
        done = run("opt", "-", "--blockscale-to-spirv", input=source)
        self.assertEqual(done.returncode, 1)
        self.assertIn("Unknown command line argument '--blockscale-to-spirv'", done.stderr)

    def test_an_unknown_program(self):
        done = run("quantize")
        self.assertEqual(done.returncode, 1)
        self.assertIn("expected the name of a program, one of blockscale-compile, ", done.stderr)
        self.assertIn("but got 'blockscale-quantize'", done.stderr)
