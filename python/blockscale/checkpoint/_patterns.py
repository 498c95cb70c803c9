# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Patterns of the names of layers, as configurations have them: names, wildcards, and regular
expressions behind "re:", whatever these are.

A regular expression of a file may take for ever where alternatives are tried one after the other,
as Python's `re` does. RE2 matches in time that grows with the expression and the name alone. What
it lacks, as looking ahead, is left to the package `regex`, which ends after a time that is given.
"""

from __future__ import annotations

import contextlib
import fnmatch
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from blockscale._errors import ArgumentError
from blockscale._text import shorten

#: What is in front of a regular expression.
EXPRESSION = "re:"
#: Seconds of a thread that the expressions of one configuration may take for all names.
SECONDS = 3.0
#: The longest expression that is left to `regex`, and the longest wildcard: the time in which
#: these are read has no other bound.
_LONGEST = 2000
#: Syntax that RE2 reads otherwise than Python: "{,3}", classes of POSIX, and escapes of letters
#: that Python does not have.
_OTHERWISE = re.compile(r"\{,|\[:|\\(?![dDsSwWbBAfnrtvax0-9])[A-Za-z]")
#: Escaped text up to the end of a name: no engine is needed to compare names with it.
_LITERAL = re.compile(r"((?:[\w/-]|\\[^\w\s])*)\$", re.ASCII)
_Match = Callable[[str], Any]


class Budget:
    """The time that the expressions of one configuration have.

    Attributes:
      where: they are, for messages.
      left: seconds.
    """

    def __init__(self, where: str):
        self.where = where
        self.left = SECONDS

    @contextlib.contextmanager
    def spend(self) -> Iterator[None]:
        """Takes from it what is done in here.

        Raises: ArgumentError where nothing is left.
        """
        begin = time.thread_time()
        try:
            yield
        except TimeoutError:
            self.left = 0.0
        self.left -= time.thread_time() - begin
        if self.left <= 0:
            raise ArgumentError(f"{self.where}: expected regular expressions that match all names "
                                f"of layers within {SECONDS:g} s, but they take longer")


def _import_re2() -> Any:
    """The package google-re2, or None where it is not installed."""
    try:
        import re2
    except ImportError:
        return None
    return re2


def _compile_wildcard(pattern: str, budget: Budget) -> re.Pattern[str]:
    """A wildcard for layers and the modules that they are in. Its parts are not tried again, so
    that `re` matches it soon."""
    if len(pattern) > _LONGEST:
        raise ArgumentError(f"{budget.where}: expected wildcards of at most {_LONGEST} characters, "
                            f"but got {len(pattern)}")
    inside = fnmatch.translate(f"{pattern}.*")
    try:
        with budget.spend():
            return re.compile(f"(?:{fnmatch.translate(pattern)})|(?:{inside})")
    except (re.error, RecursionError, OverflowError) as error:
        raise ArgumentError(f"{budget.where}: expected a wildcard, but got {shorten(pattern)}: "
                            f"{error}") from error


def _make_linear(expressions: Sequence[str], budget: Budget) -> tuple[list[_Match], list[str]]:
    """Matchers of RE2 for expressions, many in one, and the expressions that it does not take."""
    re2 = _import_re2()
    if re2 is None:
        return [], list(expressions)
    options = re2.Options()
    options.log_errors, options.never_capture = False, True
    left = [each for each in expressions if _OTHERWISE.search(each)]
    parts = [[each for each in expressions if not _OTHERWISE.search(each)]]
    found: list[_Match] = []
    while parts:
        part = parts.pop()
        if not part:
            continue
        try:
            with budget.spend():
                compiled = re2.compile("|".join(f"(?:{each})" for each in part), options)
            found.append(compiled.match)
        except re2.error:
            # Too many at once, or one that is none of RE2.
            middle = len(part) // 2
            if middle:
                parts += [part[:middle], part[middle:]]
            else:
                left += part
    return found, left


def _make_limited(expressions: Sequence[str], budget: Budget) -> list[_Match]:
    """Matchers of `regex`, which end when the time does."""
    if not expressions:
        return []
    where = budget.where
    try:
        import regex
    except ImportError as error:
        raise ImportError(f"{where}: expected the package regex for the regular expression "
                          f"{shorten(expressions[0])}; pip install regex") from error

    def make(expression: str) -> _Match:
        if len(expression) > _LONGEST:
            raise ArgumentError(f"{where}: expected a regular expression that RE2 takes, or one of "
                                f"at most {_LONGEST} characters, but got {len(expression)}")
        try:
            with budget.spend():
                compiled = regex.compile(expression, regex.V0)
        except (regex.error, RecursionError, OverflowError, KeyError, IndexError) as error:
            reason = str(error) or type(error).__name__
            raise ArgumentError(f"{where}: expected a regular expression behind '{EXPRESSION}', "
                                f"but got {shorten(expression)}: {reason}") from error
        return lambda name: compiled.match(name, timeout=max(budget.left, 1e-3))
    return [make(each) for each in expressions]


class Patterns:
    """A name of a pattern is that of a layer or of a module that it is in, or ends a name; where
    names are exact, it means no module, and there are no wildcards. There may be as many patterns
    as layers.

    Raises: ArgumentError for a regular expression that is none.
    """

    def __init__(self, patterns: Iterable[str], budget: Budget, is_exact: bool = False):
        names = [pattern.removesuffix(".weight") for pattern in patterns]
        expressions = [name[len(EXPRESSION):] for name in names if name.startswith(EXPRESSION)]
        plain = [name for name in names if not name.startswith(EXPRESSION)]
        wildcards = [] if is_exact else [name for name in plain if set(name) & set("*?[")]
        self._is_exact = is_exact
        self._budget = budget
        self._names = frozenset(plain) - set(wildcards)
        literals = {each: match for each in expressions if (match := _LITERAL.fullmatch(each))}
        self._whole = frozenset(re.sub(r"\\(.)", r"\1", match[1]) for match in literals.values())
        linear, left = _make_linear([each for each in expressions if each not in literals], budget)
        self._expressions = [*linear, *_make_limited(left, budget)]
        self._wildcards = [_compile_wildcard(each, budget) for each in wildcards]
        #: What is known of names already.
        self._found: dict[str, bool] = {}

    def match(self, name: str) -> bool:
        """Whether a pattern means a layer.

        Raises: ArgumentError where that takes too long.
        """
        found = self._found.get(name)
        if found is None:
            found = self._found[name] = self._match_names(name) or self._match_special(name)
        return found

    def _match_names(self, name: str) -> bool:
        if name in self._whole or name in self._names:
            return True
        if not self._names:
            return False
        parts = name.split(".")
        return ((not self._is_exact and any(".".join(parts[:end]) in self._names
                                            for end in range(1, len(parts))))
                or any(".".join(parts[begin:]) in self._names for begin in range(1, len(parts))))

    def _match_special(self, name: str) -> bool:
        if not self._wildcards and not self._expressions:
            return False
        with self._budget.spend():
            return (any(each.match(name) for each in self._wildcards)
                    or any(each(name) for each in self._expressions))
