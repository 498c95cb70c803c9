# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Policies for the layers of a model or of a checkpoint: docs/Policy.md.

The compiler reads a policy first, so that what it refuses is refused here with its message; a
reader of JSON and this file then decide for layers as the compiler decides for products.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any, Union

from blockscale import _native
from blockscale._errors import ArgumentError, check, read_file
from blockscale._forms import LayerForm, OperandForm
from blockscale._json import parse

Policy = Union[str, "os.PathLike[str]", Mapping[str, Any]]
#: What a product is compiled with to have its policy read.
_EMPTY = b"func.func @f(%x: tensor<1xf32>) -> tensor<1xf32> { return %x : tensor<1xf32> }"
_MLIR = 0  # of _native.compile


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


def _check(path: str) -> None:
    """Raises ArgumentError with what the compiler says of a file."""
    status, message, *_ = outcome = _native.compile(
        _EMPTY, "policy", ["cpu"], _MLIR, None, True, None, False, False, None, None, path)
    if status != 0:
        text = re.sub(r"^[^'\n]*?error: |^<unknown>:\d+:\d+: ", "", message)
        raise ArgumentError.of_lines(text.split("\n"))
    check(outcome)


def _read(policy: Policy) -> tuple[dict[str, Any], str]:
    """The members of a policy, and what messages call it."""
    if isinstance(policy, Mapping):
        try:
            text = json.dumps(policy, indent=1)
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"expected a policy of JSON's types, but got {error}") from error
        with tempfile.TemporaryDirectory(prefix="blockscale-") as folder:
            path = os.path.join(folder, "policy.json")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            try:
                _check(path)
            except ArgumentError as error:
                raise ArgumentError.of_lines(
                    str(error).replace(path, "policy").split("\n")) from None
        return json.loads(text), "the policy"
    if not isinstance(policy, (str, os.PathLike)):
        raise ArgumentError("expected a policy to be the path of a file or a dict, but got "
                            f"{type(policy).__name__}")
    path = os.fspath(policy)
    text = read_file(path).decode("utf-8", errors="replace")
    _check(path)
    return parse(text, f"'{path}'"), path


def _split_pattern(pattern: str) -> list[list[str]]:
    """The patterns that braces of one, which the compiler accepted, stand for: of each the regular
    expressions of one character after the other, and "*"."""
    found: list[list[str]] = [[]]
    # While a brace is open: what was before it, and the texts in it that are complete.
    before: list[list[str]] | None = None
    texts: list[list[str]] = []
    at = 0

    def close() -> list[list[str]]:
        assert before is not None
        return [[*each, *text] for each in before for text in (*texts, *found)]
    while at < len(pattern):
        one = pattern[at]
        at += 1
        if one == "\\" and at < len(pattern):
            one = re.escape(pattern[at])
            at += 1
        elif one == "?":
            one = "."
        elif one == "[":
            end = pattern.index("]", at + 1 + (pattern[at] in "^!"))
            inside = pattern[at:end]
            is_negated = inside[0] in "^!"
            chars = re.sub(r"([\\\]\[^&~|])", r"\\\1", inside[is_negated:])
            one = f"[{'^' if is_negated else ''}{chars}]"
            at = end + 1
        elif one == "{" and before is None:
            before, found, texts = found, [[]], []
            continue
        elif one == "," and before is not None:
            texts, found = [*texts, *found], [[]]
            continue
        elif one == "}" and before is not None:
            found, before = close(), None
            continue
        elif one != "*":
            one = re.escape(one)
        for each in found:
            each.append(one)
    return found


@functools.lru_cache(maxsize=1024)
def _compile_pattern(pattern: str) -> tuple[re.Pattern[str], ...]:
    """A pattern, which the compiler accepted, as regular expressions of which one matches. Each
    text between two stars is where it is found first, and is not looked for again, so that names
    are matched in a time that goes with their length and that of the pattern."""
    compiled = []
    for parts in _split_pattern(pattern):
        texts = [""]
        for part in parts:
            if part == "*":
                texts.append("")
            else:
                texts[-1] += part
        expression = texts[0]
        for stars, text in enumerate(texts[1:-1]):
            expression += f"(?=(?P<g{stars}>.*?{text}))(?P=g{stars})"
        if len(texts) > 1:
            expression += f".*{texts[-1]}"
        compiled.append(re.compile(expression, re.DOTALL))
    return tuple(compiled)


