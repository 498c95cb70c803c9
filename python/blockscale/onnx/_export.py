# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules as models of ONNX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import onnx
from onnx import helper

from blockscale._errors import ArgumentError, Problem, UnsupportedError
from blockscale._ops import FORMATS
from blockscale._trace import Module, Op, Value
from blockscale._types import Spec
from blockscale.onnx._nodes import TYPES
from blockscale.onnx._recipes import (
    DEFAULTS,
    DOMAIN,
    ONE,
    OPSET,
    OPSET_OF_SIX_BITS,
    Arithmetic,
    find_obstacle,
    get_global_scale,
    get_nonzero_amax,
    make_function,
)

_SIX_BITS = ("f6E2M3FN", "f6E3M2FN")


class _Exporter:
    """Writes the ops of a module, one after the other. Scales are written linear: a layout is
    the order of bytes in memory, which ONNX leaves to who runs the model."""

    def __init__(self, module: Module):
        values = [*module.arguments, *(result for op in module.ops for result in op.results)]
        has_six_bits = any(value.dtype in _SIX_BITS for value in values)
        self.opset = OPSET_OF_SIX_BITS if has_six_bits else OPSET
        self.writer = Arithmetic()
        self.names: dict[str, str] = {}
        self.functions: dict[str, onnx.FunctionProto] = {}
        self.op: Op

    def refuse(self, message: str) -> NoReturn:
        raise UnsupportedError.of([Problem(self.op.results[0].name, self.op.name, message,
                                           self.op.location[:2])])

    def get(self, value: Value) -> str:
        return self.names[value.name]

    def take(self, key: str) -> Any:
        return self.op.attributes.get(key)

    def set(self, *names: str) -> None:
        """Names the results of the op."""
        for value, name in zip(self.op.results, names):
            self.names[value.name] = name

    # Ops.

    def write(self, op: Op) -> None:
        self.op = op
        handler = _HANDLERS.get(op.name)
        if handler is None:
            known = ", ".join(sorted(_HANDLERS))
            self.refuse(f"expected an op that is exported ({known})")
        handler(self)

    def exchange(self, x: str, rank: int) -> str:
        """The transpose of the matrices of x."""
        order = [*range(rank - 2), rank - 1, rank - 2]
        return self.writer.op("Transpose", x, perm=order)

    def place_global(self, g: Value, x: Value, *, rows: str | None = None) -> str:
        """A global scale, or an amax, to meet rows of blocks [R, K/B, B] of x, or (with the
        name of x) its matrices."""
        writer, name = self.writer, self.get(g)
        batch = len(x.shape) - 2
        if g.spec.rank == 0:
            return name if rows else writer.op("Reshape", name, writer.sizes(1, 1, 1))
        is_row = g.spec.rank == batch + 1
        if rows:
            return writer.op("Unsqueeze", name, writer.sizes(*[-1] if is_row else [-2, -1]))
        if not is_row:
            shape = writer.op("Shape", self.get(x), end=-1)
            name = writer.op("Expand", writer.op("Unsqueeze", name, writer.sizes(-1)), shape)
        return writer.op("Reshape", name, writer.sizes(-1, 1, 1))

    def call(self, format: str, recipe: str, is_amax: bool, *inputs: str) -> list[str]:
        function = make_function(format, recipe, is_amax, self.opset)
        self.functions.setdefault(function.name, function)
        return self.writer.ops(function.name, inputs, ["data", "scale"], DOMAIN)

    def decode(self, data: str, scale: str, scale_type: str, block: tuple[int, int],
               g: str | None, recipe: str | None, dtype: str) -> str:
        """What data and scales stand for. g is of rank 0, or meets matrices."""
        writer, axis = self.writer, -1 if block[0] == 1 else -2
        size = max(block)
        how: dict[str, Any] = dict(name="decoded", axis=axis, block_size=size)
        if scale_type == "f8E8M0FNU":
            return writer.op("DequantizeLinear", data, scale, output_dtype=TYPES[dtype], **how)
        scale = writer.cast(scale, "f32")
        if g is not None and recipe == "compressed_tensors":
            scale = writer.div(scale, writer.div(writer.number(1), g))
        elif g is not None and recipe != "modelopt":
            scale = writer.mul(g, scale)
        wide = writer.op("DequantizeLinear", data, scale, output_dtype=TYPES["f32"], **how)
        if g is not None and recipe == "modelopt":
            wide = writer.mul(wide, g)
        return wide if dtype == "f32" else writer.cast(wide, dtype)


