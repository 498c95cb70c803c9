# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The files of vectors: what each form, layout and product gives for inputs that tell rules apart.

    nvfp4.npz, mx_ELEMENT.npz   INPUT_input in bf16, and of each recipe RECIPE_INPUT_data and
                                RECIPE_INPUT_scales; of NVFP4 INPUT_global_amax and
                                RECIPE_INPUT_global_scale, too. The input `ordinary` stands in
                                blocks of columns and squares besides, RECIPE_ordinary_32x1_data
    layouts.npz                 matrices of scales and of codes, and their layouts
    products/NAME.npz           a, b, their scales, and y
"""

from pathlib import Path

import numpy as np

from blockscale_reference import (
    global_scale,
    pack,
    prepack,
    quantize_mx,
    quantize_nvfp4,
    swizzle,
    swizzle_groups,
    to_bf16,
)

from . import forms, inputs, products

# Rows and columns of matrices of scales: whole tiles, parts of one, and several.
_SHAPES = ((1, 1), (128, 4), (130, 5), (8, 4), (33, 9), (256, 12))


def quantizers():
    """The arrays of all forms, by the names of files."""
    made = {}
    for of in forms.forms():
        file = made.setdefault("nvfp4" if of.is_nvfp4 else f"mx_{of.element_name}", {})
        for name, x in inputs.tensors(of, "bf16").items():
            name = name.replace(" ", "_")
            file[f"{name}_input"] = to_bf16(x)
            if of.is_nvfp4:
                amax = np.abs(x).max()
                file[f"{name}_global_amax"] = amax
                file[f"{of.name}_{name}_global_scale"] = global_scale(amax, of.recipe, "bf16")
            file |= _quantized(of, x, f"{of.name}_{name}")
            if name == "ordinary":
                for block in ((of.block, 1), (of.block, of.block)):
                    shape = "x".join(map(str, block))
                    file |= _quantized(of, x, f"{of.name}_{name}_{shape}", block)
    return made


def _quantized(of, x, name, block=None):
    """Data and scales of x by a form, in blocks of rows or others."""
    block = block or (1, of.block)
    if of.is_nvfp4:
        codes, scales = quantize_nvfp4(x, of.recipe, global_amax=np.abs(x).max(), block=block,
                                       x_type="bf16")
    else:
        codes, scales = quantize_mx(x, of.element, of.recipe, block)
    data = pack(codes) if of.element_name == "e2m1" else codes
    return {f"{name}_data": data, f"{name}_scales": scales}


def layouts():
    """Matrices of scales with their tiles, groups of rows and of columns; codes, one a byte, with
    the fragments of registers."""
    random = np.random.default_rng(12)
    arrays = {}
    for rows, cols in _SHAPES:
        scales = random.integers(1, 127, (rows, cols)).astype(np.uint8)
        name = f"{rows}x{cols}"
        arrays[f"{name}_linear"] = scales
        for layout in ("swizzle_128x4", "swizzle_8x4"):
            arrays[f"{name}_{layout}"] = swizzle(scales, layout=layout)
    for dim, ends in ((0, (10, 10, 140, 200)), (1, (3, 8, 8, 12))):
        scales = random.integers(1, 127, (200, 12)).astype(np.uint8)
        arrays |= {f"groups_of_dim{dim}_linear": scales,
                   f"groups_of_dim{dim}_ends": np.array(ends, np.int32),
                   f"groups_of_dim{dim}_swizzle_128x4": swizzle_groups(scales, ends, dim)}
    for bits in (4, 8):
        codes = random.integers(0, 2**bits, (70, 130)).astype(np.uint8)
        arrays |= {f"codes_of_{bits}_bits_linear": codes,
                   f"codes_of_{bits}_bits_fragments_64x64": prepack(codes, bits)}
    return arrays


def files():
    """The arrays of every file, by its name."""
    made = {**quantizers(), "layouts": layouts()}
    return made | {f"products/{name}": arrays for name, arrays in products.all_vectors().items()}


def write(folder):
    """Writes all files; returns how many."""
    made = files()
    for name, arrays in made.items():
        path = Path(folder) / f"{name}.npz"
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, **arrays)
    return len(made)


def header(name, arrays):
    """Arrays as a header of C: bytes, and numbers as their bits."""
    lines = [f"// {name}: blockscale-vectors.", "#pragma once", "#include <stdint.h>", ""]
    for key, array in arrays.items():
        array = np.ascontiguousarray(array)
        size = array.dtype.itemsize
        words = array.view(f"u{size}").reshape(-1).tolist()
        shape = ", ".join(map(str, array.shape)) or "1"
        lines.append(f"// [{shape}], {array.dtype.name}")
        lines.append(f"static const uint{8 * size}_t {_identifier(key)}[{len(words)}] = {{")
        step = {1: 16, 2: 12, 4: 8}[size]
        lines += ["    " + ", ".join(f"0x{word:0{2 * size}X}" for word in words[i:i + step]) + ","
                  for i in range(0, len(words), step)]
        lines.append("};")
    return "\n".join(lines) + "\n"


def _identifier(key):
    return "".join(c if c.isalnum() else "_" for c in key)
