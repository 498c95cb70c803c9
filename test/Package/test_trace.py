# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions traced to modules: every op, its types, and the lines that errors name."""

import inspect
import unittest

import blockscale as bs


def line_of(function, part):
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if part in line)


class TraceTest(unittest.TestCase):
    def assert_types(self, function, specs, *types):
        """`function` traces to a module that verifies and returns these types."""
        module = bs.jit(function).trace(*specs)
        self.assertEqual([str(value.spec) for value in module.results], list(types))

    def test_quantize(self):
        x = bs.Spec((None, 64), "bf16")
        self.assert_types(lambda x: bs.quantize(x), [x],
                          "tensor<?x64xf4E2M1FN>", "tensor<?x4xf8E4M3FN>")
        self.assert_types(lambda x: bs.quantize(x, format="mxfp8", layout="swizzle_128x4"),
                          [x], "tensor<?x64xf8E4M3FN>",
                          "tensor<?x2xf8E8M0FNU, #blockscale.layout<swizzle_128x4>>")
        y = bs.Spec((3, 96, 64), "f32")
        self.assert_types(lambda y: bs.quantize(y, format="mxfp6_e3m2", block=(32, 1),
                                                transposed=True), [y],
                          "tensor<3x64x96xf6E3M2FN>", "tensor<3x64x3xf8E8M0FNU>")
        for dim, scales in (("k", "96x2"), ("n", "64x3")):
            self.assert_types(lambda y: bs.quantize(y, format="mxfp8_e5m2", block=(32, 32),
                                                    scale_dim=dim), [y],
                              "tensor<3x96x64xf8E5M2>", f"tensor<3x{scales}xf8E8M0FNU>")

    def test_quantize_operands(self):
        def quantize(x, g, r, e):
            return bs.quantize(x, recipe="te", global_amax=g, rng=r, offsets=e,
                               layout="swizzle_128x4")

        self.assert_types(quantize, [bs.Spec((64, 64), "f32"), bs.Spec((3,), "f32"),
                                     bs.Spec((2,), "i64"), bs.Spec((3,), "i32")],
                          "tensor<64x64xf4E2M1FN>",
                          "tensor<64x4xf8E4M3FN, #blockscale.layout<swizzle_128x4, "
                          "groups = 3, dim = 0>>")

    def test_amaxes_and_scales(self):
        x = bs.Spec((3, 64, 32), "f32")
        self.assert_types(lambda x: [bs.amax(x), bs.amax(x, per="batch"),
                                     bs.amax(x, per="row"), bs.global_scale(bs.amax(x)),
                                     bs.scale_sweep(x, bs.amax(x))], [x],
                          "tensor<f32>", "tensor<3xf32>", "tensor<3x64xf32>", "tensor<f32>",
                          "tensor<3x64x2xf32>")

    def test_layouts(self):
        s = bs.Spec((8, 4), "e8m0")
        tiles = "tensor<8x4xf8E8M0FNU, #blockscale.layout<swizzle_128x4>>"
        self.assert_types(lambda s, e: bs.swizzle(s, offsets=e), [s, bs.Spec((2,), "i32")],
                          "tensor<8x4xf8E8M0FNU, #blockscale.layout<swizzle_128x4, "
                          "groups = 2, dim = 0>>")
        self.assert_types(lambda s: [bs.swizzle(s), bs.swizzle(bs.swizzle(s), None),
                                     bs.expand_scale(s, "k", rows=256, cols=128)], [s],
                          tiles, "tensor<8x4xf8E8M0FNU>", "tensor<256x4xf8E8M0FNU>")
        self.assert_types(lambda s: [bs.swizzle(s, "swizzle_8x4"),
                                     bs.swizzle(s, bs.Layout(name="swizzle_8x4"))], [s],
                          *["tensor<8x4xf8E8M0FNU, #blockscale.layout<swizzle_8x4>>"] * 2)
        blocks = "tensor<40x64xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>"
        self.assert_types(lambda w: [bs.prepack(w), bs.prepack(bs.prepack(w), None)],
                          [bs.Spec((40, 64), "e2m1")], blocks, "tensor<40x64xf4E2M1FN>")
        self.assert_types(lambda x, w, s: bs.scaled_mm(x, w, None, s),
                          [bs.Spec((8, 64), "bf16"),
                           bs.Spec((40, 64), "e2m1", layout=bs.DataLayout()),
                           bs.Spec((40, 4), "e4m3")], "tensor<8x40xbf16>")

    def test_products(self):
        def product(a, b, sa, sb, g, bias):
            return bs.scaled_mm(a, b, sa, sb, dtype="f32", global_scale_a=g,
                                global_scaling="after_rounding", bias=bias)

        self.assert_types(product, [bs.Spec((48, 64), "e2m1"), bs.Spec((40, 64), "e2m1"),
                                    bs.Spec((48, 4), "e4m3"), bs.Spec((40, 4), "e4m3"),
                                    bs.Spec((), "f32"), bs.Spec((40,), "f32")],
                          "tensor<48x40xf32>")
        plain, codes, scales = (bs.Spec((48, 64), "bf16"), bs.Spec((48, 64), "e2m1"),
                                bs.Spec((48, 4), "e4m3"))
        self.assert_types(lambda x, w, s: bs.scaled_mm(x, w, None, s), [plain, codes, scales],
                          "tensor<48x48xbf16>")
        self.assert_types(lambda w, x, s: bs.scaled_mm(w, x, s, None), [codes, plain, scales],
                          "tensor<48x48xbf16>")
        self.assert_types(lambda x, w, s, g: bs.scaled_mm(
            x, w, None, s, global_scale_b=g, global_scaling="in_elements"),
            [plain, codes, scales, bs.Spec((), "f32")], "tensor<48x48xbf16>")
        self.assert_types(lambda x, w: bs.scaled_mm(x, w, None, None), [plain, plain],
                          "tensor<48x48xbf16>")
        chain = bs.jit(lambda x, w, s: bs.scaled_mm(x, w, None, s, order="chain"))
        self.assertIn("order chain", str(chain.trace(plain, codes, scales)))
        with self.assertRaisesRegex(ValueError, "order to be one of free, chain, but got 'tree'"):
            bs.jit(lambda x, w, s: bs.scaled_mm(x, w, None, s, order="tree")).trace(
                plain, codes, scales)
        with self.assertRaisesRegex(bs.CompileError, "operands without scales to be both bf16"):
            bs.jit(lambda x, w: bs.scaled_mm(x, w, None, None)).trace(codes, codes)
        for shape, result in (((3, 40, 64), "96x40"), ((40, 64), "3x96x40")):
            scales = (*shape[:-1], 2)
            self.assert_types(
                lambda a, b, sa, sb, e: bs.scaled_grouped_mm(a, b, sa, sb, e),
                [bs.Spec((96, 64), "e4m3"), bs.Spec(shape, "e4m3"),
                 bs.Spec((96, 2), "e8m0"), bs.Spec(scales, "e8m0"), bs.Spec((3,), "i32")],
                f"tensor<{result}xbf16>")

    def test_elementwise_and_rotation(self):
        x = bs.Spec((32, 64), "bf16")
        self.assert_types(lambda x, y: bs.hadamard(x + y * x - y, 1, sign_mask=0), [x, x],
                          "tensor<32x64xbf16>")

    def test_groups_of_any_length(self):
        def wgrad(x, dy, offsets):
            px, ends = bs.pad_groups(x, offsets)
            pdy, _ = bs.pad_groups(dy, offsets)
            b, sb = bs.quantize(px, format="mxfp8", block=(32, 1), transposed=True)
            a, sa = bs.quantize(pdy, format="mxfp8", block=(32, 1), transposed=True)
            return px, ends, bs.scaled_grouped_mm(a, b, sa, sb, offsets=ends)
        ends = bs.Spec((3,), "i32")
        self.assert_types(wgrad, [bs.Spec((96, 64), "bf16"), bs.Spec((96, 40), "bf16"), ends],
                          "tensor<160x64xbf16>", "tensor<3xi32>", "tensor<3x40x64xbf16>")
        self.assert_types(lambda x, offsets: bs.pad_groups(x, offsets, 16)[0],
                          [bs.Spec((None, 64), "f32"), ends], "tensor<?x64xf32>")
        with self.assertRaisesRegex(bs.ArgumentError, "expected unit to be 1 or more, but got 0"):
            bs.jit(lambda x, offsets: bs.pad_groups(x, offsets, 0)).trace(
                bs.Spec((96, 64), "bf16"), ends)

    def test_a_number_of_groups_that_calls_say(self):
        def layer(x, w, sw, offsets):
            q, s = bs.quantize(x, format="mxfp8", offsets=offsets, layout="swizzle_128x4")
            y = bs.scaled_grouped_mm(q, w, s, sw, offsets)
            return bs.amax(y, offsets=offsets), s, y
        specs = [bs.Spec((None, 64), "bf16"), bs.Spec((None, 40, 64), "e4m3"),
                 bs.Spec((None, 40, 2), "e8m0", bs.Layout()), bs.Spec((None,), "i32")]
        self.assert_types(
            layer, specs, "tensor<?xf32>",
            "tensor<?x2xf8E8M0FNU, #blockscale.layout<swizzle_128x4, groups = ?, dim = 0>>",
            "tensor<?x40xbf16>")
        self.assert_types(
            lambda a, sa, b, sb, e: bs.scaled_grouped_mm(a, b, sa, sb, e),
            [bs.Spec((96, 64), "e4m3"), bs.Spec((96, 2), "e8m0", bs.Layout(None, 1)),
             bs.Spec((40, 64), "e4m3"), bs.Spec((40, 2), "e8m0"), bs.Spec((None,), "i32")],
            "tensor<?x96x40xbf16>")

    def test_what_is_printed_is_the_module(self):
        module = bs.jit(lambda x: bs.quantize(x)).trace(bs.Spec((16, 16), "f32"))
        self.assertIn("  func.func @lambda(%x: tensor<16x16xf32>) -> "
                      "(tensor<16x16xf4E2M1FN>, tensor<16x1xf8E4M3FN>) {\n"
                      "    %data, %scale = blockscale.quantize %x block [1, 16]", str(module))
        self.assertEqual(bs.compile(str(module)).mlir, bs.compile(module).mlir)

    def test_annotations_are_specs(self):
        @bs.jit
        def rows(x: bs.Spec((None, 32), "bf16")):
            """Of x."""
            return bs.amax(x, per="row")

        self.assertEqual(rows.__doc__, "Of x.")
        self.assertEqual(rows.trace().results[0].shape, (None,))

    def test_annotations_may_be_text(self):
        @bs.jit
        def whole(x: "bs.Spec((4, 32), 'bf16')"):
            return bs.amax(x)

        @bs.jit
        def other(x: "unknown"):  # noqa: F821
            return bs.amax(x)

        self.assertEqual(whole.trace().results[0].shape, ())
        with self.assertRaisesRegex(bs.ArgumentError, "expected a Spec for x"):
            other.trace()


