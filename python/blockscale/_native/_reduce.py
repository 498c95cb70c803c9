# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a call of the library asks Python to reduce over ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from blockscale._native import _structures

#: Takes the address, the count, the number of the dtype, that of the kind, and the stream.
Reduce = Callable[[int, int, int, int, int], None]


class Reducer:
    """Passes reductions of one call to `reduce`; None is for functions that have none."""

    def __init__(self, reduce: Reduce | None):
        self._reduce = reduce
        self._error: BaseException | None = None
        self.callback = (_structures.ReduceCallback() if reduce is None
                         else _structures.ReduceCallback(self._call))

    def _call(self, reduction: Any, _: Any) -> int:
        # ctypes loses exceptions of callbacks.
        try:
            wanted = reduction[0]
            assert self._reduce is not None
            self._reduce(wanted.address, wanted.count, wanted.dtype, wanted.kind,
                         wanted.stream or 0)
        except BaseException as error:
            self._error = error
        return int(self._error is not None)

    def raise_error(self) -> None:
        """Raises what `reduce` raised."""
        if self._error is not None:
            raise self._error
