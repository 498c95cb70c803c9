# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How checkpoints name the parts of a quantized weight."""

from __future__ import annotations

import dataclasses

#: What is behind the name of a layer, with its dot, or of a stack, without.
LAYER, STACK = ".", "_"


@dataclasses.dataclass(frozen=True)
class Scheme:
    """A form of checkpoints.

    Attributes:
      name: for messages.
      format: of the weight.
      recipe: by which its activations are quantized.
      data, scales: ends of names, with the dtypes that safetensors has for them.
      global_scale, input_scale: ends of the names of scalars in F32, "" where there are none. A
        weight without input scale has plain activations.
      is_reciprocal: whether the scalars are encode scales, by which numbers are multiplied before
        they are quantized.
      is_stack: whether the names are those of stacks of experts.
    """

    name: str
    format: str
    recipe: str
    data: tuple[str, str]
    scales: tuple[str, str]
    global_scale: str = ""
    input_scale: str = ""
    is_reciprocal: bool = False
    is_stack: bool = False


SCHEMES = (
    Scheme("ModelOpt NVFP4", "nvfp4", "modelopt", ("weight", "U8"), ("weight_scale", "F8_E4M3"),
           "weight_scale_2", "input_scale"),
    Scheme("compressed-tensors nvfp4-pack-quantized", "nvfp4", "compressed_tensors",
           ("weight_packed", "U8"), ("weight_scale", "F8_E4M3"), "weight_global_scale",
           "input_global_scale", is_reciprocal=True),
    Scheme("compressed-tensors mxfp4-pack-quantized", "mxfp4", "compressed_tensors",
           ("weight_packed", "U8"), ("weight_scale", "U8")),
    # ModelOpt's MXFP8 has the same tensors, and the same recipe of weights.
    Scheme("MXFP8", "mxfp8", "rceil", ("weight", "F8_E4M3"), ("weight_scale", "U8")),
    Scheme("gpt-oss MXFP4", "mxfp4", "even", ("blocks", "U8"), ("scales", "U8"), is_stack=True),
)
#: Names of one expert's layers, by the stack that they are in, one row group after the other.
EXPERTS = {
    "gate_up_proj": (("gate_proj", "up_proj"), ("w1", "w3")),
    "up_proj": (("up_proj",),),
    "down_proj": (("down_proj",), ("w2",)),
}
#: Ends of names of tensors that are for other parts of a runtime than layers.
IGNORED = (".k_scale", ".v_scale", ".k_proj.output_scale", ".v_proj.output_scale")
