# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checkpoints of quantized models: read, check, convert and quantize files of any size.

    import blockscale.checkpoint as checkpoints

    found = checkpoints.open("model")                 # maps the files, reads nothing yet
    found.tensors["model.norm.weight"].numpy()        # a view without a copy
    found.weights["model.layers.0.mlp.down_proj"]     # its layout, shape and parts
    print(checkpoints.quantize("model", "model-nvfp4", {"version": 1, "rules": [
        {"format": "nvfp4", "weight_only": True}]}))

docs/Checkpoints.md of the project says more.
"""

import importlib as _importlib
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if _TYPE_CHECKING:
    from blockscale.checkpoint._check._check import check
    from blockscale.checkpoint._check._report import Finding, Report
    from blockscale.checkpoint._check._rules import RULES, Rule
    from blockscale.checkpoint._checkpoint import Checkpoint, open
    from blockscale.checkpoint._convert._conversion import Conversion, ConvertedLayer
    from blockscale.checkpoint._convert._convert import convert
    from blockscale.checkpoint._diff import Difference, TensorDifference, diff
    from blockscale.checkpoint._families import FAMILIES, LAYOUTS
    from blockscale.checkpoint._jobs._cluster import Cluster
    from blockscale.checkpoint._layouts import Layout
    from blockscale.checkpoint._quantize._calibrate import calibrate
    from blockscale.checkpoint._quantize._quantize import quantize
    from blockscale.checkpoint._summary import LayerSummary, Summary
    from blockscale.checkpoint._tensors import Tensor, Weight

__all__ = [
    "FAMILIES", "LAYOUTS", "RULES", "Checkpoint", "Cluster", "Conversion", "ConvertedLayer",
    "Difference", "Finding", "LayerSummary", "Layout", "Report", "Rule", "Summary", "Tensor",
    "TensorDifference", "Weight", "calibrate", "check", "convert", "diff", "open", "quantize",
]

#: The modules that have these names. Each is imported when one of its names is asked for: a command
#: needs few of them, and starts sooner without the others.
_MODULES = {
    "_check._check": ("check",), "_check._report": ("Finding", "Report"),
    "_check._rules": ("RULES", "Rule"), "_checkpoint": ("Checkpoint", "Tensor", "Weight", "open"),
    "_convert._conversion": ("Conversion", "ConvertedLayer"), "_convert._convert": ("convert",),
    "_diff": ("Difference", "TensorDifference", "diff"), "_jobs._cluster": ("Cluster",),
    "_families": ("FAMILIES", "LAYOUTS"), "_layouts": ("Layout",),
    "_quantize._calibrate": ("calibrate",),
    "_quantize._quantize": ("quantize",), "_summary": ("LayerSummary", "Summary")}


def __getattr__(name: str) -> _Any:
    for module, names in _MODULES.items():
        if name in names:
            found = getattr(_importlib.import_module(f"{__name__}.{module}"), name)
            globals()[name] = found
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
