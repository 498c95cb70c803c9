# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of checkpoints, and the weights that they are parts of."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np

from blockscale._errors import ArgumentError
from blockscale._native._checkpoint import TensorFile
from blockscale.checkpoint._layouts import DATA, PLAIN_DTYPES, Layout

#: The dtypes of NumPy and ml_dtypes by those of files.
NUMPY = {
    "BOOL": np.bool_, "U8": np.uint8, "I8": np.int8, "I16": np.int16, "U16": np.uint16,
    "I32": np.int32, "U32": np.uint32, "I64": np.int64, "U64": np.uint64, "F16": np.float16,
    "F32": np.float32, "F64": np.float64, "BF16": ml_dtypes.bfloat16,
    "F8_E4M3": ml_dtypes.float8_e4m3fn, "F8_E5M2": ml_dtypes.float8_e5m2,
    "F8_E8M0": ml_dtypes.float8_e8m0fnu,
}

_TORCH = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64",
    "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64",
    "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu",
}


@dataclasses.dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor of a checkpoint.

    Attributes:
      name, shape, nbytes: its own.
      dtype: by safetensors' names, as "BF16" or "F8_E4M3", or by GGUF's, as "MXFP4".
      file: the path of its file.
      offset: in bytes, from the file's begin.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int
    offset: int
    file: str
    _mapped: TensorFile

    def bytes(self, begin: int = 0, end: int | None = None) -> np.ndarray:
        """Some of its bytes, a view that cannot be written."""
        stop = self.nbytes if end is None else end
        return self._mapped.view_bytes(self.offset + begin, stop - begin)

    def numpy(self) -> np.ndarray:
        """Its elements, a view that cannot be written; bf16 and f8 in types of ml_dtypes.

        Raises: ArgumentError for a type that NumPy has no elements for.
        """
        if self.dtype not in NUMPY:
            raise ArgumentError(f"'{self.name}': expected a dtype of NumPy or ml_dtypes, but got "
                                f"{self.dtype}; bytes() has what is stored")
        data = self.bytes()
        dtype = np.dtype(NUMPY[self.dtype])
        if (self.offset % dtype.itemsize):
            data = data.copy()
            data.flags.writeable = False
        found: np.ndarray = data.view(dtype).reshape(self.shape)
        return found

    def torch(self, copy: bool = False) -> Any:
        """Its elements as a tensor of PyTorch: a view of the file, which ends the process where it
        is written, or a copy, which may be.

        Raises: ArgumentError for a type that PyTorch has no elements for, or for a view where the
          elements are not at a multiple of their size; ImportError without PyTorch.
        """
        try:
            import torch
        except ImportError as error:
            raise ImportError("expected PyTorch to be installed for views of it; pip install "
                              "'blockscale[torch]'") from error
        dtype = getattr(torch, _TORCH.get(self.dtype, ""), None)
        if dtype is None:
            raise ArgumentError(f"'{self.name}': expected a dtype of PyTorch, but got "
                                f"{self.dtype}; bytes() has what is stored")
        data = self.bytes().copy() if copy else self.bytes()
        if data.ctypes.data % dtype.itemsize:
            raise ArgumentError(f"'{self.name}': expected elements at a multiple of "
                                f"{dtype.itemsize} bytes, but got {self.offset}; ask for a copy")
        with warnings.catch_warnings():
            # That it cannot be written is told above.
            warnings.simplefilter("ignore", UserWarning)
            flat = torch.from_numpy(data)
        return flat.view(dtype).reshape(self.shape)

    def release(self, begin: int = 0, end: int | None = None) -> None:
        """Says that these bytes are not needed any more: they stay in the file's cache alone."""
        stop = self.nbytes if end is None else end
        self._mapped.release(self.offset + begin, stop - begin)

    def __repr__(self) -> str:
        return f"Tensor({self.name!r}, {self.dtype}, {list(self.shape)})"


@dataclasses.dataclass(frozen=True, eq=False)
class Weight:
    """A logical weight: what a layer multiplies by.

    Attributes:
      name: of the layer, as "model.layers.0.mlp.down_proj", or of the stack of experts.
      layout: how it is stored.
      shape: [N, K], or [E, N, K] of a stack. Plain stacks of some models are [E, K, N], which
        `is_transposed` says; the shape is [E, N, K] nevertheless.
      parts: its tensors by role: "data", "scales", "global_scale", "input_scale".
      is_swizzled: whether its scales are in the layout swizzle_128x4.
    """

    name: str
    layout: Layout
    shape: tuple[int, ...]
    parts: Mapping[str, Tensor]
    is_transposed: bool = False
    is_swizzled: bool = False

    @property
    def format(self) -> str:
        return self.layout.format

    @property
    def dtype(self) -> str:
        """Of the data: "bf16", .. of plain ones, else as files name it."""
        dtype = self.parts[DATA].dtype
        return PLAIN_DTYPES.get(dtype, dtype) if self.layout.is_plain else dtype

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self.parts.values())

    @property
    def num_matrices(self) -> int:
        return math.prod(self.shape[:-2])

    def __repr__(self) -> str:
        return f"Weight({self.name!r}, {self.layout.name}, {list(self.shape)})"
