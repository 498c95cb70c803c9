# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs bundles through ctypes and blockscale-launch: with a driver whose GPU is the
emulator, and on a GPU where there is one. The second can be run alone on a machine with a
driver:

    BLOCKSCALE_BUILD_DIR=build python3 -m unittest -v test/Python/test_runtime.py

where build/ holds bin/blockscale-launch and lib/libBlockScaleRuntime.so.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BLOCKSCALE_BUILD_DIR", ROOT / "build"))
LIBRARY = BUILD / "lib/libBlockScaleRuntime.so"
EMULATED_CUDA = BUILD / "lib/blockscale/libcuda.so.1"
LAUNCH = BUILD / "bin/blockscale-launch"

sys.path.insert(0, str(ROOT / "python"))

import blockscale_bundle
import blockscale_runtime


def pack(name, constants=()):
    data = ROOT / "test/Data/cuda"
    return blockscale_bundle.write(
        [((data / f"{name}.json").read_text(), (data / f"{name}.ptx").read_text())],
        list(constants))


def portable():
    return pack("portable", [b"hello"])


def reducing():
    """A bundle whose first function reduces its result but the first number over ranks."""
    [(text, ptx)], constants = blockscale_bundle.read(portable())
    plan = json.loads(text)
    plan["functions"][0]["steps"].append({"reduce_over_ranks": {
        "address": {"buffer": "y", "offset": 4}, "count": "n - 1", "reduction": "max"}})
    return blockscale_bundle.write([(json.dumps(plan), ptx)], constants)


def why_not_loaded():
    """Why this process cannot load the library, or None."""
    if not LIBRARY.exists():
        return f"{LIBRARY} is not built"
    if any(name in LIBRARY.read_bytes() for name in (b"__asan_init", b"__tsan_init")):
        return "a sanitizer's library needs a process that began with the sanitizer"
    return None


def why_no_gpu():
    reason = why_not_loaded()
    if reason:
        return reason
    try:
        device = blockscale_runtime.Runtime(LIBRARY).device()
    except blockscale_runtime.Error as error:
        return str(error)
    if device.capability < 90:
        return f"{device.name} has compute capability {device.capability / 10}, not 9.0"
    return None


