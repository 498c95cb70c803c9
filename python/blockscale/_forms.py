# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How layers are quantized."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

from blockscale import _native
from blockscale._errors import ArgumentError, check
from blockscale._ops import FORMATS, ORDERS

#: Where the global scale of activations comes from: there is none, the amax of the tensor, an
#: amax that is given, or the decode scale itself.
SCALINGS = (*_native.SCALINGS, "scale")
#: The recipes of formats without one (docs/Spec.md, section 2).
_DEFAULT_RECIPES = {"nvfp4": "torchao"}
_DEFAULT_RECIPE_OF_MX = "rceil"


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

    @property
    def resolved_recipe(self) -> str:
        """The recipe's name, where None stands for the default."""
        return self.recipe or _DEFAULT_RECIPES.get(self.format, _DEFAULT_RECIPE_OF_MX)


def check_order(order: Any) -> None:
    """Raises ArgumentError for what is neither an order of sums nor None."""
    if order not in (None, *ORDERS):
        raise ArgumentError(f"expected order to be one of {', '.join(ORDERS)}, or None, but got "
                            f"{order!r}")


@dataclasses.dataclass(frozen=True)
class Clause:
    """A clause of docs/Policy.md that a layer does not meet, with what it expects and what was
    found."""

    name: str
    expected: str
    found: str


@functools.lru_cache(maxsize=256)
def _find_clause(weight: str, activation: str | None, rht: bool, cast: str | None, dtype: str
                 ) -> Clause | None:
    found = check(_native.check_form(weight, activation, rht, cast, dtype))[0]
    return Clause(found.clause, found.expected, found.found) if found.clause else None


@dataclasses.dataclass(frozen=True)
class LayerForm:
    """How a layer is quantized. Without a form of activations, these stay plain, and so do those
    of up to `plain_rows` rows. `cast` is the type that f32 is rounded to before, and `order` that
    of the product's sums."""

    weight: OperandForm
    activation: OperandForm | None = None
    rht: bool = False
    cast: str | None = None
    plain_rows: int = 0
    order: str = ORDERS[0]

    def with_order(self, order: str | None) -> LayerForm:
        """The form with another order of sums; None is its own."""
        return self if order is None else dataclasses.replace(self, order=order)

    @property
    def formats(self) -> tuple[str, ...]:
        """Of the operands that are quantized."""
        return tuple(each.format for each in (self.weight, self.activation) if each is not None)

    def find_clause(self, dtype: str) -> Clause | None:
        """The clause that a plain operand of a dtype, "f32", "bf16" or "f16", does not meet."""
        if self.plain_rows:
            plain = dataclasses.replace(self, activation=None, plain_rows=0).find_clause(dtype)
            if plain is not None:
                return plain
        return _find_clause(
            self.weight.format, None if self.activation is None else self.activation.format,
            self.rht, self.cast, dtype)

    def describe(self) -> str:
        """As the compiler's remarks do."""
        text = self.weight.format
        if self.activation is None:
            text += ", weights only"
        elif self.activation.format != self.weight.format:
            text += f" by {self.activation.format}"
        text += f" of {self.cast}" if self.cast else ""
        text += f", order {self.order}" if self.order != ORDERS[0] else ""
        return text + (f", weights only for M up to {self.plain_rows}" if self.plain_rows else "")
