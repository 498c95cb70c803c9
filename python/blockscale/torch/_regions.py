# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of a graph that one module of the dialect computes, as calls of an op.

A region is a text: its ops with their arguments, and what its inputs are. So a call of the op says
all that there is to know, and compiled programs that are kept in files or sent to other processes
mean the same there.
"""

from __future__ import annotations

import functools
import json
import math
from typing import Any, Sequence

import torch
from torch import Tensor, fx
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import (DimDynamic, ShapeEnv,
                                                   StatelessSymbolicContext)
from torch.fx.passes.fake_tensor_prop import FakeTensorProp

from blockscale._errors import ArgumentError
from blockscale._trace import Module
from blockscale.torch import _import_ops  # noqa: F401 (handlers)
from blockscale.torch._forms import has_product
from blockscale.torch._kernels import Kernel, to_argument
from blockscale.torch._program import Imported, from_graph

#: Sizes that stand for symbols while a region is traced: neither 0 nor 1, and all different.
_HINTS = (37, 41, 43, 47, 53, 59, 61, 67)


class Key:
    """Stands for a value of a region that the graph does not have."""


def get_name(target: Any) -> str:
    """The name of an op in texts: "aten.mul.Tensor"."""
    return str(target)


def _resolve(name: str) -> Any:
    namespace, op, overload = name.split(".")
    return getattr(getattr(getattr(torch.ops, namespace), op), overload)


def _encode(value: Any, numbers: dict[Any, int]) -> Any:
    if isinstance(value, (fx.Node, Key)):
        return {"node": numbers[value]}
    if isinstance(value, torch.dtype):
        return {"dtype": str(value).removeprefix("torch.")}
    if isinstance(value, (list, tuple)):
        return [_encode(each, numbers) for each in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        if isinstance(value, float) and not math.isfinite(value):
            return {"float": str(value)}
        return value
    raise ArgumentError(f"expected arguments that are numbers, texts and dtypes, but got {value!r}")


def _decode(value: Any, nodes: list[Any]) -> Any:
    if isinstance(value, list):
        return [_decode(each, nodes) for each in value]
    if isinstance(value, dict):
        (kind, held), = value.items()
        return (nodes[held] if kind == "node" else float(held) if kind == "float" else
                getattr(torch, held))
    return value


def write_region(inputs: Sequence[fx.Node], ops: Sequence[tuple[Any, str, Sequence[Any], Any]],
                 outputs: Sequence[Any], rows: int) -> str:
    """The text of a region.

    Args:
      inputs: tensors that are computed before.
      ops: the key by which others name the result, the op's name, arguments and keywords.
      outputs: keys of the results.
      rows: the number of the input whose rows schedules go by.
    """
    numbers: dict[Any, int] = {node: number for number, node in enumerate(inputs)}
    symbols: dict[str, str] = {}

    def encode_size(size: Any) -> Any:
        if isinstance(size, int):
            return size
        return symbols.setdefault(str(size), f"s{len(symbols)}")
    described = []
    for node in inputs:
        tensor = node.meta["val"]
        described.append([str(tensor.dtype).removeprefix("torch."),
                          [encode_size(size) for size in tensor.shape]])
    lines = []
    for key, name, args, kwargs in ops:
        lines.append([name, _encode(list(args), numbers),
                      {each: _encode(value, numbers) for each, value in kwargs.items()}])
        numbers[key] = len(numbers)
    return json.dumps({"inputs": described, "ops": lines, "rows": rows,
                       "outputs": [numbers[key] for key in outputs]}, separators=(",", ":"))


class Region:
    """A region that was read from its text."""

    def __init__(self, text: str):
        self.text = text
        self._held: dict[str, Any] = json.loads(text)
        self.rows: int = self._held["rows"]
        self.graph = self._make_graph()
        self._symbols = sorted({size for _, shape in self._held["inputs"] for size in shape
                                if isinstance(size, str)})
        imported = self._trace({})
        self._order = [argument.input for argument in imported.arguments]
        dtypes = [getattr(torch, value.spec.element.torch) for value in imported.module.results]
        self._kernel = Kernel(f"a region of {len(self._held['ops'])} ops", self._build, dtypes)

    def _make_graph(self) -> fx.GraphModule:
        graph = fx.Graph()
        nodes: list[Any] = [graph.placeholder(f"input{number}")
                            for number in range(len(self._held["inputs"]))]
        for name, args, kwargs in self._held["ops"]:
            nodes.append(graph.call_function(
                _resolve(name), tuple(_decode(args, nodes)),
                {each: _decode(value, nodes) for each, value in kwargs.items()}))
        graph.output(tuple(nodes[number] for number in self._held["outputs"]))
        return fx.GraphModule(torch.nn.Module(), graph)

    def _trace(self, sizes: dict[str, int]) -> Imported:
        """The module where some symbols have sizes."""
        mode = FakeTensorMode(shape_env=ShapeEnv(), static_shapes=False)
        hints = dict(zip(self._symbols, _HINTS, strict=False))
        fakes = []
        for dtype, shape in self._held["inputs"]:
            concrete = [size if isinstance(size, int) else sizes.get(size, hints[size])
                        for size in shape]
            dynamic = [DimDynamic.DUCK if isinstance(size, str) and size not in sizes
                       else DimDynamic.STATIC for size in shape]
            fakes.append(mode.from_tensor(
                torch.empty(concrete, dtype=getattr(torch, dtype), device="meta"),
                symbolic_context=StatelessSymbolicContext(dynamic_sizes=dynamic)))
        graph = self._make_graph()
        with torch.no_grad():
            FakeTensorProp(graph, mode).propagate_dont_convert_inputs(*fakes)
        return from_graph(graph, "region")

    def _build(self, rows: int | None) -> Module:
        if rows is None:
            return self._trace({}).module
        # All rows are along one dimension.
        sizes = dict.fromkeys(self._symbols, 1)
        if self._symbols:
            sizes[self._symbols[-1]] = rows
        return self._trace(sizes).module

    def __call__(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        if not has_product(inputs[self.rows].device, "linear_weight_only" in self.text):
            return list(self.graph(*inputs))
        arguments = [to_argument(inputs[number]) for number in self._order]
        rows = math.prod(inputs[self.rows].shape[:-1])
        return self._kernel(arguments, rows if self._symbols else None)


@functools.lru_cache(maxsize=None)
def read_region(text: str) -> Region:
    return Region(text)
