# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training on several ranks gives the codes of one process, and its loss to the bound."""

import contextlib
import sys
import unittest
import unittest.mock
from pathlib import Path
from types import SimpleNamespace

import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module
from torch.testing._internal.distributed.fake_pg import FakeStore

import blockscale
from blockscale import get_training_form
from blockscale.torch import (
    TrainedGatedMlp,
    prepare_training_,
    reduce_over_ranks,
    train_linear,
)
from blockscale.torch._weight_codes import ShardedWeight

sys.path.append(str(Path(__file__).resolve().parent))

from rank_layers import (
    GPUS,
    PLACES,
    WORLD,
    draw_batch,
    make_block,
    run_one,
    run_one_compiled,
    run_one_expert_layer,
    run_ranks,
    train,
)
from training_operands import SOURCES

OPS = torch.ops.blockscale
NAMES = ("mxfp8", "nvfp4")
#: Forms with weights in square blocks, which are gathered as codes.
SQUARES = ("mxfp8_32x32", "nvfp4")
KINDS = ("weights", "codes", "ddp")


class RanksTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        jobs = {}
        for name in NAMES:
            jobs |= {(name, kind): ("run_shards", name, kind) for kind in PLACES}
            jobs[name, "own rows"] = "run_rows", name
            jobs[name, "block"] = "run_parallel", name, False
            jobs[name, "experts"] = "run_experts", name
        jobs["nvfp4", "compiled"] = "run_parallel", "nvfp4", True
        for name in SQUARES:
            for gathers in (False, True):
                jobs[name, "fsdp", gathers] = "run_fully_sharded", name, gathers
        for kind in KINDS:
            jobs["nvfp4", kind] = "run_data_parallel", "nvfp4", kind
        jobs["nvfp4", "both"] = "run_two_dimensions", "nvfp4"
        jobs["compiled"] = ("run_compiled",)
        cls.made = dict(zip(jobs, run_ranks(list(jobs.values()))))

    def check_codes(self, ranks, one, dims):
        """The codes of ranks, one behind the other along the dimension that is split, are those of
        one process."""
        self.assertEqual(set(one), set(SOURCES))
        for name, wanted in one.items():
            source, is_transposed = SOURCES[name]
            dim = dims[source]
            parts = [each[name] for each in ranks]
            for what, number in (("data", 0), ("scales", 1)):
                found = [each[number] for each in parts]
                if wanted[number] is None or found[0] is None:
                    continue
                if dim is not None:
                    found = [torch.cat(found, 1 - dim if is_transposed else dim)]
                for each in found:
                    self.assertTrue(torch.equal(each, wanted[number]), (name, what))
            for each in parts:
                if wanted[2] is not None:
                    self.assertTrue(torch.equal(each[2], wanted[2]), (name, "global scale"))

    def check_same(self, found, wanted):
        """Sums of the CPU have one order; kernels of GPUs choose one by the number of rows."""
        if GPUS:
            self.check_values(found, wanted)
        else:
            self.assertTrue(torch.equal(found, wanted))

    def check_values(self, found, wanted):
        """Sums of ranks are rounded before they are added up."""
        found, wanted = found.float(), wanted.float()
        if found.dim() > 1:  # Rows have sizes of their own.
            self.assertTrue(bool((found.any(-1) == wanted.any(-1)).all()))
        error, size = (found - wanted).norm(dim=-1), wanted.norm(dim=-1)
        self.assertTrue(bool((error <= 2 ** -7 * size).all()), float((error / size).max()))

    def test_shards(self):
        """Of DTensors: the weight by rows or by columns, x by rows, and x that is gathered."""
        for name in NAMES:
            one, *values = run_one(name)
            for kind, places in PLACES.items():
                with self.subTest(name, kind=kind):
                    ranks = self.made[name, kind]
                    x, weight, _, gradient = (each.dim if each.is_shard() else None
                                              for each in places)
                    if kind == "gathered":
                        x = None
                    self.check_codes([each[0] for each in ranks], one,
                                     dict(x=x, weight=weight, gradient=gradient))
                    for rank in ranks:
                        for found, wanted in zip(rank[1:], values):
                            self.check_values(found, wanted)

    def test_own_rows(self):
        """Of plain tensors: each rank has rows of its own."""
        for name in NAMES:
            with self.subTest(name):
                one, y, of_x, of_weight, of_bias = run_one(name)
                ranks = self.made[name, "own rows"]
                self.check_codes([each[0] for each in ranks], one,
                                 dict(x=0, weight=None, gradient=0))
                self.check_same(torch.cat([each[1] for each in ranks]), y)
                self.check_same(torch.cat([each[2] for each in ranks]), of_x)
                for number, wanted in ((3, of_weight), (4, of_bias)):
                    self.check_values(sum(each[number].float() for each in ranks), wanted)

    def test_compiled_functions(self):
        """Functions that take amaxes over the ranks of a group of PyTorch."""
        *ranks, = self.made["compiled"]
        for number, (data, scales, amax) in enumerate(run_one_compiled()):
            parts = [each[number] for each in ranks]
            for what, wanted in (("data", data), ("scales", scales.view(torch.uint8))):
                found = torch.cat([part[what == "scales"].view(torch.uint8) for part in parts])
                self.assertTrue(torch.equal(found, wanted), what)
            for part in parts:
                self.assertEqual(part[2], amax)
        for each in ranks:
            self.assertTrue(bool(each[2].isnan()))

    def test_block(self):
        """A sequence-parallel block trains as one process does, compiled or not."""
        for name in NAMES:
            wanted = torch.stack(train(make_block(name), draw_batch())).cpu()
            losses = [torch.stack(each) for each in self.made[name, "block"]]
            for each in losses[1:]:
                self.assertTrue(torch.equal(each, losses[0]))
            torch.testing.assert_close(losses[0], wanted, rtol=2e-3, atol=0)
            if name == "nvfp4":
                for each in self.made[name, "compiled"]:
                    self.check_same(torch.stack(each), losses[0])

    def test_fully_sharded(self):
        """Weights that are gathered, and codes of them."""
        for name in SQUARES:
            one, y, of_x, of_weight, of_bias = run_one(name)
            for gathers in (False, True):
                with self.subTest(name, gathers=gathers):
                    ranks = self.made[name, "fsdp", gathers]
                    self.check_codes([each[0] for each in ranks], one,
                                     dict(x=0, weight=None, gradient=0))
                    self.check_same(torch.cat([each[1] for each in ranks]), y)
                    self.check_same(torch.cat([each[2] for each in ranks]), of_x)
                    for each in ranks:  # The mean over ranks.
                        self.check_values(each[3] * WORLD, of_weight)
                        self.check_values(each[4] * WORLD, of_bias)

    def test_data_parallel(self):
        """A block trains as in one process, and in the same way of weights and of codes."""
        wanted = torch.stack(train(make_block("nvfp4"), draw_batch())).cpu()
        kinds = (*KINDS, "both")
        found = {kind: [torch.stack(each) for each in self.made["nvfp4", kind]] for kind in kinds}
        for kind in kinds:
            for each in found[kind][1:]:
                self.assertTrue(torch.equal(each, found[kind][0]))
            torch.testing.assert_close(found[kind][0], wanted, rtol=2e-3, atol=0)
        for kind in ("codes", "both"):
            self.check_same(found["weights"][0], found[kind][0])

    def test_experts(self):
        """Experts on ranks of their own, to which PyTorch sends rows."""
        for name in NAMES:
            with self.subTest(name):
                one, ends, y, of_x, of_weight = run_one_expert_layer(name)
                ranks = self.made[name, "experts"]
                for number, wanted in enumerate((y, of_x, of_weight)):
                    self.check_same(torch.cat([each[1 + number] for each in ranks]), wanted)
                self.check_experts(ranks, get_training_form(name), one, ends.tolist())

    def check_experts(self, ranks, form, one, ends):
        """The codes of a rank's groups are those of these groups in one process."""
        count = len(ends) // WORLD
        sizes = [end - start for start, end in zip([0, *ends], ends)]
        padded = [-(-size // 32) * 32 for size in sizes]
        for rank, (made, *_) in enumerate(ranks):
            first, last = rank * count, (rank + 1) * count
            for name, wanted in one.items():
                source, is_transposed = SOURCES[name]
                data, scales, scale = made[name]
                if wanted[2] is not None:
                    self.assertTrue(torch.equal(scale, wanted[2][first:last]), (name, rank))
                operand = getattr(form, name)
                for found, given, unit in (
                        (data, wanted[0], 2 if operand.format == "nvfp4" else 1),
                        (scales, wanted[1], operand.block)):
                    if found is None:
                        continue
                    if source == "weight":
                        given = given[first:last]
                    elif not is_transposed:
                        given = given[sum(sizes[:first]):sum(sizes[:last])]
                    else:
                        start, end = (sum(padded[:number]) // unit for number in (first, last))
                        given, found = given[:, start:end], found[:, :end - start]
                    self.assertTrue(torch.equal(found, given), (name, rank))


class GatedMlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gate_proj, self.up_proj = (torch.nn.Linear(64, 96, bias=False) for _ in range(2))
        self.down_proj, self.act_fn = torch.nn.Linear(96, 64, bias=False), torch.nn.SiLU()

    def forward(self, x):
        return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))


class OneProcessTest(unittest.TestCase):
    """In one process, which takes itself for the first of four."""

    @classmethod
    def setUpClass(cls):
        torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=4)
        cls.mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("data", "tensor"))

    @classmethod
    def tearDownClass(cls):
        torch.distributed.destroy_process_group()

    def place(self, shape, place):
        return DTensor.from_local(torch.zeros(shape).bfloat16(), self.mesh["tensor"], [place])

    def test_shards(self):
        """Those that cut blocks, and tensors that are no DTensors beside one."""
        whole, x = Replicate(), (64, 64)
        for given, weight, form, message in (
                ((x, whole), ((48, 64), Shard(0)), "mxfp8",
                 "2 shards of the weight's rows that cut no block of 32, .* 64, but got 96"),
                ((x, whole), ((24, 64), Shard(0)), "nvfp4", "a multiple of 32, but got 48"),
                (((64, 48), Shard(1)), ((64, 48), Shard(1)), "mxfp8",
                 "shards of the weight's columns that cut no block of 32, .* 64, but got 96"),
                (((40, 64), Shard(0)), ((64, 64), whole), "mxfp8",
                 "shards of rows of x that cut no block of 32, so a multiple of 64, but got 80"),
                ((x, whole), ((64, 64), Partial()), "mxfp8", "sharded or whole, but got P")):
            with self.subTest(message):
                weight = self.place(*weight).requires_grad_()
                with self.assertRaisesRegex(blockscale.ArgumentError, message):
                    train_linear(self.place(*given), weight, form=form)
        with self.assertRaisesRegex(blockscale.ArgumentError, "got the weight as a torch.Tensor"):
            train_linear(self.place(x, whole), torch.zeros(64, 64).bfloat16(), form="mxfp8")

    def test_optimizers_of_shards(self):
        """Steps of all kinds, and the norm of gradients, are those of plain weights."""
        kinds = [(torch.optim.SGD, {kind: value})
                 for kind in ("foreach", "fused") for value in (False, True)]
        kinds += [(torch.optim.AdamW, options) for _, options in kinds]
        for make, options in kinds:
            with self.subTest(make.__name__, **options):
                plain, shard = (torch.nn.Parameter(torch.arange(32 * 64.).view(32, 64))
                                for _ in range(2))
                shard = torch.nn.Parameter(ShardedWeight(shard.data, "nvfp4"))
                for weight in (plain, shard):
                    weight.grad = torch.full_like(getattr(weight.data, "weight", weight.data), 2.0)
                    torch.nn.utils.clip_grad_norm_([weight], 1.0, foreach=True)
                    optimizer = make([weight], lr=0.5, **options)
                    optimizer.step()
                self.assertTrue(torch.equal(shard.data.weight, plain.data))
                self.assertFalse(torch.equal(plain.data, torch.arange(32 * 64.).view(32, 64)))

    def test_rows_of_a_frozen_weight(self):
        """They have no blocks along rows."""
        x = self.place((40, 64), Shard(0)).requires_grad_()
        y = train_linear(x, self.place((64, 64), Replicate()), form="mxfp8")
        self.assertEqual(tuple(y.shape), (80, 64))

    def test_groups(self):
        for group, message in ((self.mesh, "a mesh of one dimension, but got one of 2"),
                               ("world", r"or \(mesh, dimension\), but got 'world'"),
                               ((self.mesh, 2), r"or \(mesh, dimension\), but got \(DeviceMesh")):
            with self.assertRaisesRegex(blockscale.ArgumentError, message):
                prepare_training_(torch.nn.Sequential(torch.nn.Linear(64, 64)), "mxfp8",
                                  amax_group=group)
            with self.assertRaisesRegex(blockscale.ArgumentError, f"group to be .*{message}"):
                reduce_over_ranks(group)

    def test_streams(self):
        """The collective of a call is on the call's stream, also on the default one."""
        for number, name in ((0, "default_stream"), (7, "ExternalStream")):
            used = []
            with contextlib.ExitStack() as stack:
                for each in ("default_stream", "ExternalStream"):
                    stack.enter_context(unittest.mock.patch.object(
                        torch.cuda, each, lambda *args, each=each: (each, *args)))
                stack.enter_context(unittest.mock.patch.object(
                    torch.cuda, "stream", lambda stream: used.append(stream)
                    or contextlib.nullcontext()))
                stack.enter_context(unittest.mock.patch.object(
                    torch, "as_tensor", lambda array, device: torch.zeros(1, dtype=torch.int32)))
                reduce_over_ranks(self.mesh.get_group("data"))(blockscale.Reduction(
                    address=0, count=1, device=0, kind="max", stream=number))
            self.assertEqual([each[0] for each in used], [name])

    def test_places_of_two_dimensions(self):
        """Rows are split by the first dimension of a mesh first, then by the second one."""
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("data", "tensor"))
        seen = []
        with unittest.mock.patch("blockscale.torch._ranks._get_place",
                                 lambda *args: seen.append(args) or (0, 1)):
            x = DTensor.from_local(torch.zeros(32, 64).bfloat16(), mesh, [Shard(0), Replicate()])
            weight = DTensor.from_local(torch.zeros(32, 64).bfloat16(), mesh,
                                        [Replicate(), Shard(0)])
            train_linear(x, weight, form="mxfp8")
        # Rows, columns, which of the rows, which of the columns, and how many of these there are.
        self.assertEqual(seen, [(32, 64, 0, 0, 1), (32, 64, 0, 0, 1), (32, 32, 0, 0, 2)])

    def test_graphs(self):
        """One graph for any number of rows, with amaxes and places of ranks."""
        model = torch.nn.Sequential(torch.nn.Linear(64, 96)).bfloat16()
        prepare_training_(model, "nvfp4", leave_last_projection=False,
                          amax_group=(self.mesh, 1))
        compiled = torch.compile(model, backend="aot_eager", fullgraph=True, dynamic=True)
        for rows in (40, 64, 77):
            results = []
            for each in (compiled, model):
                torch.manual_seed(1)
                x = torch.randn(rows, 64).bfloat16().requires_grad_()
                with torch._dynamo.config.patch(error_on_recompile=rows != 40):
                    y = each(x)
                y.float().square().sum().backward()
                results.append((y, x.grad))
            for one, other in zip(*results):
                self.assertTrue(torch.equal(one, other))

    def test_gated_mlps(self):
        """Layers of which ranks have parts are called one after the other."""
        for options, is_joined in (({}, True), ({"amax_group": (self.mesh, 0)}, False),
                                   ({"gather_codes": True}, False)):
            model = torch.nn.Sequential(GatedMlp()).bfloat16()
            prepare_training_(model, "nvfp4", leave_last_projection=False, **options)
            self.assertEqual(isinstance(model[0], TrainedGatedMlp), is_joined)

    def test_gathered_codes(self):
        for rows, form, message in (
                (48, "nvfp4", "4 shards of the weight's rows that cut no block of 16x16, .*got 48"),
                (64, "mxfp8_32x32", "a multiple of 128, but got 64")):
            weight = ShardedWeight(torch.zeros(rows // 4, 64), get_training_form(form).text)
            group = self.mesh._flatten()
            with self.assertRaisesRegex(blockscale.ArgumentError, message):
                weight.fsdp_pre_all_gather(group, torch.Size((rows, 64)), None, None, None)
        model = torch.nn.Sequential(torch.nn.Linear(64, 64))
        with self.assertLogs("blockscale", "INFO") as logs:
            prepare_training_(model, "mxfp8", leave_last_projection=False, gather_codes=True)
        self.assertIn("to be gathered: expected a weight with one set", logs.output[0])
        self.assertIs(type(model[0].weight), torch.nn.Parameter)
        tied = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Linear(64, 64))
        tied[1].weight = tied[0].weight
        with self.assertLogs("blockscale", "INFO") as logs:
            prepare_training_(tied, "nvfp4", leave_last_projection=False, gather_codes=True)
        self.assertIn("expected a weight of one layer alone, but got one of 2", logs.output[0])
        self.assertIs(tied[0].weight, tied[1].weight)
        sharded = torch.nn.Sequential(torch.nn.Linear(64, 64))
        parallelize_module(sharded, self.mesh["tensor"], {"0": ColwiseParallel()})
        with self.assertRaisesRegex(blockscale.ArgumentError, "not sharded yet, but got a DTensor"):
            prepare_training_(sharded, "nvfp4", leave_last_projection=False, gather_codes=True)
        self.assertIs(type(sharded[0]), torch.nn.Linear)

    def test_codes_of_a_step(self):
        """A backward pass sends the codes of its forward pass, each forward pass its own."""
        weight = ShardedWeight(torch.randn(32, 64), get_training_form("mxfp8_32x32").text)
        one = SimpleNamespace(size=lambda: 1)
        made = []

        def gather():
            made.append(weight.fsdp_pre_all_gather(one, weight.shape, None, None, None)[0][0])

        def gather_in_backward(gradient):
            gather()

        def run_backward():
            x = torch.zeros(1, requires_grad=True)
            x.register_hook(gather_in_backward)
            x.sum().backward()
        for each in (gather, run_backward, gather, gather, run_backward, run_backward):
            each()
        self.assertIs(made[0], made[1])
        self.assertIs(made[3], made[4])
        self.assertEqual(len(set(map(id, made))), 4)
        with torch.no_grad():
            weight.mul_(3)
        gather()
        run_backward()
        self.assertFalse(torch.equal(made[0].view(torch.uint8), made[-1].view(torch.uint8)))

    def test_arguments_of_ops(self):
        form = get_training_form("nvfp4").text
        x, weight = torch.zeros(32, 64).bfloat16(), torch.zeros(64, 64).bfloat16()
        amaxes = torch.zeros(4, dtype=torch.int32)
        rng = torch.zeros(2, 2, dtype=torch.int64)
        ends = torch.tensor([32], dtype=torch.int32)
        for call, message in (
                (lambda: OPS.train_linear(x, weight, None, rng, None, amaxes[:3], form=form),
                 r"amaxes of shape \[4\], but got \[3\]"),
                (lambda: OPS.train_linear(x, weight[None], None, rng, ends, amaxes, form=form),
                 "no amaxes with offsets, but got both"),
                (lambda: OPS.train_linear(x, weight, None, rng[:, :1], form=form),
                 r"rng of shape \[2, 2\]"),
                (lambda: OPS.train_linear_amaxes(x, form=form, names=["forward_weight"]),
                 "names of dynamic global scales, of forward_input"),
                (lambda: OPS.train_linear_from_codes(
                    x, torch.zeros(64, 32, dtype=torch.uint8),
                    torch.zeros(64, 4, dtype=torch.uint8), rng=rng, form=form, out_features=64,
                    has_wgrad=True), "global_scale exactly with a form whose weight has one")):
            with self.assertRaisesRegex(blockscale.ArgumentError,
                                        message):
                call()


if __name__ == "__main__":
    unittest.main()