class RuntimeTest(unittest.TestCase):
    """Each function of the bundle, on `driver`."""

    driver = None

    @classmethod
    def setUpClass(cls):
        reason = why_no_gpu() if cls.driver is None else why_not_loaded()
        if reason:
            print(f"{cls.__name__} is skipped: {reason}", file=sys.stderr)
            raise unittest.SkipTest(reason)
        cls.runtime = blockscale_runtime.Runtime(LIBRARY)
        cls.device = cls.runtime.device(driver=cls.driver)
        cls.module = cls.device.load(cls.runtime.bundle(portable()))
        cls.random = np.random.default_rng(1)

    def test_sizes_that_the_plan_does_not_know(self):
        for n in (0, 1, 255, 256, 257, 100_000):
            x = self.random.standard_normal(n).astype(np.float32)
            y, = self.module.run("scale", x, np.float32(0.7))
            np.testing.assert_array_equal(y, x * np.float32(0.7))

    def test_tensor_maps_and_workspaces(self):
        for m in (0, 1, 8, 21, 1000):
            x = self.random.standard_normal((m, 64)).astype(np.float32)
            y, = self.module.run("tile", x)
            np.testing.assert_array_equal(y, x)

    # NVIDIA's driver wants a pointer to strides where there are none, too.
    def test_tensor_maps_of_one_dimension(self):
        [(plan, ptx)], constants = blockscale_bundle.read(portable())
        plan = json.loads(plan)
        for step in plan["functions"][1]["steps"]:
            for parameter in step.get("launch", {}).get("parameters", ()):
                parameter["tensor_map"] |= {"dims": [64], "strides": [], "box": [32],
                                            "element_strides": [1]}
        for old, new in (("tensor.2d", "tensor.1d"), ("{%x, %y}", "{%x}"), ("1024", "128")):
            self.assertIn(old, ptx)
            ptx = ptx.replace(old, new)
        bundle = blockscale_bundle.write([(json.dumps(plan), ptx)], constants)
        module = self.device.load(self.runtime.bundle(bundle))
        x = self.random.standard_normal((1, 64)).astype(np.float32)
        y, = module.run("tile", x)
        np.testing.assert_array_equal(y, x)

    def test_clusters_and_constants(self):
        ranks, text = self.module.run("ranks")
        np.testing.assert_array_equal(ranks, np.array([32, 33] * 4, np.int32))
        self.assertEqual(text.tobytes(), b"hello")

    def test_views_that_are_not_aligned(self):
        x = self.device.allocate(4096)
        self.addCleanup(self.device.free, x)
        call = self.module.function("scale").call(("float32", (8,)), np.float32(1))
        with self.assertRaises(blockscale_runtime.Error) as caught:
            call.launch(self.module, [x + 8, 0], [x + 2048])
        self.assertEqual(caught.exception.status, "BLOCKSCALE_MISALIGNED")
        self.assertIn(f"address of x (launch_c1) to be a multiple of 16, but got {x + 8}",
                      str(caught.exception))

    def test_memory_that_is_short(self):
        with self.assertRaises(blockscale_runtime.Error) as caught:
            self.device.allocate(1 << 50)
        self.assertEqual(caught.exception.status, "BLOCKSCALE_OUT_OF_MEMORY")

    def test_kernels_of_another_chip(self):
        targets, constants = blockscale_bundle.read(portable())
        targets = [(plan.replace("sm_90", "sm_123a"), ptx.replace("sm_90", "sm_123a"))
                   for plan, ptx in targets]
        bundle = self.runtime.bundle(blockscale_bundle.write(targets, constants))
        with self.assertRaises(blockscale_runtime.Error) as caught:
            self.device.load(bundle)
        self.assertEqual(caught.exception.status, "BLOCKSCALE_WRONG_CHIP")
        self.assertIn("but got kernels for sm_123a", str(caught.exception))

    def launch_ends(self, ends):
        """Launches the kernel that finds errors, without a wait; returns what reads the
        result."""
        module = self.device.load(self.runtime.bundle(pack("errors")))
        array = np.array(ends, np.int32)
        given, made = (self.device.allocate(array.nbytes) for _ in range(2))
        for address in (given, made):
            self.addCleanup(self.device.free, address)
        self.addCleanup(lambda: module)  # until the memory is freed
        self.device.upload(given, array)
        call = module.function("check").call(("int32", array.shape))

        def launch():
            call.launch(module, [given], [made])

        def read():
            result = np.zeros_like(array)
            self.device.download(made, result)
            return result.tolist()
        return launch, read

    def expect_error(self, function, group, found):
        with self.assertRaises(blockscale_runtime.Error) as caught:
            function()
        self.assertEqual(caught.exception.status, "BLOCKSCALE_INVALID_DATA")
        self.assertEqual(str(caught.exception),
                         f"scaled_grouped_mm: expected the end of group {group} to be a multiple "
                         f"of 16, but got {found}")

    def test_errors_that_kernels_find(self):
        launch, read = self.launch_ends([16, 24, 48])
        launch()
        self.expect_error(self.device.synchronize, 1, 24)
        # It is told once, the results of other groups are there, and the context goes on.
        self.device.synchronize()
        self.device.take_error()
        self.assertEqual(read(), [256, 0, 768])
        launch()
        read()  # waits
        self.expect_error(self.device.take_error, 1, 24)
        good, result = self.launch_ends([16, 32])
        good()
        self.device.synchronize()
        self.assertEqual(result(), [256, 512])

    def test_errors_are_told_by_the_next_launch(self):
        launch, read = self.launch_ends([8])
        launch()
        read()  # waits
        x = np.ones(4, np.float32)
        self.expect_error(lambda: self.module.run("scale", x, np.float32(2)), 0, 8)
        y, = self.module.run("scale", x, np.float32(2))
        np.testing.assert_array_equal(y, 2 * x)

    def test_the_first_error_is_kept(self):
        bad, _ = self.launch_ends([1])
        worse, _ = self.launch_ends([0, 0, -3])
        bad()
        self.expect_error(self.device.synchronize, 0, 1)
        worse()
        self.expect_error(self.device.synchronize, 2, -3)

    def test_launch_tool_and_errors(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder)
            (path / "b.bundle").write_bytes(pack("errors"))
            for ends, status in (([16, 24], 1), ([16, 32], 0)):
                np.save(path / "ends.npy", np.array(ends, np.int32))
                run = subprocess.run(
                    [LAUNCH, path / "b.bundle", f"--in={path}/ends.npy", f"--out={path}/y.npy"]
                    + ([f"--driver={self.driver}"] if self.driver else []),
                    capture_output=True, text=True)
                self.assertEqual(run.returncode, status)
                self.assertEqual((path / "y.npy").exists(), status == 0)
                self.assertEqual(run.stderr, "blockscale-launch: error: scaled_grouped_mm: "
                                 "expected the end of group 1 to be a multiple of 16, but got 24\n"
                                 if status else "")

    def test_reductions_over_ranks(self):
        module = self.device.load(self.runtime.bundle(reducing()))
        self.assertEqual([module.function(name).reduces for name in ("scale", "tile")],
                         [True, False])
        x, other = np.arange(5, dtype=np.float32), np.float32([7, 0, 8, 0])
        with self.assertRaises(blockscale_runtime.Error) as caught:
            module.run("scale", x, np.float32(2))
        self.assertEqual(caught.exception.status, "BLOCKSCALE_INVALID_ARGUMENT")
        self.assertIn("@scale: expected a function that reduces amaxes over ranks (launch_c4), "
                      "but got none", str(caught.exception))

        def reduce(address, count, stream):
            self.assertEqual((count, stream), (4, None))
            numbers = np.empty(count, np.float32)
            self.device.download(address, numbers)  # waits
            self.device.upload(address, np.maximum(numbers, other))

        module.set_reduce(reduce)
        y, = module.run("scale", x, np.float32(2))
        np.testing.assert_array_equal(y, [0, 7, 4, 8, 8])

        def refuse(*_):
            raise KeyError("a rank is gone")

        module.set_reduce(refuse)
        with self.assertRaisesRegex(KeyError, "a rank is gone"):
            module.run("scale", x, np.float32(2))
        module.set_reduce(None)
        with self.assertRaisesRegex(blockscale_runtime.Error, "launch_c4"):
            module.run("scale", x, np.float32(2))

    def test_launch_tool_and_one_rank(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder)
            (path / "b.bundle").write_bytes(reducing())
            np.save(path / "x.npy", np.arange(5, dtype=np.float32))
            np.save(path / "g.npy", np.float32(2))
            for options, status in (([], 1), (["--one-rank"], 0)):
                run = subprocess.run(
                    [LAUNCH, path / "b.bundle", "--entry=scale", f"--in={path}/x.npy",
                     f"--in={path}/g.npy", f"--out={path}/y.npy", *options]
                    + ([f"--driver={self.driver}"] if self.driver else []),
                    capture_output=True, text=True)
                self.assertEqual(run.returncode, status, run.stderr)
                self.assertEqual("launch_c4" in run.stderr, status == 1)
            np.testing.assert_array_equal(np.load(path / "y.npy"), [0, 2, 4, 6, 8])

    def test_launch_tool(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder)
            (path / "b.bundle").write_bytes(portable())
            x = self.random.standard_normal((21, 64)).astype(np.float32)
            np.save(path / "x.npy", x)
            run = subprocess.run(
                [LAUNCH, path / "b.bundle", "--entry=tile", f"--in={path}/x.npy",
                 f"--out={path}/y.npy", "--repeat=5", "--time"]
                + ([f"--driver={self.driver}"] if self.driver else []),
                capture_output=True, text=True)
            self.assertEqual(run.stderr, "")
            self.assertRegex(run.stdout, r"^seconds 0\.0\d+\nmedian 0\.0\d+\n$")
            np.testing.assert_array_equal(np.load(path / "y.npy"), x)


