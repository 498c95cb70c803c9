#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Formulas, constraints and their tests in docs/Spec.md (docs_pages.py).

A constraint is a label of an op or attribute description, `OP_cN`; its tests are
the functions `@OP_cN` and `@OP_cN_WHAT` of a lit file that verifies diagnostics.
"""

import re
import textwrap
from functools import partial

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
    """One row for each op; its labels are numbered without gaps."""
    rows = {}
    for label in labels():
        name, number = label.rsplit("_c", 1)
        count, files = rows.get(name, (0, {}))
        assert int(number) == count + 1, f"expected {name}_c{count + 1}, but got {label}"
        rows[name] = int(number), {**files, **dict.fromkeys(f for f, _ in tests_of(label))}
    return table(["of", "constraints", "in `test/IR`"], [
        [f"`{name}`", f"`{name}_c1`" + (f" .. `{name}_c{count}`" if count > 1 else ""),
         ", ".join(f"`{file}`" for file in files)]
        for name, (count, files) in rows.items()])


DESCRIPTION = re.compile(
    r'BlockScale_\w*Op<"(\w+)".*?let description = \[\{\n(.*?)\n  \}\];', re.S)


def descriptions():
    """The text of every op, by its name."""
    return {name: textwrap.dedent(text) for path in DEFINITIONS
            for name, text in DESCRIPTION.findall(path.read_text(encoding="utf-8"))}


def formula(op):
    """The formulas of an op: the text blocks of its description."""
    blocks = re.findall(r"```text\n(.*?)```\n", descriptions()[op], re.S)
    lines = [line for block in blocks for line in block.splitlines() if line]
    return "".join(f"{line}\n" for line in ("```text", *lines, "```"))


def rules(op):
    """The constraints of an op, one item each."""
    items = re.findall(rf"^- (`{op}_c\d+`:(?:.|\n(?!- |\n))*)", descriptions()[op], re.M)
    return "".join(textwrap.fill(" ".join(item.split()), 130, initial_indent="- ",
                                 subsequent_indent="  ", break_on_hyphens=False) + "\n"
                   for item in items)


for _op in descriptions():
    globals()[f"formula_{_op}"] = partial(formula, _op)
    globals()[f"rules_{_op}"] = partial(rules, _op)


if __name__ == "__main__":
    main(PAGE, globals())
