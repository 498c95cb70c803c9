# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Blocks of a tensor with what a quantizer is given, and what a set of rules makes of them."""

from dataclasses import dataclass, field, replace

import numpy as np

from blockscale_reference import quantize_mx, quantize_nvfp4

from .forms import Form


@dataclass(frozen=True)
class Setting:
    """Blocks and rules: those of a form, or some of them changed."""

    form: Form
    x: np.ndarray  # f32 [N, bm, bk]
    rules: object  # a Recipe of the reference, or a Rule
    globals: dict = field(default_factory=dict)  # global_scale or global_amax [N], or neither
    x_type: str = "f32"
    factors_of: str = ""  # the recipe by which g and S are computed, where it is another one

    @staticmethod
    def of(form, x, x_type="f32", **values):
        return Setting(form, x, form.rules, {k: v for k, v in values.items() if v is not None},
                       x_type)

    def change_rules(self, **changes):
        return replace(self, rules=replace(self.rules, **changes))

    def take(self, places):
        """The blocks at these places alone."""
        return replace(self, x=self.x[places],
                       globals={name: value[places] for name, value in self.globals.items()})

    def _quantize(self, x, scale=None):
        block = x.shape[1:]
        if not self.form.is_nvfp4:
            return quantize_mx(x, self.form.element, block=block, rules=self.rules, scale=scale)
        return quantize_nvfp4(x, self.factors_of or self.form.recipe, block=block,
                              x_type=self.x_type, rules=self.rules, scale=scale, **self.globals)

    def scales(self):
        """A byte for each block [N]."""
        return self._quantize(self.x)[1][:, 0, 0]

    def codes(self, scales):
        """The codes [N, bm, bk] under scales [N]."""
        return self._quantize(self.x, scales[:, None, None])[0]

    def scaled(self, scales):
        """What codes are rounded from [N, bm, bk], under scales [N]."""
        kept = []
        own = self.rules.round_element

        def keep(*arguments):
            kept.append(arguments[-1])
            return own(*arguments)

        self.change_rules(round_element=keep).codes(scales)
        return kept[-1]
