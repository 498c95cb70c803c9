# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The module of a region.

Elementwise ops are expressions until a value of them is needed as a tensor: by a layer, a mean, or
as a result. So all that is between is one op of linalg, which the compiler can put before a
quantizer, behind a product, or into a norm; a value that two tensors need is computed twice. Each
op is computed in f32 and rounded to the type that the graph gives it, as by itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import sympy

from blockscale._errors import ArgumentError
from blockscale._forms import OperandForm
from blockscale._linalg import Array, Body, Builder, emit_elementwise
from blockscale._linalg._body import Along
from blockscale._linalg._reductions import emit_reduction
from blockscale._ops import ORDERS
from blockscale._trace import Module, Value
from blockscale._types import Spec
from blockscale.torch._elements import COPY_OPS, ELEMENT_OPS
from blockscale.torch._products_kernels import Linear

_ROWS = sympy.Symbol("rows", integer=True, positive=True)
#: How a value varies: with elements of rows, with the row, with the column, or not at all.
_ELEMENTS, _OF_ROWS, _COLUMNS, _SCALAR = range(4)


@dataclasses.dataclass(frozen=True, eq=False)
class _Tensor:
    """A value that is a tensor: of `_OF_ROWS` values one for each row."""

    array: Array
    form: int

    @property
    def dtype(self) -> str:
        return self.array.dtype


@dataclasses.dataclass(frozen=True, eq=False)
class _Expression:
    """A value that is computed where it is needed: `compute(body, *operands)` in f32, rounded to
    `dtype`."""

    compute: Callable[..., str]
    operands: tuple[Any, ...]
    dtype: str
    form: int
    columns: int


_Operand = _Tensor | _Expression | int | float


def _get_compute(name: str, args: list[Any], kwargs: dict[str, Any]
                 ) -> tuple[Callable[..., str], list[Any]]:
    """How an op computes an element in f32, and its operands."""
    if name in COPY_OPS:
        return (lambda body, x: x), args[:1]
    if name not in ELEMENT_OPS:
        raise ArgumentError(f"expected an op on elements, but got {name}")
    compute, operands = ELEMENT_OPS[name](*args, **kwargs)
    return (lambda body, *names: compute(body, *names, "f32")), operands


