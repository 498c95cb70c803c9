# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The steps of work that takes long."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

#: Is called with a step, its number and the count of them, which is 0 where it is not known.
Progress = Callable[[str, int, int], None]
_SHOWN_AFTER = 2.0  # seconds


class _Bar:
    """Steps of work that takes long, on a terminal."""

    def __init__(self) -> None:
        self.start = time.monotonic()
        self.shown = False

    def __call__(self, step: str, number: int, count: int) -> None:
        if time.monotonic() - self.start < _SHOWN_AFTER:
            return
        self.shown = True
        of = f"{number + 1} of {count}" if count else f"{number + 1}"
        sys.stderr.write(f"\r\x1b[Kblockscale: {of}: {step}")
        sys.stderr.flush()

    def close(self) -> None:
        if self.shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def watch_steps(progress: Progress | None, work: Callable[[Any], Any]) -> Any:
    """Calls `work` with `progress`, or where that is None and there is a terminal, with what shows
    the steps there."""
    if progress is not None or not sys.stderr.isatty():
        return work(progress)
    bar = _Bar()
    try:
        return work(bar)
    finally:
        bar.close()
