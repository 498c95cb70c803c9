# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The gate in front of what is written: a source with errors makes no result, and a result with
errors takes no name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from blockscale._errors import ArgumentError
from blockscale.checkpoint._check._check import list_faults
from blockscale.checkpoint._check._report import Finding, find
from blockscale.checkpoint._check._rules import BY_NAME
from blockscale.checkpoint._checkpoint import Checkpoint
from blockscale.checkpoint._families import Unknown
from blockscale.checkpoint._patterns import Budget, Patterns

#: So many findings are shown.
_SHOWN = 8
#: The rule of quantized weights that nothing explains: these are named, and their configuration
#: stays.
_UNKNOWN = "known-layout"


def parse_allowed(rules: Iterable[str]) -> frozenset[str]:
    """Rules by their names, as "has-scales", or by their numbers, as "C10".

    Raises: ArgumentError for what is no rule, or none that can be allowed.
    """
    by_number = {rule.label.split()[0]: rule.name for rule in BY_NAME.values()}
    found = set()
    for rule in [rules] if isinstance(rules, str) else rules:
        name = by_number.get(str(rule).upper(), str(rule))
        if name not in BY_NAME:
            raise ArgumentError(f"expected rules of docs/CheckpointFaults.md to allow, but got "
                                f"{rule!r}")
        if name == _UNKNOWN:
            raise ArgumentError(f"expected rules other than {name} to allow, since numbers of such "
                                "weights are not known; leave names weights that stay as they are")
        found.add(name)
    return frozenset(found)


class Gate:
    """Lets through what has no errors, but for those of rules that are allowed.

    Attributes:
      allowed: rules that may be broken.
      left: quantized weights that nothing explains, and that stay as they are.
      passed: what breaks rules that are allowed, as it is told.
    """

    def __init__(self, allowed: Iterable[str] = (), leave: Sequence[str] = ()):
        """`leave` has patterns of the names of weights that stay as they are."""
        self.allowed = parse_allowed(allowed)
        self._leave = [leave] if isinstance(leave, str) else list(leave)
        self._budget = Budget("leave")
        self._patterns = Patterns(self._leave, self._budget)
        self.left: tuple[Unknown, ...] = ()
        self.passed: list[str] = []

    def check_source(self, checkpoint: Checkpoint) -> None:
        """Looks at all but the numbers of plain tensors, which are looked at when they are copied.

        Raises: ArgumentError for a source that is not let through.
        """
        unexplained = list(checkpoint.unexplained)
        for pattern in self._leave:
            if not any(Patterns([pattern], self._budget).match(each.name) for each in unexplained):
                raise ArgumentError("expected names of quantized weights that no layout explains "
                                    f"to leave, but '{pattern}' is none")
        self.left = tuple(each for each in unexplained if self._patterns.match(each.name))
        names = {each.name for each in self.left}
        self._pass_or_refuse(list_faults(checkpoint, reads_plain=False), names, checkpoint.path)
        for each in unexplained:
            if each.name not in names:
                raise ArgumentError(f"'{checkpoint.path}': expected weights that are whole, but "
                                    f"'{each.name}' is {each}; leave names weights that stay as "
                                    "they are")

    def check_result(self, result: Checkpoint, destination: str, found: Iterable[Any]) -> None:
        """Looks at a result before it takes its name.

        Args:
          destination: that name.
          found: what tasks found, plain numbers that are not finite among it.

        Raises: ArgumentError for a result that is not let through.
        """
        findings = list_faults(result, reads_plain=False)
        findings += _list_not_finite(found)
        self._pass_or_refuse(findings, {each.name for each in self.left}, destination)

    def _pass_or_refuse(self, findings: Sequence[Finding], left: set[str], path: str) -> None:
        errors = [each for each in findings if each.rule.severity == "error"
                  and each.name not in left]
        refused = [each for each in errors if each.rule.name not in self.allowed]
        if not refused:
            self.passed += [text for each in errors if (text := str(each)) not in self.passed]
            return
        lines = [str(each) for each in refused[:_SHOWN]]
        if len(refused) > _SHOWN:
            lines.append(f"and {len(refused) - _SHOWN} more")
        rules = ", ".join(dict.fromkeys(each.rule.name for each in refused
                                        if each.rule.name != _UNKNOWN))
        advice = f"; allow {rules} to go on nevertheless" if rules else ""
        if any(each.rule.name == _UNKNOWN for each in refused):
            advice += "; leave names weights that stay as they are"
        raise ArgumentError.of_lines([
            f"expected '{path}' to be a checkpoint without errors, but got {len(refused)}{advice}:",
            *lines])


def _list_not_finite(found: Iterable[Any]) -> Iterator[Finding]:
    for each in found:
        if isinstance(each, Mapping):
            for name in each.get("not_finite", ()):
                yield find("plain-numbers", name, "expected finite numbers, but got others")
