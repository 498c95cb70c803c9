# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""New weights in a quantized model: the bytes of quantize_ in the same memory, and what is refused
before anything is written."""

import copy
import ctypes
import functools
import itertools
import unittest
import unittest.mock

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

import blockscale
import blockscale.torch
from blockscale._forms import OperandForm
from blockscale.torch import _modules, _requantize
from blockscale.torch._forms import LAYOUTS
from blockscale.torch._kernels import Kernel
from blockscale.torch._modules import QuantizedWeight
from blockscale.torch._products_kernels import Quantizer
from test_quantize_model import Model as ExpertsModel

WIDTH = 128
RULES = ({"format": "nvfp4", "weight_only": True}, {"format": "mxfp8"}, {"format": "mxfp4"},
         {"format": "nvfp4", "weight_only": True, "global_scale": "none"},
         {"format": "mxfp8", "weight_only": True, "rht": True})


class Model(nn.Module):
    """Neighbours, whose weights lie together, a layer with a bias, a norm and a buffer."""

    def __init__(self):
        super().__init__()
        self.norm = nn.RMSNorm(WIDTH)
        self.q, self.k = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(2))
        self.out = nn.Linear(WIDTH, 64)
        self.register_buffer("shift", torch.randn(64))

    def forward(self, x):
        x = self.norm(x)
        return self.out(F.silu(self.q(x)) * self.k(x)) + self.shift


def policy(rule):
    return {"version": 1, "leave_last_projection": False, "rules": [rule]}


def make_plain(seed, kind=Model):
    torch.manual_seed(seed)
    model = kind().bfloat16().eval()
    for each in model.parameters():
        each.data.copy_(torch.randn_like(each) * 2.0 ** torch.randint(-4, 4, each.shape[-1:]))
    return model


def find_memory(model):
    return {name: each.data_ptr() for name, each in [*model.named_parameters(),
                                                     *model.named_buffers()]}


class Ops(TorchDispatchMode):
    """Notes the ops of PyTorch that are called."""

    def __init__(self):
        super().__init__()
        self.names = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.names.add(function.name().split(".")[0])
        return function(*args, **(kwargs or {}))


class Call:
    """A call on addresses, by the CPU's kernel."""

    workspace = 0

    def __init__(self, made, kernel, tensors):
        self.made, self.kernel, self.x = made, kernel, tensors[0]
        self.results = kernel(tensors)
        self.shapes = [tuple(each.shape) for each in self.results]

    def launch(self, arguments, results, workspace, device):
        x, *out = (find_tensor(address, like) for address, like in zip(
            (*arguments, *results), (self.x, *self.results), strict=True))
        self.kernel([x], out=out)
        # A kernel is a method of what it is made of.
        self.made.append(self.kernel._build.__self__.is_settled)


def find_tensor(address, like):
    memory = (ctypes.c_uint8 * like.nbytes).from_address(address)
    return torch.frombuffer(memory, dtype=like.dtype).view(like.shape)


