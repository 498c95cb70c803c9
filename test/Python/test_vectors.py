# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The conformance kit: what conforms, which rule a quantizer broke, files, and vectors."""

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile
from dataclasses import replace

import numpy as np

from golden import ROOT, floats, load, reference
from blockscale_reference import global_scale, pack, quantize_mx, quantize_nvfp4, swizzle, to_bf16
from blockscale_vectors import (
    KitError,
    check,
    check_file,
    command,
    forms,
    given,
    products,
    rounding,
    tables,
    vectors,
)
from blockscale_vectors.check import report
from vectors_cases import reference_of, wrongly_named

ORACLES = os.path.join(ROOT, "test", "Data", "oracles")
# Arrays that packages made of the same inputs, and the recipes that follow them.
MAKERS = {"torchao": "ao_dyn", "te": "te", "modelopt": "mo"}
CASES = ("nvfp4__normal_128x256_bf16", "nvfp4__grid_64x128_bf16", "nvfp4__sparse_32x64_bf16")


class FolderTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def file(self, **arrays):
        path = os.path.join(self.folder, "q.npz")
        np.savez(path, **arrays)
        return path

    def run_command(self, *words):
        output, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            status = command.main([str(word) for word in words])
        return status, output.getvalue(), errors.getvalue()


class CheckTest(unittest.TestCase):
    def test_reference_conforms(self):
        for form in forms.forms():
            with self.subTest(str(form)):
                got = check(reference_of(form), form.name, form.element_name)
                self.assertTrue(got.conforms, got)

    def test_reference_conforms_without_a_global_scale(self):
        for form in forms.forms():
            if form.is_nvfp4:
                with self.subTest(str(form)):
                    got = check(reference_of(form, "f32"), form.name, global_amax=False,
                                    x_type="f32")
                    self.assertTrue(got.conforms, got)

    def test_each_changed_rule_is_named(self):
        for form in (forms.form("torchao"), forms.form("rceil", "e4m3")):
            tried, wrong = wrongly_named(form, global_amax=False)
            self.assertGreater(tried, 25)
            self.assertEqual(wrong, [])

    def test_what_differs_between_packages(self):
        """Arrays of torchao, TransformerEngine and ModelOpt, each by the rules of each."""
        elements = {"torchao": "x * ((1 / g) / s)", "modelopt": "x / (s * g)",
                    "te": "x * min(1 / (s * (1 / S)), FLT_MAX)"}
        zeros = {("torchao", "te"): "least scale: 2^-6 instead of none",
                 ("torchao", "modelopt"): "scale of zeros: 0x08 instead of 0x38",
                 ("te", "torchao"): "least scale: none instead of 2^-6",
                 ("te", "modelopt"): "scale of zeros: 0x00 instead of 0x38",
                 ("modelopt", "torchao"): "scale of zeros: 0x38 instead of 0x08",
                 ("modelopt", "te"): "amax / (6 * g), 1 where that is 0 instead of"}
        for maker, prefix in MAKERS.items():
            for recipe in MAKERS:
                with self.subTest(f"{maker} by the rules of {recipe}"):
                    form = forms.form(recipe)
                    got = report(form, [(name, self.call(form, name, prefix)) for name in CASES])
                    text = str(got)
                    if maker == recipe:
                        self.assertTrue(got.conforms, text)
                        continue
                    self.assertIn(f"what elements are rounded from: {elements[maker]} instead of "
                                  f"{elements[recipe]}", text)
                    self.assertIn(zeros[maker, recipe], text)
                    self.assertNotIn("by no rule", text)

    @staticmethod
    def call(form, name, prefix):
        case = load(name)
        return given.take(form, case["in_x"], case[f"out_{prefix}_qdata"],
                          case[f"out_{prefix}_scale"],
                          global_amax=np.abs(floats(case["in_x"])).max())

    def test_arrays_of_compressed_tensors(self):
        case = load("compressed_tensors_nvfp4__weight_32x128_bf16", ORACLES)
        for recipe, conforms in (("compressed_tensors", True), ("te", False)):
            form = forms.form(recipe)
            call = given.take(
                form, case["in_x"], case["out_ct_qdata"], case["out_ct_scale"],
                global_amax=np.abs(floats(case["in_x"])).max())
            got = report(form, [("", call)])
            self.assertEqual(got.conforms, conforms, got)
            if not conforms:
                self.assertIn("S = T(T(1 / amax) * 2688)", str(got))

    def test_several_rules_at_once(self):
        def quantize(x, amax):
            return quantize_nvfp4(x, "te", global_amax=amax, rules=_with_ties_away_and_floor())

        got = check(quantize, "te")
        self.assertEqual({finding.change.rule for finding in got.findings},
                         {"rounding of elements", "least scale"}, got)
        self.assertIn("rounding of elements: to nearest, ties away from zero instead of to "
                      "nearest, ties to the even code", str(got))

    def test_stochastic_rounding_is_named(self):
        def quantize(x, amax):
            return quantize_nvfp4(x, "te", global_amax=amax, rng=(1, 2))

        got = check(quantize, "te")
        self.assertIn("as stochastic rounding does", str(got))

    def test_bytes_without_a_rule_are_counted(self):
        random = np.random.default_rng(3)

        def quantize(x, amax):
            codes, scales = quantize_nvfp4(x, "te", global_amax=amax)
            return codes ^ (random.random(codes.shape) < 0.01).astype(np.uint8), scales

        got = check(quantize, "te")
        self.assertFalse(got.conforms)
        self.assertGreater(got.explanations["codes"].unexplained, 50)
        self.assertIn("differ by no rule that the kit knows", str(got))
        self.assertNotIn("stochastic", str(got))

    def test_what_the_input_does_not_tell(self):
        form = forms.form("torchao")
        x = np.ones((4, 32), np.float32)
        codes, scales = quantize_nvfp4(x)
        got = report(form, [("", given.take(form, x, codes, scales))])
        self.assertTrue(got.conforms)
        self.assertIn("rounding of elements", got.unseen)
        self.assertIn("This input does not tell:", str(got))
        self.assertIn("-0: lost", str(got))

    def test_global_scale_beside_its_amax(self):
        def returning(value):
            def quantize(x, amax):
                return *quantize_nvfp4(x, "torchao", global_amax=amax), value(amax)
            return quantize

        with np.errstate(all="ignore"):
            own = check(returning(lambda amax: global_scale(amax)), "torchao")
            self.assertTrue(own.conforms, own)
            other = check(returning(lambda amax: np.float32(1) / global_scale(amax)),
                              "torchao")
        self.assertIn("global scale: the reciprocal (the encode scale) instead of g = amax / 2688",
                      str(other))

    def test_unknown_names(self):
        with self.assertRaisesRegex(KitError, "expected a recipe among torchao, .*'nvfp8'"):
            check(None, "nvfp8")
        with self.assertRaisesRegex(KitError, "expected an element among e4m3, .*'e9m9'"):
            check(None, "rceil", "e9m9")
        with self.assertRaisesRegex(KitError, "expected e2m1 data for the recipe te"):
            check(None, "te", "e4m3")
        with self.assertRaisesRegex(KitError, "expected e2m1, e2m3 or e4m3 data"):
            check(None, "mx_compressed_tensors", "e5m2")


