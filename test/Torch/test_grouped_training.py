# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training of stacks of weights for groups of rows: operands are those of the reference for each
group byte by byte, and products are within their bound of what these stand for."""

import copy
import sys
import unittest
import unittest.mock
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import blockscale
import blockscale.torch
from blockscale import TrainingForm, TrainingOperand, get_training_form
from blockscale.torch import (
    TrainedExperts,
    draw_rng,
    prepare_training_,
    train_grouped_linear,
    train_linear,
)

sys.path.append(str(Path(__file__).resolve().parent))

from test_quantize_model import BOTH
from test_quantize_model import make as make_model
from training_operands import ELEMENTS, PRODUCTS, SOURCES, decode, quantize_operand, reference

OPS = torch.ops.blockscale
NAMES = ("mxfp8", "mxfp8_32x32", "nvfp4", "nvfp4_torchao")
#: Rows, and ends of groups: of no whole blocks, empty at every place, with rows behind the last
#: one, and of no rows at all.
CASES = ((70, (5, 5, 50, 64)), (64, (0, 32, 64)), (45, (45, 45)), (1, (0, 1)), (40, (0, 0, 0)),
         (0, (0, 0)))


def draw_ends(seed):
    """Rows and ragged ends of one to six groups."""
    random = np.random.default_rng(seed)
    rows = int(random.integers(1, 150))
    ends = np.sort(random.integers(0, rows + 1, random.integers(1, 7)))
    return rows, tuple(ends.tolist())


def draw(rows, ends, k=96, n=64, dtype=torch.bfloat16, seed=0):
    """x, weights, a gradient and ends, of which each group has magnitudes of its own."""
    random = torch.Generator().manual_seed(seed)
    group = torch.searchsorted(torch.tensor(ends), torch.arange(rows), right=True)
    made = []
    for shape in ((rows, k), (len(ends), n, k), (rows, n)):
        x = torch.randn(shape, generator=random)
        x *= torch.exp2(torch.randint(-4, 5, (*shape[:-1], 1), generator=random).float())
        x *= torch.exp2(torch.randint(-4, 5, (1, shape[-1]), generator=random).float())
        own = torch.exp2(5.0 * (torch.arange(len(ends) + 1) % 3))
        x *= own[:-1, None, None] if len(shape) == 3 else own[group][:, None]
        made.append(x.to(dtype))
    return (*made, torch.tensor(ends, dtype=torch.int32))


def run(x, weight, gradient, ends, form, rng=None, bias=None, call=train_grouped_linear):
    """y and the gradients of x, of the weights and of the biases."""
    tensors = [each.clone().requires_grad_() for each in (x, weight)]
    bias = None if bias is None else bias.clone().requires_grad_()
    y = call(*tensors, ends, bias, form=form, rng=rng)
    y.backward(gradient)
    return [y.detach(), *(each.grad for each in tensors)] + ([] if bias is None else [bias.grad])


def find_amax(values):
    """As the modules take it: that of zeros, and of groups without rows, is another number."""
    return reference.nonzero_amax(reference.amax(values))


def quantize_part(values, whole, operand, is_transposed, rng):
    """Codes and scales of the reference for `whole`, with the amax of the group's `values`; an
    element's random bits are those of its place in the whole."""
    block = (operand.block,) * 2 if operand.is_square else (1, operand.block)
    block = block[::-1] if is_transposed else block
    if operand.format == "nvfp4":
        codes, scales = reference.quantize_nvfp4(whole, operand.recipe, block=block, rng=rng,
                                                 global_amax=find_amax(values))
    else:
        codes, scales = reference.quantize_mx(whole, ELEMENTS[operand.format], block=block,
                                              rng=rng)
    if operand.is_square:
        scales = scales.repeat(operand.block, -1 if is_transposed else -2)
    return [each.swapaxes(-1, -2) if is_transposed else each for each in (codes, scales)]