def _export_quantize(exporter: _Exporter) -> None:
    op, take = exporter.op, exporter.take
    x, data, scale = op.operands[0], *op.results
    for key in ("rng", "offsets", "block_amax", "scale_dim"):
        if take(key) is not None:
            exporter.refuse(f"expected a quantizer without {key}, but got one")
    block = take("block")
    format = next(name for name, row in FORMATS.items()
                  if row[:2] == (data.dtype, scale.dtype))
    if 1 not in block:
        exporter.refuse(f"expected blocks of a row or a column, but got {list(block)}")
    recipe = take("recipe") or DEFAULTS[format]
    obstacle = find_obstacle(format, recipe)
    if obstacle:
        exporter.refuse(obstacle)
    is_column, rank = block[0] != 1, x.spec.rank
    source = exporter.exchange(exporter.get(x), rank) if is_column else exporter.get(x)
    inputs = [source]
    amax, g = take("global_amax"), take("global_scale")
    if format == "nvfp4":
        given = g if amax is None else amax
        inputs.append(exporter.writer.constant(ONE) if given is None else
                      _read_amax(exporter, _place_rows(exporter, given, x, is_column)))
    results = exporter.call(format, recipe, amax is not None, *inputs)
    if is_column and not take("transposed"):
        results = [exporter.exchange(each, rank) for each in results]
    exporter.set(*results)


def _read_amax(exporter: _Exporter, given: str) -> str:
    """A global value as the op's recipe takes it."""
    if exporter.take("nonzero_amax"):
        return get_nonzero_amax(exporter.writer, given)
    return given


def _place_rows(exporter: _Exporter, g: Value, x: Value, is_column: bool) -> str:
    if is_column and g.spec.rank:
        exporter.refuse("expected one global scale with blocks of a column, but got "
                        f"{g.spec}")
    return exporter.place_global(g, x)


def _export_dequantize(exporter: _Exporter) -> None:
    data, scale = exporter.op.operands[:2]
    recipe = exporter.take("recipe")
    g, amax = exporter.take("global_scale"), exporter.take("global_amax")
    if 1 not in exporter.take("block"):
        exporter.refuse("expected blocks of a row or a column, but got "
                        f"{list(exporter.take('block'))}")
    name = None
    if amax is not None:
        name = _write_global_scale(exporter, exporter.place_global(
            amax, data, rows=exporter.get(data)))
    elif g is not None:
        name = exporter.place_global(g, data, rows=exporter.get(data))
    exporter.set(exporter.decode(exporter.get(data), exporter.get(scale), scale.dtype,
                                 exporter.take("block"), name, recipe,
                                 exporter.op.results[0].dtype))


def _export_product(exporter: _Exporter) -> None:
    op, writer, take = exporter.op, exporter.writer, exporter.take
    operands, dtype = op.operands[:2], op.results[0].dtype
    scales = [take("scale_a"), take("scale_b")]
    plain = next((value.dtype for value, scale in zip(operands, scales) if scale is None), None)
    names = []
    scaling = take("global_scaling")
    for value, scale, side in zip(operands, scales, "ab"):
        name = exporter.get(value)
        if scale is not None:
            g = take(f"global_scale_{side}") if scaling == "in_elements" else None
            factor = None if g is None else exporter.place_global(g, value, rows=name)
            # Beside a plain operand, values are of its type.
            name = exporter.decode(name, exporter.get(scale), scale.dtype, take("block"), factor,
                                   None, plain or "f32")
        names.append(writer.cast(name, "f32") if plain else name)
    rank = operands[0].spec.rank
    y = writer.op("MatMul", names[0], exporter.exchange(names[1], rank), name="product")
    merged = None
    for number, key in enumerate(("global_scale_a", "global_scale_b")):
        g = take(key)
        if g is None or scaling == "in_elements":
            continue
        placed = exporter.place_global(g, operands[number], rows=names[number])
        if number == 1 and g.spec.rank == rank - 1:
            placed = writer.op("Unsqueeze", exporter.get(g), writer.sizes(-2))
        merged = placed if merged is None else writer.mul(merged, placed)
    bias = take("bias")
    if merged is not None and scaling == "after_rounding" and dtype != "f32":
        y = writer.mul(writer.round(y, dtype), writer.round(merged, dtype))
        y = writer.round(y, dtype) if bias is not None else y
    elif merged is not None:
        y = writer.mul(y, merged)
    if bias is not None:
        y = writer.add(y, writer.cast(exporter.get(bias), "f32"))
    exporter.set(y if dtype == "f32" else writer.cast(y, dtype))


