# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Block-scaled tensors (NVFP4, MXFP8 and their kin): trace, compile, run.

    import blockscale as bs

    @bs.jit
    def quantize(x):                       # runs on NumPy and PyTorch arrays
        return bs.quantize(x, layout="swizzle_128x4")

    module = quantize.trace(bs.Spec((None, 4096), "bf16"))
    print(module)                          # MLIR
    compiled = bs.compile(module, target="sm_100a")
    print(compiled.ptx, compiled.remarks)
    data, scales = compiled(x)             # in the emulator; on="cuda" on a GPU

docs/Embedding.md of the project says more.
"""

from blockscale._ahead import Loaded, compile_ahead, load
from blockscale._calibrate import calibrate
from blockscale._compile import Compiled, Remark, compile, set_cache_owners, set_num_threads
from blockscale._errors import (
    ArgumentError,
    Cancelled,
    CompileError,
    DeviceError,
    Diagnostic,
    Error,
    FileError,
)
from blockscale._jit import Traced, jit
from blockscale._native import version as __version__
from blockscale._ops import (
    amax,
    amax_over_ranks,
    dequantize,
    expand_scale,
    global_scale,
    hadamard,
    pad_groups,
    prepack,
    quantize,
    scale_sweep,
    scaled_grouped_mm,
    scaled_mm,
    swizzle,
)
from blockscale._over_ranks import Reduction, one_rank
from blockscale._trace import Module, Value
from blockscale._training import TrainingForm, TrainingOperand, get_training_form
from blockscale._types import DataLayout, Layout, Spec

__all__ = [
    "ArgumentError", "Cancelled", "CompileError", "Compiled", "DataLayout", "DeviceError",
    "Diagnostic", "Error", "FileError", "Layout", "Loaded", "Module", "Reduction", "Remark",
    "Spec", "Traced", "TrainingForm", "TrainingOperand", "Value", "__version__", "amax",
    "amax_over_ranks", "calibrate", "compile", "compile_ahead", "dequantize", "expand_scale",
    "get_training_form", "global_scale", "hadamard", "jit", "load", "one_rank", "pad_groups",
    "prepack", "quantize", "scale_sweep", "scaled_grouped_mm", "scaled_mm", "set_cache_owners",
    "set_num_threads", "swizzle",
]
