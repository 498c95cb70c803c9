# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What follows products joins their kernel for sm_120a, and gives the bytes of the CPU, as it does
on SM100 (sm100_epilogue.py)."""

from dataclasses import replace

from gpu_producers import GELU_TANH, SWIGLU
from sm100_epilogue import ENDS, JOIN, ODD_COLS, RELU, SHIFT, WIDE_VALUES, Epilogue, main

FEW = "rows = 128, cols = 128, stages = 2, band = 1, ctas = 2"
CASES = (
    Epilogue("quantize", quantize="nvfp4", layout="swizzled", global_value="rank_0",
             shape=(150, 288, 96)),
    Epilogue("gelu", body=GELU_TANH, shape=(130, 288, 64), value="f32", bias=True),
    Epilogue("residual", "mxfp4", body=JOIN, inputs=("full", "columns", "rows"), schedule=FEW,
             shape=(300, 320, 64)),
    Epilogue("halves", "mxfp8", body=JOIN, inputs=("full", "columns", "rows"), value="f16",
             quantize="mxfp8", recipe="rceil", layout="swizzled", shape=(70, 96, 96)),
    Epilogue("batch", "mxfp8", quantize="mxfp4", recipe="floor", layout="swizzled", batch=(2,),
             shape=(33, 64, 64), body=SHIFT),
    Epilogue("swiglu", products=2, body=SWIGLU, quantize="nvfp4", recipe="te", layout="linear",
             shape=(150, 288, 544), schedule=FEW),
    Epilogue("swiglu_mxfp8", "mxfp8", products=2, body=SWIGLU, quantize="mxfp8", recipe="rceil",
             layout="swizzled", shape=(40, 160, 288)),
    Epilogue("moe", products=2, body=SWIGLU, quantize="nvfp4", layout="grouped", offsets=True,
             global_value="each", groups="rows", ends=ENDS, shape=(200, 160, 64)),
    Epilogue("moe_mxfp8", "mxfp8", products=2, body=SWIGLU, quantize="mxfp8", recipe="rceil",
             layout="grouped", offsets=True, groups="rows", ends=ENDS, shape=(200, 96, 96),
             schedule=FEW, bias=True),
    Epilogue("no_groups", "mxfp8", body=SHIFT, quantize="mxfp8", recipe="rceil", layout="grouped",
             offsets=True, groups="rows", ends=(0, 0, 0), shape=(20, 64, 64)),
    Epilogue("depth_values", "mxfp4", body=RELU, groups="columns", ends=(32, 96), value="f32",
             shape=(140, 64, 96)),
    *ODD_COLS,
    *WIDE_VALUES,
)

if __name__ == "__main__":
    main(tuple(replace(case, chip="sm_120a") for case in CASES))
