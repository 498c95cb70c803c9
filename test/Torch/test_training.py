# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training with quantized products: operands are those of other packages byte by byte, products
are within their bound, and random bits come again."""

import collections
import copy
import dataclasses
import json
import sys
import unittest
import unittest.mock
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from torchao.prototype.moe_training.kernels.mxfp8 import quant as torchao_squares
from torchao.prototype.moe_training.mxfp8_linear import mx_mm
from torchao.prototype.mx_formats.config import (
    MXFP8Dim0CastKernelChoice,
    MXFP8Dim1CastKernelChoice,
    ScaleCalculationMode,
)
from torchao.prototype.mx_formats.mx_tensor import MXTensor
from torchao.quantization.quantize_.common import KernelPreference

import blockscale
import blockscale.torch
from blockscale import TrainingForm, TrainingOperand, get_training_form
from blockscale.torch import (
    TrainedLinear,
    _kernels,
    _training_kernels,
    draw_rng,
    prepare_training_,
    train_linear,
)
from blockscale.torch._forms import FRAGMENTS, TILES
from blockscale.torch._training_kernels import TrainingBackward, TrainingForward

sys.path += [str(Path(__file__).resolve().parent),
             str(Path(__file__).resolve().parents[2] / "benchmarks/gpu")]

import torch_nvfp4
from training_operands import (
    PRODUCTS,
    SOURCES,
    decode,
    multiply,
    quantize_operand,
    quantize_operands,
    reference,
)

OPS = torch.ops.blockscale
VECTORS = Path(__file__).resolve().parents[1] / "Data/training"
NAMES = ("mxfp8", "mxfp8_32x32", "nvfp4", "nvfp4_torchao")


def draw(m=64, k=96, n=64, dtype=torch.bfloat16, seed=0):
    """x, a weight and a gradient whose rows and columns are of different sizes."""
    random = torch.Generator().manual_seed(seed)
    made = []
    for shape in ((m, k), (n, k), (m, n)):
        x = torch.randn(shape, generator=random)
        x *= torch.exp2(torch.randint(-4, 5, (shape[0], 1), generator=random).float())
        x *= torch.exp2(torch.randint(-4, 5, (1, shape[1]), generator=random).float())
        made.append(x.to(dtype))
    return made


def bits_of(array, dtype):
    return torch.from_numpy(array.view(np.int16 if dtype == torch.bfloat16 else np.int32)
                            ).view(dtype)


def run(x, weight, gradient, form, rng=None, bias=None):
    """y and the gradients of x, of the weight and of the bias."""
    tensors = [each.clone().requires_grad_() for each in (x, weight)]
    bias = None if bias is None else bias.clone().requires_grad_()
    y = train_linear(*tensors, bias, form=form, rng=rng)
    y.backward(gradient)
    return [y.detach(), *(each.grad for each in tensors)] + ([] if bias is None else [bias.grad])


class OperandTest(unittest.TestCase):
    def check(self, made, wanted, what):
        for found, given in zip(made, wanted):
            rows, cols = given.shape
            self.assertTrue(torch.equal(found[:rows, :cols], given), what)
            # Rows that are no multiple of 32 are filled up with zeros.
            self.assertFalse(bool(found[rows:].any()) or bool(found[:, cols:].any()), what)

    def test_torchao(self):
        """All six operands of MXFP8 are those that torchao's layer multiplies."""
        for seed in range(3):
            x, weight, gradient = (each.requires_grad_() for each in draw(96, 64, 128, seed=seed))
            gradient = gradient.detach()
            seen, to_mx = [], MXTensor.to_mx

            def record(*args, seen=seen, to_mx=to_mx, **options):
                made = to_mx(*args, **options)
                seen.append((made.qdata.view(torch.uint8), made.scale.view(torch.uint8)))
                return made
            with unittest.mock.patch.object(MXTensor, "to_mx", record):
                y = mx_mm.apply(x, weight, *[torch.float8_e4m3fn] * 3, 32,
                                KernelPreference.EMULATED, MXFP8Dim0CastKernelChoice.TORCH,
                                MXFP8Dim1CastKernelChoice.TORCH, ScaleCalculationMode.RCEIL, False)
                y.backward(gradient)
            names = ("forward_input", "forward_weight", "dgrad_gradient", "dgrad_weight",
                     "wgrad_gradient", "wgrad_input")
            self.assertEqual(len(seen), len(names))
            made = quantize_operands(get_training_form("mxfp8"), x.detach(), weight.detach(),
                                     gradient)
            for name, wanted in zip(names, seen):
                self.check(made[name], wanted, name)
            found = run(x.detach(), weight.detach(), gradient, "mxfp8")
            for one, other in zip(found, (y, x.grad, weight.grad)):
                torch.testing.assert_close(one, other.detach(), rtol=2 ** -6,
                                           atol=2 ** -7 * float(other.detach().abs().mean()))

    def test_torchao_squares(self):
        """Weights in blocks of 32x32 are those of torchao's quantizer, in both directions."""
        for seed in range(3):
            _, weight, _ = draw(k=64, n=96, seed=seed)
            data, scales = torchao_squares._mxfp8_quantize_reference_3d(
                weight[None], block_size=32, scale_block_dim1=32, scale_block_dim2=32,
                scaling_mode="rceil", blocked_scale_output=False)
            data, scales = data[0].view(torch.uint8), scales.view(torch.uint8).reshape(3, 2)
            operand = get_training_form("mxfp8_32x32").forward_weight
            for is_transposed in (False, True):
                codes, bytes_ = (each.t() if is_transposed else each for each in (data, scales))
                self.check(quantize_operand(weight, operand, is_transposed),
                           (codes, bytes_.repeat_interleave(32, 0)), is_transposed)

    def test_golden(self):
        """All six operands of NVFP4 are those of TransformerEngine's reference and of torchao's
        kernels, but for random rounding."""
        for package, name, count in (("te", "nvfp4", 4), ("torchao", "nvfp4_torchao", 4)):
            form = get_training_form(name)
            plain = dataclasses.replace(form, **{
                operand: dataclasses.replace(each, is_stochastic=False)
                for operand, each in form.operands.items()})
            files = sorted(VECTORS.glob(f"{package}_nvfp4__*.npz"))
            self.assertEqual(len(files), count)
            for file in files:
                arrays = np.load(file)
                x, weight, gradient = (bits_of(arrays[f"in_{each}"], torch.bfloat16)
                                       for each in ("x", "weight", "gradient"))
                made = quantize_operands(plain, x, weight, gradient)
                for operand in SOURCES:
                    with self.subTest(file.stem, operand=operand):
                        self.check(made[operand], [
                            torch.from_numpy(arrays[f"out_{operand}_{what}"])
                            for what in ("data", "scales")], operand)
                        amax = arrays[f"out_{operand}_amax"].view(np.float32)[0]
                        self.assertEqual(
                            float(made[operand][2]),
                            reference.global_scale(amax, form.forward_input.recipe))

    def test_peer_in_torch_ops(self):
        """What the benchmark's peer multiplies is what our codes stand for, in every operand that
        is rounded to nearest; its other ones have the same mean."""
        form = get_training_form("nvfp4")
        matrix = torch_nvfp4.make_transform("cpu")
        for seed in range(3):
            x, _, _ = draw(96, 128, 64, seed=seed)
            for name in ("forward_input", "forward_weight", "dgrad_weight", "wgrad_input"):
                operand, is_transposed = getattr(form, name), SOURCES[name][1]
                wanted = decode(quantize_operand(x, operand, is_transposed), operand)
                given = x.t().contiguous() if is_transposed else x
                if operand.sign_mask is not None:
                    given = torch_nvfp4.transform(given, matrix)
                values, scale = torch_nvfp4.quantize(given, operand.is_square)
                self.assertTrue(np.array_equal(values.double().numpy(), wanted[0]), name)
                self.assertEqual(float(scale), wanted[1], name)
        rounded = torch_nvfp4.round_e2m1(torch.full((100000,), -2.25), True)
        self.assertEqual(rounded.unique().tolist(), [-3, -2])
        self.assertAlmostEqual(float(rounded.mean()), -2.25, delta=0.01)

    def test_random_rounding(self):
        """Codes of gradients are those of the seeds and offsets, each operand with its own."""
        form = get_training_form("nvfp4")
        x, weight, gradient = draw(45, 64, 48, seed=5)
        rng = torch.tensor([[3, 5], [-7, 11]])
        made = quantize_operands(form, x, weight, gradient, rng)
        padded = np.concatenate([gradient.float().numpy(), np.zeros((19, 48), np.float32)])
        self.assertEqual(form.stochastic, ("dgrad_gradient", "wgrad_gradient"))
        mixed = reference.hadamard(padded.T).T
        for name, values, block, (seed, offset) in (
                ("dgrad_gradient", padded, (1, 16), rng.tolist()[0]),
                ("wgrad_gradient", mixed, (16, 1), rng.tolist()[1])):
            codes, scales = reference.quantize_nvfp4(
                values, "te", block=block, rng=(seed % 2 ** 64, offset),
                global_amax=reference.amax(values))
            if block[1] == 1:
                codes, scales = codes.T, scales.T
            self.assertTrue(np.array_equal(made[name][0].numpy(), reference.pack(codes)), name)
            self.assertTrue(np.array_equal(made[name][1].numpy(), scales), name)

    def test_saved_codes(self):
        """What the forward pass saves are the codes of these operands, and nothing that no
        gradient needs."""
        for name in NAMES:
            form = get_training_form(name)
            x, weight, gradient = draw(45)
            rng = draw_rng(form)
            made = quantize_operands(form, x, weight, gradient, rng)
            for has_dgrad, has_wgrad in ((True, True), (True, False), (False, True),
                                         (False, False)):
                _, *saved = OPS.train_linear(x, weight, None, rng, form=form.text,
                                             has_dgrad=has_dgrad, has_wgrad=has_wgrad)
                for operand, found, has in (("dgrad_weight", saved[:3], has_dgrad),
                                            ("wgrad_input", saved[3:], has_wgrad)):
                    for one, other in zip(found, made[operand]):
                        if has and other is not None:
                            self.assertTrue(torch.equal(one, other), (name, operand))
                        else:
                            self.assertEqual(one.numel(), 0)


