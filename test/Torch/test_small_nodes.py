# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What all layers of a step of decoding compute alike is computed once, and their counters are one
update."""

import re
import unittest
import unittest.mock

import torch
from torch import nn
from torch._inductor.utils import run_and_get_code
from torch.fx.experimental.proxy_tensor import make_fx

from blockscale.torch import _ordered_attention, _partition, _small_nodes
from test_ordered_attention import LENGTH, OnCPU, attend_efficient, make, make_caches

ATEN = torch.ops.aten


def count(length, start=0):
    """A range as graphs for Inductor have it."""
    return torch.ops.prims.iota(length, start=start, step=1, dtype=torch.int64, device="cpu",
                                requires_grad=False)


def setUpModule():
    unittest.enterModuleContext(torch.no_grad())


class Model(nn.Module):
    """Layers that write the mask anew, each with a cache that counts its tokens."""

    def __init__(self, order):
        super().__init__()
        self.layers = nn.ModuleList(make(order) for _ in range(2))

    def forward(self, x, caches, counters):
        for layer, cache, counter in zip(self.layers, caches, counters):
            place = torch.arange(x.shape[1]) + counter
            counter.add_(x.shape[1])
            x = layer(x, *cache, place, self.attend)
        return x

    def attend(self, q, k, v, seen):
        return attend_efficient(q, k, v, torch.arange(LENGTH) <= self.place)


def trace(function, *inputs):
    module = make_fx(function, tracing_mode="fake")(*inputs)
    return module, module.graph


def add_to(numbers, counters):
    """As graphs for Inductor have it: sums, which are copied into inputs at the end."""
    sums = [ATEN.add.Tensor(counter, number) for counter, number in zip(counters, numbers)]
    for counter, made in zip(counters, sums):
        counter.copy_(made)
    return counters[0] + 0


class StepTest(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        self.enterContext(unittest.mock.patch.object(_partition, "OrderedRewriter", OnCPU))
        self.enterContext(unittest.mock.patch.object(
            _partition, "is_attention", _ordered_attention.is_any_attention))
        self.enterContext(unittest.mock.patch.object(
            _ordered_attention, "is_fast_step", lambda *_: True))
        self.enterContext(torch._inductor.config.patch(force_disable_caches=True))

    def run_steps(self, model):
        """Results of two steps with the caches and counters behind them, and Inductor's code."""
        torch._dynamo.reset()
        compiled = torch.compile(model, backend="blockscale")
        torch.manual_seed(1)
        caches = [[torch.randn_like(each) for each in make_caches(1)] for _ in range(2)]
        counters = [torch.tensor(70 + number) for number in range(2)]
        model.place, made, codes = torch.tensor(69), [], []
        for _ in range(2):
            model.place.add_(1)
            x = torch.randn(1, 1, 64).bfloat16()
            found, code = run_and_get_code(compiled, x, caches, counters)
            made.append(found)
            codes += code
        return [*made, *(each for cache in caches for each in cache), *counters], codes[0]

    def test_steps(self):
        model = Model("free")
        found, code = self.run_steps(model)
        with (unittest.mock.patch.object(_ordered_attention, "find_number", lambda place: place),
              unittest.mock.patch.object(_partition, "share_arguments", lambda graph: None),
              unittest.mock.patch.object(_partition, "join_counters", lambda graph: [])):
            wanted, other = self.run_steps(model)
        self.assertTrue(all(map(torch.equal, found, wanted)))
        self.assertEqual([each.item() for each in found[-2:]], [72, 73])
        places, masks = zip(*self.read_arguments(code))
        self.assertEqual(len(set(masks)), 1, code)
        self.assertTrue(all(place.startswith("arg") for place in places), code)
        self.assertEqual(len({mask for _, mask in self.read_arguments(other)}), 2, other)

    def read_arguments(self, code):
        """The places and masks of calls of the op."""
        name = r"((?:arg|buf)\w+)"
        found = re.findall(rf"decode_attention\.default\(.*{name}, (?:reinterpret_tensor\()?{name}"
                           ".*scale=", code)
        self.assertEqual(len(found), 2, code)
        return found


