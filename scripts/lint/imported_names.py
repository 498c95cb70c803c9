# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a module of Python imports from another one of the project is there.

`check` imports no program that needs a GPU, hours or packages that are not installed, and would not
notice that a name in one of these is gone. A module is looked for by its name: where several files
have it, one of them must have the names.
"""

import ast
import functools
from collections import defaultdict
from pathlib import Path

from common import files

#: What is installed, whose imports mypy checks.
PACKAGE = "python"


def bound_names(statements):
    """The names that statements of a module bind, in all branches; None if they may be any."""
    names = set()
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                names.add(node.name)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                names |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    return None if {"*", "__getattr__"} & names else names


def find_modules(paths):
    """The files that may be meant by each dotted name: by the whole path, and by its part from each
    folder that is no package."""
    packages = {path.parent for path in paths if path.name == "__init__.py"}
    modules = defaultdict(set)
    for path in paths:
        words = path.parent.parts if path.name == "__init__.py" else path.with_suffix("").parts
        for i in range(len(words)):
            if i == 0 or Path(*words[:i]) not in packages:
                modules[".".join(words[i:])].add(path)
    return modules


def name_of(node, path):
    """The dotted name of the module from which a file imports; a dot in front of a relative one
    stands for the folder of the file, two for the one above, and so on."""
    if not node.level:
        return node.module
    folder = path.parent.parts[:len(path.parent.parts) - node.level + 1]
    return ".".join([*folder, *([node.module] if node.module else [])])


def check(root):
    paths = files(root, ".py")
    modules = find_modules(paths)
    read = functools.cache(lambda path: ast.parse((root / path).read_text(encoding="utf-8")))
    bound = functools.cache(lambda path: bound_names(read(path).body))
    for path in paths:
        if path.parts[0] == PACKAGE:
            continue
        for node in ast.walk(read(path)):
            if not isinstance(node, ast.ImportFrom):
                continue
            name = name_of(node, path)
            candidates = modules.get(name, set()) - {path}
            if not candidates or any(bound(each) is None for each in candidates):
                continue
            for alias in node.names:
                if alias.name == "*" or modules.get(f"{name}.{alias.name}"):
                    continue
                if not any(alias.name in bound(each) for each in candidates):
                    where = " or ".join(sorted(map(str, candidates)))
                    yield f"{path}:{node.lineno}: expected {where} to have the name '{alias.name}'"