class ProductTest(unittest.TestCase):
    def check(self, found, product, what):
        error = np.abs(found.double().numpy() - product.value)
        last = {torch.float32: 2.0 ** -24, torch.bfloat16: 2.0 ** -8, torch.float16: 2.0 ** -11}
        bound = product.bound() * 1.001 + np.abs(product.value) * last[found.dtype] + 1e-30
        self.assertTrue(bool((error <= bound).all()), f"{what}: {(error / bound).max()}")

    def test_bound(self):
        """y and both gradients, of numbers of rows that are whole blocks and others."""
        for name in NAMES:
            form = get_training_form(name)
            dtypes = (torch.bfloat16, torch.float32)[:1 if name.startswith("nvfp4") else 2]
            for dtype in dtypes:
                for m, k, n in ((64, 96, 64), (1, 32, 32), (45, 64, 96), (130, 160, 32)):
                    with self.subTest(name, m=m, dtype=dtype):
                        x, weight, gradient = draw(m, k, n, dtype, seed=m)
                        rng = draw_rng(form)
                        made = quantize_operands(form, x, weight, gradient, rng)
                        y, of_x, of_weight = run(x, weight, gradient, form, rng)
                        for found, product, rows in (
                                (y, "forward", m), (of_x, "dgrad", m), (of_weight, "wgrad", n)):
                            wanted = multiply(made, form, PRODUCTS[product])
                            self.check(found, dataclasses.replace(
                                wanted, value=wanted.value[:rows], absdot=wanted.absdot[:rows]),
                                product)

    def test_values(self):
        """Where kernels decode all operands before the products, as on Hopper for many rows: codes
        are the same, and results are within the bound."""
        x, weight, gradient = draw(96, 160, 32)
        for name in ("mxfp8", "nvfp4"):
            form = get_training_form(name)
            rng = draw_rng(form)
            made = quantize_operands(form, x, weight, gradient, rng)
            codes = OPS.train_linear(x, weight, None, rng, form=form.text)[1:]
            with unittest.mock.patch.object(_training_kernels, "takes_values", return_value=True):
                for found, product in zip(run(x, weight, gradient, form, rng), PRODUCTS):
                    self.check(found, multiply(made, form, PRODUCTS[product]), (name, product))
                for one, other in zip(OPS.train_linear(x, weight, None, rng, form=form.text)[1:],
                                      codes):
                    self.assertTrue(torch.equal(one, other), name)

    def test_launches_of_values(self):
        """On Hopper all products are plain then, but the gradient of a weight of few rows, which
        would not make up for decoding x."""
        form = get_training_form("mxfp8")
        given = torch.bfloat16, torch.bfloat16, TILES, False, 0
        for n, plain, decoded in ((6144, 3, 0), (64, 2, 1)):
            counts = collections.Counter()
            for kernel in (TrainingForward(form, (n, 96), *given, None, True, True,
                                           has_values=True),
                           TrainingBackward(form, (n, 96), *given, True, True, has_values=True)):
                plan = json.loads(_kernels._emit(kernel.build(8192), "sm_90a", _kernels._PLAN))
                for choice in plan["choices"]:
                    key = choice["key"]
                    counts[key["scale_a"] == key["scale_b"] == "none"] += int(key["products"])
            self.assertEqual((counts[True], counts[False]), (plain, decoded), n)

    def test_when_products_take_values(self):
        """Of many rows on Hopper, without groups."""
        rows, few = (torch.empty(count, 1, device="meta") for count in (6144, 6143))
        for chip, layout, wanted in (("sm_90a", FRAGMENTS, True), ("sm_100a", TILES, False)):
            with unittest.mock.patch.object(_training_kernels, "get_layout", return_value=layout):
                self.assertEqual(_training_kernels.takes_values(rows), wanted, chip)
                self.assertFalse(_training_kernels.takes_values(few))
                self.assertFalse(_training_kernels.takes_values(rows, torch.tensor([6144])))
        self.assertFalse(_training_kernels.takes_values(torch.empty(6144, 1)))

    def test_bias(self):
        """It is added before the rounding, and its gradient is a sum in f32."""
        x, weight, gradient = draw()
        for dtype in (torch.bfloat16, torch.float32):
            bias = torch.randn(64).to(dtype)
            y, *_, of_bias = run(x, weight, gradient, "mxfp8", bias=bias)
            plain = run(x.float(), weight.float(), gradient.float(), "mxfp8")[0]
            torch.testing.assert_close(y.float(), plain + bias.float(), rtol=2 ** -8, atol=1e-3)
            self.assertTrue(torch.equal(of_bias, gradient.float().sum(0).to(dtype)))

    def test_dtypes(self):
        """A weight of f32 beside x of bf16 is quantized as it is, and so is its gradient's type."""
        x, weight, gradient = draw()
        weight = weight.float() * 1.001
        made = run(x, weight, gradient, "mxfp8")
        self.assertEqual([each.dtype for each in made],
                         [torch.bfloat16, torch.bfloat16, torch.float32])
        wide = run(x.float(), weight, gradient.float(), "mxfp8")
        self.assertTrue(torch.equal(made[0], wide[0].bfloat16()))
        self.assertTrue(torch.equal(made[2], wide[2]))

    def test_shapes(self):
        """More dimensions of x, and no rows."""
        x, weight, gradient = draw(60)
        y, of_x, of_weight = run(x, weight, gradient, "mxfp8")
        deep = run(x.view(3, 4, 5, 96), weight, gradient.view(3, 4, 5, 64), "mxfp8")
        self.assertTrue(torch.equal(deep[0].view(60, 64), y))
        self.assertTrue(torch.equal(deep[1].view(60, 96), of_x))
        self.assertTrue(torch.equal(deep[2], of_weight))
        one = run(x[0], weight, gradient[0], "mxfp8")
        self.assertTrue(torch.equal(one[0], y[0]))
        for name in NAMES:
            empty = run(x[:0], weight, gradient[:0], name)
            self.assertEqual([tuple(each.shape) for each in empty], [(0, 64), (0, 96), (64, 96)])
            self.assertFalse(bool(empty[2].any()))

    def test_zeros(self):
        """Tensors of zeros give zeros, with global scales too."""
        x, weight, gradient = draw()
        for name in NAMES:
            for tensors in ((x * 0, weight, gradient), (x, weight * 0, gradient),
                            (x, weight, gradient * 0)):
                made = run(*tensors, name)
                self.assertTrue(all(bool(each.isfinite().all()) for each in made))
            self.assertFalse(bool(made[1].any()) or bool(made[2].any()))

    def test_gradients_that_are_asked_for(self):
        x, weight, gradient = draw()
        full = run(x, weight, gradient, "mxfp8")
        for of_x, of_weight in ((True, False), (False, True)):
            one, other = x.clone().requires_grad_(of_x), weight.clone().requires_grad_(of_weight)
            y = train_linear(one, other, form="mxfp8")
            self.assertTrue(torch.equal(y, full[0]))
            y.backward(gradient)
            for found, wanted, has in ((one, full[1], of_x), (other, full[2], of_weight)):
                self.assertEqual(found.grad is not None, has)
                self.assertTrue(not has or torch.equal(found.grad, wanted))
        self.assertTrue(torch.equal(train_linear(x, weight, form="mxfp8"), full[0]))

    def test_accumulated(self):
        """Gradients add up where they are, as PyTorch's do."""
        x, weight, gradient = draw()
        parts = [run(x[a:b], weight, gradient[a:b], "mxfp8")[2] for a, b in ((0, 32), (32, 64))]
        parameter = weight.clone().requires_grad_()
        for a, b in ((0, 32), (32, 64)):
            train_linear(x[a:b], parameter, form="mxfp8").backward(gradient[a:b])
        self.assertTrue(torch.equal(parameter.grad, parts[0] + parts[1]))


