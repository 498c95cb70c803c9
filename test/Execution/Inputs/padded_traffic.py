# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Global memory that the kernel which pads groups and quantizes them along tokens moves, in
sectors, as the emulator counts it for SM100; beside it that of a kernel for each op. The kernel
moves no more than the one that quantizes groups which are padded already, as it reads no padding.

Usage: padded_traffic.py FOLDER
"""

import subprocess
import sys
from pathlib import Path

import numpy as np

from expect import Expectations
from gpu_traffic import LINE, SECTOR

ROWS, COLS, GROUPS, UNIT = 500, 512, 4, 32
ENDS = (1, 130, 130, 483)
PADDED = (ROWS + GROUPS * (UNIT - 1)) // UNIT * UNIT
BLOCKS = PADDED // 32
CODES = f"tensor<{COLS}x{PADDED}xf8E4M3FN>"
SCALES = (f"tensor<{COLS}x{BLOCKS}xf8E8M0FNU, "
          f"#blockscale.layout<swizzle_128x4, groups = {GROUPS}, dim = 1>>")
TEXT = f"""
func.func @f(%x: tensor<{ROWS}x{COLS}xbf16>, %o: tensor<{GROUPS}xi32>)
    -> ({CODES}, {SCALES}, tensor<{GROUPS}xi32>) {{
  %p, %e = blockscale.pad_groups %x offsets(%o : tensor<{GROUPS}xi32>) unit {UNIT}
      : tensor<{ROWS}x{COLS}xbf16> -> tensor<{PADDED}x{COLS}xbf16>
  %q, %s = blockscale.quantize %p block [32, 1] transposed offsets(%e : tensor<{GROUPS}xi32>)
      : tensor<{PADDED}x{COLS}xbf16> -> {CODES}, {SCALES}
  return %q, %s, %e : {CODES}, {SCALES}, tensor<{GROUPS}xi32>
}}
"""


def run(folder, fuse):
    """The sectors of each launch, in bytes, and the results."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "module.mlir").write_text(TEXT)
    random = np.random.default_rng(7)
    arrays = (random.integers(0x3C00, 0x4000, (ROWS, COLS), dtype=np.uint16),
              np.array(ENDS, np.int32))
    command = ["blockscale-run", folder / "module.mlir", "--on=emulator", "--target=sm_100a",
               "--profile", f"--fuse={fuse}"]
    for i, array in enumerate(arrays):
        np.save(folder / f"in{i}.npy", array)
        command += ["--in", folder / f"in{i}.npy"]
    outputs = [folder / f"out{i}.npy" for i in range(3)]
    for path in outputs:
        command += ["--out", path]
    printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    launches = [SECTOR * (int(read) + int(written))
                for _, _, read, _, written in LINE.findall(printed)]
    return launches, [np.load(path) for path in outputs]


def main():
    expect = Expectations()
    fused, results = run(Path(sys.argv[1]) / "fused", "true")
    apart, wanted = run(Path(sys.argv[1]) / "apart", "false")
    print(f"fused: {len(fused)} launch, {sum(fused)} bytes; apart: {apart} bytes")
    expect.record("one launch instead of two",
                  None if (len(fused), len(apart)) == (1, 2) else f"{fused}, {apart}")
    expect.record("at most what the quantizer moves",
                  None if sum(fused) <= apart[-1] else f"{sum(fused)}, not {apart[-1]}")
    expect.equal("the bytes of two kernels", results, wanted)
    expect.finish()


if __name__ == "__main__":
    main()
