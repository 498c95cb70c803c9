# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Some mutants of the files of each reader: each call ends as is documented, with a message and
without a traceback, in 2 GiB and 10 s. scripts/long/hostile-files.py reads 300 of each."""

import functools
import tempfile
import unittest
from pathlib import Path

import readers
from limited import Limited

COUNT = 3


class MutantsTest(unittest.TestCase):
    def check(self, make):
        with tempfile.TemporaryDirectory() as folder, Limited() as limited:
            found = make(Path(folder))
            if not found:
                self.skipTest("the packages of these files are not installed")
            for reader in found:
                with self.subTest(reader.name):
                    self.assertEqual("\n".join(readers.run(reader, limited, 0, COUNT).faults), "")

    def test_checkpoints(self):
        self.check(readers.make_checkpoints)

    def test_object_storage(self):
        self.check(readers.make_remotes)

    def test_models_and_compiled_functions(self):
        """Readers that need no package that takes long to be imported."""
        self.check(functools.partial(readers.make_imports,
                                     names=("text of MLIR", "compiled functions")))


if __name__ == "__main__":
    unittest.main()
