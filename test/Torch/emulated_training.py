# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps of training by the modules that a GPU would compute with, each of them on the CPU and as
kernels of SM100 in the emulator under both schedules: linear layers, gated MLPs and stacks of
experts with groups of rows, in each form; and linear layers whose weight is gathered as codes, with
amaxes over ranks, in each form with square blocks.

Operands have few bits and come from fixed seeds, so that no result depends on the order in which a
product sums: all are the CPU's bytes.

emulated_training.py computes all cases. The last line is `N passed, N failed`.
"""

import contextlib
import json
import sys
import unittest.mock

import torch
from torch import distributed

import blockscale
from blockscale import get_training_form
from blockscale.torch import (
    _kernels,
    _weight_codes,
    draw_rng,
    train_gated_mlp,
    train_grouped_linear,
    train_linear,
)
from blockscale.torch._forms import TILES
from blockscale.torch._gated_kernels import GatedMlp
from blockscale.torch._training_kernels import Layer, SquareQuantizer

CHIP = "sm_100a"
FORMS = ("mxfp8", "mxfp8_32x32", "nvfp4", "nvfp4_torchao")
#: The arguments of calls under each schedule.
SCHEDULES = ({"adversarial": False}, {"adversarial": True, "seed": 1})


class Emulator:
    """While it is entered, layers in training compute on the CPU by the modules of a GPU.

    Attributes:
      launches: how many each module has, in the order of the calls.
      problems: which results are not the CPU's.
    """

    def __init__(self):
        self.launches, self.problems = [], []
        self._patches = [
            unittest.mock.patch.object(Layer, "of", self._make_of(Layer)),
            unittest.mock.patch.object(GatedMlp, "of", self._make_of(GatedMlp)),
            unittest.mock.patch.object(_weight_codes, "find_layout", lambda device: TILES),
            unittest.mock.patch.object(_kernels.Kernel, "__call__", lambda kernel, tensors, rows=(
                None): self._run(kernel, tensors, rows))]

    def __enter__(self):
        for each in self._patches:
            each.start()
        return self

    def __exit__(self, *_):
        for each in self._patches:
            each.stop()

    @staticmethod
    def _make_of(owner):
        """What decides a module, for another device than tensors are on."""
        of = owner.of.__func__

        def make(cls, *arguments, **options):
            return of(cls, *(torch.device("cuda", 0) if isinstance(each, torch.device) else each
                             for each in arguments), **options)
        return classmethod(make)

    def _run(self, kernel, tensors, rows):
        bucket = None if rows is None else _kernels.get_bucket(rows)
        module = _kernels.build_for(kernel._make, bucket, CHIP)
        plan = json.loads(_kernels._emit(module, CHIP, _kernels._PLAN))
        self.launches.append(sum("launch" in step for step in plan["functions"][0]["steps"]))
        wanted = _to_tuple(blockscale.compile(module)(*tensors))
        emulated = blockscale.compile(module, target=CHIP, overlap_launches=True)
        for schedule in SCHEDULES:
            found = _to_tuple(emulated(*tensors, **schedule))
            for number, (one, other) in enumerate(zip(found, wanted, strict=True)):
                one, other = (each.reshape(-1).view(torch.uint8) for each in (one, other))
                count = int((one != other).sum())
                if count:
                    self.problems.append(f"{kernel.name}: {count} of {len(other)} bytes of "
                                         f"result {number} differ, {schedule}")
        return [each if each.dtype == dtype else each.view(dtype)
                for each, dtype in zip(wanted, kernel._results, strict=True)]


def _to_tuple(results):
    return results if isinstance(results, tuple) else (results,)


def draw(random, *shape):
    """Small integers, the largest of them in each block of a row, and a power of two for each
    row."""
    x = torch.randint(-4, 5, shape, generator=random).float()
    x[..., ::16] = 6
    x *= torch.exp2(torch.randint(0, 2, (*shape[:-1], 1), generator=random).float())
    return x.bfloat16()


def train_layer(form, random):
    x, weight, gradient = (draw(random, *shape) for shape in ((64, 96), (128, 96), (64, 128)))
    rng = draw_rng(form, generator=random)
    train_linear(x.requires_grad_(), weight.requires_grad_(), form=form, rng=rng).backward(gradient)


def train_mlp(form, random):
    *tensors, gradient = (draw(random, *shape) for shape in (
        (64, 64), (96, 64), (96, 64), (64, 96), (64, 64)))
    rng = torch.stack([draw_rng(form, generator=random) for _ in range(3)]) if (
        form.stochastic) else None
    train_gated_mlp(*(each.requires_grad_() for each in tensors), form=form, rng=rng).backward(
        gradient)


def train_experts(form, random):
    """Groups of no whole blocks, an empty one, and rows behind the last one."""
    x, weight, gradient = (draw(random, *shape) for shape in ((70, 64), (4, 96, 64), (70, 96)))
    ends, rng = torch.tensor([5, 5, 50, 64], dtype=torch.int32), draw_rng(form, generator=random)
    train_grouped_linear(x.requires_grad_(), weight.requires_grad_(), ends, form=form,
                         rng=rng).backward(gradient)


@contextlib.contextmanager
def one_rank():
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    try:
        yield distributed.group.WORLD
    finally:
        distributed.destroy_process_group()


def train_gathered(form, random):
    """As under fully_shard()."""
    x, weight, gradient = (draw(random, *shape) for shape in ((64, 96), (128, 96), (64, 128)))
    operand, amaxes = form.forward_weight, ()
    if operand.scaling != "none":
        amaxes = torch.ops.blockscale.train_linear_amaxes(
            weight, weight, form=form.text, names=["forward_weight"]).view(torch.float32)
    codes = SquareQuantizer(operand, weight.dtype, weight.shape[1]).get()([weight, *amaxes])
    gathered = _weight_codes.WeightCodes(codes, form.text, weight.dtype, weight.shape)
    rng = draw_rng(form, generator=random)
    with one_rank() as ranks:
        train_linear(x.requires_grad_(), gathered.requires_grad_(), form=form, rng=rng,
                     amax_group=ranks).backward(gradient)


KINDS = {"linear": train_layer, "gated": train_mlp, "experts": train_experts,
         "gathered": train_gathered}
CASES = [(kind, form) for kind in KINDS for form in FORMS
         if kind != "gathered" or get_training_form(form).forward_weight.is_square]


def run(kind, form):
    """The launches of both passes, and what is not the CPU's."""
    random = torch.Generator().manual_seed(CASES.index((kind, form)))
    with Emulator() as emulator:
        KINDS[kind](get_training_form(form), random)
    return emulator.launches, emulator.problems


def main():
    failed = 0
    for kind, form in CASES:
        try:
            launches, problems = run(kind, form)
        except Exception as error:
            launches, problems = [], [f"{type(error).__name__}: {error}"]
        print(f"{kind} {form}: {launches} launches", *problems, sep="\n  ", flush=True)
        failed += bool(problems)
    print(f"{len(CASES) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
