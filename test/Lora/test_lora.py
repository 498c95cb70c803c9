# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Adapters of peft over quantized layers and stacks of experts: attached, trained, saved, loaded,
merged and taken off, beside adapters over models that have the values of the codes."""

import contextlib
import copy
import importlib.util
import io
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

if importlib.util.find_spec("peft") is None:
    print("test_lora: skipped, no peft; scripts/peers.sh lora installs it")
    raise unittest.SkipTest("no peft; scripts/peers.sh lora installs it")

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file
from torch import nn
from torch.utils.checkpoint import checkpoint
from transformers.pytorch_utils import Conv1D

import blockscale
import blockscale.torch
from blockscale._policy import Layer, Rules
from blockscale.torch._modules import quantize_weight

sys.path.append(str(Path(__file__).resolve().parents[1] / "Torch"))

from frozen_blocks import RULES, WIDTH, Block, policy

OPS = torch.ops.blockscale
TARGETS = ["q", "v", "gate", "down"]


def draw(*shape):
    """Numbers whose blocks have different scales."""
    return (torch.randn(*shape) * torch.exp2(torch.randint(-3, 4, (*shape[:-1], 1)))).bfloat16()


class Chain(torch.autograd.Function):
    """A linear layer with a frozen plain weight, both of whose products have sums of order
    chain."""

    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(weight)
        return OPS.linear(x, weight, bias, order="chain")

    @staticmethod
    def backward(ctx, gradient):
        weight, = ctx.saved_tensors
        return OPS.linear(gradient, weight.t().contiguous(), None, order="chain"), None, None


class ChainLinear(nn.Linear):
    def forward(self, x):
        return Chain.apply(x, self.weight, self.bias)


class Checkpointed(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return checkpoint(self.model, x, use_reentrant=False)


def make(rule, seed=0):
    torch.manual_seed(seed)
    model = Block().bfloat16()
    blockscale.torch.quantize_(model, policy(rule))
    return model


def make_plain(model, kind=nn.Linear):
    """The model with plain layers that have the values of the codes."""
    plain = copy.deepcopy(model)
    for name, layer in model.named_children():
        if isinstance(layer, blockscale.torch.QuantizedLinear):
            made = kind(layer.in_features, layer.out_features, layer.bias is not None)
            made.weight.data = layer.weight.dequantize(torch.float32)
            if layer.bias is not None:
                made.bias.data = layer.bias.detach().clone()
            setattr(plain, name, made.bfloat16())
    return plain


def attach(model, targets=TARGETS, seed=1, **options):
    torch.manual_seed(seed)
    return get_peft_model(model, LoraConfig(r=8, target_modules=targets, **options))


def shake(model, seed=2):
    """Gives adapters numbers, as training would."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, each in model.named_parameters():
            if "lora_" in name:
                each.copy_(torch.randn_like(each) / 8)


def get_trained(model):
    return {name.replace("model.model.", "model.").replace("_orig_mod.", ""): each
            for name, each in model.named_parameters() if each.requires_grad}


def train(model, steps=4, rate=1e-2):
    """The losses of some steps; gradients are those of the last one."""
    torch.manual_seed(3)
    x, wanted = torch.randn(2, 9, WIDTH).bfloat16(), torch.randn(2, 9, WIDTH)
    optimizer = torch.optim.SGD(get_trained(model).values(), rate)
    losses = []
    for _ in range(steps):
        loss = (model(x).float() - wanted).square().mean()
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return losses


def measure(found, wanted):
    return ((found.double() - wanted.double()).norm() / wanted.double().norm()).item()


