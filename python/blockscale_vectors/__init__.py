# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conformance vectors of block-scaled quantizers, layouts and products, and a check that names the
rule that a quantizer broke. Needs NumPy alone (docs/Conformance.md)."""

from .check import Report, check, check_file
from .forms import KitError, names

__all__ = ["KitError", "Report", "check", "check_file", "names"]
