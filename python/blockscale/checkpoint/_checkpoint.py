# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checkpoints: their tensors, and the weights that these are parts of."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Union

from blockscale._errors import ArgumentError
from blockscale._json import parse
from blockscale._native._checkpoint import TensorFile, guard_reads
from blockscale._text import shorten
from blockscale.checkpoint._candidates import Candidate, find_candidates
from blockscale.checkpoint._config import (
    GGUF_CONFIG,
    TORCHAO_NAMES,
    Scheme,
    get_names,
    get_object,
    read_config,
)
from blockscale.checkpoint._families import (
    Unknown,
    find_unknown,
    get_family,
    get_layout,
    read_scheme,
)
from blockscale.checkpoint._files import find_files
from blockscale.checkpoint._layouts import DATA, GLOBAL, PLAIN_DTYPES, SCALES
from blockscale.checkpoint._names import Names, is_ggml_name
from blockscale.checkpoint._orientation import order_stack, orient
from blockscale.checkpoint._tensors import Tensor, Weight

#: Longer names of tensors are refused, as the time of patterns grows with names.
_LONGEST_NAME = 1024
Path = Union[str, "os.PathLike[str]"]


class Checkpoint:
    """The tensors of a checkpoint and what its configuration says. Nothing is read before it is
    asked for; views of tensors keep their file mapped.

    Attributes:
      path: as it was given.
      files: the files of tensors by their paths.
      folder: where its configuration is.
      tensors: by name, in the order of the files.
      index: the shard of each tensor, where there is an index.
      config: config.json, {} where there is none.
      quantization: hf_quant_config.json of ModelOpt, {} where there is none.
      scheme: what these say of quantization.
    """

    def __init__(self, path: Path | Sequence[Path],
                 open_file: Callable[[str], TensorFile] = TensorFile,
                 configs: tuple[Mapping[str, Any], Mapping[str, Any]] | None = None):
        """`open_file` opens each of its files. `configs` are config.json and hf_quant_config.json
        of files whose folder does not say them."""
        if isinstance(path, (str, os.PathLike)):
            self.path = os.fspath(path)
            files, self.index, self.folder = find_files(self.path)
        else:
            files, self.index = [os.fspath(each) for each in path], {}
            self.path, self.folder = ", ".join(files), ""
            _check_files(files)
        self.files = {path: open_file(path) for path in files}
        found: dict[str, Tensor] = {}
        for file, mapped in self.files.items():
            for each in mapped.tensors:
                if len(each.name) > _LONGEST_NAME:
                    raise ArgumentError(f"'{file}': expected names of at most {_LONGEST_NAME} "
                                        f"characters, but got {shorten(each.name)}")
                if each.name in found:
                    raise ArgumentError(f"expected each tensor once, but got '{each.name}' in "
                                        f"'{found[each.name].file}' and in '{file}'")
                found[each.name] = Tensor(each.name, each.type.name, each.shape, each.nbytes,
                                          each.offset, file, mapped)
        self.tensors: Mapping[str, Tensor] = found
        self._check_index()
        self.config, self.quantization = configs or read_config(self.folder)
        if not self.config and len(files) == 1:
            self.config = self._read_gguf_config()
        self.scheme: Scheme = read_scheme(self.config, self.quantization)

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Where its files are read: one that is cut or written meanwhile is an error, and no signal
        that ends the process.

        Raises: FileError.
        """
        with guard_reads():
            try:
                yield
            except Exception:
                self._check_unchanged()
                raise
            self._check_unchanged()

    def _check_unchanged(self) -> None:
        for mapped in self.files.values():
            mapped.check_unchanged()

    def _check_index(self) -> None:
        for name, shard in self.index.items():
            tensor = self.tensors.get(name)
            if tensor is None or os.path.basename(tensor.file) != shard:
                found = f"in '{os.path.basename(tensor.file)}'" if tensor else "nowhere"
                raise ArgumentError(f"expected '{name}' in '{shard}', as the index says, but it is "
                                    f"{found}")
        if self.index:
            for name, tensor in self.tensors.items():
                if name not in self.index:
                    raise ArgumentError(f"expected each tensor of a shard in the index, but "
                                        f"'{name}' of '{tensor.file}' is not there")

    def _read_gguf_config(self) -> dict[str, Any]:
        """The configuration that a file of GGUF of ours has in its metadata."""
        mapped, = self.files.values()
        for entry in mapped.metadata:
            if entry.key == GGUF_CONFIG and entry.type == "string":
                where = f"{GGUF_CONFIG} of '{self.path}'"
                return dict(get_object(parse(entry.value, where), where))
        return {}

    @property
    def nbytes(self) -> int:
        return sum(tensor.nbytes for tensor in self.tensors.values())

    @functools.cached_property
    def names(self) -> Names:
        """What the names of its layers mean."""
        return Names(self.config)

    def describe_names(self) -> str:
        """Of which layers patterns of names alone tell what they are, "" where there are none."""
        return self.names.describe(weight.name for weight in self.weights.values()
                                   if not is_ggml_name(weight.parts[DATA].name))

    @functools.cached_property
    def torchao(self) -> Mapping[str, Mapping[str, Any]]:
        """What the metadata of files say of torchao's tensors, by the names of their layers, or of
        other parameters."""
        found: dict[str, Mapping[str, Any]] = {}
        for mapped in self.files.values():
            for entry in mapped.metadata:
                if entry.type != "string" or not entry.value.startswith("{"):
                    continue
                try:
                    each = parse(entry.value, entry.key)
                except ArgumentError:
                    continue  # Text of another package.
                if isinstance(each, dict) and "_type" in each:
                    found[entry.key.removesuffix(".weight")] = each
        return found

    @functools.cached_property
    def torchao_names(self) -> frozenset[str]:
        """The tensors that the metadata of files name for torchao."""
        found: set[str] = set()
        for mapped in self.files.values():
            for entry in mapped.metadata:
                if entry.key == TORCHAO_NAMES and entry.type == "string":
                    with contextlib.suppress(ArgumentError):
                        found.update(get_names(parse(entry.value, entry.key), entry.key))
        return frozenset(found)

    @functools.cached_property
    def candidates(self) -> Mapping[str, Candidate]:
        """What may be a quantized weight, by name."""
        return find_candidates(self)

    def _find_quantized(self) -> Iterator[Weight]:
        """The candidates whose data and scales are there, in the types of their layout. Those
        without elements are no weights, whose other sizes may be anything."""
        for name, candidate in self.candidates.items():
            layout, data, scales = (candidate.layout, candidate.get(DATA), candidate.get(SCALES))
            if layout is None or data is None or data.dtype != layout.data[1] or (
                    len(data.shape) < 2 or not data.nbytes):
                continue
            parts = {role: part for role in layout.endings
                     if (part := candidate.get(role)) is not None
                     and layout.accepts(role, part.dtype)}
            if (layout.scales[0] and SCALES not in parts) or (
                    layout.global_scale and GLOBAL not in parts
                    and not get_family(layout.family).may_lack_global):
                continue  # No scale is taken for 1.
            is_swizzled = False
            if layout.holds_swizzled:
                described = self.torchao.get(name, {}).get("_data")
                is_swizzled = isinstance(described, dict) and bool(
                    described.get("is_swizzled_scales"))
            shape, is_transposed = layout.get_weight_shape(data.shape), False
            if not layout.data[0]:
                found = orient(name, layout, data, scales, self._stacks, self.config)
                if found is None:
                    continue
                shape, is_transposed = found
            yield Weight(name, layout, shape, parts, is_transposed, is_swizzled)

    def _find_plain(self, name: str) -> Iterator[Weight]:
        tensor = self.tensors[name]
        if tensor.dtype not in PLAIN_DTYPES or not tensor.nbytes:
            return
        layout = get_layout(f"plain {PLAIN_DTYPES[tensor.dtype]}")
        if len(tensor.shape) == 2 and name.endswith(".weight"):
            yield Weight(name.removesuffix(".weight"), layout, tensor.shape, {DATA: tensor})
        elif len(tensor.shape) == 3 and self.names.is_stack(name.removesuffix(".weight")):
            stack = name.removesuffix(".weight")
            is_transposed = order_stack(tensor.shape, stack, self._stacks, self.config)
            e, first, second = tensor.shape
            if is_transposed is not None:
                shape = (e, second, first) if is_transposed else tensor.shape
                yield Weight(stack, layout, shape, {DATA: tensor}, is_transposed)

    @functools.cached_property
    def _stacks(self) -> Mapping[str, Tensor]:
        return {name.removesuffix(".weight"): tensor for name, tensor in self.tensors.items()
                if len(tensor.shape) == 3}

    @functools.cached_property
    def weights(self) -> Mapping[str, Weight]:
        """Weights by the names of their layers or stacks, in the order of the files: those with
        scales, and plain ones of two dimensions, and of three where sizes of the configuration
        tell the order of the last two."""
        found = {weight.name: weight for weight in self._find_quantized()}
        used = {part.name for weight in found.values() for part in weight.parts.values()}
        plain: dict[str, Weight] = {}
        for name in self.tensors:
            if name not in used:
                plain.update((weight.name, weight) for weight in self._find_plain(name))
        # In the order of files, whatever they are.
        places = {name: number for number, name in enumerate(self.tensors)}
        both = {**plain, **found}
        return dict(sorted(both.items(), key=lambda item: places[item[1].parts[DATA].name]))

    @functools.cached_property
    def unknown(self) -> Sequence[Unknown]:
        """Quantized layers that no layout explains."""
        used = {part.name for candidate in self.candidates.values()
                if candidate.layout is not None or not candidate.has_codes
                for part in candidate.parts.values()}
        return find_unknown(self.tensors, used, self.scheme, self.torchao)

    @functools.cached_property
    def unexplained(self) -> Sequence[Unknown]:
        """Quantized layers whose numbers are not known: of formats without a layout, and such as
        have not all parts of theirs."""
        broken = [Unknown(name, candidate.layout.name,
                          tuple(part.name for part in candidate.parts.values()), True)
                  for name, candidate in self.candidates.items()
                  if candidate.layout is not None and name not in self.weights
                  and candidate.get(DATA) is not None]
        return [*self.unknown, *broken]

    @property
    def others(self) -> Mapping[str, Tensor]:
        """The tensors that are of no weight."""
        used = {part.name for weight in self.weights.values() for part in weight.parts.values()}
        return {name: tensor for name, tensor in self.tensors.items() if name not in used}


def _check_files(files: Sequence[str]) -> None:
    """Refuses files that are given twice, and no files at all."""
    if not files:
        raise ArgumentError("expected files of a checkpoint, but got none")
    for number, file in enumerate(files):
        if file in files[:number]:
            raise ArgumentError(f"expected each tensor once, but got '{file}' twice")


def open(path: Path | Sequence[Path]) -> Checkpoint:
    """A checkpoint: a folder of safetensors with or without an index, the index itself, one file
    of safetensors or GGUF, or several files, which have no configuration then.

    Raises: ArgumentError for what is no checkpoint: headers that do not fit their file, tensors
      that overlap or are there twice, an index that names shards elsewhere or tensors that are
      not there; FileError.
    """
    return Checkpoint(path)
