# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""peft knows our modules, in whatever order it and this package are imported.

A LoraConfig of peft has a mapping from classes of layers to those of their adapters. It is no part
of what is saved, so that the config of an adapter that is loaded does not have what a user has
added. Here each LoraConfig gets our classes when it is made. peft is not imported for that, which
takes long: what is done waits until others import it.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any


def _register(module: Any) -> None:
    """Lets each config know our modules."""
    config = module.LoraConfig
    finish = config.__post_init__

    @functools.wraps(finish)
    def finish_and_register(self: Any) -> None:
        finish(self)
        from blockscale.torch._lora_layers import ADAPTERS
        self._register_custom_module(ADAPTERS)
    config.__post_init__ = finish_and_register


def _keep_names(module: Any) -> None:
    """Leaves the names of stacks of experts to modules of ours. Of some models of transformers peft
    takes them for names of parameters, which our modules do not have."""
    convert = module.convert_peft_config_for_transformers

    @functools.wraps(convert)
    def convert_others(peft_config: Any, model: Any, *args: Any, **kwargs: Any) -> None:
        from blockscale.torch._modules import QuantizedStack
        if not any(isinstance(each, QuantizedStack) for each in model.modules()):
            convert(peft_config, model, *args, **kwargs)
    module.convert_peft_config_for_transformers = convert_others


#: What is changed in modules of peft.
_CHANGES: dict[str, Callable[[Any], None]] = {
    "peft.tuners.lora.config": _register,
    "peft.utils.transformers_weight_conversion": _keep_names,
}


class _Loader(importlib.abc.Loader):
    """That of a module, with the change behind it."""

    def __init__(self, loader: Any, name: str):
        self._loader, self._name = loader, name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        _CHANGES[self._name](module)


class _Finder(importlib.abc.MetaPathFinder):
    """Waits for the import of a module."""

    def __init__(self, name: str):
        self._name = name

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
                  ) -> importlib.machinery.ModuleSpec | None:
        if name != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, name)
        return spec


for _name, _change in _CHANGES.items():
    if _name in sys.modules:
        _change(sys.modules[_name])
    else:
        sys.meta_path.insert(0, _Finder(_name))
