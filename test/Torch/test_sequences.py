# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch.compile(backend="blockscale") of layers with plain activations and few rows: regions from
one layer to the last that is reached by ops on rows."""

import json
import unittest
import unittest.mock

import torch
from torch import nn
from torch._higher_order_ops.auto_functionalize import auto_functionalized
from torch.nn import functional as F

import blockscale.torch
from blockscale.torch import _kernels, _partition, _regions
from blockscale.torch._partition import _MOST_LAYERS
from blockscale.torch._regions import read_region

WIDTH = 128
RULE = {"format": "nvfp4", "weight_only": True, "global_scale": "none"}


def setUpModule():
    unittest.enterModuleContext(torch.no_grad())


class Norm(nn.Module):
    """An RMSNorm as models of transformers write it."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(WIDTH))

    def forward(self, x):
        wide = x.float()
        return self.weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)).to(
            x.dtype)


class Step(nn.Module):
    """What a decoder has from one attention to the next: with norms, or without."""

    def __init__(self, norm=Norm, bias=False):
        super().__init__()
        self.norms = nn.ModuleList(norm() for _ in range(2))
        self.out = nn.Linear(WIDTH, WIDTH, bias=bias)
        self.gate, self.up = (nn.Linear(WIDTH, 2 * WIDTH, bias=bias) for _ in range(2))
        self.down = nn.Linear(2 * WIDTH, WIDTH, bias=bias)
        self.q, self.k, self.v = (nn.Linear(WIDTH, WIDTH, bias=bias) for _ in range(3))

    def forward(self, x, attended):
        x = x + self.out(torch.tanh(attended.transpose(-2, -1).contiguous().transpose(-2, -1)))
        h = self.norms[0](x)
        x = x + self.down(F.silu(self.gate(h)) * self.up(h))
        h = self.norms[1](x)
        # Heads, as attention has them.
        return x, *(layer(h).view(*h.shape[:-1], 4, -1).transpose(1, 2)
                    for layer in (self.q, self.k, self.v))


class TwoSteps(nn.Module):
    """Two of them, and something in place of an attention between; `other` comes there, too."""

    def __init__(self, other=None):
        super().__init__()
        self.first, self.second, self.other = Step(), Step(), other

    def forward(self, x, attended):
        x, *heads = self.first(x, attended)
        q, k, v = (each.transpose(1, 2).flatten(2) for each in heads)
        more = () if self.other is None else (self.other(self),)
        return *self.second(x, torch.cumsum(q * k + v, -1)), *more


def make(model, rule=RULE):
    torch.manual_seed(0)
    model = model.bfloat16().eval()
    blockscale.torch.quantize_(model, {"version": 1, "leave_last_projection": False,
                                       "rules": [rule]})
    return model


def draw(*shape):
    return torch.randn(*shape, WIDTH).bfloat16()


def explain(model, *args, **options):
    torch._dynamo.reset()
    explanation, = blockscale.torch.explain(model, *args, **options)
    return explanation


def compile_eager(model, **options):
    torch._dynamo.reset()
    return torch.compile(model, backend="blockscale", dynamic=False,
                         options={"rest": "eager", **options})


def find_regions(model, *args):
    """The texts of the regions of a model's graph."""
    texts = []
    with unittest.mock.patch.object(_partition, "read_region",
                                    lambda text: texts.append(text) or read_region(text)):
        explain(model, *args)
    return texts


