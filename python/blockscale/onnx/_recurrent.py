# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LSTM, of numbers and of codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from blockscale._linalg import (
    Activation,
    Array,
    CodedMatrix,
    Lstm,
    Size,
    emit_binary,
    emit_concat,
    emit_full,
    emit_lstm,
    emit_reshape,
    emit_slice,
    emit_transpose,
    get_activation,
    is_integer,
)
from blockscale.onnx._elementwise import compute_hard_sigmoid
from blockscale.onnx._importer import Importer, Operand, get_input, handles
from blockscale.onnx._integers import make_matrix, read_codes
from blockscale.onnx._operands import Constant

_DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
_ACTIVATIONS = ("Sigmoid", "Tanh", "Relu", "HardSigmoid")
_DEFAULTS = ("Sigmoid", "Tanh", "Tanh")
#: Attributes of which only one value is imported.
_FIXED = {"clip": 0, "input_forget": 0}


def _read_activations(importer: Importer, attributes: dict[str, Any], count: int
                      ) -> list[Activation]:
    """Three for each direction."""
    names = [each.decode() for each in attributes.get("activations", ())] or (
        [*_DEFAULTS] * count)
    if len(names) != 3 * count or not set(names) <= set(_ACTIVATIONS):
        importer.refuse(f"expected {3 * count} activations of {', '.join(_ACTIVATIONS)}, but got "
                        f"{', '.join(names)}")
    # Only those that have numbers take them from the lists, one after the other.
    slopes, shifts = (iter(attributes.get(name, ())) for name in ("activation_alpha",
                                                                  "activation_beta"))
    return [compute_hard_sigmoid(next(slopes, 0.2), next(shifts, 0.5))
            if name == "HardSigmoid" else get_activation(name.lower()) for name in names]


def _take(importer: Importer, array: Array, number: int) -> Array:
    """What a tensor has for a direction."""
    part = emit_slice(importer, array, [number] + [0] * (array.rank - 1), [1, *array.sizes[1:]])
    return emit_reshape(importer, part, array.sizes[1:])


