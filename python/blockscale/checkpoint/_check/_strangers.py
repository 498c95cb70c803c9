# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks for tensors that no loader looks for: of wrappers and tools, and second weights of a
layer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from blockscale.checkpoint._candidates import Candidate
from blockscale.checkpoint._check._report import Finding, find
from blockscale.checkpoint._checkpoint import Checkpoint
from blockscale.checkpoint._layouts import DATA, PLAIN_DTYPES

#: What stands before all names, or between their parts, where a module is wrapped.
_PREFIXES = ("module.", "base_model.model.")
_WRAPPERS = {
    "_orig_mod": "torch.compile", "_fsdp_wrapped_module": "FSDP",
    "_checkpoint_wrapped_module": "checkpointing of activations",
    "base_layer": "adapters that are not merged", "lora_A": "adapters that are not merged",
    "lora_B": "adapters that are not merged",
    "weight_quantizer": "ModelOpt before its export",
    "input_quantizer": "ModelOpt before its export",
    "output_quantizer": "ModelOpt before its export",
}
#: Endings of codes; a layer has one of them.
_CODES = (".weight", ".weight_packed", "._weight_qdata")


def find_wrapper(name: str) -> str:
    """What in a name no model has, "" where there is nothing."""
    prefix = next((each for each in _PREFIXES if name.startswith(each)), "")
    part = next((each for each in name.split(".") if each in _WRAPPERS), "")
    if prefix:
        return f"'{prefix}' in front of it"
    return f"'{part}' of {_WRAPPERS[part]}" if part else ""


def check_names(checkpoint: Checkpoint) -> Iterator[Finding]:
    """Names that a module has while a tool works on it, and that no loader knows; the first of
    each kind."""
    seen: set[str] = set()
    for name in checkpoint.tensors:
        wrapper = find_wrapper(name)
        if wrapper and wrapper not in seen:
            seen.add(wrapper)
            yield find("names-of-wrappers", name, "expected the name that a model has for it, but "
                       f"got {wrapper}")


def check_second_weights(candidates: Mapping[str, Candidate]) -> Iterator[Finding]:
    """Layers with two weights, of which a loader takes one."""
    for name, candidate in candidates.items():
        found = [tensor for ending in _CODES
                 if (tensor := candidate.parts.get(ending)) is not None]
        data = candidate.get(DATA)
        if len(found) > 1 and data is not None:
            other = next(tensor for tensor in found if tensor is not data)
            kind = "plain numbers" if other.dtype in PLAIN_DTYPES else other.dtype
            yield find("one-weight", name, f"expected '{data.name}' alone, but got '{other.name}' "
                       f"of {kind} beside it")