class RegionBuilder(Builder):
    """Writes the module of a region.

    Args:
      inputs: dtype of MLIR and shape of each; a first size of None stands for the rows.
      ops: name, arguments and keywords of each, where {"node": n} is the n-th input or op.
      outputs: numbers of results.
      dtypes: of each op's result.
      settled: numbers of inputs that nothing writes which may still run when a call begins.
    """

    def __init__(self, inputs: Sequence[tuple[str, Sequence[Any]]],
                 ops: Sequence[tuple[str, list[Any], dict[str, Any]]], outputs: Sequence[int],
                 dtypes: Sequence[str], settled: Sequence[int]):
        super().__init__()
        self._inputs, self._ops, self._outputs = inputs, ops, outputs
        self._dtypes, self._settled = dtypes, settled

    def build(self, rows: int | None) -> tuple[Module, list[int]]:
        """The module for a number of rows, or any, and the inputs that its arguments are."""
        self._rows: Any = _ROWS if rows is None else rows
        self._values: list[Any] = []
        specs = self._find_specs()
        arguments, order = [], []
        for number, (dtype, shape) in enumerate(self._inputs):
            sizes = [self._rows if size is None else size for size in shape]
            if number in specs:
                value = Value(self.trace, self.trace.name("weight"), specs[number])
                self._values.append(value)
                arguments.append(value)
            else:
                array = self.add_argument("x", sizes, dtype)
                arguments.append(array.value)
                self._values.append(_Tensor(array, self._get_form(shape)))
            order.append(number)
        stored = self._find_stored()
        with self.tracing():
            for number, ((name, args, kwargs), dtype) in enumerate(zip(self._ops, self._dtypes)):
                value = self._emit_op(name, args, kwargs, dtype)
                self._values.append(self._materialize(value) if number in stored else value)
            results = [self._to_tensor(number) for number in self._outputs]
        module = self.finish("region", arguments, [each.value for each in results])
        module.settled = frozenset(arguments[number].name for number in self._settled)
        return module, order

    @staticmethod
    def _get_form(shape: Sequence[Any]) -> int:
        if not shape:
            return _SCALAR
        return _ELEMENTS if shape[0] is None else _COLUMNS

    def _find_specs(self) -> dict[int, Spec]:
        """How layers take the inputs that are weights."""
        specs: dict[int, Spec] = {}
        for name, args, kwargs in self._ops:
            if name.startswith("blockscale."):
                linear = self._get_linear(name, args, kwargs, None)
                wanted = linear.get_specs(None)
                for place, key in ((1, "data"), (2, "scales")):
                    specs[args[place]["node"]] = wanted[key]
        return specs

    def _find_stored(self) -> set[int]:
        """The ops on a layer's result that several tensors need, by different ops behind them: a
        residual sum, which the kernel of the layer computes and stores, so that nothing else
        computes it again."""
        first = len(self._inputs)
        reads = [{each["node"] - first for each in args if isinstance(each, dict)
                  and each.get("node", -1) >= first} for _, args, _ in self._ops]
        users: list[set[int]] = [set() for _ in self._ops]
        # The tensors that are made of a value: what a layer reads, the sum of a mean, results.
        ends: list[set[Any]] = [set() for _ in self._ops]
        outputs = {number - first for number in self._outputs}
        for number in reversed(range(len(self._ops))):
            if number in outputs:
                ends[number].add(number)
            is_layer, is_mean = self._is_layer(number), self._ops[number][0] == "aten.mean.dim"
            for read in reads[number]:
                users[read].add(number)
                ends[read] |= ({read} if is_layer else {("mean", number)} if is_mean
                               else ends[number])
        stored: set[int] = set()
        made: set[int] = set()  # Of layers' results, by ops on elements alone.
        for number, (name, _, _) in enumerate(self._ops):
            if self._is_layer(number):
                made.add(number)
            elif name != "aten.mean.dim" and reads[number] & made:
                if len(users[number]) + (number in outputs) > 1 and len(ends[number]) > 1:
                    stored.add(number)
                else:
                    made.add(number)
        return stored

    def _is_layer(self, number: int) -> bool:
        return self._ops[number][0].startswith("blockscale.")

    def _get_linear(self, name: str, args: list[Any], kwargs: dict[str, Any],
                    dtype: str | None) -> Linear:
        """The layer of an op; without a dtype for its weights alone."""
        import torch
        given = [*args, *[None] * (6 - len(args))]
        activation = None
        if name == "blockscale.linear_quantized.default":
            activation = OperandForm(kwargs["input_format"], kwargs.get("input_recipe"),
                                     kwargs.get("input_scaling", "none"))
        features = self._get_columns(given[0]["node"])
        scale = given[3]
        scale_shape = None if scale is None else tuple(self._inputs[scale["node"]][1])
        bias = None if given[4] is None else torch.float32
        found = torch.float32 if dtype is None else _to_torch(dtype)
        return Linear((kwargs["out_features"], features), found, kwargs["format"],
                      kwargs.get("layout", "row_major"), scale_shape, bias, activation,
                      kwargs.get("rht", False), kwargs.get("order", ORDERS[0]))

    def _get_columns(self, number: int) -> int:
        """The columns of an input or of an op's result."""
        if number < len(self._inputs):
            return int(self._inputs[number][1][-1])
        name, args, kwargs = self._ops[number - len(self._inputs)]
        if name.startswith("blockscale."):
            return int(kwargs["out_features"])
        if name == "aten.mean.dim":
            return 1
        return max(self._get_columns(each["node"]) for each in args
                   if isinstance(each, dict) and "node" in each
                   and (each["node"] >= len(self._inputs) or self._inputs[each["node"]][1]))

    # Values.

    def _get(self, operand: Any) -> Any:
        """The value of an argument, or the number that it is."""
        return self._values[operand["node"]] if isinstance(operand, dict) else operand

    def _emit_op(self, name: str, args: list[Any], kwargs: dict[str, Any], dtype: str) -> Any:
        if name.startswith("blockscale."):
            return self._emit_linear(name, args, kwargs, dtype)
        if name == "aten.mean.dim":
            return self._emit_mean(self._get(args[0]), dtype)
        compute, operands = _get_compute(name, args, kwargs)
        values = tuple(self._get(each) for each in operands)
        tensors = [each for each in values if isinstance(each, (_Tensor, _Expression))]
        forms = {each.form for each in tensors}
        form = (_ELEMENTS if _ELEMENTS in forms or {_OF_ROWS, _COLUMNS} <= forms
                else min(forms))
        if form == _ELEMENTS:
            # One value a row is made before what needs it for elements.
            values = tuple(self._materialize(each) if isinstance(each, _Expression)
                           and each.form == _OF_ROWS else each for each in values)
        columns = max(_get_width(each) for each in tensors)
        return _Expression(compute, values, dtype, form, columns)

    def _emit_mean(self, x: Any, dtype: str) -> _Expression:
        """Along the row: the sum in f32, divided by the number of columns."""
        leaves, compute = self._collect(x)
        columns = _get_width(x)
        total = emit_reduction(self, "total", [self._place(each) for each in leaves],
                               (self._rows, columns), [1], "f32", 0, compute, Body.add)
        return _Expression(lambda body, a: body.div(a, body.constant(columns)),
                           (_Tensor(total, _OF_ROWS),), dtype, _OF_ROWS, 1)

    def _emit_linear(self, name: str, args: list[Any], kwargs: dict[str, Any], dtype: str) -> Any:
        linear = self._get_linear(name, args, kwargs, dtype)
        x = self._materialize(self._get(args[0])).array.value
        data, scales = (self._get(args[place]) for place in (1, 2))
        rest = [None if each is None else self._materialize(self._get(each)).array.value
                for each in [*args[3:], *[None] * (6 - len(args))]]
        y = linear.emit(x, data, scales, *rest)
        return _Tensor(Array(y, (self._rows, kwargs["out_features"])), _ELEMENTS)

    # Expressions.

    def _collect(self, value: Any) -> tuple[list[_Tensor], Callable[..., str]]:
        """The tensors that a value is computed of, and how: `compute(body, *names)` of their
        elements in f32 gives it in f32."""
        leaves: list[_Tensor] = []
        places: dict[int, int] = {}

        def visit(each: Any) -> None:
            if isinstance(each, _Tensor):
                if id(each.array) not in places:
                    places[id(each.array)] = len(leaves)
                    leaves.append(each)
            elif isinstance(each, _Expression):
                for operand in each.operands:
                    visit(operand)
        visit(value)

        def compute(body: Body, *names: str) -> str:
            known: dict[int, str] = {}

            def evaluate(each: Any) -> str:
                if isinstance(each, _Tensor):
                    return names[places[id(each.array)]]
                if not isinstance(each, _Expression):
                    return body.constant(each)
                if id(each) not in known:
                    made = each.compute(body, *[evaluate(operand) for operand in each.operands])
                    rounded = body.convert(body.convert(made, "f32", each.dtype), each.dtype, "f32")
                    known[id(each)] = rounded
                return known[id(each)]
            return evaluate(value)
        return leaves, compute

    def _place(self, leaf: _Tensor) -> Any:
        """A tensor as an operand of ops on elements of rows."""
        return Along(leaf.array, (0,)) if leaf.form == _OF_ROWS else leaf.array

    def _materialize(self, value: Any) -> _Tensor:
        """A value as a tensor."""
        if isinstance(value, _Tensor):
            return value
        leaves, compute = self._collect(value)
        rows, columns = self._rows, value.columns
        sizes = {_ELEMENTS: (rows, columns), _OF_ROWS: (rows,), _COLUMNS: (columns,),
                 _SCALAR: ()}[value.form]
        operands = [self._place(each) if value.form == _ELEMENTS else each.array
                    for each in leaves]
        return _Tensor(emit_elementwise(self, "made", operands, sizes, value.dtype, compute),
                       value.form)

    def _to_tensor(self, number: int) -> Array:
        """A result [rows, columns]; what needs it after that reads it."""
        made = self._values[number] = self._materialize(self._values[number])
        if made.form != _ELEMENTS:
            raise ArgumentError("expected results with rows and columns")
        return made.array


def _get_width(value: Any) -> int:
    if isinstance(value, _Expression):
        return value.columns
    return int(value.array.sizes[-1]) if value.form in (_ELEMENTS, _COLUMNS) else 1


def _to_torch(dtype: str) -> Any:
    import torch
    return {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}[dtype]
