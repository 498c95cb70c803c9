# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Marks for state dicts that were saved without them."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from torch import nn

from blockscale._errors import ArgumentError
from blockscale.torch._modules import QuantizedWeight
from blockscale.torch._state import MARK, check_tensor, list_tensors, make_mark


def mark_state_dict(state: Mapping[str, Any], model: nn.Module) -> dict[str, Any]:
    """A state dict with the marks of a model's quantized weights, for one that was saved without
    marks: by a version of BlockScale before these, or by other code. What the marks say is what
    you know: that the model that was saved had been quantized by the policy of this one.

    Args:
      state: marks that it has stay as they are.
      model: quantized, and what load_state_dict() will be called on.

    Raises: ArgumentError where a tensor is not as the model has it, or no weight is without a mark.
    """
    if not isinstance(model, nn.Module):
        raise ArgumentError(f"expected a torch.nn.Module, but got {type(model).__name__}")
    # A copy of a dict of PyTorch has its metadata.
    marked = copy.copy(state) if isinstance(state, dict) else dict(state)
    problems = list[str]()
    for path, module in model.named_modules(remove_duplicate=False):
        prefix = f"{path}." if path else ""
        if (not isinstance(module, QuantizedWeight) or prefix + MARK in state
                or prefix + "data" not in state):
            continue
        problems += [check_tensor(prefix + each, state.get(prefix + each), expected)
                     for each, expected in list_tensors(module).items()]
        marked[prefix + MARK] = make_mark(module.form)
    problems = [each for each in problems if each]
    if problems:
        raise ArgumentError("\n".join(problems))
    if len(marked) == len(state):
        raise ArgumentError("expected a state dict with a quantized weight that has no mark, but "
                            "got none")
    return marked
