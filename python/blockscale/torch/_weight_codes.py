# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights of fully_shard() that are gathered as codes: each rank quantizes its rows in square
blocks, with the amax of all ranks, and what ranks send one another are codes and scales."""

from __future__ import annotations

from typing import Any

import torch
import torch.utils._pytree as pytree
from torch import Tensor, nn
from torch.utils.weak import WeakTensorKeyDictionary

from blockscale._errors import ArgumentError
from blockscale._ops import FORMATS
from blockscale._training import TrainingForm, TrainingOperand, read_form
from blockscale.torch._kernels import to_argument
from blockscale.torch._ranks import find_ranks, share_largest
from blockscale.torch._training_kernels import SquareQuantizer, SquareScales, find_layout

_ATEN = torch.ops.aten
#: What fully_shard(), optimizers and state dicts do with a shard that gives a shard again.
_KEPT = {_ATEN.empty_like.default, _ATEN.new_zeros.default, _ATEN.slice.Tensor,
         _ATEN.view.default, _ATEN.as_strided.default,
         _ATEN._to_copy.default, _ATEN._pin_memory.default, _ATEN.split.Tensor,
         _ATEN.clone.default, _ATEN.detach.default}


def find_obstacle(form: TrainingForm) -> str:
    """Why the codes of a form's weight cannot be gathered; "" if they can."""
    if form.forward_weight != form.dgrad_weight or not form.forward_weight.is_square:
        return ("expected a weight with one set of codes, of square blocks, for forward and dgrad, "
                f"but got {form.forward_weight.describe()} and {form.dgrad_weight.describe()}")
    if form.forward_weight.is_stochastic or form.forward_weight.sign_mask is not None:
        return ("expected a weight that is neither transformed nor rounded stochastically, but got "
                f"{form.forward_weight.describe()}")
    return ""


class WeightCodes(Tensor):
    """A whole weight [N, K] as codes: data [N, K], a scale for each square block, both row-major
    bytes, and a global scale where the format has one. Layers in training multiply by it; nothing
    else does."""

    @staticmethod
    def __new__(cls, codes: list[Tensor], text: str, dtype: torch.dtype, shape: torch.Size
                ) -> WeightCodes:
        made: WeightCodes = torch.Tensor._make_wrapper_subclass(
            cls, shape, dtype=dtype, device=codes[0].device)
        return made

    def __init__(self, codes: list[Tensor], text: str, dtype: torch.dtype, shape: torch.Size):
        #: One list of all copies of a weight, whose global scale is another one in each pass.
        self.codes, self.text = codes, text

    def __tensor_flatten__(self) -> tuple[list[str], Any]:
        names = ["data_codes", "scale_codes", "global_scale"][:len(self.codes)]
        return names, (self.text, self.dtype, self.shape)

    def __getattr__(self, name: str) -> Any:
        names = ("data_codes", "scale_codes", "global_scale")
        if name in names[:len(self.codes)]:
            return self.codes[names.index(name)]
        raise AttributeError(name)

    @staticmethod
    def __tensor_unflatten__(inner: dict[str, Tensor], meta: Any, shape: Any, strides: Any
                             ) -> WeightCodes:
        return WeightCodes(list(inner.values()), *meta)

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
                           ) -> Any:
        weight = args[0]
        is_view = function in (_ATEN.as_strided.default, _ATEN.view.default)
        if function is _ATEN.detach.default or (is_view and list(args[1]) == list(weight.shape)):
            return WeightCodes(weight.codes, weight.text, weight.dtype, weight.shape)
        raise ArgumentError(f"expected a layer in training to read a weight that was gathered as "
                            f"codes, but got {function}")

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"WeightCodes({list(self.shape)}, {read_form(self.text).forward_weight.describe()})"

    def get_codes(self, name: str, is_transposed: bool) -> list[Tensor]:
        """Data, scales and global scale of an operand of these codes."""
        operand = getattr(read_form(self.text), name)
        data, scales, *rest = self.codes
        kernel = SquareScales(operand.format, tuple(self.shape), "n" if is_transposed else "k",
                              find_layout(self.device)).get()
        spread, = kernel([to_argument(scales)])
        if is_transposed:
            data = transpose_codes(data, FORMATS[operand.format][0] == "f4E2M1FN")
        return [data, spread, *rest]