def _with_ties_away_and_floor():
    return replace(reference.nvfp4.RECIPES["te"], least=2.0**-6, round_element=lambda x:
                   rounding.encode(reference.E2M1, x, "to nearest, ties away from zero"))


class FileTest(FolderTest):
    def setUp(self):
        super().setUp()
        random = np.random.default_rng(5)
        self.x = (random.standard_normal((160, 96)) * 8).astype(np.float32)
        self.codes, self.scales = quantize_nvfp4(self.x, "te", global_amax=np.abs(self.x).max())
        self.given = {"input": self.x, "data": pack(self.codes), "scales": self.scales,
                      "global_amax": np.abs(self.x).max()}

    def check(self, recipe="te", **changes):
        return check_file(self.file(**self.given | changes), recipe)

    def test_conforms(self):
        self.assertTrue(self.check().conforms)
        self.assertTrue(self.check(data=self.codes).conforms)

    def test_layouts(self):
        for layout in ("swizzle_128x4", "swizzle_8x4"):
            tiles = swizzle(self.scales, layout=layout)
            with self.subTest(layout):
                self.assertTrue(self.check(scales=tiles, layout=layout).conforms)
                got = self.check(scales=tiles)
                self.assertFalse(got.conforms)
                self.assertEqual([str(each.change) for each in got.findings],
                                 [f"layout of scales: {layout} instead of linear"])
                padded = swizzle(self.scales, fill=3, layout=layout)
                self.assertIn("padding of scales: other bytes instead of zeros",
                              str(self.check(scales=padded, layout=layout)))
        got = self.check(scales=self.scales.T, layout="swizzle_8x4")
        self.assertIn("layout of scales: transposed instead of swizzle_8x4", str(got))

    def test_order_of_codes(self):
        got = self.check(data=pack(given.swap_nibbles(self.codes)))
        self.assertEqual([str(each.change) for each in got.findings], [
            ("order of codes in a byte: the even element in the high bits instead of the even "
            "element in the low bits")])

    def test_blocks_of_columns(self):
        codes, scales = quantize_nvfp4(self.x, "te", global_amax=np.abs(self.x).max(),
                                       block=(16, 1))
        arrays = {"data": codes, "scales": scales}
        self.assertTrue(self.check(**arrays, block=(16, 1)).conforms)
        self.assertIn("blocks: 16x1 instead of 1x16", str(self.check(**arrays)))

    def test_reciprocal_global_scale(self):
        g = np.float32(1 / 32)
        codes, scales = quantize_nvfp4(self.x, "torchao", global_scale=g)
        path = self.file(input=self.x, data=codes, scales=scales, global_scale=1 / g)
        got = check_file(path, "torchao")
        self.assertIn("global scale: g is the reciprocal (the encode scale) instead of g is the "
                      "decode scale", str(got))

    def test_types_of_the_input(self):
        for x, x_type in ((to_bf16(self.x), "bf16"), (self.x.astype(np.float16), "f16")):
            values, named = given.values_of("input", x)
            self.assertEqual(named, x_type)
            amax = np.abs(values).max()
            codes, scales = quantize_nvfp4(values, "compressed_tensors", global_amax=amax,
                                           x_type=x_type)
            path = self.file(input=x, data=codes, scales=scales, global_amax=amax)
            self.assertTrue(check_file(path, "compressed_tensors").conforms)

    def test_files_that_are_refused(self):
        for changes, message in (
                ({"input": self.x.astype(np.float64)}, ("expected input to be float32, float16 or "
                 r"uint16 \(bits of bf16\), but got float64")),
                ({"input": self.x[0]}, "expected input to have 2 dimensions, but got 1"),
                ({"data": self.codes[:4]}, r"expected data of shape \(160, 96\) or \(160, 48\)"),
                ({"scales": self.scales[:, :3]}, "expected 160 x 6 scales in one of the layouts"),
                ({"scales": self.scales.astype(np.float32)}, "expected scales to be uint8"),
                ({"layout": "tiles"}, "expected layout to be one of linear, .*'tiles'"),
                ({"block": (2, 16)}, "expected block to be one of"),
                ({"block": "rows"}, "expected block to be two integers, but got str"),
                ({"global_amax": "all"}, "expected global_amax to be a number, but got str"),
                ({"global_amax": np.ones(3)}, "expected global_amax to be one number, but got 3"),
                ({"scale": self.scales}, "expected arrays among input, .*'scale'")):
            with self.subTest(message), self.assertRaisesRegex(KitError, message):
                self.check(**changes)
        with self.assertRaisesRegex(KitError, "expected K to be a multiple of 16"):
            check_file(self.file(input=self.x[:, :40], data=self.codes[:, :40],
                                     scales=self.scales[:, :3]), "torchao")
        with self.assertRaisesRegex(KitError, "expected no global scale with rceil of e4m3"):
            check_file(self.file(**self.given | {"data": self.codes}), "rceil")
        with self.assertRaisesRegex(KitError, "expected an array 'scales'"):
            check_file(self.file(input=self.x, data=self.codes), "te")
        text = os.path.join(self.folder, "text.npz")
        with open(text, "w", encoding="utf-8") as file:
            file.write("no archive")
        cut = self.file(**self.given)
        with open(cut, "r+b") as file:
            file.truncate(1000)
        array = os.path.join(self.folder, "array.npy")
        np.save(array, self.x)
        for path in (text, cut, array, os.path.join(self.folder, "none.npz")):
            with self.subTest(path), self.assertRaisesRegex(KitError, "to be a file .npz, but got"):
                check_file(path, "te")


