#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Seconds and peak memory of quantizing a 4096x4096 bf16 weight at compile time.

    python3 benchmarks/constant_folding.py [--build BUILD] [--rounds N]

The weight is a resource of a bytecode file, as large weights are. Per module:
whole processes of blockscale-opt with blockscale-fold-constants, the median of
their seconds and the largest of their peaks, also as multiples of the weight; and
beside them the same process without the pass, which reads and writes the module.
"""

import argparse
import resource
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
SIZE = 4096
WEIGHT_BYTES = 2 * SIZE * SIZE

MODULE = """
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @weight() -> (tensor<NxNxf4E2M1FN>, tensor<NxBxf8E4M3FN, #swizzled>) {{
  %w = arith.constant dense_resource<w> : tensor<NxNxbf16>
  %a = blockscale.amax %w : tensor<NxNxbf16> -> tensor<f32>
  {quantize} : tensor<NxNxbf16> -> tensor<NxNxf4E2M1FN>, tensor<NxBxf8E4M3FN>
  %t = blockscale.swizzle %s : tensor<NxBxf8E4M3FN> -> tensor<NxBxf8E4M3FN, #swizzled>
  return %q, %t : tensor<NxNxf4E2M1FN>, tensor<NxBxf8E4M3FN, #swizzled>
}}
{{-# dialect_resources: {{ builtin: {{ w: "0x{blob}" }} }} #-}}
"""
QUANTIZE = {
    "quantize + swizzle": """%q, %s = blockscale.quantize %w block [1, 16]
      recipe te global_amax(%a : tensor<f32>)""",
    "sweep + quantize + swizzle": """%b = blockscale.scale_sweep %w
      global_amax(%a : tensor<f32>) : tensor<NxNxbf16> -> tensor<NxBxf32>
  %q, %s = blockscale.quantize %w block [1, 16] recipe modelopt
      global_amax(%a : tensor<f32>) block_amax(%b : tensor<NxBxf32>)""",
}


def weight():
    """Normal numbers of deviation 0.02, cut to bf16, after the blob's alignment."""
    values = np.random.default_rng(1).standard_normal(SIZE * SIZE, dtype=np.float32)
    bits = (values * np.float32(0.02)).view(np.uint32) >> 16
    return struct.pack("<I", 64) + bits.astype(np.uint16).tobytes()


def measure(command):
    """Seconds of a process, and the largest peak of any child so far in bytes."""
    start = time.perf_counter()
    subprocess.run(command, check=True)
    seconds = time.perf_counter() - start
    return seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    tool = options.build / "bin/blockscale-opt"
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for name, quantize in QUANTIZE.items():
            text = Path(folder) / "weight.mlir"
            text.write_text(MODULE.format(quantize=quantize, blob=weight().hex())
                            .replace("NxB", f"{SIZE}x{SIZE // 16}")
                            .replace("NxN", f"{SIZE}x{SIZE}"))
            files[name] = Path(folder) / f"{len(files)}.mlirbc"
            # In a process of its own: reading text takes more memory than the pass.
            subprocess.run(["sh", "-c", f"{tool} {text} --emit-bytecode -o {files[name]}"],
                           check=True)
        print("| module | seconds | peak MiB | of the weight |\n| --- | --- | --- | --- |")
        for name, passes in [("read and write only", []),
                             *((name, ["--blockscale-fold-constants"]) for name in QUANTIZE)]:
            file = files.get(name, next(iter(files.values())))
            command = [sys.executable, __file__, "--child", tool, file, *passes]
            seconds, peaks = zip(*(child(command) for _ in range(options.rounds)))
            peak = max(peaks)
            print(f"| {name} | {statistics.median(seconds):.2f} | {peak / 2**20:.0f} | "
                  f"{peak / WEIGHT_BYTES:.1f} |")


def child(command):
    """Peaks are of all children of a process, so each tool has a parent of its own."""
    seconds, peak = subprocess.run(list(map(str, command)), check=True, text=True,
                                   capture_output=True).stdout.split()
    return float(seconds), int(peak)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        tool, file, *passes = sys.argv[2:]
        print(*measure([tool, file, *passes, "--emit-bytecode", "-o", "/dev/null"]))
    else:
        main()
