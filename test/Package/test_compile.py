# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules compiled and called, and what is said when they cannot be."""

import os
import pathlib
import signal
import sys
import tempfile
import threading
import time
import unittest

import ml_dtypes
import numpy as np

import blockscale as bs
from blockscale import _native

COPY = "func.func @copy(%x: tensor<?x64xf32>) -> tensor<?x64xf32> { return %x : tensor<?x64xf32> }"

CAST = """
func.func @cast(%x: tensor<?xf32>) -> tensor<4xf32> {
  %y = arith.addf %x, %x : tensor<?xf32>
  %z = tensor.cast %y : tensor<?xf32> to tensor<4xf32>
  return %z : tensor<4xf32>
}"""


@bs.jit
def quantize(x: bs.Spec((None, 64), "bf16")):
    return bs.quantize(x, layout="swizzle_128x4")


def make(rows=8, dtype=ml_dtypes.bfloat16):
    return np.random.default_rng(rows).standard_normal((rows, 64)).astype(dtype)


class CompiledTest(unittest.TestCase):
    def test_what_it_became(self):
        compiled = bs.compile(quantize.trace(), target="sm_100a")
        self.assertIn("blockscale.quantize", compiled.mlir)
        self.assertIn(".target sm_100a", compiled.ptx)
        self.assertEqual(list(compiled.stages)[:2], ["input", "verify-layout"])
        self.assertIn("gpu.launch_func", compiled.stages["lower-kernels"])
        self.assertTrue(compiled.remarks)
        self.assertEqual({remark.severity for remark in compiled.remarks}, {"remark"})
        self.assertEqual(compiled.remarks[0].file, __file__)
        for target, part in (("cpu", "llvm.func"), ("sm_80", "gpu.module")):
            self.assertIn(part, list(bs.compile(quantize.trace(), target=target)
                                     .stages.values())[-1])

    def test_cpu_and_emulator_agree(self):
        x = make(130)
        data, scales = quantize(x)
        self.assertEqual((data.dtype, data.shape), (np.uint8, (130, 32)))
        self.assertEqual((scales.dtype, scales.shape),
                         (ml_dtypes.float8_e4m3fn, (2, 1, 32, 4, 4)))
        for how in ({}, {"adversarial": True, "seed": 7}):
            found = bs.compile(quantize.trace(), target="sm_103a")(x, **how)
            np.testing.assert_array_equal(found[0], data)
            np.testing.assert_array_equal(found[1].view(np.uint8), scales.view(np.uint8))

    def test_steps_of_the_emulator_have_a_limit(self):
        compiled = bs.compile(quantize.trace(), target="sm_103a")
        compiled(make(130), max_steps=1000000)
        with self.assertRaisesRegex(bs.Error, "limit: expected the cluster to end within 9 "
                                              "instructions of its warps, but it has executed"):
            compiled(make(130), max_steps=9)
        with self.assertRaisesRegex(bs.ArgumentError,
                                    "expected max_steps to be at least 1, but got 0"):
            compiled(make(130), max_steps=0)

    def test_options_without_effect(self):
        module, x = quantize.trace(), make(4)
        compiled = bs.compile(module)
        for name, value in (("adversarial", True), ("seed", 7), ("max_steps", 5)):
            with self.assertRaisesRegex(bs.ArgumentError,
                                        f"expected on to be emulator with {name}, but got cpu"):
                compiled(x, **{name: value})
        with self.assertRaisesRegex(bs.Error, "expected stream on a GPU, but got the CPU"):
            compiled(x, stream=256)
        with self.assertRaisesRegex(bs.ArgumentError, "a GPU as target with overlap_launches"):
            bs.compile(module, overlap_launches=True)
        for target, on in (("cpu", "cpu"), ("sm_90a", "emulator")):
            with self.assertRaisesRegex(bs.ArgumentError,
                                        f"expected on to be cuda with device, but got {on}"):
                bs.compile(module, target=target, device=3)

    def test_checks(self):
        for target in ("cpu", "sm_80"):
            checked = bs.compile(CAST, target=target)
            np.testing.assert_array_equal(checked(np.ones(4, np.float32)), np.full(4, 2))
            with self.assertRaisesRegex(bs.Error, "tensor.cast at .*: expected dimension 0 of the "
                                                  "source to be 4.*, but got 3"):
                checked(np.ones(3, np.float32))
            unchecked = bs.compile(CAST, target=target, checks=False)
            np.testing.assert_array_equal(unchecked(np.ones(4, np.float32)), np.full(4, 2))
            self.assertIn("cf.assert", checked.stages["bufferize"])
            self.assertNotIn("cf.assert", unchecked.stages["bufferize"])

    def test_policy(self):
        layer = """
func.func @layer(%x: tensor<8x64xf32>, %w: tensor<64x32xf32> {blockscale.weight})
    -> tensor<8x32xf32> {
  %zeros = arith.constant dense<0.0> : tensor<8x32xf32>
  %y = linalg.matmul ins(%x, %w : tensor<8x64xf32>, tensor<64x32xf32>)
      outs(%zeros : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}"""
        x, w = make(8, np.float32), make(32, np.float32).T.copy()
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "policy.json"
            path.write_text('{"version": 1, "rules": [{"format": "mxfp8"}]}')
            quantized = bs.compile(layer, policy=path)
            self.assertIn("blockscale.scaled_mm", quantized.mlir)
            y, plain = quantized(x, w), bs.compile(layer)(x, w)
            np.testing.assert_allclose(y, plain, atol=0.1 * np.abs(plain).max())
            self.assertFalse(np.array_equal(y, plain))
            path.write_text('{"version": 1, "rules": [{"format": "fp8"}]}')
            with self.assertRaisesRegex(bs.ArgumentError, "policy.json:1:37: expected 'format'"):
                bs.compile(layer, policy=path)
            with self.assertRaisesRegex(bs.FileError, "'/nowhere/p.json': No such file"):
                bs.compile(layer, policy="/nowhere/p.json")

    def test_sources(self):
        x = make(4, np.float32)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "copy.mlir"
            path.write_text(COPY)
            for source in (COPY, COPY.encode(), path):
                np.testing.assert_array_equal(bs.compile(source)(x), x)
            path.write_text("func.func @f(")
            with self.assertRaisesRegex(bs.CompileError, "copy.mlir:1:"):
                bs.compile(path)
        with self.assertRaisesRegex(bs.ArgumentError, r"give pathlib.Path\('m.mlir'\)"):
            bs.compile("m.mlir")
        with self.assertRaisesRegex(bs.ArgumentError, "expected a Module, .*but got int"):
            bs.compile(3)
        with self.assertRaisesRegex(bs.FileError, "cannot read '/nowhere/m.mlir'"):
            bs.compile(pathlib.Path("/nowhere/m.mlir"))

    def test_tuned_schedules(self):
        s = "tensor<128x16xf8E4M3FN, #blockscale.layout<swizzle_128x4>>"
        a, y = "tensor<128x256xf4E2M1FN>", "tensor<128x128xf32>"
        source = (f"func.func @f(%a: {a}, %s: {s}) -> {y} {{\n"
                  "  %y = blockscale.scaled_mm %a, %a scales(%s, %s) block [1, 16]"
                  f" : {a}, {a}, {s}, {s} -> {y}\n  return %y : {y}\n}}\n")
        # The folder has no choice, which a remark says, and the model chooses.
        with tempfile.TemporaryDirectory() as folder:
            for tuned in (folder, pathlib.Path(folder)):
                compiled = bs.compile(source, target="sm_100a", tuned=tuned)
                said = "\n".join(remark.message for remark in compiled.remarks)
                self.assertIn(f"'{folder}' has no environment", said)
        with self.assertRaisesRegex(bs.ArgumentError, "a GPU as target with tuned, but got cpu"):
            bs.compile(source, tuned="choices")

    def test_results_into_arrays(self):
        x = make(4, np.float32)
        out = np.zeros_like(x)
        self.assertIs(bs.compile(COPY)(x, out=[out]), out)
        np.testing.assert_array_equal(out, x)

    def test_a_function_is_compiled_once(self):
        function = bs.jit(lambda x: bs.amax(x))
        for rows in (4, 4, 5):
            function(make(rows, np.float32))
        self.assertEqual(len(function._compiled), 2)

    def test_products(self):
        @bs.jit
        def layer(x, w):
            xq, xs = bs.quantize(x, format="mxfp8")
            wq, ws = bs.quantize(w, format="mxfp8")
            return bs.scaled_mm(xq, wq, xs, ws, dtype="f32")

        x, w = make(32, np.float32), make(16, np.float32)
        exact = x @ w.T
        error = layer(x, w) - exact
        decibels = 10 * np.log10((exact ** 2).sum() / (error ** 2).sum())
        self.assertGreater(decibels, 25)