class CommandTest(FolderTest):
    def test_check(self):
        x = np.random.default_rng(1).standard_normal((8, 64)).astype(np.float32)
        codes, scales = quantize_mx(x)
        path = self.file(input=x, data=codes, scales=scales)
        status, output, _ = self.run_command("check", path, "--recipe", "rceil")
        self.assertEqual((status, output.splitlines()[0]), (0, "rceil of e4m3: conforms"))
        status, output, _ = self.run_command("check", path, "--recipe", "floor")
        self.assertEqual(status, 1)
        self.assertIn("scale: amax / largest rounded up to a power of two (rceil) instead of the "
                      "exponent of amax rounded down (floor)", output)
        self.assertIn("first: scales, block (", output)
        status, _, errors = self.run_command("check", path, "--recipe", "nothing")
        self.assertEqual(status, 2)
        self.assertIn("expected a recipe among", errors)
        status, _, errors = self.run_command("table", "nothing", path)
        self.assertEqual((status, "expected a table" in errors), (2, True))

    def test_lists_tables_and_headers(self):
        _, output, _ = self.run_command("list")
        self.assertIn("  hopper/wgmma/bf16\n", output)
        out = os.path.join(self.folder, "t.npz")
        self.assertEqual(self.run_command("table", "casts/e4m3", out)[0], 0)
        header = os.path.join(self.folder, "t.h")
        self.assertEqual(self.run_command("header", out, header)[0], 0)
        with open(header, encoding="utf-8") as file:
            text = file.read()
        self.assertIn("static const uint32_t x[", text)
        status, _, errors = self.run_command("table", "e8m0", os.path.join(self.folder, "t.txt"))
        self.assertEqual(status, 2)
        self.assertIn("expected OUT to end in .npz or .h", errors)

    def test_needs_numpy_alone(self):
        program = ("import sys, blockscale_vectors.command, blockscale_vectors.vectors; "
                   "print([n for n in ('ml_dtypes', 'torch', 'blockscale') if n in sys.modules])")
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                              env=os.environ | {"PYTHONPATH": f"{ROOT}/python"}, check=True)
        self.assertEqual(done.stdout.strip(), "[]")


