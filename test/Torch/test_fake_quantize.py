# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fake quantization: its bytes are those of quantize, then dequantize, and its gradient goes
straight through but where elements are clipped."""

import json
import sys
import unittest
from pathlib import Path

import numpy as np
import torch

import blockscale
import blockscale.torch
from blockscale import _native
from blockscale._forms import OperandForm
from blockscale.torch import _kernels, fake_quantize
from blockscale.torch._products_kernels import FakeQuantizer

sys.path.append(str(Path(__file__).resolve().parents[2] / "python"))  # Behind the package.

import blockscale_reference as reference

OPS = torch.ops.blockscale
ELEMENTS = {"mxfp8": reference.E4M3, "mxfp8_e5m2": reference.E5M2, "mxfp6_e2m3": reference.E2M3,
            "mxfp6_e3m2": reference.E3M2, "mxfp4": reference.E2M1, "mxint8": reference.INT8}
NAMES = {torch.float32: "f32", torch.bfloat16: "bf16", torch.float16: "f16"}


def draw(rows=64, cols=96, dtype=torch.bfloat16, seed=0):
    """Numbers of many exponents, with a block of zeros, both zeros, infinity, NaN, and numbers that
    are small for their block, or for the type."""
    random = torch.Generator().manual_seed(seed)
    x = torch.randn(rows, cols, generator=random) * torch.exp2(
        torch.randint(-8, 9, (rows, cols), generator=random).float())
    x[0, :32] = 0
    x[1 % rows, 3], x[2 % rows, 5], x[3 % rows, 7] = -0.0, float("inf"), float("nan")
    x[4 % rows, 32:64] *= 2.0 ** -120 if dtype != torch.float16 else 2.0 ** -12
    return x.to(dtype)


def draw_numbers(*shape, **options):
    return draw(*shape, **options).nan_to_num(1, 1, 1)


def bits(x):
    return x.view({4: torch.int32, 2: torch.int16}[x.element_size()])


def compute(x, format, block=None, recipe=None, **options):
    """What the reference in numpy gives: codes and scales, and their values."""
    wide, size = np.asarray(x.float()), 16 if format == "nvfp4" else 32
    block = block or (1, size)
    with np.errstate(all="ignore"):
        if format == "nvfp4":
            recipe = recipe or "torchao"
            codes, scales = reference.quantize_nvfp4(wide, recipe, block=block,
                                                     x_type=NAMES[x.dtype], **options)
            scale = options.get("global_scale")
            if options.get("global_amax") is not None:
                scale = reference.global_scale(options["global_amax"], recipe, NAMES[x.dtype])
            y = reference.dequantize_nvfp4(codes, scales, recipe, scale, block)
        else:
            element = ELEMENTS[format]
            codes, scales = reference.quantize_mx(wide, element, recipe or "rceil", block,
                                                  **options)
            y = reference.dequantize_mx(codes, scales, element, block)
    return torch.from_numpy(y.astype(np.float32)).to(x.dtype)


class ValuesTest(unittest.TestCase):
    def check(self, found, wanted, what):
        same = (bits(found) == bits(wanted)) | (found.isnan() & wanted.isnan())
        self.assertTrue(bool(same.all()), f"{what}: {int((~same).sum())} differ")

    def test_formats_and_blocks(self):
        for format in ("nvfp4", *ELEMENTS):
            size = 16 if format == "nvfp4" else 32
            for block in (None, (size, 1), (size, size)):
                for dtype in NAMES if format in ("nvfp4", "mxfp8") else (torch.bfloat16,):
                    with self.subTest(format, block=block, dtype=dtype):
                        x = draw(dtype=dtype)
                        self.check(fake_quantize(x, format=format, block=block),
                                   compute(x, format, block), "reference")

    def test_recipes(self):
        """By each rounding, that of the quantizer and that of the values."""
        scale, known = np.float32(0.37), []
        for recipe in _native.recipes:
            for format in ("nvfp4", "mxfp8", "mxfp4"):
                given = torch.tensor(scale) if format == "nvfp4" else None
                x = draw()
                try:
                    found = fake_quantize(x, format=format, recipe=recipe, given=given,
                                          scaling="none" if given is None else "scale")
                except blockscale.CompileError:
                    continue
                with self.subTest(recipe, format=format):
                    known.append(recipe)
                    options = {"global_scale": scale} if format == "nvfp4" else {}
                    self.check(found, compute(x, format, recipe=recipe, **options), recipe)
        self.assertGreaterEqual(len(set(known)), 10, known)

    def test_global_scales(self):
        """The scale of an amax that is given, or of the tensor's own, or of each matrix'."""
        x = draw_numbers(seed=1)
        amax = x.abs().max().float()
        for recipe in (None, "te", "te_4over6_mae", "mslk"):
            own = fake_quantize(x, format="nvfp4", recipe=recipe, scaling="dynamic")
            self.check(own, fake_quantize(x, format="nvfp4", recipe=recipe, scaling="amax",
                                          given=amax), "amax")
            by = "global_scale" if recipe is None else "global_amax"
            number = np.float32(amax) / np.float32(2688) if recipe is None else np.float32(amax)
            self.check(own, compute(x, "nvfp4", recipe=recipe, **{by: number}), recipe)
        batch = torch.stack([x, x / 16])
        made = fake_quantize(batch, format="nvfp4", scaling="dynamic")
        for one, other in zip(made, batch):
            self.check(one, fake_quantize(other, format="nvfp4", scaling="dynamic"), "batch")
        own = fake_quantize(x, format="nvfp4", scaling="dynamic")
        swept = fake_quantize(x, format="nvfp4", scaling="dynamic", swept=True)
        self.assertLess((swept - x).float().norm(), (own - x).float().norm())

    def test_random_bits(self):
        """Rounding goes by seed and offset alone, and finds the mean."""
        x, rng = draw_numbers(32, 64, dtype=torch.float32), torch.tensor([3, 5])
        for block in ((1, 32), (32, 1)):
            made = fake_quantize(x, format="mxfp4", rng=rng, block=block)
            self.check(made, compute(x, "mxfp4", block, rng=(3, 5)), "rng")
            self.check(made, fake_quantize(x, format="mxfp4", rng=rng, block=block), "again")
            other = fake_quantize(x, format="mxfp4", rng=torch.tensor([4, 5]), block=block)
            self.assertFalse(torch.equal(made, other))
        many = torch.full((256, 64), 0.3)
        many[:, ::32] = 4  # Of 0.3, codes have 0 and 0.5 beside.
        mean = fake_quantize(many, format="mxfp4", rng=rng)[:, 1:32].mean().item()
        self.assertAlmostEqual(mean, 0.3, delta=0.02)

    def test_sizes(self):
        """No rows, and more dimensions."""
        self.assertEqual(fake_quantize(torch.zeros(0, 64), format="mxfp8").shape, (0, 64))
        batch = torch.stack([draw(seed=2), draw(seed=3)])[None]
        for block in (None, (32, 1), (32, 32)):
            made = fake_quantize(batch, format="mxfp8", block=block)
            self.check(made[0, 1], compute(batch[0, 1], "mxfp8", block), "batch")

    def test_transformed(self):
        """The values of what the Hadamard transform gives, along the blocks."""
        x = draw_numbers(seed=7)
        for format, size in (("nvfp4", 16), ("mxfp8", 32)):
            for block in ((1, size), (size, 1)):
                along = x if block[0] == 1 else x.t().contiguous()
                made = OPS.hadamard(along)
                made = made if block[0] == 1 else made.t()
                found = fake_quantize(x, format=format, block=block, rht=True)
                self.check(found, fake_quantize(made.contiguous(), format=format, block=block),
                           format)
                self.assertFalse(torch.equal(found, fake_quantize(x, format=format, block=block)))
        data, scales = OPS.quantize(OPS.hadamard(x), format="nvfp4")
        self.check(fake_quantize(x, format="nvfp4", rht=True),
                   OPS.dequantize(data, scales, in_features=96, format="nvfp4",
                                  dtype=torch.bfloat16), "quantize")

    def test_hadamard(self):
        """The transform keeps products, its transpose takes it back, and its derivative is that."""
        x, w = draw_numbers(seed=8), draw_numbers(seed=9)
        random = torch.randn(48, 64, generator=torch.Generator().manual_seed(2)).bfloat16()
        wide = random.float()
        torch.testing.assert_close(OPS.hadamard(random).float() @ OPS.hadamard(random).float().t(),
                                   wide @ wide.t(), rtol=0.02, atol=0.2)
        whole = (x.sign() * 4).bfloat16()  # Sums of 16 of them are exact.
        self.assertTrue(torch.equal(OPS.hadamard(OPS.hadamard(whole), transposed=True), whole))
        one = torch.eye(16).bfloat16()
        self.assertTrue(torch.equal(OPS.hadamard(one), OPS.hadamard(one, transposed=True).t()))
        leaf = random.clone().requires_grad_()
        OPS.hadamard(leaf[None]).backward(random[None])
        self.assertTrue(torch.equal(leaf.grad, OPS.hadamard(random, transposed=True)))
        torch.library.opcheck(OPS.hadamard.default, (w.clone().requires_grad_(),))

    def test_one_kernel(self):
        """On GPUs; where the global scale is that of x itself, one more takes the amax."""
        for format, size in (("nvfp4", 16), ("mxfp8", 32), ("mxfp4", 32)):
            for block in ((1, size), (size, size)):
                for chip in ("sm_80", "sm_90a", "sm_100a"):
                    with self.subTest(format, block=block, chip=chip):
                        for scaling, recipe, count in (
                                ("none", None, 1), ("scale", None, 1), ("amax", None, 1),
                                ("amax", "te", 1), ("dynamic", None, 2), ("dynamic", "te", 2)):
                            if scaling != "none" and format != "nvfp4":
                                continue
                            module = FakeQuantizer(OperandForm(format, recipe, scaling),
                                                   torch.bfloat16, 2, block, False).build(None)
                            plan = json.loads(_kernels._emit(module, chip, _kernels._PLAN))
                            self.assertEqual(len(plan["functions"][0]["steps"]), count)
        # Blocks of a column have kernels of their own for numbers of columns that let them read 16
        # bytes of each row at a time.
        cpu, cuda = map(torch.device, ("cpu", "cuda"))
        for block, is_own in (((32, 1), True), ((1, 32), False), ((32, 32), False)):
            quantizer = FakeQuantizer(OperandForm("mxfp8"), torch.bfloat16, 2, block, False)
            general = quantizer.get(cpu, 64)
            self.assertEqual(quantizer.get(cuda, 64) is not general, is_own, block)
            self.assertIs(quantizer.get(cuda, 65), general)
            self.assertIs(quantizer.get(cpu, 72), general)
        # The transform of columns is in the kernel, that of rows is one of its own.
        for block, count in (((16, 1), 1), ((1, 16), 2)):
            module = FakeQuantizer(OperandForm("nvfp4"), torch.bfloat16, 2, block, False,
                                   True).build(None)
            plan = json.loads(_kernels._emit(module, "sm_90a", _kernels._PLAN))
            self.assertEqual(len(plan["functions"][0]["steps"]), count)


class GradientTest(unittest.TestCase):
    def test_straight_through(self):
        """The gradient is that of the result, but 0 where x is above the largest value that its
        block has: that of the largest code and the block's scale."""
        clipped = 0
        for format, recipe, codes in (("mxfp4", "floor", 0x77), ("mxfp8", "floor", 0x7E),
                                      ("nvfp4", None, 0x77), ("mxfp8", "rceil", 0x7E)):
            with self.subTest(format, recipe=recipe):
                x = draw_numbers(seed=4, dtype=torch.float32)
                x[5, 40] = 3e38  # Its scale has no finite value above.
                data, scales = OPS.quantize(x, format=format, recipe=recipe)
                largest = OPS.dequantize(torch.full_like(data, codes), scales,
                                         in_features=x.shape[1], format=format,
                                         dtype=torch.float32)
                given = torch.randn(x.shape, generator=torch.Generator().manual_seed(1))
                x.requires_grad_()
                fake_quantize(x, format=format, recipe=recipe).backward(given)
                wanted = torch.where(x.detach().abs() > largest, 0, given)
                self.assertTrue(torch.equal(x.grad, wanted))
                clipped += int((wanted != given).sum())
        self.assertGreater(clipped, 100)

    def test_blocks_and_global_scales(self):
        """The mask of blocks of columns and squares is that of rows where all rows are one."""
        row = draw_numbers(1, 96, dtype=torch.float32)
        scale = torch.tensor(2.0 ** -10)
        masks = []
        for x, block in ((row.expand(16, 96), (16, 16)), (row.t().expand(96, 16), (1, 16)),
                         (row.expand(16, 96), (16, 1))):
            x = x.contiguous().requires_grad_()
            fake_quantize(x, format="nvfp4", block=block, scaling="scale", given=scale).sum(
                ).backward()
            masks.append(x.grad)
        # All numbers of such a block are one number, which the largest code stands for, or which
        # is above what scales of E4M3 have.
        self.assertTrue(torch.equal(masks[1], masks[2].t()))
        self.assertTrue(bool((masks[1] == 0).any()) and bool((masks[1] == 1).any()))
        x = row.expand(16, 96).contiguous().requires_grad_()
        fake_quantize(x, format="nvfp4", scaling="scale", given=scale).sum().backward()
        self.assertTrue(torch.equal(masks[0], x.grad))

    def test_transformed(self):
        """Behind the mask, gradients go through the transpose of the transform."""
        x = draw_numbers(seed=10)
        given = torch.randn(x.shape, generator=torch.Generator().manual_seed(3)).bfloat16()
        for block in ((1, 32), (32, 1)):
            along, given_along = (each if block[0] == 1 else each.t().contiguous()
                                  for each in (x, given))
            leaf = along.clone().requires_grad_()
            fake_quantize(OPS.hadamard(leaf), format="mxfp8", recipe="floor").backward(given_along)
            wanted = leaf.grad if block[0] == 1 else leaf.grad.t()
            leaf = x.clone().requires_grad_()
            fake_quantize(leaf, format="mxfp8", recipe="floor", block=block, rht=True).backward(
                given)
            self.assertTrue(torch.equal(leaf.grad, wanted))

    def test_compiled(self):
        def function(x, w):
            return (fake_quantize(x, format="mxfp8") @ fake_quantize(
                w, format="nvfp4", scaling="dynamic").t()).float().pow(2).sum()
        grads = []
        for each in (function, torch.compile(function, backend="aot_eager", fullgraph=True)):
            x, w = (draw_numbers(seed=seed).requires_grad_() for seed in (5, 6))
            each(x, w).backward()
            grads.append((x.grad, w.grad))
        for one, other in zip(*grads):
            self.assertTrue(torch.equal(one, other))

    def test_op(self):
        x = draw_numbers(dtype=torch.float32)
        for options in ({"format": "mxfp8"}, {"format": "mxfp4", "block": [32, 1]},
                        {"format": "nvfp4", "scaling": "dynamic", "block": [16, 16]},
                        {"format": "nvfp4", "block": [16, 1], "rht": True}):
            each = x.bfloat16() if "rht" in options else x.clone()
            torch.library.opcheck(OPS.fake_quantize.default, (each.requires_grad_(),), options)


