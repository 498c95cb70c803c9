# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks checkpoints: configurations, tensors, numbers."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Mapping, Sequence

from blockscale._errors import ArgumentError
from blockscale.checkpoint._candidates import Candidate
from blockscale.checkpoint._check import (
    _cache,
    _config,
    _contents,
    _experts,
    _layers,
    _members,
    _order,
    _parts,
    _sizes,
    _strangers,
    _tables,
    _values,
)
from blockscale.checkpoint._check._loaders import LOADERS, Form
from blockscale.checkpoint._check._report import Finding, Report, make_report
from blockscale.checkpoint._check._tiles import check_tiles
from blockscale.checkpoint._checkpoint import Checkpoint, Path
from blockscale.checkpoint._checkpoint import open as open_checkpoint
from blockscale.checkpoint._names import is_ggml_name, split_expert

#: Weights that break one of these rules cannot be dequantized, or tell nothing.
_NOT_READ = ("shape-of-scales", "order-of-scales", "has-scales", "types-of-parts",
             "described-tensors", "scales-are-numbers", "scales-are-positive",
             "global-scale-is-positive")


def _check_structure(checkpoint: Checkpoint, candidates: Mapping[str, Candidate]
                     ) -> Iterator[Finding]:
    """What the model has, whichever way it is stored."""
    members, config = _members.list_members(checkpoint, candidates), checkpoint.config
    yield from _layers.check_numbers(members, config)
    yield from _layers.check_blocks(checkpoint)
    yield from _layers.check_alike(members, config)
    yield from _layers.check_partners(members, config)
    yield from _layers.check_ends(members, config)
    yield from _sizes.check_sizes(members, config)
    yield from _sizes.check_biases(members, config)
    yield from _experts.check_numbered(checkpoint)
    yield from _experts.check_stacks(members, config)


def _list_forms(checkpoint: Checkpoint) -> list[Form]:
    """How weights are stored, those with codes first."""
    forms = []
    for name, weight in checkpoint.weights.items():
        group = None if weight.layout.is_plain else checkpoint.scheme.find(name)
        forms.append(Form(weight.layout.family, weight.format,
                          group.quantizes_activations if group is not None else None,
                          split_expert(name) is not None or len(weight.shape) == 3,
                          bool(checkpoint.scheme.family)))
    return sorted(forms, key=lambda form: form.family == "plain")


def list_faults(checkpoint: Checkpoint, tensor_parallel: Sequence[int] = (), *,
                reads_plain: bool = True) -> list[Finding]:
    """What breaks a rule, but for what statistics of weights say.

    Args:
      reads_plain: whether plain tensors are read; else the caller looks at their numbers.
    """
    candidates = checkpoint.candidates
    findings: list[Finding] = [
        *_config.check_presence(checkpoint, candidates),
        *_config.check_configurations(checkpoint),
        *_config.check_layers(checkpoint, candidates),
        *_config.check_ties(checkpoint, candidates),
        *_config.check_status(checkpoint, candidates),
        *_check_structure(checkpoint, candidates),
        *_strangers.check_names(checkpoint),
        *_strangers.check_second_weights(candidates),
        *_tables.check_tables(checkpoint, candidates),
        *_tables.check_tied_head(checkpoint),
        *_parts.check_groups(checkpoint, candidates),
        *_parts.check_metadata(checkpoint, candidates),
    ]
    unknown = {each.name for each in checkpoint.unknown}
    for name, candidate in candidates.items():
        if name in unknown:
            continue  # It is named; what it lacks is not known.
        findings += _parts.check_parts(checkpoint, candidate)
        findings += _parts.check_shapes(checkpoint, candidate)
        findings += _parts.check_orientation(checkpoint, candidate)
        findings += _parts.check_tensor_parallel(candidate, tensor_parallel)
        findings += _values.check_values(candidate)
    findings += _values.check_equal_scales(checkpoint, candidates)
    if reads_plain:
        used = {tensor.name for candidate in candidates.values() if candidate.layout is not None
                for tensor in candidate.parts.values()}
        findings += _values.check_plain(checkpoint, used)
    findings += _cache.check_cache(checkpoint)
    return findings


def check(path: Path | Checkpoint, *, tensor_parallel: Sequence[int] = (),
          loaders: Sequence[str] = ()) -> Report:
    """Checks a checkpoint by the rules of docs/CheckpointFaults.md. All tensors are read.

    Args:
      path: of the checkpoint, or one that is open.
      tensor_parallel: numbers of parts that weights are cut in.
      loaders: whose behaviour is told, of "vLLM", "TensorRT-LLM", "SGLang", "transformers" and
        "llama.cpp"; all without it.

    Returns: what breaks a rule.

    Raises: ArgumentError, FileError: for what cannot be read as a checkpoint.
    """
    for degree in tensor_parallel:
        if isinstance(degree, bool) or not isinstance(degree, int) or degree < 1:
            raise ArgumentError(f"expected degrees of tensor parallelism from 1 on, but got "
                                f"{degree!r}")
    by_name = {loader.lower(): loader for loader in LOADERS}
    for loader in loaders:
        if str(loader).lower() not in by_name:
            raise ArgumentError(f"expected loaders of {', '.join(LOADERS)}, but got {loader!r}")
    checkpoint = path if isinstance(path, Checkpoint) else open_checkpoint(path)
    with checkpoint.reading():
        return _check(checkpoint, tensor_parallel, [by_name[str(each).lower()] for each in loaders])


def _check(checkpoint: Checkpoint, tensor_parallel: Sequence[int], loaders: Sequence[str]
           ) -> Report:
    findings = list_faults(checkpoint, tensor_parallel)
    if not any(finding.rule.name in _NOT_READ for finding in findings):
        findings += _contents.check_contents(checkpoint)
        findings += _order.check_order(checkpoint)
        for weight in checkpoint.weights.values():
            findings += check_tiles(weight)
    families = collections.Counter(weight.layout.family for weight in checkpoint.weights.values())
    return make_report(checkpoint.path, dict(families), _list_forms(checkpoint), findings, loaders,
                       any(file.endswith(".gguf") for file in checkpoint.files),
                       any(map(is_ggml_name, checkpoint.tensors)),
                       collections.Counter(each.title for each in checkpoint.unknown),
                       checkpoint.describe_names())
