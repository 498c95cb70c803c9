# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a call asks the driver of a GPU for, where the driver has no GPU (FakeCuda.cpp)."""

import os
import sys
import tempfile
import types
import unittest
import unittest.mock
from pathlib import Path

import ml_dtypes
import numpy as np

import blockscale as bs

BUILD = os.environ.get("BLOCKSCALE_BUILD_DIR", Path(__file__).resolve().parents[2] / "build")
FAKE_CUDA = Path(BUILD) / "lib/fake-cuda/libcuda.so.1"


@bs.jit
def layer(x: bs.Spec((None, 64), "bf16"), w: bs.Spec((128, 64), "bf16")):
    # The codes and scales of both are in workspaces.
    xq, xs = bs.quantize(x, layout="swizzle_128x4")
    wq, ws = bs.quantize(w, layout="swizzle_128x4")
    return bs.scaled_mm(xq, wq, xs, ws)


def align(address):
    return -(-address // 256) * 256


class Memory:
    """The memory of the GPU, which is the host's."""

    def __init__(self, size):
        self._held = np.zeros(size + 256, np.uint8)
        self._next = align(self._held.ctypes.data)

    def take(self, size):
        address, self._next = self._next, align(self._next + size)
        return address


@unittest.skipUnless(FAKE_CUDA.exists(), "no driver without a GPU was built")
class LaunchTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.log = Path(folder.name, "log")
        for name, value in (("BLOCKSCALE_LIBCUDA", FAKE_CUDA), ("FAKE_CUDA_LOG", self.log)):
            os.environ[name] = str(value)
            self.addCleanup(os.environ.pop, name)
        compiled = bs.compile(layer.trace(), target="sm_90a", on="cuda")
        caller = compiled._get_caller(None)
        self.executable = caller.executable
        self.rows = caller._take_rows()
        self.memory = Memory(1 << 20)
        shapes = (40, 64), (128, 64)
        for number, shape in enumerate(shapes):
            self.rows[0].set(number, self.memory.take(2 * shape[0] * shape[1]), shape)
        self.rows[1].set(0, self.memory.take(4 * 40 * 128), (40, 128))
        status, _, _, self.size = self.executable.find_workspace_bytes(self.rows[0])
        self.assertEqual(status, 0)
        # Codes of 40 and 128 rows, and scales of one tile each.
        self.assertGreaterEqual(self.size, 40 * 32 + 128 * 32 + 2 * 512)
        self.take_calls()

    def take_calls(self):
        """What was asked of the driver since the last time, but for tensor maps, which are made
        on the host."""
        text = self.log.read_text() if self.log.exists() else ""
        self.log.write_text("")
        return [line.split()[0] for line in text.splitlines() if not line.startswith("map ")]

    def launch(self, workspace, size):
        status, message, _, _ = self.executable.launch(*self.rows, 7, workspace, size)
        return status, message

    def test_nothing_is_allocated_and_nothing_waits(self):
        self.assertEqual(self.launch(self.memory.take(self.size), self.size), (0, ""))
        self.assertEqual(self.take_calls(), ["launch"] * 3)

    def test_a_call_without_a_workspace_waits(self):
        self.assertEqual(self.executable.call(*self.rows, 7, False)[0], 0)
        self.assertEqual(self.take_calls(),
                         ["alloc", *["launch"] * 3, "synchronize", "free"])

    def test_wrong_workspaces(self):
        workspace = self.memory.take(2 * self.size)
        for address, size, message in (
                (0, self.size, f"expected a workspace of {self.size} bytes, but got null"),
                (workspace, self.size - 1, (f"to have at least {self.size} bytes, but got "
                                            f"{self.size - 1}")),
                (workspace + 16, self.size, ("to be a multiple of 256, but got "
                                             f"{workspace + 16}"))):
            with self.subTest(message):
                status, found = self.launch(address, size)
                self.assertNotEqual(status, 0)
                self.assertIn(message, found)
        self.assertEqual(self.take_calls(), [])

    def test_kernels_are_not_loaded_in_a_capture(self):
        compiled = None
        for is_capturing in (True, False):
            torch = types.SimpleNamespace(cuda=types.SimpleNamespace(
                is_initialized=lambda: True,
                is_current_stream_capturing=lambda value=is_capturing: value))
            with unittest.mock.patch.dict(sys.modules, torch=torch):
                compiled = compiled or bs.compile(layer.trace(), target="sm_90a", on="cuda")
                if is_capturing:
                    with self.assertRaisesRegex(
                            bs.ArgumentError, "^expected a call before the capture of a CUDA "
                            "graph, which loads the kernels, but got none; call the function "
                            "once before$"):
                        compiled._get_caller(None)
                    self.assertEqual(self.take_calls(), [])
                else:
                    self.assertIsNotNone(compiled._get_caller(None))

    def test_arguments_are_checked_first(self):
        self.rows[0].set(1, self.memory.take(128 * 32 * 2), (128, 32))
        status, message, _, _ = self.executable.find_workspace_bytes(self.rows[0])
        self.assertNotEqual(status, 0)
        self.assertIn("argument 1: expected", message)


class HostTest(unittest.TestCase):
    def test_a_function_of_the_cpu_needs_no_workspace(self):
        compiled = bs.compile(layer.trace())
        x = np.ones((4, 64), ml_dtypes.bfloat16)
        w = np.ones((128, 64), ml_dtypes.bfloat16)
        self.assertEqual(compiled(x, w).shape, (4, 128))
        caller = compiled._get_caller(None)
        rows = caller._take_rows()
        for number, array in enumerate((x, w)):
            rows[0].set(number, array.ctypes.data, array.shape)
        self.assertEqual(caller.executable.find_workspace_bytes(rows[0])[3], 0)


if __name__ == "__main__":
    unittest.main()
