#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Model classes of the installed transformers, small and with random weights (model_zoo.py),
quantized and used as people use models.

  check_model_zoo.py [--only GLOB...] [--jobs N] [--no-compile]

Three policies quantize each model. Each layer's result is compared with a product in float64 of
codes that the numpy reference decodes, within the bound of sums and of the roundings to the
result's type. Then a second model of the class takes the state dict, copies are made by deepcopy,
by torch.save and torch.load, weights are tied, the model is called under autocast and through
torch.compile. Every parameter of two or more dimensions has to be listed as quantized or left.
A line for each model and policy; models whose class does not take the small sizes, whose plain
model takes longer than MOST_SECONDS, or that write to their weights when they are called, are
skipped, with the reason. The last line is `N passed, N failed`.
"""

import argparse
import contextlib
import copy
import dataclasses
import fnmatch
import functools
import io
import logging
import multiprocessing
import signal
import sys
import traceback
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import numpy as np
import torch

import blockscale
import blockscale.torch

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "python"), str(ROOT / "test/Torch")]  # Behind the installed package.

import blockscale_reference as reference
import model_zoo as zoo
from blockscale.torch._backend import _compile_eager
from blockscale.torch._modules import QuantizedStack, QuantizedWeight

POLICIES = {
    "weights": {"format": "nvfp4", "weight_only": True},
    "mxfp8": {"format": "mxfp8", "recipe": "rceil"},
    "nvfp4": {"format": "nvfp4", "recipe": "torchao"},
}
#: The share of parameters of linear layers that has to be quantized, over all models.
LEAST_SHARE = 0.95
#: The largest difference of a compiled model, relative to the norm of its results.
MOST_ERROR = 0.05
#: How long a call of a plain model may take.
MOST_SECONDS = 60
#: An f32 sum of K products, relative to the sum of their magnitudes, for each 256 of them.
_SUM = 1e-6
#: The largest relative error of a rounding.
_ROUNDING = {torch.float32: 2.0 ** -24, torch.bfloat16: 2.0 ** -8, torch.float16: 2.0 ** -11}


def decode(data, scales, global_scale, columns, format):
    """Values of row-major codes [.., N, K] in float64, by the reference."""
    codes = data.numpy()
    scales = scales.numpy()
    if format == "mxfp8":
        return reference.dequantize_mx(codes, scales).astype(np.float64)
    values = reference.E2M1.decode(reference.unpack(codes)[..., :columns]).astype(np.float64)
    blocks = np.repeat(reference.E4M3.decode(scales).astype(np.float64), 16, axis=-1)
    factor = np.asarray(1 if global_scale is None else global_scale.numpy(), np.float64)
    return values * blocks[..., :columns] * factor.reshape(factor.shape + (1, 1))


def quantize_rows(x, format):
    """What a layer multiplies in the place of activations [M, K] with a dynamic global scale."""
    rows = np.asarray(x.float())
    if format == "mxfp8":
        return reference.dequantize_mx(*reference.quantize_mx(rows)).astype(np.float64)
    amax = reference.amax(rows)
    scale = reference.global_scale(amax) if amax else np.float32(1)
    codes, blocks = reference.quantize_nvfp4(rows, global_scale=scale)
    values = reference.E2M1.decode(codes).astype(np.float64)
    blocks = np.repeat(reference.E4M3.decode(blocks).astype(np.float64), 16, axis=-1)
    return values * blocks * np.float64(scale)


class LayerCheck:
    """Compares each call of the quantized layers of a model with a product in float64.

    Attributes:
      calls: how many were compared.
      problems: what was wrong.
    """

    def __init__(self, model):
        self.calls, self.problems = 0, []
        self._weights = {}
        self._handles = [
            module.register_forward_hook(lambda *given, name=name: self._check(name, *given))
            for name, module in model.named_modules() if isinstance(module, QuantizedWeight)]

    def remove(self):
        for handle in self._handles:
            handle.remove()

    def _get_weight(self, name, layer):
        if name not in self._weights:
            state = layer.state_dict()
            self._weights[name] = decode(state["data"], state["scales"],
                                         state.get("global_scale"),
                                         layer.in_features, layer.form.weight.format)
        return self._weights[name]

    def _check(self, name, layer, given, result):
        x = given[0].reshape(-1, layer.in_features)
        y = result.reshape(-1, layer.out_features)
        form = layer.form.activation
        values = (np.asarray(x.double()) if form is None else quantize_rows(x, form.format))
        weight = self._get_weight(name, layer)
        if isinstance(layer, QuantizedStack):
            ends = given[1].tolist()
            parts = [(start, end, weight[expert]) for expert, (start, end) in
                     enumerate(zip([0, *ends], ends))]
        else:
            parts = [(0, len(values), weight)]
        for expert, (start, end, matrix) in enumerate(parts):
            if start == end:
                continue
            bias = 0 if layer.bias is None else np.asarray(layer.bias.double())
            if np.ndim(bias) == 2:
                bias = bias[expert]
            rows = values[start:end]
            exact = rows @ matrix.T + bias
            bound = (_SUM * max(1, layer.in_features / 256) * (np.abs(rows) @ np.abs(matrix.T))
                     + 2 * _ROUNDING[y.dtype] * (np.abs(exact) + np.abs(bias)) + 1e-30)
            found = np.asarray(y[start:end].double())
            wrong = ~(np.abs(found - exact) <= bound)
            if wrong.any():
                self.problems.append(f"{name}: {wrong.sum()} of {wrong.size} results differ, the "
                                     f"most by {np.abs(found - exact)[wrong].max():g}")
        self.calls += 1


def is_same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and torch.equal(
        a.contiguous().view(torch.uint8), b.contiguous().view(torch.uint8))


def find_error(result, wanted):
    """The norm of the difference of two tensors, relative to that of the second."""
    scale = wanted.double().norm()
    return (result.double() - wanted.double()).norm() / scale if scale else 0


class Check:
    """All that is done with one model under one policy. `run` gives the problems."""

    def __init__(self, config, model, rule, compiles):
        self._make = functools.partial(zoo.make_model, config, model)
        self._policy = {"version": 1, "leave_last_projection": False, "rules": [rule]}
        self._compiles = compiles
        self.problems = []
        self.summary = None
        self.linear = {}

    def _expect(self, what, holds):
        if not holds:
            self.problems.append(f"expected {what}")

    def _expect_same(self, what, model):
        self._expect(f"{what} to give the same bytes",
                     is_same(zoo.call(model, self._given), self._result))

    def run(self):
        model = self._make()
        matrices = {name: each.numel() for name, each in model.named_parameters()
                    if each.dim() > 1}
        total = sum(each.numel() * each.element_size()
                    for each in (*model.parameters(), *model.buffers()))
        self.linear = find_linear(model)
        self._given = zoo.find_inputs(model)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            self.summary = blockscale.torch.quantize_(model, self._policy)
        self._check_summary(matrices, total, said)
        layers = LayerCheck(model)
        self._result = zoo.call(model, self._given)
        layers.remove()
        self.problems += layers.problems
        self._expect("finite results", bool(torch.isfinite(self._result.float()).all()))
        if self.summary.quantized:
            self._expect("a layer that was quantized to be called", layers.calls > 0)
        for step in (self._load, self._copy, self._save, self._tie, self._autocast, self._compile):
            step(model)
        return self.problems

    def _check_summary(self, matrices, total, said):
        listed = Counter(each.name for each in self.summary.layers)
        names = {name.removesuffix(".weight") for name in matrices}
        missing = sorted(names - {name.removesuffix(".weight") for name in listed})
        self._expect(f"each matrix to be listed, but not so {', '.join(missing[:3])}", not missing)
        self._expect(f"a sum of {total} bytes, but got {self.summary.before}",
                     self.summary.before == total)
        if not self.summary.quantized:
            self._expect("a warning that nothing was quantized", any(
                issubclass(each.category, UserWarning) for each in said))

    def _load(self, model):
        other = self._make()
        with torch.no_grad():
            for parameter in other.parameters():
                parameter.mul_(0.5)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            blockscale.torch.quantize_(other, self._policy)
        other.load_state_dict(model.state_dict())
        self._expect_same("a model that loads the state dict", other)

    def _copy(self, model):
        self._expect_same("a deep copy", copy.deepcopy(model))

    def _save(self, model):
        file = io.BytesIO()
        torch.save(model.state_dict(), file)
        file.seek(0)
        model.load_state_dict(torch.load(file, weights_only=True))
        self._expect_same("a model that was saved and loaded", model)

    def _tie(self, model):
        if hasattr(model, "tie_weights"):
            model.tie_weights()
            self._expect_same("a model whose weights are tied again", model)

    def _autocast(self, model):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            result = zoo.call(model, self._given)
        self._expect("finite results under autocast",
                     bool(torch.isfinite(result.float()).all()))

    def _compile(self, model):
        if not self._compiles:
            return
        result = call_compiled(model, self._given)
        error = find_error(result, self._result)
        if error > MOST_ERROR:
            # Some models compute otherwise where PyTorch writes their ops out, whoever compiles.
            error = find_error(result, call_compiled(model, self._given, backend=write_out))
        if error > MOST_ERROR and self.summary.quantized:
            # Kernels round less often than the ops in whose place they are. A model that makes
            # much of roundings to bf16 shows in f32 whether they compute the same.
            error = self._find_error_in_f32()
        self._expect(f"a compiled model within {MOST_ERROR:.0%} of eager, but got {error:.3f}",
                     error <= MOST_ERROR)

    def _find_error_in_f32(self):
        model = self._make(torch.float32)
        given = zoo.find_inputs(model, torch.float32)
        if not blockscale.torch.quantize_(model, self._policy).quantized:
            return torch.inf
        return find_error(call_compiled(model, given), zoo.call(model, given))


def write_out(module, inputs):
    """A backend of torch.compile: what ours makes of a graph in which it rewrites nothing."""
    return _compile_eager(module, inputs, rewrite=lambda graph: None)


def call_compiled(model, given, backend="blockscale"):
    torch._dynamo.reset()
    options = {"options": {"rest": "eager"}} if backend == "blockscale" else {}
    return zoo.call(torch.compile(model, backend=backend, **options), given)


def find_linear(model):
    """Elements of the weight of each linear layer and each stack of experts, by name."""
    linear = {}
    for path, module in model.named_modules():
        if type(module).__name__ in ("Linear", "Conv1D"):
            linear[path] = module.weight.numel()
        linear |= {f"{path}.{name}": each.numel() for name, each in module.named_parameters(
            recurse=False) if name in ("gate_up_proj", "up_proj", "down_proj") and each.dim() == 3}
    return linear


@dataclasses.dataclass
class Outcome:
    """What became of a type of model: a line for each policy, and counts."""

    lines: list = dataclasses.field(default_factory=list)
    skipped: bool = False
    passed: int = 0
    failed: int = 0
    #: Elements of linear layers that were quantized, and of all.
    quantized: int = 0
    linear: int = 0
    #: Why weights were left.
    reasons: Counter = dataclasses.field(default_factory=Counter)

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.quantized += other.quantized
        self.linear += other.linear
        self.reasons += other.reasons


def check_plain(model):
    """Calls a plain model. Raises ValueError for one that writes to its weights meanwhile, as RWKV
    divides some by powers of two: those of a quantized layer cannot be written."""
    before = {name: each._version for name, each in model.named_parameters()}
    zoo.call(model, zoo.find_inputs(model))
    for name, each in model.named_parameters():
        if each._version != before[name]:
            raise ValueError("expected a model that leaves its weights, but got one that writes "
                             f"to {name}")


@contextlib.contextmanager
def limit_seconds(seconds):
    """Raises TimeoutError in what takes longer."""
    def stop(*_):
        raise TimeoutError(f"expected an end within {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def check_type(name, compiles):
    """All policies on the model of a type. A class that does not take the small sizes is
    skipped, with what it raises."""
    logging.disable(logging.WARNING)
    torch.manual_seed(0)
    outcome = Outcome()
    config, model = zoo.find_type(name)
    try:
        made = zoo.make_model(config, model)
        with limit_seconds(MOST_SECONDS):
            check_plain(made)
    except Exception as error:
        text = str(error).splitlines()
        outcome.lines.append(f"{name}: skipped: {type(error).__name__}: {text[0] if text else ''}")
        outcome.skipped = True
        return outcome
    for policy, rule in POLICIES.items():
        check = Check(config, model, rule, compiles)
        try:
            problems = check.run()
        except Exception as error:  # The model is valid, so that a refusal is wrong, too.
            at = traceback.extract_tb(error.__traceback__)[-1]
            problems = [f"{type(error).__name__}: {error} ({at.name}, line {at.lineno})"]
        outcome.passed += not problems
        outcome.failed += bool(problems)
        text = "; ".join(problems) if problems else "ok"
        if check.summary is not None:
            taken = {each.name for each in check.summary.quantized}
            outcome.quantized += sum(count for path, count in check.linear.items()
                                     if path in taken)
            outcome.linear += sum(check.linear.values())
            outcome.reasons.update(each.reason for each in check.summary.left)
            text += f" ({len(taken)} quantized, {len(check.summary.left)} left)"
        outcome.lines.append(f"{name} {model.__name__} {policy}: {text}")
    return outcome


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=["*"], nargs="+", metavar="GLOB",
                        help="types with such names")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="types side by side")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    names = [name for name in zoo.list_types()
             if any(fnmatch.fnmatch(name, each) for each in arguments.only)]
    total, skipped = Outcome(), 0
    with ProcessPoolExecutor(arguments.jobs, multiprocessing.get_context("spawn")) as pool:
        runs = [pool.submit(check_type, name, not arguments.no_compile) for name in names]
        for run in as_completed(runs):
            outcome = run.result()
            print("\n".join(outcome.lines), flush=True)
            skipped += outcome.skipped
            total.add(outcome)
    share = total.quantized / total.linear if total.linear else 0
    print(f"{len(names) - skipped} model classes, {skipped} skipped; {100 * share:.1f} % of the "
          "parameters of linear layers quantized; left:")
    for reason, count in total.reasons.most_common():
        print(f"  {count} x {reason}")
    is_enough = share >= LEAST_SHARE
    print(f"{total.passed + is_enough} passed, {total.failed + (not is_enough)} failed")
    return 1 if total.failed or not is_enough else 0


if __name__ == "__main__":
    sys.exit(main())
