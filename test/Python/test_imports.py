# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules of the package import each other one way only, also inside of functions."""

import ast
import tempfile
import unittest
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "python"


def list_imports(tree):
    """Imports of a module when it runs: those that only types need are left out."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.ImportFrom) and not node.level:
            yield from (f"{node.module}.{each.name}" for each in node.names)
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        else:
            yield from list_imports(node)


def find_circles(root):
    """Pairs of modules below a folder that import each other, directly or through others."""
    paths = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    imports = {}
    for module, path in paths.items():
        names = list_imports(ast.parse(path.read_text(encoding="utf-8")))
        # What is imported from a module is a module, or something in it.
        found = {name if name in paths else name.rpartition(".")[0] for name in names}
        imports[module] = found & paths.keys() - {module}
    reached = {}
    for module, rest in imports.items():
        seen, rest = set(), set(rest)
        while rest:
            each = rest.pop()
            seen.add(each)
            rest |= imports[each] - seen
        reached[module] = seen
    return [(module, each) for module in paths for each in sorted(reached[module])
            if module < each and module in reached[each]]


class ImportsTest(unittest.TestCase):
    def test_package_has_no_circles(self):
        self.assertEqual(find_circles(PACKAGE), [])

    def test_circles_are_found(self):
        cases = {
            "direct": ({"p/a.py": "from p import b", "p/b.py": "import p.a"}, [("p.a", "p.b")]),
            "inside of a function": (
                {"p/a.py": "from p.b import f", "p/b.py": "def f():\n    from p import a\n"},
                [("p.a", "p.b")]),
            "through another": (
                {"p/a.py": "from p import b", "p/b.py": "from p import c",
                 "p/c.py": "from p.a import x"},
                [("p.a", "p.b"), ("p.a", "p.c"), ("p.b", "p.c")]),
            "one way": ({"p/a.py": "from p import b", "p/b.py": "import os"}, []),
            "of types": (
                {"p/a.py": "from p import b",
                 "p/b.py": "from typing import TYPE_CHECKING\n"
                           "if TYPE_CHECKING:\n    from p.a import T\n"}, []),
        }
        for name, (files, circles) in cases.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                for path, text in files.items():
                    (Path(folder) / path).parent.mkdir(exist_ok=True)
                    (Path(folder) / path).write_text(text, encoding="utf-8")
                self.assertEqual(find_circles(Path(folder)), circles)
