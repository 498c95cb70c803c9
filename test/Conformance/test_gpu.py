# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What of a job has GPU kernels."""

import unittest

import numpy as np

from gpu import reduce_job, refusal
from ir import MXFP6_E2M3, MXFP8, MXINT8, NVFP4, SWIZZLED, Form, Layout, Tensor
from jobs import Job, bits_check


class RefusalTest(unittest.TestCase):
    def quantize(self, format=NVFP4, recipe="torchao", k=64, **options):
        job = Job("job")
        x = job.input(Tensor((4, k), "bf16"), np.zeros((4, k), np.uint16))
        operands = options.pop("operands", {})
        for name, type in operands.items():
            options[name] = job.function.argument(type)
        values = job.function.quantize(x, format, recipe, **options)
        return refusal(job.function.operations_of(values)[-1], "sm_90a")

    def test_rows_have_kernels(self):
        self.assertIsNone(self.quantize())
        self.assertIsNone(self.quantize(layout=SWIZZLED))
        self.assertIsNone(self.quantize(MXFP8, "floor"))
        scalar = {"global_amax": Tensor((), "f32")}
        self.assertIsNone(self.quantize(recipe="te", operands=scalar))

    def test_operands_have_kernels(self):
        for name, shape in ("global_amax", (4,)), ("block_amax", (4, 4)):
            self.assertIsNone(self.quantize(operands={name: Tensor(shape, "f32")}))
        offsets = {"offsets": Tensor((2,), "i32")}
        self.assertIsNone(self.quantize(operands=offsets))
        self.assertIsNone(self.quantize(k=40, recipe="te_4over6_mse"))
        self.assertIsNone(self.quantize(MXFP6_E2M3, "floor"))

    def test_blocks_of_several_rows_have_kernels(self):
        self.assertIsNone(self.quantize(form=Form((16, 16))))
        self.assertIsNone(self.quantize(form=Form((16, 1), transposed=True), layout=SWIZZLED))
        self.assertIsNone(self.quantize(recipe="te", k=40, form=Form((16, 16))))
        offsets = {"offsets": Tensor((2,), "i32")}
        self.assertIsNone(self.quantize(form=Form((16, 16)), operands=offsets))

    def test_grouped_layouts_have_kernels(self):
        offsets = {"offsets": Tensor((2,), "i32")}
        self.assertIsNone(self.quantize(layout=Layout(groups=2), operands=offsets))


class ReduceTest(unittest.TestCase):
    def test_a_job_keeps_what_has_kernels(self):
        job = Job("job")
        x = job.input(Tensor((4, 64), "bf16"), np.zeros((4, 64), np.uint16))
        amax = job.function.amax(x)
        q, s = job.function.quantize(x, NVFP4, "torchao")
        product = job.function.scaled_mm(q, q, (s, s), 16, "f32")
        p, t = job.function.quantize(x, MXINT8, "floor")
        refused_product = job.function.scaled_mm(p, p, (t, t), 32, "f32")
        of_product = job.function.amax(refused_product)

        def check(name):
            return [bits_check(name, np.zeros(1, np.uint8), "f8E4M3FN")]

        for name, value in (("a", amax), ("q", q), ("p", product), ("r", refused_product),
                            ("o", of_product)):
            job.output(value, check(name))
        for chip in "sm_80", "sm_100a":
            with self.subTest(chip):
                reduced, refused = reduce_job(job, chip)
                self.assertEqual(reduced.function.results, [amax, q, product])
                self.assertEqual([c.array for c in reduced.checks()], ["a", "q", "p"])
                self.assertEqual(
                    [(c.array, reason) for c, reason in refused],
                    # The amax of what has no kernel.
                    [(name, "no kernel for scaled_mm of MXINT8") for name in "ro"],
                )
                module = reduced.function.module()
                self.assertEqual(module.count("blockscale.scaled_mm"), 1)
                self.assertEqual(module.count("blockscale.quantize"), 1)


if __name__ == "__main__":
    unittest.main()
