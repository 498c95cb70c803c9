# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""blockscale-import: files by their endings, errors, and files that are written or not."""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

import numpy as np

import blockscale as bs
from blockscale import _import
from blockscale._errors import Problem, UnsupportedError

BUILD = Path(os.environ.get("BLOCKSCALE_BUILD_DIR",
                            Path(__file__).resolve().parents[2] / "build"))
TEXT = """// A comment, which stays.
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = arith.constant dense_resource<w> : tensor<4xf32>
  %y = arith.addf %x, %w : tensor<4xf32>
  return %y : tensor<4xf32>
}
{-# dialect_resources: {builtin: {w: "0x400000000000803F000000400000404000008040"}} #-}
"""


class ImportTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.output = self.folder / "out.mlir"

    def make(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    def run_main(self, *arguments):
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            status = _import.main(arguments)
        return status, errors.getvalue()

    def refuse(self, path, *lines, output=None, options=()):
        """The lines that are told; no file is written, nor is a part of one left."""
        before = sorted(os.listdir(self.folder))
        status, errors = self.run_main(path, "-o", str(output or self.output), *options)
        self.assertEqual(status, 1)
        self.assertEqual(sorted(os.listdir(self.folder)), before)
        found = errors.splitlines()
        self.assertEqual(len(found), len(lines), errors)
        for one, line in zip(found, lines):
            self.assertRegex(one, f"^blockscale-import: error: {line}")

    def use_frontend(self, function):
        """Files that end in .fake are imported by a function."""
        module = types.SimpleNamespace(import_file=function)
        for patch in (mock.patch.dict(_import.FRONTENDS, {".fake": "fake_frontend"}),
                      mock.patch.dict(sys.modules, {"fake_frontend": module})):
            patch.start()
            self.addCleanup(patch.stop)

    def test_text_stays_as_it_is(self):
        path = self.make("model.mlir", TEXT)
        self.assertEqual(self.run_main(path, "-o", str(self.output)), (0, ""))
        self.assertEqual(self.output.read_text(), TEXT)
        self.assertEqual(self.output.stat().st_mode & 0o111, 0)

    @unittest.skipUnless((BUILD / "bin/blockscale-opt").exists(),
                         f"needs blockscale-opt of a build in {BUILD}")
    def test_bytecode_becomes_text(self):
        path = self.make("model.mlir", TEXT)
        bytecode = self.folder / "model.mlirbc"
        subprocess.run([BUILD / "bin/blockscale-opt", path, "-emit-bytecode", "-o", bytecode],
                       check=True)
        self.assertEqual(self.run_main(str(bytecode), "-o", str(self.output)), (0, ""))
        found = bs.compile(self.output)(np.ones(4, np.float32))
        self.assertEqual(found.tolist(), [2, 3, 4, 5])

    def test_a_program_of_its_own(self):
        path = self.make("model.mlir", TEXT)
        run = subprocess.run([sys.executable, "-m", "blockscale._import", path, "-o", "-"],
                             capture_output=True)
        self.assertEqual((run.returncode, run.stdout.decode(), run.stderr), (0, TEXT, b""))

    def test_a_file_is_replaced_whole(self):
        self.output.write_text("old")
        self.refuse(self.make("model.mlir", "func.func @f("), r".*model.mlir:1:13: error: ")
        self.assertEqual(self.output.read_text(), "old")
        self.assertEqual(self.run_main(self.make("model.mlir", TEXT), "-o", str(self.output))[0],
                         0)
        self.assertEqual(self.output.read_text(), TEXT)

    def test_files_that_are_refused(self):
        self.refuse("model.gguf", r"expected a file that ends in \.jax, \.mlir, \.mlirbc, \.onnx, "
                                  r"\.pt2, \.stablehlo or \.tosa, but got 'model.gguf'$")
        self.refuse(str(self.folder / "none.mlir"), "cannot read '.*none.mlir': No such file")
        self.refuse(self.make("bad.mlir", "func.func @f("), r".*bad.mlir:1:13: error: expected")
        self.refuse(self.make("bad.mlirbc", b"ML\xefR\x0d"),
                    "cannot read '.*bad.mlirbc': expected bytecode of a module, but it has an "
                    "error: malformed")
        self.refuse(self.make("wrong.mlir", TEXT.replace("addf", "addi")),
                    ".*wrong.mlir:4:.*error: ")
        self.refuse(self.make("good.mlir", TEXT), "expected --name to be an identifier, but got "
                                                  "'a b'$", options=("--name", "a b"))

    def test_a_folder_that_is_not_there(self):
        path = self.make("model.mlir", TEXT)
        self.refuse(path, "cannot write '.*none/out.mlir': No such file or directory$",
                    output=self.folder / "none/out.mlir")

    def test_all_problems_are_told(self):
        def import_file(path, name):
            raise UnsupportedError.of([
                Problem("first", "Sort", "expected an op that is imported", (path, 12)),
                Problem("second", "NonZero", "expected sizes that are known", None, "layer.0")])
        self.use_frontend(import_file)
        self.refuse(self.make("model.fake", "x"),
                    ".*model.fake:12: first = Sort: expected an op that is imported$",
                    "second = NonZero of module 'layer.0': expected sizes that are known$")

    def test_a_package_that_is_not_installed(self):
        def import_file(path, name):
            raise ImportError("expected fake to be installed; pip install blockscale[fake]")
        self.use_frontend(import_file)
        self.refuse(self.make("model.fake", "x"), "expected fake to be installed; pip install")

    # The text of a module is complete when its file takes its name.
    def test_a_disk_that_is_full(self):
        path = self.make("model.mlir", TEXT)
        with mock.patch("os.replace", side_effect=OSError(28, "No space left on device")):
            self.refuse(path, "cannot write '.*out.mlir': No space left on device$")

    def test_the_name_of_the_function(self):
        names = []
        self.use_frontend(lambda path, name: names.append(name) or types.SimpleNamespace(
            source=TEXT.encode()))
        path = self.make("model.fake", "x")
        self.assertEqual(self.run_main(path, "-o", str(self.output), "--name", "g")[0], 0)
        self.assertEqual(self.run_main(path, "-o", str(self.output))[0], 0)
        self.assertEqual(names, ["g", "forward"])


if __name__ == "__main__":
    unittest.main()
