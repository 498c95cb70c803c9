# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training of gated MLPs: the op computes what its layers and functions compute one after the
other, to the bit, and models whose code says so get it."""

import contextlib
import copy
import importlib.util
import io
import sys
import unittest
import unittest.mock
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

import blockscale
import blockscale.torch
from blockscale import TrainingForm, TrainingOperand, get_training_form
from blockscale._linalg import FLOAT_UNARY
from blockscale.torch import (
    TrainedGatedMlp,
    TrainedLinear,
    _gated_kernels,
    _training_kernels,
    draw_rng,
    prepare_training_,
    train_gated_mlp,
    train_linear,
)
from blockscale.torch._gated_kernels import DERIVATIVES, GatedMlp, _Writer
from blockscale.torch._gated_modules import find_activation
from blockscale.torch._kernels import Kernel

sys.path.append(str(Path(__file__).resolve().parent))

from check_training import NAMES, Recorder, check_call

OPS = torch.ops.blockscale
HAS_TRANSFORMERS = importlib.util.find_spec("transformers") is not None
FUNCTIONS = {"silu": F.silu, "gelu": F.gelu,
             "gelu_tanh": lambda x: F.gelu(x, approximate="tanh")}


def draw(m=45, k=64, inner=96, n=32, dtype=torch.bfloat16, of_weights=None, seed=0):
    """x, three weights and a gradient, with rows and columns of different sizes."""
    random = torch.Generator().manual_seed(seed)
    made = []
    for shape in ((m, k), (inner, k), (inner, k), (n, inner), (m, n)):
        x = torch.randn(shape, generator=random) / shape[-1] ** 0.25
        x *= torch.exp2(torch.randint(-3, 4, (shape[0], 1), generator=random).float())
        made.append(x.to(of_weights or dtype if len(made) in (1, 2, 3) else dtype))
    return made[0], made[1:4], made[4]


def compute(function, dtype, *tensors):
    """A function of elements by a kernel of its own, rounded to a dtype."""
    mlp = GatedMlp(get_training_form("mxfp8"), "silu", (None,) * 3, dtype, dtype, "row_major",
                   False, False, False)

    def build(rows):
        writer = _Writer(mlp, rows)
        values = [writer.take("x", writer.rows, writer.inner) for _ in tensors]
        with writer.tracing():
            made = writer.map("y", function, *values)
        return writer.finish("elements", writer.arguments, [made])
    y, = Kernel("elements", build, [dtype])([each.contiguous() for each in tensors])
    return y


class _Elements(torch.autograd.Function):
    """An activation with our numbers, in both passes."""

    @staticmethod
    def forward(ctx, x, name):
        ctx.save_for_backward(x)
        ctx.name = name
        return compute(lambda body, x: FLOAT_UNARY[name](body, x, "f32"), x.dtype, x)

    @staticmethod
    def backward(ctx, gradient):
        x, = ctx.saved_tensors
        return compute(lambda body, gradient, x: body.mul(
            gradient, DERIVATIVES[ctx.name](body, x)), x.dtype, gradient, x), None


def run_layers(x, gate, up, down, form, activation, rng):
    """The same by one layer after the other."""
    rng = [None] * 3 if rng is None else rng
    inner = _Elements.apply(train_linear(x, gate, form=form, rng=rng[0]), activation)
    inner = inner * train_linear(x, up, form=form, rng=rng[1])
    return train_linear(inner, down, form=form, rng=rng[2])


def run_mlp(x, gate, up, down, form, activation, rng):
    return train_gated_mlp(x, gate, up, down, form=form, activation=activation, rng=rng)


def run(call, x, weights, gradient, form, activation="silu", rng=None, needs=(True,) * 4):
    """y and the gradients of x and of the weights."""
    tensors = [each.clone().requires_grad_(need) for each, need in zip((x, *weights), needs)]
    y = call(*tensors, form, activation, rng)
    y.backward(gradient)
    return [y.detach(), *(each.grad for each in tensors)]


def draw_all(form):
    return torch.stack([draw_rng(form) for _ in range(3)]) if form.stochastic else None


class BitsTest(unittest.TestCase):
    def check(self, found, wanted, what):
        self.assertEqual(len(found), len(wanted))
        for one, other in zip(found, wanted):
            if other is None:
                self.assertIsNone(one, what)
            else:
                self.assertTrue(torch.equal(one, other), what)

    def test_layers(self):
        """Each form and each activation, rows that are whole blocks and others."""
        for name in NAMES:
            form = get_training_form(name)
            for number, (activation, m) in enumerate(zip(FUNCTIONS, (45, 64, 1))):
                with self.subTest(name, activation=activation, m=m):
                    x, weights, gradient = draw(m, seed=number)
                    rng = draw_all(form)
                    self.check(*(run(call, x, weights, gradient, form, activation, rng)
                                 for call in (run_mlp, run_layers)), name)

    def test_dtypes(self):
        """x and weights of f32, where nothing is transformed, and weights beside x of bf16."""
        for name, dtype in (("mxfp8", torch.float32), ("mxfp8_32x32", torch.float32),
                            ("mxfp8", torch.bfloat16), ("nvfp4", torch.bfloat16)):
            x, weights, gradient = draw(dtype=dtype, of_weights=torch.float32)
            form = get_training_form(name)
            rng = draw_all(form)
            found, wanted = (run(call, x, weights, gradient, form, "silu", rng)
                             for call in (run_mlp, run_layers))
            self.check(found, wanted, name)
            self.assertEqual([each.dtype for each in found],
                             [dtype, dtype, *[torch.float32] * 3])

    def test_values(self):
        """Where kernels decode all operands before the products, as on Hopper for many rows."""
        x, weights, gradient = draw(45)
        with contextlib.ExitStack() as patched:
            for module in (_training_kernels, _gated_kernels):
                patched.enter_context(unittest.mock.patch.object(module, "takes_values",
                                                                 return_value=True))
            for name in ("mxfp8_32x32", "nvfp4"):
                form = get_training_form(name)
                rng = draw_all(form)
                self.check(*(run(call, x, weights, gradient, form, "silu", rng)
                             for call in (run_mlp, run_layers)), name)

    def test_gradients_that_are_asked_for(self):
        """Every set of them, with nothing in memory that none needs."""
        x, weights, gradient = draw()
        form = get_training_form("nvfp4")
        rng = draw_all(form)
        full = run(run_layers, x, weights, gradient, form, "silu", rng)
        for number in range(1, 16):
            needs = [bool(number >> place & 1) for place in range(4)]
            found = run(run_mlp, x, weights, gradient, form, "silu", rng, needs)
            self.check(found, [full[0], *(each if need else None
                                          for each, need in zip(full[1:], needs))], needs)
        _, gate, *_ = OPS.train_gated_mlp(
            x, *weights, rng, form=form.text, activation="silu", has_dgrad=False,
            has_inner_wgrad=False, has_down_wgrad=False)
        self.assertEqual(gate.numel(), 0)
        with torch.no_grad():
            self.check([train_gated_mlp(x, *weights, form=form, rng=rng)], full[:1], "no gradient")

    def test_random_bits(self):
        """The layers draw in the order in which a model calls them; x, of which both gate and up
        have the codes, has the gate's bits."""
        form = get_training_form("nvfp4")
        x, weights, gradient = draw()
        torch.manual_seed(3)
        found = run(run_mlp, x, weights, gradient, form)
        torch.manual_seed(3)
        self.check(found, run(run_layers, x, weights, gradient, form), "seed")
        one = TrainingOperand("mxfp4", is_stochastic=True)
        form = TrainingForm(one, one, one, one, one, one)
        rng = draw_all(form)
        y, *_ = run(run_mlp, x, weights, gradient, form, "silu", rng)
        rng[1, form.stochastic.index("forward_input")] = rng[
            0, form.stochastic.index("forward_input")]
        self.check([y], run(run_layers, x, weights, gradient, form, "silu", rng)[:1], "x")

    def test_shapes(self):
        """More dimensions of x, and no rows."""
        x, weights, gradient = draw(60)
        y, of_x, *_ = run(run_mlp, x, weights, gradient, "mxfp8")
        deep = run(run_mlp, x.view(3, 4, 5, 64), weights, gradient.view(3, 4, 5, 32), "mxfp8")
        self.check([deep[0].view(60, 32), deep[1].view(60, 64)], [y, of_x], "deep")
        for name in NAMES:
            empty = run(run_mlp, x[:0], weights, gradient[:0], name)
            self.assertEqual([tuple(each.shape) for each in empty],
                             [(0, 32), (0, 64), (96, 64), (96, 64), (32, 96)])
            self.assertFalse(any(bool(each.any()) for each in empty))