class TraceErrorTest(unittest.TestCase):
    def assert_refuses(self, part, function, *specs):
        with self.assertRaisesRegex(bs.ArgumentError, part):
            bs.jit(function).trace(*specs)

    def test_rules_of_the_dialect_name_the_line(self):
        def layer(x):
            y = x + x
            return bs.quantize(y)  # 60 columns

        with self.assertRaises(bs.CompileError) as caught:
            bs.jit(layer).trace(bs.Spec((4, 60), "bf16"))
        diagnostic, = caught.exception.diagnostics
        self.assertEqual(diagnostic.severity, "error")
        self.assertEqual(diagnostic.file, __file__)
        self.assertEqual(diagnostic.line, line_of(layer, "60 columns"))
        self.assertIn("multiple of 16, but got 60", diagnostic.message)
        self.assertIn(f"{diagnostic.file}:{diagnostic.line}:", str(caught.exception))

    def test_specs(self):
        sizes = "expected sizes of a shape to be None or numbers from 0 on, but got "
        dtypes = "expected dtype to be one of .*bf16.*, but got "
        for shape, dtype, part in (((4, -1), "f32", sizes + "-1"), ((4, 1.5), "f32", sizes + "1.5"),
                                   ((4,), "f3", dtypes + "'f3'"),
                                   ((4,), object, dtypes + "<class 'object'>")):
            with self.assertRaisesRegex(bs.ArgumentError, part):
                bs.Spec(shape, dtype)
        self.assert_refuses("expected 1 specs for @.*, but got 2", lambda x: bs.amax(x),
                            bs.Spec((2, 2), "f32"), bs.Spec((2, 2), "f32"))
        self.assert_refuses("expected a Spec for x", lambda x: bs.amax(x))
        self.assert_refuses("expected an array, but got 3", lambda x: bs.amax(x), 3)

    def test_operands(self):
        x = bs.Spec((64, 64), "f32")
        self.assert_refuses("expected x to have rank 2 or more", lambda x: bs.quantize(x),
                            bs.Spec((64,), "f32"))
        self.assert_refuses("expected x to have dtype f32 or bf16 or f16, but got i32",
                            lambda x: bs.quantize(x), bs.Spec((64, 64), "i32"))
        self.assert_refuses("expected format to be one of nvfp4.*but got 'int4'",
                            lambda x: bs.quantize(x, format="int4"), x)
        self.assert_refuses("expected scale_dim", lambda x: bs.quantize(x, scale_dim="m"), x)
        self.assert_refuses("expected layout to be None, 'fragments_64x64' or a DataLayout",
                            lambda w: bs.prepack(w, "swizzle_128x4"), bs.Spec((64, 64), "e2m1"))
        self.assert_refuses("expected data to have dtype", lambda x: bs.prepack(x), x)
        self.assert_refuses("expected scale_dim",
                            lambda s: bs.expand_scale(s, "m", rows=64, cols=64),
                            bs.Spec((4, 4), "e8m0"))
        self.assert_refuses("expected layout to be None, one of 'swizzle_128x4', 'swizzle_8x4' or "
                            "a Layout, but got 'tiled'",
                            lambda x: bs.quantize(x, layout="tiled"), x)
        with self.assertRaisesRegex(bs.ArgumentError, "expected the name of a Layout to be one of "
                                    "swizzle_128x4, swizzle_8x4, but got 'tiled'"):
            bs.Layout(name="tiled")
        self.assert_refuses("expected per", lambda x: bs.amax(x, per="column"), x)
        self.assert_refuses("expected x to be a traced value, but got 3",
                            lambda x: bs.quantize(3), x)
        self.assert_refuses("expected recipe to be one of torchao, .*but got 'fast'",
                            lambda x: bs.quantize(x, recipe="fast"), x)
        self.assert_refuses("expected dim to be a number", lambda x: bs.hadamard(x, "row"),
                            bs.Spec((64, 64), "bf16"))
        self.assert_refuses("truth value", lambda x: bs.amax(x) if x else x, x)
        self.assert_refuses("expected a value of type tensor<64x64xf32>",
                            lambda x: x + 1.0, x)
        self.assert_refuses("expected values of f32, bf16, f16 or f64, but got i32",
                            lambda i: i + i, bs.Spec((4,), "i32"))
        self.assert_refuses("to return a value", lambda x: None, x)
        self.assert_refuses("to return values of its trace", lambda x: [1], x)

    def test_values_of_another_trace(self):
        kept = []
        bs.jit(lambda x: kept.append(x) or x).trace(bs.Spec((4, 64), "f32"))
        self.assert_refuses("of another", lambda x: bs.amax(kept[0]), bs.Spec((4, 64), "f32"))
        with self.assertRaisesRegex(bs.ArgumentError, "under @blockscale.jit"):
            bs.amax(kept[0])


if __name__ == "__main__":
    unittest.main()
