# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Configurations of quantized checkpoints, as they are written."""

from __future__ import annotations

import copy
from collections.abc import Container, Iterable, Mapping, Sequence

from blockscale._errors import ArgumentError
from blockscale.checkpoint._checkpoint import Checkpoint
from blockscale.checkpoint._config import CONFIG, MODELOPT_CONFIG
from blockscale.checkpoint._families import Family, Quantized, Written, find_family
from blockscale.checkpoint._jobs._plan import write_json
from blockscale.checkpoint._layouts import PLAIN_DTYPES


def list_left(checkpoint: Checkpoint, plain: Iterable[str],
              quantized: Container[str]) -> list[str]:
    """Layers that a configuration says are not quantized: plain weights, and stacks whose order is
    not known."""
    names = checkpoint.names
    stacks = (stack for name, tensor in checkpoint.others.items()
              if len(tensor.shape) == 3 and tensor.dtype in PLAIN_DTYPES
              and names.is_stack(stack := name.removesuffix(".weight")))
    return names.list_left((*plain, *stacks), quantized)


def find_dropped(checkpoint: Checkpoint, family: Family) -> list[str]:
    """What the configuration says of the KV cache, where a family has no place for it."""
    kind = checkpoint.scheme.kv_cache
    if not kind or family.name == checkpoint.scheme.family or kind in family.caches:
        return []
    return [f"the configuration of the KV cache ({kind})"]


def check_transforms(checkpoint: Checkpoint, family: Family) -> None:
    """Refuses what would be lost: a model with transforms computes other numbers without them.

    Raises: ArgumentError.
    """
    scheme = checkpoint.scheme
    if scheme.transforms and family.name != scheme.family:
        raise ArgumentError(f"expected no transforms, as {family.name} has none, but got "
                            f"'{scheme.transforms}' in {scheme.origin}")


def _get_original(checkpoint: Checkpoint) -> Written:
    """The configuration of the source."""
    members = checkpoint.config.get("quantization_config")
    text = checkpoint.config.get("text_config")
    if members is None and isinstance(text, dict):
        members = text.get("quantization_config")
    files = {MODELOPT_CONFIG: checkpoint.quantization} if checkpoint.quantization else {}
    return copy.deepcopy(Written(members or {}, files))


def _keep(checkpoint: Checkpoint, family: Family, written: Written | None,
          layers: Mapping[str, Quantized], kept: Sequence[str]) -> Written:
    """A configuration that explains weights which stay as they are, too.

    Raises: ArgumentError where the family has no place for that.
    """
    scheme, original = checkpoint.scheme, _get_original(checkpoint)
    source = find_family(scheme.family)
    decoded = [name for name, weight in checkpoint.weights.items() if not weight.layout.is_plain]
    if family.name == "plain" and not decoded:
        return original
    found = None
    if source is not None and family.name in ("plain", source.name):
        found = source.keep(original, written, layers, kept, decoded)
    if found is None:
        raise ArgumentError(f"expected a family that has a place for the configuration of "
                            f"'{kept[0]}' ({scheme.describe()}) to leave it as it is, but got "
                            f"{family.name}")
    return found


def write_configs(checkpoint: Checkpoint, family: Family, layers: Mapping[str, Quantized],
                  left: Sequence[str], kept: Sequence[str] = ()) -> dict[str, bytes]:
    """The configurations of a result, by name.

    Args:
      checkpoint: the source.
      family: of the layouts of the result.
      layers: that are quantized, by name.
      left: names of layers that are not.
      kept: names of quantized weights that stay as they are.

    Raises: ArgumentError for what the family has no place for.
    """
    scheme = checkpoint.scheme
    check_transforms(checkpoint, family)
    members = copy.deepcopy(dict(checkpoint.config))
    members.pop("quantization_config", None)
    if isinstance(members.get("text_config"), dict):
        members["text_config"].pop("quantization_config", None)
    files: dict[str, bytes] = {}
    is_same = family.name == scheme.family
    written = family.write(layers, left, scheme.kv_cache) if layers else None
    if kept:
        written = _keep(checkpoint, family, written, layers, kept)
    elif is_same and not layers and scheme.kv_cache:
        written = _get_original(checkpoint)
    elif is_same and written is not None:
        written = family.take_over(_get_original(checkpoint), written)
    if written is not None:
        members["quantization_config"] = written.members
        files.update((name, write_json(each)) for name, each in written.files.items())
    if members:
        files[CONFIG] = write_json(members)
    return files


__all__ = ["check_transforms", "find_dropped", "list_left", "write_configs"]
