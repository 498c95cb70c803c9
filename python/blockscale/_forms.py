# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How layers are quantized."""

from __future__ import annotations

import dataclasses

from blockscale._ops import FORMATS

#: Where the global scale of activations comes from: there is none, the amax of the tensor, an
#: amax that is given, or the decode scale itself.
SCALINGS = ("none", "dynamic", "amax", "scale")


@dataclasses.dataclass(frozen=True)
class OperandForm:
    """How an operand is quantized: `recipe` None is the format's default; `scaling` is that of
    the global scale, "none", "dynamic" or "amax"."""

    format: str
    recipe: str | None = None
    scaling: str = "none"
    amax: float | None = None
    is_swept: bool = False

    @property
    def block(self) -> int:
        return FORMATS[self.format][2]


@dataclasses.dataclass(frozen=True)
class LayerForm:
    """How a layer is quantized. Without a form of activations, these stay plain. `cast` is the
    type that f32 is rounded to before."""

    weight: OperandForm
    activation: OperandForm | None = None
    rht: bool = False
    cast: str | None = None

    def describe(self) -> str:
        """As the compiler's remarks do."""
        text = self.weight.format
        if self.activation is None:
            text += ", weights only"
        elif self.activation.format != self.weight.format:
            text += f" by {self.activation.format}"
        return text + (f" of {self.cast}" if self.cast else "")
