# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Global memory that the kernel for rows of x, columns of its transform and scales in
tiles moves for SM100, as the emulator counts it, in bytes and in sectors; beside it that
of a kernel for each op. The ideal is x once, codes, scales with the padding of their
tiles, and the global scales.

Usage: gpu_traffic.py FOLDER MxK...
"""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np

from expect import Expectations
from fusion_cases import Case, function, operands_of

# Each thread loads the global scales, which are bytes each time; scales of a warp are
# pieces of 16 bytes, halves of sectors.
MOST = {"bytes": 1.03, "sectors": 1.06}
SECTOR = 32
LINE = re.compile(r"(\S+): (\d+) bytes of \.global read in (\d+) sectors, (\d+) written in (\d+) "
                  r"sectors\n")


def up(size, step):
    return -(-size // step) * step


def ideal(m, k):
    scales = up(m, 128) * up(k // 16, 4) + up(k, 128) * up(m // 16, 4)
    return m * k * 2 + 2 * (m * k // 2) + scales + 2 * 4


def run(folder, m, k, fuse):
    """(kernel, bytes read, sectors read, bytes written, sectors written) of each launch."""
    case = Case((m, k), ("row", "col"), globals="given")
    arrays = operands_of(case, case.draw(np.random.default_rng(m)))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "module.mlir").write_text(function([case]))
    command = ["blockscale-run", folder / "module.mlir", "--on=emulator", "--target=sm_100a",
               "--profile", f"--fuse={fuse}"]
    for i, array in enumerate(arrays):
        np.save(folder / f"in{i}.npy", array)
        command += ["--in", folder / f"in{i}.npy"]
    for i in range(len(case.write()[2])):
        command += ["--out", folder / f"out{i}.npy"]
    printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    launches = LINE.findall(printed)
    assert "".join(LINE.sub("", printed)) == "", printed
    return [(name, *map(int, counts)) for name, *counts in launches]


def main():
    expect = Expectations()
    for shape in sys.argv[2:]:
        m, k = map(int, shape.split("x"))
        least = ideal(m, k)
        print(f"{shape}: ideal {least} bytes")
        for fuse in ("true", "false"):
            launches = run(Path(sys.argv[1]) / f"{shape}-{fuse}", m, k, fuse)
            moved = sum(read + written for _, read, _, written, _ in launches)
            sectors = SECTOR * sum(launch[2] + launch[4] for launch in launches)
            print(f"{shape}: {len(launches)} launch{'es' * (len(launches) > 1)}: {moved} bytes, "
                  f"{moved / least:.4f} of the ideal; {sectors} in sectors, "
                  f"{sectors / least:.4f} of the ideal")
            if fuse == "false":
                continue
            expect.record(f"{shape}: one launch", None if len(launches) == 1 else launches)
            for what, size in (("bytes", moved), ("sectors", sectors)):
                right = least <= size <= MOST[what] * least
                expect.record(f"{shape}: {what}", None if right else f"{size} of {least}")
    expect.finish()


if __name__ == "__main__":
    main()
