# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names of tensors in files, and in models of transformers.

Many models have other names than their checkpoints. transformers knows for each model how names
become those of the model (renamings), and which tensors become one or several (converters).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from transformers.conversion_mapping import get_model_conversion_mapping
from transformers.core_model_loading import (
    PrefixChange,
    WeightConverter,
    WeightRenaming,
    rename_source_key,
)

from blockscale.checkpoint._layouts import EXPERTS


def _rename(name: str, renamings: Sequence[Any], converters: Sequence[Any] = ()
            ) -> tuple[str, str | None]:
    renamed, pattern = rename_source_key(name, list(renamings), list(converters))
    return str(renamed), pattern


class Names:
    """How a plain model and its checkpoints call tensors."""

    def __init__(self, model: Any):
        mapping = get_model_conversion_mapping(model)
        self._renamings = [each for each in mapping if isinstance(each, WeightRenaming)]
        self._converters = [each for each in mapping if isinstance(each, WeightConverter)]
        self._by_pattern = {pattern: each for each in self._converters
                            for pattern in each.source_patterns}
        # A large model has many names, which are asked for several times.
        self._renamed: dict[str, str] = {}
        self._targets: dict[str, list[str]] = {}
        self._prefix = str(model.base_model_prefix)
        base = getattr(model, self._prefix, None) if self._prefix else None
        self._own = _list_first_words(model)
        self._of_base = _list_first_words(base) if base is not None else set()

    def rename(self, name: str) -> str:
        """The name in the model of a tensor in files, whether it has such a tensor or not."""
        if name not in self._renamed:
            self._renamed[name] = self._fit_prefix(_rename(name, self._renamings)[0])
        return self._renamed[name]

    def find_targets(self, name: str) -> list[str]:
        """The names of what a tensor in files becomes, or becomes a part of."""
        if name not in self._targets:
            renamed, pattern = _rename(name, self._renamings, self._converters)
            targets = [""] if pattern is None else self._by_pattern[pattern].target_patterns
            self._targets[name] = [self._fit_prefix(renamed.replace(targets[0], target))
                                   for target in targets]
        return self._targets[name]

    def _fit_prefix(self, name: str) -> str:
        """Checkpoints of a model with a head and of one without have names with and without the
        prefix of that without."""
        first, _, rest = name.partition(".")
        if first in self._own:
            return name
        if first == self._prefix and rest:
            return rest
        return f"{self._prefix}.{name}" if first in self._of_base else name


def _list_first_words(module: Any) -> set[str]:
    return {*module._modules, *module._parameters, *module._buffers}


class FileNames:
    """How files that are saved call what a model has."""

    def __init__(self, model: Any):
        known = get_model_conversion_mapping(model, add_legacy=False)
        used = getattr(model, "_weight_conversions", None)
        # As save_pretrained() does it for a model that was not loaded.
        self._mapping = list(used) if used is not None else [
            each for each in known if not isinstance(each, PrefixChange)]
        self._renamings = [each.reverse_transform() for each in reversed(self._mapping)
                           if isinstance(each, WeightRenaming)]
        self._converters = [each for each in known if isinstance(each, WeightConverter)]

    def get_path(self, path: str) -> str:
        """The name of a layer."""
        return _rename(f"{path}.weight", self._renamings)[0].removesuffix(".weight")

    def split_stack(self, member: str) -> tuple[str, ...]:
        """The names of one expert's layers that a stack has, as the model's own checkpoints have
        them."""
        known = EXPERTS.get(member, ((member,),))
        for each in self._converters:
            sources = tuple(source.removesuffix("$").removesuffix(".weight").rpartition(".")[2]
                            for source in each.source_patterns)
            if _makes_stack(each, member) and sources in known:
                return sources
        return known[0]

    def list_conversions(self, members: Collection[str]) -> list[Any]:
        """What save_pretrained() undoes of a model whose stacks of these names are quantized: such
        stacks are no tensors that could become those of experts."""
        return [each for each in self._mapping if not isinstance(each, WeightConverter)
                or not any(_makes_stack(each, member) for member in members)]


def _makes_stack(converter: Any, member: str) -> bool:
    targets = converter.target_patterns
    return len(targets) == 1 and targets[0].removesuffix("$").endswith(f"experts.{member}")
