#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The figures in sentences of the pages, computed from logs and tests. A sentence is on its
page exactly once, whatever its line breaks. With --write, fills the figures in; else lists the
sentences whose figures are others.
"""

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass

from docs_pages import ROOT
from log_tables import read_log, read_rows, read_tables


@dataclass(frozen=True)
class Sentence:
    page: str
    text: str  # with {} for each figure
    compute: Callable  # the figures, as they are shown

    @property
    def pattern(self):
        words = [r"(\s+)".join(map(re.escape, part.split(" "))) for part in self.text.split("{}")]
        return re.compile(r"(\d[\d.,]*(?<=\d))".join(words))

    def fill(self, page):
        """`page` with this sentence's figures, and its line breaks as they were."""
        figures = list(map(str, self.compute()))

        def replace(match):
            blanks = iter(group for group in match.groups() if not group.strip())
            values = iter(figures)
            return re.sub(r"\{\}| ", lambda m: next(blanks if m[0] == " " else values), self.text)

        return self.pattern.sub(replace, page)


def benchmark(case, column="share of the copy"):
    return read_rows("benchmark-h200.txt")[case][column]


def shares(*cases):
    return [benchmark(case) for case in cases]


def milliseconds(case):
    return f"{float(benchmark(case, 'us')) / 1000:.2f}"


def ratio(first, second):
    return f"{float(benchmark(first, 'us')) / float(benchmark(second, 'us')):.2f}"


def sums():
    """The sums of an H200, the instructions, and the sums that differ."""
    log = read_log("sums-h200.txt")
    total, differing = re.search(r"(?m)^(\d+) sums, (\d+) differ$", log).groups()
    return f"{int(total):,}", len(re.findall(r"(?m) classes, \d+ sums, ", log)), differing


NORM = "RMSNorm, NVFP4 1x16, swizzled, 8192x{}"


def races(verdict):
    """The cases of a verdict, and those among them with several results."""
    return re.search(rf"^{verdict} (\d+): (\d+) with several", read_log("races-h200.txt"),
                     re.M).groups()


def instructions(chip):
    """Whole and on the main path, of NVFP4 rows with swizzled scales."""
    text = read_log("instructions.txt")
    at = text[:text.index(f"\n{chip}:\n")].count("static.py") - 1
    # A run prints a table of kernels and one of peers.
    rows = read_rows("instructions.txt", 2 * at)
    row = rows["NVFP4 1x16, global scale given, swizzled, 8192x5120"]
    return [f"{float(row[column]):.1f}"
            for column in ("whole / element", "main path / element")]


def example():
    """Of the products of the example: for each format how much it saves, and the least and the
    largest ratio of signal to noise."""
    text = read_log("example.txt")
    saved = dict(re.findall(r"^(\S+) +19 .* (\S+)% ", text, re.M))
    rows = [line.split()[-3:] for line in text.splitlines()
            if re.match(r"(layer \d \w+|grouped up) ", line)]
    ratios = [[float(cell) for cell in cells] for cells in zip(*rows)]
    nvfp4, mxfp8 = ratios[0] + ratios[1], ratios[2]
    return [len(rows), saved["NVFP4"], f"{min(nvfp4):.0f}", f"{max(nvfp4):.0f}", saved["MXFP8"],
            f"{min(mxfp8):.0f}", f"{max(mxfp8):.0f}"]


def memory():
    """The bar of the memory that a model is loaded in, and the megabytes of the model."""
    folder = ROOT / "test/Transformers"
    program, test = ((folder / name).read_text(encoding="utf-8")
                     for name in ("measure_memory.py", "test_use.py"))
    return [*re.findall(r"^MOST = ([\d.]+)$", program, re.M),
            *re.findall(r'"""A model of (\d+) MB,', test)]


def kinds():
    text = (ROOT / "test/Execution/sm100-kernels.test").read_text(encoding="utf-8")
    count, = re.findall(r"^# CHECK: .*?(\d+) kinds of kernels", text, re.M)
    return [count]


def speeds():
    """The least and the largest speed of products on Hopper: of weights of 4 bits beside cuBLAS,
    and of bf16 beside torch."""
    weights = [float(row["share of cuBLAS"])
               for name, row in read_rows("weight-only-h200.txt").items()
               if name.startswith(("NVFP4", "MXFP4")) and name.endswith("x8192x8192")]
    plain = [float(row["share"]) for row in read_rows("plain-h200.txt").values()]
    return [f"{end(found):.2f}" for found in (weights, plain) for end in (min, max)]


def decoding():
    """Instructions for 16 elements on SM100: of each format, those of one row and of 8192; and
    those of CUTLASS's example."""
    (header, rows), (_, peers), _ = read_tables("decode-sm100.txt")
    at = header.index("/ 16 elements")
    found = {(weights, int(count)): row[at] for row in rows for weights, count in [row[:2]]}
    return [*(found[weights, count] for weights in ("nvfp4", "mxfp4", "mxfp8")
              for count in (1, 8192)), peers[0][-1]]


