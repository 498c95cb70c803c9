# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Policies for the layers of a model or of a checkpoint: docs/Policy.md.

The library reads a policy and decides for layers as the compiler decides for products.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from typing import Any, Union

from blockscale import _native
from blockscale._errors import ArgumentError, check, read_file
from blockscale._forms import LayerForm, OperandForm

Policy = Union[str, "os.PathLike[str]", Mapping[str, Any]]
#: What messages and rules call a policy that is no file.
_NAME = "the policy"


@dataclasses.dataclass(frozen=True)
class Layer:
    """A layer as rules see it: one weight [N, K], or a stack of them. `name` is its path in the
    model."""

    name: str
    n: int
    k: int
    is_last: bool


@dataclasses.dataclass(frozen=True)
class Decision:
    """The form of a layer, or the clause of docs/Policy.md that it does not meet."""

    form: LayerForm | None
    rule: str = ""
    reason: str = ""


def _read(policy: Policy) -> _native.NativePolicy:
    if isinstance(policy, Mapping):
        try:
            text = json.dumps(policy, indent=1)
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"expected a policy of JSON's types, but got {error}") from error
        outcome = _native.parse_policy(text.encode(), _NAME)
    elif isinstance(policy, (str, os.PathLike)):
        outcome = _native.parse_policy(read_file(policy), os.fspath(policy))
    else:
        raise ArgumentError("expected a policy to be the path of a file or a dict, but got "
                            f"{type(policy).__name__}")
    found: _native.NativePolicy
    found, _ = check(outcome)
    return found


def matches_pattern(pattern: str, name: str) -> bool:
    """Whether a pattern matches a whole name.

    Raises: ArgumentError for what is no pattern.
    """
    matches: bool
    matches, _ = check(_native.matches_pattern(pattern, name))
    return matches


def _to_operand(native: _native.NativeOperand) -> OperandForm | None:
    if native.format is None:
        return None
    return OperandForm(native.format, native.recipe, native.scaling, native.amax,
                       native.is_swept)


def _to_form(native: _native.NativeForm) -> LayerForm:
    weight = _to_operand(native.weight)
    assert weight is not None  # A rule that quantizes has a format of weights.
    return LayerForm(weight, _to_operand(native.activation), native.is_transformed, native.cast,
                     order=native.order)


class Rules:
    """A policy that was read.

    Raises: ArgumentError with the place in the policy, FileError.
    """

    def __init__(self, policy: Policy):
        self._policy = _read(policy)

    def _ask(self, layer: Layer, dtype: str, rows: int) -> tuple[Decision, int | None]:
        """The decision for so many rows, 0 for any, and up to how many it is the same."""
        found = check(_native.decide_layer(self._policy, layer.name, layer.n, layer.k,
                                           layer.is_last, dtype, rows))[0]
        if found.form is None:
            return Decision(None, found.rule, f"{found.clause}: expected {found.expected}, but "
                            f"got {found.found}"), found.max_rows
        return Decision(_to_form(found.form), found.rule), found.max_rows

    def decide(self, layer: Layer, dtype: str) -> Decision:
        """What the first rule that matches says of a layer of a dtype, "f32", "bf16" or
        "f16", and of any number of rows: rules for some alone match none."""
        return self._ask(layer, dtype, 0)[0]

    def decide_by_rows(self, layer: Layer, dtype: str) -> Decision:
        """What the rules say of a layer whose rows each call has: one form, whose activations may
        stay plain up to a number of rows. Other forms by rows leave the layer."""
        decision, most = self._ask(layer, dtype, 1)
        if most is None:
            return decision
        few, (many, last) = decision, self._ask(layer, dtype, most + 1)
        if few.form is None and many.form is None and last is None:
            return many
        if (last is None and few.form is not None and many.form is not None
                and few.form.activation is None and many.form.activation is not None
                and few.form == dataclasses.replace(many.form, activation=None)):
            return Decision(dataclasses.replace(many.form, plain_rows=most),
                            f"{few.rule} and {many.rule}")
        texts = [f"{decision.form.describe() if decision.form else 'left'} up to M = {most}",
                 many.form.describe() if many.form else "left"]
        return Decision(None, "", "expected rules by m to quantize one weight, alone up to a "
                        "number of rows and with the activations above it, but got "
                        f"{texts[0]}, then {texts[1]}"
                        + ("" if last is None else ", then others"))
