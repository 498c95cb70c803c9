# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The formats that recipes give, by the names that users write."""

from dataclasses import dataclass

from blockscale_reference import E2M1, E2M3, E3M2, E4M3, E5M2, INT8, mx, nvfp4

ELEMENTS = {"e4m3": E4M3, "e5m2": E5M2, "e2m3": E2M3, "e3m2": E3M2, "e2m1": E2M1, "int8": INT8}
NVFP4 = tuple(nvfp4.RECIPES)
MX = tuple(mx.RULES)
#: The name of compressed-tensors' rule for MX scales, whose recipe of NVFP4 has the same name.
MX_COMPRESSED_TENSORS = "mx_compressed_tensors"


class KitError(ValueError):
    """What is wrong with a file or an argument: the rule, the expected and the found."""


def has_rule(rule, element):
    """Whether an MX rule is defined for data of an element, by their names."""
    return rule != "compressed_tensors" or element in ("e2m1", "e2m3", "e4m3")


@dataclass(frozen=True)
class Form:
    """A recipe with the format of its data."""

    recipe: str  # its name among NVFP4 recipes, or MX rules
    is_nvfp4: bool
    element_name: str

    @property
    def element(self):
        return ELEMENTS[self.element_name]

    @property
    def block(self):
        return nvfp4.BLOCK if self.is_nvfp4 else mx.BLOCK

    @property
    def takes_tails(self):
        return self.is_nvfp4 and nvfp4.RECIPES[self.recipe].takes_tails

    @property
    def rules(self):
        return nvfp4.RECIPES[self.recipe] if self.is_nvfp4 else mx.RULES[self.recipe]

    @property
    def name(self):
        """What users write."""
        if not self.is_nvfp4 and self.recipe in NVFP4:
            return MX_COMPRESSED_TENSORS
        return self.recipe

    def __str__(self):
        return self.name if self.is_nvfp4 else f"{self.name} of {self.element_name}"


def names():
    """The recipes that users name."""
    return (*NVFP4, *(MX_COMPRESSED_TENSORS if rule in NVFP4 else rule for rule in MX))


def form(recipe, element=None):
    """The form that users name; KitError where there is none."""
    if recipe not in names():
        raise KitError(f"expected a recipe among {', '.join(names())}, but got {recipe!r}")
    if recipe in NVFP4:
        if element not in (None, "e2m1"):
            raise KitError(f"expected e2m1 data for the recipe {recipe}, but got {element!r}")
        return Form(recipe, True, "e2m1")
    element = element or "e4m3"
    if element not in ELEMENTS:
        raise KitError(f"expected an element among {', '.join(ELEMENTS)}, but got {element!r}")
    rule = "compressed_tensors" if recipe == MX_COMPRESSED_TENSORS else recipe
    if not has_rule(rule, element):
        raise KitError(f"expected e2m1, e2m3 or e4m3 data for {recipe}, but got {element!r}")
    return Form(rule, False, element)


def forms():
    """Every form."""
    return [Form(recipe, True, "e2m1") for recipe in NVFP4] + [
        Form(rule, False, element) for rule in MX for element in ELEMENTS
        if has_rule(rule, element)]
