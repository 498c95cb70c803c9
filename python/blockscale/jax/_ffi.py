# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of compiled functions in programs that XLA runs on the CPU.

The handler is part of the C library. XLA calls it with the addresses of arrays,
without Python.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

from blockscale import _native
from blockscale._arrays import pack_codes
from blockscale._errors import ArgumentError, check

_TARGET = "blockscale_call"
# What XLA may call as long as the process runs: compiled programs say by a number which
# function they call.
_KEPT: list[Any] = []


@functools.cache
def _register() -> None:
    jax.ffi.register_ffi_target(_TARGET, _native.xla_handler(), platform="cpu")


def add(executable: Any, constants: Any, memory: Any) -> int:
    """Makes an executable callable. `constants` are its last arguments as it takes them, in
    `memory`."""
    _register()
    _KEPT.append((executable, memory))
    number: int = check(executable.add_to_xla(constants))[0]
    return number


def _to_storage(array: Any, element: str) -> Any:
    """A traced array as the function takes it."""
    if element == "f4E2M1FN":
        return pack_codes(jax.lax.bitcast_convert_type(array, jnp.uint4).astype(jnp.uint8))
    if element == "i1":
        return array.astype(jnp.int8)
    if element.startswith("ui"):
        return jax.lax.bitcast_convert_type(array, np.dtype(f"i{array.dtype.itemsize}"))
    return array


def _from_storage(array: Any, element: str, kind: Any) -> Any:
    """A result of the function with JAX's dtype."""
    if element == "f4E2M1FN":
        codes = jnp.stack([array & 15, array >> 4], axis=-1)
        codes = codes.reshape(*array.shape[:-1], -1).astype(jnp.uint4)
        return jax.lax.bitcast_convert_type(codes, ml_dtypes.float4_e2m1fn)
    if element == "i1":
        return array != 0
    if element.startswith("ui"):
        return jax.lax.bitcast_convert_type(array, kind)
    return array


def _get_stored(shape: Sequence[int], element: str, kind: Any) -> jax.ShapeDtypeStruct:
    if element == "f4E2M1FN":
        return jax.ShapeDtypeStruct((*shape[:-1], shape[-1] // 2), jnp.uint8)
    if element == "i1":
        return jax.ShapeDtypeStruct(shape, jnp.int8)
    if element.startswith("ui"):
        return jax.ShapeDtypeStruct(shape, np.dtype(f"i{np.dtype(kind).itemsize}"))
    return jax.ShapeDtypeStruct(shape, kind)


def make_call(number: int, elements: Sequence[str], results: Sequence[tuple[Any, str, Any]]
              ) -> Any:
    """A function of traced arrays.

    Args:
      number: what add() returned.
      elements: StableHLO's element types of the arguments.
      results: shape, element type and dtype of each result.
    """
    stored = [_get_stored(*each) for each in results]

    @jax.custom_batching.custom_vmap
    def call(*arrays: Any) -> list[Any]:
        given = [_to_storage(array, element) for array, element in zip(arrays, elements)]
        made = jax.ffi.ffi_call(_TARGET, stored)(*given, call=np.int64(number))
        return [_from_storage(array, element, kind)
                for array, (_, element, kind) in zip(made, results)]

    @call.def_vmap
    def refuse(*_: Any) -> Any:
        raise ArgumentError("expected no jax.vmap of an imported function, whose shapes are "
                            "those that it was exported for; export jax.vmap of the function")
    return call
