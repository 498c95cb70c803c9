# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element types, and shapes of what functions take."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from blockscale._errors import ArgumentError

Size = int | None


@dataclasses.dataclass(frozen=True)
class Element:
    """An element type: its MLIR name, what NumPy stores it as (two f4 codes a byte),
    the type of ml_dtypes, DLPack's (code, bits) and PyTorch's name."""

    mlir: str
    storage: str
    numpy: Any = None
    dlpack: tuple[int, int] | None = None
    torch: str = ""

    @property
    def is_packed(self) -> bool:
        return self.mlir == "f4E2M1FN"

    def describe(self) -> str:
        """The dtypes of arrays that hold such elements."""
        if self.is_packed:
            return "uint8 with two codes a byte"
        logical = np.dtype(self.numpy).name if self.numpy is not None else self.storage
        bits = f" (or its bits as {self.storage})" if logical != self.storage else ""
        return logical + bits


ELEMENTS = {element.mlir: element for element in (
    Element("f32", "float32", np.float32, (2, 32), "float32"),
    Element("f64", "float64", np.float64, (2, 64), "float64"),
    Element("f16", "float16", np.float16, (2, 16), "float16"),
    Element("bf16", "uint16", ml_dtypes.bfloat16, (4, 16), "bfloat16"),
    Element("f8E4M3FN", "uint8", ml_dtypes.float8_e4m3fn, (10, 8), "float8_e4m3fn"),
    Element("f8E5M2", "uint8", ml_dtypes.float8_e5m2, (12, 8), "float8_e5m2"),
    Element("f8E8M0FNU", "uint8", ml_dtypes.float8_e8m0fnu, (14, 8), "float8_e8m0fnu"),
    Element("f6E2M3FN", "uint8", ml_dtypes.float6_e2m3fn),
    Element("f6E3M2FN", "uint8", ml_dtypes.float6_e3m2fn),
    Element("f4E2M1FN", "uint8", None, (17, 8), "float4_e2m1fn_x2"),
    Element("i1", "bool", np.bool_, (6, 8), "bool"),
    Element("i8", "int8", np.int8, (0, 8), "int8"),
    Element("i16", "int16", np.int16, (0, 16), "int16"),
    Element("i32", "int32", np.int32, (0, 32), "int32"),
    Element("i64", "int64", np.int64, (0, 64), "int64"),
    Element("index", "int64", np.int64, (0, 64), "int64"),
)}

_NAMES = {
    **{name: name for name in ELEMENTS if name != "index"},
    "float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16",
    "float8_e4m3fn": "f8E4M3FN", "e4m3": "f8E4M3FN",
    "float8_e5m2": "f8E5M2", "e5m2": "f8E5M2",
    "float8_e8m0fnu": "f8E8M0FNU", "e8m0": "f8E8M0FNU",
    "float6_e2m3fn": "f6E2M3FN", "e2m3": "f6E2M3FN",
    "float6_e3m2fn": "f6E3M2FN", "e3m2": "f6E3M2FN",
    "float4_e2m1fn": "f4E2M1FN", "e2m1": "f4E2M1FN",
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "bool": "i1",
}


def element_name(dtype: Any) -> str:
    """The MLIR name of a name ("bf16", "e4m3"), a NumPy, ml_dtypes or PyTorch dtype."""
    name = dtype if isinstance(dtype, str) else str(dtype).removeprefix("torch.")
    if name not in _NAMES:
        with contextlib.suppress(TypeError):
            name = np.dtype(dtype).name
    if name not in _NAMES:
        raise ArgumentError(f"expected dtype to be one of {', '.join(sorted(_NAMES))}, "
                            f"but got {dtype!r}")
    return _NAMES[name]


#: The names of the layouts of scales in tiles.
LAYOUTS = ("swizzle_128x4", "swizzle_8x4")


@dataclasses.dataclass(frozen=True)
class Layout:
    """A layout of scales in tiles: by its name, of one matrix, or of `groups` groups along
    dimension `dim`. A number of None is that of the offsets of each call.

    "swizzle_128x4", tiles of 128 rows and 4 columns, is what tensor cores read, and alone
    has groups. "swizzle_8x4", tiles of 8 rows and 4 columns, is what kernels of FlashInfer
    and TensorRT-LLM read for few rows."""

    groups: int | None = 0
    dim: int = 0
    name: str = LAYOUTS[0]

    def __post_init__(self) -> None:
        if self.name not in LAYOUTS:
            raise ArgumentError(f"expected the name of a Layout to be one of {', '.join(LAYOUTS)}, "
                                f"but got {self.name!r}")

    def __str__(self) -> str:
        groups = "?" if self.groups is None else self.groups
        grouped = "" if groups == 0 else f", groups = {groups}, dim = {self.dim}"
        return f"#blockscale.layout<{self.name}{grouped}>"


@dataclasses.dataclass(frozen=True)
class DataLayout:
    """The layout of data that products of a plain operand on Hopper read at once: blocks
    of 64 rows and 64 columns, in the order of register fragments."""

    def __str__(self) -> str:
        return "#blockscale.data_layout<fragments_64x64>"


@dataclasses.dataclass(frozen=True, init=False)
class Spec:
    """Shape and dtype of an array; a size of None is any.

        Spec((None, 4096), "bf16")
        Spec((), "f32")                             # a tensor of rank 0
        Spec((200, 5), "e4m3", layout=Layout())     # scales in tiles
        Spec((64, 256), "e2m1", layout=DataLayout())  # prepacked data
    """

    shape: tuple[Size, ...]
    dtype: str
    layout: Layout | DataLayout | None

    def __init__(self, shape: Sequence[Size], dtype: Any,
                 layout: Layout | DataLayout | None = None):
        for size in shape:
            if size is not None and (not isinstance(size, (int, np.integer)) or size < 0):
                raise ArgumentError("expected sizes of a shape to be None or numbers from "
                                    f"0 on, but got {size!r}")
        object.__setattr__(self, "shape", tuple(None if size is None else int(size)
                                                for size in shape))
        object.__setattr__(self, "dtype", element_name(dtype))
        object.__setattr__(self, "layout", layout)

    @property
    def element(self) -> Element:
        return ELEMENTS[self.dtype]

    @property
    def rank(self) -> int:
        return len(self.shape)

    def __str__(self) -> str:
        """The MLIR type."""
        sizes = "".join(f"{'?' if size is None else size}x" for size in self.shape)
        encoding = f", {self.layout}" if self.layout else ""
        return f"tensor<{sizes}{self.dtype}{encoding}>"


def ceil_div(size: Size, divisor: int) -> Size:
    return None if size is None else -(-size // divisor)