def refer(x, operand, is_transposed, ends=None, rng=None):
    """Data, scales and global scales of the reference, and ends of the groups in them, of x of
    groups of rows, or of a stack."""
    x = x.float().numpy()
    if ends is not None and is_transposed:
        x, ends = reference.pad_groups(x, ends, 32)
    if operand.sign_mask is not None:
        x = reference.hadamard(x.T).T if is_transposed else reference.hadamard(x)
    parts = x if ends is None else [x[i:j] for i, j in zip([0, *ends[:-1]], ends)]
    made = [quantize_part(part, x, operand, is_transposed, rng) for part in parts]
    if ends is None:
        codes, scales = (np.stack([each[g] for g, each in enumerate(of_parts)])
                         for of_parts in zip(*made))
    else:
        codes, scales = (np.zeros_like(each) for each in made[0])
        for (of_codes, of_scales), i, j in zip(made, [0, *ends[:-1]], ends):
            if is_transposed:
                first, last = i // operand.block, j // operand.block
                codes[:, i:j], scales[:, first:last] = of_codes[:, i:j], of_scales[:, first:last]
            else:
                codes[i:j], scales[i:j] = of_codes[i:j], of_scales[i:j]
    if operand.format in ("nvfp4", "mxfp4"):
        codes = reference.pack(codes)
    found = [torch.from_numpy(np.ascontiguousarray(each)) for each in (codes, scales)]
    if operand.scaling == "none":
        return (*found, None), ends
    return (*found, torch.tensor([float(reference.global_scale(find_amax(part), operand.recipe))
                                  for part in parts])), ends


def refer_all(form, x, weight, gradient, ends, rng=None):
    tensors, made = {"x": x, "weight": weight, "gradient": gradient}, {}
    for name, (source, is_transposed) in SOURCES.items():
        bits = None
        if name in form.stochastic:
            seed, offset = rng[form.stochastic.index(name)].tolist()
            bits = seed % 2 ** 64, offset % 2 ** 64
        made[name] = refer(tensors[source], getattr(form, name), is_transposed,
                           None if source == "weight" else ends.numpy(), bits)
    return made


def multiply(made, form, product, ends):
    """In f64, of the numbers that codes of the reference stand for."""
    values, factors = [], np.ones(len(ends))
    for name in PRODUCTS[product]:
        codes, new_ends = made[name]
        operand = getattr(form, name)
        scale = codes[2]
        if codes[0].dim() == 3:
            values.append(np.stack([decode((*each, None), operand)[0]
                                    for each in zip(*codes[:2])]))
        else:
            values.append(decode((*codes[:2], None), operand)[0])
            ends = new_ends
        factors = factors if scale is None else factors * scale.double().numpy()
    return reference.scaled_grouped_matmul(*values, np.asarray(ends).tolist(), factors)


class OperandTest(unittest.TestCase):
    def check(self, found, wanted, what):
        for one, other in zip(found, wanted):
            if other is None:
                self.assertTrue(one is None or not one.numel(), what)
            else:
                self.assertTrue(torch.equal(one, other), what)

    def test_reference(self):
        """All six operands: data, scales and global scales of each group are those that the
        reference gives for it alone, and 0 behind the last one."""
        for name in NAMES:
            form = get_training_form(name)
            for number, (rows, ends) in enumerate((*CASES[:5], *map(draw_ends, range(4)))):
                with self.subTest(name, rows=rows, ends=ends):
                    x, weight, gradient, offsets = draw(rows, ends, seed=number)
                    rng = draw_rng(form)
                    tensors = {"x": x, "weight": weight, "gradient": gradient}
                    wanted = refer_all(form, x, weight, gradient, offsets, rng)
                    for each, (source, is_transposed) in SOURCES.items():
                        bits = None
                        if each in form.stochastic:
                            bits = rng[form.stochastic.index(each)]
                        found = quantize_operand(tensors[source], getattr(form, each),
                                                 is_transposed, bits,
                                                 None if source == "weight" else offsets)
                        self.check(found, wanted[each][0], each)

    def test_saved_codes(self):
        """What the forward pass saves are these codes, and nothing that no gradient needs."""
        for name in NAMES:
            form = get_training_form(name)
            x, weight, gradient, ends = draw(*CASES[0])
            rng = draw_rng(form)
            wanted = refer_all(form, x, weight, gradient, ends, rng)
            for has in ((True, True), (True, False), (False, True), (False, False)):
                _, *saved = OPS.train_linear(x, weight, None, rng, ends, form=form.text,
                                             has_dgrad=has[0], has_wgrad=has[1])
                for each, found, is_made in (("dgrad_weight", saved[:3], has[0]),
                                             ("wgrad_input", saved[3:], has[1])):
                    self.check(found, wanted[each][0] if is_made else [None] * 3, each)


