# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the package finds its library, and that both mean the same structures."""

import ctypes
import importlib.metadata
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import blockscale
from blockscale._native import _library, _structures

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(blockscale.__file__).parent
LIBRARY = PACKAGE / "_lib/libBlockScaleC.so"
RUNTIME = Path(os.environ.get("BLOCKSCALE_BUILD_DIR", PACKAGE.parents[4])
               ) / "lib/libBlockScaleRuntime.so"


class LibraryTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # The package without a library.
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        shutil.copytree(PACKAGE, cls.folder / "blockscale",
                        ignore=shutil.ignore_patterns("_lib", "__pycache__"))

    def load(self, named):
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("BLOCKSCALE_LIBRARY", "PYTHONPATH")}
        environment["PYTHONPATH"] = str(self.folder)
        if named is not None:
            environment["BLOCKSCALE_LIBRARY"] = str(named)
        return subprocess.run([sys.executable, "-c", "import blockscale as bs; print(bs.__file__)"],
                              env=environment, capture_output=True, text=True)

    def test_none(self):
        found = self.load(None)
        self.assertEqual(found.returncode, 1)
        self.assertIn("ImportError: expected the library libBlockScaleC.so, but found none; "
                      "install the package, or name the library of a build by $BLOCKSCALE_LIBRARY; "
                      "searched:\n  $BLOCKSCALE_LIBRARY: not set\n  the package: no file "
                      f"'{self.folder}/blockscale/_lib/libBlockScaleC.so'", found.stderr)

    def test_the_variable(self):
        found = self.load(LIBRARY)
        self.assertEqual(found.stdout, f"{self.folder}/blockscale/__init__.py\n", found.stderr)
        self.assertIn("$BLOCKSCALE_LIBRARY: no file '/nowhere/lib.so'",
                      self.load("/nowhere/lib.so").stderr)

    def test_other_files(self):
        self.assertIn(f"ImportError: cannot load the library of BlockScale: {__file__}: ",
                      self.load(__file__).stderr)

    @unittest.skipUnless(RUNTIME.exists(), f"needs {RUNTIME} of a build")
    def test_a_library_without_functions(self):
        self.assertIn(f"expected '{RUNTIME}' to be a library of this version of the package, but "
                      "it has no function blockscale_", self.load(RUNTIME).stderr)

    def test_headers_are_there(self):
        # Those without types of MLIR, which the library does not show.
        self.assertEqual(sorted(file.stem for file in PACKAGE.glob("_include/blockscale-c/*")),
                         ["Checkpoint", "Compile", "Numerics", "Policy", "Run", "Runtime", "Xla"])


class WheelTest(unittest.TestCase):
    def test_one_wheel_is_for_all_versions_of_python(self):
        about = importlib.metadata.distribution("blockscale")
        self.assertRegex(about.read_text("WHEEL"), r"(?m)^Tag: py3-none-\w+$")
        self.assertEqual([str(file) for file in about.files if file.suffix == ".so"],
                         ["blockscale/_lib/libBlockScaleC.so"])

    @unittest.skipUnless(shutil.which("cmake"), "needs cmake")
    def test_a_build_that_is_not_finished(self):
        with tempfile.TemporaryDirectory() as folder:
            found = subprocess.run(
                ["cmake", "-S", ROOT / "python", "-B", folder, "-G", "Ninja"], text=True,
                env={**os.environ, "BLOCKSCALE_BUILD_DIR": folder}, capture_output=True)
        self.assertNotEqual(found.returncode, 0)
        self.assertIn("expected BLOCKSCALE_BUILD_DIR to be a finished build, but "
                      f"{os.path.realpath(folder)} has no cmake/BlockScaleConfig.cmake",
                      " ".join(found.stderr.split()))


class StructureTest(unittest.TestCase):
    def test_sizes(self):
        for name, kind in (("compile_config", _structures.CompileConfig),
                           ("executable_config", _structures.ExecutableConfig),
                           ("call_config", _structures.CallConfig)):
            # Room for what the library may write behind what the package knows.
            class Room(ctypes.Structure):
                _fields_ = [("config", kind), ("rest", ctypes.c_char * 256)]

            make = getattr(ctypes.CDLL(str(LIBRARY)), f"blockscale_{name}_default")
            make.restype = Room
            self.assertEqual(make().config.struct_size, ctypes.sizeof(kind), name)

    def test_functions_that_fail_say_why(self):
        status = _library.LIBRARY.blockscale_executable_slot(None, 0, 0, _structures.Slot())
        self.assertEqual(status, 1)
        self.assertIn("expected executable to be", _library.get_error(status))
        self.assertEqual(_library.get_error(0), "")


if __name__ == "__main__":
    unittest.main()
