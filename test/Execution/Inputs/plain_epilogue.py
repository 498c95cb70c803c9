# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What follows products of two plain operands joins their kernel on every family that multiplies
them, and gives the bytes of the CPU, as it does on SM100 (sm100_epilogue.py)."""

from dataclasses import replace

from gpu_producers import GELU_TANH, SWIGLU
from sm100_epilogue import ENDS, JOIN, ODD_COLS, RELU, SHIFT, WIDE_VALUES, Epilogue, main

CHIPS = ("sm_80", "sm_90a", "sm_100a")
TILE = "rows = 128, cols = 128, stages = 3, band = 1, ctas = 2"
CASES = (
    Epilogue("quantize", quantize="nvfp4", layout="swizzled", global_value="rank_0"),
    Epilogue("residual", body=JOIN, inputs=("full", "columns", "rows"), schedule=TILE,
             shape=(300, 320, 112)),
    Epilogue("gelu", body=GELU_TANH, shape=(130, 288, 64), value="f32", bias=True),
    Epilogue("batch", quantize="mxfp4", recipe="floor", layout="swizzled", batch=(2,),
             shape=(33, 64, 64), body=SHIFT),
    Epilogue("swiglu", products=2, body=SWIGLU, quantize="nvfp4", recipe="te", layout="linear",
             shape=(150, 288, 544), schedule=TILE),
    Epilogue("swiglu_narrow", products=2, body=SWIGLU, shape=(40, 160, 272)),
    Epilogue("moe", products=2, body=SWIGLU, quantize="nvfp4", layout="grouped", offsets=True,
             global_value="each", groups="rows", ends=ENDS, shape=(200, 160, 64)),
    Epilogue("no_groups", body=SHIFT, quantize="mxfp8", recipe="rceil", layout="grouped",
             offsets=True, groups="rows", ends=(0, 0, 0), shape=(20, 64, 64)),
    Epilogue("depth", body=RELU, groups="columns", ends=(16, 16, 80), value="f32",
             shape=(140, 64, 96)),
    Epilogue("swiglu_mn_major", products=2, body=SWIGLU, quantize="nvfp4", recipe="te",
             layout="linear", shape=(150, 288, 544), schedule=TILE, mn_major="b"),
    Epilogue("depth_mn_major", body=RELU, groups="columns", ends=(16, 16, 80), value="f32",
             shape=(144, 64, 96), mn_major="ab"),
    *ODD_COLS,
    *WIDE_VALUES,
)

if __name__ == "__main__":
    main(tuple(replace(case, name=f"{case.name}_{chip}", chip=chip, plain="ab")
               for chip in CHIPS for case in CASES))
