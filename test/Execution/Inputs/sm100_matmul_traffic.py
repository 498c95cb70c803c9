# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Global memory that a product in NVFP4 moves on SM100, as the emulator counts it, and
what its tiling says: each tile reads its rows of both operands once, those that pairs
share once for both, and the scales of a tile in each CTA.

Usage: sm100_matmul_traffic.py FOLDER MxNxK SCHEDULE...
"""

import re
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2]))

import even_scales
from batches import run_lines
from expect import Expectations
from products import Case, Op

LINE = re.compile(r"(\S+): (\d+) bytes of \.global read in \d+ sectors, (\d+) written in \d+ "
                  r"sectors\n")
MOST = 1.05


def tiling(m, n, k, rows, cols, multicast):
    """Bytes read."""
    row_tiles, col_tiles = -(-m // rows), -(-n // (cols * multicast)) * multicast
    blocks = rows // 128
    data = (rows / multicast + cols) * k / 2
    scales = (rows + cols * blocks) * k / 16
    return row_tiles * col_tiles * (data + scales)


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    m, n, k = map(int, sys.argv[2].split("x"))
    op = Op("mm", layout_a="swizzled", layout_b="swizzled", result="bf16", dynamic="")
    op.shape = {"B": (), "M": m, "N": n, "K": k}
    random = np.random.default_rng(1)
    sa, sb = (even_scales.scales(random, op.scale, (rows, k // op.block), range(-2, 3))
              for rows in (m, n))
    case = Case(op, random, sa=sa, sb=sb)
    line = [folder / "mm.mlir", "--on=emulator", "--profile", f"--out={folder / 'y.npy'}"]
    for i, array in enumerate(case.arguments):
        np.save(folder / f"{i}.npy", array)
        line.append(f"--in={folder / f'{i}.npy'}")
    expect = Expectations()
    for schedule in sys.argv[3:]:
        attribute = f"{{blockscale.schedule = #blockscale.gemm_schedule<{schedule}>}}"
        (folder / "mm.mlir").write_text(op.text().replace("\n      : ", f" {attribute} : ", 1))
        [(status, printed)] = run_lines([line])
        assert status == 0, printed
        [(_, read, written)] = LINE.findall(printed)
        values = {name: int(value) for name, value in re.findall(r"(\w+) ?= ?(\d+)", schedule)}
        said = tiling(m, n, k, values["rows"], values["cols"], values.get("multicast", 1))
        print(f"{schedule}: read {read}, tiling {said:.0f}, written {written}")
        expect.record(f"{schedule}: the result", case.problem(np.load(folder / "y.npy")))
        expect.record(f"{schedule}: bytes written", None if int(written) == 2 * m * n else written)
        expect.record(f"{schedule}: bytes read",
                      None if said <= int(read) <= MOST * said else f"{read}, not {said:.0f}")
    expect.finish()


if __name__ == "__main__":
    main()