class ProductTest(FolderTest):
    def test_each_product_is_its_own(self):
        for product in products.names()[1:]:
            path = self.file(**products.vectors(product))
            self.assertTrue(products.check_file(path, product).conforms, product)

    def test_operands_with_scales(self):
        for second in ("nvfp4", "mxfp8"):
            path = self.file(**products.vectors("hopper/wgmma/bf16", second))
            self.assertTrue(products.check_file(path, "hopper/wgmma/bf16").conforms, second)

    def test_what_differs_between_tensor_cores(self):
        path = self.file(**products.vectors("ampere/mma.sync/bf16"))
        got = products.check_file(path, "hopper/wgmma/bf16")
        self.assertEqual({str(finding.change) for finding in got.findings}, {
            "products added at once: 8 instead of 16",
            "bits kept below the largest exponent: 24 instead of 25"})
        self.assertEqual(got.beyond_bound, 0)
        status, output, _ = self.run_command("check", path, "--product", "hopper/wgmma/bf16")
        self.assertEqual(status, 1)
        self.assertIn("beyond the bound of sums in any order: 0 of 480", output)

    def test_sums_in_f32(self):
        arrays = products.vectors("hopper/wgmma/f16")
        a, b = (arrays[name].astype(np.float32) for name in "ab")
        total = np.zeros((len(a), len(b)), np.float32)
        for k in range(a.shape[1]):
            total = (a[:, None, k].astype(np.float64) * b[None, :, k] + total).astype(np.float32)
        path = self.file(**arrays | {"y": total})
        got = products.check_file(path, "hopper/wgmma/f16")
        self.assertEqual([str(finding.change) for finding in got.findings], [
            ("sums: f32, one product after the other, to nearest instead of those of a tensor "
            "core")])
        self.assertTrue(products.check_file(path, "free").conforms)

    def test_bound_of_sums_in_any_order(self):
        arrays = products.vectors("hopper/wgmma/bf16")
        y = arrays["y"].copy()
        y[3, 4] *= np.float32(1.001)
        got = products.check_file(self.file(**arrays | {"y": y}), "free")
        self.assertEqual((got.conforms, got.beyond_bound), (False, 1))

    def test_results_of_16_bits_and_global_scales(self):
        arrays = products.vectors("hopper/wgmma/bf16")
        y = to_bf16(arrays["y"] * np.float32(0.3))
        path = self.file(**arrays | {"y": y, "global_scale": np.float32(0.3)})
        for product in ("hopper/wgmma/bf16", "free"):
            self.assertTrue(products.check_file(path, product).conforms)

    def test_files_that_are_refused(self):
        arrays = products.vectors("hopper/wgmma/bf16")
        for changes, message in (
                ({"y": arrays["y"][:2]}, "expected y of shape"),
                ({"b": arrays["b"][:, :16]}, "expected a and b to have one K"),
                ({"c": arrays["b"]}, "expected arrays among a, b, .*'c'"),
                ({"b_scales": np.ones((20, 3), np.uint8)}, "expected b_scales for blocks of 16")):
            with self.subTest(message), self.assertRaisesRegex(KitError, message):
                products.check_file(self.file(**arrays | changes), "hopper/wgmma/bf16")
        with self.assertRaisesRegex(KitError, "expected a product among free, "):
            products.check_file(self.file(**arrays), "hopper/wgmma/e9")


