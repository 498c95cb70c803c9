# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MLIR for Pygments, which has no lexer for it."""

from typing import ClassVar

from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace

__all__ = ["MlirLexer"]

_NAME = r"[\w$.-]+"
_TYPES = ("tensor", "memref", "vector", "index", "none", "tuple", "complex")


class MlirLexer(RegexLexer):
    name = "MLIR"
    aliases: ClassVar = ["mlir"]
    filenames: ClassVar = ["*.mlir"]

    tokens: ClassVar = {
        "root": [
            (r"\s+", Whitespace),
            (r"//.*", Comment.Single),
            (r'"(\\.|[^"\\])*"', String),
            (rf"@{_NAME}", Name.Function),
            (rf"%{_NAME}(:\d+|#\d+)?", Name.Variable),
            (rf"[#!]{_NAME}", Name.Attribute),
            (rf"\^{_NAME}", Name.Label),
            # Before numbers: 4x8xf8E4M3FN has dimensions and an element type.
            (r"(\d+|\?)(?=x)", Number.Integer),
            (r"x(?=[\d?a-z])", Punctuation),
            (r"(bf16|[fis]\d+(E\d+M\d+\w*)?|ui\d+)\b", Keyword.Type),
            (words(_TYPES, suffix=r"\b"), Keyword.Type),
            (r"-?(0x[0-9a-fA-F]+|\d+(\.\d*)?([eE][-+]?\d+)?)", Number),
            (r"[a-z_]\w*(\.[a-z_]\w*)+", Name.Builtin),
            (r"[A-Za-z_]\w*", Keyword),
            (r"->|[-+*=:]", Operator),
            (r".", Punctuation),
        ],
    }
