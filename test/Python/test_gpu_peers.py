# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""benchmarks/gpu/peers.py: what it prints, with the GPU and the packages replaced."""

import contextlib
import importlib.util
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import log_head

# There is another module of this name, for the CPU.
SPEC = importlib.util.spec_from_file_location("gpu_peers", ROOT / "benchmarks/gpu/peers.py")
peers = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(peers)

TIMES = {peers.OURS: 20.0, "a peer": 40.0, "copy": 10.0}


class PeersTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "pack.json").write_text(json.dumps({"commit": "0123abc"}))

    def run_main(self, make, kind="mxfp8", ours=lambda: None, options=()):
        """The exit status and the output of a run of one case."""
        torch = mock.MagicMock()
        torch.cuda.get_device_name.return_value = "a GPU"
        plugin = mock.Mock(candidates=lambda *_: {"blockscale rows": (1000, ours)})
        clock = mock.Mock(capture=lambda call: call,
                          compare=lambda calls: {name: TIMES[name] for name in calls})
        case = ("rows", kind, "rows", (2, 32), ("a peer", make))
        with (mock.patch.dict(sys.modules, {"torch": torch, "torch_plugin": plugin}),
              mock.patch.multiple(peers, HERE=self.folder, CASES=[case],
                                  Clock=mock.Mock(return_value=clock)),
              mock.patch.object(sys, "argv", ["peers.py", *options]),
              contextlib.redirect_stdout(io.StringIO()) as text):
            return peers.main(), text.getvalue()

    def test_times_a_peer(self):
        status, text = self.run_main(lambda torch, x: lambda: None)
        self.assertEqual(status, 0)
        head, = log_head.read_heads(text)
        self.assertEqual((head.commit, head.machine, head.command),
                         ("0123abc", "a GPU", "python3 peers.py"))
        self.assertIn("| rows, 2x32 | BlockScale | 20.0 | 0.500 |\n"
                      "| rows, 2x32 | a peer | 40.0 | 0.250 |\n"
                      "| rows, 2x32 | copy | 10.0 | 1.000 |\n\n"
                      "a copy of 4 GiB: 858993 GB/s\n", text)

    # It is missing, or its call fails.
    def test_a_peer_that_fails(self):
        def fail(*_):
            raise RuntimeError("no kernel\nfor this GPU")

        for make in (fail, lambda torch, x: fail):
            status, text = self.run_main(make)
            self.assertEqual(status, 0)
            self.assertIn("| rows, 2x32 | BlockScale | 20.0 | 0.500 |\n| rows, 2x32 | copy |", text)
            self.assertNotIn("| a peer |", text)
            self.assertIn("rows, 2x32: a peer failed: RuntimeError: no kernel\n", text)

    # A difference in the last place is none.
    def test_other_winners_of_a_sweep(self):
        ours = np.array([[1, 2], [3, 4]], np.float32)
        theirs = np.array([1, np.nextafter(np.float32(2), np.float32(3)), 2.9, 4], np.float32)
        _, text = self.run_main(lambda torch, x: lambda: Tensor(theirs), "sweep",
                                lambda: [Tensor(ours)])
        self.assertIn("rows, 2x32: 1 of 4 blocks have another winner\n", text)

    def test_no_case(self):
        self.assertEqual(self.run_main(lambda torch, x: lambda: None,
                                       options=["--only", "columns"])[0], 1)


class Tensor(np.ndarray):
    """An array with the methods of torch that are used."""

    def __new__(cls, array):
        return np.asarray(array).view(cls)

    def abs(self):
        return np.abs(self)

    def numel(self):
        return self.size


if __name__ == "__main__":
    unittest.main()
