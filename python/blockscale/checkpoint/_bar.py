# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A bar on a terminal: how far a job is, its rate and the time that is left."""

from __future__ import annotations

import sys
import time
from typing import Any, TextIO

from blockscale._text import escape
from blockscale.checkpoint._summary import format_bytes

_WIDTH = 24
_SHOWN_AFTER, _SHOWN_EACH = 0.5, 0.1  # seconds


def format_time(seconds: float) -> str:
    """Minutes and seconds, with hours where there are some."""
    whole = int(seconds + 0.5)
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"


class Bar:
    """Is called as progress of a job is. Its rate is that of this process: what was done before a
    job was resumed does not count."""

    def __init__(self, file: TextIO | None = None, clock: Any = time.monotonic):
        self._file = file or sys.stderr
        self._clock = clock
        self._start = clock()
        self._last = 0.0
        self._first: int | None = None
        self._is_shown = False

    def __call__(self, name: str, done: int, total: int) -> None:
        now = self._clock()
        if self._first is None:
            self._first = done
        if now - self._start < _SHOWN_AFTER or (now - self._last < _SHOWN_EACH and done < total):
            return
        self._last, self._is_shown = now, True
        self._file.write("\r\x1b[K" + self.describe(name, done, total, now - self._start))
        self._file.flush()

    def describe(self, name: str, done: int, total: int, seconds: float) -> str:
        """The line for bytes that were read after some seconds."""
        share = done / total if total else 1.0
        filled = int(share * _WIDTH)
        rate = (done - (self._first or 0)) / seconds if seconds > 0 else 0.0
        left = format_time((total - done) / rate) if rate > 0 else "?"
        return (f"{'#' * filled}{'.' * (_WIDTH - filled)} {100 * share:3.0f} % of "
                f"{format_bytes(total)}, {format_bytes(rate)}/s, {left} left  {escape(name)}")

    def close(self) -> None:
        """Removes the line."""
        if self._is_shown:
            self._file.write("\r\x1b[K")
            self._file.flush()
            self._is_shown = False
