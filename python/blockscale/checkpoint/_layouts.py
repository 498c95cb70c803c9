# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a layout of weights is: which tensors a weight has, and what is in them. docs/Checkpoints.md
explains those that are known field by field."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from blockscale._ops import FORMATS

#: The roles of tensors of a weight.
DATA, SCALES, GLOBAL, INPUT = ROLES = ("data", "scales", "global_scale", "input_scale")
#: Rows and columns of a block of FP8 sources.
FP8_BLOCK = 128
#: E4M3 with scales that are numbers: one for a matrix, for each row, or for each 128 x 128.
FP8_TENSOR, FP8_CHANNEL, FP8_BLOCKS = FP8_FORMATS = ("fp8_tensor", "fp8_channel", "fp8_blocks")
#: The recipe of ggml's own encoder, which is one of blocks of GGUF alone: no policy has it.
GGML = "ggml"
#: The dtypes of plain weights, by our names of them.
PLAIN_DTYPES = {"F32": "f32", "BF16": "bf16", "F16": "f16"}


@dataclasses.dataclass(frozen=True)
class Layout:
    """How a family of checkpoints stores the weights of a format.

    Attributes:
      name: for messages.
      family: that it is of.
      format: of the weight, a key of FORMATS; "" for plain numbers, one of FP8_FORMATS for E4M3
        with scales that are numbers.
      recipe: by which weights are quantized where a policy names none.
      activation_recipe: by which activations are quantized when the model runs.
      data, scales: what is behind the name of a layer or stack, with the dtypes that files have
        for them. Data that have their scales within them have no `scales`; those of some stacks
        have the name of the stack itself.
      scale_types: other types of scales that are read.
      is_written: whether results have it.
      global_scale, input_scale: the same of scalars in F32, "" where there are none. A weight
        without input scale has plain activations, or its configuration says that they are
        quantized.
      is_reciprocal: whether these scalars are encode scales, by which numbers are multiplied
        before they are quantized.
      scalar_shape: the shape of these scalars.
      is_stack: whether names are those of stacks of experts.
      is_interleaved: whether rows of gate and up alternate in these.
      has_block_dimension: whether blocks of a row are a dimension of their own.
      holds_scales: whether scales are among the codes.
      needs_input_scale: whether quantized activations have a static scale.
      shares_global: whether loaders make one layer of several, with one global scale.
      activations: "plain" or "quantized" where models compute with one kind alone.
      holds_swizzled: whether scales may be in the layout swizzle_128x4, as they are written.
    """

    name: str
    family: str
    format: str
    recipe: str = ""
    activation_recipe: str = ""
    data: tuple[str, str] = (".weight", "")
    scales: tuple[str, str] = ("", "")
    global_scale: str = ""
    input_scale: str = ""
    is_reciprocal: bool = False
    scalar_shape: tuple[int, ...] = ()
    is_stack: bool = False
    is_interleaved: bool = False
    has_block_dimension: bool = False
    holds_scales: bool = False
    needs_input_scale: bool = False
    shares_global: bool = False
    activations: str = ""
    holds_swizzled: bool = False
    scale_types: tuple[str, ...] = ()
    is_written: bool = True

    @property
    def is_plain(self) -> bool:
        return not self.format

    @property
    def is_fp8(self) -> bool:
        """Whether it is E4M3 with scales that are numbers."""
        return self.format in FP8_FORMATS

    @property
    def has_block_scales(self) -> bool:
        """Whether scales are bytes, one for each of some neighbours of a row."""
        return self.format in FORMATS

    @property
    def block(self) -> int:
        """Elements of a row that share a scale; of one scale for all, 128 are counted as one."""
        return FP8_BLOCK if self.is_fp8 else FORMATS[self.format][2]

    @property
    def is_fp4(self) -> bool:
        """Whether two codes are in a byte."""
        return self.format in ("nvfp4", "mxfp4")

    @property
    def is_packed(self) -> bool:
        """Whether the last size of data counts bytes of two codes."""
        return self.is_fp4 and not self.holds_scales and self.data[1] != "F4"

    @property
    def endings(self) -> dict[str, str]:
        """What is behind a name, by role."""
        found = {DATA: self.data[0], SCALES: self.scales[0], GLOBAL: self.global_scale,
                 INPUT: self.input_scale}
        return {role: ending for role, ending in found.items() if ending or role == DATA}

    def get_dtype(self, role: str) -> str:
        return {DATA: self.data[1], SCALES: self.scales[1]}.get(role, "F32")

    def accepts(self, role: str, dtype: str) -> bool:
        """Whether a tensor of a role may have a dtype."""
        return dtype == self.get_dtype(role) or (role == SCALES and dtype in self.scale_types)

    def get_shape(self, role: str, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of a tensor of a weight [.., N, K] that is written."""
        *batch, n, k = shape
        if role == DATA:
            if self.has_block_dimension:
                return (*batch, n, k // 32, 16)
            return (*batch, n, -(-k // 2)) if self.is_packed else tuple(shape)
        if role == SCALES and self.is_fp8:
            return (*batch, *get_fp8_scales(self.format, n, k))
        if role == SCALES:
            if self.holds_swizzled:  # Tiles, as a matrix of 32 rows and 16 columns each.
                return (*batch, -(-n // 128) * 32, -(-k // (4 * self.block)) * 16)
            return (*batch, n, -(-k // self.block))
        return tuple(batch) or self.scalar_shape

    def get_weight_shape(self, data: Sequence[int]) -> tuple[int, ...]:
        """The shape [.., N, K] of a weight whose data have that shape."""
        if self.has_block_dimension and len(data) > 3:
            data = (*data[:-2], data[-2] * data[-1])
        return (*data[:-1], data[-1] * 2) if self.is_packed else tuple(data)


def get_fp8_scales(format: str, n: int, k: int) -> tuple[int, int]:
    """Rows and columns of the scales of a matrix [N, K] in one of FP8_FORMATS."""
    if format == FP8_BLOCKS:
        return -(-n // FP8_BLOCK), -(-k // FP8_BLOCK)
    return (n if format == FP8_CHANNEL else 1), 1


def find_fp8_formats(data: Sequence[int], scales: Sequence[int]) -> tuple[str, ...]:
    """Those of FP8_FORMATS that scales of a shape may be of, for data of a shape [.., N, K]: sizes
    of 1 may be left out."""
    if len(data) < 2:
        return ()
    *batch, n, k = data
    found = [size for size in scales if size != 1]
    wanted = {format: [size for size in (*batch, *get_fp8_scales(format, n, k)) if size != 1]
              for format in FP8_FORMATS}
    if not found:  # One for all matrices of a stack.
        return tuple(format for format in FP8_FORMATS
                     if not wanted[format] or format == FP8_TENSOR)
    return tuple(format for format in FP8_FORMATS if wanted[format] == found)


#: Names of one expert's layers, by the stack that they are in, one row group after the other.
EXPERTS = {
    "gate_up_proj": (("gate_proj", "up_proj"), ("w1", "w3")),
    "up_proj": (("up_proj",),),
    "down_proj": (("down_proj",), ("w2",)),
}
#: Ends of names of tensors that are for other parts of a runtime than layers.
IGNORED = (".k_scale", ".v_scale", ".k_proj.output_scale", ".v_proj.output_scale")
