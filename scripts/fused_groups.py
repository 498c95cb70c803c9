#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the table of layers that loaders make one layer of.

vLLM says which: `packed_modules_mapping` of its model classes, and the lists of stacked parameters
by which they load. The sources are read and not run. Some groups hold for every model; all others
for the architectures whose classes have them. The table is
python/blockscale/checkpoint/fused_groups.json.

  python3 -m pip download --no-deps vllm && unzip vllm-*.whl -d FOLDER
  scripts/fused_groups.py FOLDER DATE
"""

import ast
import collections
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "python/blockscale/checkpoint/fused_groups.json"
#: Groups of every model, known to loaders or not: their names mean the same wherever they stand
#: beside one another. Megatron's models have gate and up, which vLLM has not.
EVERYWHERE = (("q_proj", "k_proj", "v_proj"), ("query", "key", "value"), ("wq", "wk", "wv"),
              ("gate_proj", "up_proj"), ("w1", "w3"), ("gate", "up"),
              ("q_a_proj", "kv_a_proj_with_mqa"), ("in_proj_qkv", "in_proj_z"),
              ("in_proj_b", "in_proj_a"))


def is_mapping(target):
    name = getattr(target, "id", "") or getattr(target, "attr", "")
    return "packed_modules_mapping" in name.lower()


def is_stacked(target):
    name = getattr(target, "id", "") or getattr(target, "attr", "")
    return "stacked" in name and "params" in name


def get_strings(node):
    """The strings of a list of them, None for anything else."""
    if isinstance(node, (ast.List, ast.Tuple)) and node.elts and all(
            isinstance(each, ast.Constant) and isinstance(each.value, str) for each in node.elts):
        return [each.value for each in node.elts]
    return None


def list_groups(tree):
    """Names of layers that a file makes one of."""
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None:
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if isinstance(target, ast.Subscript) and is_mapping(target.value):
            if names := get_strings(node.value):
                yield names
        elif is_mapping(target):
            for inner in ast.walk(node.value):
                for value in inner.values if isinstance(inner, ast.Dict) else ():
                    if names := get_strings(value):
                        yield names
        elif is_stacked(target) and isinstance(node.value, (ast.List, ast.Tuple)):
            joined = collections.defaultdict(list)
            for each in node.value.elts:
                words = getattr(each, "elts", [])
                if len(words) == 3 and (pair := get_strings(ast.List(words[:2], ast.Load()))):
                    joined[pair[0]].append(pair[1])
            yield from joined.values()


def clean(names):
    """Names behind what all of them begin with; () for what is no group of weights of layers."""
    found = [name.strip(".") for name in names if "padding" not in name]
    while all("." in name for name in found) and len({name.split(".")[0] for name in found}) == 1:
        found = [name.split(".", 1)[1] for name in found]
    is_group = len(found) > 1 and not any(
        "conv" in name or "embed" in name or not re.fullmatch(r"[\w.]+", name) for name in found)
    return tuple(dict.fromkeys(found)) if is_group else ()


class Sources:
    """The files of vLLM's models."""

    def __init__(self, folder):
        self._folder = folder
        self._trees = {}

    def read(self, path):
        if path not in self._trees:
            self._trees[path] = ast.parse(path.read_text(encoding="utf-8"))
        return self._trees[path]

    def find_files(self, module):
        """The files of a module of the registry."""
        if module.startswith("vllm."):
            path = self._folder.joinpath(*module.split("."))
            return sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
        path = self._folder / "vllm/model_executor/models" / module
        return sorted(path.glob("*.py")) if path.is_dir() else [path.with_suffix(".py")]

    def list_registry(self):
        """Architectures with the module of their class."""
        path = self._folder / "vllm/model_executor/models/registry.py"
        for node in ast.walk(self.read(path)):
            if not isinstance(node, ast.Dict):
                continue
            for key, value in zip(node.keys, node.values):
                pair = get_strings(value)
                if isinstance(key, ast.Constant) and pair and len(pair) == 2:
                    yield key.value, pair[0]

    def get_bases(self, path):
        """The files of models whose classes those of a file are made of."""
        tree = self.read(path)
        used = {base.id for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
                for base in node.bases if isinstance(base, ast.Name)}
        used |= {node.value.id for node in ast.walk(tree) if isinstance(node, ast.Attribute)
                 and is_mapping(node) and isinstance(node.value, ast.Name)}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and any(
                    alias.name in used for alias in node.names):
                if node.level:
                    base = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
                elif (node.module or "").startswith("vllm.model"):
                    base = self._folder.joinpath(*node.module.split("."))
                else:
                    continue
                if (file := base.with_suffix(".py")).exists() and (
                        file.stem not in ("interfaces", "interfaces_base", "utils")):
                    yield file


def find_groups(sources, module):
    waiting, seen, groups = list(sources.find_files(module)), set(), set()
    while waiting:
        path = waiting.pop()
        if path in seen or not path.exists():
            continue
        seen.add(path)
        groups |= {group for names in list_groups(sources.read(path)) if (group := clean(names))}
        waiting += sources.get_bases(path)
    return groups


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder, date = Path(sys.argv[1]), sys.argv[2]
    sources = Sources(folder)
    by_architecture = {name: find_groups(sources, module)
                       for name, module in sources.list_registry()}
    own = {}
    for name, groups in sorted(by_architecture.items()):
        more = sorted(group for group in groups
                      if not any(set(group) <= set(other) for other in EVERYWHERE))
        if more:
            own[name] = more
    metadata = next(folder.glob("vllm-*.dist-info/METADATA")).read_text(encoding="utf-8")
    head = {"vllm": re.search(r"(?m)^Version: (\S+)$", metadata)[1], "date": date}
    lines = ["{", *(f" {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()),
             ' "everywhere": [',
             ",\n".join(f"  {json.dumps(group)}" for group in EVERYWHERE), " ],",
             ' "architectures": {',
             ",\n".join(f"  {json.dumps(name)}: {json.dumps(groups)}"
                        for name, groups in own.items()), " }", "}", ""]
    TABLE.write_text("\n".join(lines), encoding="utf-8")
    print(f"{len(EVERYWHERE)} groups everywhere, and others of {len(own)} architectures of "
          f"{len(by_architecture)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