class ProductTest(unittest.TestCase):
    def check(self, found, product, what):
        self.assertEqual(tuple(found.shape), product.value.shape)
        error = np.abs(found.double().numpy() - product.value)
        last = {torch.float32: 2.0 ** -24, torch.bfloat16: 2.0 ** -8}[found.dtype]
        bound = product.bound() * 1.001 + np.abs(product.value) * last
        self.assertTrue(bool((error <= bound).all()), what)

    def check_all(self, form, rows, ends, dtype, seed, k=96, n=64):
        x, weight, gradient, offsets = draw(rows, ends, k, n, dtype, seed)
        rng = draw_rng(form)
        made = refer_all(form, x, weight, gradient, offsets, rng)
        for found, product in zip(run(x, weight, gradient, offsets, form, rng), PRODUCTS):
            self.check(found, multiply(made, form, product, ends), product)

    def test_bound(self):
        """y and both gradients. Rows behind the last group have 0, and so has the gradient of the
        weight of a group without rows, since the bound is 0 there."""
        for name in NAMES:
            for number, (rows, ends) in enumerate((*CASES[:5], *map(draw_ends, range(10, 16)))):
                for dtype in (torch.bfloat16,) + (torch.float32,) * (not name.startswith("nvfp4")):
                    with self.subTest(name, rows=rows, ends=ends, dtype=dtype):
                        self.check_all(get_training_form(name), rows, ends, dtype, number)

    def test_own_form(self):
        """MXFP4 with random bits of its own for each operand, one of which is transformed along
        rows of groups."""
        one = TrainingOperand("mxfp4", is_stochastic=True)
        mixed = TrainingOperand("nvfp4", "te", scaling="dynamic", sign_mask=0xD7E8)
        for form in (TrainingForm(one, one, one, one, one, one),
                     TrainingForm(mixed, mixed, one, one, mixed, mixed)):
            self.check_all(form, 70, (5, 5, 50, 64), torch.bfloat16, 3, k=64)

    def test_one_group(self):
        """One group of all rows has the bits of a layer."""
        for name in NAMES:
            x, weight, gradient, ends = draw(45, (45,))
            bias, rng = torch.randn(1, 64), draw_rng(name)
            for found, wanted in zip(run(x, weight, gradient, ends, name, rng, bias),
                                     run(x, weight[0], gradient, None, name, rng, bias[0],
                                         lambda x, weight, _, bias, **options:
                                         train_linear(x, weight, bias, **options))):
                self.assertTrue(torch.equal(found.view(wanted.shape), wanted), name)

    def test_bias(self):
        """That of the group is added before the rounding, and its gradient is a sum in f32 of the
        group's rows alone, whatever rows behind the last group have."""
        x, weight, gradient, ends = draw(*CASES[0])
        gradient[64:] = torch.nan
        for dtype in (torch.bfloat16, torch.float32):
            bias = torch.randn(4, 64).to(dtype)
            y, *_, of_bias = run(x, weight, gradient, ends, "mxfp8", bias=bias)
            plain = run(x.float(), weight.float(), gradient.float(), ends, "mxfp8")[0]
            self.assertFalse(bool(y[64:].any()))
            for number, (i, j) in enumerate(((0, 5), (5, 5), (5, 50), (50, 64))):
                torch.testing.assert_close(y[i:j].float(), plain[i:j] + bias[number].float(),
                                           rtol=2 ** -8, atol=1e-3)
                torch.testing.assert_close(of_bias[number],
                                           gradient[i:j].double().sum(0).to(dtype))

    def test_rows_behind(self):
        """What they have changes nothing, even NaN, and neither does one group the next."""
        for name in NAMES:
            x, weight, gradient, ends = draw(*CASES[0])
            rng = draw_rng(name)
            full = run(x, weight, gradient, ends, name, rng)
            other, more = x.clone(), gradient.clone()
            other[64:], more[64:] = torch.nan, torch.inf
            for one, two in zip(full, run(other, weight, more, ends, name, rng)):
                self.assertTrue(torch.equal(one, two), name)
            other[:5] *= 1000
            changed = run(other, weight, more, ends, name, rng)
            for one, two in zip(full[:2], changed[:2]):
                self.assertTrue(torch.equal(one[5:], two[5:]), name)
            self.assertTrue(torch.equal(full[2][1:], changed[2][1:]), name)
            self.assertFalse(torch.equal(full[2][0], changed[2][0]), name)

    def test_nothing(self):
        """No rows, and no groups."""
        for name in NAMES:
            for rows, ends in ((0, (0, 0)), (0, ()), (3, ())):
                x, weight, gradient, offsets = draw(rows, ends)
                made = run(x, weight, gradient, offsets, name, bias=torch.ones(len(ends), 64))
                self.assertEqual([tuple(each.shape) for each in made],
                                 [(rows, 64), (rows, 96), (len(ends), 64, 96), (len(ends), 64)])
                self.assertFalse(any(bool(each.any()) for each in made))

    def test_gradients_that_are_asked_for(self):
        x, weight, gradient, ends = draw(*CASES[0])
        full = run(x, weight, gradient, ends, "mxfp8")
        for of_x, of_weight in ((True, False), (False, True), (False, False)):
            one, other = x.clone().requires_grad_(of_x), weight.clone().requires_grad_(of_weight)
            y = train_grouped_linear(one, other, ends, form="mxfp8")
            self.assertTrue(torch.equal(y, full[0]))
            if of_x or of_weight:
                y.backward(gradient)
            for found, wanted, has in ((one, full[1], of_x), (other, full[2], of_weight)):
                self.assertEqual(found.grad is not None, has)
                self.assertTrue(not has or torch.equal(found.grad, wanted))


