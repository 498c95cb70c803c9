# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nodes of ONNX as they are written, and types by the names of MLIR."""

from __future__ import annotations

import collections
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

#: Numbers of ONNX's types by the names of MLIR.
TYPES = {
    "f32": TensorProto.FLOAT, "f64": TensorProto.DOUBLE, "f16": TensorProto.FLOAT16,
    "bf16": TensorProto.BFLOAT16, "f8E4M3FN": TensorProto.FLOAT8E4M3FN,
    "f8E5M2": TensorProto.FLOAT8E5M2, "f8E8M0FNU": TensorProto.FLOAT8E8M0,
    "f6E2M3FN": TensorProto.FLOAT6E2M3, "f6E3M2FN": TensorProto.FLOAT6E3M2,
    "f4E2M1FN": TensorProto.FLOAT4E2M1, "i1": TensorProto.BOOL, "i8": TensorProto.INT8,
    "i16": TensorProto.INT16, "i32": TensorProto.INT32, "i64": TensorProto.INT64,
}
NAMES = {number: name for name, number in TYPES.items()}


def get_type_name(number: int) -> str:
    """What a type is called in ONNX, as "float8e4m3fn"."""
    try:
        name: str = TensorProto.DataType.Name(number)
        return name.lower()
    except ValueError:
        return f"type {number}"


class Writer:
    """Nodes in the order in which they are computed."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self._names: collections.Counter[str] = collections.Counter()
        self._constants: dict[Any, str] = {}

    def name(self, base: str) -> str:
        """A name that no other value has."""
        count = self._names[base]
        self._names[base] += 1
        return f"{base}.{count}" if count else base

    def op(self, kind: str, *inputs: str, name: str | None = None, domain: str = "",
           **attributes: Any) -> str:
        """Adds a node of one result; its name."""
        return self.ops(kind, inputs, [name or kind.lower()], domain, **attributes)[0]

    def ops(self, kind: str, inputs: Sequence[str], names: Sequence[str], domain: str = "",
            **attributes: Any) -> list[str]:
        results = [self.name(name) for name in names]
        self.nodes.append(helper.make_node(kind, list(inputs), results, name=results[0],
                                           domain=domain, **attributes))
        return results

    def constant(self, array: Any) -> str:
        array = np.asarray(array)
        key = (array.dtype.name, array.shape, array.tobytes())
        if key not in self._constants:
            name = self.name("number")
            tensor = numpy_helper.from_array(array, name)
            self.nodes.append(helper.make_node("Constant", [], [name], name=name, value=tensor))
            self._constants[key] = name
        return self._constants[key]

    def number(self, value: float) -> str:
        """One f32."""
        return self.constant(np.float32(value))

    def sizes(self, *values: int) -> str:
        """A list of sizes or axes."""
        return self.constant(np.array(values, np.int64))

    def cast(self, x: str, dtype: str, **attributes: Any) -> str:
        return self.op("Cast", x, name="cast", to=TYPES[dtype], **attributes)
