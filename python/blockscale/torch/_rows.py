# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops on rows whose bits depend on the row alone (docs/SameBits.md): norm, softmax, rotary
embedding and attention, beside linear layers of order chain.

The norm is a region, whose sums have the order of BlockScale's norms on every device. The others
are kernels in Triton on CUDA devices, and on the CPU, or without triton, ops of PyTorch on elements
(_triton_rows.py, _plain_rows.py).
"""

from __future__ import annotations

import functools
import importlib.util
import json
import math
from typing import Any

import torch
from torch import Tensor

from blockscale.torch import _plain_rows
from blockscale.torch._library import (
    PLAIN,
    check_x,
    define,
    implement,
    refuse,
    refuse_backward,
)

_INTEGERS = (torch.int32, torch.int64)
#: Heads that share keys, up to which a program attends for all of them.
_LARGEST_GROUP = 16
_NO_GRAD = "call the model under torch.no_grad()"


@functools.cache
def has_triton() -> bool:
    """Whether there are kernels for GPUs; without triton a GPU has the forms of the CPU."""
    return importlib.util.find_spec("triton") is not None


def _is_triton(x: Tensor) -> bool:
    return x.device.type == "cuda" and has_triton()


def _check_like(op: str, what: str, tensor: Tensor, x: Tensor, dtypes: Any, name: str = "x"
                ) -> None:
    """That a tensor is one of the dtypes, and on the device of x."""
    if tensor.dtype not in dtypes:
        names = ", ".join(str(dtype).removeprefix("torch.") for dtype in dtypes)
        refuse(op, f"{what} to be {names}", tensor.dtype)
    if tensor.device != x.device:
        refuse(op, f"{what} on {x.device}, as {name} is", f"{tensor.device}; move it with .to()")


# RMSNorm.

define("rms_norm(Tensor x, Tensor? weight=None, float? eps=None) -> Tensor")


def _check_norm(x: Tensor, weight: Tensor | None) -> None:
    check_x("rms_norm", x, least=1)
    if weight is not None:
        _check_like("rms_norm", "weight", weight, x, PLAIN)
        if list(weight.shape) != [x.shape[-1]]:
            refuse("rms_norm", f"a weight of shape [{x.shape[-1]}], the last dimension of x",
                   list(weight.shape))


@functools.cache
def _write_norm(dtype: torch.dtype, weight: torch.dtype | None, columns: int, eps: float) -> str:
    """The region that torch.nn.RMSNorm is in a compiled graph."""
    def name(each: torch.dtype) -> str:
        return str(each).removeprefix("torch.")
    inputs: list[Any] = [[name(dtype), [None, columns]]]
    if weight is not None:
        inputs.append([name(weight), [columns]])
    ops: list[Any] = []

    def add(op: str, *args: Any, **options: Any) -> dict[str, int]:
        ops.append([f"aten.{op}", list(args), options])
        return {"node": len(inputs) + len(ops) - 1}
    wide = add("_to_copy.default", {"node": 0}, dtype={"dtype": "float32"})
    mean = add("mean.dim", add("pow.Tensor_Scalar", wide, 2), [-1], True)
    made = add("mul.Tensor", wide, add("rsqrt.default", add("add.Scalar", mean, eps)))
    if weight is not None:
        made = add("mul.Tensor", made, {"node": 1})
    made = add("_to_copy.default", made, dtype={"dtype": name(dtype)})
    return json.dumps({"inputs": inputs, "ops": ops, "outputs": [made["node"]]})


def _norm(x: Tensor, weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    from blockscale.torch._regions import read_region
    _check_norm(x, weight)
    if not x.numel():
        return torch.empty_like(x)
    eps = torch.finfo(torch.float32).eps if eps is None else eps
    text = _write_norm(x.dtype, None if weight is None else weight.dtype, x.shape[-1], eps)
    rows = x.reshape(-1, x.shape[-1])
    made, = read_region(text).compute([rows] if weight is None else [rows, weight])
    return made.reshape(x.shape)


def _fake_norm(x: Tensor, weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    _check_norm(x, weight)
    return x.new_empty(x.shape)


implement("rms_norm", _norm, _fake_norm)
refuse_backward("rms_norm", _NO_GRAD)


# Softmax.

define("softmax(Tensor x, int dim=-1) -> Tensor")
define("log_softmax(Tensor x, int dim=-1) -> Tensor")


def _make_softmax(op: str, is_log: bool) -> None:
    def check(x: Tensor, dim: int) -> None:
        check_x(op, x, least=1)
        if not -x.dim() <= dim < x.dim():
            refuse(op, f"dim from {-x.dim()} to {x.dim() - 1}", dim)

    def function(x: Tensor, dim: int = -1) -> Tensor:
        check(x, dim)
        moved = x.movedim(dim, -1)
        rows = moved.reshape(math.prod(moved.shape[:-1]), moved.shape[-1]).contiguous()
        if _is_triton(x):
            from blockscale.torch import _triton_rows
            made = _triton_rows.softmax(rows, is_log)
        else:
            made = _plain_rows.softmax(rows, is_log).to(x.dtype)
        return made.reshape(moved.shape).movedim(-1, dim).contiguous()

    def fake(x: Tensor, dim: int = -1) -> Tensor:
        check(x, dim)
        return x.new_empty(x.shape)
    implement(op, function, fake)
    refuse_backward(op, _NO_GRAD)


_make_softmax("softmax", False)
_make_softmax("log_softmax", True)


# Rotary embedding.

define("rotary_embedding(Tensor x, Tensor cos, Tensor sin) -> Tensor")
_MOST_SIZES = 4


def _check_rotary(x: Tensor, cos: Tensor, sin: Tensor, op: str = "rotary_embedding") -> None:
    check_x(op, x, least=1)
    if x.dim() > _MOST_SIZES:
        refuse(op, f"x of rank {_MOST_SIZES} or less", f"shape {list(x.shape)}")
    if x.shape[-1] % 2:
        refuse(op, "an even last dimension of x", x.shape[-1])
    for what, table in (("cos", cos), ("sin", sin)):
        _check_like(op, what, table, x, PLAIN)
        sizes = [1] * (x.dim() - table.dim()) + list(table.shape)
        if (table.dim() > x.dim() or sizes[-1] != x.shape[-1]
                or any(one not in (1, other) for one, other in zip(sizes, x.shape))):
            refuse(op, f"{what} whose last dimension is {x.shape[-1]}, and that is expanded to "
                       f"shape {list(x.shape)}", list(table.shape))


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    _check_rotary(x, cos, sin)
    if not _is_triton(x):
        return _plain_rows.rotate(x, cos, sin).to(x.dtype).contiguous()
    from blockscale.torch import _triton_rows
    sizes = (1,) * (_MOST_SIZES - x.dim()) + tuple(x.shape)
    made = _triton_rows.rotate(x.reshape(sizes), cos.expand(sizes), sin.expand(sizes))
    return made.reshape(x.shape)


def _fake_rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    _check_rotary(x, cos, sin)
    return x.new_empty(x.shape)


implement("rotary_embedding", _rotate, _fake_rotate)
refuse_backward("rotary_embedding", _NO_GRAD)


# Attention.

define("attention(Tensor q, Tensor k, Tensor v, Tensor? mask=None, Tensor? lengths=None, "
       "Tensor? positions=None, *, bool causal=False, float? scale=None) -> Tensor")


def _check_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None,
                     lengths: Tensor | None, positions: Tensor | None, causal: bool,
                     op: str = "attention") -> None:
    for what, tensor in (("q", q), ("k", k), ("v", v)):
        _check_like(op, what, tensor, q, PLAIN, "q")
        if tensor.dim() != 4:
            refuse(op, f"{what} of rank 4, [batch, heads, length, width]",
                   f"shape {list(tensor.shape)}")
        if tensor.dtype != q.dtype:
            refuse(op, f"{what} of {q.dtype}, as q is", tensor.dtype)
    batch, heads, queries, width = q.shape
    groups, keys = k.shape[1], k.shape[2]
    if k.shape[0] != batch or k.shape[3] != width:
        refuse(op, f"k of shape [{batch}, groups, length, {width}], as q has", list(k.shape))
    if list(v.shape[:3]) != list(k.shape[:3]):
        refuse(op, f"v of shape {list(k.shape[:3])} before its last dimension, as k has",
               list(v.shape))
    if groups == 0 or heads % groups:
        refuse(op, "a number of heads of q that is a multiple of that of k",
               f"{heads} and {groups}")
    if mask is not None:
        _check_like(op, "mask", mask, q, (torch.bool, *PLAIN), "q")
        sizes = [1] * (4 - mask.dim()) + list(mask.shape)
        if mask.dim() > 4 or any(one not in (1, other) for one, other in
                                 zip(sizes, (batch, heads, queries, keys))):
            refuse(op, f"a mask that is expanded to shape {[batch, heads, queries, keys]}",
                   list(mask.shape))
    if lengths is not None:
        _check_like(op, "lengths", lengths, q, _INTEGERS, "q")
        if list(lengths.shape) != [batch]:
            refuse(op, f"lengths of shape [{batch}], one for each sequence", list(lengths.shape))
    if positions is not None:
        _check_like(op, "positions", positions, q, _INTEGERS, "q")
        if causal:
            refuse(op, "causal=True, whose positions start at 0, or positions", "both")
        if list(positions.shape) not in ([queries], [batch, queries]):
            refuse(op, f"positions of shape [{queries}] or [{batch}, {queries}]",
                   list(positions.shape))


def _make_last_dense(x: Tensor) -> Tensor:
    return x if x.stride(-1) == 1 else x.contiguous()


def _get_bounds(q: Tensor, keys: int, lengths: Tensor | None, positions: Tensor | None,
                causal: bool) -> Tensor:
    """How many keys each query looks at."""
    batch, _, queries, _ = q.shape
    bounds = torch.full((batch, queries), keys, device=q.device)
    if lengths is not None:
        bounds = bounds.minimum(lengths[:, None].long())
    if causal:
        positions = torch.arange(queries, device=q.device)
    if positions is not None:
        bounds = bounds.minimum(positions.long() + 1)
    return bounds.clamp(min=0)


def _attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None,
            lengths: Tensor | None = None, positions: Tensor | None = None, *,
            causal: bool = False, scale: float | None = None) -> Tensor:
    _check_attention(q, k, v, mask, lengths, positions, causal)
    batch, heads, queries, width = q.shape
    keys = k.shape[2]
    scale = 1 / math.sqrt(max(width, 1)) if scale is None else scale
    if mask is not None:
        mask = mask.expand(batch, heads, queries, keys)
    if not _is_triton(q):
        return _plain_rows.attend(q, k, v, mask,
                                  _get_bounds(q, keys, lengths, positions, causal), scale)
    from blockscale.torch import _triton_rows
    if positions is not None:
        positions = positions.expand(batch, queries)
    return _triton_rows.attend(
        _make_last_dense(q), _make_last_dense(k), _make_last_dense(v), mask,
        None if lengths is None else lengths.contiguous(), positions, causal, scale)


def _fake_attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None,
                 lengths: Tensor | None = None, positions: Tensor | None = None, *,
                 causal: bool = False, scale: float | None = None) -> Tensor:
    _check_attention(q, k, v, mask, lengths, positions, causal)
    return _plain_rows.make_result(q, v)


implement("attention", _attend, _fake_attend)
refuse_backward("attention", _NO_GRAD)


# A step of decoding: the same with a new key, which is rotated as queries are, and stored.

define("decode_attention(Tensor q, Tensor k, Tensor v, Tensor(a!) keys, Tensor(b!) values, "
       "Tensor cos, Tensor sin, Tensor position, Tensor? mask=None, *, float? scale=None) "
       "-> Tensor")


def _check_decode(q: Tensor, k: Tensor, v: Tensor, keys: Tensor, values: Tensor, cos: Tensor,
                  sin: Tensor, position: Tensor, mask: Tensor | None) -> None:
    op = "decode_attention"
    _check_attention(q, keys, values, mask, None, None, False, op)
    if q.shape[2] != 1:
        refuse(op, "one query of each head", q.shape[2])
    for what, one, cache in (("k", k, keys), ("v", v, values)):
        _check_like(op, what, one, q, (q.dtype,), "q")
        wanted = [*cache.shape[:2], 1, cache.shape[3]]
        if list(one.shape) != wanted:
            refuse(op, f"{what} of shape {wanted}, one row of the cache", list(one.shape))
    _check_rotary(q, cos, sin, op)
    for what, table in (("cos", cos), ("sin", sin)):
        if table.dim() > 1 and table.shape[1 - 4:-1].numel() != 1:
            refuse(op, f"{what} that is one for all heads", list(table.shape))
    _check_like(op, "position", position, q, _INTEGERS, "q")
    if position.numel() != 1:
        refuse(op, "a position that is one number", list(position.shape))


def _decode(q: Tensor, k: Tensor, v: Tensor, keys: Tensor, values: Tensor, cos: Tensor,
            sin: Tensor, position: Tensor, mask: Tensor | None = None, *,
            scale: float | None = None) -> Tensor:
    _check_decode(q, k, v, keys, values, cos, sin, position, mask)
    batch, heads, _, width = q.shape
    is_dense = keys.stride(-1) == values.stride(-1) == 1
    if not _is_triton(q) or heads // keys.shape[1] > _LARGEST_GROUP or not is_dense:
        place = position.reshape(1)
        keys[:, :, place] = _rotate(k, cos, sin)
        values[:, :, place] = v
        return _attend(_rotate(q, cos, sin), keys, values, mask, scale=scale)
    from blockscale.torch import _triton_rows
    if mask is not None:
        mask = mask.expand(batch, heads, 1, keys.shape[2])
    tables = [_make_last_dense(each.expand(batch, 1, 1, width)[:, 0, 0]) for each in (cos, sin)]
    return _triton_rows.attend(
        _make_last_dense(q), keys, values, mask, None, None, False,
        1 / math.sqrt(width) if scale is None else scale,
        (_make_last_dense(k), _make_last_dense(v), tables[0], tables[1], position))


def _fake_decode(q: Tensor, k: Tensor, v: Tensor, keys: Tensor, values: Tensor, cos: Tensor,
                 sin: Tensor, position: Tensor, mask: Tensor | None = None, *,
                 scale: float | None = None) -> Tensor:
    _check_decode(q, k, v, keys, values, cos, sin, position, mask)
    return _plain_rows.make_result(q, values)


implement("decode_attention", _decode, _fake_decode)
