# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The values of a quantized weight, as a tensor that is computed where an op reads it.

Code of models asks layers for the dtype, the shape and the device of their weight, which costs
nothing here. What would write into the weight is refused: the values are made of codes, so that
what is written would be lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import torch
from torch import Tensor
from torch.utils._pytree import tree_map

from blockscale._errors import ArgumentError

_ATEN = torch.ops.aten
#: Ops whose result is the same values, which are still not computed.
_SAME = (_ATEN.detach.default, _ATEN.alias.default)
#: What Python calls of a tensor to write into it, or to have others do so.
_WRITERS = (Tensor.data.__set__, Tensor.grad.__set__, Tensor.requires_grad.__set__,
            Tensor.requires_grad_, Tensor.set_, Tensor.share_memory_, Tensor.retain_grad,
            Tensor.register_hook)
#: What reads the memory of a tensor, which this one does not have.
_READERS = (Tensor.numpy, Tensor.__array__, Tensor.tolist, Tensor.__dlpack__, Tensor.data_ptr,
            Tensor.untyped_storage, Tensor.storage, Tensor.__reduce_ex__, Tensor.__deepcopy__)
#: What is known of a tensor without its values.
_KNOWN = {
    "device", "dim", "dtype", "element_size", "get_device", "is_complex", "is_contiguous", "is_cpu",
    "is_cuda", "is_floating_point", "is_leaf", "is_meta", "is_quantized", "is_sparse", "itemsize",
    "layout", "names", "nbytes", "ndim", "ndimension", "nelement", "numel", "requires_grad",
    "shape", "size", "storage_offset", "stride",
}


def _get_name(func: Any) -> str:
    """The name of a method, or of the attribute that is read."""
    name: str = getattr(func, "__name__", "")
    return getattr(func.__self__, "__name__", name) if name == "__get__" else name


def _refuse_write(op: Any) -> NoReturn:
    raise ArgumentError(
        f"expected no write to the weight of a quantized layer, whose codes would stay as they "
        f"are, but got {op}; change a copy, layer.weight.dequantize(), put a plain layer with it "
        "in the place of this one, and quantize that")


class WeightView(Tensor):
    """Values of codes. `read` computes them in a dtype."""

    #: What transformers asks a tensor before it initializes it.
    _is_hf_initialized = True
    _read: Callable[[torch.dtype], Tensor]

    @staticmethod
    def __new__(cls, shape: Sequence[int], strides: Sequence[int], dtype: torch.dtype,
                device: torch.device, read: Callable[[torch.dtype], Tensor]) -> WeightView:
        made: WeightView = Tensor._make_wrapper_subclass(
            cls, shape, strides=strides, dtype=dtype, device=device, requires_grad=False)
        made._read = read
        return made

    @staticmethod
    def of(module: Any, shape: Sequence[int], is_transposed: bool) -> WeightView:
        """The values of a module whose codes lie in the order of `shape`, [.., N, K]; as
        [.., K, N] where they are transposed."""
        sizes = list(shape)
        strides = [math.prod(sizes[place + 1:]) for place in range(len(sizes))]
        if is_transposed:
            sizes[-2:], strides[-2:] = sizes[:-3:-1], strides[:-3:-1]
        return WeightView(sizes, strides, module.dtype, module.data.device, module._read)

    def dequantize(self, dtype: torch.dtype | None = None) -> Tensor:
        """The values as a plain tensor, a new one at each call."""
        return self._read(self.dtype if dtype is None else dtype)

    def is_of(self, module: Any) -> bool:
        """Whether these are the values of a module."""
        return getattr(self._read, "__self__", None) is module

    def __repr__(self, **_: Any) -> str:
        return (f"WeightView(shape={list(self.shape)}, dtype={self.dtype}, "
                f"device='{self.device}')")

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _WRITERS and isinstance(args[0], cls):
            is_off = func in (Tensor.requires_grad.__set__, Tensor.requires_grad_) and not (
                kwargs.get("requires_grad", args[1] if len(args) > 1 else True))
            if is_off:
                return None if func is Tensor.requires_grad.__set__ else args[0]
            _refuse_write(getattr(func, "__qualname__", func))
        if func in _READERS:
            return func(_compute(args[0]), *args[1:], **kwargs)
        if torch.compiler.is_exporting() and _get_name(func) not in _KNOWN:
            # torch.export traces what the values are computed of, and no tensors of another class.
            return func(*tree_map(_compute, args), **tree_map(_compute, kwargs))
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **kwargs)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        _check_writes(func, args, kwargs)
        if func in _SAME:
            source = args[0]
            return WeightView(source.shape, source.stride(), source.dtype, source.device,
                              source._read)
        if func is _ATEN._to_copy.default and kwargs.get("dtype") is not None:
            # Rounded once, from the codes themselves.
            plain = args[0].dequantize(kwargs["dtype"]) if kwargs["dtype"] in _FLOATS else (
                _compute(args[0]))
            return plain if len(kwargs) == 1 and kwargs["dtype"] in _FLOATS else func(
                plain, **kwargs)
        result = func(*tree_map(_compute, args), **tree_map(_compute, kwargs))
        # What is written into a part of the weight would be lost as well.
        return tree_map(_guard, result) if _makes_views(func) else result


_FLOATS = (torch.float32, torch.bfloat16, torch.float16)


def _compute(value: Any) -> Any:
    return value.dequantize() if isinstance(value, WeightView) else value


def _guard(value: Any) -> Any:
    if not isinstance(value, Tensor):
        return value
    return WeightView(value.shape, value.stride(), value.dtype, value.device, value.to)


def _check_writes(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    for number, argument in enumerate(func._schema.arguments):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        given = args[number] if number < len(args) else kwargs.get(argument.name)
        for each in given if isinstance(given, (list, tuple)) else [given]:
            if isinstance(each, WeightView):
                _refuse_write(func)


def _makes_views(func: Any) -> bool:
    return any(each.alias_info is not None and not each.alias_info.is_write
               for each in func._schema.returns)
