# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions, norms, softmax and attention."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from blockscale._linalg import (
    Array,
    Body,
    emit_batch_norm,
    emit_convert,
    emit_elementwise,
    emit_layer_norm,
    emit_matmul,
    emit_reduce,
    emit_reduction,
    emit_repeat_each,
    emit_reshape,
    emit_softmax,
    multiply,
    normalize_axes,
)
from blockscale.torch._importer import Importer, handles, sizes_of


def _get_axes(dim: Any) -> list[int] | None:
    """None and no dimensions are all of them."""
    return [dim] if isinstance(dim, int) else list(dim) if dim else None


def _emit(importer: Importer, kind: str, input: Any, dim: Any = None,
          keepdim: bool = False) -> Array:
    x = importer.tensor(input)
    if not x.rank:
        dim = None
    return emit_reduce(importer, kind, x, _get_axes(dim), keepdims=keepdim,
                       dtype=importer.get_dtype())


@handles("aten.sum.default", "aten.sum.dim_IntList", "aten.mean.default", "aten.mean.dim")
def import_sum(importer: Importer, input: Any, dim: Any = None, keepdim: bool = False,
               **_: Any) -> Array:
    return _emit(importer, str(importer.node.target).split(".")[1], input, dim, keepdim)


@handles(*(f"aten.{kind}.{form}" for kind in ("any", "all") for form in (
    "default", "dim", "dims")))
def import_any(importer: Importer, input: Any, dim: Any = None, keepdim: bool = False) -> Array:
    x = emit_convert(importer, importer.tensor(input), "i1")
    kind = "max" if "any" in str(importer.node.target) else "min"
    return emit_reduce(importer, kind, x, _get_axes(dim) if x.rank else None, keepdims=keepdim)


@handles("aten.amax.default", "aten.amin.default")
def import_amax(importer: Importer, input: Any, dim: Any, keepdim: bool) -> Array:
    return _emit(importer, str(importer.node.target).split(".")[1][1:], input, dim, keepdim)


@handles("aten.linalg_vector_norm.default", "aten.norm.ScalarOpt_dim")
def import_norm(importer: Importer, input: Any, dim: Any, keepdim: bool, ord: Any = None,
                p: Any = None, **_: Any) -> Array:
    x, order = importer.array(input), 2 if ord is None and p is None else ord or p
    if order != 2:
        importer.refuse(f"expected a norm of order 2, but got {order}")
    axes = normalize_axes(importer, _get_axes(dim), x.rank)
    total = emit_reduction(importer, "squares", [x], x.sizes, axes, "f32", 0,
                           lambda body, a: body.mul(a, a), Body.add)
    root = emit_elementwise(importer, "norm", [total], total.sizes, importer.get_dtype(),
                            lambda body, a: body.op(f"math.sqrt {a}"))
    return emit_reshape(importer, root, sizes_of(importer.result))


@handles("aten.softmax.int", "aten._softmax.default", "aten.log_softmax.int",
         "aten._log_softmax.default")
def import_softmax(importer: Importer, input: Any, dim: int, **_: Any) -> Array:
    return emit_softmax(importer, importer.array(input), dim, dtype=importer.get_dtype(),
                        logarithm="log" in str(importer.node.target))


def _emit_norm(importer: Importer, input: Any, shape: Sequence[int], weight: Any, bias: Any,
               eps: float, is_centered: bool = True) -> Array:
    x = importer.array(input)
    given = [None if each is None else importer.array(each, name)
             for name, each in (("weight", weight), ("bias", bias))]
    return emit_layer_norm(importer, x, range(x.rank - len(shape), x.rank), eps, *given,
                           centered=is_centered)


@handles("aten.layer_norm.default")
def import_layer_norm(importer: Importer, input: Any, normalized_shape: Sequence[int],
                      weight: Any, bias: Any, eps: float, **_: Any) -> Array:
    return _emit_norm(importer, input, normalized_shape, weight, bias, eps)


