# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every kind of quantizer: those that have a kernel on GPUs, and those that the
compiler refuses there (docs/Lowering.md, section 8)."""

import itertools
from dataclasses import dataclass

from block_shapes import CODECS, MX_FORMS, MX_RECIPES, NVFP4_FORMS, NVFP4_RECIPES, Op, tensor

FOUR_OVER_SIX = ("te_4over6_mae", "te_4over6_mse")
SHAPES = ((37, 96), (2, 37, 96))  # by rank, until a call has its own


@dataclass
class Kind(Op):
    """`extra` is another operand: block_amax, rng or offsets."""

    extra: str = ""

    def operands(self, shape):
        types = {"block_amax": tensor(self.scale_shape(shape), "f32"), "rng": "tensor<2xi64>",
                 "offsets": "tensor<4xi32>"}
        extra = [(self.extra, types[self.extra])] if self.extra else []
        return super().operands(shape) + extra

    def refusal(self, chip):
        """What the error says where there is no kernel for a chip, else None. The first
        that holds counts."""
        k = self.shape[-1]
        not_yet = f"is not supported on {chip} yet: expected "
        reasons = (
            (self.x == "f16", "operand #0 must be ranked tensor of bfloat16 type or 32-bit float "
                              "values"),
            (self.block[0] != 1, f"{not_yet}blocks of one row"),
            (self.recipe in FOUR_OVER_SIX, f"{not_yet}no 4over6 recipe"),
            (self.extra, f"{not_yet}no block_amax, rng or offsets"),
            (self.source and self.form == "row", f"{not_yet}no global value a row"),
            ("f6" in self.data, f"{not_yet}data of 4 or 8 bits"),
            (self.dynamic[-1], f"expected a static last dimension on {chip}"),
            (k % self.block[1], f"expected the last dimension to be a multiple of {self.block[1]} "
                                f"on {chip}, but got {k}"))
        return next((message for holds, message in reasons if holds), None)


def nvfp4(recipe, x="bf16", shape=SHAPES[0], block=(1, 16), transposed=False, scale_dim="",
          swizzled=False, source="", form="rank_0", dynamic=None, extra=""):
    dynamic = dynamic or (True,) * (len(shape) - 1) + (False,)
    return Kind("", recipe, "f4E2M1FN", block, transposed, scale_dim, swizzled, x, source, form,
                dynamic, shape, extra)


def mx(recipe, data, block=(1, 32), **options):
    kind = nvfp4(recipe, block=block, **options)
    kind.data = data
    return kind


def bases():
    """Input, layout, rank and which sizes are dynamic: batch and M, or none."""
    for x, swizzled, shape, is_static in itertools.product(
            ("bf16", "f32", "f16"), (False, True), SHAPES, (False, True)):
        yield {"x": x, "swizzled": swizzled, "shape": shape,
               "dynamic": (not is_static,) * (len(shape) - 1) + (False,)}


def kinds():
    """One list of all; kinds that may share a kernel follow each other."""
    for recipe in (*NVFP4_RECIPES, *FOUR_OVER_SIX):
        for base in bases():
            yield nvfp4(recipe, **base)
            forms = ("scalar", "rank_0", "row") + ("each",) * (len(base["shape"]) > 2)
            for source, form in itertools.product(("global_scale", "global_amax"), forms):
                # A row's own global value and 4over6 exclude each other.
                if form != "row" or recipe in NVFP4_RECIPES:
                    yield nvfp4(recipe, source=source, form=form, **base)
    for recipe, data, base in itertools.product(MX_RECIPES, CODECS, bases()):
        yield mx(recipe, data, **base)
    yield from other_blocks()
    yield from other_operands()
    yield from other_rows()


def other_blocks():
    """Blocks of several rows."""
    builders = [(NVFP4_FORMS, nvfp4, (recipe,)) for recipe in NVFP4_RECIPES]
    builders += [(MX_FORMS, mx, which) for which in itertools.product(MX_RECIPES, CODECS)]
    for forms, builder, which in builders:
        for block, transposed, scale_dim, any_layout in forms:
            for swizzled in (False, True)[:1 + any_layout]:
                if block[0] != 1:
                    yield builder(*which, shape=(64, 96), block=block, transposed=transposed,
                                  scale_dim=scale_dim, swizzled=swizzled)


def other_operands():
    for recipe, swizzled in itertools.product(NVFP4_RECIPES, (False, True)):
        for extra in ("block_amax", "rng", "offsets"):
            yield nvfp4(recipe, swizzled=swizzled, extra=extra)
    for recipe, extra in itertools.product(MX_RECIPES, ("rng", "offsets")):
        yield mx(recipe, "f4E2M1FN", extra=extra)


def other_rows():
    """Rows of a dynamic number of elements, and rows that end within a block."""
    for recipe in NVFP4_RECIPES:
        yield nvfp4(recipe, dynamic=(True, True))
        if recipe in ("te", "modelopt"):
            yield nvfp4(recipe, shape=(37, 83))
    for recipe, data in itertools.product(MX_RECIPES, CODECS):
        yield mx(recipe, data, dynamic=(False, True))