class SequencesTest(unittest.TestCase):
    def test_from_attention_to_attention(self):
        """One region with all layers. Two that are joined are a pair, three that read the same
        activations one product."""
        explanation = explain(make(Step()), draw(1, 3), draw(1, 3))
        (first, product), (second, region) = explanation.taken
        self.assertEqual((first, len(product), second), ("one product", 3, "a region"))
        layers = [name for name in region if "linear" in name]
        self.assertEqual(len(layers), 5)
        self.assertTrue(layers[-1].startswith("merged_linear_weight_only"))
        self.assertEqual(sum(name.startswith("mean") for name in region), 2)

    def test_bytes(self):
        """Without norms, whose sums have an order of their own, results are those of the ops one
        by one: residual sums, activations, biases, and weights that are copied to be one."""
        for bias in (False, True):
            model, x = make(Step(norm=nn.Identity, bias=bias)), draw(2, 5)
            compiled, attended = compile_eager(model), draw(2, 5)
            for part in (model.out, model.k):
                for found, wanted in zip(compiled(x, attended), model(x, attended)):
                    self.assertTrue(torch.equal(found, wanted))
                part.data = part.data.clone()

    def test_norms(self):
        model, x, attended = make(Step()), draw(2, 5), draw(2, 5)
        for found, wanted in zip(compile_eager(model)(x, attended), model(x, attended)):
            self.assertLess(((found.float() - wanted.float()).norm()
                             / wanted.float().norm()).item(), 0.01)

    def test_launches_of_a_gpu(self):
        """Six on a Hopper behind what makes the first activations: the first product with the
        residual sum; a norm; the pair with its activation; a product with the second residual sum,
        which is a result and what the second norm reads; that norm; and one product of three
        layers. All of them may overlap. Weights here are in the order of the CPU."""
        text, = find_regions(make(Step()), draw(1, 1), draw(1, 1))
        module = _kernels.build_for(read_region(text).build, 16, "sm_90a")
        plan = json.loads(_kernels._emit(module, "sm_90a", _kernels._PLAN))
        launches = [step["launch"] for step in plan["functions"][0]["steps"]]
        names = [launch["kernel"] for launch in launches
                 if not launch["kernel"].startswith("swizzle")][1:]
        self.assertEqual([name.startswith("scaled_mm") for name in names],
                         [True, False, True, True, False, True], names)
        self.assertEqual([name.count("addf") for name in names], [1, 0, 0, 1, 0, 0], names)
        self.assertTrue(all(launch.get("programmatic") for launch in launches))

    def test_settled_weights(self):
        """The weights of the second of two sequences are settled, so that its first launch begins
        while what is between the two runs; those of the first one are not, since what comes before
        the graph may have written them just now."""
        model, (x, attended) = make(TwoSteps()), (draw(1, 1), draw(1, 1))
        first, second = find_regions(model, x, attended)
        self.assertNotIn("settled", json.loads(first))
        held = json.loads(second)
        rows = [number for number, (_, shape) in enumerate(held["inputs"]) if shape[0] is None]
        self.assertEqual(len(rows), 2)
        self.assertEqual(held["settled"],
                         [each for each in range(len(held["inputs"])) if each not in rows])
        module = _kernels.build_for(read_region(second).build, 16, "sm_90a")
        plan = json.loads(_kernels._emit(module, "sm_90a", _kernels._PLAN))
        found = [bool(each.get("settled")) for each in plan["functions"][0]["arguments"]]
        self.assertEqual(found, [number not in rows for number in range(len(found))])
        for found, wanted in zip(compile_eager(model)(x, attended), model(x, attended)):
            self.assertLess(((found.float() - wanted.float()).norm()
                             / wanted.float().norm()).item(), 0.01)

    def test_weights_that_are_not_settled(self):
        """Weights one of which the graph has a view of, or makes; and those of many rows."""
        def make_new(model):
            model.second.norms[0].weight.add_(1)

        def view(model):
            return model.second.norms[1].weight[:4]

        def read(model):
            return model.second.norms[0].weight.mul(2)

        for other, is_settled in ((make_new, False), (view, False), (read, True)):
            texts = find_regions(make(TwoSteps(other)), draw(1, 1), draw(1, 1))
            self.assertEqual(["settled" in json.loads(text) for text in texts],
                             [False, is_settled], other)
        chain = make(TwoSteps(), dict(RULE, order="chain"))
        for rows, is_settled in ((16, True), (17, False)):
            texts = find_regions(chain, draw(1, rows), draw(1, rows))
            self.assertEqual(["settled" in json.loads(text) for text in texts],
                             [False, is_settled])

    def test_inputs_that_are_written(self):
        """An input of the graph to which an op writes is not only read, whichever way graphs have
        of writing that."""
        for target, is_read in ((torch.ops.aten.mul.Tensor, True),
                                (torch.ops.aten.copy_.default, False),
                                (auto_functionalized, False)):
            graph = torch.fx.Graph()
            weight, x = graph.placeholder("weight"), graph.placeholder("x")
            graph.call_function(target, (weight, x))
            self.assertEqual(_partition._is_only_read(weight), is_read, target)
            self.assertFalse(_partition._is_only_read(next(iter(weight.users))))

    def test_settled_weights_that_are_copied(self):
        """Weights that do not lie behind one another are copied to be one just before the call,
        which begins behind that."""
        text = find_regions(model := make(TwoSteps()), draw(1, 1), draw(1, 1))[1]
        called = []
        compute = _regions.Region.compute
        with unittest.mock.patch.object(_regions.Region, "compute", lambda region, inputs: (
                called.append("settled" in json.loads(region.text)), compute(region, inputs))[1]):
            compiled, x, attended = compile_eager(model), draw(1, 1), draw(1, 1)
            results = [compiled(x, attended)]
            part = model.second.k
            part.data = part.data.clone()
            results.append(compiled(x, attended))
        self.assertIn('"settled"', text)
        self.assertEqual(called, [False, True, False, False])
        for one, other in zip(*results):
            self.assertTrue(torch.equal(one, other))

    def test_options(self):
        """`decoding` off leaves norms to PyTorch, and `merges` off leaves layers apart."""
        model, x, attended = make(Step()), draw(1, 3), draw(1, 3)
        kinds = [kind for kind, _ in explain(model, x, attended,
                                             options={"decoding": False}).taken]
        self.assertEqual(kinds, ["one product", "one product"])
        (_, region), = explain(model, x, attended, options={"merges": False}).taken
        self.assertEqual(sum("linear" in name for name in region), 7)

    def test_rows(self):
        """More than a few rows, and any number of them, are no sequence, but where sums have an
        order: then a row has the same bits alone and in company."""
        model = make(Step())
        for args, dynamic in (((draw(1, 17), draw(1, 17)), False),
                              ((draw(2, 5), draw(2, 5)), True)):
            taken = explain(model, *args, dynamic=dynamic).taken
            self.assertFalse(any("mean" in name for _, nodes in taken for name in nodes))
        chain = make(Step(), dict(RULE, order="chain"))
        x, attended = draw(20, 1), draw(20, 1)
        _, (_, region) = explain(chain, x, attended).taken
        self.assertIn("mean", region)
        # Also of one layer, with the norm before it.
        single = make(nn.Sequential(Norm(), nn.Linear(WIDTH, WIDTH)), dict(RULE, order="chain"))
        (_, region), = explain(single, x).taken
        self.assertIn("mean", region)
        together = compile_eager(chain)(x, attended)
        alone = compile_eager(chain)(x[13:14], attended[13:14])
        for one, other in zip(together, alone):
            self.assertTrue(torch.equal(one[13:14], other))

    def test_sums_that_others_need(self):
        """A mean that is a result is left, with the norm that it belongs to and what comes of
        it; layers before it stay a region."""
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(3))

            def forward(self, x):
                x = x + self.layers[1](F.relu(self.layers[0](x)))
                mean = x.mean(-1, keepdim=True)
                return self.layers[2](x - mean), mean
        model, x = make(Model()), draw(1, 3)
        (_, region), = explain(model, x).taken
        self.assertEqual(sum("linear" in name for name in region), 2)
        self.assertNotIn("mean", region)
        for found, wanted in zip(compile_eager(model)(x), model(x)):
            self.assertTrue(torch.equal(found, wanted))

    def test_operands_from_behind(self):
        """What is computed of a result of the region cannot be an operand of it."""
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(3))

            def forward(self, x):
                first = F.relu(self.layers[0](x))
                second = self.layers[1](first)
                return self.layers[2](second + torch.cumsum(first, -1))
        model, x = make(Model()), draw(1, 3)
        (_, region), = explain(model, x).taken
        self.assertEqual(sum("linear" in name for name in region), 2)
        self.assertTrue(torch.equal(compile_eager(model)(x), model(x)))

    def test_many_layers(self):
        """A region has a bound, so that its module stays small."""
        count = _MOST_LAYERS + 3
        model = make(nn.Sequential(*[each for _ in range(count) for each in (
            nn.Linear(WIDTH, WIDTH, bias=False), nn.ReLU())]))
        x = draw(1, 3)
        layers = [sum("linear" in name for name in nodes) for _, nodes in explain(model, x).taken]
        self.assertEqual(layers, [_MOST_LAYERS, 3])
        self.assertTrue(torch.equal(compile_eager(model)(x), model(x)))


if __name__ == "__main__":
    unittest.main()
