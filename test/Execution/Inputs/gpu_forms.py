# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of ops on random arrays, for gpu_*.py. Of a shape, `dims` are dynamic."""

import numpy as np

import values
from ops import SCALE_ELEMENTS, dynamic, tensor
from prepacked import PREPACKED, noise, prepacked_storage, stored
from reference import group_bounds, pack, swizzle, swizzle_groups

DTYPES = {"bf16": np.uint16, "f32": np.float32}
BITS = {"f4E2M1FN": 4, "f6E2M3FN": 6, "f6E3M2FN": 6, "f8E4M3FN": 8, "f8E5M2": 8}


class Forms:
    """What adds calls to `calls`."""

    def __init__(self, calls, random):
        self.calls, self.random = calls, random

    def amax(self, shape, element, leading, dims):
        """Over all dimensions but the `leading` ones."""
        kinds = values.TAME if self.random.integers(2) else (*values.TAME, *values.WILD)
        x = values.floats(self.random, shape, DTYPES[element], kinds)
        shape = dynamic(shape, dims)
        type, result = tensor(shape, element), tensor(shape[:leading], "f32")
        self.calls.add(f"amax {{0}} : {type} -> {result}", [type], [result], x)

    def group_amax(self, shape, element, dim, dims, ends):
        """Where there are dynamic dimensions, the number of groups is, too."""
        x = values.floats(self.random, shape, DTYPES[element], values.TAME)
        groups = dynamic((len(ends),), (0,) if dims else ())
        type, offsets = tensor(dynamic(shape, dims), element), tensor(groups, "i32")
        result = tensor(groups, "f32")
        self.calls.add(
            f"amax {{0}} offsets({{1}} : {offsets}) group_dim {dim} : {type} -> {result}",
            [type, offsets], [result], x, np.array(ends, np.int32))

    def _scales(self, shape, last=256):
        """No zero, so that what belongs to padding shows."""
        return self.random.integers(1, last, shape, dtype=np.uint8)

    def swizzle(self, shape, dims, layout="swizzle_128x4"):
        """There and back."""
        type = dynamic(shape, dims)
        linear = tensor(type, "f8E4M3FN")
        tiled = tensor(type, "f8E4M3FN", f"#blockscale.layout<{layout}>")
        scales = self._scales(shape, 128)
        self.calls.add(f"swizzle {{0}} : {linear} -> {tiled}", [linear], [tiled], scales)
        self.calls.add(f"swizzle {{0}}{_sizes(1, dims)} : {tiled} -> {linear}",
                       [tiled] + ["index"] * len(dims), [linear],
                       swizzle(scales, fill=0x77, layout=layout),
                       *(np.int64(shape[dim]) for dim in dims))

    def prepack(self, shape, element, dims=()):
        """There and back."""
        type = dynamic(shape, dims)
        row_major, blocks = tensor(type, element), tensor(type, element, PREPACKED)
        codes = noise(self.random, shape, element)
        self.calls.add(f"prepack {{0}} : {row_major} -> {blocks}", [row_major], [blocks],
                       stored(codes, element))
        self.calls.add(f"prepack {{0}}{_sizes(1, dims)} : {blocks} -> {row_major}",
                       [blocks] + ["index"] * len(dims), [row_major],
                       prepacked_storage(codes, element),
                       *(np.int64(shape[dim]) for dim in dims))

    def group_swizzle(self, shape, dim, block, given, dims=()):
        """There and back."""
        ends = [end // block for _, end in group_bounds(given, shape[dim] * block, block)]
        type = dynamic(shape, dims)
        linear = tensor(type, "f8E8M0FNU")
        layout = f"#blockscale.layout<swizzle_128x4, groups = {len(given)}, dim = {dim}>"
        tiled, offsets = tensor(type, "f8E8M0FNU", layout), tensor((len(given),), "i32")
        operand = f"offsets({{1}} : {offsets})"
        block = f" block {block}" if block > 1 else ""
        scales, given = self._scales(shape), np.array(given, np.int32)
        self.calls.add(f"swizzle {{0}} {operand}{block} : {linear} -> {tiled}",
                       [linear, offsets], [tiled], scales, given)
        self.calls.add(f"swizzle {{0}} {operand}{_sizes(2, dims)}{block} : {tiled} -> {linear}",
                       [tiled, offsets] + ["index"] * len(dims), [linear],
                       swizzle_groups(scales, ends, dim, fill=0x77), given,
                       *(np.int64(shape[dim]) for dim in dims))

    def expand_scale(self, lead, size, across, block, scale_dim, layout=None, is_dynamic=False):
        """The scales of `size` rows (k) or columns (n) in blocks, `across` the other way."""
        blocks = -(-size // block)
        compact = (blocks, across) if scale_dim == "k" else (across, blocks)
        dims = (0, 1) if is_dynamic else ()
        element = SCALE_ELEMENTS[block]
        source = tensor((*lead, *dynamic(compact, dims)), element)
        result = tensor((*lead, *dynamic((size, across), dims)), element, layout)
        sizes = " sizes({1})" if is_dynamic else ""
        self.calls.add(f"expand_scale {{0}} block [{block}, {block}] scale_dim {scale_dim}{sizes}"
                       f" : {source} -> {result}", [source] + ["index"] * is_dynamic, [result],
                       self._scales((*lead, *compact)), *[np.int64(size)] * is_dynamic)

    def dequantize(self, shape, recipe=None, data="f4E2M1FN", element="f32", block=None,
                   layout=None, dims=(), operand=None, of=None):
        """Without a recipe the format is MX. The `operand`, a global scale or amax, is
        a "scalar", a "tensor" of one value, or has a value for each "batch" element
        or "row"."""
        block = block or (1, 16 if recipe else 32)
        type = dynamic(shape, dims)
        types = [tensor(type, data),
                 tensor(_scale_shape(type, block), SCALE_ELEMENTS[max(block)], layout)]
        signature = ", ".join(types)
        text = f" recipe {recipe}" if recipe else ""
        codes = self.random.integers(0, 1 << BITS[data], shape, dtype=np.uint8)
        scale = self.random.integers(0, 128 if recipe else 256, _scale_shape(shape, block),
                                     dtype=np.uint8)
        arrays = [pack(codes) if BITS[data] == 4 else codes, swizzle(scale) if layout else scale]
        if operand:
            lead = {"scalar": 0, "tensor": 0, "batch": len(shape) - 2, "row": len(shape) - 1}[of]
            types.append("f32" if of == "scalar" else tensor(type[:lead], "f32"))
            text += f" {operand}({{2}} : {types[2]})"
            arrays.append(np.exp2(self.random.uniform(-8, 8, shape[:lead])).astype(np.float32))
        result = tensor(type, element)
        self.calls.add(f"dequantize {{0}}, {{1}} block [{block[0]}, {block[1]}]{text} : "
                       f"{signature} -> {result}", types, [result], *arrays)

    def hadamard(self, shape, dim, dims, mask=None, x=None):
        x = values.floats(self.random, shape, np.uint16) if x is None else x
        type = tensor(dynamic(shape, dims), "bf16")
        text = "" if mask is None else f" sign_mask {mask}"
        self.calls.add(f"hadamard {{0}} dim {dim}{text} : {type}", [type], [type], x)

    def weights(self, shape, scale):
        """Blocks of all sizes up to `scale`, a quarter of it on average."""
        blocks = (*shape[:-1], shape[-1] // values.BLOCK, values.BLOCK)
        sizes = np.exp2(-self.random.exponential(2, blocks[:-1]))[..., None]
        x = np.clip(self.random.standard_normal(blocks) / 3, -1, 1) * sizes * scale
        return x.reshape(shape)

    def scale_sweep(self, x, global_amax, element, dims=(), hessian=None):
        if element == "bf16":
            x = values.to_bf16(x.astype(np.float32))
        shape = dynamic(x.shape, dims)
        result = (*shape[:-1], "?" if shape[-1] == "?" else shape[-1] // 16)
        types = [tensor(shape, element), "f32"]
        if np.ndim(global_amax) or not dims:
            types[1] = tensor(shape[:np.ndim(global_amax)], "f32")
        text = ""
        arrays = [x.astype(DTYPES[element]), np.asarray(global_amax, np.float32)]
        if hessian is not None:
            types.append(tensor((result[-1], 16, 16), "f32"))
            text = f" hessian({{2}} : {types[2]})"
            arrays.append(hessian.astype(np.float32))
        self.calls.add(f"scale_sweep {{0}} global_amax({{1}} : {types[1]}){text} : {types[0]} -> "
                       f"{tensor(result, 'f32')}", types, [tensor(result, "f32")], *arrays)


def _sizes(first, dims):
    """The size operands of a linear result, from operand `first` on."""
    names = ", ".join(f"{{{first + i}}}" for i in range(len(dims)))
    return f" sizes({names})" if dims else ""


def _scale_shape(shape, block):
    """Sizes in blocks; '?' stays."""
    matrix = [size if size == "?" else -(-size // step) for size, step in zip(shape[-2:], block)]
    return (*shape[:-2], *matrix)
