# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A case is one .npz: `in_*` inputs, `out_*` expected arrays, `meta` JSON.

Arrays hold raw bits: bf16 as uint16, f32 as uint32, f8 and e8m0 as uint8, e2m1
packed two to a byte with the even element in the low nibble.
"""

import fnmatch
import json
import os
import zipfile
from dataclasses import dataclass

import numpy as np


@dataclass
class Case:
    """One case; `inputs` and `expected` drop the `in_` and `out_` prefixes."""

    name: str
    meta: dict
    inputs: dict
    expected: dict

    @property
    def operation(self):
        return self.meta.get("op", "")


def load_case(path):
    """ValueError where the file is no case."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
    except (OSError, EOFError, TypeError, zipfile.BadZipFile) as error:
        raise ValueError(f"no archive of arrays: {error}") from None
    if "meta" not in arrays:
        raise ValueError("expected an array 'meta'")

    def strip(prefix):
        return {k[len(prefix) :]: a for k, a in arrays.items() if k.startswith(prefix)}

    name = os.path.splitext(os.path.basename(path))[0]
    meta = json.loads(str(arrays["meta"]))
    return Case(name, meta, strip("in_"), strip("out_"))


def case_names(folder):
    """The cases of a folder, sorted."""
    return sorted(f[:-4] for f in os.listdir(folder) if f.endswith(".npz"))


def selected(glob, case, array=None):
    """Whether --only names this case, or `case.array` where it has a dot."""
    if "." not in glob:
        return fnmatch.fnmatchcase(case, glob)
    if array is not None:
        return fnmatch.fnmatchcase(f"{case}.{array}", glob)
    return fnmatch.fnmatchcase(case, glob.split(".", 1)[0])


def floats(bits):
    """f32 values of f32 or bf16 bits."""
    if bits.dtype == np.uint16:
        return (bits.astype(np.uint32) << 16).view(np.float32)
    if bits.dtype == np.uint32:
        return bits.view(np.float32)
    return bits.astype(np.float32)


def unpack_e2m1(packed):
    """Codes of packed bytes, [.., B] to [.., 2 B]."""
    codes = np.stack([packed & 15, packed >> 4], axis=-1)
    return codes.reshape(*packed.shape[:-1], 2 * packed.shape[-1])


def swizzled(matrix, fill=0):
    """The 128x4-tile form of [.., R, C], as [.., bytes]."""
    *batch, rows, cols = matrix.shape
    tiles = (-(-rows // 128), -(-cols // 4))
    padded = np.full((*batch, tiles[0] * 128, tiles[1] * 4), fill, matrix.dtype)
    padded[..., :rows, :cols] = matrix
    split = padded.reshape(*batch, tiles[0], 4, 32, tiles[1], 4)
    return np.moveaxis(split, -2, -4).swapaxes(-3, -2).reshape(*batch, -1)