class RoundingTest(unittest.TestCase):
    def test_ties_and_signs(self):
        x = np.array([0.25, 0.75, -0.25, 5, -5, 0.1, -0.1, 7, -0.0, np.nan], np.float32)
        for name, want in (
                ("to nearest, ties away from zero", [1, 2, 9, 7, 15, 0, 8, 7, 8, 7]),
                ("to nearest, ties toward zero", [0, 1, 8, 6, 14, 0, 8, 7, 8, 7]),
                ("to nearest, ties up", [1, 2, 8, 7, 14, 0, 8, 7, 8, 7]),
                ("toward zero", [0, 1, 8, 6, 14, 0, 8, 7, 8, 7]),
                ("away from zero", [1, 2, 9, 7, 15, 1, 9, 7, 8, 7])):
            with self.subTest(name):
                self.assertEqual(rounding.encode(reference.E2M1, x, name).tolist(), want)

    def test_numbers_of_a_format_stay(self):
        for name, element in forms.ELEMENTS.items():
            values = tables.codes(name)["value"]
            values = values[np.isfinite(values)]
            for way in rounding.OTHERS:
                with self.subTest(f"{name} {way}"):
                    np.testing.assert_array_equal(rounding.encode(element, values, way),
                                                  element.encode(values))


class VectorsTest(FolderTest):
    def test_files(self):
        count = vectors.write(self.folder)
        paths = [os.path.join(folder, name) for folder, _, names in os.walk(self.folder)
                 for name in names]
        self.assertEqual(len(paths), count)
        self.assertLess(sum(map(os.path.getsize, paths)), 4 << 20)
        with np.load(os.path.join(self.folder, "mx_e2m1.npz")) as archive:
            codes, scales = quantize_mx(reference.from_bf16(archive["ties_input"]),
                                        reference.E2M1, "even")
            np.testing.assert_array_equal(archive["even_ties_data"], pack(codes))
            np.testing.assert_array_equal(archive["even_ties_scales"], scales)
            codes, scales = quantize_mx(reference.from_bf16(archive["ordinary_input"]),
                                        reference.E2M1, "floor", (32, 32))
            np.testing.assert_array_equal(archive["floor_ordinary_32x32_data"], pack(codes))
            np.testing.assert_array_equal(archive["floor_ordinary_32x32_scales"], scales)
        with np.load(os.path.join(self.folder, "layouts.npz")) as archive:
            np.testing.assert_array_equal(archive["130x5_swizzle_128x4"],
                                          swizzle(archive["130x5_linear"]))
            fragments = archive["codes_of_4_bits_fragments_64x64"]
            np.testing.assert_array_equal(reference.unprepack(fragments, 70, 130, 4),
                                          archive["codes_of_4_bits_linear"])

    def test_every_form_layout_and_product_has_vectors(self):
        made = vectors.files()
        for form in forms.forms():
            file = made["nvfp4" if form.is_nvfp4 else f"mx_{form.element_name}"]
            self.assertIn(f"{form.name}_ordinary_data", file)
        for product in products.names()[1:]:
            self.assertIn("products/" + product.replace("/", "_"), made)

    def test_tables(self):
        casts = tables.table("casts/e2m1")
        np.testing.assert_array_equal(casts["code"], reference.E2M1.encode(casts["x"]))
        for middle in (0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, 7):
            self.assertIn(middle, casts["x"])
            self.assertIn(np.nextafter(np.float32(middle), np.float32(0)), casts["x"])
        values = tables.table("products/e2m1")["value_e4m3"]
        self.assertEqual(values.shape, (16, 256))
        self.assertEqual(values[7, 0x7E], 2688)
        # The scale 448 for the largest bf16, without a global scale.
        self.assertEqual(tables.table("amaxes/te")["scale"][0x7F7F], 0x7E)