def make(bias=True, dtype=torch.bfloat16):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 96, bias=bias), nn.GELU(), nn.Linear(96, 64, bias=bias),
                         nn.GELU(), nn.Linear(64, 32, bias=bias)).to(dtype)


class RandomTest(unittest.TestCase):
    def test_seeds(self):
        """The generator of the CPU, or another one, decides."""
        tensors = draw()
        rounds = []
        for seed in (1, 1, 2):
            torch.manual_seed(seed)
            rounds.append(run(*tensors, "nvfp4"))
        for one, other in zip(rounds[0], rounds[1]):
            self.assertTrue(torch.equal(one, other))
        self.assertTrue(torch.equal(rounds[0][0], rounds[2][0]))
        self.assertFalse(torch.equal(rounds[0][1], rounds[2][1]))
        self.assertFalse(torch.equal(rounds[0][2], rounds[2][2]))
        drawn = [draw_rng("nvfp4", generator=torch.Generator().manual_seed(7)) for _ in range(2)]
        self.assertTrue(torch.equal(*drawn))
        self.assertIsNone(draw_rng("mxfp8"))

    def test_checkpoints(self):
        """Activations that are computed again have the same codes, and so have gradients, and
        what follows has the random numbers that it would have had."""
        x = torch.randn(40, 64).bfloat16()
        results = []
        for reentrant in (None, False, True):
            model = make()
            prepare_training_(model, "nvfp4")
            torch.manual_seed(3)
            inputs = x.clone().requires_grad_()
            y = (model(inputs) if reentrant is None else
                 checkpoint(model, inputs, use_reentrant=reentrant))
            y = nn.functional.dropout(y)
            y.float().square().sum().backward()
            results.append([y.detach(), inputs.grad, *(each.grad for each in model.parameters())])
        for other in results[1:]:
            for one, two in zip(results[0], other):
                self.assertTrue(torch.equal(one, two))

    def test_unbiased(self):
        """The mean over many draws is the number itself."""
        form = get_training_form("nvfp4")
        *_, gradient = draw(32, 32, 32, seed=8)
        mean = torch.zeros(32, 32, dtype=torch.float64)
        count = 400
        for number in range(count):
            rng = torch.tensor([[number, 1], [number, 2]])
            made = quantize_operand(gradient, form.dgrad_gradient, False, rng[0])
            values = reference.dequantize_nvfp4(reference.unpack(made[0].numpy()),
                                                made[1].numpy(), "te", np.float32(made[2]))
            mean += torch.from_numpy(values.astype(np.float64)) / count
        # What is between two codes a step apart has a deviation of half a step at most.
        step = 2 * made[1].view(torch.float8_e4m3fn).double().repeat_interleave(16, 1) * float(
            made[2])
        is_clipped = gradient.abs() > 3 * step  # Beyond 6, the largest code.
        self.assertLess(int(is_clipped.sum()), 32)
        error = (mean - gradient.double()).abs()
        self.assertTrue(bool(((error <= step * 0.5 * 5 / count ** 0.5 + step / 256)
                              | is_clipped).all()))