class EmulatorTest(RuntimeTest):
    driver = EMULATED_CUDA

    def test_what_a_bundle_holds(self):
        bundle = self.runtime.bundle(portable())
        self.assertEqual(bundle.chips, ["sm_90"])
        self.assertEqual([f.name for f in bundle.functions()], ["scale", "tile", "ranks"])
        tile = bundle.function("tile")
        self.assertEqual((tile.dims, tile.arguments[0].sizes), (["m"], ["m", "64"]))
        self.assertEqual([w.name for w in tile.workspaces], ["spare", "w"])
        call = tile.call(("float32", (3, 64)))
        self.assertEqual((call.shapes, call.workspace_bytes), ([(3, 64)], 256 + 768))
        self.assertEqual(call.bytes(blockscale_runtime.RESULT, 0), 768)

    def test_arguments_that_do_not_fit(self):
        scale = self.runtime.bundle(portable()).function("scale")
        with self.assertRaisesRegex(blockscale_runtime.Error, "expected 2 arguments"):
            scale.call(("float32", (3,)))
        with self.assertRaisesRegex(TypeError, "expected a dtype of bool, .* but got <U1"):
            scale.call(("<U1", (3,)), np.float32(1))
        other = np.ones((), np.float32).astype(np.dtype(np.float32).newbyteorder())
        with self.assertRaisesRegex(TypeError, "the byte order of this machine, but got .f4"):
            scale.call(("float32", (3,)), other)

    def test_arrays_whose_bytes_are_others(self):
        """Bytes of another order would be other numbers, and a copy into an array with gaps would
        fill these."""
        address = self.device.allocate(64)
        self.addCleanup(self.device.free, address)
        numbers = np.arange(8, dtype=np.int32)
        swapped = numbers.astype(numbers.dtype.newbyteorder())
        fixed = numbers.copy()
        fixed.flags.writeable = False
        with self.assertRaisesRegex(TypeError, "the byte order of this machine, but got .i4"):
            self.device.upload(address, swapped)
        self.device.upload(address, np.repeat(numbers, 2)[::2])
        for array, message in ((swapped, "the byte order of this machine, but got .i4"),
                               (np.zeros(16, np.int32)[::2], r"to, but got strides \(8,\)"),
                               (np.zeros((8, 2), np.int32).T[:1], r"to, but got strides \(4, 8\)"),
                               (fixed, "to, but got a read-only one")):
            with self.assertRaisesRegex(TypeError, message):
                self.device.download(address, array)
        found = np.zeros(8, np.int32)
        self.device.download(address, found)
        self.assertEqual(found.tolist(), numbers.tolist())

    def test_device(self):
        self.assertEqual(self.device.name, "BlockScale emulator of sm_100a")
        self.assertEqual(self.device.capability, 100)

    def test_names_that_the_ptx_lacks(self):
        targets, constants = blockscale_bundle.read(portable())
        targets = [(plan, ptx.replace(".entry scale_f32", ".entry scales_f32"))
                   for plan, ptx in targets]
        bundle = self.runtime.bundle(blockscale_bundle.write(targets, constants))
        with self.assertRaises(blockscale_runtime.Error) as caught:
            self.device.load(bundle)
        self.assertEqual(caught.exception.status, "BLOCKSCALE_INVALID_BUNDLE")


