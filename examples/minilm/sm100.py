# ===- sm100.py - SM100 kernels and their resources -----------------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Compiles the quantizers for sm_100a and reads what ptxas says of them."""

import os
import re
import time
from dataclasses import dataclass

import module


@dataclass
class Kernel:
    """Resources of one kernel; sizes in bytes."""

    name: str
    registers: int
    spills: int  # stores and loads
    shared: int


@dataclass
class Compiled:
    """The quantizer of one format; `cubin` and `kernels` are None without ptxas."""

    ptx: int  # lines
    seconds: float  # to PTX
    cubin: int = None  # bytes
    kernels: list = None


def compile_quantizer(tools, format, k):
    """The quantizer of rows of k elements, any number of them."""
    text, _ = module.quantizer(format, k)
    name = "quantize-" + format.name.lower().replace("+", "-")
    start = time.perf_counter()
    ptx = tools.compile(text, "ptx", name)
    seconds = time.perf_counter() - start
    with open(ptx) as file:
        compiled = Compiled(sum(1 for _ in file), seconds)
    report = tools.assemble(ptx)
    if report is not None:
        compiled.kernels = parse_ptxas(report)
        compiled.cubin = os.path.getsize(tools.compile(text, "cubin", name))
    return compiled


def parse_ptxas(text):
    """The kernels in the output of `ptxas -v`."""
    kernels = []
    for line in text.splitlines():
        if entry := re.search(r"Compiling entry function '([^']+)'", line):
            kernels.append(Kernel(entry[1], registers=0, spills=0, shared=0))
        elif not kernels:
            continue
        elif spills := re.search(r"(\d+) bytes spill stores, (\d+) bytes spill", line):
            # Device functions that it calls have such a line too.
            kernels[-1].spills += int(spills[1]) + int(spills[2])
        elif used := re.search(r"Used (\d+) registers", line):
            kernels[-1].registers = int(used[1])
            shared = re.search(r"(\d+) bytes smem", line)
            kernels[-1].shared = int(shared[1]) if shared else 0
    return kernels
