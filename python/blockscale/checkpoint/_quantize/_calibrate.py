# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The amaxes of a model's activations, measured by transformers on texts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from blockscale._errors import ArgumentError, read_file
from blockscale.checkpoint._checkpoint import Path

_NEEDED = ("expected PyTorch and transformers to be installed to calibrate; pip install "
           "'blockscale[torch]' transformers")


def read_texts(path: Path) -> list[str]:
    """The lines of a file that are not empty.

    Raises: ArgumentError for a file without any, or that is not UTF-8; FileError.
    """
    try:
        text = read_file(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ArgumentError(f"expected '{os.fspath(path)}' to be text in UTF-8, but got byte "
                            f"{error.object[error.start]:#04x} at {error.start}") from error
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise ArgumentError(f"expected lines of text in '{os.fspath(path)}', but got none")
    return lines


def _load(source: str, on: str) -> tuple[Any, Any]:
    """The model and the tokenizer of a folder. Nothing is fetched from elsewhere."""
    try:
        import torch
        import transformers
    except ImportError as error:
        raise ImportError(_NEEDED) from error
    if on == "cuda" and not torch.cuda.is_available():
        raise ArgumentError("expected a GPU for on='cuda', but got none; leave it out")
    if not os.path.isdir(source):
        raise ArgumentError(f"expected a folder with a model and its tokenizer, but got '{source}'")
    try:
        config = transformers.AutoConfig.from_pretrained(source, local_files_only=True)
        has_head = any(name.endswith(("ForCausalLM", "ForConditionalGeneration"))
                       for name in config.architectures or ())
        kind = transformers.AutoModelForCausalLM if has_head else transformers.AutoModel
        model = kind.from_pretrained(source, dtype="auto", local_files_only=True)
        tokenizer = transformers.AutoTokenizer.from_pretrained(source, local_files_only=True)
    except (OSError, ValueError, KeyError) as error:
        first = str(error).strip().splitlines()[0]
        raise ArgumentError(f"expected '{source}' to be a model of transformers with a tokenizer, "
                            f"but got {type(error).__name__}: {first}") from error
    return model.eval().to(on), tokenizer


def calibrate(source: Path, texts: Iterable[str], *, tokens: int = 512, on: str = "cpu",
              progress: Callable[[str, int, int], None] | None = None) -> dict[str, float]:
    """The largest absolute value that each layer of a model reads on texts, for the `amaxes` of
    quantize(). Needs PyTorch and transformers.

    Args:
      source: a folder that transformers loads, with a tokenizer. The model is in memory as a
        whole.
      texts: of each the first tokens are read.
      tokens: at most so many of each text.
      on: "cpu" or "cuda".
      progress: called with "text", how many were read, and how many there are.

    Returns: amaxes by the names of layers, and of stacks of experts.

    Raises: ArgumentError, ImportError.
    """
    if on not in ("cpu", "cuda"):
        raise ArgumentError(f"expected on to be cpu or cuda, but got {on!r}")
    if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 1:
        raise ArgumentError(f"expected tokens to be 1 or more, but got {tokens!r}")
    given = [texts] if isinstance(texts, str) else list(texts)
    if not given:
        raise ArgumentError("expected at least one text, but got none")
    model, tokenizer = _load(os.fspath(source), on)
    from blockscale.torch import calibrate as calibrate_model

    def make_batches() -> Iterator[Any]:
        for number, text in enumerate(given):
            batch = tokenizer(text, return_tensors="pt", truncation=True, max_length=tokens)
            if not batch["input_ids"].numel():
                raise ArgumentError(f"expected tokens in text {number}, but got none: "
                                    f"{text[:60]!r}")
            yield {name: value.to(on) for name, value in batch.items()
                   if name in ("input_ids", "attention_mask")}
            if progress:
                progress("text", number + 1, len(given))
    return calibrate_model(model, make_batches())
