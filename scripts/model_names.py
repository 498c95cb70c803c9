#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the table of what the parameters of transformers' models are.

Each model class of the installed transformers is built on the meta device, where tensors have no
memory, once by its default configuration and once with each switch of it turned. The classes of
its modules say which parameters are embeddings, routers, norms, convolutions, heads, linear layers
and stacks of experts. Names are those of the modules and those that the class saves, which are not
the same since transformers 5. The table is python/blockscale/checkpoint/model_names.json, and
blockscale/checkpoint/_model_table.py reads it.

  .cache/checkpoints/bin/python scripts/model_names.py --date DATE [-o FILE] [--only WORD]

Classes that need packages which are not there are left out; Pillow, timm and torchvision of
PyTorch's version give some 40 more. It takes 20 minutes.
"""

import argparse
import collections
import contextlib
import copy
import itertools
import json
import re
import sys
import warnings
from pathlib import Path

import transformers
from torch import nn
from transformers import core_model_loading as loading
from transformers.conversion_mapping import get_model_conversion_mapping
from transformers.pytorch_utils import Conv1D

import model_builds

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "python/blockscale/checkpoint/model_names.json"
#: A class whose name ends so chooses experts, and owns the weights that it chooses by.
ROUTER = re.compile(r"(?:Router|RouterMLP|TopKGating|MoE\w*Gate)$")
ROUTER_LAYER = re.compile(r"(?:.*\.)?(?:router|gate|shared_expert_gate|classifier|wg|gate_proj)")
#: Classes whose own linear layers are heads.
ANSWERS = re.compile(r"For\w*(?:Classification|QuestionAnswering|MultipleChoice|Prediction)$")


def find_router_modules(model):
    """The modules that choose experts: those whose outputs transformers records as logits of
    routers, those whose classes are called so, and layers with a row for each expert."""
    recorded, layers = set(), set()
    for module in model.modules():
        outputs = getattr(type(module), "_can_record_outputs", None) or {}
        for name, each in outputs.items() if isinstance(outputs, dict) else ():
            for one in each if isinstance(each, list) else [each]:
                if "router" not in name or isinstance(one, type):
                    continue
                if one.layer_name:
                    layers.add(one.layer_name)
                elif one.target_class not in (nn.Linear, None):
                    recorded.add(one.target_class)
    found = set()
    for path, module in model.named_modules():
        is_called = ROUTER.search(type(module).__name__) is not None
        if is_called or (type(module) in recorded and not any(
                "experts" in inner for inner, _ in module.named_modules())):
            found.update(id(each) for each in module.modules())
        if any(path == layer or path.endswith("." + layer) for layer in layers):
            found.update(id(each) for each in module.modules())
        experts = getattr(module, "experts", None)
        if isinstance(experts, nn.Module):
            count = getattr(experts, "num_experts", None) or (
                len(experts) if isinstance(experts, nn.ModuleList) else None)
            for name, child in module.named_children():
                rows = getattr(child, "out_features", None)
                if ROUTER_LAYER.fullmatch(name) and rows in (count, 1):
                    found.add(id(child))
        for name, child in module.named_children():
            if name == "shared_expert_gate" or name.endswith("_router"):
                found.add(id(child))
    return found


def get_kind(model, module, path, name, parameter, routers):
    """What a parameter of a module is, or "" for one of one dimension that is no norm."""
    owner = type(module).__name__
    rank = parameter.dim()
    if id(module) in routers:
        return "router" if rank > 1 else ""
    if isinstance(module, (nn.Embedding, nn.EmbeddingBag)):
        return "embedding"
    if isinstance(module, (nn.LayerNorm, nn.GroupNorm, nn.modules.batchnorm._BatchNorm,
                           nn.RMSNorm)) or owner.lower().endswith("norm") or (
                               "norm" in owner.lower() and rank < 2):
        return "norm" if name != "bias" else ""
    if rank < 2:
        return ""
    if isinstance(module, nn.modules.conv._ConvNd):
        return "convolution"
    if isinstance(module, Conv1D):
        return "transposed"
    if isinstance(module, nn.Linear) and name == "weight":
        if isinstance(module, nn.modules.linear.NonDynamicallyQuantizableLinear):
            return "other"
        is_head = module is model.get_output_embeddings() or ("." not in path and (
            module.out_features == model_builds.LABELS
            or ANSWERS.search(type(model).__name__) is not None))
        return "head" if is_head else "linear"
    if rank == 3 and ("experts" in owner.lower() or "experts" in path.rpartition(".")[2]):
        return "stack"
    if "embed" in owner.lower() or "embed" in name.lower():
        return "embedding"
    return "other"


def wildcard(name):
    """A name with "*" for numbers."""
    return re.sub(r"(?<![^.])\d+(?![^.])", "*", name)


def keep_last(name):
    """A name with "*" for numbers but the last."""
    words = name.split(".")
    last = max(place for place, word in enumerate(words) if word.isdecimal())
    return ".".join([*wildcard(".".join(words[:last])).split("."), *words[last:]]).lstrip(".")


def make_patterns(kinds, fixed):
    """The first of names with one pattern, by the pattern. Names of one pattern that have several
    kinds keep their last number where it is a place among layers of other kinds."""
    by_pattern = collections.defaultdict(dict)
    for name, kind in kinds.items():
        by_pattern[wildcard(name)].setdefault(kind, []).append(name)
    found = {}
    for pattern, names in by_pattern.items():
        every = list(itertools.chain.from_iterable(names.values()))
        if len(names) > 1 and fixed.issuperset(every):
            for name in every:
                found.setdefault(keep_last(name), name)
        else:
            found[pattern] = names[min(names, key=ORDER.index)][0]
    return found


def is_sequence(module):
    """Whether the parts of a module are single layers, one behind another."""
    return isinstance(module, nn.Sequential) or (isinstance(module, nn.ModuleList) and not any(
        list(each.children()) for each in module))


def list_parameters(model):
    """One parameter of each pattern of names, with its kind; and the names of those whose last
    number is a place in a sequence of layers."""
    routers = find_router_modules(model)
    found, fixed = {}, set()
    for path, module in model.named_modules(remove_duplicate=False):
        for name, parameter in module._parameters.items():
            kind = parameter is not None and get_kind(model, module, path, name, parameter,
                                                      routers)
            if not kind:
                continue
            full = f"{path}.{name}" if path else name
            found[full] = (kind, parameter)
            words = full.split(".")
            places = [place for place, word in enumerate(words) if word.isdecimal()]
            if places and is_sequence(model.get_submodule(".".join(words[:places[-1]]))):
                fixed.add(full)
    first = make_patterns({name: kind for name, (kind, _) in found.items()}, fixed)
    return {name: found[name] for name in first.values()}, fixed


def list_saved(model, parameters):
    """Names under which parameters are saved, with the shape of each and the names of the
    parameters that it is made of."""
    steps = get_model_conversion_mapping(model, add_legacy=False)[::-1]
    steps = [each.reverse_transform() for each in steps
             if not isinstance(each, loading.PrefixChange)]
    renamings = [each for each in steps if isinstance(each, loading.WeightRenaming)]
    converters = [each for each in steps if isinstance(each, loading.WeightConverter)]
    by_pattern = {pattern: each for each in converters for pattern in each.source_patterns}
    jobs, sources = {}, collections.defaultdict(list)
    saved = {}
    ordered = sorted(parameters, key=loading.dot_natural_key)
    for name in ordered:
        target, pattern = loading.apply_converters(name, converters)
        if pattern is None:
            saved[loading.apply_renamings(name, renamings)] = (parameters[name][1].shape, [name])
            continue
        job = jobs.setdefault(target, copy.deepcopy(by_pattern[pattern]))
        job.add_tensor(target, name, pattern, parameters[name][1])
        sources[target].append(name)
    for target, job in jobs.items():
        for name, made in job.convert(target, model=model, config=model.config).items():
            tensor = made[0] if isinstance(made, list) else made
            saved[loading.apply_renamings(name, renamings)] = (tensor.shape, sources[target])
    return saved


#: What a name is that is several things: the first of these.
ORDER = ("router", "embedding", "norm", "convolution", "transposed", "other", "stack", "head",
         "linear")


def classify(model):
    """The kind of each pattern of names of a model's layers; the names of modules for those that
    are saved under another name; and what went wrong."""
    parameters, fixed = list_parameters(model)
    found = collections.defaultdict(set)
    for name, (kind, _) in parameters.items():
        found[name].add(kind)
    failed, renamed = "", {}
    try:
        for name, (_, sources) in list_saved(model, parameters).items():
            kinds = {parameters[source][0] for source in sources}
            # A stack that is saved as experts of their own becomes linear layers.
            is_expert = re.search(r"experts\.\d+\.", name)
            found[name] |= {"linear"} if is_expert and kinds == {"stack"} else kinds
            # A number that modules do not have is a place, too.
            numbers = [wildcard(each).count("*") for each in (name, *sources)]
            if fixed.issuperset(sources) or numbers[0] > max(numbers[1:]):
                fixed.add(name)
            if name.endswith(".weight") and kinds & {"linear", "head", "router"}:
                one, other = (wildcard(each).removesuffix(".weight") for each in
                              (name, sources[0]))
                if len(sources) == 1 and one != other and one.count("*") == other.count("*"):
                    renamed[one] = other
    except Exception as error:  # pylint: disable=broad-except
        failed = f"names of files are not known: {error!r}"[:200]
    layers = collections.defaultdict(set)
    for name, kinds in found.items():
        layers[name.removesuffix(".weight")] |= kinds
    chosen = {name: min(kinds, key=ORDER.index) for name, kinds in layers.items()}
    places = {name.removesuffix(".weight") for name in fixed}
    return ({pattern: chosen[name] for pattern, name in make_patterns(chosen, places).items()},
            renamed, failed)


def split(kinds, base, paths):
    """Names of a model by the path of the model inside it that they are of."""
    parts = collections.defaultdict(dict)
    ordered = sorted(paths | {base}, key=len, reverse=True)
    for name, kind in kinds.items():
        path = next((each for each in ordered if each and name.startswith(each + ".")), "")
        parts[path][name[len(path) + 1:] if path else name] = kind
    return parts


def compress(part):
    """A part of the table: by kind the last words of names by the words before them."""
    found = {}
    for name, kind in sorted(part.items()):
        path, _, last = name.rpartition(".")
        found.setdefault(kind, {}).setdefault(path, []).append(last)
    return {kind: {path: " ".join(names) for path, names in by_path.items()}
            for kind, by_path in sorted(found.items())}


def rename(name, rules):
    """A name by the rule with the longest beginning."""
    words = name.split(".")
    for count in range(len(words), -1, -1):
        begin = ".".join(words[:count])
        if begin in rules:
            return ".".join(filter(None, [rules[begin], *words[count:]]))
    return name


def shorten(renamed, saved):
    """Rules by which beginnings of names are renamed: what they say of the names that are saved is
    what `renamed` says."""
    rules = {}
    for name, other in renamed.items():
        words, others = name.split("."), other.split(".")
        while words and others and words[-1] == others[-1]:
            words.pop()
            others.pop()
        rules.setdefault(".".join(words), ".".join(others))
    for name in sorted(saved, key=len):
        if rename(name, rules) != renamed.get(name, name):
            rules[name] = renamed.get(name, name)
    return rules


class Table:
    """The table while it grows."""

    def __init__(self):
        self.parts, self.renamed, self.architectures = {}, {}, {}

    def add(self, name, base, parts, renamed):
        entry = {"base": base, "parts": [
            [path, self.parts.setdefault(json.dumps(compress(part)), len(self.parts))]
            for path, part in sorted(parts.items()) if part]}
        if renamed:
            names = [".".join(filter(None, (path, each))) for path, part in parts.items()
                     for each in part if part[each] in ("linear", "head", "router")]
            text = json.dumps(dict(sorted(shorten(renamed, names).items())))
            entry["renamed"] = self.renamed.setdefault(text, len(self.renamed))
        self.architectures[name] = entry

    def write(self, path, date):
        """One line for each part and each architecture."""
        head = {"transformers": transformers.__version__, "date": date}
        lines = ["{"]
        lines += [f" {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
        lines += [' "parts": [', *_with_commas(f"  {each}" for each in self.parts), " ],"]
        lines += [' "renamed": [', *_with_commas(f"  {each}" for each in self.renamed), " ],"]
        lines += [' "architectures": {', *_with_commas(
            f"  {json.dumps(name)}: {json.dumps(each)}"
            for name, each in sorted(self.architectures.items())), " }", "}", ""]
        path.write_text("\n".join(lines), encoding="utf-8")


def _with_commas(lines):
    listed = list(lines)
    return [line + "," for line in listed[:-1]] + listed[-1:]


def find_submodels(model):
    """Paths of the models inside a model."""
    return {wildcard(path) for path, module in model.named_modules()
            if path and isinstance(module, transformers.PreTrainedModel)}


def list_switched(model_class, config, base, known):
    """Names that a model has by another value of a member of its configuration, without the path
    of the base model."""
    found = {}
    for variant in model_builds.list_variants(config):
        with contextlib.suppress(Exception):
            kinds, _, _ = classify(model_builds.build(model_class, variant))
            for name, kind in kinds.items():
                if name not in known:
                    found[name.removeprefix(base + ".") if base else name] = kind
    return found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--date", required=True, help="of today, which the table has: 2026-11-28")
    parser.add_argument("-o", dest="output", type=Path, default=TABLE)
    parser.add_argument("--only", default="", metavar="WORD", help="folders with this word alone")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    table, switched, failures = Table(), {}, 0
    classes = model_builds.find_classes(options.only)
    # The class of a configuration with the most layers comes first: its switches are those of all.
    for name in sorted(classes, key=lambda each: (not each.endswith(
            ("ForConditionalGeneration", "ForCausalLM", "ForMaskedLM", "ForPreTraining")), each)):
        model_class = classes[name]
        try:
            model, config = model_builds.build_default(model_class)
            kinds, renamed, failed = classify(model)
            if failed:
                print(f"{name}: {failed}", file=sys.stderr)
        except (Exception, model_builds.Timeout) as error:  # pylint: disable=broad-except
            failures += 1
            print(f"{name}: not built: {error!r}"[:200].replace("\n", " "), file=sys.stderr)
            continue
        base = model_class.base_model_prefix
        base = base if base and isinstance(getattr(model, base, None), nn.Module) else ""
        key = model_class.config_class
        if key not in switched:
            switched[key] = list_switched(model_class, config, base, kinds)
        prefix = base + "." if base else ""
        for other, kind in switched[key].items():
            kinds.setdefault(prefix + other, kind)
        table.add(name, base or model_class.base_model_prefix,
                  split(kinds, base, find_submodels(model)), renamed)
    table.write(options.output, options.date)
    counts = collections.Counter(
        kind for text in table.parts for kind, paths in json.loads(text).items()
        for names in paths.values() for _ in names.split())
    print(f"{len(table.architectures)} architectures in {len(table.parts)} parts, "
          f"{options.output.stat().st_size} bytes; {failures} not built")
    print(", ".join(f"{count} {kind}" for kind, count in counts.most_common()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
