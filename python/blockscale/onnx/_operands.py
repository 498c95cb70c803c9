# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values of a graph that are no arrays of the program: known ones, and sizes."""

from __future__ import annotations

import dataclasses
from typing import Any, NoReturn

import numpy as np
import onnx

from blockscale._linalg import Array, Builder, Size
from blockscale.onnx._nodes import NAMES


def get_dtype(dtype: Any) -> str:
    """The name in MLIR of a dtype of NumPy; "" where there is none."""
    try:
        return NAMES.get(onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), "")
    except (KeyError, ValueError):
        return ""


@dataclasses.dataclass(frozen=True, eq=False)
class Constant:
    """What is known at import, as an array of NumPy and ml_dtypes."""

    value: np.ndarray
    name: str

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.value.shape

    @property
    def dtype(self) -> str:
        """The name in MLIR; that of NumPy where there is none."""
        return get_dtype(self.value.dtype) or self.value.dtype.name


@dataclasses.dataclass(frozen=True, eq=False)
class Sizes:
    """Numbers that are computed from sizes of inputs: an array of ints and expressions, and their
    type in the model, int64 or int32."""

    value: np.ndarray
    dtype: str = "i64"

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.value.shape


@dataclasses.dataclass(frozen=True, eq=False)
class Bytes:
    """Numbers of uint8, for which modules have no type: an i32 each."""

    array: Array

    @property
    def sizes(self) -> tuple[Size, ...]:
        return self.array.sizes

    @property
    def dtype(self) -> str:
        return "uint8"

    def materialize(self, builder: Builder) -> NoReturn:
        builder.refuse("expected numbers of a type that modules have, but got uint8, which Cast, "
                       "ConvInteger and MatMulInteger take")
