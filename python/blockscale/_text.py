# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text of files as it is shown: a name in a file may have characters that move a terminal's cursor,
change its colours, turn the direction of what follows, or that no output can encode."""

from __future__ import annotations

import re
import reprlib
from typing import Any

#: Control characters, line and paragraph separators, invisible characters of direction and format,
#: and halves of surrogate pairs.
_HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
                     "\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]")
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 80
_SHORT.maxlist = _SHORT.maxdict = 4
_SHORT.maxlevel = 3


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else (
        f"\\U{code:08x}")


def escape(text: str) -> str:
    """Text on one line, in which each of these characters is as Python writes it: "\\x1b"."""
    return _HIDDEN.sub(_escape, text)


def escape_lines(text: str) -> str:
    """The same of text whose lines and tabs are meant."""
    return _HIDDEN.sub(lambda match: match[0] if match[0] in "\n\t" else _escape(match), text)


def shorten(value: Any) -> str:
    """A value of a file for a message, as Python writes it, with dots in the middle of what is
    long."""
    return _SHORT.repr(value)
