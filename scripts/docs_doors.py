#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The lists of docs/Doors.md: the ops that each importer of Python takes, from its handlers.

  docs_doors.py [--write] DOOR...

DOOR is torch, jax or onnx. Says which lists are not those of the handlers, and fails then; with
--write, writes them. A list needs the packages of its door, so that each is made by the Python
that has them: .cache/peers, .cache/jax and .venv, with python/ in PYTHONPATH.
"""

import argparse
import importlib
import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/Doors.md"


def read_torch():
    """Names of ops and their handlers."""
    from blockscale.torch import _program  # noqa: F401 (handlers)
    from blockscale.torch._importer import COMPLEX_HANDLERS, HANDLERS
    for name, handler in (*HANDLERS.items(), *COMPLEX_HANDLERS.items()):
        space, short = name.split(".")[:2]
        yield short if space == "aten" else f"{space}::{short}", handler


def read_jax():
    from blockscale.jax import _program  # noqa: F401 (handlers)
    from blockscale.jax._importer import HANDLERS
    for name, handler in HANDLERS.items():
        yield name.removeprefix("stablehlo."), handler


def read_onnx():
    from blockscale.onnx import _program  # noqa: F401 (handlers)
    from blockscale.onnx._importer import HANDLERS
    for (domain, name), handler in HANDLERS.items():
        yield f"{domain}::{name}" if domain else name, handler


READERS = {"torch": read_torch, "jax": read_jax, "onnx": read_onnx}


def make_list(door):
    """The ops of a door, a paragraph for each file of handlers, which says what they are."""
    groups = {}
    for name, handler in READERS[door]():
        title = importlib.import_module(handler.__module__).__doc__.split("\n\n")[0]
        title = re.split(r"[.:] |\.$", " ".join(title.split()))[0]
        groups.setdefault(title, set()).add(name)
    total = len(set().union(*groups.values()))
    lines = [f"{total} ops:", ""]
    for title, names in sorted(groups.items()):
        listed = ", ".join(f"`{name}`" for name in sorted(names, key=lambda each: (
            each.strip("_").lower(), each)))
        lines += textwrap.wrap(f"* **{title}**: {listed}", 140, subsequent_indent="  ",
                               break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines)


def fill(page, door):
    """`page` with the list of a door."""
    begin, end = f"<!-- {door}: scripts/docs_doors.py --write {door} -->\n", f"<!-- {door} ends -->"
    before, rest = page.split(begin)
    return before + begin + make_list(door) + "\n" + end + rest.split(end)[1]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("doors", nargs="+", choices=READERS, metavar="DOOR")
    parser.add_argument("--write", action="store_true", help="write the lists into the page")
    arguments = parser.parse_args()
    page = filled = PAGE.read_text(encoding="utf-8")
    for door in arguments.doors:
        filled = fill(filled, door)
    if filled != page and arguments.write:
        PAGE.write_text(filled, encoding="utf-8")
    elif filled != page:
        sys.exit(f"{PAGE.relative_to(ROOT)} differs: run scripts/docs_doors.py --write "
                 f"{' '.join(arguments.doors)}")


if __name__ == "__main__":
    main()
