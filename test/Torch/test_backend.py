# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch.compile(backend="blockscale"): what becomes regions and products, bytes, sizes, and what
is left."""

import copy
import json
import math
import os
import subprocess
import sys
import unittest
import unittest.mock

import torch
from torch import nn
from torch._inductor import lowering
from torch.nn import functional as F

import blockscale
import blockscale.torch
from blockscale.torch import _kernels
from blockscale.torch._backend import blockscale_backend
from blockscale.torch._modules import join_tensors
from blockscale.torch._regions import read_region
from inductor import list_described_ops

WIDTH = 128


def setUpModule():
    unittest.enterModuleContext(torch.no_grad())


class Attention(nn.Module):
    """Layers as those of a transformer: a norm, three that read one tensor, a residual."""

    def __init__(self, bias):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(WIDTH, WIDTH, bias=bias) for _ in range(3))
        self.out = nn.Linear(WIDTH, WIDTH, bias=bias)

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        return self.out(torch.softmax(q @ k.transpose(-2, -1) / 16, -1) @ v)


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.up = (nn.Linear(WIDTH, 2 * WIDTH, bias=False) for _ in range(2))
        self.down = nn.Linear(2 * WIDTH, WIDTH, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    def __init__(self, bias=False, norm=nn.RMSNorm):
        super().__init__()
        self.norms = nn.ModuleList(norm(WIDTH) for _ in range(2))
        self.attention, self.gated = Attention(bias), Gated()
        self.head = nn.Linear(WIDTH, 32)

    def forward(self, x):
        x = x + self.attention(self.norms[0](x))
        return self.head(x + self.gated(self.norms[1](x)))


def make(policy, **options):
    torch.manual_seed(0)
    model = Block(**options).bfloat16().eval()
    for norm in model.norms:
        norm.weight.copy_(torch.randn(WIDTH))
    blockscale.torch.quantize_(model, {"version": 1, "rules": [policy]})
    return model, torch.randn(2, 5, WIDTH).bfloat16()


def explain(model, x, **options):
    torch._dynamo.reset()
    explanation, = blockscale.torch.explain(model, x, **options)
    return explanation


WEIGHTS = {"format": "nvfp4", "weight_only": True}


class WeightsTest(unittest.TestCase):
    def test_one_product_and_a_pair(self):
        for policy, bias in ((WEIGHTS, True), ({"format": "mxfp8", "weight_only": True}, False)):
            with self.subTest(policy):
                model, _ = make(policy, bias=bias)
                x = torch.randn(2, 9, WIDTH).bfloat16()
                explanation = explain(model, x)
                kinds = [kind for kind, _ in explanation.taken]
                self.assertEqual(sorted(kinds), ["a region", "one product"])
                product, = [nodes for kind, nodes in explanation.taken if kind == "one product"]
                self.assertEqual(len(product), 3)
                compiled = torch.compile(model, backend="blockscale", options={"rest": "eager"})
                self.assertTrue(torch.equal(compiled(x), model(x)))

    def test_few_rows(self):
        """One product of a gate and an up projection, if rows are always few and no region has
        both."""
        model, x = make(WEIGHTS)
        for dynamic, kinds in ((False, ["one product", "one product"]),
                               (True, ["a region", "one product"])):
            with self.subTest(dynamic=dynamic):
                explanation = explain(model, x, dynamic=dynamic, options={"decoding": False})
                self.assertEqual(sorted(kind for kind, _ in explanation.taken), kinds)
                torch._dynamo.reset()
                compiled = torch.compile(model, backend="blockscale", dynamic=dynamic,
                                         options={"rest": "eager", "decoding": False})
                self.assertTrue(torch.equal(compiled(x), model(x)))

    def test_three_of_which_two_are_joined(self):
        """Layers that read one tensor, of which elementwise ops join two, in each order: a gate,
        an up projection and a third one, as of attention beside them."""
        class Parallel(nn.Module):
            def __init__(self, order, count):
                super().__init__()
                self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH, bias=False)
                                            for _ in range(count))
                self.order = order

            def forward(self, x):
                made = [self.layers[number](x) for number in self.order]
                a, b, *others = (made[self.order.index(number)] for number in range(len(made)))
                return F.silu(a) * b + torch.softmax(sum(others[:1]), -1), *others[1:]
        for rule, order in ((WEIGHTS, (0, 1, 2)), (WEIGHTS, (2, 0, 1)), (WEIGHTS, (1, 3, 0, 2)),
                            ({"format": "mxfp8", "weight_only": True}, (0, 2, 1)),
                            ({"format": "mxfp8"}, (0, 1, 2))):
            with self.subTest(rule, order=order):
                torch.manual_seed(0)
                model = Parallel(order, len(order)).bfloat16().eval()
                blockscale.torch.quantize_(model, {
                    "version": 1, "leave_last_projection": False, "rules": [rule]})
                x = torch.randn(3, 9, WIDTH).bfloat16()
                explanation = explain(model, x)
                self.assertIn("a region", [kind for kind, _ in explanation.taken])
                torch._dynamo.reset()
                compiled = torch.compile(model, backend="blockscale", options={"rest": "eager"})
                for found, wanted in zip(compiled(x), model(x)):
                    self.assertTrue(torch.equal(found, wanted))

    def test_an_op_that_inductor_decomposes(self):
        """Pooling, in a process that has not run Inductor."""
        script = """if True:
            import torch, blockscale.torch
            from torch import nn
            model = nn.Sequential(nn.MaxPool1d(2), nn.Linear(64, 64)).bfloat16().eval()
            blockscale.torch.quantize_(model, {"version": 1, "leave_last_projection": False,
                                               "rules": [{"format": "mxfp8"}]})
            x = torch.randn(2, 5, 128).bfloat16()
            with torch.no_grad():
                explanation, = blockscale.torch.explain(model, x)
                compiled = torch.compile(model, backend="blockscale", options={"rest": "eager"})
                assert torch.equal(compiled(x), model(x))
            print("done")
        """
        found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        self.assertEqual(found.stdout.strip(), "done", found.stderr)

    def test_options(self):
        model, _ = make(WEIGHTS)
        x = torch.randn(2, 9, WIDTH).bfloat16()
        self.assertEqual([(kind, len(nodes)) for kind, nodes in
                          explain(model, x, options={"pairs": False}).taken],
                         [("one product", 3), ("one product", 2)])
        (_, nodes), = explain(model, x, options={"pairs": False, "merges": False}).taken
        self.assertEqual(sum(node.startswith("linear_weight_only") for node in nodes), 1)

    def test_weights_lie_together(self):
        """Of layers that read one tensor, also after a copy, a load and a change of type."""
        model, x = make(WEIGHTS, bias=True)
        wanted = model(x)

        def check(attention):
            for name in ("data", "scales", "global_scale"):
                parts = [getattr(layer, name) for layer in (attention.q, attention.k, attention.v)]
                self.assertIsNotNone(join_tensors(parts), name)
            self.assertTrue(torch.equal(model(x), wanted))
        check(model.attention)
        check(copy.deepcopy(model).attention)
        state = model.state_dict()
        for name, value in state.items():
            # Files of safetensors have no tensors that share memory.
            self.assertEqual(value.untyped_storage().nbytes(), value.nbytes, name)
        state = {name: value.clone() for name, value in state.items()}
        for assign in (False, True):
            model.load_state_dict(state, assign=assign)
            check(model.attention)
        model.half().bfloat16()
        check(model.attention)

    def test_views_of_parts_of_one_product(self):
        """Whose rows do not lie behind one another: some views of them are copies."""
        class Flat(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = (nn.Linear(WIDTH, WIDTH) for _ in range(2))

            def forward(self, x):
                a, b = self.a(x), self.b(x)
                return a.view(-1) + b.view(2, 5, 8, -1).transpose(1, 2)[:, :, :5].reshape(-1)

        model, x = Flat().bfloat16().eval(), torch.randn(2, 5, WIDTH).bfloat16()
        blockscale.torch.quantize_(model, {"version": 1, "leave_last_projection": False,
                                           "rules": [WEIGHTS]})
        self.assertEqual([kind for kind, _ in explain(model, x).taken], ["one product"])
        compiled = torch.compile(model, backend="blockscale", options={"rest": "eager"})
        self.assertTrue(torch.equal(compiled(x), model(x)))

    def test_weights_that_do_not_lie_together(self):
        model, x = make(WEIGHTS)
        compiled = torch.compile(model, backend="blockscale", options={"rest": "eager"})
        compiled(x)
        model.attention.k.data = model.attention.k.data.clone()
        self.assertTrue(torch.equal(compiled(x), model(x)))


class ExactTest(unittest.TestCase):
    def test_regions(self):
        """Norms, activations and quantizers of a layer's both sides are in one region. The bytes
        are those of the layers one by one, with the norm that the CPU's kernel of ours computes."""
        for policy, norm in (({"format": "mxfp8"}, nn.RMSNorm),
                             ({"format": "nvfp4"}, nn.LayerNorm)):
            with self.subTest(policy):
                model, x = make(policy, norm=norm)
                explanation = explain(model, x)
                self.assertEqual([kind for kind, _ in explanation.taken], ["a region", "a region"])
                layers = [[node for node in nodes if node.startswith("linear_quantized")]
                          for _, nodes in explanation.taken]
                self.assertEqual(list(map(len, layers)), [3, 3])
                self.assertTrue(any("rsqrt" in node for node in explanation.taken[0][1]))
                compiled = torch.compile(model, backend="blockscale", options={"rest": "eager"})
                found, wanted = compiled(x), model(x)
                self.assertLess(((found.float() - wanted.float()).norm()
                                 / wanted.float().norm()).item(), 0.05)

    def test_a_region_has_the_bytes_of_its_ops(self):
        """Given what the norm computes, codes and products are those of our ops."""
        x = torch.randn(7, WIDTH).bfloat16()
        data, scales = torch.ops.blockscale.quantize(torch.randn(64, WIDTH).bfloat16(),
                                                     format="mxfp8")
        layer = ["blockscale.linear_quantized.default",
                 [{"node": 1}, {"node": 2}, {"node": 3}, None, None, None],
                 {"out_features": 64, "format": "mxfp8", "input_format": "mxfp8"}]
        norm = ["aten.mul.Tensor", [{"node": 0}, 3.0], {}]
        inputs = [["bfloat16", [None, WIDTH]], ["uint8", [64, WIDTH]], ["uint8", [64, 4]]]
        text = json.dumps({"inputs": inputs, "ops": [norm, [layer[0], [
            {"node": 3}, {"node": 1}, {"node": 2}, None, None, None], layer[2]]],
            "outputs": [3, 4]})
        made, y = torch.ops.blockscale.region([x, data, scales], text)
        self.assertTrue(torch.equal(made, x * 3))
        wanted = torch.ops.blockscale.linear_quantized(
            made, data, scales, None, None, None, out_features=64, format="mxfp8",
            input_format="mxfp8")
        self.assertTrue(torch.equal(y, wanted))
        torch.library.opcheck(torch.ops.blockscale.region.default, ([x, data, scales], text))
        # Op by op, as where a GPU has no products of ours.
        for one, other in zip(read_region(text).run_plain([x[None], data, scales]), (made, y)):
            self.assertTrue(torch.equal(one, other[None]))

    def test_ops_on_elements(self):
        """A region takes each op that imported programs have, and rounds it as the op alone."""
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(WIDTH, 32)

            def forward(self, x):
                near = torch.rsub(torch.sigmoid(x), 1) * torch.sign(x) + x.square().clamp_max(3)
                steps = torch.ceil(x) + torch.floor(x) - torch.round(x) * torch.trunc(x)
                waves = torch.sin(x) * torch.cos(x) + torch.expm1(x.clamp(-2, 2))
                logs = torch.log1p(torch.abs(x)) * torch.log2(torch.abs(x) + 1)
                steps = steps.clamp(-4, math.inf) + torch.reciprocal(x.square() + math.inf)
                return self.layer(torch.maximum(near + steps + waves * logs,
                                                torch.minimum(near, steps)))
        torch.manual_seed(0)
        model = Model().bfloat16().eval()
        blockscale.torch.quantize_(model, {
            "version": 1, "leave_last_projection": False, "rules": [{"format": "mxfp8"}]})
        x = torch.randn(7, WIDTH).bfloat16()
        explanation = explain(model, x)
        (kind, nodes), = explanation.taken
        self.assertEqual((kind, len(nodes)), ("a region", explanation.count))
        torch._dynamo.reset()
        compiled = torch.compile(model, backend="blockscale", options={"rest": "eager"})
        self.assertTrue(torch.equal(compiled(x), model(x)))

    def test_kernels_of_a_gpu(self):
        """A gated layer in MXFP8 is three launches on a Hopper: norm and quantizer; two products,
        their activation and quantizer; and a product."""
        model, x = make({"format": "mxfp8"})
        torch._dynamo.reset()
        texts = []
        from blockscale.torch import _partition
        with unittest.mock.patch.object(_partition, "read_region",
                                        lambda text: texts.append(text) or read_region(text)):
            blockscale.torch.explain(model, x)
        region = read_region(max(texts, key=lambda text: text.count("linear_quantized")
                                 + text.count("silu") + text.count("exp")))
        module = _kernels.build_for(region.build, 16, "sm_90a")
        plan = json.loads(_kernels._emit(module, "sm_90a", 3))
        kernels = [step["launch"]["kernel"] if "launch" in step else step.get("kernel")
                   for step in plan["functions"][0]["steps"]]
        products = [name for name in kernels if name.startswith("scaled_mm")]
        self.assertEqual(len(products), 2, kernels)
        self.assertIn("twice", products[0])
        self.assertEqual({choice["source"] for choice in plan["choices"]}, {"attribute"})
        # The module says how many rows its calls have; that of the last bucket does not.
        self.assertIn(" attributes {blockscale.max_rows = 16 : i64} {", str(module))
        module = _kernels.build_for(region.build, None, "sm_90a")
        self.assertNotIn("max_rows", str(module))


