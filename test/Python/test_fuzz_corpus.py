# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The archive of inputs of the fuzzer (scripts/fuzz_corpus.py)."""

import hashlib
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import fuzz_corpus


class FuzzCorpusTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, data):
        path = self.folder / name
        path.write_bytes(data)
        return path

    def test_inputs_come_back_once_each(self):
        archive = self.folder / "a.zip"
        inputs = [b"func.func @f()", b"\x80\x00\xff", b""]
        paths = [self.write(f"in{i}", data) for i, data in enumerate(inputs)]
        self.assertEqual(fuzz_corpus.add(paths[:2], archive), 2)
        self.assertEqual(fuzz_corpus.add(paths, archive), 1)
        unpacked = self.folder / "unpacked"
        unpacked.mkdir()
        (unpacked / "old").write_bytes(b"what was there")
        self.assertEqual(fuzz_corpus.unpack(unpacked, archive), 3)
        self.assertEqual({path.name: path.read_bytes() for path in unpacked.iterdir()},
                         {hashlib.sha1(data).hexdigest(): data for data in inputs})

    def test_the_order_of_inputs_changes_no_byte(self):
        paths = [self.write("a", b"one"), self.write("b", b"two")]
        archives = [self.folder / "1.zip", self.folder / "2.zip"]
        fuzz_corpus.add(paths, archives[0])
        for path in reversed(paths):
            fuzz_corpus.add([path], archives[1])
        self.assertEqual(*(archive.read_bytes() for archive in archives))

    def test_the_stored_inputs_are_named_after_their_content(self):
        inputs = fuzz_corpus.read_corpus()
        self.assertGreater(len(inputs), 600)
        for name, data in inputs.items():
            self.assertEqual(hashlib.sha1(data).hexdigest(), name)


if __name__ == "__main__":
    unittest.main()