class Experts(nn.Module):
    def __init__(self, form):
        super().__init__()
        torch.manual_seed(0)
        self.up = nn.Parameter(torch.randn(3, 96, 64).bfloat16() / 8)
        self.down = nn.Parameter(torch.randn(3, 32, 96).bfloat16() / 8)
        self.bias = nn.Parameter(torch.randn(3, 96))
        self.form = form

    def forward(self, x, ends):
        inner = train_grouped_linear(x, self.up, ends, self.bias, form=self.form)
        return train_grouped_linear(nn.functional.gelu(inner), self.down, ends, form=self.form)

    def train_once(self, x, ends, call):
        torch.manual_seed(3)
        self.zero_grad()
        x = x.clone().requires_grad_()
        y = call(x, ends)
        y.float().square().sum().backward()
        return [y.detach(), x.grad, *(each.grad.clone() for each in self.parameters())]


class RepeatTest(unittest.TestCase):
    def check(self, one, other, what):
        for first, second in zip(one, other):
            self.assertTrue(torch.equal(first, second), what)

    def test_seeds_and_checkpoints(self):
        """Runs of one seed have the same bits, and activations that are computed again too."""
        x, ends = torch.randn(70, 64).bfloat16(), torch.tensor([5, 5, 64], dtype=torch.int32)
        model = Experts(get_training_form("nvfp4"))
        wanted = model.train_once(x, ends, model)
        self.check(wanted, model.train_once(x, ends, model), "again")
        for reentrant in (False, True):
            found = model.train_once(x, ends, lambda *given, reentrant=reentrant: checkpoint(
                model, *given, use_reentrant=reentrant))
            self.check(wanted, found, reentrant)

    def test_full_graph(self):
        """One graph has the same bits for all numbers of rows and all ends."""
        for name in NAMES:
            model = Experts(get_training_form(name))
            compiled = torch.compile(model, backend="aot_eager", fullgraph=True, dynamic=True)
            for number, rows in enumerate((70, 64, 45)):
                x = torch.randn(rows, 64).bfloat16()
                ends = torch.tensor([5 * number, 5, 45], dtype=torch.int32).sort()[0]
                with torch._dynamo.config.patch(error_on_recompile=number > 0):
                    found = model.train_once(x, ends, compiled)
                self.check(model.train_once(x, ends, model), found, (name, rows))

    def test_op(self):
        for name in NAMES:
            form = get_training_form(name)
            x, weight, _, ends = draw(*CASES[0])
            torch.library.opcheck(
                OPS.train_linear.default,
                (x.requires_grad_(), weight.requires_grad_(), torch.randn(4, 64).requires_grad_(),
                 draw_rng(form), ends), {"form": form.text})


