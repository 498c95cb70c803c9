# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A command whose expressions have a tenth of their time, as test_bounds.py has it run in a process
of its own."""

from blockscale.checkpoint import _command, _patterns


def check(path: str) -> int:
    _patterns.SECONDS /= 10
    return _command.main(["check", path])
