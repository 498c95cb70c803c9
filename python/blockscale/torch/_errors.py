# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What of a graph cannot be imported, and where it is."""

from __future__ import annotations

import os
import re
from typing import Any, NoReturn

import torch

from blockscale._errors import Problem, UnsupportedError

_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
_TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep


def find_location(node: Any) -> tuple[str, int] | None:
    """The innermost line of a node's stack outside of torch, or else the innermost."""
    trace = node.meta.get("stack_trace") or ""
    frames = [(file, int(line)) for file, line in _FRAME.findall(trace)]
    own = [frame for frame in frames if not frame[0].startswith(_TORCH)]
    return next(reversed(own or frames), None)


def find_module(node: Any) -> str:
    """The path of the innermost module that a node is of, or ""."""
    stack = node.meta.get("nn_module_stack") or {}
    paths = [path for path, _ in stack.values() if path]
    return paths[-1] if paths else ""


def refuse(node: Any, message: str) -> NoReturn:
    """Raises UnsupportedError for a node."""
    raise UnsupportedError.of([Problem(node.name, str(node.target), message,
                                       find_location(node), find_module(node))])
