# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Linear layers whose products are quantized in training."""

from __future__ import annotations

from torch import Tensor, nn

from blockscale._training import TrainingForm
from blockscale.torch._modules import autocast
from blockscale.torch._ranks import Ranks
from blockscale.torch._training_ops import train_linear


class TrainedLinear(nn.Linear):
    """A linear layer whose products are quantized in training, with the parameters of nn.Linear.

    Attributes:
      form: how the operands of its three products are quantized.
      amax_group: the ranks whose amaxes are shared; None for none.
    """

    form: TrainingForm
    amax_group: Ranks | None = None

    def forward(self, input: Tensor) -> Tensor:
        return train_linear(autocast(input), self.weight, self.bias, form=self.form,
                            amax_group=self.amax_group)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, {self.form.describe()}"
