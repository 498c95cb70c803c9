# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recurrent layers: a loop over the steps of a sequence, after one product for all of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TypeAlias

from blockscale._linalg._body import Along, Body, emit_elementwise, emit_full, format_sizes
from blockscale._linalg._builder import Array, Builder, Size, simplify
from blockscale._linalg._codes import CodedMatrix, emit_coded_matmul
from blockscale._linalg._control import emit_loop
from blockscale._linalg._elementwise import FLOAT_UNARY, UNARY, emit_binary, emit_convert
from blockscale._linalg._products import emit_matmul
from blockscale._linalg._shapes import emit_insert, emit_reshape, emit_slice

#: A function of one element in f32.
Activation: TypeAlias = Callable[[Body, str], str]


def get_activation(name: str) -> Activation:
    """The activation of a name of FLOAT_UNARY or UNARY."""
    function = FLOAT_UNARY.get(name) or UNARY[name]
    return lambda body, a: function(body, a, "f32")


@dataclasses.dataclass(frozen=True)
class Lstm:
    """An LSTM layer in one direction. Gates stand in the order input, output, forget, cell.

    Attributes:
      weight, recurrent: [4 H, inputs] and [4 H, H]. What they multiply becomes codes where they
        are: all inputs at once, and the state anew in each step.
      bias: [4 H]; None for none.
      peepholes: of the cell into the gates for input, output and forget, [H] each.
      activations: of gates, of the cell's input, and of the cell.
      reverse: whether it goes from the last step to the first.
    """

    weight: Array | CodedMatrix
    recurrent: Array | CodedMatrix
    bias: Array | None = None
    peepholes: tuple[Array, Array, Array] | None = None
    activations: tuple[Activation, Activation, Activation] = (
        get_activation("sigmoid"), get_activation("tanh"), get_activation("tanh"))
    reverse: bool = False


def emit_lstm(builder: Builder, layer: Lstm, x: Array, hidden: Array, cell: Array,
              lengths: Array | None = None) -> tuple[Array, Array, Array]:
    """What a layer makes of x [steps, batch, inputs], with states [batch, H] at first: its states
    after each step [steps, batch, H], and the last state and cell. All are computed in f32 and
    rounded to the dtype of x at the end.

    Args:
      lengths: the steps of each sequence of the batch; None for all. States behind the end are 0,
        and the last ones are those at the end.
    """
    steps, batch, width = *x.sizes[:2], hidden.sizes[-1]
    for name, found, wanted in (
            ("a weight", layer.weight, (4 * width, x.sizes[2])),
            ("recurrent weights", layer.recurrent, (4 * width, width)),
            *((name, each, (batch, width)) for name, each in (("states", hidden), ("cells", cell))),
            ("a bias", layer.bias, (4 * width,)), ("lengths", lengths, (batch,)),
            *(("peepholes", each, (width,)) for each in layer.peepholes or ())):
        if found is not None and not (len(wanted) == found.rank and all(
                builder.is_same(*pair) for pair in zip(found.sizes, wanted))):
            builder.refuse(f"expected {name} of {format_sizes(wanted)} for "
                           f"{format_sizes(x.sizes)}, but got {format_sizes(found.sizes)}")
    inputs = _multiply(builder, x, layer.weight, layer.bias)

    def step(number: Size, kept: list[Array]) -> list[Array]:
        place = simplify(steps - 1 - number) if layer.reverse else number
        own = emit_slice(builder, inputs, [place, 0, 0], [1, batch, 4 * width])
        gates = _multiply(builder, kept[1], layer.recurrent,
                          emit_reshape(builder, own, (batch, 4 * width)))
        state, new = _emit_step(builder, layer, gates, kept[1:], place, lengths)
        seen = state
        if lengths is not None:
            seen = _emit_alive(builder, lengths, place, state, None)
        row = emit_reshape(builder, seen, (1, batch, width))
        return [emit_insert(builder, row, kept[0], [place, 0, 0]), state, new]
    starts = [emit_full(builder, (steps, batch, width), 0, "f32"),
              *(emit_convert(builder, each, "f32") for each in (hidden, cell))]
    every, state, new = emit_loop(builder, steps, starts, step)
    return (emit_convert(builder, every, x.dtype), emit_convert(builder, state, x.dtype),
            emit_convert(builder, new, x.dtype))


def _multiply(builder: Builder, x: Array, weight: Array | CodedMatrix, bias: Array | None) -> Array:
    if isinstance(weight, Array):
        return emit_matmul(builder, x, weight, transpose_b=True, bias=bias, dtype="f32")
    y = emit_coded_matmul(builder, x, weight)
    return y if bias is None else emit_binary(builder, "add", y, bias, dtype="f32")


def _emit_step(builder: Builder, layer: Lstm, gates: Array, kept: list[Array], place: Size,
               lengths: Array | None) -> tuple[Array, Array]:
    """The state and the cell after a step."""
    batch, width = kept[0].sizes
    gate, update, finish = layer.activations
    into, out, forget, candidate = (
        emit_slice(builder, gates, [0, number * width], [batch, width]) for number in range(4))

    def open_gate(body: Body, a: str, cell: str, peephole: str | None) -> str:
        return gate(body, a if peephole is None else body.add(a, body.mul(peephole, cell)))

    def change(body: Body, i: str, f: str, c: str, cell: str, *peepholes: str) -> str:
        before, after = peepholes or (None, None)
        kept = body.mul(open_gate(body, f, cell, after), cell)
        return body.add(kept, body.mul(open_gate(body, i, cell, before), update(body, c)))

    def show(body: Body, o: str, cell: str, *peepholes: str) -> str:
        return body.mul(open_gate(body, o, cell, *(peepholes or (None,))), finish(body, cell))
    holes = layer.peepholes
    cell = emit_elementwise(builder, "cell", [into, forget, candidate, kept[1],
                                              *([holes[0], holes[2]] if holes else [])],
                            (batch, width), "f32", change)
    state = emit_elementwise(builder, "state", [out, cell, *([holes[1]] if holes else [])],
                             (batch, width), "f32", show)
    if lengths is None:
        return state, cell
    return (_emit_alive(builder, lengths, place, state, kept[0]),
            _emit_alive(builder, lengths, place, cell, kept[1]))


def _emit_alive(builder: Builder, lengths: Array, place: Size, new: Array, old: Array | None
                ) -> Array:
    """What is new where a sequence has this step, and what is old (None: 0) behind its end."""
    position = builder.size(place)

    def choose(body: Body, length: str, a: str, *b: str) -> str:
        here = body.convert(body.capture(position), "index", "i64")
        is_alive = body.compare("lt", here, length, "i64")
        return body.select(is_alive, a, b[0] if b else body.constant(0))
    operands = [Along(lengths, (0,)), new, *([] if old is None else [old])]
    return emit_elementwise(builder, "alive", operands, new.sizes, "f32", choose,
                            inner=("i64", "f32", "f32")[:len(operands)], made="f32")
