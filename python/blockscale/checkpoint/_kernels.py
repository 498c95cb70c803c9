# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiled functions that quantize and dequantize rows: one for each form, made once, for any
sizes."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import ml_dtypes
import numpy as np

from blockscale import _native, _ops
from blockscale._compile import Compiled
from blockscale._compile import compile as compile_module
from blockscale._errors import check
from blockscale._jit import jit
from blockscale._native import _checkpoint as _bytes
from blockscale._ops import FORMATS
from blockscale._trace import Module, Value
from blockscale._types import Spec
from blockscale.checkpoint._layouts import PLAIN_DTYPES

#: Dtypes of NumPy by our names.
DTYPES = {"f32": np.dtype(np.float32), "bf16": np.dtype(ml_dtypes.bfloat16),
          "f16": np.dtype(np.float16)}
#: The names that files have for them.
STORED = {name: dtype for dtype, name in PLAIN_DTYPES.items()}
_Made = TypeVar("_Made")


def _once(make: Callable[..., _Made]) -> Callable[..., _Made]:
    """A function whose results are kept. The first thread that asks for one makes it, and others
    that ask for the same wait, but not those that ask for another."""
    lock = threading.Lock()
    found: dict[tuple[Any, ...], Future[_Made]] = {}

    @functools.wraps(make)
    def get(*key: Any) -> _Made:
        with lock:
            future = found.get(key)
            is_first = future is None
            if future is None:
                future = found[key] = Future()
        if is_first:
            try:
                future.set_result(make(*key))
            except BaseException as error:
                # Who asks again tries again.
                with lock:
                    del found[key]
                future.set_exception(error)
        return future.result()
    return get


def trace_quantizer(format: str, recipe: str, dtype: str, is_swept: bool, has_amax: bool,
                    cols: int | None = None) -> Module:
    """The module of a quantizer of rows of a dtype, of any number of columns without `cols`; its
    second argument is the amax of the tensor, where it has one."""
    def quantize_by_amax(x: Value, amax: Value) -> Any:
        best = _ops.scale_sweep(x, amax) if is_swept else None
        return _ops.quantize(x, format=format, recipe=recipe, global_amax=amax, block_amax=best)

    def quantize(x: Value) -> Any:
        return _ops.quantize(x, format=format, recipe=recipe)
    rows = Spec((None, cols), dtype)
    if has_amax:
        return jit(quantize_by_amax).trace(rows, Spec((), "f32"))
    return jit(quantize).trace(rows)


@_once
def _get_quantizer(format: str, recipe: str, dtype: str, is_swept: bool,
                   has_amax: bool) -> Compiled:
    return compile_module(trace_quantizer(format, recipe, dtype, is_swept, has_amax))


@_once
def _get_dequantizer(format: str, has_global: bool, dtype: str) -> Compiled:
    data, scale, _ = FORMATS[format]

    def dequantize_with(x: Value, s: Value, g: Value) -> Any:
        return _ops.dequantize(x, s, dtype=dtype, global_scale=g)

    def dequantize(x: Value, s: Value) -> Any:
        return _ops.dequantize(x, s, dtype=dtype)
    specs = [Spec((None, None), data), Spec((None, None), scale)]
    if has_global:
        return compile_module(jit(dequantize_with).trace(*specs, Spec((), "f32")))
    return compile_module(jit(dequantize).trace(*specs))


@contextlib.contextmanager
def make_ahead(quantizers: Iterable[tuple[str, str, str, bool, bool]],
               dequantizers: Iterable[tuple[str, bool, str]]) -> Iterator[None]:
    """Makes kernels on threads, beside the work that needs them later. What goes wrong is an error
    where they are needed.

    Args:
      quantizers: format, recipe, dtype, whether scales are swept, and whether there is an amax.
      dequantizers: format, whether there is a global scale, and dtype.
    """
    makers = [functools.partial(_get_quantizer, *key) for key in set(quantizers)]
    makers += [functools.partial(_get_dequantizer, *key) for key in set(dequantizers)]
    with ThreadPoolExecutor(max(len(makers), 1), "blockscale-compile") as pool:
        for make in makers:
            pool.submit(make)
        yield


def get_code_columns(format: str, cols: int) -> int:
    """Bytes of a row of codes."""
    return -(-cols // 2) if FORMATS[format][0] == "f4E2M1FN" else cols


def compute_amax(x: np.ndarray, dtype: str) -> float:
    """The largest absolute value of an array, NaN where one is."""
    return _bytes.amax(STORED[dtype], x)


def quantize(x: np.ndarray, dtype: str, format: str, recipe: str, amax: float | None,
             is_swept: bool, out: Sequence[np.ndarray]) -> None:
    """Codes and linear scales of a matrix, into arrays of uint8. `amax` is that of the tensor, from
    which the recipe computes its global scale; None for no global scale."""
    function = _get_quantizer(format, recipe, dtype, is_swept, amax is not None)
    arguments = [x] if amax is None else [x, np.array(amax, np.float32)]
    if FORMATS[format][0] == "i8":
        out = [out[0].view(np.int8), out[1]]
    function(*arguments, out=out, accept_nan_scales=True)


def dequantize(data: np.ndarray, scales: np.ndarray, format: str,
               global_scale: np.float32 | None, out: np.ndarray, dtype: str = "f32") -> None:
    """The numbers of codes and linear scales, into a matrix of the dtype."""
    function = _get_dequantizer(format, global_scale is not None, dtype)
    if FORMATS[format][0] == "i8":
        data = data.view(np.int8)
    arguments = [data, scales]
    if global_scale is not None:
        arguments.append(np.array(global_scale, np.float32))
    function(*arguments, out=[out], accept_nan_scales=True)


def get_global_scale(recipe: str, amax: float, dtype: str | None) -> np.float32:
    """The encode scale of an NVFP4 recipe for a tensor of a dtype; its decode scale without
    one."""
    scale: np.float32 = check(_native.get_global_scale(recipe, amax, dtype))[0]
    return scale
