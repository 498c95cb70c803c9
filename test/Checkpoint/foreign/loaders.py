# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `check` says of transformers and llama.cpp, beside what transformers and gguf do."""

from __future__ import annotations

import contextlib
import io
import json
import re
from pathlib import Path

import numpy as np
import torch

import make_checkpoint_vectors as vectors
from foreign.matrix import NOT_KNOWN, RIGHT, WRONG, Cell, run, shorten
from foreign.sources import Source

#: Of the spread of logits: the most that those of a file that is read differ from those of a plain
#: model, whose activations are not quantized.
NEAR = 0.35


def find_statement(path: Path, loader: str) -> str:
    ended = run("check", path, "--json")
    return str(json.loads(ended.out)["loaders"][loader])


def _compute(folder: Path) -> tuple[torch.Tensor | None, str]:
    """The logits that transformers computes, or why it does not read a checkpoint. They are empty
    for a model that it reads, and whose products PyTorch has for GPUs alone."""
    from transformers import AutoModelForCausalLM
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), torch.no_grad():
            model, info = AutoModelForCausalLM.from_pretrained(
                folder, dtype=torch.bfloat16, output_loading_info=True)
            # Scales of the KV cache are for other loaders.
            left = {kind: kept for kind, names in info.items()
                    if (kept := [name for name in names if not str(name).endswith(
                        (".k_scale", ".v_scale"))])}
            if left:
                return None, f"leaves {next(iter(left.items()))}"
            try:
                logits: torch.Tensor = model.eval()(vectors.make_sample()).logits.float()
            except NotImplementedError:
                return torch.empty(0), ""
            return logits, ""
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"


def ask_transformers(source: Source, path: Path, folder: Path) -> Cell:
    """Whether transformers reads a checkpoint where `check` says so, and only there."""
    said = find_statement(path, "transformers")
    if NOT_KNOWN in said:
        return Cell(source.name, "transformers", RIGHT, f"nothing is claimed: {said}")
    logits, why = _compute(path)
    if logits is not None and logits.numel() and source.truth:
        plain, broken = _compute(source.write_plain(folder, True))
        if plain is None:
            return Cell(source.name, "transformers", WRONG, f"the plain model: {broken}")
        distance = float((logits - plain).square().mean().sqrt() / plain.std())
        if not distance < NEAR:
            logits, why = None, f"computes with other numbers: {distance:.2f} of their spread"
    reads = not re.search("does not read|refuses|takes the codes|stops", said)
    is_right = reads == (logits is not None)
    does = "reads it" if logits is not None else shorten(why)
    return Cell(source.name, "transformers", RIGHT if is_right else WRONG,
                f"check says '{said}', and it {does}")


def ask_gguf(source: Source, path: Path) -> Cell:
    """Whether the package gguf, which has llama.cpp's types, finds the tensors and reads their
    numbers where `check` says that llama.cpp reads the types."""
    import gguf
    said = find_statement(path, "llama.cpp")
    if NOT_KNOWN in said:
        return Cell(source.name, "gguf", RIGHT, f"nothing is claimed: {said}")
    try:
        found = {tensor.name: gguf.quants.dequantize(tensor.data, tensor.tensor_type)
                 for tensor in gguf.GGUFReader(path).tensors}
        why = "" if all(np.isfinite(each).all() for each in found.values()) else "reads NaN"
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
    reads = "does not read" not in said
    return Cell(source.name, "gguf", RIGHT if reads == (not why) else WRONG,
                f"check says '{said}', and it {why or 'reads it'}")


def ask(source: Source, path: Path, folder: Path) -> Cell:
    if path.suffix == ".gguf":
        return ask_gguf(source, path)
    return ask_transformers(source, path, folder)


__all__ = ["ask"]
