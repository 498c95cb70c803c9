# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers in training on several ranks, and what their products multiply. Each function runs on one
rank of a group, and gives what the one process of all the tensors is compared with.

Ranks are processes of the CPU, or GPUs where BLOCKSCALE_RANKS says how many."""

import os
import re
import sys
import tempfile
from pathlib import Path

import torch
import torch.distributed
import torch.distributed._functional_collectives as collectives
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

import blockscale
from blockscale._native import choose_chip
from blockscale._training import get_training_form, read_form
from blockscale.torch import (
    prepare_training_,
    reduce_over_ranks,
    train_grouped_linear,
    train_linear,
)

sys.path.append(str(Path(__file__).resolve().parent))

from training_operands import SOURCES, pad, quantize_operand

OPS = torch.ops.blockscale
#: A layer in training forward, of a weight or of its codes, and backward.
CALLS = (OPS.train_linear.default, OPS.train_linear_from_codes.default,
         OPS.train_linear_backward.default)
GPUS = int(os.environ.get("BLOCKSCALE_RANKS", "0"))
DEVICE, WORLD = ("cuda", GPUS) if GPUS else ("cpu", 2)
ROWS, COLUMNS, FEATURES = 128, 256, 384
EXPERTS, TEXTS = 4, 4


class Recorder(TorchDispatchMode):
    """The arguments of ops of layers in training."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function in CALLS:
            self.calls.append((function, [each.clone() if isinstance(each, torch.Tensor) else each
                                          for each in args], kwargs))
        return function(*args, **(kwargs or {}))


def quantize_call(function, args, options):
    """The operands that a call's products multiply, with all that the call gives them."""
    form = read_form(options["form"])
    names = [each.name for each in function._schema.arguments]
    given = dict(zip(names, args)) | options
    offsets, made = given.get("offsets"), {}
    tensors = {source: given[source] for source in ("x", "weight", "gradient") if source in given}

    def take(name, prefix):
        codes = [given[f"{prefix}{what}"] for what in ("data", "scales")]
        if GPUS:  # Scales are in tiles, and parts have tiles of their own.
            codes[1] = None
        scale = given.get(f"{prefix}global", given.get("global_scale"))
        made[name] = [*codes, scale if scale is not None and scale.numel() else None]
    if "data" in given:
        take("forward_weight", "")
    if "gradient" in given:
        take("dgrad_weight", "weight_")
        take("wgrad_input", "x_")
    rng, amaxes = given.get("rng"), given.get("amaxes")
    names = [name for name, (source, _) in SOURCES.items() if source in tensors]
    dynamic = [name for name in form.dynamic if name in names]
    for name in names:
        source, is_transposed = SOURCES[name]
        x = tensors[source] if offsets is not None or source == "weight" else pad(tensors[source])
        bits = rng[form.stochastic.index(name)] if name in form.stochastic else None
        amax = None
        if amaxes is not None and name in dynamic:
            amax = amaxes.view(torch.float32)[dynamic.index(name)]
        made[name] = quantize_operand(x, getattr(form, name), is_transposed, bits,
                                      None if source == "weight" else offsets, amax)
    return made


def draw(seed=0):
    """x, a weight, a bias and a gradient whose parts have amaxes of their own."""
    random = torch.Generator().manual_seed(seed)
    made = []
    for shape in ((ROWS, COLUMNS), (FEATURES, COLUMNS), (ROWS, FEATURES)):
        each = torch.randn(shape, generator=random)
        each *= torch.exp2(torch.randint(-4, 5, (shape[0], 1), generator=random).float())
        each *= torch.exp2(torch.randint(-4, 5, (1, shape[1]), generator=random).float())
        made.append(each.bfloat16())
    made.append(torch.randn(FEATURES, generator=random).bfloat16())
    x, weight, gradient, bias = (each.to(DEVICE) for each in made)
    return x, weight, bias, gradient


def record(run, gradient):
    """Codes of the operands of one layer in both passes, and its result. Each rank draws the same
    random bits."""
    torch.manual_seed(5)
    with Recorder() as recorder:
        y = run()
        y.backward(gradient)
    made = {}
    for call in recorder.calls:
        made |= quantize_call(*call)
    return made, y.detach()


def on_cpu(made):
    return pytree.tree_map_only(torch.Tensor, torch.Tensor.cpu, made)


def run_one(name):
    """The layer in one process."""
    x, weight, bias, gradient = draw()
    form = get_training_form(name)
    tensors = [each.requires_grad_() for each in (x, weight, bias)]
    made, y = record(lambda: train_linear(*tensors, form=form), gradient)
    return on_cpu((made, y, *(each.grad for each in tensors)))


#: How x, the weight, the bias and the gradient of y lie in a layer of DTensors.
PLACES = {"column": (Replicate(), Shard(0), Shard(0), Shard(1)),
          "row": (Shard(1), Shard(1), Replicate(), Replicate()),
          "rows": (Shard(0), Replicate(), Replicate(), Shard(0)),
          # All ranks have a part of x, and it is gathered for the weight's rows.
          "gathered": (Shard(0), Shard(0), Shard(0), Shard(1))}


