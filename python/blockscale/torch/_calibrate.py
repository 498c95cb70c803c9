# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Amaxes of the activations of a model, measured on examples."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from blockscale._errors import ArgumentError
from blockscale.torch._modules import route
from blockscale.torch._sites import Site, find_sites, get_stack_names


class _Recorder:
    """The running amax of what each layer reads. Nothing waits for a GPU until the end."""

    def __init__(self) -> None:
        self.amaxes: dict[str, Tensor] = {}

    def record(self, name: str, x: Tensor) -> None:
        if not x.numel():
            return
        found = x.detach().abs().max().float()
        before = self.amaxes.get(name)
        # The maximum of a NaN and a number is NaN.
        self.amaxes[name] = found if before is None else torch.maximum(before, found)


def _run_experts(experts: Any, recorder: _Recorder, names: Sequence[str], hidden_states: Tensor,
                 top_k_index: Tensor, top_k_weights: Tensor) -> Tensor:
    """What the experts compute with plain weights, one expert after the other."""
    tokens, count = top_k_index.shape
    order, offsets = route(top_k_index, experts.num_experts)
    rows = hidden_states[torch.div(order, count, rounding_mode="floor")]
    first, second = get_stack_names(experts)

    def multiply(x: Tensor, name: str, path: str) -> Tensor:
        recorder.record(path, x[:int(offsets[-1])])
        weight, bias = getattr(experts, name), getattr(experts, f"{name}_bias", None)
        weight = weight.transpose(-2, -1) if experts.is_transposed else weight
        parts, start = [], 0
        for number, end in enumerate(offsets.tolist()):
            parts.append(F.linear(x[start:end], weight[number],
                                  None if bias is None else bias[number]))
            start = end
        parts.append(x.new_zeros(len(x) - start, weight.shape[-2]))
        return torch.cat(parts)

    inner = multiply(rows, first, names[0])
    inner = experts._apply_gate(inner) if experts.has_gate else experts.act_fn(inner)
    out = multiply(inner, second, names[1])
    if getattr(experts, "has_post_expert_norm", False):
        out = experts.post_expert_norm(out)
    out = out * top_k_weights.reshape(-1)[order, None]
    total = torch.zeros(tokens, out.shape[-1], dtype=out.dtype, device=out.device)
    total.index_add_(0, torch.div(order, count, rounding_mode="floor"), out)
    return total.to(hidden_states.dtype)


def _replace_forward(experts: Any, recorder: _Recorder, names: Sequence[str]
                     ) -> Callable[[], None]:
    """Has a module run its experts so that their inputs are recorded; what ends that."""
    experts.forward = functools.partial(_run_experts, experts, recorder, names)

    def restore() -> None:
        del experts.forward
    return restore


@contextlib.contextmanager
def _observe(model: nn.Module, recorder: _Recorder) -> Iterator[None]:
    undo: list[Callable[[], None]] = []
    stacks: dict[int, tuple[Any, list[Site]]] = {}
    try:
        for site in find_sites(model):
            if site.is_stack and site.obstacle:
                continue  # Calls would lose what is unusual of them.
            if site.is_stack:
                stacks.setdefault(id(site.owner), (site.owner, []))[1].append(site)
                continue
            hook = site.owner.register_forward_pre_hook(
                lambda _, args, given, name=site.name: recorder.record(
                    name, args[0] if args else given["input"]), with_kwargs=True)
            undo.append(hook.remove)
        for experts, sites in stacks.values():
            undo.append(_replace_forward(experts, recorder, [site.name for site in sites]))
        yield
    finally:
        for each in undo:
            each()


def calibrate(model: nn.Module, batches: Iterable[Any],
              progress: Callable[[str, int, int], None] | None = None) -> dict[str, float]:
    """The largest absolute value that each layer reads in any of the batches, by its name, for
    the `amaxes` of quantize_: global scales of activations are constants then.

    Args:
      model: with plain weights, in evaluation mode. It is called under torch.no_grad().
      batches: arguments of calls: a dict has them by name, a tuple or list in their order; any
        other object is the only one.
      progress: called with "batch", its number and 0.

    Raises: ArgumentError, also if an amax is NaN, infinite or 0.
    """
    if not isinstance(model, nn.Module):
        raise ArgumentError(f"expected a torch.nn.Module, but got {type(model).__name__}")
    recorder, count = _Recorder(), 0
    with _observe(model, recorder), torch.no_grad():
        for count, batch in enumerate(batches, 1):
            if progress:
                progress("batch", count - 1, 0)
            if isinstance(batch, Mapping):
                model(**batch)
            elif isinstance(batch, (tuple, list)):
                model(*batch)
            else:
                model(batch)
    if not count:
        raise ArgumentError("expected at least one batch, but got none")
    if not recorder.amaxes:
        raise ArgumentError("expected a linear layer that reads numbers of the batches, but none "
                            "did")
    amaxes = {name: float(amax) for name, amax in recorder.amaxes.items()}
    for name, amax in amaxes.items():
        if not 0 < amax < float("inf"):
            raise ArgumentError(f"expected the amax of what '{name}' reads to be positive and "
                                f"finite, but got {amax}; a batch may be all zeros or overflow")
    return amaxes
