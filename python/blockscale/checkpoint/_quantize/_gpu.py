# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantizes rows on a GPU, by the functions that quantize them on the CPU, with the same bytes.

Rows go to the GPU chunk by chunk, and codes and scales come back, so that memory is that of chunks
there, too. PyTorch has the memory of the GPU.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from blockscale._errors import ArgumentError
from blockscale._native import chips, choose_chip
from blockscale.checkpoint import _kernels

#: Where rows go.
DEVICE = "cuda"
_LOCK = threading.Lock()


def check_gpu() -> None:
    """Refuses a machine without a GPU that we have kernels for.

    Raises: ArgumentError; ImportError without PyTorch.
    """
    try:
        import torch
    except ImportError as error:
        raise ImportError("expected PyTorch to be installed to quantize on a GPU; pip install "
                          "'blockscale[torch]'") from error
    if not torch.cuda.is_available():
        raise ArgumentError("expected a GPU for on='cuda', but got none; leave it out")
    capability = torch.cuda.get_device_capability()
    if choose_chip(*capability) is None:
        raise ArgumentError(f"expected a GPU of {chips}, but got one of capability {capability}")


@functools.cache
def _make_kernel(key: tuple[str, str, str, bool, bool], cols: int) -> Any:
    import torch

    from blockscale.torch._kernels import Kernel
    return Kernel(f"quantize to {key[0]}", lambda _: _kernels.trace_quantizer(*key, cols=cols),
                  [torch.uint8, torch.uint8])


def _get_kernel(key: tuple[str, str, str, bool, bool], cols: int) -> Any:
    with _LOCK:
        return _make_kernel(key, cols)


def quantize(x: np.ndarray, dtype: str, format: str, recipe: str, amax: float | None,
             is_swept: bool, out: Sequence[np.ndarray]) -> None:
    """As blockscale.checkpoint._kernels.quantize()."""
    import torch
    kernel = _get_kernel((format, recipe, dtype, is_swept, amax is not None), x.shape[1])
    kind = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}[dtype]
    # The view cannot be written, which nothing here does; frombuffer() would warn of it.
    plain = np.array(x.view(np.uint8).reshape(-1), copy=not x.flags.writeable)
    rows = torch.from_numpy(plain).view(kind).reshape(x.shape).to(DEVICE)
    arguments = [rows]
    if amax is not None:
        arguments.append(torch.tensor(amax, dtype=torch.float32, device=DEVICE))
    for array, found in zip(out, kernel(arguments)):
        array[...] = found.view(torch.uint8).reshape(array.shape).cpu().numpy()