class LoraTest(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        self.folder = self.enterContext(tempfile.TemporaryDirectory())


class LinearTest(LoraTest):
    def test_training_beside_the_plain_model(self):
        """Losses and gradients are those of adapters over the values of the codes."""
        for rule in RULES:
            with self.subTest(rule):
                base = make(rule)
                plain, model = attach(make_plain(base)), attach(base)
                for each in (plain, model):
                    shake(each)
                self.assertEqual(set(get_trained(model)), set(get_trained(plain)))
                self.assertEqual(len(get_trained(model)), 2 * len(TARGETS))
                losses, wanted = train(model, rate=0.1), train(plain, rate=0.1)
                self.assertLess(losses[-1], losses[0] - 0.01)
                torch.testing.assert_close(torch.tensor(losses), torch.tensor(wanted), rtol=2e-3,
                                           atol=0)
                others = get_trained(plain)
                for name, each in get_trained(model).items():
                    self.assertLess(measure(each.grad, others[name].grad), 0.02, name)
                for each in model.modules():
                    if isinstance(each, blockscale.torch.QuantizedLinear) and each.bias is not None:
                        self.assertFalse(each.bias.requires_grad)

    def test_bits_of_order_chain(self):
        """After steps of training all adapters have the bits of those over plain layers whose
        products have that order."""
        base = make(RULES[2])
        plain, model = attach(make_plain(base, ChainLinear)), attach(base)
        for each in (plain, model):
            shake(each)
        self.assertEqual(train(model, rate=0.1), train(plain, rate=0.1))
        others = get_trained(plain)
        for name, each in get_trained(model).items():
            self.assertTrue(torch.equal(each, others[name]), name)
            self.assertTrue(torch.equal(each.grad, others[name].grad), name)

    def test_compiled_and_checkpointed(self):
        model = attach(make(RULES[0]))
        shake(model)
        x = torch.randn(2, 9, WIDTH).bfloat16()

        def differentiate(call):
            model.zero_grad()
            call(x).float().square().sum().backward()
            return {name: each.grad.clone() for name, each in get_trained(model).items()}
        wanted = differentiate(model)
        found = differentiate(Checkpointed(model))
        for name, gradient in wanted.items():
            self.assertTrue(torch.equal(found[name], gradient), name)
        for options in ({"backend": "blockscale", "options": {"rest": "eager"}},
                        {"backend": "blockscale"}, {"backend": "inductor"}):
            for module in (model, Checkpointed(model)):
                torch._dynamo.reset()
                found = differentiate(torch.compile(module, fullgraph=True, **options))
                for name, gradient in wanted.items():
                    self.assertLess(measure(found[name], gradient), 0.02, (options, name))

    def test_saved_and_loaded(self):
        """Files have adapters alone; the model that is loaded has the bits, and can be trained
        on."""
        model = attach(make(RULES[0]))
        train(model)
        model.save_pretrained(self.folder)
        held = load_file(f"{self.folder}/adapter_model.safetensors")
        self.assertEqual(len(held), 2 * len(TARGETS))
        self.assertTrue(all(".lora_" in name for name in held))
        x = torch.randn(3, WIDTH).bfloat16()
        loaded = PeftModel.from_pretrained(make(RULES[0]), self.folder)
        self.assertTrue(torch.equal(loaded(x), model(x)))
        self.assertEqual(get_trained(loaded), {})
        again = PeftModel.from_pretrained(make(RULES[0]), self.folder, is_trainable=True)
        self.assertEqual(train(again), train(model))

    def test_nothing_is_registered_by_users(self):
        """In a new process, whichever package comes first."""
        model = attach(make(RULES[0]))
        shake(model)
        model.save_pretrained(self.folder)
        x = draw(3, WIDTH)
        torch.save((x, model(x).detach()), f"{self.folder}/values")
        imports = ["import blockscale.torch", "from peft import PeftModel"]
        for lines in (imports, imports[::-1]):
            program = "\n".join([
                *lines, "import sys, torch", f"sys.path.insert(0, {str(Path(__file__).parent)!r})",
                "from test_lora import RULES, make",
                f"x, y = torch.load({self.folder + '/values'!r})",
                f"model = PeftModel.from_pretrained(make(RULES[0]), {self.folder!r})",
                "assert torch.equal(model(x), y)", "print('done')"])
            run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
            self.assertEqual(run.stdout, "done\n", run.stderr)

    def test_peft_is_not_imported(self):
        program = ("import sys, blockscale.torch\n"
                   "print(any(name.split('.')[0] == 'peft' for name in sys.modules))")
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertEqual(run.stdout, "False\n", run.stderr)

    def test_several_adapters(self):
        """Each alone, both, none, and others for other rows."""
        model = attach(make(RULES[1])).eval()
        model.add_adapter("second", LoraConfig(r=4, target_modules=["q"]))
        shake(model)
        x = draw(3, 2, WIDTH)
        found = {}
        for name in ("default", "second"):
            model.set_adapter(name)
            found[name] = model(x)
        model.base_model.set_adapter(["default", "second"])
        both = model(x)
        with model.disable_adapter():
            self.assertTrue(torch.equal(model(x), make(RULES[1])(x)))
        for one, other in ((found["default"], found["second"]), (both, found["default"]),
                           (both, found["second"])):
            self.assertFalse(torch.equal(one, other))
        mixed = model(x, adapter_names=["second", "__base__", "default"])
        for row, wanted in ((0, found["second"]), (1, make(RULES[1])(x)), (2, found["default"])):
            self.assertLess(measure(mixed[row], wanted[row]), 0.01)
        model.delete_adapter("second")
        self.assertTrue(torch.equal(model(x), found["default"]))


class MergeTest(LoraTest):
    def check(self, model, x, bound=0.01):
        """A merged model computes what it computed with adapters, by plain layers."""
        shake(model)
        wanted = model(x)
        merged = model.merge_and_unload(safe_merge=True)
        self.assertLess(measure(merged(x), wanted), bound)
        self.assertEqual([name for name, _ in merged.named_parameters() if "lora" in name], [])
        return merged

    def test_forms(self):
        """The weight of a merged layer has one rounding: also of codes behind the Hadamard
        transform, of layers that hold the weight as [K, N], and of those whose activations were
        quantized."""
        for rule, kind in ((RULES[0], nn.Linear), (RULES[1], nn.Linear), (RULES[2], nn.Linear),
                           ({**RULES[0], "rht": True}, nn.Linear), (RULES[0], Conv1D),
                           ({"format": "mxfp8"}, nn.Linear)):
            for bias in (True, False):
                if kind is Conv1D and not bias:
                    continue
                with self.subTest(rule, kind=kind, bias=bias), torch.no_grad():
                    torch.manual_seed(0)
                    layer = (Conv1D(96, WIDTH) if kind is Conv1D else
                             nn.Linear(WIDTH, 96, bias))
                    model = nn.Sequential(layer, nn.RMSNorm(96)).bfloat16()
                    blockscale.torch.quantize_(model, policy(rule))
                    merged = self.check(attach(model, ["0"]), draw(50, WIDTH),
                                        0.05 if rule == {"format": "mxfp8"} else 0.01)[0]
                    self.assertIsInstance(merged, nn.Linear)
                    self.assertEqual(merged.weight.dtype, torch.bfloat16)
                    self.assertEqual(merged.bias is None, not bias)
                    self.assertEqual(getattr(merged, "order", "free"), rule.get("order", "free"))
                    self.assertFalse(merged.weight.requires_grad)

    def test_weight_is_rounded_once(self):
        base = make(RULES[0])
        weight = base.q.weight.dequantize(torch.float32)
        model = attach(base)
        shake(model)
        layer = base.q
        delta = (layer.lora_B["default"].weight @ layer.lora_A["default"].weight
                 * layer.scaling["default"])
        merged = model.merge_and_unload()
        self.assertTrue(torch.equal(merged.q.weight, (weight + delta).bfloat16()))
        self.assertTrue(torch.equal(merged.k.data, make(RULES[0]).k.data))

    def test_biases_of_adapters(self):
        """They are the bias of a merged layer that had none."""
        model = attach(make(RULES[0]), lora_bias=True)
        merged = self.check(model, draw(2, 9, WIDTH), 0.02)
        self.assertIsNotNone(merged.down.bias)

    def test_some_adapters(self):
        model = attach(make(RULES[0]))
        model.add_adapter("second", LoraConfig(r=4, target_modules=["q", "k"]))
        shake(model)
        model.set_adapter("second")
        x = draw(2, 9, WIDTH)
        wanted = model(x)
        merged = model.merge_and_unload(adapter_names=["second"])
        self.assertLess(measure(merged(x), wanted), 0.01)
        # It had an adapter, but not this one.
        self.assertIsInstance(merged.v, blockscale.torch.QuantizedLinear)
        self.assertIsInstance(merged.k, nn.Linear)

    def test_taken_off(self):
        """The layers themselves are there again."""
        base = make(RULES[0])
        layers = dict(base.named_children())
        model = attach(base)
        train(model)
        again = model.unload()
        self.assertIs(again, base)
        for name, layer in layers.items():
            self.assertIs(getattr(again, name), layer)
        x = draw(2, 9, WIDTH)
        self.assertTrue(torch.equal(again(x), make(RULES[0])(x)))

    def test_refused(self):
        model = attach(make(RULES[0]))
        with self.assertRaisesRegex(blockscale.ArgumentError, "no merge into a layer with a quant"):
            model.merge_adapter()
        with torch.no_grad():
            model.base_model.model.q.lora_B["default"].weight[0, 0] = torch.inf
        with self.assertRaisesRegex(blockscale.ArgumentError, "finite numbers in a merged layer"):
            model.merge_and_unload(safe_merge=True)

    def test_configs_that_are_refused(self):
        """Before anything of the model is changed."""
        for options, message in (({"init_lora_weights": "pissa"}, "init_lora_weights to be one"),
                                 ({"init_lora_weights": "olora"}, "init_lora_weights to be one"),
                                 ({"use_dora": True}, "use_dora to be off")):
            base = make(RULES[0])
            with self.assertRaisesRegex(blockscale.ArgumentError, message):
                attach(base, **options)
            self.assertIsInstance(base.q, blockscale.torch.QuantizedLinear)
        for init in ("gaussian", "orthogonal", False):
            train(attach(make(RULES[0]), init_lora_weights=init), steps=1)

    def test_layers_that_quantize_activations(self):
        """Adapters compute there, and the backward pass through the layer is refused."""
        model = nn.Sequential(nn.Linear(WIDTH, 96), nn.Linear(96, 64)).bfloat16()
        blockscale.torch.quantize_(model, policy({"format": "mxfp8"}))
        model = attach(model, ["0", "1"])
        shake(model)
        y = model(draw(3, WIDTH))
        with self.assertRaisesRegex(RuntimeError, "linear_quantized has no derivative"):
            y.sum().backward()


class Experts(nn.Module):
    """A stack of experts that is called by groups of rows."""

    def __init__(self, rule):
        super().__init__()
        torch.manual_seed(0)
        form = Rules(policy(rule)).decide(Layer("stack", 96, WIDTH, False), "bf16").form
        self.stack = blockscale.torch.QuantizedStack(
            *quantize_weight(draw(5, 96, WIDTH) / 8, form), torch.randn(5, 96).bfloat16(),
            in_features=WIDTH, out_features=96, form=form)

    def forward(self, x, offsets):
        return self.stack(x, offsets)


#: Experts with no rows, and rows behind the last one.
ENDS = [7, 7, 20, 21, 33]
ROWS = 40


class StackTest(LoraTest):
    def make(self, rule, **options):
        model = attach(Experts(rule), ["stack"], **options)
        shake(model)
        return model

    def compute(self, model, x):
        """What a model computes, in f64, group by group."""
        layer = model.base_model.model.stack
        weight = layer.base_layer.weight.dequantize(torch.float32).double()
        a, b = (each["default"].weight.double() for each in (layer.lora_A, layer.lora_B))
        rows = []
        for group, (start, end) in enumerate(zip([0, *ENDS], ENDS)):
            each = x[start:end]
            rows.append(each @ weight[group].t() + layer.base_layer.bias[group].double()
                        + each @ a[group].t() @ b[group].t() * layer.scaling["default"])
        return torch.cat(rows)

    def test_training(self):
        ends = torch.tensor(ENDS, dtype=torch.int32)
        for rule in RULES:
            with self.subTest(rule):
                model = self.make(rule)
                x, gradient = draw(ROWS, WIDTH), draw(ROWS, 96)
                # Nothing is read there.
                gradient[ENDS[-1]:] = torch.nan
                x.requires_grad_()
                y = model(x, ends)
                y.backward(gradient)
                found = {name: each.grad.clone() for name, each in get_trained(model).items()}
                found["x"], x.grad = x.grad, None
                model.zero_grad()
                plain = self.compute(model, x.double())
                plain.backward(gradient[:ENDS[-1]].double())
                self.assertLess(measure(y[:ENDS[-1]], plain), 0.01)
                self.assertEqual(y[ENDS[-1]:].abs().sum(), 0)
                self.assertEqual(found["x"][ENDS[-1]:].abs().sum(), 0)
                for name, each in (*get_trained(model).items(), ("x", x)):
                    self.assertLess(measure(found[name], each.grad), 0.02, name)

    def test_compiled_and_checkpointed(self):
        model, ends = self.make(RULES[0]), torch.tensor(ENDS, dtype=torch.int32)
        x = draw(ROWS, WIDTH)

        def differentiate(call):
            model.zero_grad()
            call(x, ends).float().square().sum().backward()
            return {name: each.grad.clone() for name, each in get_trained(model).items()}
        wanted = differentiate(model)
        for call, bound in (
                (lambda *args: checkpoint(model, *args, use_reentrant=False), 0),
                (torch.compile(model, backend="blockscale", fullgraph=True), 0.01)):
            found = differentiate(call)
            for name, gradient in wanted.items():
                self.assertLessEqual(measure(found[name], gradient), bound, name)

    def test_saved_and_loaded(self):
        model, ends = self.make(RULES[0]), torch.tensor(ENDS, dtype=torch.int32)
        x = draw(ROWS, WIDTH)
        model.save_pretrained(self.folder)
        held = load_file(f"{self.folder}/adapter_model.safetensors")
        self.assertEqual(sorted(tuple(each.shape) for each in held.values()),
                         [(5, 8, WIDTH), (5, 96, 8)])
        loaded = PeftModel.from_pretrained(Experts(RULES[0]), self.folder)
        self.assertTrue(torch.equal(loaded(x, ends), model(x, ends)))
        with loaded.disable_adapter():
            self.assertTrue(torch.equal(loaded(x, ends), Experts(RULES[0])(x, ends)))
        self.assertIsInstance(model.unload().stack, blockscale.torch.QuantizedStack)

    def test_merged(self):
        """Into a plain stack, whose weights are rounded once."""
        ends, x = torch.tensor(ENDS, dtype=torch.int32), draw(ROWS, WIDTH)
        for rule in (RULES[0], {**RULES[0], "rht": True}, RULES[2]):
            for has_bias in (True, False):
                with self.subTest(rule, has_bias=has_bias), torch.no_grad():
                    experts = Experts(rule)
                    experts.norm = nn.RMSNorm(8)
                    if not has_bias:
                        experts.stack.bias = None
                    weight = experts.stack.weight.dequantize(torch.float32)
                    model = attach(experts, ["stack"])
                    shake(model)
                    wanted = model(x, ends)
                    a, b = (each["default"].weight for each in (experts.stack.lora_A,
                                                                experts.stack.lora_B))
                    merged = model.merge_and_unload(safe_merge=True)
                    if "rht" not in rule:
                        weight = (weight + b @ a).bfloat16()
                        self.assertTrue(torch.equal(merged.stack.weight, weight))
                    found = merged(x, ends)
                    self.assertLess(measure(found, wanted), 0.01)
                    self.assertEqual(found[ENDS[-1]:].abs().sum(), 0)

    def test_beginnings(self):
        """A new adapter changes nothing, and its A has the variance of peft's for one matrix."""
        ends, x = torch.tensor(ENDS, dtype=torch.int32), draw(ROWS, WIDTH)
        model = attach(Experts(RULES[0]), ["stack"])
        self.assertTrue(torch.equal(model(x, ends), Experts(RULES[0])(x, ends)))
        weight = model.base_model.model.stack.lora_A["default"].weight
        single = attach(nn.Sequential(nn.Linear(WIDTH, 96)), ["0"]).base_model.model[0]
        self.assertAlmostEqual(weight.std().item(),
                               single.lora_A["default"].weight.std().item(), delta=2e-3)
        attach(Experts(RULES[0]), ["stack"], init_lora_weights="gaussian")
        model = attach(Experts(RULES[0]), ["stack"], init_lora_weights=False)
        self.assertFalse(torch.equal(model(x, ends), Experts(RULES[0])(x, ends)))

    def test_refused(self):
        with self.assertRaisesRegex(blockscale.ArgumentError, "r to be a multiple of 8 for a"):
            get_peft_model(Experts(RULES[0]), LoraConfig(r=4, target_modules=["stack"]))
        ends, x = torch.tensor(ENDS, dtype=torch.int32), draw(ROWS, WIDTH)
        model = self.make(RULES[0])
        with self.assertRaisesRegex(blockscale.ArgumentError, "no merge into a layer with a quant"):
            model.merge_adapter()
        with self.assertRaisesRegex(blockscale.ArgumentError, "no adapter_names"):
            model.eval()(x, ends, adapter_names=["default"] * ROWS)
        for options, message in (({"lora_dropout": 0.1}, "lora_dropout of 0"),
                                 ({"lora_bias": True}, "lora_bias to be off"),
                                 ({"init_lora_weights": "orthogonal"}, "init_lora_weights to be")):
            with self.assertRaisesRegex(blockscale.ArgumentError, message):
                attach(Experts(RULES[0]), ["stack"], **options)


class TransformersTest(LoraTest):
    """A model of Hugging Face."""

    def make(self):
        import transformers
        torch.manual_seed(0)
        config = transformers.Qwen3MoeConfig(
            vocab_size=96, hidden_size=64, intermediate_size=64, moe_intermediate_size=32,
            num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=16,
            num_experts=4, num_experts_per_tok=2)
        model = transformers.Qwen3MoeForCausalLM(config).bfloat16()
        blockscale.torch.quantize_(model, {"version": 1, "rules": [
            {"format": "nvfp4", "weight_only": True}]})
        return model

    def test_a_mixture_of_experts(self):
        """Adapters of attention and of experts learn a text, with gradient checkpointing, and go
        through files."""
        torch.manual_seed(1)
        model = get_peft_model(self.make(), LoraConfig(
            r=8, target_modules=["q_proj", "v_proj", "gate_up_proj", "down_proj"],
            task_type="CAUSAL_LM"))
        model.gradient_checkpointing_enable()
        model.enable_input_require_grads()
        names = {name.split(".lora_")[0].split(".")[-1] for name in get_trained(model)}
        self.assertEqual(names, {"q_proj", "v_proj", "gate_up_proj", "down_proj"})
        words = torch.randint(0, 96, (2, 12))
        optimizer = torch.optim.AdamW(get_trained(model).values(), 1e-2)
        losses = []
        for _ in range(8):
            loss = model(input_ids=words, labels=words).loss
            losses.append(loss.item())
            optimizer.zero_grad()
            loss.backward()
            self.assertTrue(all(each.grad is not None for each in get_trained(model).values()))
            optimizer.step()
        self.assertLess(losses[-1], losses[0] - 0.3)
        model.save_pretrained(self.folder)
        loaded = PeftModel.from_pretrained(self.make(), self.folder)
        with torch.no_grad():
            wanted = model.eval()(input_ids=words).logits
            self.assertTrue(torch.equal(loaded.eval()(input_ids=words).logits, wanted))
            merged = model.merge_and_unload(safe_merge=True)
            self.assertFalse(any(isinstance(each, blockscale.torch.QuantizedStack)
                                 for each in merged.modules()))
            self.assertLess(measure(merged(input_ids=words).logits, wanted), 0.02)


class DocsTest(unittest.TestCase):
    def test_the_page(self):
        """All blocks of docs/FineTuning.md, one after the other."""
        page = Path(__file__).resolve().parents[2] / "docs/FineTuning.md"
        blocks = re.findall(r"(?ms)^```python\n(.*?)^```$", page.read_text(encoding="utf-8"))
        known = {}
        with contextlib.redirect_stdout(io.StringIO()):
            for block in blocks:
                exec(compile(block, str(page), "exec"), known)
        self.assertIsInstance(known["plain"][1], nn.Linear)


if __name__ == "__main__":
    unittest.main()
