# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every kind of quantizer in blocks of one row: those that have a kernel on GPUs, and
those that the compiler refuses there (docs/Lowering.md, section 8)."""

import itertools
from dataclasses import dataclass
from random import Random

from block_shapes import CODECS, MX_RECIPES, NVFP4_RECIPES, Op, tensor

FOUR_OVER_SIX = ("te_4over6_mae", "te_4over6_mse")
TAKE_TAILS = ("te", "modelopt", *FOUR_OVER_SIX)
SHAPES = ((37, 96), (2, 37, 96))  # by rank, until a call has its own
GROUPS = 4


# K as it is in `SHAPES` and as it ends within a block: at any, an even, a fourth and an
# eighth byte of bf16.
TAILS = (83, 90, 84, 88)


@dataclass
class Kind(Op):
    """`extra` is the names of other operands: block_amax, rng and offsets, whose groups
    are along `group_dim`. Of the form `group` is a global operand with a value for each
    of them. `grouped` is the layout of the scales."""

    extra: tuple = ()
    group_dim: int = 0
    grouped: bool = False

    def operands(self, shape):
        groups = (GROUPS,) if self.has_static_groups() else (None,)
        types = {"block_amax": tensor(self.scale_shape(shape), "f32"), "rng": "tensor<2xi64>",
                 "offsets": tensor(groups, "i32")}
        first = ([(self.source, tensor(groups, "f32"))] if self.form == "group" else
                 super().operands(shape))
        return first + [(name, types[name]) for name in self.extra]

    def has_static_groups(self):
        return self.grouped or not self.dynamic[0]

    def encoding(self):
        if not self.grouped:
            return super().encoding()
        # The dimension of the scales that counts what the groups cut.
        rows = 1 if self.scale_dim == "n" or (self.transposed and not self.scale_dim) else 0
        return (f", #blockscale.layout<swizzle_128x4, groups = {GROUPS}, "
                f"dim = {int(self.group_dim != rows)}>")

    def signature(self):
        text, *types = super().signature()
        if "offsets" in self.extra:
            op, function = text.rsplit(" : ", 1)
            text = f"{op} group_dim {self.group_dim} : {function}"
        return text, *types

    def _shares_kernels(self):
        """Whether it meets the clauses one_read_c1 to one_read_c4."""
        return (self.x == "bf16" and not self.extra and self.form != "row"
                and self.recipe not in FOUR_OVER_SIX)

    def takes_blocks(self):
        """Whether kernels take blocks without the rows that they are parts of."""
        return self.dynamic[-1] and not self._shares_kernels()

    def refusal(self, chip):
        """What the error says where there is no kernel for a chip, else None."""
        if self.takes_blocks():
            needs = {"row": "a global value for each row"}.get(self.form)
            needs = "offsets" if "offsets" in self.extra else needs
            return needs and f"expected a static last dimension on {chip} with {needs}"
        return None


def nvfp4(recipe, x="bf16", shape=SHAPES[0], block=(1, 16), transposed=False, scale_dim="",
          swizzled=False, source="", form="rank_0", dynamic=None, extra=(), group_dim=0,
          grouped=False):
    dynamic = dynamic or (True,) * (len(shape) - 1) + (False,)
    return Kind("", recipe, "f4E2M1FN", block, transposed, scale_dim, swizzled, x, source, form,
                dynamic, shape, extra, group_dim, grouped)


def mx(recipe, data, block=(1, 32), **options):
    kind = nvfp4(recipe, block=block, **options)
    kind.data = data
    return kind


def bases(elements=("bf16", "f32")):
    """Input, layout, rank and which sizes are dynamic: batch and M, or none."""
    for x, swizzled, shape, is_static in itertools.product(
            elements, (False, True), SHAPES, (False, True)):
        yield {"x": x, "swizzled": swizzled, "shape": shape,
               "dynamic": (not is_static,) * (len(shape) - 1) + (False,)}


def with_globals(recipe, base, forms=()):
    """Without a global value, or with one of each form."""
    yield nvfp4(recipe, **base)
    forms = forms or ("scalar", "rank_0") + ("each",) * (len(base["shape"]) > 2)
    for source, form in itertools.product(("global_scale", "global_amax"), forms):
        yield nvfp4(recipe, source=source, form=form, **base)


def kinds(seed=None):
    """One list of all; kinds that may share a kernel follow each other. What differs
    little from others is a few of its kinds: other ones for each seed."""
    random = Random(seed or 0)

    def few(count, found):
        return random.sample(list(found), count)

    for recipe, base in itertools.product(NVFP4_RECIPES, bases()):
        yield from with_globals(recipe, base)
    for recipe, data, base in itertools.product(MX_RECIPES, CODECS, bases()):
        if "f6" not in data:
            yield mx(recipe, data, **base)
    for recipe, data in itertools.product(MX_RECIPES, CODECS):
        if "f6" in data:
            yield from few(2, (mx(recipe, data, **base) for base in bases()))
        yield from few(1, groups((mx, recipe, data), SHAPES[0]))
        yield mx(recipe, data, x="f16")
        yield mx(recipe, data, dynamic=(False, True))
    for recipe in MX_RECIPES:
        yield from few(1, rounded_at_random((mx, recipe, "f4E2M1FN"), SHAPES))
    for recipe in NVFP4_RECIPES:
        yield from few(4, (nvfp4(recipe, source=source, form="row", **base)
                           for source in ("global_scale", "global_amax") for base in bases()))
        yield from few(2, given_amaxes(recipe, SHAPES[0]))
        yield from few(2, rounded_at_random((nvfp4, recipe), SHAPES))
        yield from few(2, groups((nvfp4, recipe), SHAPES[0]))
        yield from few(2, groups((nvfp4, recipe), SHAPES[0], ("block_amax", "rng")))
    for recipe in (*NVFP4_RECIPES, *FOUR_OVER_SIX):
        yield from few(3, groups((nvfp4, recipe), SHAPES[0], layouts=("groups",)))
    for recipe, data in itertools.product(MX_RECIPES, ("f4E2M1FN", "f8E4M3FN")):
        yield from few(1, groups((mx, recipe, data), SHAPES[0], layouts=("groups",)))
    for recipe in FOUR_OVER_SIX:
        for base in few(2, bases()):
            yield from few(2, with_globals(recipe, base))
        yield from few(1, groups((nvfp4, recipe), SHAPES[0]))
    for recipe in (*NVFP4_RECIPES, *FOUR_OVER_SIX):
        yield nvfp4(recipe, x="f16")
        yield nvfp4(recipe, dynamic=(True, True))
        yield from few(3, rows_of_any_length((nvfp4, recipe)))
    for recipe, data in itertools.product(MX_RECIPES, ("f4E2M1FN", "f8E4M3FN")):
        yield from few(1, rows_of_any_length((mx, recipe, data)))
    any_length = {"x": "f32", "dynamic": (True, True)}
    yield nvfp4("torchao", source="global_scale", form="row", **any_length)
    yield nvfp4("te", extra=("offsets",), **any_length)
    for i, recipe in enumerate(TAKE_TAILS):
        # Two of them, all in turn.
        for k in (TAILS * 2)[2 * i:2 * i + 2]:
            shape = (2, 37, k)
            yield from few(1, (kind for base in bases() if len(base["shape"]) == len(shape)
                               for kind in with_globals(recipe, base | {"shape": shape})))
        if recipe in NVFP4_RECIPES:
            yield from few(1, with_globals(recipe, {"shape": shape}, ("row",)))
            yield from few(1, given_amaxes(recipe, shape))
            yield from few(1, rounded_at_random((nvfp4, recipe), (shape,)))
            yield from few(1, groups((nvfp4, recipe), shape[1:], ("block_amax", "rng")))
        yield from few(1, groups((nvfp4, recipe), shape[1:]))
        yield from few(1, groups((nvfp4, recipe), shape[1:], layouts=("groups",)))


def rows_of_any_length(which):
    """Rows whose blocks kernels take without them, as not all inputs are of bf16."""
    build, *which = which
    extras = [()]
    if which[0] not in FOUR_OVER_SIX:
        extras += [("rng",)] * (build == nvfp4 or which[1] == "f4E2M1FN")
        extras += [("block_amax",)] * (build == nvfp4)
    for x, swizzled, shape, extra in itertools.product(
            ("f16", "f32"), (False, True), SHAPES, extras):
        base = {"x": x, "swizzled": swizzled, "shape": shape, "extra": extra,
                "dynamic": (True,) * len(shape)}
        yield build(*which, **base)
        if build == nvfp4:
            yield build(*which, source="global_amax", form="rank_0", **base)
            if len(shape) > 2:
                yield build(*which, source="global_scale", form="each", **base)


def given_amaxes(recipe, shape):
    for x, swizzled in itertools.product(("bf16", "f32"), (False, True)):
        yield from with_globals(recipe, {"x": x, "swizzled": swizzled, "shape": shape,
                                         "extra": ("block_amax",)}, ("rank_0",))


def rounded_at_random(which, shapes):
    build, *which = which
    for x, swizzled, shape in itertools.product(("bf16", "f32"), (False, True), shapes):
        yield build(*which, x=x, swizzled=swizzled, shape=shape, extra=("rng",))


def groups(which, shape, more=(), layouts=("linear", "tiles")):
    """Groups of rows and of columns, under global values of all forms."""
    build, *which = which
    forms = [("", "rank_0")]
    if build == nvfp4:
        forms += itertools.product(("global_scale", "global_amax"), ("scalar", "group"))
    for x, layout, (source, form), group_dim, is_static in itertools.product(
            ("bf16", "f32"), layouts, forms, (0, 1), (False, True)):
        yield build(*which, x=x, swizzled=layout == "tiles", grouped=layout == "groups",
                    shape=shape, source=source, form=form, dynamic=(not is_static, False),
                    extra=(*more, "offsets"), group_dim=group_dim)