def run_shards(mesh, name, kind):
    """The layer of DTensors."""
    x, weight, bias, gradient = (distribute_tensor(each, mesh, [place])
                                 for each, place in zip(draw(), PLACES[kind]))
    form = get_training_form(name)
    tensors = [each.requires_grad_() for each in (x, weight, bias)]
    made, y = record(lambda: train_linear(*tensors, form=form), gradient)
    return made, y.full_tensor(), *(each.grad.full_tensor() for each in tensors)


def run_rows(mesh, name):
    """The layer of a rank's own rows, of tensors without places."""
    (x, gradient), (weight, bias) = take_rows(mesh)
    form = get_training_form(name)
    tensors = [each.requires_grad_() for each in (x, weight, bias)]
    made, y = record(lambda: train_linear(*tensors, form=form, amax_group=mesh), gradient)
    return made, y, *(each.grad for each in tensors)


def take_rows(mesh):
    """This rank's rows of x and the gradient, and the parameters."""
    x, weight, bias, gradient = draw()
    rank, count = mesh.get_local_rank(), mesh.size()
    return [each.chunk(count)[rank].clone() for each in (x, gradient)], [weight, bias]


@blockscale.jit
def quantize_over_ranks(x: blockscale.Spec((None, COLUMNS), "bf16")):
    amax = blockscale.amax_over_ranks(blockscale.amax(x))
    return *blockscale.quantize(x, recipe="te", global_amax=amax), amax


def compile_over_ranks(rank=0):
    module = quantize_over_ranks.trace()
    if not GPUS:
        return blockscale.compile(module)
    chip = choose_chip(*torch.cuda.get_device_capability(rank))
    return blockscale.compile(module, target=chip, on="cuda", device=rank)


def run_compiled(mesh):
    """A compiled function of a rank's own rows, on a GPU also as a CUDA graph, for x and twice x.
    NaN is the largest."""
    (x, _), _ = take_rows(mesh)
    rank, over_ranks = mesh.get_local_rank(), reduce_over_ranks(mesh)
    compiled = compile_over_ranks(rank)
    made = [compiled(x, over_ranks=over_ranks), compiled(2 * x, over_ranks=over_ranks)]
    if GPUS:
        graph, given = torch.cuda.CUDAGraph(), x.clone()
        with torch.cuda.graph(graph):
            captured = compiled(given, over_ranks=over_ranks)
        for number, each in enumerate((x, 2 * x)):
            given.copy_(each)
            graph.replay()
            for one, other in zip(captured, made[number]):
                assert torch.equal(*(part.reshape(-1).view(torch.uint8) for part in (one, other)))
    if rank == 0:
        x[0, 0] = float("nan")
    return *made, compiled(x, over_ranks=over_ranks)[2]


def run_one_compiled():
    x, *_ = draw()
    compiled = compile_over_ranks()
    return on_cpu([compiled(each, over_ranks=blockscale.one_rank) for each in (x, 2 * x)])


def run_fully_sharded(mesh, name, gathers_codes):
    """A layer of fully_shard(), whose parameters each rank has a part of."""
    (x, gradient), parameters = take_rows(mesh)
    layer = nn.Linear(COLUMNS, FEATURES).bfloat16().to(DEVICE)
    with torch.no_grad():
        for each, value in zip(layer.parameters(), parameters):
            each.copy_(value)
    model = nn.Sequential(layer)
    prepare_training_(model, name, leave_last_projection=False, amax_group=mesh,
                      gather_codes=gathers_codes)
    fully_shard(model, mesh=mesh)
    x.requires_grad_()
    made, y = record(lambda: model(x), gradient)
    return made, y, x.grad, *(each.grad.full_tensor() for each in model.parameters())


