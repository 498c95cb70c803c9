#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One markdown table and one JSON of what blockscale-bench and peers.py wrote.

The first table has the bars that the figures are held to; the exit status is 1
if a case failed or a bar is missed.
"""

import argparse
import json
import pathlib
import re
import statistics
import sys

MX, NV = "quantize_mxfp8_1x32_rceil", "quantize_nvfp4_1x16_torchao_swizzled"
# The least share of memcpy by the vectors of a CPU, and the vectors that code for
# other CPUs than the host may use.
MEMCPY_BARS = {"AVX-512": {MX: 0.4, NV: 0.3}, "AVX2": {MX: 0.2, NV: 0.2},
               "SSE2": {MX: 0.1, NV: 0.1}}
CPUS = {"x86-64-v3": "AVX2", "x86-64": "SSE2"}
AVX512 = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
SHAPE_BARS = [(f"quantize_mxfp8_{shape}_rceil", 1.3)
              for shape in ("32x1", "32x32")]
PEER_BARS = [("MXFP8 1x32 rceil", "torchao eager", 15),
             ("NVFP4 1x16, global scale, swizzled", "torchao eager", 80),
             ("NVFP4 1x16, global scale, swizzled", "torch.compile NVFP4", 30),
             ("scale sweep, 1024x1024", "numpy, 126 passes", 20),
             ("scale sweep, 1024x1024", "torch, 126 passes", 20),
             ("mxfp8 product, 1024x1024x1024", "numpy, f32", 0.7),
             ("nvfp4 product, 1024x1024x1024", "numpy, f32", 0.7),
             ("mxfp8 weight, one row", "copy", 0.5),
             ("nvfp4 weight, one row", "copy", 0.5)]


def read_suite(path):
    """{(case, cpu, threads): figures or an error message}"""
    figures = {}
    for entry in json.loads(path.read_text())["benchmarks"]:
        case, cpu, threads = entry["run_name"].split("/")[:3]
        key = case, cpu, int(threads)
        if entry.get("error_occurred"):
            figures[key] = "FAILED: " + entry["error_message"]
        elif entry.get("aggregate_name") == "median":
            figures[key] = {"ms": entry["real_time"], "GBps": entry["GBps"],
                            "of_memcpy": entry["of_memcpy"],
                            "memcpy_GBps": entry["memcpy_GBps"]}
    return figures


def get_vectors(cpuinfo):
    """The widest vectors of the CPU that /proc/cpuinfo describes: a key of MEMCPY_BARS."""
    line = re.search(r"^flags\s*:(.*)$", cpuinfo, re.M)
    flags = set(line[1].split()) if line else set()
    return "AVX-512" if flags >= AVX512 else "AVX2" if "avx2" in flags else "SSE2"


def get_ratio(group, peer):
    """How many times faster blockscale is: the median over the rounds."""
    ours, theirs = group["ms"].get("blockscale"), group["ms"].get(peer)
    if not ours or not theirs:
        return None
    return statistics.median(b / a for a, b in zip(ours, theirs))


def check_bars(figures, peers, vectors):
    """Rows of bar, asked, found, verdict, where the host has these vectors."""
    def row(what, asked, found, met):
        verdict = "not measured" if found is None else "met" if met else "MISSED"
        return what, asked, "-" if found is None else f"{found:.2f}", verdict

    def get(case, cpu="host", figure="of_memcpy"):
        entry = figures.get((case, cpu, 1))
        return entry[figure] if isinstance(entry, dict) else None

    for cpu, has in {"host": vectors, **CPUS}.items():
        for case, bar in MEMCPY_BARS[has].items():
            found = get(case, cpu)
            yield row(f"{case}, {cpu} ({has}), of memcpy", f">= {bar}", found,
                      found and found >= bar)
    for case, bar in SHAPE_BARS:
        time, base = get(case, figure="ms"), get(MX, figure="ms")
        found = time / base if time and base else None
        yield row(f"{case}, time of 1x32's", f"<= {bar}", found, found and found <= bar)
    for name, peer, bar in PEER_BARS if peers else []:
        group = peers["groups"].get(name)
        found = get_ratio(group, peer) if group else None
        yield row(f"{name}, times {peer}", f">= {bar}", found, found and found >= bar)


def print_table(header, rows):
    print("| " + " | ".join(header) + " |")
    print("|" + " --- |" * len(header))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def get_suite_rows(figures):
    for case in dict.fromkeys(key[0] for key in figures):
        keys = [key for key in figures if key[0] == case]
        for _, cpu, threads in keys:
            entry = figures[case, cpu, threads]
            name = f"{case}, {cpu}, {threads} thread" + "s" * (threads > 1)
            if isinstance(entry, str):
                yield name, entry, "", ""
            else:
                yield (name, f"{entry['ms']:.2f}", f"{entry['GBps']:.2f}",
                       f"{entry['of_memcpy']:.3f}")


def get_peer_rows(peers):
    for name, group in peers["groups"].items():
        for candidate, times in group["ms"].items():
            ours = group["ms"].get("blockscale")
            ratio = statistics.median(b / a for a, b in zip(ours, times)) if ours else None
            of_memcpy = (statistics.median(
                a / b for a, b in zip(group["ms"]["memcpy"], times))
                if "memcpy" in group["ms"] else None)
            yield (f"{name}: {candidate}", f"{statistics.median(times):.2f}",
                   f"{of_memcpy:.4f}" if of_memcpy else "-",
                   f"{ratio:.2f}" if ratio else "-")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--suite", type=pathlib.Path, required=True)
    parser.add_argument("--peers", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    options = parser.parse_args()
    figures = read_suite(options.suite)
    peers = json.loads(options.peers.read_text()) if options.peers else None
    vectors = get_vectors(pathlib.Path("/proc/cpuinfo").read_text())
    bars = list(check_bars(figures, peers, vectors))

    print("### Bars\n")
    print_table(["figure, one thread", "bar", "found", ""], bars)
    print("### Compiled functions, 4096x4096 bf16, medians of the rounds\n")
    print_table(["function, CPU, threads", "ms", "GB/s", "of memcpy"],
                get_suite_rows(figures))
    if peers:
        print("### Peers, one thread, in one run\n")
        print_table(["what", "ms", "of memcpy", "times blockscale's"], get_peer_rows(peers))
        for name, note in peers["notes"].items():
            print(f"* {name}: {note}")
    options.out.write_text(json.dumps({
        "suite": {"/".join(map(str, key)): entry for key, entry in figures.items()},
        "peers": peers, "bars": bars}, indent=1))
    failures = [key for key, entry in figures.items() if isinstance(entry, str)]
    notes = [note for note in (peers["notes"].values() if peers else []) if "FAILED" in note]
    missed = [bar for bar in bars if bar[3] == "MISSED"]
    print(f"\n{len(failures) + len(notes)} failed, {len(missed)} bars missed")
    return 1 if failures or notes or missed else 0


if __name__ == "__main__":
    sys.exit(main())