class GraphTest(unittest.TestCase):
    """A launch between work of PyTorch, captured into a graph and replayed."""

    def test_capture(self):
        if reason := why_no_gpu():
            self.skipTest(reason)
        try:
            import torch
        except ImportError as error:
            self.skipTest(str(error))
        runtime = blockscale_runtime.Runtime(LIBRARY)
        module = runtime.device().load(runtime.bundle(portable()))
        call = module.function("tile").call(("float32", (100, 64)))
        x = torch.zeros(100, 64, device="cuda")
        y = torch.zeros_like(x)
        workspace = torch.empty(call.workspace_bytes, dtype=torch.uint8, device="cuda")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            x.add_(1)
            call.launch(module, [x.data_ptr()], [y.data_ptr()], workspace.data_ptr(),
                        torch.cuda.current_stream().cuda_stream)
            y.mul_(2)
        x.copy_(torch.arange(6400, device="cuda").reshape(100, 64))
        for step in (1, 2, 3):
            graph.replay()
            expected = 2 * (torch.arange(6400.0, device="cuda").reshape(100, 64) + step)
            self.assertTrue(torch.equal(y, expected))

    def test_errors_of_replays(self):
        if reason := why_no_gpu():
            self.skipTest(reason)
        try:
            import torch
        except ImportError as error:
            self.skipTest(str(error))
        runtime = blockscale_runtime.Runtime(LIBRARY)
        device = runtime.device()
        module = device.load(runtime.bundle(pack("errors")))
        call = module.function("check").call(("int32", (2,)))
        ends = torch.tensor([16, 32], dtype=torch.int32, device="cuda")
        y = torch.zeros_like(ends)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            call.launch(module, [ends.data_ptr()], [y.data_ptr()], 0,
                        torch.cuda.current_stream().cuda_stream)
        for value in (32, 40, 48, 24):
            ends[1] = value
            graph.replay()
            torch.cuda.synchronize()
            if value % 16 == 0:
                device.take_error()
            else:
                with self.assertRaisesRegex(blockscale_runtime.Error, f"16, but got {value}"):
                    device.take_error()
            self.assertEqual(y.tolist(), [256, 0 if value % 16 else 16 * value])


class GpuTest(RuntimeTest):
    pass


del RuntimeTest

if __name__ == "__main__":
    unittest.main()
