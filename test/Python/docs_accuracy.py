#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables of docs/Accuracy.md, computed by the example (docs_pages.py).

Afterwards docs/images/make.py draws what the page says.
"""

import functools
import os
import sys

from docs_pages import ROOT, main

sys.path[:0] = [str(ROOT / "examples/minilm")]

import accuracy  # noqa: E402
import weights  # noqa: E402

PAGE = ROOT / "docs/Accuracy.md"
CACHE = ROOT / ".cache/minilm"
BUILD = os.environ.get("BLOCKSCALE_BUILD_DIR", str(ROOT / "build"))


@functools.cache
def tables():
    runs = accuracy.run(weights.load(str(CACHE)), BUILD)
    accuracy.check_reference(runs)
    return [accuracy.markdown(header, rows) for _, header, rows in accuracy.list_tables(runs)]


def vectors():
    return tables()[0]


def encoder_layers():
    return tables()[1]


def linear_layers():
    return tables()[2]


if __name__ == "__main__":
    main(PAGE, globals())
