# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Global memory that the kernel which pads groups and quantizes them along tokens moves, in
sectors, as the emulator counts it for SM100. The ideal is the rows of all groups once, codes and
tiles of scales with their padding, and the ends before and after padding. A few hundred tokens have
more ends of groups and of tiles, by their bytes, than thousands have. The bytes are those of a
kernel for each op.

Usage: padded_traffic.py FOLDER
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2]))

from batches import run_lines
from expect import Expectations
from gpu_traffic import LINE, SECTOR

MOST = 1.03
# Types of codes and scales, bits of a code, and tokens of a block.
TYPES = {"MXFP8": ("f8E4M3FN", "f8E8M0FNU", 8, 32), "NVFP4": ("f4E2M1FN", "f8E4M3FN", 4, 16)}


@dataclass(frozen=True)
class Case:
    format: str
    rows: int
    cols: int
    unit: int
    ends: tuple

    @property
    def name(self):
        return f"{self.format}, {len(self.ends)} groups of {self.rows}x{self.cols}"

    @property
    def padded(self):
        return (self.rows + len(self.ends) * (self.unit - 1)) // self.unit * self.unit

    def text(self):
        data, scale, _, block = TYPES[self.format]
        groups = len(self.ends)
        ends, x = f"tensor<{groups}xi32>", f"tensor<{self.rows}x{self.cols}xbf16>"
        padded = f"tensor<{self.padded}x{self.cols}xbf16>"
        codes = f"tensor<{self.cols}x{self.padded}x{data}>"
        scales = (f"tensor<{self.cols}x{self.padded // block}x{scale}, "
                  f"#blockscale.layout<swizzle_128x4, groups = {groups}, dim = 1>>")
        return (f"func.func @f(%x: {x}, %o: {ends}) -> ({codes}, {scales}, {ends}) {{\n"
                f"  %p, %e = blockscale.pad_groups %x offsets(%o : {ends}) unit {self.unit} : {x} "
                f"-> {padded}\n"
                f"  %q, %s = blockscale.quantize %p block [{block}, 1] transposed "
                f"offsets(%e : {ends}) : {padded} -> {codes}, {scales}\n"
                f"  return %q, %s, %e : {codes}, {scales}, {ends}\n}}\n")

    def ideal(self, tiles):
        """Bytes; `tiles` are those of the scales."""
        codes = self.cols * self.padded * TYPES[self.format][2] // 8
        return self.ends[-1] * self.cols * 2 + codes + tiles + 8 * len(self.ends)


def draw_ends(rows, groups):
    random = np.random.default_rng(groups)
    return (*np.sort(random.integers(0, rows + 1, groups - 1)).tolist(), rows)


CASES = [Case("MXFP8", 500, 512, 32, (1, 130, 130, 483)),
         *(Case(format, 2048, 512, 64, draw_ends(2048, groups))
           for format in TYPES for groups in (8, 64))]


def run(folder, case, fuse):
    """The sectors of each launch, in bytes, and the results."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "module.mlir").write_text(case.text())
    random = np.random.default_rng(7)
    arrays = (random.integers(0x3C00, 0x4000, (case.rows, case.cols), dtype=np.uint16),
              np.array(case.ends, np.int32))
    line = [folder / "module.mlir", "--on=emulator", "--target=sm_100a", "--profile",
            f"--fuse={fuse}"]
    for i, array in enumerate(arrays):
        np.save(folder / f"in{i}.npy", array)
        line += ["--in", folder / f"in{i}.npy"]
    outputs = [folder / f"out{i}.npy" for i in range(3)]
    for path in outputs:
        line += ["--out", path]
    [(status, printed)] = run_lines([line])
    assert status == 0, printed
    launches = [SECTOR * (int(read) + int(written))
                for _, _, read, _, written in LINE.findall(printed)]
    return launches, [np.load(path) for path in outputs]


def main():
    expect = Expectations()
    for i, case in enumerate(CASES):
        fused, results = run(Path(sys.argv[1]) / f"fused{i}", case, "true")
        apart, wanted = run(Path(sys.argv[1]) / f"apart{i}", case, "false")
        ideal = case.ideal(results[1].size)
        share = sum(fused) / ideal
        print(f"{case.name}: {len(fused)} launch, {share:.4f} of the ideal; apart: "
              f"{len(apart)}, {sum(apart) / ideal:.4f}")
        expect.record(f"{case.name}: one launch instead of two",
                      None if (len(fused), len(apart)) == (1, 2) else f"{fused}, {apart}")
        expect.record(f"{case.name}: bytes",
                      None if 1 <= share <= MOST else f"{sum(fused)} of {ideal}")
        expect.equal(f"{case.name}: the bytes of two kernels", results, wanted)
    expect.finish()


if __name__ == "__main__":
    main()
