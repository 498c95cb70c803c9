#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How many machine instructions products of a plain operand take to decode weights on SM100.

  python3 benchmarks/gpu/decode.py [--target CHIP] [--only GLOB] [--json FILE]

After scripts/build.sh; needs ptxas and nvdisasm. Compiles products of bf16 activations of N = K
= 8192, by the kernel that the compiler chooses for each number of rows. Counted are the
instructions of a thread from one stage to the next in the warps that decode: those of the
smallest loop around all of their stores to tensor memory (STTM), waits and addresses among them,
for 16 elements. Of a loop with branches it is the shortest way, which nothing waits on and scales
of weights take: those of MXFP4 that are above 2 take a longer one. Prints a log with a table and
the figures of peers; the exit status is 1 if a kernel spills registers.

A second table estimates how near products come to the limit of a B200. The kernels run in the
emulator, which counts what each role does: bytes that copies bring, elements that are stored to
tensor memory, and MMAs. Rates are those that blockscale-print-roofline prints: of memory, of
tensor cores, and of four warps a clock that issue the instructions of the first table. CTAs have
the activations from caches, but for the first one. Roles work at the same time, so a product takes
as long as the slowest one; `added` is the share if none overlapped. Of products of many rows four
tiles are run for all, which multiprocessors take in whole rounds.
"""

import argparse
import fnmatch
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from static import BUILD, compile_case, find_nvdisasm, print_head

SIZE = 8192
# Elements, scales and block of weights.
FORMATS = {"nvfp4": ("f4E2M1FN", "f8E4M3FN", 16), "mxfp4": ("f4E2M1FN", "f8E8M0FNU", 32),
           "mxfp8": ("f8E4M3FN", "f8E8M0FNU", 32)}
ROWS = (1, 16, 64, 128, 8192)
MODULE = """
#sw = #blockscale.layout<swizzle_128x4>
func.func @f(%x: tensor<{m}x{k}xbf16>, %w: tensor<{n}x{k}x{element}>,
             %s: tensor<{n}x{scales}x{scale}, #sw>) -> tensor<{m}x{n}xbf16> {{
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, {block}]{attributes}
      : tensor<{m}x{k}xbf16>, tensor<{n}x{k}x{element}>,
        tensor<{n}x{scales}x{scale}, #sw> -> tensor<{m}x{n}xbf16>
  return %y : tensor<{m}x{n}xbf16>
}}
"""
# The rows of the second table, and the GPU whose rates it takes. From MANY_ROWS on, the limit is
# that of tensor cores.
TIMED_ROWS, GPU, MANY_ROWS = (1, 16, 8192), "B200", 1024
# Weights, and K, of an MMA, and elements in a register of tensor memory.
MMA_WEIGHTS, MMA_DEPTH, WORD_ELEMENTS = 128, 16, 2
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
    _, begin, end = min(loops)
    turn = kernel.find_shortest_turn(begin, end)
    if sum(each.starts("STTM") for each in turn) != len(stores):
        sys.exit("decode.py: expected all stores to tensor memory on the shortest way")
    return len(turn), 2 * registers


def make_module(name, m, n, attributes=""):
    element, scale, block = FORMATS[name]
    return MODULE.format(m=m, n=n, k=SIZE, element=element, scale=scale, scales=SIZE // block,
                         block=block, attributes=attributes)


def read_rates():
    """Multiprocessors of the GPU, and what it does in a second: bytes, instructions of warps, and
    FLOP of bf16."""
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as module:
        done = subprocess.run([BUILD / "bin/blockscale-opt", module.name, "-o", "/dev/null",
                               f"--blockscale-print-roofline=gpu={GPU}"],
                              check=True, capture_output=True, text=True)
    count, gigabytes, lanes, tensor_cores = re.search(
        r": (\d+) multiprocessors; (\d+) GB/s.*TFLOP/s ([\d.]+), ([\d.]+)", done.stderr).groups()
    # A lane's multiply-add is 2 FLOP, and a warp has 32 lanes.
    return int(count), float(gigabytes) * 1e9, float(lanes) * 1e12 / 64, float(tensor_cores) * 1e12


def count_roles(target, name, m, n, attributes=""):
    """Bytes, decoded elements and MMAs of a product in the emulator."""
    random = np.random.default_rng(0)
    element, _, block = FORMATS[name]
    codes = (n, SIZE // (2 if "f4" in element else 1))
    scales = (n // 128, SIZE // block // 4, 32, 4, 4)
    arrays = [random.integers(0x3F00, 0x3FFF, (m, SIZE)).astype(np.uint16),
              random.integers(0, 0x70, codes).astype(np.uint8),
              random.integers(0x70, 0x78, scales).astype(np.uint8)]
    with tempfile.TemporaryDirectory() as folder:
        module = Path(folder) / "m.mlir"
        module.write_text(make_module(name, m, n, attributes))
        command = [BUILD / "bin/blockscale-run", module, "--on=emulator", f"--target={target}",
                   "--profile=instructions", f"--out={folder}/y.npy"]
        for i, array in enumerate(arrays):
            np.save(f"{folder}/{i}.npy", array)
            command.append(f"--in={folder}/{i}.npy")
        done = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    bytes_moved = sum(int(read) + int(written) for read, written in re.findall(
        r": (\d+) bytes of .global read .*?(\d+) written", done))
    elements = sum(int(count) * int(words) * WORD_ELEMENTS for count, words in re.findall(
        r"(\d+) tcgen05\.st\.\S*\.x(\d+)\.b32", done))
    mmas = sum(int(count) for count in re.findall(r"(\d+) tcgen05\.mma\.", done))
    if elements % (n * SIZE) or not elements * mmas:
        sys.exit(f"decode.py: expected all {n * SIZE} weights to be decoded, some times, and "
                 f"multiplied, but got {elements} elements and {mmas} MMAs")
    return bytes_moved, elements, mmas


def estimate(target, row, rates):
    """The cells of a row of the second table; `rates` are those of read_rates."""
    name, m = row["weights"], row["rows"]
    element, _, block = FORMATS[name]
    rows, columns, stages, band = map(int, re.match(
        r"(\d+)x(\d+)_stages(\d+)_band(\d+)", row["kernel"]).groups())
    multiprocessors, memory, issue, tensor_cores = rates
    least = SIZE * SIZE * (0.5 if "f4" in element else 1) + SIZE * SIZE / block + 2 * 2 * m * SIZE
    if m < MANY_ROWS:
        moved, elements, mmas = count_roles(target, name, m, SIZE)
        moved -= (SIZE // columns - 1) * rows * SIZE * 2
    else:
        attributes = (f" {{blockscale.schedule = #blockscale.gemm_schedule<rows = {rows}, "
                      f"cols = {columns}, stages = {stages}, band = {band}, "
                      f"ctas = {multiprocessors}>}}")
        _, *of_four = count_roles(target, name, 2 * rows, 2 * columns, attributes)
        # All multiprocessors have as many tiles as the busiest one.
        tiles = -(-m // rows) * (SIZE // columns)
        rounds = -(-tiles // multiprocessors)
        elements, mmas = (count * rounds * multiprocessors / 4 for count in of_four)
        # Tiles side by side, and below each other, read the same.
        moved = least
    seconds = {"memory": moved / memory,
               "decoding": elements / 16 * row["each"] / 32 / issue,
               "MMAs": mmas * 2 * MMA_WEIGHTS * rows * MMA_DEPTH / tensor_cores}
    limit = max(least / memory, 2 * m * SIZE * SIZE / tensor_cores)
    slowest = max(seconds.values())
    return [name, m, *(f"{1e6 * value:.1f}" for value in seconds.values()),
            f"{1e6 * limit:.1f}", f"{limit / slowest:.2f}", f"{limit / sum(seconds.values()):.2f}"]


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
    for name in FORMATS:
        for m in ROWS:
            if not fnmatch.fnmatch(f"{name}_{m}", options.only):
                continue
            case = SimpleNamespace(module=make_module(name, m, SIZE))
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
    print(f"\nOn a {GPU}, in us, and the share of the limit's speed:\n")
    print("| weights | rows | memory | decoding | MMAs | limit | share | added |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    rates = read_rates()
    for row in rows:
        if row["rows"] in TIMED_ROWS:
            print("|", " | ".join(map(str, estimate(options.target, row, rates))), "|", flush=True)
    if options.json:
        options.json.write_text(json.dumps({"target": options.target, "rows": rows}, indent=1))
    return 1 if any(row["spills"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