class RefusedTest(unittest.TestCase):
    def test_arguments(self):
        x, one = torch.zeros(16, 32), torch.ones(())
        for options, message in (
                ({"format": "int4"}, "format to be one of nvfp4, .* but got 'int4'"),
                ({"format": "mxfp8", "recipe": "up"}, "recipe to be one of .* but got 'up'"),
                ({"format": "mxfp8", "block": (1, 16)},
                 r"a block of \\[1, 32\\], \\[32, 1\\], \\[32, 32\\], but got \\[1, 16\\]"),
                ({"format": "mxfp8", "scaling": "dynamic"}, "no scaling by a global scale but of"),
                ({"format": "nvfp4", "scaling": "amax"}, "given exactly with scaling"),
                ({"format": "nvfp4", "given": one}, "given exactly with scaling"),
                ({"format": "nvfp4", "scaling": "scale", "given": one.double()},
                 "given of torch.float32, but got torch.float64"),
                ({"format": "nvfp4", "scaling": "scale", "given": x[0]}, r"given of shape \\[\\]"),
                ({"format": "mxfp4", "rng": one}, "rng of torch.int64"),
                ({"format": "mxfp8", "rht": True}, "x of bfloat16 for the Hadamard .*float32"),
                ({"format": "nvfp4", "rht": True, "block": (16, 16)},
                 r"a block of a row or of a column for .*, but got \\[16, 16\\]")):
            with self.subTest(options), self.assertRaisesRegex(blockscale.ArgumentError,
                                                               message.replace("\\\\", "\\")):
                fake_quantize(x, **options)
        with self.assertRaisesRegex(blockscale.ArgumentError, "x to be float32, bfloat16"):
            fake_quantize(x.double(), format="mxfp8")
        with self.assertRaisesRegex(blockscale.ArgumentError, "x of rank 2 or more"):
            fake_quantize(x[0], format="mxfp8")
        with self.assertRaisesRegex(blockscale.ArgumentError, "multiple of 16, but got 40"):
            fake_quantize(torch.zeros(2, 40), format="nvfp4")
        for wrong, message in ((x, "x to be bfloat16"), (x[0].bfloat16(), "x of rank 2"),
                               (x[:, :8].bfloat16(), "a multiple of 16, but got")):
            with self.assertRaisesRegex(blockscale.ArgumentError, message):
                OPS.hadamard(wrong)
        with self.assertRaisesRegex(blockscale.CompileError, "rng"):
            fake_quantize(x, format="mxfp8", rng=torch.tensor([1, 2]))


if __name__ == "__main__":
    unittest.main()
