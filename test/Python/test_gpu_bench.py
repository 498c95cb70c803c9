# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""benchmarks/gpu/bench.py: what it writes, with the GPU replaced by figures."""

import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
# A packed folder has both side by side.
sys.path[:0] = [str(ROOT / "benchmarks/gpu"), str(ROOT / "python"), str(ROOT / "scripts")]
import bench
import log_head


class BenchTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "pack.json").write_text(json.dumps(
            {"commit": "0123abc", "digests": {bench.CASES[0].name: []}}))

    def run_main(self, share, *options):
        """The exit status and the table of a run that measures one case."""
        row = {"name": bench.CASES[0].name, "label": "rows", "us": 10.0, "copy_us": 10 * share,
               "gbps": 100.0, "share": share, "is_equal": True, "bar": 0.8}
        device = mock.Mock(driver_version="13.0")
        device.name = "a GPU"
        with (mock.patch.multiple(bench, HERE=self.folder, Timer=mock.Mock(), Driver=mock.Mock(),
                                  measure=mock.Mock(return_value=row)),
              mock.patch.object(bench.blockscale_runtime, "Runtime",
                                return_value=mock.Mock(device=lambda: device)),
              mock.patch.object(sys, "argv", ["bench.py", *options]),
              contextlib.redirect_stdout(io.StringIO()) as text):
            return bench.main(), text.getvalue()

    # The figures of a long run are not lost because nobody made their folder.
    def test_makes_the_folder_of_the_results(self):
        out = self.folder / "a/b"
        self.assertEqual(0, self.run_main(0.9, "--out", str(out))[0])
        self.assertEqual("0123abc", json.loads((out / "bench.json").read_text())["commit"])
        self.assertIn("<svg", (out / "bench.svg").read_text())

    # A figure below its bar is the exit status, not only a word in the table.
    def test_a_missed_bar_fails(self):
        status, text = self.run_main(0.7)
        self.assertEqual(1, status)
        self.assertIn("| 0.70 | 0.8 | MISSED |", text)

    def test_begins_with_the_head_of_a_log(self):
        _, text = self.run_main(0.9)
        head, = log_head.read_heads(text)
        self.assertEqual(("0123abc", "a GPU, driver 13.0", "python3 bench.py"),
                         (head.commit, head.machine, head.command))
        self.assertTrue(text.startswith(f"{head}\n\n| function |"))


if __name__ == "__main__":
    unittest.main()
