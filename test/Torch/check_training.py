# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gated MLPs, projections of attention and layers of experts in training, at random: what each of
their layers computes, in both passes, beside products in f64 of the numpy reference's codes.

check_training.py [NUMBER] [--first NUMBER] computes so many cases, 300 without a number. The last
line is `N passed, N failed`: cases.
"""

import argparse
import dataclasses
import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

import blockscale.torch  # noqa: F401
from blockscale import get_training_form
from blockscale._training import read_form
from blockscale.torch import TrainedLinear, train_grouped_linear

sys.path.append(str(Path(__file__).resolve().parent))

from test_grouped_training import multiply, refer_all

COUNT = 300
NAMES = ("mxfp8", "mxfp8_32x32", "nvfp4", "nvfp4_torchao")
OPS = torch.ops.blockscale
#: Half of the last place of a number, relative to it.
HALF_PLACES = {torch.float32: 2.0 ** -24, torch.bfloat16: 2.0 ** -8}


@dataclasses.dataclass
class Call:
    """A layer's arguments and results in the forward pass, then in the backward pass."""

    x: torch.Tensor
    weight: torch.Tensor
    bias: torch.Tensor | None
    rng: torch.Tensor | None
    offsets: torch.Tensor | None
    form: object
    y: torch.Tensor
    codes: list
    gradient: torch.Tensor | None = None
    of_x: torch.Tensor | None = None
    of_weight: torch.Tensor | None = None


class Recorder(TorchDispatchMode):
    """Notes the calls of layers in training."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        if function is OPS.train_linear.default:
            x, weight, bias, rng, offsets = [*args, *[None] * (5 - len(args))]
            self.calls.append(Call(x.detach(), weight.detach(), bias, rng, offsets,
                                   read_form(kwargs["form"]), made[0].detach(), made[1:]))
        elif function is OPS.train_linear_backward.default:
            # The codes that the backward pass reads tell whose it is.
            place = args[4].data_ptr()
            call, = (each for each in self.calls if each.codes[3].data_ptr() == place)
            call.gradient, (call.of_x, call.of_weight) = args[0], made
        return made


class GatedMlp(nn.Module):
    def __init__(self, make, hidden, inner, bias):
        super().__init__()
        self.gate, self.up = (make(hidden, inner, bias) for _ in range(2))
        self.down = make(inner, hidden, bias)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Attention(nn.Module):
    """Queries of several heads for each one of keys and values."""

    def __init__(self, make, hidden, heads, of_keys, size, bias):
        super().__init__()
        self.heads, self.of_keys, self.size = heads, of_keys, size
        self.q = make(hidden, heads * size, bias)
        self.k, self.v = (make(hidden, of_keys * size, bias) for _ in range(2))
        self.o = make(heads * size, hidden, False)

    def forward(self, x):
        def split(y, heads):
            return y.view(*x.shape[:-1], heads, self.size).transpose(-2, -3)
        y = F.scaled_dot_product_attention(
            split(self.q(x), self.heads), split(self.k(x), self.of_keys),
            split(self.v(x), self.of_keys), is_causal=True, enable_gqa=True)
        return self.o(y.transpose(-2, -3).flatten(-2))


class Experts(nn.Module):
    """Stacks of gates with up projections and of down projections, for ragged groups of rows."""

    def __init__(self, form, ends, hidden, inner, bias, dtype):
        super().__init__()
        self.form, self.ends = form, torch.tensor(ends, dtype=torch.int32)
        groups = len(ends)

        def make(*shape):
            return nn.Parameter((torch.randn(groups, *shape) / 4).to(dtype))
        self.gate_up, self.down = make(2 * inner, hidden), make(hidden, inner)
        self.biases = nn.ParameterList([make(2 * inner), make(hidden)]) if bias else [None, None]

    def forward(self, x):
        gate, up = train_grouped_linear(x, self.gate_up, self.ends, self.biases[0],
                                        form=self.form).chunk(2, -1)
        return train_grouped_linear(F.silu(gate) * up, self.down, self.ends, self.biases[1],
                                    form=self.form)


def make_case(number):
    """A model, x and what stands for it."""
    random = np.random.default_rng(number)
    torch.manual_seed(number)
    kind, name = number % 3, NAMES[number // 3 % len(NAMES)]
    form, has_bias = get_training_form(name), bool(random.integers(2))
    dtype = (torch.bfloat16, torch.float32)[random.integers(2)]
    # x of f32 is not transformed.
    of_x = torch.float32 if name.startswith("mxfp8") and random.integers(3) == 0 else torch.bfloat16
    hidden, inner = (32 * int(random.integers(1, 4)) for _ in range(2))

    def make(k, n, bias):
        layer = TrainedLinear(k, n, bias=bias, dtype=dtype)
        layer.form = form
        return layer
    if kind == 0:
        model = GatedMlp(make, hidden, inner, has_bias)
        shape = (int(random.integers(1, 100)), hidden)
    elif kind == 1:
        of_keys = int(random.integers(1, 3))
        heads = of_keys * int(random.integers(1, 3))
        model = Attention(make, hidden, heads, of_keys, 32, has_bias)
        shape = (int(random.integers(1, 4)), int(random.integers(1, 40)), hidden)
    else:
        rows = int(random.integers(1, 130))
        ends = np.sort(random.integers(0, rows + 1, random.integers(1, 6))).tolist()
        model = Experts(form, ends, hidden, inner, has_bias, dtype)
        shape = (rows, hidden)
    x = torch.randn(shape) * torch.exp2(torch.randint(-3, 4, (*shape[:-1], 1)).float())
    what = f"case {number}: {type(model).__name__} {name} x {of_x} {list(shape)} weights {dtype}"
    return model, x.to(of_x), what + (", bias" if has_bias else "")


def find_excess(found, product, bias=None):
    """How much of its bound the error of a result is: that of the product, and the roundings of
    the sum with a bias and to the result."""
    wanted = product.value if bias is None else product.value + bias
    bound = product.bound() * 1.001
    bound = bound + HALF_PLACES[found.dtype] * (np.abs(wanted) + bound)
    if bias is not None:
        bound += HALF_PLACES[torch.float32] * np.abs(wanted)
    error = np.abs(found.double().numpy() - wanted)
    assert np.isfinite(error).all()
    return float((error / np.maximum(bound, 1e-38)).max(initial=0))


def spread(bias, ends, rows):
    """That of each row's group, and none behind the last one."""
    made = np.zeros((rows, bias.shape[-1]))
    for group, (i, j) in enumerate(zip([0, *ends[:-1]], ends)):
        made[i:j] = bias[group]
    return made