class WheelTest(FolderTest):
    def test_wheel(self):
        """It has the reference, the kit and the vectors, and nothing of what else lies here."""
        subprocess.run([f"{ROOT}/scripts/vectors.sh", self.folder], check=True,
                       capture_output=True)
        name, = os.listdir(self.folder)
        wheel = os.path.join(self.folder, name)
        self.assertRegex(name, r"^blockscale_vectors-[0-9.]+-py3-none-any\.whl$")
        self.assertLess(os.path.getsize(wheel), 5 << 20)
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
            data = archive.extract("blockscale_vectors/data/products/hopper_wgmma_bf16.npz",
                                   self.folder)
            metadata = next(each for each in names if each.endswith("/METADATA"))
            text = archive.read(metadata).decode()
        self.assertEqual({each.split("/")[0] for each in names if ".dist-info" not in each},
                         {"blockscale_reference", "blockscale_vectors"})
        self.assertIn("blockscale_vectors/LICENSE", names)
        self.assertEqual(re.findall("^Requires-Dist: (.*)$", text, re.M), ["numpy>=2.1"])
        self.assertIn("# Check a quantizer", text)
        # Modules are imported from the archive itself.
        program = (f"import sys; sys.path.insert(0, {wheel!r}); from blockscale_vectors.command "
                   f"import main; sys.exit(main(['check', {data!r}, '--product', "
                   "'hopper/wgmma/bf16']))")
        done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("hopper/wgmma/bf16: conforms", done.stdout)


if __name__ == "__main__":
    unittest.main()
