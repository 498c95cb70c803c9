# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The numbers of tensors whose size a file may say as it likes, in parts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from blockscale.checkpoint._tensors import NUMPY, Tensor

#: Bytes of a part, which stay in the caches of a core.
_PART = 256 << 10


def list_numbers(tensor: Tensor) -> Iterator[np.ndarray]:
    """The numbers of a tensor in f32, a part after the other, flat."""
    dtype = np.dtype(NUMPY[tensor.dtype])
    for begin in range(0, tensor.nbytes, _PART):
        # Elements may be at any byte of the file.
        part = tensor.bytes(begin, min(begin + _PART, tensor.nbytes)).copy()
        yield part.view(dtype).astype(np.float32)


def find_no_scale(tensor: Tensor) -> np.float32 | None:
    """The first number of a tensor that is no scale, which is above 0 and finite."""
    for values in list_numbers(tensor):
        bad = values[~((values > 0) & (values < np.inf))]
        if bad.size:
            first: np.float32 = bad[0]
            return first
    return None