def estimates():
    """The estimated shares of a B200's limit, for 1, 16 and 8192 rows."""
    header, rows = [*read_tables("decode-sm100.txt")][2]
    at = header.index("share")
    return [row[at] for weights in ("nvfp4", "mxfp4") for row in rows if row[0] == weights]


def calls():
    count, = re.findall(r"of (\d+) calls", read_log("tensor-maps-h200.txt"))
    return [f"{int(count):,}"]


PERFORMANCE, TESTING = "docs/Performance.md", "docs/Testing.md"
PRODUCTS = "docs/Products.md"
EMULATOR = "emulator/docs/Emulator.md"
TALL = [f"{function}, swizzled, {shape}" for shape in ("8192x11328", "11328x8192")
        for function in ("MXFP8 1x32 rceil", "NVFP4 1x16, global scale given")]
TRANSFORMED = [f"NVFP4 rows and transformed columns, swizzled, {shape}"
               for shape in ("8192x11328", "11328x8192")]

SENTENCES = [
    Sentence("docs/Transformers.md", "The peak is at most {} of the bytes of a Llama of {} MB",
             memory),
    Sentence("README.md",
             "with {} products for each format. Every byte equals the numpy reference. NVFP4 "
             "saves {} % of the bf16 bytes at a signal-to-noise ratio of {} to {} dB, MXFP8 saves "
             "{} % at {} to {} dB.", example),
    Sentence("README.md",
             "have {} to {} times the speed of cuBLAS bf16, and products of bf16 have {} to {} "
             "times that of PyTorch", speeds),
    Sentence(PERFORMANCE,
             "the share is {} (MXFP8) and {} (NVFP4) on 8192x11328, and {} and {} on 11328x8192; "
             "for rows and transformed columns it is {} and {}.",
             lambda: shares(*TALL, *TRANSFORMED)),
    Sentence(PERFORMANCE,
             "RMSNorm into NVFP4 misses its bar of {} on 8192x5120, where it takes {} us and a "
             "copy {}; on 8192x4096 its share is {}. It takes {} times as long as the plain "
             "quantizer",
             lambda: [benchmark(NORM.format(5120), "bar"), benchmark(NORM.format(5120), "us"),
                      benchmark(NORM.format(5120), "copy us"), benchmark(NORM.format(4096)),
                      ratio(NORM.format(5120),
                            "NVFP4 1x16, global scale given, swizzled, 8192x5120")]),
    Sentence(PERFORMANCE, "The scale sweep of 8192x4096 takes {} ms on normal weights, and {} ms",
             lambda: [milliseconds("scale sweep, normal weights, 8192x4096"),
                      milliseconds("scale sweep, 8192x4096")]),
    Sentence(PERFORMANCE,
             "have {} instructions on sm_90a and {} on sm_80, {} and {} of them on the main path.",
             lambda: [cell for cells in zip(instructions("sm_90a"), instructions("sm_80"))
                      for cell in cells]),
    Sentence(EMULATOR, "Each of the {} cases that the emulator accepts had one result",
             lambda: races("accepted")[:1]),
    Sentence(EMULATOR, "Of the {} that it reports, {} had more than 100 results",
             lambda: races("reported")),
    Sentence(PRODUCTS,
             "NVFP4 weights take {} machine instructions for 16 elements in tiles of few plain "
             "rows and {} in the widest ones, MXFP4 weights {} and {}, and MXFP8 weights {} and "
             "{}; CUTLASS 4.2's example 86 takes {} with int4", decoding),
    Sentence(PRODUCTS,
             "products of 1, 16 and 8192 rows are estimated to reach {}, {} and {} of the speed of "
             "a B200's memory and tensor cores, and with MXFP4 weights {}, {} and {}:", estimates),
    Sentence("docs/Numerics.md",
             "on an H200: {} sums of {} instructions, of which {} differ", sums),
    Sentence(EMULATOR, "the emulator answered {} calls of", calls),
    Sentence(TESTING, "| {} calls, answers of an H200 |", calls),
    Sentence(TESTING, "| {} cases; an H200, {} launches |",
             lambda: [sum(int(races(verdict)[0])
                          for verdict in ("accepted", "reported", "unchecked")),
                      re.search(r"--launches (\d+)", read_log("races-h200.txt"))[1]]),
    Sentence(TESTING, "| {} kinds, both schedules; not on silicon |", kinds),
]


def main():
    for sentence in SENTENCES:
        path = ROOT / sentence.page
        page = path.read_text(encoding="utf-8")
        filled = sentence.fill(page)
        if filled != page or not sentence.pattern.search(page):
            print(f"{sentence.page}: {sentence.text}")
        if sys.argv[1:] == ["--write"]:
            path.write_text(filled, encoding="utf-8")


if __name__ == "__main__":
    main()