class ModelTest(unittest.TestCase):
    """Experts as transformers have them, beside layers."""

    def run_all(self, model, x):
        """y, and gradients by the names of parameters, with those of x."""
        torch.manual_seed(3)
        model.zero_grad()
        x = x.clone().requires_grad_()
        y = model(x)
        y.float().square().sum().backward()
        return y.detach(), {"x": x.grad, **{
            name: each.grad.clone() for name, each in model.named_parameters()}}

    def test_experts(self):
        """In both orders, with and without biases: parameters stay, results and gradients are
        close to those of plain experts, and a run comes again in a graph and from a copy."""
        for name in NAMES:
            for options in ({}, {"has_bias": False, "is_transposed": True}):
                with self.subTest(name, **options):
                    model, x = make_model(**options)
                    plain = copy.deepcopy(model)
                    parameters = dict(model.named_parameters())
                    taken = prepare_training_(model, name, leave_last_projection=False)
                    self.assertEqual(list(taken), ["up", "down", "experts.gate_up_proj",
                                                   "experts.down_proj", "head"])
                    self.assertIsInstance(model.experts, TrainedExperts)
                    self.assertIn("TrainedExperts", repr(model))
                    self.assertEqual(list(parameters), list(dict(model.named_parameters())))
                    for each, parameter in model.named_parameters():
                        self.assertIs(parameter, parameters[each])
                    make_model(**options)[0].load_state_dict(model.state_dict())
                    y, found = self.run_all(model, x)
                    _, wanted = self.run_all(plain, x)
                    for each, gradient in found.items():
                        error = (gradient.double() - wanted[each].double()).norm()
                        bound = 0.1 if name.startswith("mxfp8") else 0.5
                        self.assertLess(error, bound * wanted[each].double().norm(), each)
                    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
                    for other in (copy.deepcopy(model), compiled):
                        again, gradients = self.run_all(other, x)
                        self.assertTrue(torch.equal(again, y))
                        for one, two in zip(gradients.values(), found.values()):
                            self.assertTrue(torch.equal(one, two))

    def test_forms_by_name(self):
        """Each stack has the form of its own name."""
        model, _ = make_model()
        taken = prepare_training_(model, {"*.down_proj": "nvfp4", "experts.*": "mxfp8"})
        self.assertEqual(list(taken), ["experts.gate_up_proj", "experts.down_proj"])
        self.assertEqual(model.experts.forms,
                         {"gate_up_proj": get_training_form("mxfp8"),
                          "down_proj": get_training_form("nvfp4")})

    def test_left(self):
        """Experts one of whose stacks has no form, with hooks, alone, or that are trained so
        already stay, and these are not quantized as if they were plain."""
        model, _ = make_model()
        hooked, _ = make_model()
        hooked.experts.register_forward_hook(lambda *_: None)
        trained, _ = make_model()
        prepare_training_(trained, {"experts.*": "mxfp8"})
        kept = trained.experts
        for given, forms, message in (
                (model, {"*.down_proj": None, "*": "mxfp8"},
                 "leaves experts.gate_up_proj: expected experts all of whose stacks have forms"),
                (hooked, "mxfp8", "expected a layer without hooks"),
                (trained, "mxfp8", "expected plain experts, but got TrainedExperts")):
            with self.assertLogs("blockscale", "INFO") as logs:
                taken = prepare_training_(given, forms)
            self.assertEqual(list(taken), ["up", "down"])
            self.assertIn(message, "\n".join(logs.output))
            self.assertEqual(isinstance(given.experts, TrainedExperts), given is trained)
        self.assertIs(trained.experts, kept)
        with self.assertRaisesRegex(blockscale.ArgumentError, "the 2 of Experts are left"):
            prepare_training_(make_model()[0].experts, "mxfp8")
        blockscale.torch.quantize_(trained, BOTH)
        self.assertIs(trained.experts, kept)