class CompiledTest(unittest.TestCase):
    def test_full_graph(self):
        for name in NAMES:
            with self.subTest(name):
                model = make()
                prepare_training_(model, name)
                other = copy.deepcopy(model)
                compiled = torch.compile(other, backend="aot_eager", fullgraph=True)
                x = torch.randn(40, 64).bfloat16()
                results = []
                for each, inputs in ((model, x.clone()), (compiled, x.clone())):
                    torch.manual_seed(5)
                    y = each(inputs.requires_grad_())
                    y.float().square().sum().backward()
                    results.append([y.detach(), inputs.grad])
                results[0] += [each.grad for each in model.parameters()]
                results[1] += [each.grad for each in other.parameters()]
                for one, two in zip(*results):
                    self.assertTrue(torch.equal(one, two))

    def test_dynamic_rows(self):
        """One graph for any number of rows."""
        model = make()
        prepare_training_(model, "mxfp8")
        compiled = torch.compile(model, backend="aot_eager", fullgraph=True, dynamic=True)
        for rows in (40, 64, 77):
            x = torch.randn(rows, 64).bfloat16()
            with torch._dynamo.config.patch(error_on_recompile=rows != 40):
                found = compiled(x)
            found.float().sum().backward()
            self.assertTrue(torch.equal(found, model(x)))

    def test_op(self):
        for name in NAMES:
            form = get_training_form(name)
            x, weight, _ = draw(45)
            bias, rng = torch.randn(64), draw_rng(form)
            torch.library.opcheck(
                OPS.train_linear.default,
                (x.requires_grad_(), weight.requires_grad_(), bias.requires_grad_(), rng),
                {"form": form.text})


