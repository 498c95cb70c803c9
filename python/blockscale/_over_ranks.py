# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that take amaxes over ranks, for which each call has a function that reduces."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

_KINDS = ("max",)


@dataclass(frozen=True)
class Reduction:
    """Float32 numbers of a call that become, in place, what they are over all ranks.

    Attributes:
      address: that of the first.
      count: how many there are.
      device: the number of the GPU in whose memory they are; None for the host's.
      kind: "max": the largest in each place, and NaN where one of them is. No number is negative,
        so that their bits, taken as integers, have the same largest one.
      stream: the CUstream on which they are made and read; 0 for the default one.
    """

    address: int
    count: int
    device: int | None
    kind: str
    stream: int

    @property
    def array(self) -> np.ndarray:
        """The numbers themselves, if they are in the host's memory."""
        return np.ctypeslib.as_array((ctypes.c_float * self.count).from_address(self.address))


#: Reduces over ranks: on a GPU it puts that on the stream, and does not wait.
OverRanks = Callable[[Reduction], None]


def one_rank(reduction: Reduction) -> None:
    """What reduces over ranks where there is one: the numbers stay as they are."""


def take_reductions(over_ranks: OverRanks, device: int | None
                    ) -> Callable[[int, int, int, int, int], None]:
    """`over_ranks` as the library calls it for a function of that GPU, or of the host."""

    def reduce(address: int, count: int, _: int, kind: int, stream: int) -> None:
        over_ranks(Reduction(address, count, device, _KINDS[kind], stream))
    return reduce
