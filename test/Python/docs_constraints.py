#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of constraints and their tests in docs/Spec.md (docs_pages.py).

A constraint is a label of an op or attribute description, `OP_cN`; its tests are
the functions `@OP_cN` and `@OP_cN_WHAT` of a lit file that verifies diagnostics.
"""

import re

from docs_pages import ROOT, main, table

PAGE = ROOT / "docs/Spec.md"
DEFINITIONS = sorted((ROOT / "include/blockscale/IR").glob("*.td"))
TESTS = sorted((ROOT / "test/IR").glob("*.mlir"))

# Attributes have theirs in comments of C++, which the verifier is next to.
ATTRIBUTES = ["layout_c1", "layout_c2"]
LABEL = re.compile(r"^ *- `(\w+_c\d+)`:", re.M)


def labels():
    """Every label, in the order of the sources."""
    return ATTRIBUTES + [label for path in DEFINITIONS
                         for label in LABEL.findall(path.read_text(encoding="utf-8"))]


def rejecting_functions():
    """(file, function) of every case that expects an error, in order."""
    for path in TESTS:
        for case in path.read_text(encoding="utf-8").split("// -----"):
            if "expected-error" in case:
                for name in re.findall(r"func\.func (?:private )?@(\w+)", case):
                    yield path.name, name


def tests_of(label):
    return [(file, name) for file, name in rejecting_functions()
            if name == label or name.startswith(label + "_")]


def constraints():
    rows = []
    for label in labels():
        tests = tests_of(label)
        files = dict.fromkeys(file for file, _ in tests)
        rows.append([f"`{label}`", " ".join(f"`{file}`" for file in files),
                     " ".join(f"`{name[len(label):] or '@' + label}`" for _, name in tests)])
    return table(["constraint", "in `test/IR`", "functions that must not verify"], rows)


if __name__ == "__main__":
    main(PAGE, globals())