def check_call(call):
    """How much of their bounds the errors of y and of both gradients are. A layer is one group of
    all rows."""
    rows = len(call.x)
    ends = [rows] if call.offsets is None else call.offsets.tolist()
    weight = call.weight if call.weight.dim() == 3 else call.weight[None]
    made = refer_all(call.form, call.x, weight, call.gradient, torch.tensor(ends), call.rng)
    products = {name: multiply(made, call.form, name, ends)
                for name in ("forward", "dgrad", "wgrad")}
    bias = call.bias
    if bias is not None:
        bias = spread(bias.detach().double().numpy().reshape(len(ends), -1), ends, rows)
    return {"y": find_excess(call.y, products["forward"], bias),
            "gradient of x": find_excess(call.of_x, products["dgrad"]),
            "gradient of the weight": find_excess(call.of_weight.view(weight.shape),
                                                  products["wgrad"])}


def find_problem(number):
    """What is wrong with a case, or nothing."""
    model, x, what = make_case(number)
    x.requires_grad_()
    with Recorder() as recorder:
        y = model(x)
        y.backward(torch.randn(y.shape).to(y.dtype) / 16)
    layers = [each for each in model.modules() if isinstance(each, TrainedLinear)]
    if len(recorder.calls) != (len(layers) or 2):
        return f"{what}: {len(recorder.calls)} calls"
    for place, call in enumerate(recorder.calls):
        for name, excess in check_call(call).items():
            if excess > 1:
                return f"{what}: {name} of call {place} errs by {excess} of the bound"
    # Parameters get what the op computed, and x the sum of what its readers give.
    weights = [each.weight for each in layers] or [model.gate_up, model.down]
    for weight, call in zip(weights, recorder.calls):
        if not torch.equal(weight.grad, call.of_weight):
            return f"{what}: a gradient of a weight is another one"
    for call in recorder.calls:
        if call.bias is not None and not check_bias(call):
            return f"{what}: the gradient of a bias"
    readers = [each for each in recorder.calls if torch.equal(each.x, x.detach().flatten(0, -2))]
    total = sum(each.of_x.double() for each in readers)
    size = sum(each.of_x.double().abs() for each in readers)
    error = (x.grad.flatten(0, -2).double() - total).abs()
    if bool((error > 4 * HALF_PLACES[x.dtype] * size).any()):
        return f"{what}: the gradient of x is not the sum of {len(readers)}"
    return ""


def check_bias(call):
    """Its gradient is the sum of the gradient's rows, in f32."""
    ends = [len(call.x)] if call.offsets is None else call.offsets.tolist()
    gradient = call.gradient.double()
    grad = call.bias.grad.double().reshape(len(ends), -1)
    for group, (i, j) in enumerate(zip([0, *ends[:-1]], ends)):
        part = gradient[i:j]
        bound = 1e-6 * part.abs().sum(0) + HALF_PLACES[call.bias.dtype] * part.sum(0).abs()
        if bool(((grad[group] - part.sum(0)).abs() > bound * 1.001).any()):
            return False
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=COUNT)
    parser.add_argument("--first", type=int, default=0)
    arguments = parser.parse_args()
    failed = 0
    for number in range(arguments.first, arguments.first + arguments.count):
        problem = find_problem(number)
        if problem:
            failed += 1
            print(problem)
    print(f"{arguments.count - failed} passed, {failed} failed")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