class ProgressTest(unittest.TestCase):
    def test_steps(self):
        steps = []
        compiled = bs.compile(quantize.trace(), target="sm_90a",
                              progress=lambda *step: steps.append(step))
        self.assertEqual([number for _, number, _ in steps], list(range(steps[0][2])))
        self.assertEqual(steps[0][0], "verify-layout")
        kernels = []
        compiled(make(), progress=lambda *step: kernels.append(step))
        self.assertEqual(kernels[-1][2], 0)
        self.assertIn("quantize", kernels[-1][0])

    def test_an_exception_ends_the_work(self):
        def stop(step, number, count):
            if step == "bufferize":
                raise KeyboardInterrupt("enough")

        with self.assertRaisesRegex(KeyboardInterrupt, "enough"):
            bs.compile(quantize.trace(), progress=stop)


    # The signal comes to the main thread, which waits; the work ends before its next step.
    def test_ctrl_c_ends_the_work(self):
        # A shell starts what runs in the background with the signal ignored.
        noticed = threading.Event()

        def notice(*arguments):
            noticed.set()
            signal.default_int_handler(*arguments)

        before = signal.signal(signal.SIGINT, notice)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        steps = []

        def interrupt(step, number, count):
            steps.append(number)
            if number == 3:
                os.kill(os.getpid(), signal.SIGINT)
                noticed.wait(600)
                # The exception is on its way to what ends the work.
                time.sleep(1)

        with self.assertRaises(KeyboardInterrupt):
            bs.compile(quantize.trace(), progress=interrupt)
        self.assertEqual(steps, [0, 1, 2, 3])