class ActivationTest(unittest.TestCase):
    def test_torch(self):
        """Activations and their derivatives are those of torch, but for the last places."""
        x = torch.linspace(-12, 12, 4001)[None].double()
        for name, function in FUNCTIONS.items():
            given = x.clone().requires_grad_()
            wanted = function(given)
            wanted.sum().backward()
            found = compute(lambda body, x, name=name: FLOAT_UNARY[name](body, x, "f32"),
                            torch.float32, x.float())
            slope = compute(lambda body, x, name=name: DERIVATIVES[name](body, x), torch.float32,
                            x.float())
            given = given.detach()
            torch.testing.assert_close(found.double(), wanted.detach(), rtol=1e-6, atol=1e-6)
            other = x.float().double().requires_grad_()
            function(other).sum().backward()
            torch.testing.assert_close(slope.double(), other.grad, rtol=1e-6, atol=5e-6)


class Mlp(nn.Module):
    """As models of transformers have it."""

    def __init__(self, act_fn=None, bias=False):
        super().__init__()
        self.gate_proj, self.up_proj = (nn.Linear(64, 96, bias=bias) for _ in range(2))
        self.down_proj = nn.Linear(96, 64, bias=bias)
        self.act_fn = nn.SiLU() if act_fn is None else act_fn

    def forward(self, x):
        down_proj = self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))
        return down_proj  # noqa: RET504


