# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays that calls take, and what they say of those that they do not."""

import os
import unittest
from pathlib import Path

import ml_dtypes
import numpy as np

import blockscale as bs
from blockscale import _native
from producer import Producer

COPY = "func.func @copy(%x: tensor<?x64xf32>) -> tensor<?x64xf32> { return %x : tensor<?x64xf32> }"
BUILD = os.environ.get("BLOCKSCALE_BUILD_DIR", Path(__file__).resolve().parents[2] / "build")
FAKE_CUDA = Path(BUILD) / "lib/fake-cuda/libcuda.so.1"


@bs.jit
def dequantize(data: bs.Spec((4, 64), "e2m1"), scale: bs.Spec((4, 4), "e4m3"),
               g: bs.Spec((), "f32")):
    return bs.dequantize(data, scale, global_scale=g)


@bs.jit
def amax(x: bs.Spec((None, 64), "bf16")):
    return bs.amax(x)


class ArrayTest(unittest.TestCase):
    def assert_refuses(self, part, function, *arrays, **options):
        with self.assertRaisesRegex(bs.ArgumentError, part):
            function(*arrays, **options)


class NumpyTest(ArrayTest):
    def test_types_and_their_bits(self):
        x = np.linspace(-3, 5, 128).reshape(2, 64).astype(ml_dtypes.bfloat16)
        for array in (x, x.view(np.uint16)):
            self.assertEqual(amax(array), 5)
        for array in (x.astype(np.float32), x.astype(np.float16), x.view(np.int16)):
            self.assert_refuses(r"argument 0 \(x\): expected dtype bfloat16 \(or its bits as "
                                rf"uint16\) .* got {array.dtype}; convert it", amax, array)
        swapped = np.zeros((2, 64), ">f4")
        self.assert_refuses("expected dtype float32 .* got float32 of the other byte order, '>f4'",
                            bs.compile(COPY), swapped)

    # Data of MXINT8 come and go as int8, with their signs.
    def test_mxint8(self):
        @bs.jit
        def there(x):
            return bs.quantize(x, format="mxint8")

        @bs.jit
        def back(data: bs.Spec((1, 32), "int8"), scale: bs.Spec((1, 1), "e8m0")):
            return bs.dequantize(data, scale)

        x = (np.arange(32, dtype=np.float32) - 31).reshape(1, 32) / 64
        data, scale = there(x)
        self.assertEqual((data.dtype, scale.view(np.uint8).item()), (np.int8, 125))
        np.testing.assert_array_equal(data[0], 4 * np.arange(32) - 124)
        np.testing.assert_array_equal(back(data, scale), x)
        self.assert_refuses("expected dtype int8", back, data.view(np.uint8), scale)

    # One function serves any number of groups; the sizes of a call say it.
    def test_numbers_of_groups(self):
        def layer(x: bs.Spec((None, 64), "f32"), w, sw, offsets):
            q, s = bs.quantize(x, format="mxfp8", offsets=offsets, layout="swizzle_128x4")
            return bs.scaled_grouped_mm(q, w, s, sw, offsets, dtype="f32"), s

        def specs(groups):
            return (bs.Spec((None, 64), "f32"), bs.Spec((groups, 40, 64), "e4m3"),
                    bs.Spec((groups, 40, 2), "e8m0"), bs.Spec((groups,), "i32"))

        random = np.random.default_rng(5)
        x = random.standard_normal((70, 64)).astype(np.float32)
        call = bs.compile(bs.jit(layer).trace(*specs(None)))
        for ends in ((), (50,), (20, 20, 70)):
            groups = len(ends)
            arrays = (x, random.integers(0x20, 0x50, (groups, 40, 64)).astype(np.uint8),
                      random.integers(122, 130, (groups, 40, 2)).astype(np.uint8),
                      np.array(ends, np.int32))
            y, s = call(*arrays)
            self.assertEqual(s.shape, ((70 + 127 * groups) // 128, 32, 4, 4))
            if not groups:
                self.assertFalse(y.any())
                continue
            known = bs.compile(bs.jit(layer).trace(*specs(groups)))(*arrays)
            np.testing.assert_array_equal(y, known[0])
            np.testing.assert_array_equal(s.view(np.uint8), known[1].view(np.uint8))
        with self.assertRaisesRegex(bs.Error, "expected dimension 0 of b to fit the shape of a "
                                    "and offsets"):
            call(x, *arrays[1:3], arrays[3][1:])

    def test_shapes(self):
        self.assert_refuses(r"\(\?, 64\)", amax, np.zeros((2, 63), np.uint16))
        self.assert_refuses(r"\(\?, 64\)", amax, np.zeros(64, np.uint16))
        self.assert_refuses("expected 1 arrays, but got 2", amax, np.zeros(1), np.zeros(1))
        self.assert_refuses("expected 1 arrays, but got 0", bs.compile(COPY))

    def test_strides(self):
        x = np.zeros((4, 128), np.uint16)
        for array in (x[:, ::2], x[:, 64:], x.reshape(8, 64)[::-1], x.T[:64].T):
            self.assert_refuses("expected a row-major array, .*ascontiguousarray", amax, array)
        numbers = np.zeros((2, 64), [("number", np.float32), ("flag", np.uint8)])["number"]
        self.assert_refuses(r"argument 0: expected strides that are multiples of 4 bytes, but got "
                            r"\(320, 5\); give numpy.ascontiguousarray of it",
                            bs.compile(COPY), numbers)
        self.assertEqual(amax(x.reshape(8, 64)[2:3, :]), 0)
        self.assertEqual(amax(np.zeros((0, 64), np.uint16)), 0)

    def test_results(self):
        copy = bs.compile(COPY)
        x = np.ones((2, 64), np.float32)
        out = np.zeros_like(x)
        out.flags.writeable = False
        self.assert_refuses("result 0: expected an array that can be written", copy, x,
                            out=[out])
        self.assert_refuses("expected 1 arrays as out, but got 0", copy, x, out=[])
        self.assert_refuses(r"expected shape \(2, 64\) for result 0", copy, x,
                            out=[np.zeros((3, 64), np.float32)])
        self.assert_refuses("overlaps argument 0", copy, x, out=[x])
        # What is only read may be read-only.
        x.flags.writeable = False
        np.testing.assert_array_equal(copy(x), x)

    def test_scales_without_a_value(self):
        data = np.full((4, 32), 0x22, np.uint8)
        scale = np.ones((4, 4), ml_dtypes.float8_e4m3fn)
        one = np.float32(1)
        np.testing.assert_array_equal(dequantize(data, scale, np.asarray(one)),
                                      np.ones((4, 64), np.float32))
        scale[1, 2] = np.nan
        self.assert_refuses("argument 1: expected scales to be no NaN, but got 0x7F at byte 6",
                            dequantize, data, scale, np.asarray(one))
        self.assert_refuses("argument 2: expected global scales to be no NaN", dequantize,
                            data, np.ones_like(scale), np.float32(np.nan).reshape(()))
        compiled = bs.compile(dequantize.trace())
        found = compiled(data, scale, one.reshape(()), accept_nan_scales=True)
        self.assertTrue(np.isnan(found[1, 32:48]).all())
        self.assertEqual(np.isnan(found).sum(), 16)
        scale.view(np.uint8)[1, 2] = 0xB8
        self.assert_refuses("without sign, but got 0xB8", compiled, data, scale,
                            one.reshape(()), accept_nan_scales=True)

    def test_scales_without_a_value_in_the_emulator(self):
        types = ("tensor<16x64xf4E2M1FN>, tensor<8x64xf4E2M1FN>, tensor<16x4xf8E4M3FN>, "
                 "tensor<8x4xf8E4M3FN>")
        product = bs.compile(f"""
            func.func @f(%a: tensor<16x64xf4E2M1FN>, %b: tensor<8x64xf4E2M1FN>,
                         %sa: tensor<16x4xf8E4M3FN>, %sb: tensor<8x4xf8E4M3FN>)
                -> tensor<16x8xf32> {{
              %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] : {types}
                  -> tensor<16x8xf32>
              return %y : tensor<16x8xf32>
            }}""", target="sm_120a")
        codes = [np.full((rows, 32), 0x22, np.uint8) for rows in (16, 8)]
        scales = [np.full((rows, 4), 0x38, np.uint8) for rows in (16, 8)]
        scales[0][3, 1] = 0x7F
        self.assert_refuses("expected scales to be no NaN, but got 0x7F at byte 13", product,
                            *codes, *scales)
        found = product(*codes, *scales, accept_nan_scales=True)
        self.assertTrue(np.isnan(found[3]).all())
        self.assertEqual(np.isnan(found).sum(), 8)
        self.assertTrue((np.delete(found, 3, 0) == 64).all())

    # What only a kernel knows is an error of the call with the text of the CPU.
    def test_indices_out_of_bounds(self):
        rows = "affine_map<(i) -> (i)>"
        for target in ("cpu", "sm_80", "sm_120a"):
            function = bs.compile(f"""
                func.func @f(%i: tensor<?xi32>, %x: tensor<3xf32>) -> tensor<?xf32> {{
                  %c0 = arith.constant 0 : index
                  %n = tensor.dim %i, %c0 : tensor<?xi32>
                  %e = tensor.empty(%n) : tensor<?xf32>
                  %y = linalg.generic {{indexing_maps = [{rows}, {rows}],
                                       iterator_types = ["parallel"]}}
                      ins(%i : tensor<?xi32>) outs(%e : tensor<?xf32>) {{
                  ^bb0(%k: i32, %o: f32):
                    %j = arith.index_cast %k : i32 to index
                    %v = tensor.extract %x[%j] : tensor<3xf32>
                    linalg.yield %v : f32
                  }} -> tensor<?xf32>
                  return %y : tensor<?xf32>
                }}""", target=target)
            x = np.float32([1, 2, 3])
            self.assert_refuses(r"^tensor.extract at .*:\d+:\d+: expected index 0 to be below 3, "
                                "but got 3$", function, np.int32([0, 3]), x)
            np.testing.assert_array_equal(function(np.int32([2, 0]), x), np.float32([3, 1]))

    def test_what_is_no_array(self):
        for value in (None, "x", [[1.0] * 64], object()):
            self.assert_refuses("expected an array of NumPy or one with __dlpack__",
                                bs.compile(COPY), value)
        self.assert_refuses("expected an array, but got None", bs.jit(lambda x: x), None)
        self.assert_refuses("annotate the parameter", bs.jit(lambda x: x),
                            np.zeros((2, 2), np.uint8))

    def test_scalars(self):
        function = bs.compile("func.func @f(%x: f32) -> tensor<f32> {"
                              "  %t = tensor.from_elements %x : tensor<f32>"
                              "  return %t : tensor<f32> }")
        for value in (2.5, np.float32(2.5), np.asarray(2.5, np.float32)):
            self.assertEqual(function(value), 2.5)


class DlpackTest(ArrayTest):
    def setUp(self):
        self.copy = bs.compile(COPY)
        self.x = np.arange(256, dtype=np.float32).reshape(4, 64)

    def test_is_read_where_it_is(self):
        np.testing.assert_array_equal(self.copy(Producer(self.x)), self.x)
        out = np.zeros_like(self.x)
        self.copy(Producer(self.x), out=[Producer(out)])
        np.testing.assert_array_equal(out, self.x)

    def test_types(self):
        bits = np.zeros((4, 64), np.uint16)
        self.assertEqual(amax(Producer(bits, dtype=(4, 16))), 0)
        self.assertEqual(amax(Producer(bits, dtype=(1, 16))), 0)
        for dtype, name in (((0, 16), "int16"), ((2, 16), "float16"),
                            ((77, 16), "code 77 of 16 bits")):
            self.assert_refuses(f"argument 0 .*: expected dtype bfloat16.*but got {name}",
                                amax, Producer(bits, dtype=dtype))

    def test_strides(self):
        self.assert_refuses("expected a row-major array", self.copy,
                            Producer(self.x[:, ::-1]))
        self.assert_refuses("expected a row-major array", self.copy,
                            Producer(self.x[::-1]))
        self.assert_refuses("expected a row-major array", self.copy,
                            Producer(self.x, strides=(0, 1)))

    # Of 1.0 on a capsule says its version, and whether its memory may be written.
    def test_versions(self):
        np.testing.assert_array_equal(self.copy(Producer(self.x, version=(1, 0))), self.x)
        np.testing.assert_array_equal(self.copy(Producer(self.x, version=(1, 9), flags=1)), self.x)
        self.assert_refuses("result 0: expected an array that can be written, but got one that is "
                            "read-only", self.copy, self.x,
                            out=[Producer(self.x, version=(1, 0), flags=1)])
        newer = Producer(self.x, version=(2, 0))
        self.assert_refuses("expected version 1 of DLPack, but got 2.0", self.copy, newer)
        self.assertEqual(newer.deleted, 1)
        self.assertEqual(newer.options, {"max_version": (1, 1)})

        class Older(Producer):
            def __dlpack__(self):
                return super().__dlpack__()

        np.testing.assert_array_equal(self.copy(Older(self.x)), self.x)

    def test_memory_lives_until_the_call_ends(self):
        for version in (None, (1, 1)):
            producer = Producer(self.x, version=version)
            self.copy(producer)
            self.assertEqual(producer.deleted, 1)
            self.assertIn("used_dltensor", repr(producer.capsule))
            self.assert_refuses("expected dtype bfloat16", amax, producer)
            self.assertEqual(producer.deleted, 2)

    def test_a_capsule_is_taken_once(self):
        producer = Producer(self.x)
        taken = producer.__dlpack__()
        self.assertEqual(_native.Exchanged(taken).shape, (4, 64))
        self.assertEqual(producer.deleted, 1)

        class Again:
            def __dlpack__(self, **_):
                return taken

        self.assert_refuses("expected a capsule of DLPack that nobody took, but got <capsule "
                            "object \"used_dltensor\"", self.copy, Again())
        Again.__dlpack__ = lambda self, **_: 3
        self.assert_refuses("expected a capsule of DLPack that nobody took, but got 3", self.copy,
                            Again())

    def test_memory_that_begins_later(self):
        found = self.copy(Producer(self.x, shape=(2, 64), offset=2 * 64 * 4))
        np.testing.assert_array_equal(found, self.x[2:])

    def test_devices(self):
        self.assert_refuses("expected an array in the CPU's memory, but got one on GPU 0; "
                            "move it there, or compile with on='cuda'", self.copy,
                            Producer(self.x, device=(2, 0)))
        self.assert_refuses("device", self.copy, Producer(self.x, device=(10, 0)))

    @unittest.skipUnless(FAKE_CUDA.exists(), "no driver without a GPU was built")
    def test_memory_of_a_gpu(self):
        # Of a driver whose GPU's memory is the host's.
        os.environ["BLOCKSCALE_LIBCUDA"] = str(FAKE_CUDA)
        self.addCleanup(os.environ.pop, "BLOCKSCALE_LIBCUDA")
        copy = bs.compile(COPY, target="sm_90a", on="cuda")
        memory = np.zeros(1024, np.float32)
        start = (-memory.ctypes.data // 4) % 64  # at a multiple of 256 bytes
        x = memory[start:start + 256].reshape(4, 64)
        out = memory[start + 256:start + 512].reshape(4, 64)
        x[:] = self.x
        copy(Producer(x, device=(2, 0)), out=[Producer(out, device=(2, 0))])
        np.testing.assert_array_equal(out, self.x)
        self.assert_refuses("expected an array on GPU 0, but got one on the CPU", copy, x)
        self.assert_refuses("expected an array on GPU 0, but got one on GPU 1", copy,
                            Producer(x, device=(2, 1)))
        self.assert_refuses("expected arrays for the results", copy,
                            Producer(x, device=(2, 0)))
        self.assert_refuses("result 0: expected an array on GPU 0", copy,
                            Producer(x, device=(2, 0)), out=[out])
        # The producer is told on which stream its memory is used.
        self.assertNotIn("stream", self.exchange(x, 0).options)
        self.assertEqual(self.exchange(x, 77).options["stream"], 77)

    def exchange(self, x, stream):
        producer = Producer(x, device=(2, 0))
        _native.exchange(producer, stream)
        return producer


if __name__ == "__main__":
    unittest.main()
