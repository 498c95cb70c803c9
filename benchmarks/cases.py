# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions of cases.mlir."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent


def read_cases(path=ROOT / "benchmarks/cases.mlir"):
    """The module text of each function."""
    cases = {}
    for part in pathlib.Path(path).read_text().split("// -----\n"):
        cases[re.search(r"func\.func @(\w+)", part).group(1)] = part
    return cases
