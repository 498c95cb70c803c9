# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Policies for layers: blockscale-c/Policy.h."""

from __future__ import annotations

import ctypes
import dataclasses
import weakref
from ctypes import POINTER
from typing import Any, NamedTuple

from blockscale._native import _structures
from blockscale._native._library import LIBRARY, get_error

#: The names of the members of blockscale_scaling, in their order.
SCALINGS = ("none", "dynamic", "amax")
#: What the library says of all numbers of rows.
_ALL = 2 ** 63 - 1
_Outcome = tuple[int, str, list[tuple[Any, ...]], Any]


class NativeOperand(NamedTuple):
    """How an operand is quantized; without a format it is not."""

    format: str | None
    recipe: str | None
    scaling: str
    amax: float | None
    is_swept: bool


class NativeForm(NamedTuple):
    weight: NativeOperand
    activation: NativeOperand
    is_transformed: bool
    cast: str | None
    order: str


class NativeDecision(NamedTuple):
    """`form` is None for a layer that is left, and the three texts behind the rule say why.
    `max_rows` is the most rows that are decided alike, None if those are all."""

    form: NativeForm | None
    rule: str
    clause: str
    expected: str
    found: str
    max_rows: int | None


@dataclasses.dataclass(frozen=True)
class NativePolicy:
    """A policy that was read, which the library frees with this object."""

    handle: ctypes.c_void_p

    def __post_init__(self) -> None:
        weakref.finalize(self, LIBRARY.blockscale_policy_destroy, self.handle)


def _encode(text: str | None) -> bytes | None:
    """A name, which need not be Unicode: a path that is none has surrogates for its bytes."""
    return None if text is None else text.encode("utf-8", errors="surrogateescape")


def _decode(text: bytes | None) -> str | None:
    return None if text is None else text.decode("utf-8", errors="surrogateescape")


def parse_policy(text: bytes, name: str) -> _Outcome:
    """The policy of JSON that messages call `name`."""
    handle = ctypes.c_void_p()
    status = LIBRARY.blockscale_policy_parse(text, len(text), _encode(name), handle)
    return status, get_error(status), [], None if status else NativePolicy(handle)


def decide_layer(policy: NativePolicy, name: str, n: int, k: int, is_last: bool,
                 dtype: str, rows: int = 0) -> _Outcome:
    """The NativeDecision for a layer of a dtype, "f32", "bf16" or "f16", and of so many rows, 0
    for any."""
    layer = _structures.Layer(name=_encode(name), n=n, k=k, is_last=is_last,
                              type=dtype.encode(), m=rows)
    decision = POINTER(_structures.Decision)()
    status = LIBRARY.blockscale_policy_decide(policy.handle, layer, decision)
    return status, get_error(status), [], None if status else _take(decision)


def check_form(weight: str, activation: str | None, is_transformed: bool, cast: str | None,
               dtype: str) -> _Outcome:
    """The NativeDecision for a layer of a dtype whose form is known, by the clauses of types.
    `weight` and `activation` are formats."""
    native = _structures.LayerForm(
        _structures.OperandForm(format=_encode(weight)),
        _structures.OperandForm(format=_encode(activation)), is_transformed, _encode(cast))
    decision = POINTER(_structures.Decision)()
    status = LIBRARY.blockscale_layer_form_check(native, dtype.encode(), decision)
    return status, get_error(status), [], None if status else _take(decision)


def matches_pattern(pattern: str, name: str) -> _Outcome:
    """Whether a pattern of policies matches a whole name."""
    matches = ctypes.c_int()
    status = LIBRARY.blockscale_pattern_matches(_encode(pattern), _encode(name), matches)
    return status, get_error(status), [], bool(matches.value)


def _take(decision: Any) -> NativeDecision:
    """What the library decided, which it frees."""
    try:
        found = decision.contents
        rule, clause, expected, what = (_decode(each) or "" for each in (
            found.rule, found.clause, found.expected, found.found))
        return NativeDecision(_read_form(found.form) if found.is_quantized else None, rule, clause,
                              expected, what, None if found.max_m == _ALL else found.max_m)
    finally:
        LIBRARY.blockscale_policy_decision_destroy(decision)


def _read_form(form: _structures.LayerForm) -> NativeForm:
    return NativeForm(_read_operand(form.weight), _read_operand(form.activation),
                      bool(form.is_transformed), _decode(form.cast), form.order.decode())


def _read_operand(form: _structures.OperandForm) -> NativeOperand:
    scaling = SCALINGS[form.scaling]
    return NativeOperand(_decode(form.format), _decode(form.recipe), scaling,
                         form.amax if scaling == "amax" else None, bool(form.is_swept))
