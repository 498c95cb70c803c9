# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text of JSON that a file has, whoever wrote it: read in bounded memory and time, or refused."""

from __future__ import annotations

import json
import math
from typing import Any

from blockscale._errors import ArgumentError
from blockscale._text import shorten

#: Values in values beyond it are refused: what goes through them calls itself.
_MOST_LEVELS = 64
#: The digits of integers of 64 bits, and some more.
_MOST_DIGITS = 24


def _read_integer(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"an integer of {len(digits)} digits, of which at most {_MOST_DIGITS} "
                         "are read")
    return int(digits)


def _read_float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"the number {shorten(text)}, which no f64 is")
    return number


def _make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise ValueError(f"the member {shorten(name)} twice")
            seen.add(name)
    return found


def _check_levels(value: Any) -> None:
    level = [value]
    for _ in range(_MOST_LEVELS):
        level = [inner for outer in level if isinstance(outer, (dict, list))
                 for inner in (outer.values() if isinstance(outer, dict) else outer)
                 if isinstance(inner, (dict, list))]
        if not level:
            return
    raise ValueError(f"more than {_MOST_LEVELS} levels of values in values")


def parse(text: bytes | str, what: str) -> Any:
    """The value that text of JSON is. NaN and Infinity, which Python writes, are floats; members
    have different names.

    Args:
      what: the text is, for the message.

    Raises: ArgumentError for text that is no JSON, or has numbers or levels beyond all use.
    """
    try:
        decoded = text.decode("utf-8") if isinstance(text, bytes) else text
        value = json.loads(decoded, object_pairs_hook=_make_object, parse_int=_read_integer,
                           parse_float=_read_float)
        _check_levels(value)
        if "\\ud" in decoded.lower():
            # An escape of half a surrogate pair is no text that a file could be called by.
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise ArgumentError(f"expected {what} to be JSON, but got more than {_MOST_LEVELS} levels "
                            "of values in values") from None
    except ValueError as error:
        raise ArgumentError(f"expected {what} to be JSON, but got {error}") from error
    return value
