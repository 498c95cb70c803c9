#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the machine code of the kernels says of their speed on GPUs that are not there.

  python3 benchmarks/gpu/static.py [--target CHIP] [--only GLOB] [--json FILE]

After scripts/build.sh; needs ptxas and nvdisasm. Compiles the cases of cases.py and
counts instructions of a thread for each element of x that it loads:

* whole: all that the kernel has, rare ways and padding among them;
* main path: those of the way that loads and stores the most, without loops.

In flight: the bytes that a thread loads before it waits for any, for all threads that fit
on an SM. Prints a log with a table and the figures of peers; the exit status is 1 if a bar is
missed.
"""

import argparse
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import sass
from cases import CASES

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BLOCKSCALE_BUILD_DIR", ROOT / "build"))
sys.path.insert(0, str(ROOT / "scripts"))

from log_head import describe_commit, describe_machine, make_head

RESOURCES = re.compile(
    r"^(\S+): (\d+) registers, (\d+) bytes of spill stores, (\d+) bytes of spill loads, "
    r"(\d+) bytes of stack, (\d+) bytes of shared memory$", re.M)

# Instructions an element: of sm_100 by the family of a case, of others.
ROW_BARS = {"mxfp8_1x32": (6, None), "nvfp4_1x16": (7.5, 16)}
# On the main path, of sm_100.
MAIN_BARS = {"nvfp4_rows_and_transformed_columns": 12}
ACCESS_BAR, SCALE_STORE_BAR, IN_FLIGHT_BAR = 16, 2, 54_000

# Counted the same way for sm_100a, whole unless noted. From their published sources.
PEERS = [
    ("MXFP8 1x32", "torchao, CUDA, floor", "10.2"),
    ("MXFP8 1x32", "torchao, Triton, floor", "7.8"),
    ("MXFP8 1x32", "TransformerEngine, main path", "7-8"),
    ("MXFP8 32x1", "torchao, CUDA", "9.2"),
    ("MXFP8 32x1", "torchao, Triton", "19.1"),
    ("NVFP4 1x16", "TransformerEngine, tuned; fast math", "8.8; 7.4"),
    ("NVFP4 1x16", "MSLK, Triton", "at most 12.6"),
    ("NVFP4 rows and columns", "TransformerEngine, tuned; fast math", "17.1; 14.3"),
    ("NVFP4 1x16 without cvt", "CUDA's cuda_fp4.h on sm_90, conversion only", "61.6"),
]


def find_nvdisasm():
    packages = Path(sysconfig.get_path("purelib")) / "nvidia"
    found = shutil.which("nvdisasm") or next(map(str, packages.glob("*/bin/nvdisasm")), None)
    if not found:
        sys.exit("static.py: there is no nvdisasm; it comes with CUDA's toolkit, or by\n"
                 "  pip install -r benchmarks/requirements-static.txt")
    return found


def print_head():
    """The head of a log of instructions, whose machine includes the assembler."""
    ptxas = subprocess.run([ROOT / "scripts/find-ptxas.sh"], capture_output=True, text=True)
    release = "unknown"
    if ptxas.returncode == 0:
        version = subprocess.run([ptxas.stdout.strip(), "--version"], capture_output=True,
                                 text=True).stdout
        release = re.search(r"release ([\d.]+)", version)[1]
    words = [str(Path(sys.argv[0]).name), *sys.argv[1:]]
    print(make_head(describe_commit(ROOT), f"{describe_machine()}, ptxas {release}",
                    f"python3 benchmarks/gpu/{' '.join(words)}"), end="\n\n", flush=True)


def compile_case(case, chip, nvdisasm):
    """The kernels of a case: name, resources, code, threads of a block."""
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder) / "module.mlir", Path(folder) / "module.cubin"
        source.write_text(case.module)
        command = [BUILD / "bin/blockscale-compile", source, f"--target={chip}"]
        subprocess.run([*command, "--emit=ptx", "-o", source.with_suffix(".ptx")], check=True)
        ptx = source.with_suffix(".ptx").read_text()
        info = subprocess.run([*command, "--emit=cubin", "--ptxas-info", "-o", cubin], check=True,
                              capture_output=True, text=True)
        text = subprocess.run([nvdisasm, "-c", cubin], check=True, capture_output=True,
                              text=True).stdout
    kernels = sass.parse(text)
    threads = dict(re.findall(r"\.entry (\w+)\(.*?\.reqntid (\d+)", ptx, re.S))
    for name, *numbers in RESOURCES.findall(info.stdout + info.stderr):
        registers, stores, loads, stack, shared = map(int, numbers)
        yield {"kernel": name, "registers": registers, "spills": stores + loads, "stack": stack,
               "shared": shared, "threads": int(threads[name])}, kernels[name]


def split_widest(widths, total):
    """The widest accesses that make up `total` bytes, and the others."""
    widths = sorted(widths, reverse=True)
    taken = 0
    while taken < len(widths) and sum(widths[:taken]) < total:
        taken += 1
    return widths[:taken], widths[taken:]


def measure(case, chip, resources, kernel):
    path = kernel.find_main_path()
    loads = [each.bytes for each in path if each.starts("LDG", "LDGSTS")]
    stores = [each.bytes for each in path if each.starts("STG")]
    element_bytes = 2
    elements = sum(width for width in loads if width >= 8) // element_bytes
    elements //= case.tensors + case.columns
    row = {**resources, "case": case.name, "whole": None, "main": None, "access": None,
           "scale_store": None, "in_flight": None}
    if not elements:
        return row
    data_bytes = elements if "mxfp8" in case.name else elements // 2
    data_bytes *= case.results // 2
    data, scales = split_widest(stores, data_bytes)
    threads = sass.count_threads_per_sm(chip, resources["threads"], resources["registers"],
                                        resources["shared"])
    row |= {
        "elements": elements,
        "whole": round(len(kernel.instructions) / elements, 2),
        "main": round(len(path) / elements, 2),
        "access": min([width for width in loads if width >= 8] + data),
        "scale_store": min(scales, default=None),
        "in_flight": threads * sass.bytes_before_first_use(path),
    }
    return row


def find_bar(bars, case):
    return next((bar for name, bar in bars.items() if case.name.startswith(name)), None)


def find_misses(case, chip, row):
    if row["spills"] or row["stack"]:
        yield "spills or a stack"
    is_sm100 = chip.startswith(("sm_10", "sm_11", "sm_12"))
    main_bar = find_bar(MAIN_BARS, case)
    if main_bar and is_sm100 and not (row["main"] and row["main"] <= main_bar):
        yield f"more than {main_bar} instructions an element on the main path"
    row_bars = find_bar(ROW_BARS, case)
    if not row_bars:
        return
    bar = row_bars[0 if is_sm100 else 1]
    if bar and not (row["whole"] and row["whole"] <= bar):
        yield f"more than {bar} instructions an element"
    if not is_sm100:
        return
    if not row["access"] or row["access"] < ACCESS_BAR:
        yield f"data accesses below {ACCESS_BAR} bytes"
    if not row["scale_store"] or row["scale_store"] < SCALE_STORE_BAR:
        yield f"scale stores below {SCALE_STORE_BAR} bytes"
    if not row["in_flight"] or row["in_flight"] < IN_FLIGHT_BAR:
        yield f"less than {IN_FLIGHT_BAR} bytes in flight"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="sm_100a", metavar="CHIP")
    parser.add_argument("--only", default="*8192x5120", metavar="GLOB", help="these cases")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    nvdisasm = find_nvdisasm()
    rows = []
    print_head()
    print(f"{options.target}:\n")
    print("| case | registers | spills, stack | whole / element | main path / element "
          "| data access | scale store | KB in flight |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for case in CASES:
        if not fnmatch.fnmatch(case.name, options.only):
            continue
        for resources, kernel in compile_case(case, options.target, nvdisasm):
            row = measure(case, options.target, resources, kernel)
            row["missed"] = list(find_misses(case, options.target, row))
            rows.append(row)
            in_flight = row["in_flight"] and round(row["in_flight"] / 1000)
            cells = [case.label, row["registers"], f"{row['spills']}, {row['stack']}",
                     row["whole"], row["main"], row["access"], row["scale_store"], in_flight]
            print("|", " | ".join("-" if cell is None else str(cell) for cell in cells), "|")
    print("\nPeers, instructions an element on sm_100a:\n")
    print("| what | kernel | / element |\n| --- | --- | --- |")
    for peer in PEERS:
        print("|", " | ".join(peer), "|")
    if options.json:
        options.json.write_text(json.dumps({"target": options.target, "rows": rows}, indent=1))
    for row in rows:
        for missed in row["missed"]:
            print(f"missed: {row['case']}: {missed}")
    return 1 if any(row["missed"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
