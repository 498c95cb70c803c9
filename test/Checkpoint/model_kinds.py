# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the layers of a model are by the classes of its modules, and a checkpoint of the model that
has headers alone: what `quantize` plans for it needs no numbers. Needs transformers."""

import collections
import json
import re
import struct
import sys
from pathlib import Path

import transformers
from torch import nn
from transformers.pytorch_utils import Conv1D

from blockscale._policy import Rules
from blockscale.checkpoint import _checkpoint
from blockscale.checkpoint._families import get_family
from blockscale.checkpoint._quantize import _choose, _quantize

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import model_builds
import model_names

POLICY = {"version": 1, "rules": [{"format": "nvfp4", "weight_only": True}]}
NORMS = (nn.LayerNorm, nn.GroupNorm, nn.RMSNorm, nn.modules.batchnorm._BatchNorm)


def get_kind(module, parents):
    """What a module is; "" for one that is nothing of these."""
    if any(re.search(r"Router|TopKGating|MoE\w*Gate$", type(each).__name__)
           for each in (module, *parents)):
        return "router"
    if isinstance(module, nn.Embedding):
        return "embedding"
    if isinstance(module, NORMS) or type(module).__name__.endswith("Norm"):
        return "norm"
    if isinstance(module, nn.modules.conv._ConvNd):
        return "convolution"
    if isinstance(module, Conv1D):
        return "transposed"
    owner = parents[-1] if parents else None
    name = next((name for name, each in getattr(owner, "_modules", {}).items() if each is module),
                "")
    if isinstance(module, nn.modules.linear.NonDynamicallyQuantizableLinear):
        return ""  # torch's attention reads its weight, and never calls it.
    if isinstance(module, nn.Linear):
        if name.endswith(("shared_expert_gate", "_router")) or (name in (
                "gate", "router") and hasattr(owner, "experts")):
            return "router"
        return "linear"
    return ""


def list_kinds(model):
    """Parameters of a model by the first name of each pattern of names: (kind, parameter)."""
    found, seen = {}, set()
    modules = dict(model.named_modules(remove_duplicate=False))
    for path, module in modules.items():
        words = path.split(".") if path else []
        parents = [modules[".".join(words[:count])] for count in range(len(words))]
        for name, parameter in module._parameters.items():
            if parameter is None or parameter.dim() < 2:
                continue
            full = f"{path}.{name}" if path else name
            kind = get_kind(module, parents) if name == "weight" else ""
            pattern = model_names.wildcard(full), kind
            if pattern not in seen:
                seen.add(pattern)
                found[full] = (kind, parameter)
    return found


def write_headers(folder, shapes, config):
    """A checkpoint whose file has a header and a hole."""
    folder.mkdir()
    header, end = {}, 0
    for name, shape in shapes.items():
        size = 2
        for each in shape:
            size *= each
        header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + end)
    (folder / "config.json").write_text(json.dumps(config))


class Planned:
    """What `quantize` plans for a model by a policy of one rule.

    Attributes:
      kinds: what weights are, by the names of their layers in files.
      left: why weights are left.
      groups: the layers that share a global scale.
    """

    def __init__(self, model, folder):
        parameters = list_kinds(model)
        saved = model_names.list_saved(model, parameters)
        self.kinds = {}
        for name, (_, sources) in saved.items():
            kinds = {parameters[source][0] for source in sources}
            # Experts that are saved one by one are layers.
            kind = "linear" if kinds == {""} and ".experts." in name and (
                name.endswith(".weight")) else min(kinds - {"linear"}, default="linear")
            self.kinds[name.removesuffix(".weight")] = kind
        try:
            text = model.config.get_text_config()
        except ValueError:  # There are several.
            text = None
        config = {"architectures": [type(model).__name__],
                  "model_type": model.config.model_type, "tie_word_embeddings": False,
                  "hidden_size": getattr(text, "hidden_size", None)}
        write_headers(folder, {name: tuple(shape) for name, (shape, _) in saved.items()}, config)
        checkpoint = _checkpoint.open(folder)
        family = get_family("modelopt")
        choices = _choose.choose(checkpoint, Rules(POLICY), family)
        planner = _quantize.Planner(checkpoint, choices, family, {}, 256, "cpu")
        self.groups = [[member["name"] for member in task.arguments["members"]]
                       for task in planner.plan() if task.kind == "quantize"]
        self.left = {choice.weight.name: choice.reason for choice in choices
                     if choice.form is None}
        self.said = checkpoint.describe_names()

    @property
    def quantized(self):
        return [name for group in self.groups for name in group]


def list_fused(architecture):
    """Groups of names of layers that vLLM makes one layer of, as the table of facts has them."""
    table = json.loads((Path(_checkpoint.__file__).parent / "fused_groups.json").read_text())
    return table["everywhere"] + table["architectures"].get(architecture, [])


def find_faults(planned, architecture):
    """What is wrong with a plan, in words."""
    for name in planned.quantized:
        kind = planned.kinds.get(name, "linear")
        if kind != "linear":
            yield f"{name} is quantized, and is a parameter of the kind '{kind}'"
    for name, kind in planned.kinds.items():
        reason = planned.left.get(name, "")
        if kind == "linear" and " of " + architecture in reason:
            yield f"{name} is a linear layer, and is left: {reason}"
    task_of = {name: number for number, group in enumerate(planned.groups) for name in group}
    by_parent = collections.defaultdict(set)
    for name in task_of:
        words = name.split(".")
        for count in (1, 2):
            by_parent[".".join(words[:-count])].add(".".join(words[-count:]))
    for parent, names in by_parent.items():
        for group in list_fused(architecture):
            members = [f"{parent}.{each}" for each in group if each in names]
            if len({task_of[each] for each in members}) > 1:
                yield f"{', '.join(members)} have several global scales"


def build(name):
    """A model class, and a model of its default configuration without memory."""
    return model_builds.build_default(getattr(transformers, name))[0]
