# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What other packages write of a checkpoint (test/Data/checkpoints), and what of it is compared."""

import json
import re
from pathlib import Path

import numpy as np

import decoders

FOLDER = Path(__file__).resolve().parents[1] / "Data/checkpoints"


class Oracle:
    """A stored case of test/Data/make_checkpoint_vectors.py."""

    def __init__(self, name):
        self.name = name
        self.package, self.scheme, self.family = name.split("__")
        with np.load(FOLDER / f"{name}.npz") as stored:
            meta = json.loads(str(stored["meta"]))
            self.whole = {name: stored[name] for name in stored.files if name != "meta"}
        self.tensors = meta["tensors"]
        self.config, self.amaxes, self.metadata = meta["config"], meta["amaxes"], meta["metadata"]

    def describe_difference(self, name, array):
        """How a tensor differs from the package's, "" where it is the same."""
        dtype, shape, digest = self.tensors[name]
        if [decoders.NAMES[array.dtype], list(array.shape)] != [dtype, shape]:
            return (f"{name}: expected {dtype} {shape}, but got {decoders.NAMES[array.dtype]} "
                    f"{list(array.shape)}")
        if decoders.hash_array(array) == digest:
            return ""
        if name not in self.whole:
            return f"{name}: expected the digest {digest}, but got {decoders.hash_array(array)}"
        expected = self.whole[name].reshape(-1).view(np.uint8)
        found = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        different = np.flatnonzero(expected != found)
        first = different[0]
        return (f"{name}: {len(different)} of {expected.size} bytes differ, the first at {first}: "
                f"expected {expected[first]}, but got {found[first]}")

    def compare(self, found, source, names=None):
        """Differences of tensors from the package's, of all that it writes or of those named.

        Weights of zeros alone, whose scales the packages make NaN, are left out: `found` must
        have numbers there."""
        empty = {name.removesuffix(".weight") for name, array in source.items()
                 if array.ndim >= 2 and not array.any()}
        differences = []
        for name in names or self.tensors:
            if any(name.startswith((f"{module}.", f"{module}_")) for module in empty):
                if (name in found and found[name].dtype == decoders.DTYPES["F8_E4M3"]
                        and not np.isfinite(found[name].astype(np.float32)).all()):
                    differences.append(f"{name}: expected finite scales, but got NaN")
                continue
            if name not in found:
                differences.append(f"{name}: expected this tensor, but got none")
                continue
            difference = self.describe_difference(name, found[name])
            if difference:
                differences.append(difference)
        return differences


def blank(oracle, found, source):
    """The tensors of a checkpoint with zeros for codes that an oracle of torchao leaves out."""
    if not oracle.scheme.startswith("mx"):
        return found
    blanked = dict(found)
    for name, array in source.items():
        data = decoders.torchao_name(name, "qdata")
        if data in found:
            blanked[data] = decoders.blank_codes(found[data], array)
    return blanked


def fuse_experts(tensors):
    """A decoder's experts one by one -> the same in tensors [E, N, K], gate before up."""
    fused, stacks = {}, {}
    for name, array in tensors.items():
        match = re.fullmatch(r"(.*\.experts)\.(\d+)\.(gate|up|down)_proj\.weight", name)
        if not match:
            fused[name] = array
            continue
        path, number, kind = match.groups()
        stack = f"{path}.{'down_proj' if kind == 'down' else 'gate_up_proj'}"
        fused.setdefault(stack, None)  # Where the first expert was.
        stacks.setdefault(stack, {})[int(number), kind] = array
    for stack, parts in stacks.items():
        experts = 1 + max(number for number, _ in parts)
        kinds = ("down",) if stack.endswith("down_proj") else ("gate", "up")
        fused[stack] = np.stack([np.concatenate([parts[number, kind] for kind in kinds])
                                 for number in range(experts)])
    return fused


def stack_experts(tensors, path, stack, part):
    """A part of experts' layers one by one -> [E, ..], with alternating rows of gate and up."""
    kinds = ("down_proj",) if stack == "down_proj" else ("gate_proj", "up_proj")
    experts = []
    while f"{path}.{len(experts)}.{kinds[0]}{part}" in tensors:
        parts = [tensors[f"{path}.{len(experts)}.{kind}{part}"] for kind in kinds]
        experts.append(np.stack(parts, 1).reshape(-1, *parts[0].shape[1:])
                       if parts[0].ndim == 2 else np.stack(parts))
    return np.stack(experts)
