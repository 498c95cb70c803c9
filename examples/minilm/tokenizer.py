# ===- tokenizer.py - WordPiece -------------------------------------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Text to token ids, as uncased BERT models expect them.

Text is cleaned, lowered and stripped of accents, split at spaces and
punctuation, and each word cut greedily into the longest pieces the vocabulary
has ("##" marks a piece inside a word).
"""

import unicodedata

MAX_WORD = 100

# Blocks of ideographs, each a word of its own.
_IDEOGRAPHS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class Tokenizer:
    """`vocabulary` lists the pieces; a piece's index is its id."""

    def __init__(self, vocabulary):
        self.ids = {piece: i for i, piece in enumerate(vocabulary)}

    def encode(self, text):
        """Ids of [CLS] pieces.. [SEP]."""
        pieces = [p for word in _words(text) for p in self._pieces(word)]
        return [self.ids[p] for p in ["[CLS]", *pieces, "[SEP]"]]

    def _pieces(self, word):
        if len(word) > MAX_WORD:
            return ["[UNK]"]
        pieces, start = [], 0
        while start < len(word):
            prefix = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((e for e in ends if prefix + word[start:e] in self.ids), None)
            if end is None:
                return ["[UNK]"]
            pieces.append(prefix + word[start:end])
            start = end
        return pieces


def _words(text):
    text = "".join(map(_clean, text))
    text = "".join(c for c in unicodedata.normalize("NFD", text) if not _is_accent(c))
    text = "".join(f" {c} " if _is_punctuation(c) else c for c in text.lower())
    return text.split()


def _clean(c):
    if c in "\t\n\r" or unicodedata.category(c) == "Zs":
        return " "
    if c in "\0\ufffd" or unicodedata.category(c) in ("Cc", "Cf", "Co", "Cs"):
        return ""
    if any(first <= ord(c) <= last for first, last in _IDEOGRAPHS):
        return f" {c} "
    return c


def _is_accent(c):
    return unicodedata.category(c) == "Mn"


def _is_punctuation(c):
    """All of ASCII's symbols count, `$` and `^` too."""
    is_ascii_symbol = 33 <= ord(c) <= 126 and not c.isalnum()
    return is_ascii_symbol or unicodedata.category(c).startswith("P")