class Otherwise(Mlp):
    """Another function of the same layers."""

    def forward(self, x):
        return self.down_proj(self.act_fn(self.up_proj(x)) * self.gate_proj(x))


class Model(nn.Module):
    def __init__(self, mlp=Mlp, **options):
        super().__init__()
        torch.manual_seed(0)
        self.embed, self.mlp, self.head = nn.Linear(32, 64), mlp(**options), nn.Linear(64, 32)
        self.bfloat16()

    def forward(self, x):
        x = self.embed(x)
        return self.head(x + self.mlp(x))

    def train_once(self, x, call=None):
        torch.manual_seed(3)
        self.zero_grad()
        y = (self if call is None else call)(x)
        y.float().square().sum().backward()
        return [y.detach(), *(each.grad.clone() for each in self.parameters())]


class ModelTest(unittest.TestCase):
    def setUp(self):
        self.x = torch.randn(3, 15, 32, generator=torch.Generator().manual_seed(1)).bfloat16()

    def check(self, one, other, what):
        for first, second in zip(one, other):
            self.assertTrue(torch.equal(first, second), what)

    def test_prepared(self):
        """Parameters, names and the class stay; one op has the bits of a seed, in a graph, a copy,
        a file and with activations that are computed again."""
        for name in NAMES:
            model = Model()
            keys = list(model.state_dict())
            taken = prepare_training_(model, name, leave_last_projection=False)
            self.assertEqual(list(taken), ["embed", "mlp.gate_proj", "mlp.up_proj",
                                           "mlp.down_proj", "head"])
            self.assertIsInstance(model.mlp, TrainedGatedMlp)
            self.assertIsInstance(model.mlp, Mlp)
            self.assertEqual(list(model.state_dict()), keys)
            with Recorder() as recorder:
                model(self.x)
            self.assertEqual(len(recorder.calls), 2)  # The MLP is a call of its own.
            wanted = model.train_once(self.x)
            file = io.BytesIO()
            torch.save(model.mlp, file)
            file.seek(0)
            loaded = copy.deepcopy(model)
            loaded.mlp = torch.load(file, weights_only=False)
            compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
            for other, call in ((loaded, None), (model, compiled),
                                (model, lambda x, model=model: checkpoint(
                                    model, x, use_reentrant=False))):
                self.check(other.train_once(self.x, call), wanted, name)

    def test_op(self):
        for name in NAMES:
            form = get_training_form(name)
            x, weights, _ = draw()
            torch.library.opcheck(
                OPS.train_gated_mlp.default,
                (x.requires_grad_(), *(each.requires_grad_() for each in weights),
                 draw_all(form)), {"form": form.text, "activation": "silu"})

    def test_layers_stay(self):
        """Other code, an activation that is none of these, biases, and several forms."""
        for options, forms in (({"mlp": Otherwise}, "mxfp8"), ({"act_fn": nn.ReLU()}, "mxfp8"),
                               ({"bias": True}, "mxfp8"),
                               ({}, {"*.down_proj": "nvfp4", "*": "mxfp8"}),
                               ({}, {"*.up_proj": None, "*": "mxfp8"})):
            model = Model(**options)
            prepare_training_(model, forms)
            self.assertNotIsInstance(model.mlp, TrainedGatedMlp)
            self.assertIsInstance(model.mlp.gate_proj, TrainedLinear)
            model.train_once(self.x) if "act_fn" not in options else model(self.x)

    def test_hooks(self):
        """Those that come later are called, and other layers that come in place of these."""
        model = Model()
        prepare_training_(model, "mxfp8")
        wanted = model(self.x)
        seen = []
        handle = model.mlp.up_proj.register_forward_hook(lambda *_: seen.append(1))
        with Recorder() as recorder:
            found = model(self.x)
        self.assertEqual((len(seen), len(recorder.calls)), (1, 4))
        torch.testing.assert_close(found, wanted, rtol=0.05, atol=0.05)
        handle.remove()
        self.check([model(self.x)], [wanted], "removed")
        model.mlp.up_proj = nn.Linear(64, 96, bias=False).bfloat16()
        with Recorder() as recorder:
            model(self.x)
        self.assertEqual(len(recorder.calls), 3)

    def test_layer_by_layer(self):
        """What the layers would compute by themselves is within the bound, and close."""
        model = Model()
        prepare_training_(model, "nvfp4")
        wanted = model.train_once(self.x)
        model.mlp.act_fn.register_forward_hook(lambda *_: None)
        with Recorder() as recorder:
            found = model.train_once(self.x)
        self.assertEqual(len(recorder.calls), 4)
        for call in recorder.calls[1:]:
            self.assertLess(max(check_call(call).values()), 1)
        for one, other in zip(found, wanted):
            difference = (one.float() - other.float()).norm()
            self.assertLess(difference, 0.1 * other.float().norm())

    @unittest.skipUnless(HAS_TRANSFORMERS,
                         "transformers is not installed (scripts/peers.sh checkpoints)")
    def test_transformers(self):
        """Decoders, whose activations have classes of their own; one with plain layers first."""
        import transformers
        for kind, act, activation in (("Llama", "silu", "silu"), ("Qwen3", "silu", "silu"),
                                      ("Gemma", "gelu_pytorch_tanh", "gelu_tanh"),
                                      ("Mistral", "gelu", "gelu"), ("Llama", "relu", "")):
            with self.subTest(kind, act=act):
                config = getattr(transformers, f"{kind}Config")(
                    hidden_size=64, intermediate_size=96, num_hidden_layers=2, vocab_size=96,
                    num_attention_heads=2, num_key_value_heads=1, head_dim=32, hidden_act=act)
                model = getattr(transformers, f"{kind}ForCausalLM")(config).bfloat16()
                prepare_training_(model, {"*.0.mlp.up_proj": None, "*": "mxfp8"})
                plain, joined = (layer.mlp for layer in model.model.layers)
                self.assertNotIsInstance(plain, TrainedGatedMlp)
                self.assertEqual(isinstance(joined, TrainedGatedMlp), bool(activation))
                self.assertEqual(find_activation(joined.act_fn), activation)
                ids = torch.arange(12)[None]
                model(input_ids=ids, labels=ids).loss.backward()
                for each in model.parameters():
                    self.assertTrue(bool(each.grad.isfinite().all()))

    def test_losses(self):
        """They fall as with layers that are plain."""
        target = torch.randn(3, 15, 32, generator=torch.Generator().manual_seed(2))

        def train(forms):
            model = Model()
            if forms:
                prepare_training_(model, forms)
            optimizer, losses = torch.optim.AdamW(model.parameters(), 3e-3), []
            for _ in range(30):
                loss = (model(self.x).float() - target).square().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            return losses
        plain = train(None)
        for name in ("mxfp8", "nvfp4"):
            losses = train(name)
            self.assertLess(losses[-1], 0.9 * losses[0])
            self.assertLess(abs(losses[-1] - plain[-1]), 0.1 * plain[0])


