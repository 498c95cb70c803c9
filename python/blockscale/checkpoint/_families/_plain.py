# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plain numbers, without a configuration."""

from __future__ import annotations

from blockscale.checkpoint._families._family import Family
from blockscale.checkpoint._layouts import PLAIN_DTYPES, Layout


class Plain(Family):
    """Weights are one tensor each."""

    name = "plain"
    layouts = tuple(Layout(f"plain {name}", "plain", "", data=(".weight", dtype))
                    for dtype, name in PLAIN_DTYPES.items())
