# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What of a program cannot be imported, and where it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from blockscale._errors import Problem, UnsupportedError
from blockscale._trace import Location

__all__ = ["UNKNOWN", "UnsupportedError", "make_problem", "refuse"]

#: The place of what JAX does not say where it is from.
UNKNOWN: Location = ("<jax>", 0)


def make_problem(title: str, message: str, location: Location) -> Problem:
    """An op that is not imported. JAX's name of it, "jit(f)/dot_general", stands for the node."""
    file, line, *name = location
    return Problem(name[0] if name else "op", title, message, (file, line) if line else None)


def refuse(problems: Sequence[Problem]) -> NoReturn:
    raise UnsupportedError.of(problems)
