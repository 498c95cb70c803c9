#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How many machine instructions products of a plain operand take to decode weights on SM100.

  python3 benchmarks/gpu/decode.py [--target CHIP] [--only GLOB] [--json FILE]

After scripts/build.sh; needs ptxas and nvdisasm. Compiles products of bf16 activations of N = K
= 8192, by the kernel that the compiler chooses for each number of rows. Counted are the
instructions of a thread from one stage to the next in the warps that decode: those of the
smallest loop around all of their stores to tensor memory (STTM), waits and addresses among them,
for 16 elements. Prints a log with a table and the figures of peers; the exit status is 1 if a
kernel spills registers.
"""

import argparse
import fnmatch
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

from static import compile_case, find_nvdisasm, print_head

SIZE = 8192
# Elements, scales and block of weights.
FORMATS = {"nvfp4": ("f4E2M1FN", "f8E4M3FN", 16), "mxfp4": ("f4E2M1FN", "f8E8M0FNU", 32),
           "mxfp8": ("f8E4M3FN", "f8E8M0FNU", 32)}
ROWS = (1, 16, 64, 128, 8192)
MODULE = """
#sw = #blockscale.layout<swizzle_128x4>
func.func @f(%x: tensor<{m}x{size}xbf16>, %w: tensor<{size}x{size}x{element}>,
             %s: tensor<{size}x{scales}x{scale}, #sw>) -> tensor<{m}x{size}xbf16> {{
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, {block}]
      : tensor<{m}x{size}xbf16>, tensor<{size}x{size}x{element}>,
        tensor<{size}x{scales}x{scale}, #sw> -> tensor<{m}x{size}xbf16>
  return %y : tensor<{m}x{size}xbf16>
}}
"""
# Columns of 32 bits of a store: its registers.
STORE = re.compile(r"STTM\.x(\d+)")
# Counted the same way for sm_100a, nvcc 13.0.88: 128 elements of a thread in 348 instructions
# with a scale for 128 elements, and in 281 without scales.
PEERS = [("CUTLASS 4.2, example 86", "int4, scales of 128", "43.5"),
         ("CUTLASS 4.2, example 86", "int4, no scales", "35.1")]


def count_decode(kernel):
    """Instructions of the loop, and elements that a thread decodes in it."""
    stores = [i for i, each in enumerate(kernel.instructions) if each.starts("STTM")]
    if not stores:
        sys.exit("decode.py: the kernel stores nothing to tensor memory")
    loops = [(end - begin + 1, begin, end)
             for end, each in enumerate(kernel.instructions)
             if each.starts("BRA") and each.target in kernel.labels
             for begin in [kernel.labels[each.target]]
             if begin <= stores[0] and end >= stores[-1]]
    registers = sum(int(STORE.match(kernel.instructions[i].opcode)[1]) for i in stores)
    return min(loops)[0], 2 * registers


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="sm_100a", metavar="CHIP")
    parser.add_argument("--only", default="*", metavar="GLOB", help="these cases, as nvfp4_16")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    nvdisasm = find_nvdisasm()
    rows = []
    print_head()
    print("| weights | rows | kernel | registers | spills | instructions | elements "
          "| / 16 elements |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, (element, scale, block) in FORMATS.items():
        for m in ROWS:
            if not fnmatch.fnmatch(f"{name}_{m}", options.only):
                continue
            case = SimpleNamespace(module=MODULE.format(
                m=m, size=SIZE, element=element, scale=scale, scales=SIZE // block, block=block))
            # Beside the product stands the kernel that adds its parts.
            [(resources, kernel)] = [
                each for each in compile_case(case, options.target, nvdisasm)
                if any(code.starts("STTM") for code in each[1].instructions)]
            instructions, elements = count_decode(kernel)
            row = {"weights": name, "rows": m,
                   "kernel": re.search(r"\d+x\d+_stages.*", resources["kernel"])[0],
                   "registers": resources["registers"],
                   "spills": resources["spills"] + resources["stack"],
                   "instructions": instructions, "elements": elements,
                   "each": round(16 * instructions / elements, 1)}
            rows.append(row)
            print("|", " | ".join(map(str, row.values())), "|", flush=True)
    print("\nPeers, for 16 elements on sm_100a:\n")
    print("| what | weights | / 16 elements |\n| --- | --- | --- |")
    for peer in PEERS:
        print("|", " | ".join(peer), "|")
    if options.json:
        options.json.write_text(json.dumps({"target": options.target, "rows": rows}, indent=1))
    return 1 if any(row["spills"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
