#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches the kernels of test/Data/races many times on the GPU of this machine and counts
how many different results each of their cases has.

    scripts/gpu/races.py [--launches N] [--library LIBRARY] [--commit TEXT] [FOLDER]

Each file has one kernel. Its parameters are its result, a word of input for each thread, 8 KiB
of zeros, and the number of a case: the kernel as it should be, or without one of its waits. The
comment at the head of the file says what the emulator makes of each case
(emulator/test/races.test checks it there):

    // grid 64, block 96[, cluster 2][, words 64]    the launch, and words of its result
    // case 0: accepted, 89abcdef: WHAT              no finding; the CRC-32 of the result
    // case 1: reported, "TEXT": WHAT                a finding with this text
    // case 2: unchecked: WHAT                       a race that the emulator does not look for

An accepted case must have one result, that of the emulator. Reported cases may have any, but
at least five of them must show several, so that the kernels are known to race. Needs a driver
of CUDA 12.0 or later and Python alone; prints a line a case, and fails where that is not so.
"""

import argparse
import ctypes
import hashlib
import re
import struct
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path

from driver import Cuda, find_driver_release

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from log_head import describe_commit, make_head

SCRATCH_BYTES = 8192
LEAST_SHOWN = 5
VERDICTS = ("accepted", "reported", "unchecked")
HEAD = re.compile(r"// grid (\d+), block (\d+)(?:, cluster (\d+))?(?:, words (\d+))?")
CASE = re.compile(rf'// case (\d+): ({"|".join(VERDICTS)})'
                  r'(?:, (?:([0-9a-f]{8})|"([^"]*)"))?: (.+)')


@dataclass
class Case:
    number: int
    verdict: str  # accepted, reported or unchecked
    crc: int | None  # of the result of an accepted case
    finding: str | None  # in what a reported case says
    what: str


@dataclass
class Kernel:
    name: str
    path: Path
    grid: int
    block: int
    cluster: int  # which the kernel itself demands
    words: int
    cases: list

    def make_input(self):
        """A word for each thread."""
        count = self.grid * self.block
        return struct.pack(f"<{count}I", *[i * 2654435761 % 2**32 for i in range(count)])


def read_kernel(path):
    """The kernel of a file. ValueError where the head does not say what it must."""
    lines = path.read_text().split("\n.version", 1)[0].splitlines()
    heads = [match for match in map(HEAD.fullmatch, lines) if match]
    cases = []
    for line in lines:
        if not line.startswith("// case "):
            continue
        match = CASE.fullmatch(line)
        if not match:
            raise ValueError(f"{path}: expected a case, but got '{line}'")
        number, verdict, crc, finding, what = match.groups()
        if (verdict == "accepted") != (crc is not None):
            raise ValueError(f"{path}: expected the CRC-32 of a result where a case is accepted, "
                             f"but got '{line}'")
        if (verdict == "reported") != (finding is not None):
            raise ValueError(f"{path}: expected the text of a finding where a case is reported, "
                             f"but got '{line}'")
        cases.append(Case(int(number), verdict, crc and int(crc, 16), finding, what))
    if len(heads) != 1 or [case.number for case in cases] != list(range(len(cases))) or not cases:
        raise ValueError(f"{path}: expected one line with the grid, and the cases from 0 on")
    grid, block, cluster, words = (int(number or 0) for number in heads[0].groups())
    return Kernel(path.stem, path, grid, block, cluster or 1, words or grid * block, cases)


def read_kernels(folder):
    kernels = [read_kernel(path) for path in sorted(folder.glob("*.ptx"))]
    if not kernels:
        raise ValueError(f"{folder}: expected files of PTX")
    return kernels


def count_results(cuda, kernel, launches):
    """For each case, how often each result came: a dictionary by its CRC-32 and digest."""
    function = cuda.find(cuda.load(kernel.path.read_bytes()), "race")
    size, given = 4 * kernel.words, kernel.make_input()
    to, source, scratch = (cuda.allocate(count) for count in (size, len(given), SCRATCH_BYTES))
    cuda("cuMemcpyHtoD_v2", ctypes.c_uint64(source), given, ctypes.c_size_t(len(given)))
    result = ctypes.create_string_buffer(size)
    counts = []
    for case in kernel.cases:
        found = {}
        values = [*map(ctypes.c_uint64, (to, source, scratch)), ctypes.c_uint32(case.number)]
        for _ in range(launches):
            cuda("cuMemsetD8_v2", ctypes.c_uint64(to), ctypes.c_ubyte(0xA5), ctypes.c_size_t(size))
            cuda("cuMemsetD8_v2", ctypes.c_uint64(scratch), ctypes.c_ubyte(0),
                 ctypes.c_size_t(SCRATCH_BYTES))
            cuda.launch(function, (kernel.grid, 1, 1), kernel.block, 0, values)
            cuda("cuStreamSynchronize", None)
            cuda("cuMemcpyDtoH_v2", result, ctypes.c_uint64(to), ctypes.c_size_t(size))
            key = zlib.crc32(result.raw), hashlib.sha256(result.raw).digest()
            found[key] = found.get(key, 0) + 1
        counts.append(found)
    return counts


def judge(case, found):
    """What a line says of a case's results, and whether they are as they should be."""
    count = f"{len(found)} result{'s' * (len(found) != 1)}"
    if case.verdict != "accepted":
        return count, True
    if len(found) > 1:
        return f"{count}: expected one", False
    [(crc, _)] = found
    if crc != case.crc:
        return f"{count}, {crc:08x}: expected that of the emulator, {case.crc:08x}", False
    return f"{count}, the emulator's", True


def summarize(verdicts):
    """The last lines, and whether enough of the reported cases show several results.
    `verdicts` are pairs of a verdict and the number of results."""
    lines, shown = [], {}
    for verdict in VERDICTS:
        counts = [count for each, count in verdicts if each == verdict]
        shown[verdict] = sum(count > 1 for count in counts)
        lines.append(f"{verdict} {len(counts)}: {shown[verdict]} with several results")
    is_enough = shown["reported"] >= LEAST_SHOWN
    if not is_enough:
        lines.append(f"expected at least {LEAST_SHOWN} of those reported to have several results")
    return lines, is_enough


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "test/Data/races")
    parser.add_argument("--launches", type=int, default=1000, metavar="N", help="of each case")
    parser.add_argument("--library", default="libcuda.so.1", help="the driver's library")
    parser.add_argument("--commit", help="what to print as the commit (default: ask git)")
    options = parser.parse_args()
    cuda = Cuda(options.library)
    print(make_head(options.commit or describe_commit(ROOT),
                    f"{cuda.name}, driver {find_driver_release()} of CUDA {cuda.version}",
                    f"scripts/gpu/races.py --launches {options.launches}"))
    verdicts, is_right = [], True
    for kernel in read_kernels(options.folder):
        found = count_results(cuda, kernel, options.launches)
        for case, results in zip(kernel.cases, found):
            text, is_good = judge(case, results)
            is_right &= is_good
            verdicts.append((case.verdict, len(results)))
            print(f"  {kernel.name} {case.number}, {case.verdict}: {text} ({case.what})",
                  flush=True)
    lines, is_enough = summarize(verdicts)
    print(*lines, "passed" if is_right and is_enough else "failed", sep="\n")
    return 0 if is_right and is_enough else 1


if __name__ == "__main__":
    sys.exit(main())
