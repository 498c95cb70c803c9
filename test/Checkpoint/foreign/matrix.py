# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each command of blockscale-checkpoint does with a foreign checkpoint: right, refused by
name, or wrong. A command that ends without an error but gives other numbers must never be."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from blockscale.checkpoint._command import main as run_command
from foreign.results import Result, decode, list_unexplained
from foreign.sources import Source

TARGETS = ("modelopt", "compressed-tensors", "gpt-oss", "torchao", "gguf", "plain", "fp8-blocks")
#: The format to which each family quantizes what it has no layout for.
FORMATS = {"modelopt": "nvfp4", "compressed-tensors": "nvfp4", "torchao": "mxfp8", "gguf": "nvfp4"}
#: Decibels that a weight has at least in a format, of weights with outliers and tiny rows.
LEAST_SQNR = {"nvfp4": 12.0, "mxfp4": 9.0, "mxfp8": 22.0}
#: A product of scales may be rounded twice where one is the reciprocal of what is stored.
TOLERANCE = 2.0 ** -21
#: Half of the distance of neighbours in bf16, which compressed-tensors gives, and a bit more.
BF16 = 2.0 ** -8
#: What is said of a format that is no layout, behind its name.
NOT_KNOWN = "not known here"
RIGHT, REFUSED, WRONG = "right", "refused", "wrong"


class Cell(NamedTuple):
    """One command on one source: how it ended, and why that is so."""

    source: str
    command: str
    outcome: str
    why: str = ""


class Ended(NamedTuple):
    status: int
    out: str
    err: str


