# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The random Hadamard transform of rows (docs/Spec.md, hadamard) as an op with a derivative."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from blockscale._training import SEGMENT, SIGN_MASK
from blockscale.torch._kernels import to_argument
from blockscale.torch._library import check_x, define, differentiate, implement, refuse
from blockscale.torch._products_kernels import Mixer, run

_NAME = "hadamard"
define(f"{_NAME}(Tensor x, *, bool transposed=False) -> Tensor")


def mix_back(gradient: Tensor) -> Tensor:
    """The transpose of the Hadamard transform of rows of bf16: the signs come behind the sums."""
    mixed, = run(Mixer().get(), [to_argument(gradient)])
    places = torch.arange(gradient.shape[-1], device=gradient.device) % SEGMENT
    signs = torch.bitwise_right_shift(SIGN_MASK, places) & 1
    return torch.where(signs.bool(), -mixed, mixed)


def _transform(x: Tensor, *, transposed: bool = False) -> Tensor:
    check_x(_NAME, x, dtypes=(torch.bfloat16,))
    if x.shape[-1] % SEGMENT:
        refuse(_NAME, f"a last dimension that is a multiple of {SEGMENT}", list(x.shape))
    rows = x.flatten(0, -2)
    made = mix_back(rows) if transposed else run(Mixer(has_signs=True).get(),
                                                 [to_argument(rows)])[0]
    return made.view(x.shape)


implement(_NAME, _transform, lambda x, *, transposed=False: x.new_empty(x.shape))


def _save(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
    ctx.transposed = keyword_only_inputs.get("transposed", False)


def _differentiate(context: Any, gradient: Tensor) -> Tensor:
    made: Tensor = torch.ops.blockscale.hadamard(gradient, transposed=not context.transposed)
    return made


differentiate(_NAME, _differentiate, _save)