def _export_amax(exporter: _Exporter) -> None:
    op, writer = exporter.op, exporter.writer
    if exporter.take("offsets") is not None:
        exporter.refuse("expected an amax without offsets, but got some")
    rank, kept = op.operands[0].spec.rank, op.results[0].spec.rank
    wide = writer.cast(exporter.get(op.operands[0]), "f32")
    exporter.set(writer.op("ReduceMax", writer.op("Abs", wide),
                           writer.sizes(*range(kept, rank)), name="amax", keepdims=0))


def _write_global_scale(exporter: _Exporter, amax: str) -> str:
    """The global scale that the op's recipe derives from an amax."""
    recipe = exporter.take("recipe") or DEFAULTS["nvfp4"]
    obstacle = find_obstacle("nvfp4", recipe)
    if obstacle:
        exporter.refuse(obstacle)
    return get_global_scale(exporter.writer, amax, recipe)


def _export_global_scale(exporter: _Exporter) -> None:
    amax = _read_amax(exporter, exporter.get(exporter.op.operands[0]))
    exporter.set(_write_global_scale(exporter, amax))


def _export_swizzle(exporter: _Exporter) -> None:
    if exporter.take("offsets") is not None:
        exporter.refuse("expected a swizzle without offsets, but got some")
    exporter.set(exporter.get(exporter.op.operands[0]))


def _export_arithmetic(kind: str) -> Callable[[_Exporter], None]:
    def write(exporter: _Exporter) -> None:
        exporter.set(exporter.writer.op(kind, *map(exporter.get, exporter.op.operands)))
    return write


_HANDLERS: dict[str, Callable[[_Exporter], None]] = {
    "blockscale.quantize": _export_quantize, "blockscale.dequantize": _export_dequantize,
    "blockscale.scaled_mm": _export_product, "blockscale.amax": _export_amax,
    "blockscale.global_scale": _export_global_scale, "blockscale.swizzle": _export_swizzle,
    "arith.addf": _export_arithmetic("Add"), "arith.subf": _export_arithmetic("Sub"),
    "arith.mulf": _export_arithmetic("Mul"),
}


def _make_info(name: str, spec: Spec) -> onnx.ValueInfoProto:
    shape = [f"{name}_{dim}" if size is None else size for dim, size in enumerate(spec.shape)]
    return helper.make_tensor_value_info(name, TYPES[spec.dtype], shape)


def _check_bounds(module: Module) -> None:
    for what, values in (("argument", module.arguments), ("result", module.results)):
        for value in values:
            if value.dtype not in TYPES or value.dtype == "i8":
                message = f"expected {what}s of a type of ONNX, but got {value.spec}"
            elif value.spec.layout is not None:
                message = (f"expected {what}s without a layout, which ONNX has no types for, but "
                           f"got {value.spec}; swizzle inside of the function")
            else:
                continue
            raise UnsupportedError.of([Problem(value.name, f"@{module.name}", message,
                                               module.location[:2])])


def export(module: Module) -> onnx.ModelProto:
    """A module of the dialect as a model of ONNX.

    Each quantizer becomes a call of a function in the domain "blockscale", which the model
    has. onnx.reference evaluates the model to the same codes and scales, and to products
    within their bound.

    Args:
      module: a traced Module of quantize, dequantize, scaled_mm, amax, global_scale, swizzle
        and + - *.

    Raises: UnsupportedError with the line of an op that cannot be exported.
    """
    if not isinstance(module, Module):
        raise ArgumentError(f"expected a Module, but got {type(module).__name__}")
    _check_bounds(module)
    exporter = _Exporter(module)
    inputs = []
    for value in module.arguments:
        name = exporter.writer.name(value.name.removeprefix("%"))
        exporter.names[value.name] = name
        inputs.append(_make_info(name, value.spec))
    for op in module.ops:
        exporter.write(op)
    outputs = []
    for value in module.results:
        # A result has a name of its own, also where it is an argument, or given twice.
        name = exporter.writer.op("Identity", exporter.get(value), name="result")
        outputs.append(_make_info(name, value.spec))
    graph = helper.make_graph(exporter.writer.nodes, module.name, inputs, outputs)
    opsets = [helper.make_opsetid("", exporter.opset)]
    if exporter.functions:
        opsets.append(helper.make_opsetid(DOMAIN, 1))
    model = helper.make_model(
        graph, opset_imports=opsets, functions=list(exporter.functions.values()),
        producer_name="blockscale", ir_version=helper.find_min_ir_version_for(opsets, True))
    onnx.checker.check_model(model)
    return model
