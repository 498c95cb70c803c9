# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Flatbuffers of TOSA. Programs stand in for tosa-opt that print what it printed, or fail as it
does; where scripts/peers.sh has installed it, the real one is asked too."""

import os
import stat
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import numpy as np

import blockscale as bs
from blockscale import _tosa_file, tosa

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "test/Data/tosa"
REAL = ROOT / ".cache/tosa/bin/tosa-opt"


class ToolTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.file = self.folder / "model of mine.tosa"
        self.file.write_bytes((DATA / "program.tosa").read_bytes())
        # Neither a real tool nor a variable of the machine.
        self.enterContext(mock.patch.dict(os.environ, {"PATH": str(self.folder / "none")}))
        os.environ.pop("BLOCKSCALE_TOSA_OPT", None)

    def make_tool(self, script):
        path = self.folder / "tosa-opt"
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    def printing(self, text):
        (self.folder / "printed").write_text(text, encoding="utf-8")
        # The name that it is asked for is a file with the bytes of the model.
        return self.make_tool(f'''
file=${{1#*tosa-flatbuffer-filename=}}
/usr/bin/cmp "$file" "{self.file}" || exit 3
/bin/cat {self.folder}/printed''')

    def fails(self, error, *parts, tool=None, file=None):
        with self.assertRaises(error) as caught:
            tosa.read(file or self.file, tosa_opt=tool)
        for part in parts:
            self.assertIn(part, str(caught.exception))
        return caught.exception

    def test_a_program(self):
        tool = self.printing((DATA / "program.mlir.txt").read_text(encoding="utf-8"))
        module = tosa.read(self.file, tosa_opt=tool)
        self.assertEqual(module.name, "main")
        self.assertIn("tosa.matmul_t_block_scaled", str(module))
        self.assertEqual(bs.compile(module.source).stages["input"].count("tosa.clamp"), 1)

    def test_the_name_of_the_function(self):
        tool = self.printing((DATA / "program.mlir.txt").read_text(encoding="utf-8"))
        with mock.patch.dict(os.environ, {"BLOCKSCALE_TOSA_OPT": tool}):
            module = _tosa_file.import_file(str(self.file), "forward")
        self.assertIn("func.func @forward(", module.source.decode())
        self.assertNotIn("@main", module.source.decode())
        with self.assertRaisesRegex(bs.ArgumentError, "expected a name of letters"):
            tosa.read(self.file, name="a b", tosa_opt=tool)

    def test_large_constants_are_resources(self):
        values = np.random.default_rng(1).standard_normal((40, 32)).astype(np.float32)
        small = values[:2, :4]

        def constant(array):
            type = f"tensor<{array.shape[0]}x{array.shape[1]}xf32>"
            return (f'"tosa.const"() <{{values = dense<"0x{array.tobytes().hex().upper()}"> : '
                    f"{type}}}> : () -> {type}")

        text = (f"func.func @main() -> (tensor<40x32xf32>, tensor<2x4xf32>) {{\n"
                f"  %0 = {constant(values)}\n  %1 = {constant(small)}\n"
                "  return %0, %1 : tensor<40x32xf32>, tensor<2x4xf32>\n}\n")
        module = tosa.read(self.file, tosa_opt=self.printing(text))
        self.assertEqual(module.source.count(b"= dense_resource<"), 1)
        found = bs.compile(module.source)()
        np.testing.assert_array_equal(found[0], values)
        np.testing.assert_array_equal(found[1], small)

    def test_what_mlir_does_not_know(self):
        text = (DATA / "later.mlir.txt").read_text(encoding="utf-8")
        error = self.fails(bs.CompileError, "expected ops and types of TOSA that this MLIR has",
                           "!tosa.block_scaled<", "times)", "of a later version",
                           tool=self.printing(text))
        self.assertNotIn("tosa.cast", str(error))
        self.assertEqual(len(error.diagnostics), 1)
        # All names at once, each once.
        text = ("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
                "  %0 = tosa.brand_new %x : (tensor<4xf32>) -> tensor<4xf32>\n"
                "  %1 = tosa.abs %0 : (tensor<4xf32>) -> tensor<4xf32>\n"
                "  %2 = tosa.also_new %1 : (tensor<4xf32>) -> tensor<4xf32>\n"
                "  %3 = tosa.brand_new %2 : (tensor<4xf32>) -> tensor<4xf32>\n"
                "  return %3 : tensor<4xf32>\n}\n")
        error = self.fails(bs.CompileError, "but got tosa.also_new, tosa.brand_new (2 times)",
                           tool=self.printing(text))
        self.assertNotIn("tosa.abs", str(error))

    def test_known_ops_that_are_wrong(self):
        text = ("func.func @main(%x: tensor<4xf32>) -> tensor<5xf32> {\n"
                "  %0 = tosa.abs %x : (tensor<4xf32>) -> tensor<5xf32>\n"
                "  return %0 : tensor<5xf32>\n}\n")
        self.fails(bs.CompileError, "tosa.abs", tool=self.printing(text))

    def test_damaged_files(self):
        tool = self.make_tool('echo "ERROR: TOSA graph failed flatbuffer verification"\n'
                              'echo "Fail to load TOSA file model_of_mine.tosa" >&2\nexit 1')
        self.fails(bs.FileError, "model of mine.tosa: expected a TOSA flatbuffer that tosa-opt "
                   "reads, but it says: TOSA graph failed flatbuffer verification", tool=tool)
        quoting = self.make_tool(r"printf 'ERROR: \377\n'; exit 1")
        self.fails(bs.FileError, "it says: \ufffd", tool=quoting)
        printing = self.make_tool(r"printf 'func.func \377'")
        self.fails(bs.FileError, "expected tosa-opt to print UTF-8, but got other",
                   tool=printing)
        # It succeeds, and prints the empty module that it was given.
        self.fails(bs.FileError, "expected a TOSA flatbuffer", tool=self.make_tool("echo module"))
        self.file.write_bytes(b"TOSA")
        self.fails(bs.FileError, "but got a file of 4 bytes", tool=tool)
        self.fails(bs.FileError, "cannot read", tool=tool, file=self.folder / "none.tosa")

    def test_no_tool(self):
        self.enterContext(mock.patch("sys.executable", str(self.folder / "bin/python")))
        self.fails(bs.ArgumentError, "expected the program tosa-opt", "pip install tosa-tools",
                   "$BLOCKSCALE_TOSA_OPT")
        self.fails(bs.ArgumentError, "expected tosa_opt to name the program tosa-opt, but got",
                   tool=str(self.folder / "other"))
        with mock.patch.dict(os.environ, {"BLOCKSCALE_TOSA_OPT": "/none"}):
            self.fails(bs.ArgumentError, "expected $BLOCKSCALE_TOSA_OPT to name the program "
                       "tosa-opt, but got '/none'")

    def test_a_tool_that_does_not_work(self):
        tool = self.make_tool("exec /bin/sleep 60")
        with mock.patch.object(tosa, "_LIMIT", 0.2):
            self.fails(bs.FileError, "expected tosa-opt to read it within 0.2 s, but it did not",
                       tool=tool)
        Path(tool).write_text("#!/none/sh\n", encoding="utf-8")
        self.fails(bs.ArgumentError, "tosa-opt' cannot be run: No such file", tool=tool)

    @unittest.skipUnless(REAL.exists(), "tosa-tools are not installed (scripts/peers.sh tosa)")
    def test_the_real_tool(self):
        module = tosa.read(DATA / "program.tosa", tosa_opt=str(REAL))
        self.assertIn("tosa.matmul_t_block_scaled", str(module))
        for content in (b"garbage, and more of it",
                        (DATA / "program.tosa").read_bytes()[:400]):
            self.file.write_bytes(content)
            self.fails(bs.FileError, "expected a TOSA flatbuffer that tosa-opt reads",
                       tool=str(REAL))
        self.fails(bs.CompileError, "!tosa.block_scaled<", tool=str(REAL),
                   file=DATA / "later.tosa")


if __name__ == "__main__":
    unittest.main()
