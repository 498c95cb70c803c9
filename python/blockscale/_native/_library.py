# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds and loads the C library."""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, c_char_p, c_float, c_int, c_int32, c_int64, c_size_t, c_uint64, c_void_p
from pathlib import Path
from typing import Any

from blockscale._native import _structures

_NAME = "libBlockScaleC.so"
_VARIABLE = "BLOCKSCALE_LIBRARY"
_FOLDER = Path(__file__).parents[1] / "_lib"

#: A buffer and its bytes, or its elements where they are numbers of Python.
_BUFFER = (c_void_p, c_size_t)

#: Name, without the prefix, of each function that the package calls: result and arguments.
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "version": (c_char_p, []),
    "last_error": (c_char_p, []),
    "status_name": (c_char_p, [c_int]),
    "dtype_name": (c_char_p, [c_int]),
    "recipe_name": (c_char_p, [c_size_t]),
    "set_num_threads": (None, [c_int]),
    "use_openmp": (None, [c_void_p]),
    "set_cache_owners": (c_int, [c_char_p]),
    "global_decode_scale": (c_int, [c_char_p, c_float, POINTER(c_float)]),
    "global_encode_scale": (c_int, [c_char_p, c_int, c_float, POINTER(c_float)]),
    "nonzero_amax": (c_float, [c_float]),
    "swizzled_size": (c_int64, [c_int64, c_int64]),
    "swizzle": (c_int, [c_void_p, c_int64, c_int64, c_void_p, c_size_t]),
    "unswizzle": (c_int, [c_void_p, c_size_t, c_int64, c_int64, c_void_p]),
    "chips": (c_char_p, []),
    "chip_for_capability": (c_char_p, [c_int, c_int]),
    "chip_has_products": (c_int, [c_char_p, c_int]),
    "verify": (c_int, [c_void_p, c_size_t, POINTER(_structures.CompileConfig),
                       POINTER(c_void_p)]),
    "compile": (c_int, [c_void_p, c_size_t, POINTER(_structures.CompileConfig),
                        POINTER(c_void_p)]),
    "check_nesting": (c_int, [c_void_p, c_size_t, POINTER(_structures.CompileConfig)]),
    "policy_parse": (c_int, [c_char_p, c_size_t, c_char_p, POINTER(c_void_p)]),
    "policy_destroy": (None, [c_void_p]),
    "policy_decide": (c_int, [c_void_p, POINTER(_structures.Layer),
                              POINTER(POINTER(_structures.Decision))]),
    "layer_form_check": (c_int, [POINTER(_structures.LayerForm), c_char_p,
                                 POINTER(POINTER(_structures.Decision))]),
    "policy_decision_destroy": (None, [POINTER(_structures.Decision)]),
    "pattern_matches": (c_int, [c_char_p, c_char_p, POINTER(c_int)]),
    "output_data": (c_void_p, [c_void_p]),
    "output_size": (c_size_t, [c_void_p]),
    "output_stage_count": (c_size_t, [c_void_p]),
    "output_stage_name": (c_char_p, [c_void_p, c_size_t]),
    "output_stage_text": (c_char_p, [c_void_p, c_size_t]),
    "output_destroy": (None, [c_void_p]),
    "executable_create": (c_int, [c_void_p, c_size_t, POINTER(_structures.ExecutableConfig),
                                  POINTER(c_void_p)]),
    "executable_load": (c_int, [c_void_p, c_size_t, POINTER(_structures.ExecutableConfig),
                                POINTER(c_void_p)]),
    "executable_save": (c_int, [c_void_p, POINTER(c_void_p)]),
    "executable_is_loaded": (c_int, [c_void_p]),
    "executable_target": (c_char_p, [c_void_p]),
    "executable_destroy": (None, [c_void_p]),
    "executable_entry": (c_char_p, [c_void_p]),
    "executable_slot_count": (c_size_t, [c_void_p, c_int]),
    "executable_slot": (c_int, [c_void_p, c_int, c_size_t, POINTER(_structures.Slot)]),
    "executable_is_writable": (c_int, [c_void_p, c_size_t]),
    "executable_result_argument": (c_int64, [c_void_p, c_size_t]),
    "executable_reduces": (c_int, [c_void_p]),
    "executable_result_shape": (c_int, [c_void_p, c_void_p, c_size_t, c_size_t, POINTER(c_int64),
                                        c_size_t]),
    "executable_workspace_bytes": (c_int, [c_void_p, c_void_p, c_size_t, POINTER(c_uint64)]),
    "executable_call": (c_int, [c_void_p, c_void_p, c_size_t, c_void_p, c_size_t, c_void_p]),
    "storage_type_get": (POINTER(_structures.StorageType), [c_size_t]),
    "tensor_file_open": (c_int, [c_char_p, POINTER(c_void_p)]),
    "tensor_file_close": (None, [c_void_p]),
    "tensor_file_format": (c_int, [c_void_p]),
    "tensor_file_data": (c_void_p, [c_void_p]),
    "tensor_file_size": (c_uint64, [c_void_p]),
    "tensor_file_tensor_count": (c_size_t, [c_void_p]),
    "tensor_file_tensor": (c_int, [c_void_p, c_size_t, POINTER(_structures.Tensor)]),
    "tensor_file_metadata_count": (c_size_t, [c_void_p]),
    "tensor_file_metadata": (c_int, [c_void_p, c_size_t, POINTER(_structures.Metadata)]),
    "tensor_file_release": (c_int, [c_void_p, c_uint64, c_uint64]),
    "tensor_file_check": (c_int, [c_void_p]),
    "read_guard_begin": (None, []),
    "read_guard_end": (None, []),
    "file_layout_create": (c_int, [c_int, POINTER(_structures.NewTensor), c_size_t,
                                   POINTER(_structures.Metadata), c_size_t, POINTER(c_void_p)]),
    "file_layout_destroy": (None, [c_void_p]),
    "file_layout_header": (c_void_p, [c_void_p]),
    "file_layout_header_bytes": (c_uint64, [c_void_p]),
    "file_layout_file_bytes": (c_uint64, [c_void_p]),
    "file_layout_offsets": (POINTER(c_uint64), [c_void_p]),
    "gguf_pack": (c_int, [c_char_p, c_int64, c_int64, *_BUFFER, *_BUFFER, *_BUFFER,
                          POINTER(c_uint64)]),
    "gguf_unpack": (c_int, [c_char_p, c_int64, c_int64, *_BUFFER, *_BUFFER, *_BUFFER,
                            POINTER(c_uint64)]),
    "split_rows": (c_int, [c_int64, c_int64, c_int64, c_void_p, *_BUFFER]),
    "alternate_rows": (c_int, [c_int64, c_int64, c_int64, c_void_p, *_BUFFER]),
    "gguf_quantize": (c_int, [c_char_p, c_char_p, c_int64, c_int64, *_BUFFER, *_BUFFER]),
    "mxfp4_max_exponent": (c_int, [*_BUFFER, POINTER(c_int32)]),
    "mxfp4_to_nvfp4": (c_int, [c_int64, c_int64, *_BUFFER, *_BUFFER, c_int32, *_BUFFER, *_BUFFER,
                               POINTER(c_float), POINTER(c_uint64)]),
    "mxfp4_to_fp8": (c_int, [c_int64, c_int64, c_int64, c_int64, *_BUFFER, *_BUFFER, *_BUFFER,
                             *_BUFFER, POINTER(c_uint64)]),
    "amax": (c_int, [c_char_p, *_BUFFER, POINTER(c_float)]),
    "scan": (c_int, [c_char_p, *_BUFFER, POINTER(_structures.Statistics)]),
    "scan_codes": (c_int, [c_int64, c_int64, c_int64, *_BUFFER,
                           POINTER(_structures.CodeStatistics)]),
    "column_squares": (c_int, [c_char_p, c_int64, c_int64, *_BUFFER, *_BUFFER]),
    "column_squares_of_codes": (c_int, [c_char_p, c_int64, c_int64, c_int64, *_BUFFER, *_BUFFER,
                                        *_BUFFER]),
    "compare": (c_int, [c_char_p, *_BUFFER, c_char_p, *_BUFFER,
                        POINTER(_structures.Difference)]),
    "bundle_open_memory": (c_int, [c_char_p, c_size_t, POINTER(c_void_p)]),
    "function_find": (c_int, [c_void_p, c_size_t, c_char_p, POINTER(c_void_p)]),
    "function_buffer_count": (c_size_t, [c_void_p, c_int]),
    "function_buffer": (c_void_p, [c_void_p, c_int, c_size_t]),
    "buffer_rank": (c_size_t, [c_void_p]),
    "call_create": (c_int, [c_void_p, POINTER(_structures.CallArgument), c_size_t,
                            POINTER(c_void_p)]),
    "call_destroy": (None, [c_void_p]),
    "call_shape": (POINTER(c_int64), [c_void_p, c_int, c_size_t]),
    "call_workspace_bytes": (c_uint64, [c_void_p]),
    "device_open": (c_int, [c_int, c_char_p, POINTER(c_void_p)]),
    "device_take_error": (c_int, [c_void_p]),
    "module_load": (c_int, [c_void_p, c_void_p, POINTER(c_void_p)]),
    "module_target": (c_size_t, [c_void_p]),
    "launch": (c_int, [c_void_p, c_void_p, POINTER(c_uint64), c_size_t, POINTER(c_uint64),
                       c_size_t, c_uint64, c_uint64, c_void_p]),
    "xla_handler": (c_void_p, []),
    "xla_add_call": (c_int, [c_void_p, c_void_p, c_size_t, POINTER(c_int64)]),
}


def _find() -> str:
    named = os.environ.get(_VARIABLE)
    beside = _FOLDER / _NAME
    if named:
        if os.path.isfile(named):
            return named
        searched = f"${_VARIABLE}: no file '{named}'"
    elif beside.is_file():
        return str(beside)
    else:
        searched = f"${_VARIABLE}: not set\n  the package: no file '{beside}'"
    raise ImportError(f"expected the library {_NAME}, but found none; install the package, or "
                      f"name the library of a build by ${_VARIABLE}; searched:\n  {searched}")


def _load(path: str) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"cannot load the library of BlockScale: {error}") from error
    for name, (result, arguments) in _FUNCTIONS.items():
        try:
            function = getattr(library, f"blockscale_{name}")
        except AttributeError:
            raise ImportError(f"expected '{path}' to be a library of this version of the "
                              f"package, but it has no function blockscale_{name}") from None
        function.restype = result
        function.argtypes = arguments
    return library


LIBRARY = _load(_find())


def get_error(status: int) -> str:
    """The message of a failure that was just returned: this thread must not have called the
    library since."""
    return LIBRARY.blockscale_last_error().decode(errors="replace") if status else ""
