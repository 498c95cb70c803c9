# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that are compiled once and called through Python and through C, with arrays that may
not be what they should be. The library is that of $BLOCKSCALE_LIBRARY. Through C, an array goes as
it is in memory, with its strides.
"""

import ctypes

import numpy as np

import blockscale
from blockscale._native import _structures
from blockscale._native._library import LIBRARY, get_error
from blockscale_runtime import DTYPES

REFUSALS = (blockscale.ArgumentError, blockscale.CompileError)
#: Of results, so that bytes which nobody writes show.
FILL = 0xA5


class Function:
    def __init__(self, compiled):
        self._compiled = compiled

    def call(self, door, arrays, accept_nan_scales=False):
        """The results, or the text of the refusal. An array that is None is left out."""
        arrays = [array for array in arrays if array is not None]
        try:
            if door == "c":
                return self._call_c(arrays, accept_nan_scales)
            results = self._compiled(*arrays, accept_nan_scales=accept_nan_scales)
        except REFUSALS as error:
            return str(error)
        except MemoryError:
            return "expected memory for the results, but got none"
        results = results if isinstance(results, tuple) else (results,)
        return [storage_form(np.asarray(result)) for result in results]

    def _call_c(self, arrays, accept_nan_scales):
        executable = self._compiled._caller.executable
        handle = executable._handle
        kept = []
        given = [describe(np.asarray(array), kept) for array in arrays]
        row = (_structures.Array * max(len(given), 1))(*given)
        results = []
        for number, (_, dtype, shape, _) in enumerate(executable.slots(1)):
            sizes = (ctypes.c_int64 * max(len(shape), 1))()
            status = LIBRARY.blockscale_executable_result_shape(
                handle, ctypes.addressof(row), len(given), number, sizes, len(shape))
            if status:
                return get_error(status)
            result = np.empty(tuple(sizes[:len(shape)]), DTYPES[dtype])
            result.reshape(-1).view(np.uint8)[...] = FILL
            results.append(result)
        made = (_structures.Array * max(len(results), 1))(
            *(describe(result, kept) for result in results))
        config = _structures.CallConfig(accept_nan_scales=accept_nan_scales)
        status = LIBRARY.blockscale_executable_call(
            handle, ctypes.addressof(row), len(given), ctypes.addressof(made), len(results),
            ctypes.addressof(config))
        return get_error(status) if status else results


def describe(array, kept):
    """The description of an array in C, whose memory is in `kept`."""
    shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
    strides = (ctypes.c_int64 * max(array.ndim, 1))(
        *(stride // array.itemsize for stride in array.strides))
    kept += [array, shape, strides]
    return _structures.Array(array.ctypes.data, DTYPES.index(array.dtype.name), array.ndim,
                             ctypes.addressof(shape), ctypes.addressof(strides))


def storage_form(array):
    """An array with the dtype that C has for its bytes."""
    if array.dtype.name in DTYPES:
        return array
    return array.view({1: np.uint8, 2: np.uint16}[array.itemsize])


def compile(text, target):
    """A Function."""
    return Function(blockscale.compile(text, target=target))