class ModelTest(unittest.TestCase):
    def train(self, model, steps=30):
        torch.manual_seed(1)
        optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
        x, wanted = torch.randn(64, 64).bfloat16(), torch.randn(64, 32)
        losses = []
        for _ in range(steps):
            loss = (model(x).float() - wanted).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    def test_losses(self):
        """They fall, close to those of the plain model, and are the same in the next run."""
        plain = self.train(make())
        for name in NAMES:
            runs = []
            for _ in range(2):
                model = make()
                prepare_training_(model, name, leave_last_projection=False)
                runs.append((self.train(model), [each.clone() for each in model.parameters()]))
            self.assertEqual(runs[0][0], runs[1][0])
            for one, other in zip(runs[0][1], runs[1][1]):
                self.assertTrue(torch.equal(one, other))
            self.assertLess(runs[0][0][-1], 0.8 * runs[0][0][0])
            self.assertLess(abs(runs[0][0][-1] - plain[-1]), 0.1 * plain[0])

    def test_parameters_stay(self):
        model = make()
        parameters, names = list(model.parameters()), list(model.state_dict())
        taken = prepare_training_(model, "mxfp8")
        self.assertEqual(list(taken), ["0", "2"])
        self.assertIs(type(model[4]), nn.Linear)
        self.assertIn("dgrad mxfp8 rceil by mxfp8 rceil", repr(model[0]))
        self.assertTrue(all(one is other for one, other in zip(parameters, model.parameters())))
        self.assertEqual(list(model.state_dict()), names)
        make().load_state_dict(model.state_dict())
        other = copy.deepcopy(model)
        self.assertIs(type(other[0]), TrainedLinear)
        x = torch.randn(5, 64).bfloat16()
        self.assertTrue(torch.equal(other(x), model(x)))

    def test_forms_by_name(self):
        """The first pattern that matches decides, and None leaves."""
        model = make()
        taken = prepare_training_(model, {"0": None, "2": "nvfp4", "*": "mxfp8"},
                                  leave_last_projection=False)
        self.assertEqual(list(taken), ["2", "4"])
        self.assertEqual(model[2].form, get_training_form("nvfp4"))
        self.assertEqual(model[4].form, get_training_form("mxfp8"))

    def test_autocast(self):
        """x is cast, as nn.Linear does, and the weight is quantized from its own type."""
        model = make(dtype=torch.float32)
        prepare_training_(model, "mxfp8", leave_last_projection=False)
        x = torch.randn(5, 64)
        with torch.autocast("cpu", torch.bfloat16):
            y = model[0](x)
        self.assertTrue(torch.equal(y, train_linear(x.bfloat16(), model[0].weight, model[0].bias,
                                                    form="mxfp8")))

    def test_left(self):
        odd = nn.Sequential(nn.Linear(64, 40), nn.Linear(40, 64), nn.Linear(64, 64).double(),
                            nn.Linear(64, 64))
        with self.assertLogs("blockscale", "INFO") as logs:
            taken = prepare_training_(odd, "mxfp8", leave_last_projection=False)
        self.assertEqual(list(taken), ["3"])
        text = "\n".join(logs.output)
        for message in ("leaves 0: expected a multiple of 32 rows of the weight, but got 40",
                        "leaves 1: expected a multiple of 32 columns of the weight, but got 40",
                        "leaves 2: expected a weight of float32, bfloat16 or float16, but got"):
            self.assertIn(message, text)
        with self.assertRaisesRegex(blockscale.ArgumentError, "that the forms quantize, but the 3"):
            prepare_training_(make(), {"x*": "mxfp8"})
        with self.assertRaisesRegex(blockscale.ArgumentError, "expected a torch.nn.Module"):
            prepare_training_(None, "mxfp8")
        with self.assertRaisesRegex(blockscale.ArgumentError, "one of mxfp8, mxfp8_32x32, nvfp4"):
            prepare_training_(make(), "fp8")