def transpose_codes(data: Tensor, is_packed: bool) -> Tensor:
    """Codes [N, K], of which a byte may have two along K, as [K, N]."""
    if not is_packed:
        return data.t().contiguous()
    # Two bytes of two rows have a square of four codes.
    upper, lower = data[0::2], data[1::2]
    even, odd = (upper & 15) | (lower << 4), (upper >> 4) | (lower & 240)
    return torch.stack([even.t(), odd.t()], 1).reshape(-1, data.shape[0] // 2)


#: The codes that a shard sent in its last forward pass, which it sends again in the backward pass.
#: Each forward pass quantizes anew.
_SENT: Any = WeakTensorKeyDictionary()


class ShardedWeight(Tensor):
    """A weight of a layer in training, or a rank's rows of it, which fully_shard() gathers as codes
    of a form (torch.distributed.fsdp, fsdp_pre_all_gather)."""

    @staticmethod
    def __new__(cls, weight: Tensor, text: str) -> ShardedWeight:
        made: ShardedWeight = torch.Tensor._make_wrapper_subclass(
            cls, weight.shape, strides=weight.stride(), storage_offset=weight.storage_offset(),
            dtype=weight.dtype, device=weight.device, requires_grad=weight.requires_grad)
        return made

    def __init__(self, weight: Tensor, text: str):
        self.weight, self.text = weight, text

    def __tensor_flatten__(self) -> tuple[list[str], Any]:
        return ["weight"], self.text

    @staticmethod
    def __tensor_unflatten__(inner: dict[str, Tensor], text: str, shape: Any, strides: Any
                             ) -> ShardedWeight:
        return ShardedWeight(inner["weight"], text)

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
                           ) -> Any:
        texts = [each.text for each in pytree.tree_leaves((args, kwargs))
                 if isinstance(each, ShardedWeight)]
        plain = pytree.tree_map_only(ShardedWeight, lambda each: each.weight,
                                     (args, kwargs or {}))
        made = function(*plain[0], **plain[1])
        if function.namespace == "aten" and function._schema.name.endswith("_"):
            # What it writes to; optimizers' ops on lists give nothing.
            return args[0] if function._schema.returns else None
        if function not in _KEPT:
            return made
        return pytree.tree_map_only(Tensor, lambda each: ShardedWeight(each, texts[0]), made)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"ShardedWeight({self.weight!r})"

    def _find_groups(self, module: nn.Module, mesh: Any) -> list[str]:
        """The ranks of all shards of the weight: those that gather it, and those of a
        tensor-parallel layer beside them."""
        for each in module.parameters(recurse=False):
            if getattr(each, "_local_tensor", None) is self:
                of_all, places = each.device_mesh, each.placements
                return [find_ranks((of_all, number)).name for number, place in enumerate(places)
                        if not place.is_replicate()]
        return [find_ranks(mesh).name]

    def fsdp_pre_all_gather(self, mesh: Any, outer_size: Any, outer_stride: Any, module: Any,
                            mp_policy: Any) -> tuple[tuple[Tensor, ...], Any]:
        operand = read_form(self.text).forward_weight
        rows, count, size = outer_size[0], mesh.size(), operand.block
        if rows % (count * size):
            raise ArgumentError(f"expected {count} shards of the weight's rows that cut no block "
                                f"of {size}x{size}, so a multiple of {count * size}, but got "
                                f"{rows}")
        sent = _SENT.pop(self, None)
        is_backward = torch._C._current_graph_task_id() >= 0
        made = sent if is_backward and sent else self._quantize(operand, mesh, module)
        if not is_backward:
            _SENT[self] = made
        # Of one rank PyTorch gives back the first tensor alone.
        scales = made[1:2] if count == 1 else []
        return tuple(made[:2]), (scales, made[2:])

    def _quantize(self, operand: TrainingOperand, mesh: Any, module: nn.Module) -> list[Tensor]:
        """Data, scales and global scale of the shard's rows."""
        shard = self.weight.detach()
        given = [to_argument(shard)]
        if operand.scaling != "none":
            amaxes = torch.ops.blockscale.train_linear_amaxes(
                shard, shard, form=self.text, names=["forward_weight"])
            groups = self._find_groups(module, mesh)
            given.append(share_largest(amaxes, groups).view(torch.float32)[0])
        cols = None if shard.device.type == "cpu" else shard.shape[1]
        return SquareQuantizer(operand, shard.dtype, cols).get()(given)

    def fsdp_post_all_gather(self, outputs: tuple[Tensor, ...], metadata: Any,
                             param_dtype: torch.dtype, *, out: Tensor | None = None) -> Any:
        scales, rest = metadata
        codes = [*outputs, *scales, *rest]
        if out is not None:
            getattr(out, "_local_tensor", out).codes[len(outputs):] = codes[len(outputs):]
            return None
        shape = torch.Size((codes[0].shape[0], self.shape[-1]))
        return WeightCodes(codes, self.text, param_dtype, shape), outputs


# State dicts have shards.
torch.serialization.add_safe_globals([ShardedWeight])