def _split(importer: Importer, array: Array, count: int) -> list[Array]:
    """Equal parts of the last dimension."""
    width = array.sizes[-1]
    if not isinstance(width, int) or width % count:
        importer.refuse(f"expected a multiple of {count} numbers, but got {list(array.sizes)}")
    return [emit_slice(importer, array, [*[0] * (array.rank - 1), number * (width // count)],
                       [*array.sizes[:-1], width // count]) for number in range(count)]


#: What each direction multiplies: inputs, and the state.
_Factors: TypeAlias = tuple[Array | CodedMatrix, Array | CodedMatrix]


def _read_directions(importer: Importer, attributes: dict[str, Any]) -> tuple[bool, ...]:
    """Of each direction, whether it goes from the last step to the first."""
    return _DIRECTIONS[importer.choose(attributes, "direction", "forward", _DIRECTIONS)]


def _check_ranks(importer: Importer, x: Operand, weights: Sequence[Operand], count: int) -> None:
    if len(x.sizes) != 3 or any(len(each.sizes) != 3 or each.sizes[0] != count
                                for each in weights):
        importer.refuse(f"expected an operand of rank 3 and weights of {count} directions, but got "
                        f"{', '.join(str(list(each.sizes)) for each in (x, *weights))}")


@handles("LSTM")
def import_lstm(importer: Importer, inputs: Sequence[Operand], attributes: dict[str, Any]
                ) -> tuple[Array, ...]:
    x, weight, recurrent = (importer.number(each, what) for each, what
                            in zip(inputs, ("operand", "weights", "recurrent weights")))
    directions = _read_directions(importer, attributes)
    _check_ranks(importer, x, (weight, recurrent), len(directions))
    factors: list[_Factors] = [(_take(importer, weight, number), _take(importer, recurrent, number))
                               for number in range(len(directions))]
    return _emit_layers(importer, x, factors, inputs, attributes)


@handles("DynamicQuantizeLSTM", domain="com.microsoft")
def import_quantized_lstm(importer: Importer, inputs: Sequence[Operand],
                          attributes: dict[str, Any]) -> tuple[Array, ...]:
    """Of onnxruntime: the transposes of weights in codes of 8 bits. What they multiply becomes
    codes, too."""
    x = importer.number(get_input(inputs, 0))
    directions = _read_directions(importer, attributes)
    weight, recurrent = (
        _take_known(importer, inputs, places, what, len(directions))
        for places, what in (((1, 8, 9), "weights"), ((2, 10, 11), "recurrent weights")))
    _check_ranks(importer, x, (weight[0], recurrent[0]), len(directions))
    factors = []
    for number in range(len(directions)):
        pair = [_read_matrix(importer, each, number, what)
                for each, what in ((weight, "weights"), (recurrent, "recurrent weights"))]
        factors.append((pair[0], pair[1]))
    return _emit_layers(importer, x, factors, inputs, attributes)


def _take_known(importer: Importer, inputs: Sequence[Operand], places: Sequence[int], what: str,
                count: int) -> list[Constant]:
    """Weights, their scales and zero points, of all directions."""
    given = [get_input(inputs, place) for place in places]
    found = [each for each in given if isinstance(each, Constant)]
    if len(found) != len(given):
        importer.refuse(f"expected {what}, their scales and zero points to be known at import")
    if any(each.sizes[:1] != (count,) for each in found):
        importer.refuse(f"expected {what}, their scales and zero points of {count} directions, but "
                        f"got {', '.join(str(list(each.sizes)) for each in found)}")
    return found


def _read_matrix(importer: Importer, known: Sequence[Constant], number: int, what: str
                 ) -> CodedMatrix:
    """The weights of a direction, whose scales and zero points are one, or one for each column."""
    weight, scale, zero = (Constant(each.value[number], f"{each.name}_{number}") for each in known)
    return make_matrix(importer, read_codes(importer, weight, zero, what), scale, what)


def _emit_layers(importer: Importer, x: Array, factors: Sequence[_Factors],
                 inputs: Sequence[Operand], attributes: dict[str, Any]) -> tuple[Array, ...]:
    """The layers of all directions, whose other inputs are those of LSTM."""
    given = [get_input(inputs, place) for place in range(8)]
    directions = _read_directions(importer, attributes)
    bias, peepholes = (None if each is None else importer.number(each, what)
                       for each, what in ((given[3], "bias"), (given[7], "peepholes")))
    lengths = None if given[4] is None else importer.array(given[4])
    importer.check_fixed(attributes, _FIXED)
    if lengths is not None and not is_integer(lengths.dtype):
        importer.refuse(f"expected lengths of integers, but got {lengths.dtype}")
    activations = _read_activations(importer, attributes, len(directions))
    batch_first = bool(attributes.get("layout", 0))
    if batch_first:
        x = emit_transpose(importer, x, [1, 0, 2])
    width = factors[0][1].sizes[-1]
    if attributes.get("hidden_size", width) != width:
        importer.refuse(f"expected hidden_size to be {width}, as of the recurrent weights, but got "
                        f"{attributes['hidden_size']}")
    results = []
    for number, reverse in enumerate(directions):
        both = None if bias is None else _split(importer, _take(importer, bias, number), 2)
        layer = Lstm(
            *factors[number],
            None if both is None else emit_binary(importer, "add", *both, dtype="f32"),
            None if peepholes is None else
            tuple(_split(importer, _take(importer, peepholes, number), 3)),  # type: ignore[arg-type]
            tuple(activations[3 * number:3 * number + 3]), reverse)  # type: ignore[arg-type]
        hidden, cell = (_take_state(importer, each, number, (x.sizes[1], width), x.dtype,
                                    batch_first) for each in given[5:7])
        results.append(emit_lstm(importer, layer, x, hidden, cell, lengths))
    return _join(importer, results, batch_first)


def _take_state(importer: Importer, operand: Operand, number: int, sizes: Sequence[Size],
                dtype: str, batch_first: bool) -> Array:
    """The state of a direction at first."""
    if operand is None:
        return emit_full(importer, sizes, 0, dtype)
    state = importer.number(operand, "states")
    if state.rank != 3:
        importer.refuse(f"expected states of rank 3, but got {list(state.sizes)}")
    if batch_first:
        state = emit_transpose(importer, state, [1, 0, 2])
    return _take(importer, state, number)


def _join(importer: Importer, results: Sequence[Sequence[Array]], batch_first: bool
          ) -> tuple[Array, ...]:
    """The results of directions side by side: [steps, directions, batch, H], and two of
    [directions, batch, H]; the batch is first where it is first in the input."""
    joined = []
    for parts in zip(*results):
        axis = parts[0].rank - 2
        wide = [emit_reshape(importer, each, (*each.sizes[:axis], 1, *each.sizes[axis:]))
                for each in parts]
        whole = emit_concat(importer, wide, axis)
        if batch_first:
            whole = emit_transpose(importer, whole, [2, 0, 1, 3] if axis else [1, 0, 2])
        joined.append(whole)
    return tuple(joined)
