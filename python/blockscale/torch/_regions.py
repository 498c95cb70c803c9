# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of a graph that one module of the dialect computes, as calls of an op.

A region is a text: its ops with their arguments, and what its inputs are. So a call of the op says
all that there is to know, and compiled programs that are kept in files or sent to other processes
mean the same there.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, fx
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.passes.fake_tensor_prop import FakeTensorProp

from blockscale._errors import ArgumentError
from blockscale._trace import Module
from blockscale._types import element_name
from blockscale.torch._forms import has_product
from blockscale.torch._kernels import LOG, Kernel, join_tensors, to_argument
from blockscale.torch._region_module import RegionBuilder

#: The number of rows while a region for any is traced: neither 0 nor 1, and no other size.
_HINT = 3067


class Key:
    """Stands for a value of a region that the graph does not have."""


@dataclasses.dataclass(frozen=True)
class Joined:
    """Tensors that are an input of a region as one, behind one another along the first
    dimension."""

    nodes: tuple[fx.Node, ...]

    @property
    def val(self) -> Tensor:
        """A tensor without memory that has their type and shape."""
        values: list[Tensor] = [node.meta["val"] for node in self.nodes]
        return torch.empty([sum(each.shape[0] for each in values), *values[0].shape[1:]],
                           dtype=values[0].dtype, device="meta")


def get_name(target: Any) -> str:
    """The name of an op in texts: "aten.mul.Tensor"."""
    return str(target)


def _resolve(name: str) -> Any:
    namespace, op, overload = name.split(".")
    return getattr(getattr(getattr(torch.ops, namespace), op), overload)