class RefusedTest(unittest.TestCase):
    def test_arguments(self):
        x, weight, gradient, ends = draw(*CASES[0])
        for arguments, message in (
                ((x, weight[0], ends), r"of rank 3, with offsets, but got shapes \[70, 96\] and"),
                ((x[None], weight, ends), "x of rank 2 and weight of rank 3"),
                ((x, weight, ends[:3]), r"offsets of shape \[4\]"),
                ((x, weight, ends[None]), r"offsets of shape \[4\]"),
                ((x, weight, ends.long()), "offsets of torch.int32, but got torch.int64"),
                ((x, weight, ends, torch.zeros(64)), r"bias of shape \[4, 64\]"),
                ((x, weight[:, :40], ends), "rows to be a multiple of 32, but got 40"),
                ((x[:, :64], weight, ends), "x of 96 columns")):
            with self.subTest(message), self.assertRaisesRegex(blockscale.ArgumentError, message):
                train_grouped_linear(*arguments, form="mxfp8")
        with self.assertRaisesRegex(blockscale.ArgumentError, "weight of rank 2, without offsets"):
            train_linear(x, weight, form="mxfp8")
        text = get_training_form("mxfp8").text
        _, *codes = OPS.train_linear(x, weight, None, None, ends, form=text)
        for given, message in ((ends[None], "offsets of rank 1"),
                               (ends[:3], r"weight_data of shape \[3, 96, 64\]")):
            with self.assertRaisesRegex(blockscale.ArgumentError, message):
                OPS.train_linear_backward(gradient, *codes, None, given, form=text,
                                          in_features=96, weight_dtype=torch.bfloat16,
                                          has_dgrad=True, has_wgrad=True)

    def test_ends(self):
        """Ends that descend or lie beyond x, in the forward pass already."""
        x, weight, *_ = draw(*CASES[0])
        for ends, message in (([5, 4, 50, 64], "the end of group 1 to be at least 5, but got 4"),
                              ([5, 5, 50, 71], "the end of group 3 to be at most 70, but got 71"),
                              ([-1, 5, 50, 64], "the end of group 0 to be at least 0")):
            for name in NAMES:
                with self.assertRaisesRegex(blockscale.Error, message):
                    train_grouped_linear(x, weight.requires_grad_(),
                                         torch.tensor(ends, dtype=torch.int32), form=name)


    def test_ends_within_squares(self):
        """Square blocks of x have rows of one group."""
        x, weight, _, ends = draw(64, (5, 64))
        square = TrainingOperand("mxfp8", "rceil", is_square=True)
        form = TrainingForm(*[square] * 6)
        with self.assertRaisesRegex(blockscale.Error, "the end of group 0 to be a multiple of 32, "
                                                      "but got 5"):
            train_grouped_linear(x, weight, ends, form=form)


class TrainTest(unittest.TestCase):
    def test_losses(self):
        """They fall, close to those of plain experts."""
        x, wanted = torch.randn(48, 64).bfloat16(), torch.randn(48, 32)
        ends = torch.tensor([7, 7 + 21, 48], dtype=torch.int32)

        def multiply_plainly(x, weight, ends, bias=None, form=None):
            del form
            parts = [part @ each.t() for part, each in zip(
                x.tensor_split(ends[:-1].long()), weight)]
            if bias is not None:
                parts = [(part + each).to(x.dtype) for part, each in zip(parts, bias)]
            return torch.cat(parts)

        def train(form, call):
            model = Experts(form)
            optimizer, losses = torch.optim.AdamW(model.parameters(), 3e-3), []
            with unittest.mock.patch.dict(globals(), train_grouped_linear=call):
                for _ in range(30):
                    loss = (model(x, ends).float() - wanted).square().mean()
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    losses.append(loss.item())
            return losses
        plain = train(None, multiply_plainly)
        for name in NAMES:
            losses = train(name, train_grouped_linear)
            self.assertLess(losses[-1], 0.8 * losses[0])
            self.assertLess(abs(losses[-1] - plain[-1]), 0.1 * plain[0])


if __name__ == "__main__":
    unittest.main()
