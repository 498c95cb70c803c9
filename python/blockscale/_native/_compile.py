# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compilation of modules to text and bytes."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from typing import Any

from blockscale._native import _structures
from blockscale._native._library import LIBRARY
from blockscale._native._watch import Progress, Watch


def encode(text: str | None) -> bytes | None:
    """A name or a path as C takes it."""
    return None if text is None else os.fsencode(text)


def take_output(output: ctypes.c_void_p) -> tuple[bytes, list[tuple[str, str]]] | None:
    """What the library made, which it frees."""
    if not output:
        return None
    try:
        data = ctypes.string_at(LIBRARY.blockscale_output_data(output),
                                LIBRARY.blockscale_output_size(output))
        stages = [(LIBRARY.blockscale_output_stage_name(output, i).decode(),
                   LIBRARY.blockscale_output_stage_text(output, i).decode(errors="replace"))
                  for i in range(LIBRARY.blockscale_output_stage_count(output))]
        return data, stages
    finally:
        LIBRARY.blockscale_output_destroy(output)


def compile(source: bytes, source_name: str, targets: Sequence[str], emission: int,
            ptxas: str | None, fuse: bool, tuned: str | None, remarks: bool, keep_stages: bool,
            progress: Progress | None, bytecode_reader: str | None = None,
            policy: str | None = None, machine_code: bool = False, checks: bool = True,
            overlap_launches: bool = False) -> tuple[
                int, str, list[tuple[Any, ...]], tuple[bytes, list[tuple[str, str]]] | None]:
    """Compiles a module, or only reads and verifies it where no targets are given. The value is
    what it became and its stages by name, or None."""
    watch = Watch(progress)
    config = _structures.CompileConfig(
        targets=(ctypes.c_char_p * len(targets))(*map(encode, targets)),
        target_count=len(targets), emission=emission, source_name=encode(source_name),
        ptxas=encode(ptxas), no_fusion=not fuse, remarks=remarks, keep_stages=keep_stages,
        on_diagnostic=watch.on_diagnostic, on_progress=watch.on_progress,
        bytecode_reader=encode(bytecode_reader), tuned=encode(tuned), policy=encode(policy),
        machine_code=machine_code, no_checks=not checks, overlap_launches=overlap_launches)
    run = LIBRARY.blockscale_compile if targets else LIBRARY.blockscale_verify
    output = ctypes.c_void_p()
    try:
        outcome = watch.run(lambda: run(source, len(source), config, output))
    finally:
        value = take_output(output)
    return (*outcome, value)


def check_nesting(text: bytes, source_name: str) -> tuple[int, str, list[tuple[Any, ...]], None]:
    """Refuses MLIR text that nests too deep for parsers of MLIR."""
    watch = Watch(None)
    config = _structures.CompileConfig(source_name=encode(source_name),
                                       on_diagnostic=watch.on_diagnostic)
    return (*watch.run(lambda: LIBRARY.blockscale_check_nesting(text, len(text), config)), None)
