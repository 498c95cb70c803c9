# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a quantizer gave for a tensor: the form of files, and its blocks."""

import zipfile
from dataclasses import dataclass

import numpy as np

from blockscale_reference import from_bf16, unpack, unswizzle
from blockscale_reference.blocks import cut

from .forms import KitError

LAYOUTS = ("linear", "transposed", "swizzle_128x4", "swizzle_8x4")
_NAMES = ("input", "data", "scales", "global_scale", "global_amax", "block", "layout")
_ROW_TILES = {"swizzle_128x4": 128, "swizzle_8x4": 8}


@dataclass(frozen=True)
class Given:
    """The arrays of a quantizer's call."""

    x: np.ndarray  # f32 [M, K]
    x_type: str
    codes: np.ndarray  # uint8 [M, K]
    is_packed: bool  # two codes were in a byte
    scales: np.ndarray  # uint8, in any shape
    global_scale: np.ndarray | None
    global_amax: np.ndarray | None
    block: tuple[int, int]
    layout: str


def values_of(name, array):
    """f32 values and their type; arrays of uint16 are the bits of bf16."""
    array = np.asarray(array)
    types = {"float32": "f32", "float16": "f16", "uint16": "bf16"}
    if array.dtype.name not in types:
        raise KitError(f"expected {name} to be float32, float16 or uint16 (bits of bf16), "
                       f"but got {array.dtype.name}")
    values = from_bf16(array) if array.dtype == np.uint16 else array.astype(np.float32)
    return values, types[array.dtype.name]


def load(path, names=None, needed=()):
    """The arrays of a file .npz, which has some of `names` and all that are needed."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    # An array .npy is no archive: a TypeError.
    except (OSError, ValueError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise KitError(f"expected {path} to be a file .npz, but got: {error}") from error
    for name in arrays:
        if names and name not in names:
            raise KitError(f"expected arrays among {', '.join(names)}, but got {name!r}")
    for name in needed:
        if name not in arrays:
            raise KitError(f"expected an array {name!r}, but got {', '.join(arrays) or 'none'}")
    return arrays


def read(path, form):
    """What a file .npz says of a quantizer's call."""
    arrays = load(path, _NAMES, _NAMES[:3])
    layout = str(arrays.pop("layout", "linear"))
    block = arrays.pop("block", np.array((1, form.block)))
    if block.dtype.kind not in "iu":
        raise KitError(f"expected block to be two integers, but got {block.dtype.name}")
    block = tuple(block.ravel().tolist())
    x = arrays.pop("input")
    return take(form, x, arrays.pop("data"), arrays.pop("scales"), block=block, layout=layout,
                **arrays)


def take(form, x, data, scales, global_scale=None, global_amax=None, block=None,
         layout="linear", x_type=None):
    """The arrays of a call, checked. `x_type` says to what type f32 values were rounded."""
    x, own_type = values_of("input", x)
    if x.ndim != 2:
        raise KitError(f"expected input to have 2 dimensions, but got {x.ndim}")
    block = (1, form.block) if block is None else tuple(block)
    allowed = ((1, form.block), (form.block, 1), (form.block, form.block))
    if block not in allowed:
        raise KitError(f"expected block to be one of {allowed}, but got {block}")
    if layout not in LAYOUTS:
        raise KitError(f"expected layout to be one of {', '.join(LAYOUTS)}, but got {layout!r}")
    for name, size, step in zip("MK", x.shape, block):
        if size % step and not form.takes_tails:
            raise KitError(f"expected {name} to be a multiple of {step}, but got {size}")
    codes, is_packed = _codes(form, x, data)
    scales = _bytes("scales", scales)
    values = {name: None if value is None else scalar(name, value)
              for name, value in (("global_scale", global_scale), ("global_amax", global_amax))}
    if not form.is_nvfp4 and any(value is not None for value in values.values()):
        raise KitError(f"expected no global scale with {form}, but got one")
    return Given(x, x_type or own_type, codes, is_packed, scales, block=block, layout=layout,
                 **values)


def _bytes(name, array):
    array = np.asarray(array)
    if array.dtype.itemsize != 1 or array.dtype.kind not in "iu":
        raise KitError(f"expected {name} to be uint8, but got {array.dtype.name}")
    return array.view(np.uint8)


def scalar(name, value):
    """One f32 number."""
    value = np.asarray(value)
    if value.dtype.kind not in "fiu":
        raise KitError(f"expected {name} to be a number, but got {value.dtype.name}")
    value = value.astype(np.float32)
    if value.size != 1:
        raise KitError(f"expected {name} to be one number, but got {value.size}")
    return value.reshape(())


def _codes(form, x, data):
    """One code a byte, and whether two were in one."""
    data = _bytes("data", data)
    rows, cols = x.shape
    if data.shape == x.shape:
        return data, False
    if form.element_name == "e2m1" and data.shape == (rows, -(-cols // 2)):
        return unpack(data)[:, :cols], True
    packed = f" or {(rows, -(-cols // 2))}" if form.element_name == "e2m1" else ""
    raise KitError(f"expected data of shape {x.shape}{packed}, but got {data.shape}")


def swap_nibbles(codes):
    """Codes as they are where the even element is in the high nibble of a byte."""
    return codes[:, np.arange(codes.shape[1]) ^ 1] if codes.shape[1] % 2 == 0 else codes


def scales_in(layout, scales, rows, cols):
    """The matrix [rows, cols] of scales in a layout, and whether all padding is zero; None
    where the size is not that of the layout."""
    flat = scales.reshape(-1)
    if layout in ("linear", "transposed"):
        if flat.size != rows * cols:
            return None
        matrix = flat.reshape(rows, cols) if layout == "linear" else flat.reshape(cols, rows).T
        return matrix, True
    row_tile = _ROW_TILES[layout]
    tiles = (-(-rows // row_tile), -(-cols // 4))
    if flat.size != tiles[0] * tiles[1] * row_tile * 4:
        return None
    inner = (32, 4, 4) if layout == "swizzle_128x4" else (8, 4)
    padded = unswizzle(flat.reshape(*tiles, *inner), tiles[0] * row_tile, tiles[1] * 4, layout)
    padding = padded.copy()
    padding[:rows, :cols] = 0
    return padded[:rows, :cols], not padding.any()


def blocks_of(array, block):
    """[N, bm, bk] of [M, K], with zeros behind the ends."""
    return cut(array, block, takes_tails=True).reshape(-1, *block)