class RefusedTest(unittest.TestCase):
    def test_arguments(self):
        x, weight, _ = draw()
        nvfp4, rng = get_training_form("nvfp4"), draw_rng("nvfp4")
        for arguments, options, message in (
                ((x, weight[:, :64]), {},
                 r"x of 64 columns, as the weight has them, but got shape \\[64, 96\\]"),
                ((x[:, :40], weight[:, :40]), {}, "columns to be a multiple of 32, but got 40"),
                ((x, weight[:40]), {}, "rows to be a multiple of 32, but got 40"),
                ((x.double(), weight), {}, "x to be float32, bfloat16"),
                ((x, weight.double()), {}, "weight to be float32, bfloat16"),
                ((x, weight, torch.zeros(63)), {}, r"bias of shape \\[64\\]"),
                ((x, weight, torch.zeros(64).double()), {}, "bias to be float32, bfloat16"),
                ((x, weight), {"rng": rng}, "rng exactly with a form of operands"),
                ((x, weight), {"form": nvfp4, "rng": rng[:1]}, r"rng of shape \\[2, 2\\]"),
                ((x, weight), {"form": "fp8"}, "one of mxfp8")):
            with self.subTest(message):
                with self.assertRaisesRegex(blockscale.ArgumentError,
                                            message.replace("\\\\", "\\")):
                    train_linear(*arguments, **{"form": "mxfp8", **options})
        # x is transformed for the gradient of the weight alone.
        train_linear(x.float(), weight, form=nvfp4)
        with self.assertRaisesRegex(blockscale.ArgumentError, "bfloat16 for the Hadamard transform "
                                                              "of wgrad_input, but got torch.fl"):
            train_linear(x.float(), weight.requires_grad_(), form=nvfp4)
        weight.requires_grad_(False)
        with self.assertRaisesRegex(blockscale.ArgumentError, "a form of training in JSON"):
            OPS.train_linear(x, weight, form="{")

    def test_arguments_of_the_backward_pass(self):
        x, weight, gradient = draw()
        form = get_training_form("mxfp8").text
        _, *codes = OPS.train_linear(x, weight, form=form)
        usual = dict(form=form, in_features=96, weight_dtype=torch.bfloat16, has_dgrad=True,
                     has_wgrad=True)
        for given, options, message in (
                (gradient[None], {}, r"a gradient of rank 2, but got shape \[1, 64, 64\]"),
                (gradient, {"has_dgrad": False, "has_wgrad": False},
                 "a gradient to compute, has_dgrad or has_wgrad, but got none"),
                (gradient, {"weight_dtype": torch.float64},
                 "weight_dtype to be float32, bfloat16 or float16, but got torch.float64"),
                (gradient[:32], {}, r"x_data of shape \[96, 32\]"),
                (gradient, {"in_features": 64}, r"weight_data of shape \[64, 64\]")):
            with self.assertRaisesRegex(blockscale.ArgumentError, message):
                OPS.train_linear_backward(given, *codes, **{**usual, **options})

    def test_what_was_not_saved(self):
        x, weight, gradient = draw()
        y, *_ = OPS.train_linear(x.requires_grad_(), weight, form=get_training_form("mxfp8").text,
                                 has_dgrad=False)
        with self.assertRaisesRegex(blockscale.ArgumentError, "has_dgrad=True for a gradient"):
            y.backward(gradient)