class PlaceTest(unittest.TestCase):
    def find(self, function, *inputs):
        module, graph = trace(function, *inputs)
        place = next(node for node in graph.nodes if node.target is ATEN.add.Tensor)
        found = _small_nodes.find_number(place)
        if found is not place:
            self.assertEqual(found.op, "placeholder")
            self.assertTrue(torch.equal(module(*inputs).reshape(()), inputs[0].reshape(())))
        return found is not place

    def test_what_is_the_number(self):
        for number in (torch.tensor(5), torch.tensor([5])):
            self.assertTrue(self.find(lambda x: count(1) + x, number))
            self.assertTrue(self.find(lambda x: x + count(1), number))

    def test_what_is_left(self):
        number = torch.tensor(5)
        for name, function in (("two", lambda x: count(2) + x),
                               ("from 1", lambda x: count(1, 1) + x),
                               ("of another type", lambda x: count(1) + x.int()),
                               ("a multiple", lambda x: torch.add(count(1), x, alpha=2)),
                               ("no range", lambda x: x + 0)):
            with self.subTest(name):
                self.assertFalse(self.find(function, number))


class SharedTest(unittest.TestCase):
    def find(self, function, *inputs):
        """How many different things a graph computes of those that it computes twice."""
        _, graph = trace(function, *inputs)
        firsts = _small_nodes._find_firsts(graph)
        output = next(iter(reversed(graph.nodes)))
        return len({firsts.get(each, each) for each in output.args[0]})

    def test_equal(self):
        x = torch.randn(4)
        self.assertEqual(self.find(lambda x: (x * 2 + 1, x * 2 + 1), x), 1)
        self.assertEqual(self.find(lambda x: (torch.where(x > 0, 0.0, -torch.inf)[None],
                                              torch.where(x > 0, 0.0, -torch.inf)[None]), x), 1)

    def test_others(self):
        x = torch.ones(4)
        for name, function in (("zeros", lambda x: (ATEN.mul.Tensor(x, 0.0),
                                                    ATEN.mul.Tensor(x, -0.0))),
                               ("types", lambda x: (ATEN.add.Tensor(x, 1),
                                                    ATEN.add.Tensor(x, True))),
                               ("drawn", lambda x: (torch.rand_like(x), torch.rand_like(x))),
                               ("not initialized", lambda x: (torch.empty_like(x),
                                                              torch.empty_like(x))),
                               ("lists", lambda x: (x.reshape(2, 2).sum([0]),
                                                    x.reshape(2, 2).sum([1])))):
            with self.subTest(name):
                self.assertEqual(self.find(function, x), 2)

        def write_between(x):
            first = x + 1
            x.mul_(2)
            return first, x + 1
        self.assertEqual(self.find(write_between, x), 2)


class CountersTest(unittest.TestCase):
    def join(self, numbers, counters, function=add_to):
        module, graph = trace(lambda *counters: function(numbers, counters), *counters)
        joined = _small_nodes.join_counters(graph)
        graph.eliminate_dead_code()
        graph.lint()
        module.recompile()
        found, wanted = ([each.clone() for each in counters] for _ in range(2))
        self.assertTrue(torch.equal(module(*found), function(numbers, wanted)))
        self.assertTrue(all(map(torch.equal, found, wanted)))
        return [len(each) for each in joined]

    def test_joined(self):
        counters = [torch.tensor(number) for number in (3, 9, 4, 7)]
        self.assertEqual(self.join([1, 1, 1, 1], counters), [4])
        self.assertEqual(self.join([1, 2, 1, 2], counters), [2, 2])

    def test_left(self):
        one = torch.tensor(3)
        self.assertEqual(self.join([1, 2], [one, torch.tensor(4)]), [])
        self.assertEqual(self.join([1, 1], [one, torch.tensor(4, dtype=torch.int32)]), [])
        self.assertEqual(self.join([1, 1], [one, torch.tensor([1, 2])]), [])
        self.assertEqual(self.join([1.5, 1.5], [torch.tensor(3.0), torch.tensor(4.0)]), [])

        def read_sums(numbers, counters):
            made = [ATEN.add.Tensor(each, 1) for each in counters]
            for counter, each in zip(counters, made):
                counter.copy_(each)
            return made[0] + made[1]
        self.assertEqual(self.join([1, 1], [one, torch.tensor(4)], read_sums), [])

        def copy_to_others(numbers, counters):
            made = [ATEN.add.Tensor(each, 1) for each in counters]
            for counter, each in zip(counters, reversed(made)):
                counter.copy_(each)
            return counters[0] + 0
        self.assertEqual(self.join([1, 1], [one, torch.tensor(4)], copy_to_others), [])


if __name__ == "__main__":
    unittest.main()