def _encode(value: Any, numbers: dict[Any, int]) -> Any:
    if isinstance(value, (fx.Node, Key, Joined)):
        return {"node": numbers[value]}
    if isinstance(value, torch.dtype):
        return {"dtype": str(value).removeprefix("torch.")}
    if isinstance(value, (list, tuple)):
        return [_encode(each, numbers) for each in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value  # JSON of Python has infinities and NaN, too.
    raise ArgumentError(f"expected arguments that are numbers, texts and dtypes, but got {value!r}")


def _decode(value: Any, nodes: list[Any]) -> Any:
    if isinstance(value, list):
        return [_decode(each, nodes) for each in value]
    if isinstance(value, dict):
        (kind, held), = value.items()
        return nodes[held] if kind == "node" else getattr(torch, held)
    return value


def write_region(inputs: Sequence[fx.Node | Joined],
                 ops: Sequence[tuple[Any, str, Sequence[Any], Any]],
                 outputs: Sequence[Any], lead: Sequence[Any], settled: Sequence[int] = ()) -> str:
    """The text of a region.

    Args:
      inputs: tensors that are computed before. The call has the tensors of a joined one apart.
      ops: the key by which others name the result, the op's name, arguments and keywords.
      outputs: keys of the results.
      lead: the sizes before the last one that rows of activations have. In the region these are
        one dimension, of any size.
      settled: numbers of inputs that nothing writes which may still run when a call begins.

    Raises: ArgumentError where an input is neither rows nor of known sizes, or none is rows.
    """
    numbers: dict[Any, int] = {node: number for number, node in enumerate(inputs)}
    described: list[Any] = []
    for node in inputs:
        tensor = node.val if isinstance(node, Joined) else node.meta["val"]
        dtype = str(tensor.dtype).removeprefix("torch.")
        if is_rows(tensor, lead):
            described.append([dtype, [None, tensor.shape[-1]]])
        elif all(isinstance(size, int) for size in tensor.shape) and (
                tensor.dim() < 2 or tensor.dtype == torch.uint8):
            described.append([dtype, list(tensor.shape)])
        else:
            name = node.nodes[0].name if isinstance(node, Joined) else node.name
            raise ArgumentError(f"expected {name} to have rows as the layer's activations, or "
                                f"one row, but got shape {list(tensor.shape)}")
    if not any(shape[:1] == [None] for _, shape in described):
        raise ArgumentError("expected an operand with rows as the layer's activations")
    lines = []
    for key, name, args, kwargs in ops:
        lines.append([name, _encode(list(args), numbers),
                      {each: _encode(value, numbers) for each, value in kwargs.items()}])
        numbers[key] = len(numbers)
    counts = [len(node.nodes) if isinstance(node, Joined) else 1 for node in inputs]
    return _to_text({"inputs": described, "counts": counts, "ops": lines,
                     "outputs": [numbers[key] for key in outputs],
                     **({"settled": list(settled)} if settled else {})})


def _to_text(held: dict[str, Any]) -> str:
    return json.dumps(held, separators=(",", ":"))


def is_rows(tensor: Tensor, lead: Sequence[Any]) -> bool:
    """Whether a tensor has a last size that is known, and these before. Compares expressions, so
    that nothing is assumed of sizes."""
    return (tensor.dtype != torch.uint8 and tensor.dim() > 1
            and isinstance(tensor.shape[-1], int)
            and [str(size) for size in tensor.shape[:-1]] == [str(size) for size in lead])


class Region:
    """A region that was read from its text."""

    def __init__(self, text: str):
        self.text = text
        held: dict[str, Any] = json.loads(text)
        self._inputs: list[tuple[torch.dtype, list[Any]]] = [
            (getattr(torch, dtype), shape) for dtype, shape in held["inputs"]]
        self._ops, self._outputs = held["ops"], held["outputs"]
        self._counts: list[int] = held.get("counts") or [1] * len(self._inputs)
        self._settled: list[int] = held.get("settled", [])
        self._is_rows = [shape[:1] == [None] for _, shape in self._inputs]
        #: An input that has the rows of the results.
        self._first = self._is_rows.index(True)
        self._formats = [value for _, _, options in self._ops for name, value in options.items()
                         if name in ("format", "input_format")]
        self._by_choice: dict[tuple[bool, ...], Region] = {}
        self._graph = self._make_graph()
        self._dtypes = self._find_dtypes()
        module, self._order = self._make_builder().build(None)
        dtypes = [getattr(torch, value.spec.element.torch) for value in module.results]
        self._kernel = Kernel(f"a region of {len(self._ops)} ops", self.build, dtypes)

    def _make_graph(self) -> fx.GraphModule:
        graph = fx.Graph()
        nodes: list[Any] = [graph.placeholder(f"input{number}")
                            for number in range(len(self._inputs))]
        for name, args, kwargs in self._ops:
            nodes.append(graph.call_function(
                _resolve(name), tuple(_decode(args, nodes)),
                {each: _decode(value, nodes) for each, value in kwargs.items()}))
        graph.output(tuple(nodes[number] for number in self._outputs))
        return fx.GraphModule(torch.nn.Module(), graph)

    def _find_dtypes(self) -> list[str]:
        """The dtype of each op's result, as PyTorch has it."""
        fakes = [torch.empty([_HINT if size is None else size for size in shape], dtype=dtype,
                             device="meta") for dtype, shape in self._inputs]
        graph = self._make_graph()
        with FakeTensorMode() as mode, torch.no_grad():
            FakeTensorProp(graph, mode).propagate_dont_convert_inputs(
                *[mode.from_tensor(each) for each in fakes])
        return [element_name(node.meta["val"].dtype) for node in graph.graph.nodes
                if node.op == "call_function"]

    def build(self, rows: int | None) -> Module:
        """The module for a number of rows, or for any."""
        return self._make_builder().build(rows)[0]

    def _make_builder(self) -> RegionBuilder:
        inputs = [("i8" if dtype == torch.uint8 else element_name(dtype), shape)
                  for dtype, shape in self._inputs]
        return RegionBuilder(inputs, self._ops, self._outputs, self._dtypes, self._settled)

    def _flatten(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        return [each.reshape(-1, each.shape[-1]) if is_rows and each.dim() != 2 else each
                for each, is_rows in zip(inputs, self._is_rows)]

    def _unflatten(self, results: Sequence[Tensor], inputs: Sequence[Tensor]) -> list[Tensor]:
        lead = inputs[self._first].shape[:-1]
        if len(lead) == 1:
            return list(results)
        return [each.reshape(*lead, each.shape[-1]) for each in results]

    def _join(self, given: Sequence[Tensor],
              join: Callable[[list[Tensor]], Tensor]) -> Sequence[Tensor]:
        """The inputs of what a call was given."""
        if len(given) == len(self._counts):
            return given
        inputs, rest = [], list(given)
        for count in self._counts:
            parts, rest = rest[:count], rest[count:]
            inputs.append(parts[0] if count == 1 else join(parts))
        return inputs

    def make_fakes(self, given: Sequence[Tensor]) -> list[Tensor]:
        """The results of a call for fake tensors."""
        return self.run_plain(self._join(given, torch.cat))

    def run_plain(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """The results, op by op."""
        return self._unflatten(self._graph(*self._flatten(inputs)), inputs)

    def differentiate(self, given: Sequence[Tensor], needed: Sequence[bool],
                      gradients: Sequence[Tensor | None]) -> list[Tensor | None]:
        """The gradients of the tensors of a call that need one, given those of its results: by the
        ops, which are computed one by one."""
        leaves = [each.detach().requires_grad_(is_needed)
                  for each, is_needed in zip(given, needed)]
        with torch.enable_grad():
            results = self.run_plain(self._join(leaves, torch.cat))
        pairs = [(each, gradient) for each, gradient in zip(results, gradients)
                 if gradient is not None and each.requires_grad]
        wanted = [leaf for leaf in leaves if leaf.requires_grad]
        found = iter(torch.autograd.grad([each for each, _ in pairs], wanted,
                                         [gradient for _, gradient in pairs], allow_unused=True)
                     if pairs else [None] * len(wanted))
        return [next(found) if leaf.requires_grad else None for leaf in leaves]

    def _choose(self, rows: int) -> Region:
        """The region for so many rows: layers that leave these plain are layers of weights
        alone."""
        bounds = [options.get("plain_rows", 0) for _, _, options in self._ops]
        if not any(bounds):
            return self
        choice = tuple(rows <= bound for bound in bounds)
        if choice not in self._by_choice:
            held = dict(json.loads(self.text), counts=None)
            for op, is_plain in zip(held["ops"], choice):
                op[2].pop("plain_rows", None)
                if is_plain:
                    op[0] = "blockscale.linear_weight_only.default"
                    op[1] = op[1][:5]
                    op[2] = {name: value for name, value in op[2].items()
                             if not name.startswith("input_")}
            self._by_choice[choice] = read_region(_to_text(held))
        return self._by_choice[choice]

    def __call__(self, given: Sequence[Tensor]) -> list[Tensor]:
        inputs = self._join(given, _join_weights)
        chosen = self._choose(inputs[self._first].shape[:-1].numel())
        if chosen is not self:
            return chosen(inputs)
        if not has_product(inputs[self._first].device, "linear_weight_only" in self.text,
                           *self._formats):
            return self.run_plain(inputs)
        if self._settled:
            kept = {each.data_ptr() for each in given}
            if any(to_argument(inputs[number]).data_ptr() not in kept
                   for number in self._settled):
                return self._unsettled.compute(inputs)
        return self.compute(inputs)

    @functools.cached_property
    def _unsettled(self) -> Region:
        """The region for inputs that were copied just before the call."""
        held: dict[str, Any] = json.loads(self.text)
        return read_region(_to_text({name: held[name] for name in held if name != "settled"}))

    def compute(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """The results by the kernel, whatever the device has."""
        flat = self._flatten(inputs)
        results = self._kernel([to_argument(flat[number]) for number in self._order],
                               flat[self._first].shape[0])
        return self._unflatten(results, inputs)


def _join_weights(parts: list[Tensor]) -> Tensor:
    """Parts of a weight as one: where they do not lie behind one another, they are copied."""
    joined = join_tensors(parts)
    if joined is None:
        LOG.debug("a region copies %d tensors that do not lie behind one another", len(parts))
        joined = torch.cat(parts)
    return joined


@functools.cache
def read_region(text: str) -> Region:
    return Region(text)
