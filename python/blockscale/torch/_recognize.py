# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torchao's MX quantizer where a graph has it written out in aten ops.

Nothing here knows these ops: torchao's own function is exported for the operand's shape
and dtype, and the graph has to be the same, op by op and argument by argument.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch

_ELEMENTS = (torch.float8_e4m3fn, torch.float8_e5m2)
_MODES = ("rceil", "floor", "ceil", "even")
# Scales in tiles by the quantizer, by the product before it multiplies, or in rows. Rows
# are part of the others, so they come last.
_FORMS = ("swizzled", "blocked", "linear")
_SAME = ("aten.detach.default", "aten.alias.default")


@dataclasses.dataclass(eq=False)
class Quantizer:
    """Nodes that quantize `x`: results, and what only serves to compute them."""

    x: Any
    element: torch.dtype
    mode: str
    is_swizzled: bool
    data: Any
    scale: Any
    inside: set[Any]


@dataclasses.dataclass
class _Reference:
    x: Any
    data: Any
    scale: Any
    constants: dict[Any, torch.Tensor]


class _ToMX(torch.nn.Module):
    def __init__(self, element: torch.dtype, mode: Any, form: str):
        super().__init__()
        self.form = form
        self.how = (element, 32, mode, form == "swizzled")

    def forward(self, x: torch.Tensor) -> Any:
        from torchao.prototype.mx_formats.mx_tensor import to_blocked, to_mx
        scale, data = to_mx(x, *self.how)
        if self.form == "blocked":
            scale = to_blocked(scale.view(x.shape[0], x.shape[1] // 32))
        return data, scale


@functools.cache
def _export(shape: tuple[int, ...], dtype: torch.dtype, element: torch.dtype, mode: str,
            form: str) -> _Reference:
    from torchao.prototype.mx_formats.config import ScaleCalculationMode
    model = _ToMX(element, ScaleCalculationMode(mode), form)
    program = torch.export.export(model, (torch.zeros(shape, dtype=dtype),)).run_decompositions({})
    *constants, x = [node for node in program.graph.nodes if node.op == "placeholder"]
    data, scale = program.graph.output_node().args[0]
    specs = program.graph_signature.input_specs
    return _Reference(x, data, scale, {
        node: program.constants[spec.target] for node, spec in zip(constants, specs)})


class _Match:
    """Whether nodes of a graph are those of a reference, on the same x."""

    def __init__(self, reference: _Reference, x: Any, constants: dict[Any, torch.Tensor]):
        self.reference = reference
        self.constants = constants
        self.found = {reference.x: x}
        self.passed: set[Any] = set()

    def _pass(self, node: Any) -> Any:
        """What a node is the same tensor as: exports differ in these."""
        while node.op == "call_function" and str(node.target) in _SAME:
            self.passed.add(node)
            node = node.args[0]
        return node

    def find(self, wanted: Any, nodes: Iterable[Any]) -> Any:
        """The first that matches, or None."""
        for node in nodes:
            found = dict(self.found)
            if self.matches(wanted, node):
                return node
            self.found = found
        return None

    def matches(self, wanted: Any, node: Any) -> bool:
        if not isinstance(wanted, torch.fx.Node) or not isinstance(node, torch.fx.Node):
            return self._are_equal(wanted, node)
        wanted, node = self._pass(wanted), self._pass(node)
        if wanted in self.found:
            return self.found[wanted] is node
        if wanted in self.reference.constants:
            is_same = node in self.constants and _are_same(
                self.reference.constants[wanted], self.constants[node])
        else:
            is_same = (wanted.target == node.target and wanted.op == node.op
                       and self._are_equal(wanted.args, node.args)
                       and self._are_equal(wanted.kwargs, node.kwargs))
        if is_same:
            self.found[wanted] = node
        return is_same

    def _are_equal(self, a: Any, b: Any) -> bool:
        if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
            return len(a) == len(b) and all(map(self.matches, a, b))
        if isinstance(a, dict) and isinstance(b, dict):
            return a.keys() == b.keys() and all(self.matches(a[key], b[key]) for key in a)
        return type(a) is type(b) and (a == b or (a != a and b != b))


def _are_same(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return bool(((a == b) | ((a != a) & (b != b))).all())


def _get_rank(node: Any) -> int:
    meta = node.meta.get("val")
    return meta.dim() if isinstance(meta, torch.Tensor) else -1


def _find_operand(cast: Any) -> Any:
    """x of the cast of its blocks [M, K/32, 32] to codes, or None."""
    node = cast
    while isinstance(node, torch.fx.Node):
        if _get_rank(node) == 2:
            return node
        node = node.args[0] if node.args else None
    return None


def _find_one(cast: Any, nodes: Sequence[Any], constants: dict[Any, torch.Tensor]
              ) -> Quantizer | None:
    x = _find_operand(cast)
    if x is None:
        return None
    meta = x.meta["val"]
    if not all(isinstance(size, int) for size in meta.shape) or meta.shape[1] % 32:
        return None
    element = cast.kwargs["dtype"]
    for mode in _MODES:
        for form in _FORMS:
            reference = _export(tuple(meta.shape), meta.dtype, element, mode, form)
            match = _Match(reference, x, constants)
            data = match.find(reference.data, cast.users)
            if data is None:
                break
            scale = match.find(reference.scale, nodes)
            if scale is not None:
                inside = match.passed.union(match.found.values())
                return Quantizer(x, element, mode, form != "linear", data, scale,
                                 inside - {x, data, scale})
    return None


def find_quantizers(nodes: Sequence[Any], constants: dict[Any, torch.Tensor]
                    ) -> Iterator[Quantizer]:
    """Quantizers among nodes; those of a dynamic number of rows are not found."""
    if "torchao.prototype.mx_formats.mx_tensor" not in sys.modules:
        return
    for node in nodes:
        if (str(node.target) == "aten._to_copy.default" and node.kwargs.get("dtype") in _ELEMENTS
                and _get_rank(node) == 3):
            found = _find_one(node, nodes, constants)
            if found:
                yield found
