# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""QuantizeLinear, DequantizeLinear, products of what was dequantized, and TensorRT's operators:
which ops of the dialect they become, and their bytes by onnx.reference."""

import sys
import unittest
from pathlib import Path

import ml_dtypes
import numpy as np

import blockscale.onnx
import quantized
from models import NEWEST, TYPES, make_model, node, run_imported, run_reference, to_bits, unpack

# Last, so that the package that is tested is the installed one.
sys.path.append(str(Path(__file__).resolve().parents[2] / "python"))

from blockscale_reference import mx, nvfp4
from blockscale_reference.codecs import E4M3

RNG = np.random.default_rng(1)
#: Random cases of scripts/long/onnx.sh, imported as one model.
SEEDS = range(25)


def codes(*shape, kind=ml_dtypes.float4_e2m1fn):
    return RNG.integers(0, 16 if kind == ml_dtypes.float4_e2m1fn else 0x77, shape).astype(
        np.uint8).view(kind)


def e4m3(*shape):
    return RNG.integers(0x20, 0x60, shape).astype(np.uint8).view(ml_dtypes.float8_e4m3fn)


def e8m0(*shape):
    return RNG.integers(120, 132, shape).astype(np.uint8).view(ml_dtypes.float8_e8m0fnu)


def import_text(*arguments, **options):
    """The module, on one line."""
    text = str(blockscale.onnx.from_model(make_model(*arguments, **options)).module)
    return " ".join(text.split())


class TestRandom(unittest.TestCase):
    def test_against_the_reference(self):
        cases = [quantized.make_case(seed, f"s{seed}.") for seed in SEEDS]
        self.assertEqual(quantized.check(cases), [])

    def test_the_comparison_notices_faults(self):
        case = quantized.Case([], {}, {}, ["y", "p"], {"p": np.full((2, 2), 1e-3)})
        right = codes(2, 4, kind=ml_dtypes.float8_e4m3fn)
        wrong = right.copy()
        wrong.view(np.uint8)[1, 2] ^= 1
        self.assertEqual(quantized.find_difference(case, "y", right, right), "")
        self.assertIn("1 of 8 differ, at (1, 2)",
                      quantized.find_difference(case, "y", wrong, right))
        product = np.ones((2, 2), np.float32)
        self.assertEqual(quantized.find_difference(case, "p", product * 1.0005, product), "")
        self.assertIn("of the bound",
                      quantized.find_difference(case, "p", product * 1.01, product))


class TestDequantize(unittest.TestCase):
    def make(self, data, scale, block=16, extra=(), scale_name="s", opset=NEWEST, **attributes):
        """DequantizeLinear of constants."""
        dq = node("DequantizeLinear", f"x {scale_name}", "y", name="decode", block_size=block,
                  **attributes)
        return [*extra, dq], {}, {"y": ("f32", data.ndim)}, {"x": data, "s": scale}

    # The pair of TensorRT's documentation and of ModelOpt, with a global scale.
    def test_the_pair_of_nvfp4(self):
        pair = node("DequantizeLinear", "s g", "wide")
        nodes, inputs, outputs, constants = self.make(codes(4, 32), e4m3(4, 2), extra=[pair],
                                                      scale_name="wide", axis=-1)
        text = import_text(nodes, inputs, outputs, {**constants, "g": np.float32(0.25)})
        self.assertIn("blockscale.dequantize %x, %s block [1, 16] global_scale(", text)
        one = import_text(nodes, inputs, outputs, {**constants, "g": np.float32(1)})
        self.assertNotIn("global_scale", one)

    # Scales in f32 that are E4M3, and powers of two, are block scales, too.
    def test_scales_that_are_those_of_a_format(self):
        text = import_text(*self.make(codes(4, 32), e4m3(4, 2).astype(np.float32), axis=1))
        self.assertIn("blockscale.dequantize %x, %s block [1, 16] : tensor<4x32xf4E2M1FN>, "
                      "tensor<4x2xf8E4M3FN>", text)
        text = import_text(*self.make(codes(4, 64), e8m0(4, 2).astype(np.float32), block=32))
        self.assertIn("tensor<4x2xf8E8M0FNU>", text)

    # Numbers between those of E4M3, blocks that the dialect does not have, scales in f16 that
    # round their products: known at import, the values are a constant.
    def test_scales_of_no_format(self):
        near = e4m3(4, 2).astype(np.float32) * np.float32(1.0001)
        for scale, block, dtype in ((near, 16, "f32"), (e4m3(4, 4).astype(np.float32), 8, "f32"),
                                    (np.full((4, 2), 3.5, np.float16), 16, "f16")):
            nodes, inputs, _, constants = self.make(codes(4, 32), scale, block=block)
            text = import_text(nodes, inputs, {"y": (dtype, 2)}, constants)
            self.assertEqual("blockscale" in text, dtype == "f16", text)

    # MX: E8M0 scales in blocks of 32, along the last dimension or down the columns.
    def test_mx(self):
        for kind, name in ((ml_dtypes.float8_e4m3fn, "f8E4M3FN"), (ml_dtypes.float8_e5m2, "f8E5M2"),
                           (ml_dtypes.float4_e2m1fn, "f4E2M1FN")):
            text = import_text(*self.make(codes(4, 64, kind=kind), e8m0(4, 2), block=32,
                                          output_dtype=TYPES["bf16"]))
            self.assertIn(f"block [1, 32] : tensor<4x64x{name}>, tensor<4x2xf8E8M0FNU> "
                          "-> tensor<4x64xbf16>", text)
        nodes, _, outputs, _ = self.make(codes(64, 4), e8m0(2, 4), block=32, axis=0,
                                         output_dtype=TYPES["f32"])
        text = import_text(nodes, {"x": ("e4m3", [64, 4]), "s": ("e8m0", [2, 4])}, outputs)
        self.assertIn("block [32, 1]", text)

    # A weight [K, N] with blocks along K: its transpose has them in rows.
    def test_blocks_down_the_columns_of_constants(self):
        data, scale = codes(32, 6), e4m3(2, 6).astype(np.float32)
        model = self.make(data, scale, axis=0)
        self.assertIn("tensor<6x32xf4E2M1FN>", import_text(*model))
        found, = run_imported(make_model(*model), {})
        np.testing.assert_array_equal(found, run_reference(make_model(*model), {})[0])

    # A last block of 8 elements.
    def test_a_last_block_that_is_not_whole(self):
        model = self.make(codes(4, 24), e4m3(4, 2).astype(np.float32))
        self.assertIn("recipe te", import_text(*model))
        found, = run_imported(make_model(*model), {})
        np.testing.assert_array_equal(found, run_reference(make_model(*model), {})[0])


def quantized_operand(name, is_input, shape, kind="e4m3"):
    """A DequantizeLinear in MX, its inputs and its constants."""
    data, scale = codes(*shape, kind=ml_dtypes.float8_e4m3fn), e8m0(*shape[:-1], shape[-1] // 32)
    one = node("DequantizeLinear", f"{name}.x {name}.s", name, block_size=32, axis=-1,
               output_dtype=TYPES["f32"])
    arrays = {f"{name}.x": data, f"{name}.s": scale}
    if not is_input:
        return one, {}, arrays
    lead = ["m", *shape[1:]] if len(shape) == 2 else ["b", "m", *shape[2:]]
    scales = [*lead[:-1], shape[-1] // 32]
    return one, {f"{name}.x": (kind, lead), f"{name}.s": ("e8m0", scales)}, {}


class TestProducts(unittest.TestCase):
    def import_product(self, shape, *nodes, b_shape=(8, 64)):
        a, inputs, constants = quantized_operand("a", True, shape)
        b, _, others = quantized_operand("b", False, b_shape)
        return import_text([a, b, *nodes], inputs, {"y": ("f32", len(shape))},
                           {**constants, **others, "c": np.ones(8, np.float32)})

    def test_forms_that_are_scaled_mm(self):
        flip = node("Transpose", "b", "t", perm=[1, 0])
        for shape, nodes in (((4, 64), [flip, node("MatMul", "a t", "y")]),
                             ((2, 4, 64), [flip, node("MatMul", "a t", "y")]),
                             ((4, 64), [node("Gemm", "a b c", "y", transB=1)]),
                             ((4, 64), [flip, node("Gemm", "a t c", "y", alpha=2.0)])):
            text = self.import_product(shape, *nodes)
            self.assertIn("blockscale.scaled_mm", text)
            self.assertNotIn("linalg.matmul", text)
            self.assertNotIn("blockscale.dequantize", text)
        # The bias of a row is the product's own.
        text = self.import_product((4, 64), node("Gemm", "a b c", "y", transB=1))
        self.assertIn("bias(%c : tensor<8xf32>)", text)

    # Blocks along N, two types of data, a value that was rounded to f16: plain products.
    def test_forms_that_are_not(self):
        text = self.import_product((4, 64), node("MatMul", "a b", "y"), b_shape=(64, 64))
        self.assertIn("linalg.matmul", text)
        self.assertNotIn("scaled_mm", text)
        narrow = [node("Cast", "a", "a16", to=TYPES["f16"]), node("Cast", "b", "b16",
                                                                  to=TYPES["f16"]),
                  node("Gemm", "a16 b16", "y", transB=1)]
        text = self.import_product((4, 64), *narrow)
        self.assertNotIn("scaled_mm", text)
        self.assertIn("-> tensor<8x64xf16>", text)

    # In bf16 the values are exact.
    def test_values_that_a_cast_keeps(self):
        narrow = [node("Cast", "a", "a16", to=TYPES["bf16"]), node("Cast", "b", "b16",
                                                                   to=TYPES["bf16"]),
                  node("Gemm", "a16 b16", "y", transB=1)]
        self.assertIn("-> tensor<?x8xbf16>", self.import_product((4, 64), *narrow))

    # Weights alone: what the pass blockscale-raise-products makes a product of.
    def test_weights_alone(self):
        b, _, constants = quantized_operand("b", False, (8, 64))
        nodes = [b, node("Cast", "b", "w", to=TYPES["bf16"]),
                 node("Transpose", "w", "t", perm=[1, 0]), node("MatMul", "x t", "y")]
        model = make_model(nodes, {"x": ("bf16", ["m", 64])}, {"y": ("bf16", 2)}, constants)
        compiled = blockscale.onnx.from_model(model).compile().compiled
        self.assertIn("blockscale.scaled_mm", compiled.stages["canonicalize"])


class TestTensorRT(unittest.TestCase):
    """Graphs as ModelOpt writes them."""

    def make_nvfp4(self, **attributes):
        g = np.float32(0.002)
        how = {"axis": -1, "block_size": 16, "scale_type": TYPES["e4m3"], **attributes}
        nodes = [
            node("Cast", "x", "x16", to=TYPES["f16"]),
            node("TRT_FP4DynamicQuantize", "x16 g", "xq xs", domain="trt", **how),
            node("DequantizeLinear", "xs g", "xw", name="scales", domain="trt"),
            node("DequantizeLinear", "xq xw", "xd", name="values", domain="trt", axis=-1,
                 block_size=16),
            node("DequantizeLinear", "ws wg", "ww"),
            node("DequantizeLinear", "wq ww", "wd", name="weight", axis=-1, block_size=16),
            node("Cast", "xd", "xc", to=TYPES["f16"]), node("Cast", "wd", "wc", to=TYPES["f16"]),
            node("Transpose", "wc", "wt", perm=[1, 0]), node("MatMul", "xc wt", "y")]
        self.weight, self.scales = codes(8, 64), e4m3(8, 4)
        return make_model(nodes, {"x": ("f32", ["b", "m", 64])}, {"y": ("f16", 3)},
                          {"g": g, "wg": np.float32(0.5), "wq": self.weight, "ws": self.scales})

    def test_nvfp4(self):
        model = self.make_nvfp4()
        text = str(blockscale.onnx.from_model(model).module)
        self.assertRegex(text, r"blockscale.quantize %\w+ block \[1, 16\] recipe modelopt "
                               r"global_scale")
        self.assertIn("blockscale.scaled_mm", text)
        self.assertNotIn("linalg.matmul", text)
        x = RNG.standard_normal((2, 3, 64)).astype(np.float32)
        found, = run_imported(model, {"x": x})
        x16 = x.astype(np.float16).astype(np.float32).reshape(6, 64)
        data, scale = nvfp4.quantize_nvfp4(x16, "modelopt", global_scale=np.float32(0.002))
        a = decode(data, scale.view(ml_dtypes.float8_e4m3fn)) * 0.002
        b = decode(self.weight.view(np.uint8), self.scales) * 0.5
        np.testing.assert_allclose(found.reshape(6, 8).astype(np.float64), a @ b.T, rtol=1e-3,
                                   atol=1e-4)

    def test_mxfp8(self):
        nodes = [
            node("TRT_MXFP8DynamicQuantize", "x", "xq xs", domain="trt", axis=-1, block_size=32,
                 output_dtype=TYPES["e4m3"]),
            node("TRT_MXFP8DequantizeLinear", "xq xs", "xd", domain="trt", axis=-1, block_size=32,
                 output_dtype=TYPES["f16"]),
            node("TRT_MXFP8DequantizeLinear", "wq ws", "wd", name="weight", domain="trt", axis=-1,
                 block_size=32, output_dtype=TYPES["f16"]),
            node("Gemm", "xd wd", "y", transB=1)]
        weight, scales = codes(8, 64, kind=ml_dtypes.float8_e4m3fn), e8m0(8, 2)
        model = make_model(nodes, {"x": ("f16", ["m", 64])}, {"y": ("f16", 2)},
                           {"wq": weight, "ws": scales.view(np.uint8)})
        text = str(blockscale.onnx.from_model(model).module)
        self.assertIn("recipe rceil", text)
        self.assertIn("blockscale.scaled_mm", text)
        x = RNG.standard_normal((5, 64)).astype(np.float16)
        found, = run_imported(model, {"x": x})
        data, scale = mx.quantize_mx(x.astype(np.float32), E4M3, "rceil")
        a = np.repeat(np.exp2(scale.astype(np.float64) - 127), 32, -1) * E4M3.decode(data)
        b = np.repeat(scales.astype(np.float64), 32, -1) * weight.astype(np.float64)
        np.testing.assert_allclose(found.astype(np.float64), a @ b.T, rtol=1e-3, atol=1e-2)


def decode(data, scale):
    """E2M1 codes, one to an element, times their scales."""
    values = data.view(ml_dtypes.float4_e2m1fn).astype(np.float64)
    return values * np.repeat(scale.astype(np.float64), 16, -1)


class TestResults(unittest.TestCase):
    # Large constants, which are resources or arguments.
    def test_a_large_weight(self):
        pair = node("DequantizeLinear", "s g", "wide")
        model = make_model([pair, node("DequantizeLinear", "w wide", "y", name="decode",
                                       block_size=16, axis=-1)], {}, {"y": ("f32", 2)},
                           {"w": codes(64, 256), "s": e4m3(64, 16), "g": np.float32(0.5)})
        expected, = run_reference(model, {})
        for constants in ("resources", "arguments"):
            found, = run_imported(model, {}, constants=constants)
            np.testing.assert_array_equal(found, expected)

    # Codes of 4 bits as inputs and results, two to a byte.
    def test_codes_at_the_border(self):
        model = make_model([node("Cast", "x", "y", to=TYPES["e2m1"]),
                            node("Cast", "q", "z", to=TYPES["f32"])],
                           {"x": ("f32", ["m", 32]), "q": ("e2m1", ["m", 32])},
                           {"y": ("e2m1", 2), "z": ("f32", 2)})
        x, q = RNG.standard_normal((3, 32)).astype(np.float32) * 4, codes(3, 32)
        found = run_imported(model, {"x": x, "q": q})
        expected = run_reference(model, {"x": x, "q": q})
        np.testing.assert_array_equal(unpack(found[0]), to_bits(expected[0]))
        np.testing.assert_array_equal(found[1], expected[1])


if __name__ == "__main__":
    unittest.main()
