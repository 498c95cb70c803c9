# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What follows products of a scaled and a plain operand joins their kernel for chips that multiply
by plain mma.sync, and gives the bytes of the CPU, as it does on SM100 (sm100_epilogue.py)."""

from dataclasses import replace

from gpu_producers import GELU_TANH, SWIGLU
from sm100_epilogue import ENDS, JOIN, ODD_COLS, SHIFT, WIDE_VALUES, Epilogue, main

WIDE = "rows = 128, cols = 128, stages = 3, band = 1, ctas = 2"
NARROW = "rows = 16, cols = 64, stages = 3, band = 2, ctas = 4"
SCALED_A = "rows = 128, cols = 64, stages = 3, band = 1, ctas = 2"
PLAIN_A = (
    Epilogue("quantize", quantize="nvfp4", layout="swizzled", global_value="rank_0"),
    Epilogue("residual", "mxfp4", body=JOIN, inputs=("full", "columns", "rows"), schedule=WIDE,
             shape=(300, 320, 64)),
    Epilogue("halves", "mxfp8", body=JOIN, inputs=("full", "columns", "rows"), value="f16",
             quantize="mxfp8", recipe="rceil", layout="swizzled", shape=(70, 96, 96)),
    Epilogue("batch", "mxfp8", quantize="mxfp4", recipe="floor", layout="swizzled", batch=(2,),
             shape=(33, 64, 64), body=SHIFT),
    Epilogue("swiglu", products=2, body=SWIGLU, quantize="nvfp4", recipe="te", layout="linear",
             shape=(150, 288, 544), schedule=WIDE),
    Epilogue("swiglu_narrow", "mxfp8", products=2, body=SWIGLU, quantize="mxfp8", recipe="rceil",
             layout="swizzled", shape=(40, 160, 288), schedule=NARROW),
    Epilogue("moe", products=2, body=SWIGLU, quantize="nvfp4", layout="grouped", offsets=True,
             global_value="each", groups="rows", ends=ENDS, shape=(200, 160, 64)),
    Epilogue("no_groups", "mxfp8", body=SHIFT, quantize="mxfp8", recipe="rceil", layout="grouped",
             offsets=True, groups="rows", ends=(0, 0, 0), shape=(20, 64, 64)),
    *ODD_COLS,
    *WIDE_VALUES,
)
PLAIN_B = (
    Epilogue("gelu_scaled_a", body=GELU_TANH, shape=(130, 288, 64), value="f32", bias=True),
    Epilogue("swiglu_scaled_a", "mxfp8", products=2, body=SWIGLU, quantize="mxfp8",
             recipe="rceil", layout="swizzled", shape=(150, 288, 96), schedule=SCALED_A),
    Epilogue("moe_scaled_a", products=2, body=SWIGLU, quantize="nvfp4", layout="grouped",
             offsets=True, groups="rows", ends=ENDS, shape=(200, 160, 64)),
)

if __name__ == "__main__":
    main(tuple(replace(case, chip=("sm_80", "sm_89")[i % 2], plain=plain)
               for plain, cases in (("a", PLAIN_A), ("b", PLAIN_B))
               for i, case in enumerate(cases)))