@handles("aten.native_layer_norm.default")
def import_native_layer_norm(importer: Importer, input: Any, normalized_shape: Sequence[int],
                             weight: Any, bias: Any, eps: float) -> tuple[Any, ...]:
    """The norm; means and reciprocal deviations are for training."""
    return _emit_norm(importer, input, normalized_shape, weight, bias, eps), None, None


@handles("aten.rms_norm.default")
def import_rms_norm(importer: Importer, input: Any, normalized_shape: Sequence[int], weight: Any,
                    eps: float | None) -> Array:
    eps = torch.finfo(importer.result.dtype).eps if eps is None else eps
    return _emit_norm(importer, input, normalized_shape, weight, None, eps, is_centered=False)


def _emit_group_norm(importer: Importer, input: Any, groups: int, weight: Any, bias: Any,
                     eps: float) -> Array:
    """The norm over the channels of a group and over space of x [N, C, *space], with a weight and a
    bias [C]."""
    x = importer.array(input)
    channels = x.sizes[1]
    if not isinstance(channels, int) or groups < 1 or channels % groups:
        importer.refuse(f"expected a known number of channels, a multiple of {groups} groups, but "
                        f"got {channels}")
    split = (groups, channels // groups)
    given = [None if each is None else
             emit_reshape(importer, importer.array(each, name), (*split, 1))
             for each, name in ((weight, "weight"), (bias, "bias"))]
    rows = emit_reshape(importer, x, (x.sizes[0], *split, multiply(x.sizes[2:])))
    return emit_reshape(importer, emit_layer_norm(importer, rows, (2, 3), eps, *given), x.sizes)


@handles("aten.group_norm.default")
def import_group_norm(importer: Importer, input: Any, num_groups: int, weight: Any, bias: Any,
                      eps: float, **_: Any) -> Array:
    return _emit_group_norm(importer, input, num_groups, weight, bias, eps)


@handles("aten.instance_norm.default")
def import_instance_norm(importer: Importer, input: Any, weight: Any, bias: Any,
                         running_mean: Any, running_var: Any, use_input_stats: bool,
                         eps: float, **_: Any) -> Array:
    if not use_input_stats:
        return _emit_batch_norm(importer, input, weight, bias, running_mean, running_var, eps)
    channels: Any = importer.array(input).sizes[1]
    return _emit_group_norm(importer, input, channels, weight, bias, eps)


@handles("aten.native_group_norm.default")
def import_native_group_norm(importer: Importer, input: Any, group: int, weight: Any, bias: Any,
                             eps: float, **_: Any) -> tuple[Any, ...]:
    """The norm; means and reciprocal deviations are for training."""
    return _emit_group_norm(importer, input, group, weight, bias, eps), None, None


def _emit_batch_norm(importer: Importer, input: Any, weight: Any, bias: Any, mean: Any,
                     variance: Any, eps: float) -> Array:
    given = [None if each is None else importer.array(each, name)
             for each, name in ((weight, "weight"), (bias, "bias"))]
    return emit_batch_norm(importer, importer.array(input), importer.array(mean, "running_mean"),
                           importer.array(variance, "running_var"), eps, *given)


@handles("aten.batch_norm.default")
def import_batch_norm(importer: Importer, input: Any, weight: Any, bias: Any, running_mean: Any,
                      running_var: Any, training: bool, eps: float, **_: Any) -> Array:
    if training or running_mean is None or running_var is None:
        importer.refuse("expected a model in evaluation mode with the means and variances of its "
                        "training, but got a batch norm of the batch's own; call model.eval()")
    return _emit_batch_norm(importer, input, weight, bias, running_mean, running_var, eps)


@handles("aten._native_batch_norm_legit_no_training.default")
def import_native_batch_norm(importer: Importer, input: Any, weight: Any, bias: Any,
                             running_mean: Any, running_var: Any, eps: float, **_: Any
                             ) -> tuple[Any, ...]:
    """The norm; means and reciprocal deviations are for training."""
    return _emit_batch_norm(importer, input, weight, bias, running_mean, running_var,
                            eps), None, None


# Attention.


def _emit_attention(importer: Importer, query: Any, key: Any, value: Any, mask: Any,
                    is_causal: bool, scale: float | None, dtype: str,
                    is_grouped: bool = False) -> Array:
    """Several heads of queries have one head of keys and values where they are grouped."""
    q, k, v = (importer.array(each, name)
               for each, name in ((query, "query"), (key, "key"), (value, "value")))
    width = q.sizes[-1]
    if not isinstance(width, int):
        importer.refuse(f"expected a known size of heads, but got {width}")
    if is_grouped:
        heads: list[Any] = [each.sizes[-3] if each.rank > 2 else None for each in (q, k, v)]
        if not all(isinstance(each, int) for each in heads) or any(
                heads[0] % each for each in heads[1:]):
            importer.refuse("expected heads of queries that are a multiple of those of keys and "
                            f"values, but got {heads[0]}, {heads[1]} and {heads[2]}")
        k, v = (emit_repeat_each(importer, each, heads[0] // each.sizes[-3], each.rank - 3)
                for each in (k, v))
    for name, each in (("keys", k), ("values", v)):
        if q.rank > 2 and each.sizes[-3] not in (q.sizes[-3], 1):
            importer.refuse(f"expected as many heads of {name} as of queries, {q.sizes[-3]}, or "
                            f"one for all of them, but got {each.sizes[-3]}")
    factor = 1 / math.sqrt(width) if scale is None else scale
    scores = emit_matmul(importer, q, k, transpose_b=True, dtype="f32")
    masks = [] if mask is None else [importer.tensor(mask, "attn_mask")]

    def compute(body: Body, score: str, *rest: str) -> str:
        score = body.mul(score, body.constant(factor))
        if masks and masks[0].dtype == "i1":
            score = body.select(rest[0], score, body.constant(-math.inf))
        elif masks:
            score = body.add(score, rest[0])
        if is_causal:
            row, column = body.index(scores.rank - 2), body.index(scores.rank - 1)
            seen = body.op(f"arith.cmpi sle, {column}, {row}", "index")
            score = body.select(seen, score, body.constant(-math.inf))
        return score
    kinds = ["f32", *("i1" if each.dtype == "i1" else "f32" for each in masks)]
    scores = emit_elementwise(importer, "scores", [scores, *masks], scores.sizes, "f32", compute,
                              inner=kinds)
    shares = emit_softmax(importer, scores, -1, empty=0)
    if v.dtype in ("bf16", "f16"):
        # PyTorch's kernels of attention round them, too, so that tensor cores multiply them.
        shares = emit_convert(importer, shares, v.dtype)
    return emit_matmul(importer, shares, v, dtype=dtype)


@handles("aten.scaled_dot_product_attention.default")
def import_attention(importer: Importer, query: Any, key: Any, value: Any, attn_mask: Any,
                     dropout_p: float, is_causal: bool, scale: float | None,
                     enable_gqa: bool) -> Array:
    if dropout_p:
        importer.refuse(f"expected attention without dropout, but got {dropout_p}; call "
                        "model.eval()")
    return _emit_attention(importer, query, key, value, attn_mask, is_causal, scale,
                           importer.get_dtype(), is_grouped=enable_gqa)


@handles("aten._scaled_dot_product_flash_attention_for_cpu.default")
def import_flash_attention(importer: Importer, query: Any, key: Any, value: Any,
                           dropout_p: float, is_causal: bool, attn_mask: Any,
                           scale: float | None) -> tuple[Any, ...]:
    """The attention; logarithms of sums are for training."""
    if dropout_p:
        importer.refuse(f"expected attention without dropout, but got {dropout_p}; call "
                        "model.eval()")
    dtype = importer.array(query, "query").dtype
    return _emit_attention(importer, query, key, value, attn_mask, is_causal, scale, dtype), None