def run(*arguments: object) -> Ended:
    """A command in this process. An exception that it lets out has the status -1."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = run_command([str(each) for each in arguments])
        except SystemExit as error:
            status = int(error.code or 0)
        except Exception:
            status = -1
            err.write(traceback.format_exc())
    return Ended(status, out.getvalue(), err.getvalue())


def shorten(text: str) -> str:
    return " ".join(text.split())[-300:]


def names_unknown(source: Source, text: str) -> bool:
    """Whether a text says that the format of a source is not known."""
    return re.search(rf"(?:{source.unknown})\b.*{NOT_KNOWN}", text) is not None


def find_alike(name: str, numbers: dict[str, np.ndarray]) -> np.ndarray | None:
    """The numbers of a name, or of the other name that a scale of the KV cache has."""
    other = re.sub(r"\.([kv])_proj\.\1_scale$", r".\1_scale", name)
    return numbers.get(name, numbers.get(other))


def compare(truth: dict[str, np.ndarray], numbers: dict[str, np.ndarray], lost: int = 0,
            tolerance: float = TOLERANCE) -> str:
    """What differs from the truth, "" where nothing does. At most `lost` blocks may."""
    count = 0
    for name, expected in truth.items():
        found = find_alike(name, numbers)
        if found is None:
            return f"{name} is not there"
        if found.size != expected.size or (found.ndim > 1 and found.shape != expected.shape):
            return f"{name}: expected shape {expected.shape}, but got {found.shape}"
        first, second = (each.astype(np.float64).reshape(-1) for each in (expected, found))
        different = ~(np.abs(first - second) <= tolerance * np.abs(first))
        if expected.ndim == 2 and lost:
            blocks = different[:different.size // 16 * 16].reshape(-1, 16).any(1)
            count += int(blocks.sum())
        elif different.any():
            at = int(np.argmax(different))
            return (f"{name}: {int(different.sum())} of {different.size} numbers differ, as "
                    f"{second[at]:g} for {first[at]:g}")
    # A block of MX has two of 16, and of FP8 in blocks 1024.
    return f"{count} blocks of 16 differ, but {lost} are told" if count > 1024 * lost else ""


def find_noise(source: Source, numbers: dict[str, np.ndarray], format: str) -> str:
    """Which weight has more noise than a format makes, "" where none has."""
    for name, expected in source.truth.items():
        found = find_alike(name, numbers)
        if found is None:
            return f"{name} is not there"
        if found.shape != expected.shape:
            return f"{name}: expected shape {expected.shape}, but got {found.shape}"
        first, second = expected.astype(np.float64), found.astype(np.float64)
        noise, signal = float(((first - second) ** 2).sum()), float((first ** 2).sum())
        if noise and (not np.isfinite(noise) or 10 * np.log10(signal / noise)
                      < LEAST_SQNR[format]):
            return f"{name}: {10 * np.log10(signal / noise):.1f} dB"
    return ""


class Matrix:
    """The commands on one source.

    Args:
      source: the checkpoint.
      folder: an empty one, for the source and for results.
      decode_more: numbers of a result by the decoder of its package, where that is installed, and
        the name of the package; ({}, "") elsewhere.
    """

    def __init__(self, source: Source, folder: Path,
                 decode_more: Callable[[str, Result], tuple[dict[str, np.ndarray], str]]
                 = lambda family, found: ({}, "")):
        self.source = source
        self._folder = folder
        self._decode_more = decode_more
        self.path = source.write(folder / "source")

    def _cell(self, command: str, outcome: str, why: str = "") -> Cell:
        return Cell(self.source.name, command, outcome, shorten(why))

    def run_all(self) -> Iterator[Cell]:
        yield self.check()
        yield self.list()
        for family in TARGETS:
            yield from self.convert(family)
        yield self.quantize()
        yield self.diff()

    def _judge_unknown(self, command: str, ended: Ended, refused: tuple[int, ...]) -> Cell:
        text = ended.out + ended.err
        if ended.status not in refused:
            return self._cell(command, WRONG, f"status {ended.status}: {text}")
        if not names_unknown(self.source, text):
            return self._cell(command, WRONG, f"does not name {self.source.unknown}: {text}")
        return self._cell(command, REFUSED, text)

    def check(self) -> Cell:
        ended = run("check", self.path)
        if self.source.unknown:
            if re.search(r"(?m): reads it$|no faults found", ended.out):
                return self._cell("check", WRONG, ended.out)
            return self._judge_unknown("check", ended, (1, 2))
        # Behind a loader's name, the words are about what that loader does.
        is_right = ended.status == 0 and f", {NOT_KNOWN}" not in ended.out
        return self._cell("check", RIGHT if is_right else WRONG, ended.out + ended.err)

    def list(self) -> Cell:
        ended = run("list", self.path)
        if self.source.unknown:
            return self._judge_unknown("list", ended, (0, 2))
        plain = [layer for layer in self.source.quantized if not re.search(
            rf"(?m)^{re.escape(layer)} +(?!plain)\S", ended.out)]
        is_right = ended.status == 0 and not plain
        return self._cell("list", RIGHT if is_right else WRONG,
                          f"not listed as quantized: {plain[:2]} {ended.err}")

    def _judge_refusal(self, command: str, ended: Ended, target: Path) -> Cell:
        """A refusal says what was expected and names what it is about, and leaves no result."""
        text = ended.err
        if ended.status != 2 or "Traceback" in text or "expected" not in text:
            return self._cell(command, WRONG, f"status {ended.status}: {text}")
        if target.exists() or target.with_name(target.name + ".partial").exists():
            return self._cell(command, WRONG, f"leaves a result: {text}")
        return self._cell(command, REFUSED, text)

    def _read(self, family: str, target: Path) -> tuple[dict[str, np.ndarray], str]:
        """The numbers of a result, and what is wrong with it as a checkpoint."""
        found = Result(target)
        numbers = decode(found)
        unexplained = list_unexplained(found)
        if unexplained:
            return numbers, f"nothing explains {unexplained[0]}"
        more, package = self._decode_more(family, found)
        for name, values in more.items():
            wrong = compare({name: numbers[name]}, {name: values}, tolerance=(
                BF16 if package == "compressed-tensors" else TOLERANCE))
            if wrong:
                return numbers, f"{package} reads other numbers: {wrong}"
        checked = run("check", target, "--json")
        if checked.status not in (0, 1):
            return numbers, f"check: {checked.err}"
        errors = [f"{each['rule']}: {each['name']}: {each['message']}"
                  for each in json.loads(checked.out)["findings"] if each["severity"] == "error"]
        return numbers, f"check of the result: {errors[0]}" if errors else ""

    def convert(self, family: str) -> Iterator[Cell]:
        """To a family as it is, and where that has no layout for it, to a format of the family."""
        cell = self._convert(family, "")
        yield cell
        if cell.outcome == REFUSED and not self.source.unknown and family in FORMATS:
            yield self._convert(family, FORMATS[family])

    def _convert(self, family: str, format: str) -> Cell:
        command = f"convert --to={family}" + (f" --format={format}" if format else "")
        target = self._folder / f"{family}{format}{'.gguf' if family == 'gguf' else ''}"
        report = self._folder / "report.json"
        ended = run("convert", self.path, target, f"--to={family}", f"--json={report}",
                    *([f"--format={format}"] if format else []),
                    *(["--dtype=f32"] if family == "plain" else []))
        try:
            if self.source.unknown:
                cell = self._judge_refusal(command, ended, target)
                return cell if cell.outcome == WRONG else self._judge_unknown(command, ended, (2,))
            if ended.status != 0:
                return self._judge_refusal(command, ended, target)
            numbers, wrong = self._read(family, target)
            if not wrong and format:
                wrong = find_noise(self.source, numbers, format)
            elif not wrong:
                lost = sum(each.get("lost", 0) for each in json.loads(report.read_text())["layers"])
                wrong = compare(self.source.truth, numbers, lost)
            return self._cell(command, WRONG if wrong else RIGHT, wrong)
        except Exception:
            return self._cell(command, WRONG, "cannot be decoded: " + traceback.format_exc())
        finally:
            if target.is_dir():
                shutil.rmtree(target)
            else:
                target.unlink(missing_ok=True)

    def quantize(self) -> Cell:
        target = self._folder / "quantized"
        ended = run("quantize", self.path, target, "--format=nvfp4", "--weight-only")
        try:
            if self.source.unknown:
                cell = self._judge_refusal("quantize", ended, target)
                return cell if cell.outcome == WRONG else self._judge_unknown(
                    "quantize", ended, (2,))
            if ended.status != 0:
                return self._judge_refusal("quantize", ended, target)
            numbers, wrong = self._read("modelopt", target)
            wrong = wrong or find_noise(self.source, numbers, "nvfp4")
            return self._cell("quantize", WRONG if wrong else RIGHT, wrong)
        except Exception:
            return self._cell("quantize", WRONG, "cannot be decoded: " + traceback.format_exc())
        finally:
            shutil.rmtree(target, ignore_errors=True)

    def diff(self) -> Cell:
        """Against the numbers as a plain checkpoint; of what is not known, against itself."""
        if self.source.unknown:
            return self._judge_unknown("diff", run("diff", self.path, self.path), (1, 2))
        plain = self.source.write_plain(self._folder / "plain-source")
        ended = run("diff", self.path, plain, "--sqnr=120")
        return self._cell("diff", RIGHT if ended.status == 0 else WRONG, ended.out + ended.err)
