# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls during which the file of their source is cut, or written, as test_changing.py has them run
in a process of their own."""

import os
from pathlib import Path

from blockscale import checkpoint

MXFP8 = {"version": 1, "rules": [{"format": "mxfp8"}]}


def _change(source, how):
    path = Path(source, "model.safetensors")
    size = path.stat().st_size
    if how == "write":
        with open(path, "r+b") as file:
            file.seek(size - 1)
            file.write(b"x")
        os.utime(path, ns=(7, 7))
    else:
        # To whole pages, or not, of which the rest reads as zeros.
        os.truncate(path, {"half": size // 2 // 4096 * 4096, "byte": size - 1, "all": 0}[how])


def _make_progress(source, how):
    names = []

    def progress(name, *_):
        names.append(name)
        if len(names) == 1:
            _change(source, how)
    return progress


def quantize(source, how, result):
    checkpoint.quantize(source, result, MXFP8, threads=1, progress=_make_progress(source, how))


def convert(source, how, result):
    """Of a quantized source."""
    checkpoint.convert(source, result, "plain", threads=1, progress=_make_progress(source, how))


def check(source, how, result):
    found = checkpoint.open(source)
    _change(source, how)
    checkpoint.check(found)


def diff(source, how, result):
    checkpoint.diff(source, source, threads=1, progress=_make_progress(source, how))


def read(source, how, result):
    """A view that the caller has, as long as it says that it reads."""
    found = checkpoint.open(source)
    with found.reading():
        _change(source, how)
        sum(int(tensor.bytes().sum()) for tensor in found.tensors.values())


def read_what_is_gone(source, how, result):
    """A file that is replaced under its name stays what it was for who has it open."""
    found = checkpoint.open(source)
    with found.reading():
        os.unlink(Path(source, "model.safetensors"))
        sum(int(tensor.bytes().sum()) for tensor in found.tensors.values())
