# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules exported to ONNX: onnx.reference evaluates them to the bytes that the module computes,
and imported they are the same ops again."""

import unittest

import ml_dtypes
import numpy as np
import onnx

import blockscale as bs
import blockscale.onnx
import exported
from blockscale.onnx import UnsupportedError
from blockscale.onnx._recipes import list_functions
from models import run_reference, to_bits

X = bs.Spec((None, 64), "bf16")


class TestQuantizers(unittest.TestCase):
    # Every format, recipe and form of the global scale, with special values.
    def test_every_function(self):
        self.assertEqual(exported.check_quantizers(range(1)), [])
        self.assertEqual(set(list_functions()),
                         {name for seed in range(3) for name in exported.list_names(seed)})


class TestModules(unittest.TestCase):
    def check(self, function, specs, arrays, bound=None):
        """Both compute the same; the model as it is."""
        module = bs.jit(function).trace(*specs)
        found = bs.compile(module)(*arrays)
        found = found if isinstance(found, tuple) else (found,)
        model = blockscale.onnx.export(module)
        feeds = {each.name: exported.to_onnx(array, spec)
                 for each, array, spec in zip(model.graph.input, arrays, specs)}
        for x, y in zip(found, run_reference(model, feeds), strict=True):
            if bound is None:
                np.testing.assert_array_equal(to_bits(x, y.dtype == ml_dtypes.float4_e2m1fn),
                                              to_bits(y))
            else:
                np.testing.assert_allclose(x.astype(np.float64), y.astype(np.float64), rtol=bound,
                                           atol=bound)
        return model

    def setUp(self):
        self.rng = np.random.default_rng(0)

    def normal(self, *shape, dtype=np.float32):
        return self.rng.standard_normal(shape).astype(dtype)

    def test_a_layer(self):
        def layer(x, w, bias):
            g = bs.global_scale(bs.amax(x))
            a, sa = bs.quantize(x, global_scale=g, layout="swizzle_128x4")
            b, sb = bs.quantize(w)
            return bs.scaled_mm(a, b, sa, bs.swizzle(sb), global_scale_a=g, bias=bias)
        self.check(layer, [X, bs.Spec((24, 64), "bf16"), bs.Spec((24,), "bf16")],
                   [self.normal(5, 64, dtype=ml_dtypes.bfloat16),
                    self.normal(24, 64, dtype=ml_dtypes.bfloat16),
                    self.normal(24, dtype=ml_dtypes.bfloat16)], 2 ** -7)

    def test_products(self):
        def mx(x, w, g, h):
            a, sa = bs.quantize(x, format="mxfp8")
            b, sb = bs.quantize(w, format="mxfp8")
            c, sc = bs.quantize(x)
            d, sd = bs.quantize(w)
            return (bs.scaled_mm(a, b, sa, sb, dtype="f32"),
                    bs.scaled_mm(c, d, sc, sd, dtype="f32", global_scale_a=g, global_scale_b=h),
                    bs.scaled_mm(c, d, sc, sd, dtype="bf16", global_scale_a=g,
                                 global_scaling="after_rounding"))
        self.check(mx, [bs.Spec((2, 4, 64), "f32"), bs.Spec((2, 8, 64), "f32"),
                        bs.Spec((2,), "f32"), bs.Spec((2, 8), "f32")],
                   [self.normal(2, 4, 64), self.normal(2, 8, 64), np.abs(self.normal(2)) + 1,
                    np.abs(self.normal(2, 8)) + 1], 2 ** -6)

    def test_weights_alone(self):
        def weights(x, w, s):
            return bs.scaled_mm(x, w, None, s)
        self.check(weights, [X, bs.Spec((8, 64), "e2m1"), bs.Spec((8, 4), "e4m3")],
                   [self.normal(4, 64, dtype=ml_dtypes.bfloat16),
                    self.rng.integers(0, 256, (8, 32)).astype(np.uint8),
                    self.rng.integers(0x20, 0x50, (8, 4)).astype(np.uint8)], 2 ** -6)

    def test_weights_times_a_global_scale(self):
        """The scale multiplies elements, which are rounded: x is the identity, so that results
        are these, in a batch with a scale for each matrix."""
        def weights(x, w, s, g):
            return bs.scaled_mm(x, w, None, s, global_scale_b=g, global_scaling="in_elements")
        self.check(weights, [bs.Spec((2, 64, 64), "bf16"), bs.Spec((2, 8, 64), "e2m1"),
                             bs.Spec((2, 8, 4), "e4m3"), bs.Spec((2,), "f32")],
                   [np.stack([np.eye(64, dtype=ml_dtypes.bfloat16)] * 2),
                    self.rng.integers(0, 256, (2, 8, 32)).astype(np.uint8),
                    self.rng.integers(0x20, 0x50, (2, 8, 4)).astype(np.uint8),
                    np.array([0.0123456, 3.7], np.float32)])

    def test_dequantize(self):
        def make(recipe):
            return lambda d, s, g: [
                bs.dequantize(d, s, global_scale=g, recipe=recipe),
                bs.dequantize(d, s, global_amax=g, recipe=recipe, dtype="bf16")]
        for recipe in ("torchao", "modelopt", "te"):
            self.check(make(recipe), [bs.Spec((2, 4, 64), "e2m1"), bs.Spec((2, 4, 4), "e4m3"),
                                bs.Spec((2, 4), "f32")],
                       [self.rng.integers(0, 256, (2, 4, 32)).astype(np.uint8),
                        self.rng.integers(1, 0x7F, (2, 4, 4)).astype(np.uint8),
                        np.abs(self.normal(2, 4))])

    def test_columns_and_arithmetic(self):
        def columns(x, y):
            z = x * y - x + y
            q, s = bs.quantize(z, format="mxfp8", block=(32, 1))
            t, u = bs.quantize(z, format="mxfp8_e5m2", block=(32, 1), transposed=True)
            return (q, s, t, u, bs.dequantize(q, s, block=(32, 1)), bs.amax(z, per="row"),
                    bs.global_scale(bs.amax(z, per="row"), recipe="te"))
        self.check(columns, [bs.Spec((64, 10), "f32")] * 2, [self.normal(64, 10)] * 2)

    def test_what_is_written(self):
        model = self.check(lambda x: bs.quantize(x, format="mxfp4"), [X],
                           [self.normal(3, 64, dtype=ml_dtypes.bfloat16)])
        self.assertEqual(next(node.op_type for node in model.graph.node), "quantize_mxfp4_rceil")
        self.assertEqual([each.name for each in model.functions], ["quantize_mxfp4_rceil"])
        self.assertEqual([each.version for each in model.opset_import if not each.domain], [24])
        onnx.checker.check_model(model, full_check=True)


class TestRoundTrips(unittest.TestCase):
    def test_quantizers_are_recognized(self):
        def quantize(x, g):
            return bs.quantize(x, recipe="modelopt", global_scale=g)
        model = blockscale.onnx.export(bs.jit(quantize).trace(X, bs.Spec((), "f32")))
        text = str(blockscale.onnx.from_model(model).module)
        self.assertRegex(text, r"blockscale.quantize %x block \[1, 16\] recipe modelopt "
                               r"global_scale")
        self.assertNotIn("linalg", text)

    # A body that differs in one number is inlined, and computed as it is.
    def test_other_functions_of_that_name_are_not(self):
        model = blockscale.onnx.export(bs.jit(lambda x: bs.quantize(x, format="mxfp8")).trace(X))
        function = model.functions[0]
        number = next(node for node in function.node if node.op_type == "Constant"
                      and node.attribute[0].t.data_type == onnx.TensorProto.FLOAT)
        tensor = number.attribute[0].t
        value = onnx.numpy_helper.to_array(tensor) * np.float32(2)
        tensor.CopyFrom(onnx.numpy_helper.from_array(value, tensor.name))
        imported = blockscale.onnx.from_model(model)
        self.assertNotIn("blockscale.quantize", str(imported.module))
        x = np.random.default_rng(0).standard_normal((3, 64)).astype(ml_dtypes.bfloat16)
        for found, expected in zip(imported.compile()(x), run_reference(model, {"x": x})):
            np.testing.assert_array_equal(to_bits(found), to_bits(expected))


class TestRefused(unittest.TestCase):
    def refuse(self, message, function, *specs):
        module = bs.jit(function).trace(*specs)
        with self.assertRaisesRegex(UnsupportedError, message) as raised:
            blockscale.onnx.export(module)
        return raised.exception

    def test_ops_and_forms(self):
        error = self.refuse("blockscale.hadamard: expected an op that is exported",
                            lambda x: bs.hadamard(x, 1), X)
        self.assertRegex(str(error), r"test_export.py:\d+: %rotated")
        self.refuse("expected a quantizer without block_amax",
                    lambda x, a: bs.quantize(x, block_amax=a), X, bs.Spec((None, 4), "f32"))
        self.refuse("expected a quantizer without rng", lambda x, r: bs.quantize(x, rng=r), X,
                    bs.Spec((2,), "i64"))
        self.refuse(r"expected blocks of a row or a column, but got \[32, 32\]",
                    lambda x: bs.quantize(x, format="mxfp8", block=(32, 32)),
                    bs.Spec((64, 64), "bf16"))
        self.refuse("expected recipe torchao, modelopt, mslk, te, but got te_4over6_mae",
                    lambda x: bs.quantize(x, recipe="te_4over6_mae"), X)
        self.refuse("expected recipe torchao, modelopt, mslk, te, but got te_4over6_mae",
                    lambda a: bs.global_scale(a, recipe="te_4over6_mae"), bs.Spec((), "f32"))
        self.refuse("expected recipe torchao, modelopt, mslk, te, but got te_4over6_mae",
                    lambda q, s, a: bs.dequantize(q, s, global_amax=a, recipe="te_4over6_mae"),
                    bs.Spec((4, 32), "e2m1"), bs.Spec((4, 2), "e4m3"), bs.Spec((), "f32"))
        self.refuse("expected data of 4, 6 or 8 bits with a floating point, but got i8",
                    lambda x: bs.amax(bs.dequantize(*bs.quantize(x, format="mxint8"))), X)
        self.refuse("expected a swizzle without offsets",
                    lambda s, e: bs.swizzle(bs.swizzle(s, offsets=e), None, offsets=e),
                    bs.Spec((8, 4), "e8m0"), bs.Spec((2,), "i32"))
        self.refuse("expected results without a layout",
                    lambda x: bs.quantize(x, layout="swizzle_128x4"), X)

    def test_arguments(self):
        with self.assertRaisesRegex(bs.ArgumentError, "expected a Module, but got str"):
            blockscale.onnx.export("module {}")


if __name__ == "__main__":
    unittest.main()