def matches_pattern(pattern: str, name: str) -> bool:
    return any(each.fullmatch(name) is not None for each in _compile_pattern(pattern))


def _contains(sizes: Mapping[str, int], size: int | None) -> bool:
    """A size of None is dynamic: only a range of every size has it."""
    least, most = sizes.get("min", 0), sizes.get("max")
    if size is None:
        return least <= 0 and most is None
    return least <= size and (most is None or size <= most)


def _read_operand(rule: Mapping[str, Any], member: str) -> OperandForm:
    own = {**rule, **rule.get(member, {})}
    format, recipe = own["format"], own.get("recipe")
    is_swept = member == "weights" and rule.get("weights", {}).get("sweep", False)
    if is_swept and "recipe" not in rule.get("weights", {}):
        recipe = "modelopt"
    found = own.get("global_scale", "dynamic" if format == "nvfp4" else "none")
    if isinstance(found, Mapping):
        return OperandForm(format, recipe, "amax", found["amax"], is_swept)
    return OperandForm(format, recipe, found, None, is_swept)


def _read_form(rule: Mapping[str, Any]) -> LayerForm:
    activation = None if rule.get("weight_only") else _read_operand(rule, "activations")
    return LayerForm(_read_operand(rule, "weights"), activation, rule.get("rht", False),
                     rule.get("cast"))


class Rules:
    """A policy that was read.

    Raises: ArgumentError with the compiler's message and place, FileError.
    """

    def __init__(self, policy: Policy):
        members, self.name = _read(policy)
        self._rules: Sequence[Mapping[str, Any]] = members["rules"]
        self._leaves_last = members.get("leave_last_projection", True)
        self._leaves_narrow = members.get("leave_narrow", True)

    def _find(self, layer: Layer) -> tuple[int, Mapping[str, Any] | None]:
        for number, rule in enumerate(self._rules):
            match = rule.get("match", {})
            if (("location" in match and not matches_pattern(match["location"], layer.name))
                    or ("function" in match and not matches_pattern(match["function"], "forward"))
                    or match.get("operands", "weight") != "weight"
                    or match.get("last_projection", layer.is_last) != layer.is_last
                    or not _contains(match.get("m", {}), None)
                    or not _contains(match.get("n", {}), layer.n)
                    or not _contains(match.get("k", {}), layer.k)):
                continue
            return number + 1, rule
        return 0, None

    def decide(self, layer: Layer, dtype: str) -> Decision:
        """What the first rule that matches says of a layer of a dtype, "f32", "bf16" or
        "f16"."""
        number, rule = self._find(layer)
        name = f"rule {number} of {self.name}"

        def leave(clause: str, expected: str, found: Any) -> Decision:
            return Decision(None, name if number else "",
                            f"{clause}: expected {expected}, but got {found}")
        if rule is None:
            return leave("policy_c1", "a rule that matches", "none")
        if rule.get("leave"):
            return leave("policy_c1", "a rule that quantizes", f"{name}, which leaves it")
        if layer.is_last and self._leaves_last:
            return leave("policy_c2", "a product before the last projection", "that")
        form = _read_form(rule)
        block = form.weight.block
        if self._leaves_narrow and layer.n < block:
            return leave("policy_c3", f"at least {block} rows, as many as a block has elements",
                         layer.n)
        if layer.k % block or not layer.k:
            return leave("policy_c4", f"a static K of whole blocks of {block}", layer.k)
        unmet = form.find_clause(dtype)
        if unmet is not None:
            return leave(unmet.name, unmet.expected, unmet.found)
        return Decision(form, name)