class Block(nn.Module):
    """A norm and a pair of layers, as transformers have them."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(COLUMNS)
        self.up = nn.Linear(COLUMNS, FEATURES)
        self.down = nn.Linear(FEATURES, COLUMNS)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


def make_block(name, **options):
    torch.manual_seed(0)
    block = Block().bfloat16().to(DEVICE)
    prepare_training_(block, name, leave_last_projection=False, **options)
    return block


def train(model, x, steps=3, seed=1, get_rows=lambda y: y):
    """The losses of some steps, and their last gradients."""
    torch.manual_seed(seed)
    # With ops on lists, which are the default of GPUs.
    optimizer = torch.optim.SGD(model.parameters(), 0.05, foreach=True)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        y = model(x)
        loss = get_rows(y).float().square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses


def draw_batch():
    random = torch.Generator().manual_seed(4)
    return torch.randn(TEXTS, 64, COLUMNS, generator=random).bfloat16().to(DEVICE)


def run_parallel(mesh, name, is_compiled):
    """Losses of a sequence-parallel block: each rank has a part of the sequence of each text."""
    block = parallelize_module(make_block(name), mesh, {
        "norm": SequenceParallel(),
        "up": ColwiseParallel(input_layouts=Shard(1)),
        "down": RowwiseParallel(output_layouts=Shard(1), use_local_output=False)})
    if is_compiled:
        block = torch.compile(block, backend="aot_eager", fullgraph=True)
    return train(block, distribute_tensor(draw_batch(), mesh, [Shard(1)]),
                 get_rows=lambda y: y.full_tensor())


def run_data_parallel(mesh, name, kind):
    """Losses of the block, where each rank has a text of its own: by fully_shard(), of weights or
    of codes, or by DistributedDataParallel."""
    block = make_block(name, amax_group=mesh, gather_codes=kind == "codes")
    if kind == "ddp":
        block = DistributedDataParallel(block)
    else:
        for each in (block.up, block.down, block):
            fully_shard(each, mesh=mesh)
    losses = train(block, draw_batch().chunk(mesh.size())[mesh.get_local_rank()])
    return [collectives.all_reduce(each, "sum", mesh) / mesh.size()
            for each in losses]


def run_two_dimensions(mesh, name):
    """The same by fully_shard() of codes along one dimension of a mesh, and tensor-parallel layers
    along another one, which has one rank."""
    both = init_device_mesh(DEVICE, (mesh.size(), 1), mesh_dim_names=("data", "tensor"))
    block = make_block(name, amax_group=both["data"], gather_codes=True)
    parallelize_module(block, both["tensor"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
    for each in (block.up, block.down, block):
        fully_shard(each, mesh=both["data"])
    losses = train(block, draw_batch().chunk(mesh.size())[mesh.get_local_rank()])
    return [collectives.all_reduce(each, "sum", mesh) / mesh.size() for each in losses]


def draw_experts():
    """Rows, the expert of each, and weights of experts; one expert has no rows."""
    x, *_, gradient = draw(seed=1)
    random = torch.Generator().manual_seed(2)
    weights = torch.randn(EXPERTS, FEATURES, COLUMNS, generator=random).bfloat16()
    experts = torch.tensor([0, 1, 3])[torch.randint(3, (ROWS,), generator=random)]
    return x, experts.to(DEVICE), weights.to(DEVICE), gradient


def run_one_expert_layer(name):
    """Experts in one process."""
    x, experts, weights, gradient = draw_experts()
    x, weights = x.requires_grad_(), weights.requires_grad_()
    order = experts.argsort(stable=True)
    ends = torch.bincount(experts, minlength=EXPERTS).cumsum(0).int()
    form = get_training_form(name)

    def run():
        y = train_grouped_linear(x[order], weights, ends, form=form)
        return torch.empty_like(y).index_copy(0, order, y)
    made, y = record(run, gradient)
    return on_cpu((made, ends, y, x.grad, weights.grad))


def read_example(mesh):
    """The function of docs/Training.md that sends rows to the ranks of their experts."""
    text = (Path(__file__).resolve().parents[2] / "docs/Training.md").read_text(encoding="utf-8")
    block = next(each for each in re.findall(r"(?ms)^```python\n(.*?)^```$", text)
                 if "def apply_experts" in each)
    known = {"torch": torch, "mesh": mesh}
    exec(compile(block.partition("\nweights = ")[0], "Training.md", "exec"), known)
    return known["apply_experts"]


def run_experts(mesh, name):
    """The same, where each rank has a part of the rows and some of the experts."""
    x, experts, weights, gradient = draw_experts()
    rank, world = mesh.get_local_rank(), mesh.size()
    x, experts, gradient = (each.chunk(world)[rank].clone() for each in (x, experts, gradient))
    weights = weights.chunk(world)[rank].clone().requires_grad_()
    x.requires_grad_()
    form, apply_experts = get_training_form(name), read_example(mesh)
    made, y = record(lambda: apply_experts(x, experts, weights, form), gradient)
    return made, y, x.grad, weights.grad


def work(rank, world, folder, jobs):
    """The process of a rank: runs functions of this file, and stores what they give."""
    torch.set_num_threads(1)
    if GPUS:
        torch.cuda.set_device(rank)
    torch.distributed.init_process_group("nccl" if GPUS else "gloo", rank=rank, world_size=world,
                                         init_method=f"file://{folder}/store")
    mesh = init_device_mesh(DEVICE, (world,))
    made = [globals()[function](mesh, *arguments) for function, *arguments in jobs]
    torch.save(on_cpu(made), f"{folder}/{rank}.pt")
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def run_ranks(jobs):
    """What functions give on each rank: for each of them a list."""
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(work, (WORLD, folder, jobs), WORLD)
        made = [torch.load(f"{folder}/{rank}.pt", weights_only=False) for rank in range(WORLD)]
    return list(zip(*made))