class GraphTest(unittest.TestCase):
    def test_sizes_compile_once(self):
        """One graph, without breaks, for all lengths."""
        model, _ = make(WEIGHTS)
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        compiled = torch.compile(model, backend="blockscale", dynamic=True, fullgraph=True,
                                 options={"rest": "eager"})
        for number, length in enumerate((7, 2, *torch.randint(3, 60, (50,)).tolist())):
            x = torch.randn(2, length, WIDTH).bfloat16()
            y = compiled(x)
            if number % 10 == 0:
                # The norm is written out in the graph, which PyTorch's own sums in another order.
                torch.testing.assert_close(y, model(x), rtol=0.05, atol=0.05)
        self.assertEqual(torch._dynamo.utils.counters["stats"]["unique_graphs"], 1)

    def test_inductor(self):
        """The rest is Inductor's, which knows the sizes of what our ops give."""
        model = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.ReLU(), nn.Linear(2 * WIDTH, 32))
        blockscale.torch.quantize_(model.bfloat16(), {"version": 1, "rules": [WEIGHTS]})
        torch._dynamo.reset()
        compiled = torch.compile(model, backend="blockscale", dynamic=True)
        for shape in ((3, 5), (1, 9)):
            x = torch.randn(*shape, WIDTH).bfloat16()
            torch.testing.assert_close(compiled(x), model(x), rtol=0.05, atol=0.05)

    def test_inductor_describes_no_calls(self):
        """Inductor knows that ops of ours are calls, and does not write down their arguments."""
        model, x = make({"format": "mxfp8"})
        with list_described_ops() as described:
            torch.compile(model, backend="blockscale")(x)
            self.assertIn(torch.ops.blockscale.region.default, lowering.lowerings)
        self.assertEqual(described, [])

    def test_training_graphs(self):
        """Layers with plain activations have a derivative, also where regions have them."""
        model, x = make(WEIGHTS)
        torch._dynamo.reset()
        compiled = torch.compile(model, backend="blockscale", options={"rest": "eager"})
        with torch.enable_grad():
            x.requires_grad_()
            compiled(x).float().sum().backward()
            found, x.grad = x.grad, None
            model(x).float().sum().backward()
        torch.testing.assert_close(found, x.grad, rtol=0.1, atol=0.1)

    def test_without_layers_of_ours(self):
        explanation = explain(nn.Linear(8, 8), torch.randn(2, 8))
        self.assertEqual((explanation.taken, explanation.left), ([], {}))
        self.assertIn("in 0 calls of ours", str(explanation))

    def test_refused(self):
        graph = torch.fx.symbolic_trace(nn.Identity())
        for options, message in (
                ({"rest": "none"}, "option 'rest' to be one of 'inductor', 'eager'"),
                ({"pairs": 3}, "option 'pairs' to be one of True, False"),
                ({"rest": "eager", "max_autotune": True}, "no options of Inductor"),
                ({"post_grad_custom_pre_pass": print}, "no option 'post_grad")):
            with self.assertRaisesRegex(blockscale.ArgumentError, message):
                blockscale_backend(graph, [torch.zeros(1)], options=options)
        with self.assertRaisesRegex(blockscale.ArgumentError, "got mode 'reduce-overhead'"):
            blockscale_backend(graph, [torch.zeros(1)], mode="reduce-overhead",
                               options={"rest": "eager"})

    def test_torch_logs(self):
        """PyTorch's variable shows what is taken, and with + what is compiled."""
        program = """if True:
            import torch, blockscale.torch
            from torch import nn
            model = nn.Sequential(nn.Linear(32, 32), nn.ReLU()).bfloat16().eval()
            blockscale.torch.quantize_(model, {"version": 1, "leave_last_projection": False,
                                               "rules": [{"format": "mxfp8"}]})
            with torch.no_grad():
                torch.compile(model, backend="blockscale", options={"rest": "eager"})(
                    torch.randn(3, 32).bfloat16())
        """
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                              env={**os.environ, "TORCH_LOGS": "+blockscale"}, check=True)
        self.assertIn("took a region: linear_quantized, relu", done.stderr)
        self.assertIn("compile a region of 2 ops for cpu", done.stderr)

    def test_it_is_registered(self):
        self.assertIn("blockscale", torch._dynamo.list_backends())
