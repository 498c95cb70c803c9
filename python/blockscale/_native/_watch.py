# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the library says while it works, and how Python ends the work."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from blockscale._native import _structures
from blockscale._native._library import get_error

Progress = Callable[[str, int, int], None]


def _convert(diagnostic: Any) -> tuple[Any, ...]:
    """Text of the compiler may quote bytes of a source that are none."""
    return (diagnostic.severity, diagnostic.message.decode(errors="replace"),
            diagnostic.file.decode(errors="replace"), diagnostic.line, diagnostic.column,
            [_convert(diagnostic.notes[i]) for i in range(diagnostic.note_count)])


class Watch:
    """Takes the diagnostics of one call of the library, and tells `progress` of its steps. An
    exception in `progress` or in a handler of a signal, as Ctrl-C raises it, ends the work before
    the next step."""

    def __init__(self, progress: Progress | None):
        self._progress = progress
        self._diagnostics: list[tuple[Any, ...]] = []
        self._error: BaseException | None = None
        self.on_diagnostic = _structures.DiagnosticCallback(self._take)
        self.on_progress = _structures.ProgressCallback(self._step)

    # ctypes loses exceptions of callbacks, so that these keep them.

    def _take(self, diagnostic: Any, _: Any) -> None:
        try:
            self._diagnostics.append(_convert(diagnostic[0]))
        except BaseException as error:
            self._error = error

    def _step(self, step: bytes, number: int, count: int, _: Any) -> int:
        try:
            if self._progress is not None and self._error is None:
                self._progress(step.decode(errors="replace"), number, count)
        except BaseException as error:
            self._error = error
        return int(self._error is not None)

    def run(self, work: Callable[[], int]) -> tuple[int, str, list[tuple[Any, ...]]]:
        """Status, message and diagnostics of `work`, which calls the library and returns its
        status, or the exception that ended it."""
        outcome: list[tuple[int, str]] = []

        def run_here() -> None:
            status = work()
            outcome.append((status, get_error(status)))

        if threading.current_thread() is threading.main_thread():
            self._run_aside(run_here)
        else:
            run_here()
        if self._error is not None:
            raise self._error
        return (*outcome[0], self._diagnostics)

    def _run_aside(self, run: Callable[[], None]) -> None:
        """Runs it on a thread of its own. Python runs handlers of signals on the main thread
        alone, and would run them on entry to a callback, before it can keep what they raise; so
        the main thread waits where it can be interrupted."""
        ended = threading.Lock()
        ended.acquire()

        def run_there() -> None:
            try:
                run()
            except BaseException as error:
                self._error = error
            finally:
                ended.release()

        threading.Thread(target=run_there, name="blockscale").start()
        try:
            ended.acquire()
        except BaseException as error:
            self._error = error
            # The work has arrays of the caller until it ends; another Ctrl-C gives up waiting.
            ended.acquire()