class OwnFormTest(unittest.TestCase):
    def test_random_bits_everywhere(self):
        """MXFP4 with each operand rounded at random, by its own bits."""
        one = TrainingOperand("mxfp4", is_stochastic=True)
        form = TrainingForm(one, one, one, one, one, one)
        self.assertEqual(len(form.stochastic), 6)
        x, weight, gradient = draw(45)
        rng = draw_rng(form)
        made = quantize_operands(form, x, weight, gradient, rng)
        y, of_x, of_weight = run(x, weight, gradient, form, rng)
        for found, product in ((y, "forward"), (of_x, "dgrad"), (of_weight, "wgrad")):
            wanted = multiply(made, form, PRODUCTS[product])
            torch.testing.assert_close(found.double(),
                                       torch.from_numpy(wanted.value[:len(found)]),
                                       rtol=2 ** -7, atol=float(wanted.absdot.max()) * 1e-6)

    def test_four_over_six(self):
        """Operands of a range of their own, and the signs of another transform."""
        row = TrainingOperand("nvfp4", "te_4over6_mae", scaling="dynamic")
        mixed = dataclasses.replace(row, recipe="te", sign_mask=0x1234)
        form = TrainingForm(row, row, row, row, mixed, mixed)
        x, weight, gradient = draw(32)
        made = quantize_operands(form, x, weight, gradient)
        for found, product in zip(run(x, weight, gradient, form), PRODUCTS):
            wanted = multiply(made, form, PRODUCTS[product])
            torch.testing.assert_close(found.double(), torch.from_numpy(wanted.value),
                                       rtol=2 ** -7, atol=float(wanted.absdot.max()) * 1e-6)


if __name__ == "__main__":
    unittest.main()