class RefusedTest(unittest.TestCase):
    def test_arguments(self):
        x, (gate, up, down), _ = draw()
        for arguments, message in (
                ((x, gate, up[:64], down), r"the weight of up of shape \[96, 64\]"),
                ((x, gate, up, down[:, :64].contiguous()), r"of down of shape \[32, 96\]"),
                ((x, gate, up, down.float()), "the weight of down of torch.bfloat16"),
                ((x[:, :32], gate, up, down), r"the weight of gate of shape \[96, 32\]"),
                ((x, gate[:80], up[:80], down[:, :80].contiguous()),
                 "rows to be a multiple of 32, but got 80"),
                ((x, gate[None], up, down), "x and weights of rank 2"),
                ((x.double(), gate, up, down), "x to be float32, bfloat16, float16")):
            with self.subTest(message), self.assertRaisesRegex(blockscale.ArgumentError, message):
                train_gated_mlp(*arguments, form="mxfp8")
        for options, message in (({"activation": "relu"}, "silu, gelu, gelu_tanh, but got 'relu'"),
                                 ({"rng": torch.zeros(3, 1, 2).long()}, "rng exactly with a form"),
                                 ({"form": "nvfp4", "rng": torch.zeros(2, 2).long()},
                                  r"rng of shape \[3, 2, 2\]")):
            with self.subTest(message), self.assertRaisesRegex(blockscale.ArgumentError, message):
                train_gated_mlp(x, gate, up, down, **{"form": "mxfp8", **options})
        with self.assertRaisesRegex(blockscale.ArgumentError, "bfloat16 for the Hadamard"):
            train_gated_mlp(x.float(), gate, up.requires_grad_(), down, form="nvfp4")

    def test_backward(self):
        x, weights, gradient = draw()
        text = get_training_form("mxfp8").text
        _, *saved = OPS.train_gated_mlp(x, *weights, form=text, activation="silu")
        options = {"form": text, "activation": "silu", "in_features": 64, "inner_features": 96,
                   "weight_dtype": torch.bfloat16, "has_dgrad": True, "has_inner_wgrad": True,
                   "has_down_wgrad": True}
        none = {"has_dgrad": False, "has_inner_wgrad": False, "has_down_wgrad": False}
        for given, change, message in (
                (gradient[:20], {}, r"gate_rows of shape \[32, 96\]"),
                (gradient, none, "a gradient to compute, has_dgrad"),
                (gradient, {"inner_features": 64}, r"gate_rows of shape \[64, 64\]"),
                (gradient, {"in_features": 32}, r"gate_data of shape \[32, 96\]"),
                (gradient, {"activation": "tanh"}, "activation to be one of"),
                (gradient, {"weight_dtype": torch.int8}, "weight_dtype to be float32"),
                (gradient[0], {}, "a gradient of rank 2|x of rank 2")):
            with self.subTest(message), self.assertRaisesRegex(blockscale.ArgumentError, message):
                OPS.train_gated_mlp_backward(given, *saved, **{**options, **change})
        full = OPS.train_gated_mlp_backward(gradient, *saved, **options)
        self.assertEqual([tuple(each.shape) for each in full],
                         [(45, 64), (96, 64), (96, 64), (32, 96)])


if __name__ == "__main__":
    unittest.main()