class RefitTest(unittest.TestCase):
    def check_same(self, one, other):
        one, other = one.state_dict(), other.state_dict()
        self.assertEqual(set(one), set(other))
        for name, tensor in one.items():
            self.assertTrue(torch.equal(tensor, other[name]), name)

    def test_bytes_and_memory(self):
        """A mapping, and pairs; compiled models see them."""
        x = torch.randn(5, WIDTH).bfloat16()
        for rule in RULES:
            for is_mapping in (True, False):
                with self.subTest(rule=rule, is_mapping=is_mapping), torch.no_grad():
                    plain, other = make_plain(0), make_plain(1)
                    wanted, model = copy.deepcopy(other), plain
                    for each in (wanted, model):
                        blockscale.torch.quantize_(each, policy(rule))
                    memory, before = find_memory(model), model(x)
                    weights = other.state_dict()
                    given = weights if is_mapping else iter(weights.items())
                    self.assertEqual(blockscale.torch.refit_(model, given), [])
                    self.assertEqual(find_memory(model), memory)
                    self.check_same(model, wanted)
                    self.assertTrue(torch.equal(model(x), wanted(x)))
                    self.assertFalse(torch.equal(model(x), before))

    def test_compiled(self):
        """A model that is compiled already computes with the new weights."""
        model, other = make_plain(0), make_plain(1)
        wanted = copy.deepcopy(other)
        for each in (wanted, model):
            blockscale.torch.quantize_(each, policy(RULES[0]))
        x = torch.randn(5, WIDTH).bfloat16()
        with torch.no_grad():
            torch._dynamo.reset()
            compiled = torch.compile(model, backend="blockscale", options={"rest": "eager"})
            before = compiled(x)
            blockscale.torch.refit_(model, other.state_dict())
            found = compiled(x)
            torch._dynamo.reset()
            again = torch.compile(wanted, backend="blockscale", options={"rest": "eager"})(x)
        self.assertTrue(torch.equal(found, again))
        self.assertFalse(torch.equal(found, before))

    def test_experts(self):
        """Stacks have the names of the plain experts' parameters, biases theirs."""
        for is_transposed in (False, True):
            with self.subTest(is_transposed=is_transposed):
                model, other = (make_plain(seed, functools.partial(
                    ExpertsModel, is_transposed=is_transposed))
                                for seed in (0, 1))
                weights = copy.deepcopy(other.state_dict())
                for each in (model, other):
                    blockscale.torch.quantize_(each, policy(RULES[0]))
                memory = find_memory(model)
                self.assertEqual(blockscale.torch.refit_(model, weights), [])
                self.assertEqual(find_memory(model), memory)
                self.check_same(model, other)

    def test_orders(self):
        """Weights that lie in the orders of GPUs, whose padding is zeros."""
        class Odd(nn.Module):
            def __init__(self):
                super().__init__()
                self.odd = nn.Linear(96, 100)

        rules = [*RULES, {"format": "mxint8", "weight_only": True},
                 {"format": "nvfp4", "weight_only": True, "weights": {"recipe": "te"}}]
        for kind, layout, rule in itertools.product((Odd, ExpertsModel), LAYOUTS, rules):
            with self.subTest(kind.__name__, layout=layout, rule=rule):
                model, other = (make_plain(seed, kind) for seed in (0, 1))
                weights = copy.deepcopy(other.state_dict())
                for each in (model, other):
                    blockscale.torch.quantize_(each, policy(rule))
                    layers = [layer for layer in each.modules()
                              if isinstance(layer, QuantizedWeight)]
                    self.assertTrue(layers)
                    for layer in layers:
                        layer._set_layout(layout)
                memory = find_memory(model)
                self.assertEqual(blockscale.torch.refit_(model, weights), [])
                self.assertEqual(find_memory(model), memory)
                for (name, one), two in zip(model.named_buffers(), other.buffers(), strict=True):
                    self.assertTrue(torch.equal(one, two), name)

    def test_nothing_is_copied(self):
        """A layer takes one call of a kernel, which writes into its memory. Autograd sees it."""
        model, other = make_plain(0), make_plain(1)
        blockscale.torch.quantize_(model, policy(RULES[0]))
        weight = other.out.weight.detach()
        blockscale.torch.refit_(model, {"out.weight": weight})
        before = model.out.data._version
        with unittest.mock.patch.object(Kernel, "__call__", autospec=True,
                                        side_effect=Kernel.__call__) as call, Ops() as ops:
            blockscale.torch.refit_(model, {"out.weight": weight})
        self.assertEqual([each.args[0].name for each in call.call_args_list], ["quantize to nvfp4"])
        self.assertLessEqual(ops.names, {"aten::detach"})
        self.assertGreater(model.out.data._version, before)

    def test_others_are_first(self):
        """Of a mapping, tensors that no layer quantizes are copied before the first kernel."""
        model, other = make_plain(0), make_plain(1)
        blockscale.torch.quantize_(model, policy(RULES[0]))
        weights, run = other.state_dict(), _modules._run_quantizer

        def check_copied(*args):
            self.assertTrue(torch.equal(model.shift, other.shift))
            return run(*args)
        with unittest.mock.patch.object(_modules, "_run_quantizer",
                                        side_effect=check_copied) as call:
            blockscale.torch.refit_(model, weights)
        self.assertEqual(call.call_count, 3)

    def refit_by_launches(self, model, weights, is_captured=False, is_loaded=True):
        """refit_ as on a GPU. Gives of each launch whether it may begin early, and the layers that
        took ordinary calls."""
        made = []
        with unittest.mock.patch.object(_requantize, "_GPU", "cpu"), \
                unittest.mock.patch.dict(_requantize._KINDS, clear=True), \
                unittest.mock.patch.object(Kernel, "get_call",
                                           lambda *args: Call(made, *args)), \
                unittest.mock.patch.object(Kernel, "is_loaded", return_value=is_loaded), \
                unittest.mock.patch.object(torch.cuda, "is_current_stream_capturing",
                                           return_value=is_captured), \
                unittest.mock.patch.object(QuantizedWeight, "take_plain", autospec=True,
                                           side_effect=QuantizedWeight.take_plain) as take:
            self.assertEqual(blockscale.torch.refit_(model, weights), [])
        return made, [each.args[0] for each in take.call_args_list]

    def test_launches(self):
        """Layers take one launch each, with the same bytes in the same memory; those whose weights
        lie together have a global scale for each row."""
        for rule, kind in itertools.product(RULES, (Model, ExpertsModel)):
            with self.subTest(rule=rule, kind=kind.__name__):
                model, other = (make_plain(seed, kind) for seed in (0, 1))
                weights = copy.deepcopy(other.state_dict())
                for each in (model, other):
                    blockscale.torch.quantize_(each, policy(rule))
                layers = [each for each in model.modules() if isinstance(each, QuantizedWeight)]
                memory = find_memory(model)
                versions = [each.data._version for each in layers]
                made, ordinary = self.refit_by_launches(model, weights)
                self.assertEqual((len(made), ordinary), (len(layers), []))
                self.assertEqual(find_memory(model), memory)
                self.check_same(model, other)
                for layer, version in zip(layers, versions):
                    self.assertGreater(layer.data._version, version)

    def test_early_launches(self):
        """Kernels of all layers but the first may begin early, if nothing else is written in
        between and they are loaded, which a capture does not allow."""
        for is_mapping, is_captured, is_loaded, wanted in (
                (True, False, False, [False, True, True]), (True, True, True, [False, True, True]),
                (True, True, False, [False] * 3), (False, False, True, [False] * 3)):
            with self.subTest(is_mapping=is_mapping, is_captured=is_captured, is_loaded=is_loaded):
                model, other = make_plain(0), make_plain(1)
                blockscale.torch.quantize_(model, policy(RULES[0]))
                weights = other.state_dict()
                made, _ = self.refit_by_launches(
                    model, weights if is_mapping else iter(weights.items()),
                    is_captured=is_captured, is_loaded=is_loaded)
                self.assertEqual(made, wanted)

    def test_no_launches(self):
        """Weights that kernels do not read as they lie, and layers that they cannot write into as
        they are, take ordinary calls."""
        def odd(weight):
            return torch.cat([weight.new_zeros(1), weight.flatten()])[1:].view_as(weight)

        changes = {"in columns": lambda weight: weight.t().contiguous().t(),
                   "at an odd address": odd}
        for name, change in changes.items():
            with self.subTest(name):
                model, other = make_plain(0), make_plain(1)
                weights = copy.deepcopy(other.state_dict())
                for each in (model, other):
                    blockscale.torch.quantize_(each, policy(RULES[0]))
                weights["k.weight"] = change(weights["k.weight"])
                made, ordinary = self.refit_by_launches(model, weights)
                self.assertEqual((len(made), ordinary), (2, [model.k]))
                self.check_same(model, other)

        model, other = make_plain(0), make_plain(1)
        blockscale.torch.quantize_(model, policy(RULES[1]))
        model.out.data = model.out.data[:, :-1].contiguous()
        with self.assertRaisesRegex(blockscale.ArgumentError, "result 0|shape"):
            self.refit_by_launches(model, other.state_dict())

    def test_settled_kernel(self):
        """A module says of which argument this is so."""
        form = OperandForm("nvfp4", None, "dynamic")
        text = Quantizer(form, torch.bfloat16, 2, False, "fragments", 128, True).build(None).source
        self.assertRegex(text.decode(), r"\(%x: tensor<\?x128xbf16> {blockscale.settled}\)")

    def test_a_part(self):
        """What `weights` does not have stays, and is named if it is quantized."""
        model, other = make_plain(0), make_plain(1)
        blockscale.torch.quantize_(model, policy(RULES[0]))
        wanted = copy.deepcopy(model.state_dict())
        weights = {"out.bias": other.out.bias, "norm.weight": other.norm.weight,
                   "q.weight": other.q.weight}
        self.assertEqual(blockscale.torch.refit_(model, weights), ["k.weight", "out.weight"])
        found = model.state_dict()
        changed = {name for name, each in found.items() if not torch.equal(each, wanted[name])}
        self.assertEqual(changed, {"out.bias", "norm.weight", "q.data", "q.scales",
                                   "q.global_scale"})

    def test_joint_global_scales(self):
        """Weights that share a global scale share the new one."""
        model, other = make_plain(0), make_plain(1)
        other.k.weight.data.mul_(8)
        weights = copy.deepcopy(other.state_dict())
        joint = [("q", "k"), ("out", "absent")]
        for each in (model, other):
            blockscale.torch.quantize_(each, policy(RULES[0]), joint=joint)
        blockscale.torch.refit_(model, weights, joint=joint)
        self.check_same(model, other)
        self.assertEqual(model.state_dict()["q.global_scale"], model.state_dict()["k.global_scale"])
        del weights["k.weight"]
        for given in (weights, iter(weights.items())):
            with self.assertRaisesRegex(blockscale.ArgumentError, "the weights of all of q, k"):
                blockscale.torch.refit_(model, given, joint=joint)

    def test_refused(self):
        """Before anything is written, though the wrong tensor is the last one."""
        model, other = make_plain(0), make_plain(1)
        blockscale.torch.quantize_(model, policy(RULES[1]))
        wanted = copy.deepcopy(model)
        right = other.state_dict()
        for name, tensor, message in (
                ("q", right["q.weight"], "names of the model's weights, but got 'q'"),
                ("q.weight", right["out.weight"],
                 r"'q.weight' as float32, .* of shape \[128, 128\], but got bfloat16 of .*64"),
                ("q.weight", right["q.weight"].to(torch.float8_e4m3fn), "but got float8_e4m3fn of"),
                ("q.weight", right["q.weight"].to("meta"), "'q.weight' .* on \"meta\""),
                ("q.data", right["q.weight"], "but got 'q.data'"),
                ("shift", right["shift"][:3], r"'shift' as bfloat16 of shape \[64\], but got .*3"),
                ("shift", right["shift"].int(), "'shift' as bfloat16 of .*, but got int32 of"),
                ("shift", right["shift"] > 0, "'shift' as bfloat16 of .*, but got bool of"),
                ("shift", right["shift"].to(torch.complex64), "but got complex64 of"),
                ("shift", right["shift"].to(torch.float8_e4m3fn), "but got float8_e4m3fn of")):
            with self.subTest(message), self.assertRaisesRegex(blockscale.ArgumentError, message):
                blockscale.torch.refit_(model, {**right, name: tensor})
            self.check_same(model, wanted)
        blockscale.torch.refit_(model, {"shift": right["shift"].double()})
        self.assertTrue(torch.equal(model.shift, right["shift"]))
        for joint, message in (("qk", "sets of names of layers .*, but got 'q'"),
                               (["qk"], "but got 'qk'"), ([("q", 1)], r"but got \('q', 1\)"),
                               ([("q", "k"), ("k", "v")], "in one set .*, but got 'k' in 2")):
            with self.subTest(joint), self.assertRaisesRegex(blockscale.ArgumentError, message):
                blockscale.torch.refit_(model, right, joint=joint)
        model = make_plain(0)
        blockscale.torch.quantize_(model, policy(RULES[0]))
        wanted = copy.deepcopy(model)
        with self.assertRaisesRegex(blockscale.ArgumentError,
                                    "'q.weight': .*: expected .* for a layer in .*, but got f32"):
            blockscale.torch.refit_(model, {**right, "q.weight": right["q.weight"].float()})
        self.check_same(model, wanted)
        empty = make_plain(0)
        blockscale.torch.quantize_(empty, policy(RULES[0]))
        with self.assertRaisesRegex(blockscale.ArgumentError, "it is on \"meta\""):
            blockscale.torch.refit_(empty.to("meta"), {"q.weight": right["q.weight"]})


if __name__ == "__main__":
    unittest.main()