class ThreadTest(unittest.TestCase):
    def test_any_number_at_a_time(self):
        x = make(64)
        expected = quantize(x)[0]
        emulated = bs.compile(quantize.trace(), target="sm_90a")
        found = []

        def work(number):
            found.append((emulated if number % 2 else quantize)(x)[0])
            found.append(bs.compile(quantize.trace())(x)[0])

        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(found), 12)
        for data in found:
            np.testing.assert_array_equal(data, expected)

    def test_the_gil_is_free_meanwhile(self):
        ticks, stop = [0], threading.Event()

        def tick():
            while not stop.is_set():
                ticks[0] += 1
                time.sleep(0)

        # Threads change where the GIL is let go, and nowhere else.
        self.addCleanup(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(100)
        source = quantize.trace().source
        self.addCleanup(stop.set)
        thread = threading.Thread(target=tick)
        thread.start()
        executable = _native.create_executable(source, "q", 1, None, "sm_90a", 0, True, None,
                                               None)[3]
        x, data = make(256).view(np.uint16), np.empty((256, 32), np.uint8)
        scales = np.empty((2, 1, 32, 4, 4), np.uint8)
        arguments, results = _native.Arrays([3]), _native.Arrays([1, 1])
        for row, number, array in ((arguments, 0, x), (results, 0, data), (results, 1, scales)):
            row.set(number, array.ctypes.data, array.shape)
        calls = (lambda: _native.compile(source, "q", ["sm_90a"], 2, None, True, None, False,
                                         False, None),
                 lambda: executable.emulate(arguments, results, False, False, 0, 0, None,
                                            None),
                 lambda: executable.call(arguments, results, 0, False))
        grown = []

        # Not on the main thread, which waits for the work without the GIL.
        def work():
            for call in calls:
                before = ticks[0]
                # A machine under load may not run the thread at once.
                for _ in range(50):
                    self.assertEqual(call()[0], 0)
                    if ticks[0] > before:
                        break
                grown.append(ticks[0] > before)

        worker = threading.Thread(target=work)
        worker.start()
        worker.join()
        self.assertEqual(grown, [True, True, True])
        stop.set()
        thread.join()


class CompileErrorTest(unittest.TestCase):
    def test_text_that_nests_deep(self):
        """An error, in place of the end of the process; what is allowed has room in the stack of
        a thread that has a megabyte."""
        said = "at most 256 levels deep, but got level 257"
        for source in ('"a.b"() ({' * 100000, "module attributes {a = " + "[" * 100000,
                       "func.func private @f(" + "tuple<" * 100000):
            with self.subTest(source[:30]), self.assertRaisesRegex(bs.CompileError, said):
                bs.compile(source)
        source = ("func.func @f(%c: i1, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {\n"
                  + "".join(f"%r{i} = scf.if %c -> tensor<4xf32> {{\n" for i in range(250))
                  + "scf.yield %x : tensor<4xf32>\n"
                  + "".join("} else {\nscf.yield %y : tensor<4xf32>\n}\n"
                            f"scf.yield %r{i} : tensor<4xf32>\n" for i in range(249, 0, -1))
                  + "} else {\nscf.yield %y : tensor<4xf32>\n}\nreturn %r0 : tensor<4xf32>\n}\n")
        found = []
        self.addCleanup(threading.stack_size, threading.stack_size(1 << 20))
        thread = threading.Thread(target=lambda: found.append(bs.compile(source)))
        thread.start()
        thread.join()
        x = np.arange(4, dtype=np.float32)
        np.testing.assert_array_equal(found[0](True, x, -x), x)
        np.testing.assert_array_equal(found[0](False, x, -x), -x)

    def test_unknown_ops(self):
        with self.assertRaises(bs.CompileError) as caught:
            bs.compile('func.func @f() {\n  "blockscale.nothing"() : () -> ()\n  return\n}')
        diagnostic = caught.exception.diagnostics[0]
        self.assertEqual((diagnostic.file, diagnostic.line), ("<source>", 2))
        self.assertEqual(caught.exception.status, "BLOCKSCALE_COMPILE_ERROR")

    def test_bytes_that_are_no_text(self):
        for source, part in (
                (b"\xff\xfe", "^<source>:1:1: error: unexpected character$"),
                (b"func.func @f\xff() { return }", "^<source>:1:13: error: unexpected character$"),
                (b"ML\xefR", "^error: attempting to parse a byte at the end of the bytecode$")):
            with self.subTest(source), self.assertRaisesRegex(bs.CompileError, part):
                bs.compile(source)
        # MLIR's reader does not survive all bytes that are damaged.
        damaged = (pathlib.Path(__file__).parent / "Inputs/damaged.mlirbc").read_bytes()
        with self.assertRaisesRegex(bs.CompileError, "^error: .*'<source>' is damaged$"):
            bs.compile(damaged)
        # What ends before anything begins is a module without functions.
        for source in (b"", b"\0\0"):
            self.assertEqual(bs.compile(source).mlir, "module {\n}")

    def test_the_program_that_reads_bytecode(self):
        """It is part of the package, and the option names another."""
        folder = pathlib.Path(bs.__file__).parent / "_lib"
        self.assertTrue(os.access(folder / "blockscale-read-bytecode", os.X_OK))
        damaged = (pathlib.Path(__file__).parent / "Inputs/damaged.mlirbc").read_bytes()
        with self.assertRaisesRegex(bs.CompileError, "the option: no program '/nowhere/reader'"):
            bs.compile(damaged, bytecode_reader="/nowhere/reader")
        # What is compiled later, for its stages, obeys the option too.
        with tempfile.TemporaryDirectory() as name:
            reader = pathlib.Path(name) / "reader"
            reader.write_text(f"#!/bin/sh\necho >> {name}/calls\n"
                              f"exec {folder}/blockscale-read-bytecode\n")
            reader.chmod(0o700)
            bytecode = (pathlib.Path(__file__).parent / "Inputs/copy.mlirbc").read_bytes()
            x = make(4, np.float32)
            compiled = bs.compile(bytecode, bytecode_reader=str(reader))
            np.testing.assert_array_equal(compiled(x), x)
            self.assertEqual((pathlib.Path(name) / "calls").read_text(), "\n")
            self.assertIn("@copy", compiled.mlir)
            self.assertEqual((pathlib.Path(name) / "calls").read_text(), "\n\n")

    def test_options(self):
        module = quantize.trace()
        for options, part in (
                ({"target": "sm_1000"}, "but got 'sm_1000'"),
                ({"target": 90}, "expected target to be cpu or the name of a chip, but got 90"),
                ({"on": "gpu"}, "expected on to be cpu, emulator or cuda"),
                ({"on": "cuda"}, "expected on to be cpu with target cpu"),
                ({"target": "sm_90a", "on": "cpu"}, "emulator or cuda with target sm_90a")):
            with self.assertRaisesRegex(bs.ArgumentError, part):
                bs.compile(module, **options)
        with self.assertRaisesRegex(bs.ArgumentError, "expected entry to name"):
            bs.compile(module, entry="other")(make())

    def test_numbers_of_threads(self):
        self.addCleanup(bs.set_num_threads, 0)
        for threads in (-1, 1 << 31, 1 << 40, 2.0, True, "2", None):
            with self.subTest(threads), self.assertRaisesRegex(
                    bs.ArgumentError, f"threads to be a number from 0 .*, but got {threads!r}"):
                bs.set_num_threads(threads)
        bs.set_num_threads(2)

    def test_what_a_target_has_not(self):
        compiled = bs.compile(COPY)
        for name in ("ptx", "cubin"):
            with self.assertRaisesRegex(bs.ArgumentError, "expected a GPU as target"):
                getattr(compiled, name)
        with self.assertRaisesRegex(bs.ArgumentError, "/nowhere/ptxas"):
            _ = bs.compile(quantize.trace(), target="sm_90a", ptxas="/nowhere/ptxas").cubin

    def test_sizes_that_no_array_has(self):
        tiled = "tensor<?x?xf8E4M3FN, #blockscale.layout<swizzle_128x4>>"
        function = bs.compile(f"""
            func.func @f(%x: {tiled}, %rows: index, %cols: index) -> tensor<?x?xf8E4M3FN> {{
              %y = blockscale.swizzle %x sizes(%rows, %cols) : {tiled} -> tensor<?x?xf8E4M3FN>
              return %y : tensor<?x?xf8E4M3FN>
            }}""")
        tiles = np.zeros((1, 1, 32, 4, 4), np.uint8)
        self.assertEqual(function(tiles, np.int64(5), np.int64(4)).shape, (5, 4))
        for rows, columns, message in (
                (-1, 4, "dimension 0 to be non-negative, but got -1"),
                (5, -3, "dimension 1 to be non-negative, but got -3"),
                (2**62, 4, "an array of less than 2^63 bytes, but got shape")):
            with self.assertRaises(bs.ArgumentError) as caught:
                function(tiles, np.int64(rows), np.int64(columns))
            self.assertIn(f"@f: result 0: expected {message}", str(caught.exception))

    def test_no_driver(self):
        compiled = bs.compile(COPY, target="sm_90a", on="cuda")
        before = os.environ.get("BLOCKSCALE_LIBCUDA")
        os.environ["BLOCKSCALE_LIBCUDA"] = "/nowhere/libcuda.so"
        try:
            with self.assertRaisesRegex(bs.DeviceError, "/nowhere/libcuda.so"):
                compiled(make(4, np.float32))
        finally:
            del os.environ["BLOCKSCALE_LIBCUDA"]
            if before is not None:
                os.environ["BLOCKSCALE_LIBCUDA"] = before


if __name__ == "__main__":
    unittest.main()
