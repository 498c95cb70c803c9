# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The C library, libBlockScaleC, through ctypes: the only part of the package that calls it.

Functions that can fail return (status, message, diagnostics, value); the package raises what they
say. The GIL is free while the library works. include/blockscale-c says what its functions do.
"""

from __future__ import annotations

import ctypes
from typing import Any

from blockscale._native._compile import check_nesting, compile
from blockscale._native._dlpack import Exchanged, exchange
from blockscale._native._executable import (
    Arrays,
    Executable,
    create_executable,
    load_executable,
    xla_handler,
)
from blockscale._native._library import LIBRARY, get_error
from blockscale._native._numerics import get_global_scale, get_nonzero_amax, swizzle, unswizzle
from blockscale._native._policy import (
    SCALINGS,
    NativeForm,
    NativeOperand,
    NativePolicy,
    check_form,
    decide_layer,
    matches_pattern,
    parse_policy,
)

__all__ = [
    "SCALINGS",
    "Arrays",
    "Exchanged",
    "Executable",
    "NativeForm",
    "NativeOperand",
    "NativePolicy",
    "check_form",
    "check_nesting",
    "chips",
    "choose_chip",
    "compile",
    "create_executable",
    "decide_layer",
    "dtype_name",
    "exchange",
    "get_global_scale",
    "get_nonzero_amax",
    "has_products",
    "load_executable",
    "matches_pattern",
    "parse_policy",
    "recipes",
    "set_cache_owners",
    "set_num_threads",
    "status_name",
    "swizzle",
    "unswizzle",
    "use_openmp",
    "version",
    "xla_handler",
]


def status_name(status: int) -> str:
    name: bytes = LIBRARY.blockscale_status_name(status)
    return name.decode()


def dtype_name(dtype: int) -> str:
    name: bytes = LIBRARY.blockscale_dtype_name(dtype)
    return name.decode()


def set_num_threads(threads: int) -> None:
    LIBRARY.blockscale_set_num_threads(threads)


def use_openmp(library: str) -> None:
    """Has calls on the CPU run on the threads of the OpenMP runtime that a loaded library uses, if
    it uses one."""
    try:
        parallel = ctypes.CDLL(library).GOMP_parallel
    except (OSError, AttributeError):
        return
    LIBRARY.blockscale_use_openmp(ctypes.cast(parallel, ctypes.c_void_p))


def set_cache_owners(users: str | None) -> tuple[int, str, list[Any], None]:
    status = LIBRARY.blockscale_set_cache_owners(None if users is None else users.encode())
    return status, get_error(status), [], None


def _list_recipes() -> tuple[str, ...]:
    names: list[str] = []
    while name := LIBRARY.blockscale_recipe_name(len(names)):
        names.append(name.decode())
    return tuple(names)


def choose_chip(major: int, minor: int) -> str | None:
    """The chip to compile for, by the compute capability of a GPU; None where it runs the kernels
    of no chip."""
    name: bytes | None = LIBRARY.blockscale_chip_for_capability(major, minor)
    return name.decode() if name else None


def has_products(chip: str, is_weight_only: bool) -> bool:
    """Whether there are kernels of matrix products for a chip, of two operands with scales or of
    one and a plain one."""
    return bool(LIBRARY.blockscale_chip_has_products(chip.encode(), is_weight_only))


chips: str = LIBRARY.blockscale_chips().decode()
version: str = LIBRARY.blockscale_version().decode()
recipes = _list_recipes()
