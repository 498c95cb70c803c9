#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares what the loads of matrix products bring to shared memory on a GPU of SM90 with what
they bring in the emulator, byte by byte.

    scripts/gpu/stages.py --pack FOLDER                                         # here
    python3 FOLDER/scripts/gpu/stages.py --run FOLDER --out ANSWERS.json.gz     # on the GPU
    scripts/gpu/stages.py --compare SILICON.json.gz EMULATOR.json.gz            # here

The products are compiled for sm_100a. In their text only the instructions that SM90 lacks are
replaced (stage_dump.py): a stage is copied to a dump where it would be multiplied. So the loads,
the barriers and their rings, the order of the tiles, the clusters, and the stores of results are
those of the product. They run as bundles through libBlockScaleRuntime, whose driver is NVIDIA's
or the emulator's. Operands and scales are bytes drawn at random, alike everywhere.

The answers hold a digest of each array of each stage of each CTA, one of the results, and the
whole dump of the first case. The first form needs blockscale-compile, the second one a driver,
Python and NumPy. The answers of an H200 are test/Data/stages/h200.json.gz, with which
test/Python/test_stages.py compares those of the emulator.
"""

import argparse
import base64
import datetime
import gzip
import hashlib
import json
import lzma
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BLOCKSCALE_BUILD_DIR", ROOT / "build"))
COPIES = ("python/blockscale_runtime.py", "scripts/log_head.py", "scripts/gpu/driver.py",
          "scripts/gpu/stage_dump.py", "scripts/gpu/stages.py")
LIBRARY = "libBlockScaleRuntime.so"
UNWRITTEN = 0xA5  # what the dump and the results hold before
DIGITS = 16  # of a digest

sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "python")]

import blockscale_runtime
from driver import find_driver_release
from log_head import describe_commit, make_head
from stage_dump import Stages, make_dump


@dataclass(frozen=True)
class Case:
    """A product. `formats` are those of A, B and the scales; `sizes` M, N, K and, of groups or
    of a batch, their number. `ends` are those of groups, in rows or in elements of K."""
    name: str
    formats: tuple
    sizes: tuple
    tile: tuple  # rows and columns
    stages: int
    ctas: int
    kind: str = "mm"
    ends: tuple = ()
    band: int = 1
    multicast: int = 1
    splits: int = 1

    @property
    def scale_tiles(self):
        """Tiles of scales along K in a stage of 128 bytes of K."""
        block = {"f8E4M3FN": 16, "f8E8M0FNU": 32}[self.formats[2]]
        return (256 if self.formats[0] == "f4E2M1FN" else 128) // block // 4

    @property
    def layout(self):
        return Stages.of(*self.tile, self.stages, self.scale_tiles)

    @property
    def capacity(self):
        """At least as many stages as a CTA loads."""
        m, n, k, *counts = self.sizes
        count = counts[0] if counts else 1
        steps = -(-k // (256 if self.formats[0] == "f4E2M1FN" else 128)) + count
        tiles = (-(-m // self.tile[0]) + count) * -(-n // self.tile[1]) * count
        return min(tiles * steps, 64)


MX = ("f8E4M3FN", "f8E4M3FN", "f8E8M0FNU")
MX_E5M2 = ("f8E5M2", "f8E4M3FN", "f8E8M0FNU")
MXFP4 = ("f4E2M1FN", "f4E2M1FN", "f8E8M0FNU")
NV = ("f4E2M1FN", "f4E2M1FN", "f8E4M3FN")

CASES = (
    Case("less than a tile", MX, (5, 9, 32), (128, 128), 1, 1),
    Case("one CTA, ring wraps", MX, (200, 136, 320), (128, 128), 2, 1),
    Case("wide tiles", MX_E5M2, (300, 300, 416), (128, 256), 3, 3, band=2),
    Case("one stage", MX, (129, 257, 288), (128, 256), 1, 2),
    Case("MXFP4", MXFP4, (150, 140, 544), (128, 128), 3, 2),
    Case("NVFP4", NV, (150, 200, 800), (128, 128), 3, 2),
    Case("NVFP4, wide tiles", NV, (257, 300, 544), (128, 256), 2, 2),
    Case("batch", MX, (70, 130, 160, 3), (128, 128), 2, 2, kind="batch"),
    Case("K in parts", MX, (130, 100, 1056), (128, 128), 2, 3, splits=3),
    Case("groups of rows", MX, (300, 150, 224, 6), (128, 128), 2, 2, kind="rows",
         ends=(0, 37, 37, 170, 171, 280)),
    Case("groups of rows, NVFP4", NV, (280, 260, 288, 5), (128, 256), 2, 3, kind="rows",
         ends=(129, 129, 130, 280, 280)),
    Case("groups of K", MX, (140, 150, 704, 6), (128, 128), 2, 2, kind="columns",
         ends=(0, 32, 192, 192, 480, 672)),
    Case("groups of K, NVFP4", NV, (130, 129, 800, 4), (128, 128), 3, 2, kind="columns",
         ends=(32, 32, 448, 800)),
    Case("pairs", MX, (300, 300, 352), (256, 256), 2, 2),
    Case("pairs, one stage", MX_E5M2, (257, 100, 160), (256, 256), 1, 2),
    Case("pairs, NVFP4", NV, (400, 257, 800), (256, 256), 3, 4),
    Case("pairs that share rows", MX, (300, 700, 352), (256, 256), 2, 4, multicast=2),
    Case("pairs that share rows, NVFP4", NV, (257, 1030, 1056), (256, 256), 3, 8, multicast=2,
         band=2),
    Case("pairs, groups of rows", MX, (600, 300, 224, 5), (256, 256), 2, 4, kind="rows",
         ends=(100, 100, 357, 358, 590), multicast=2),
    Case("pairs, groups of K", NV, (260, 270, 1088, 4), (256, 256), 2, 2, kind="columns",
         ends=(32, 32, 608, 1088)))


def write_module(case):
    """The text of a function with the product."""
    sys.path.insert(0, str(ROOT / "test/Execution/Inputs"))
    from products import Op

    m, n, k, *counts = case.sizes
    kind = "mm" if case.kind == "batch" else case.kind
    layouts = {"mm": ("swizzled", "swizzled"), "rows": ("grouped", "swizzled"),
               "columns": ("grouped", "grouped")}[kind]
    op = Op("product", kind, case.formats[2], case.formats[0], case.formats[1],
            layout_a=layouts[0], layout_b=layouts[1], batch=len(counts), dynamic="",
            shape={"B": tuple(counts) if kind == "mm" else (), "M": m, "N": n, "K": k,
                   **({"G": counts[0]} if kind != "mm" else {})})
    rows, cols = case.tile
    schedule = (f"#blockscale.gemm_schedule<rows = {rows}, cols = {cols}, "
                f"stages = {case.stages}, band = {case.band}, ctas = {case.ctas}, "
                f"multicast = {case.multicast}, splits = {case.splits}>")
    return op.text().replace("\n      : ", f" {{blockscale.schedule = {schedule}}}\n      : ", 1)


def write_bundle(case):
    """The bundle of the product that dumps its stages, compiled here."""
    import blockscale_bundle

    run = subprocess.run([BUILD / "bin/blockscale-compile", "-", "--target=sm_100a",
                          "--emit=bundle", "-o", "-"], input=write_module(case).encode(),
                         check=True, capture_output=True)
    [(plan, ptx)], constants = blockscale_bundle.read(run.stdout)
    return blockscale_bundle.write(make_dump(plan, ptx, case.layout, case.capacity), constants)


def pack(folder, cases=CASES):
    folder.mkdir(parents=True)
    for name in COPIES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    shutil.copy(BUILD / "lib" / LIBRARY, folder)
    for i, case in enumerate(cases):
        (folder / f"{i:02}.bundle").write_bytes(write_bundle(case))
    (folder / "pack.json").write_text(json.dumps({"commit": describe_commit(ROOT)}))


def digest(data):
    return hashlib.sha256(data).hexdigest()[:DIGITS]


def draw_arguments(case, function):
    """Bytes at random, but for the ends of groups. SHA-256 draws alike everywhere."""
    arrays = []
    for i, buffer in enumerate(function.arguments):
        shape = tuple(map(int, buffer.sizes))
        if buffer.dtype == "int32":
            arrays.append(np.array(case.ends, np.int32))
            continue
        size = int(np.prod(shape))
        blocks = (hashlib.sha256(f"{case.name} {i} {j}".encode()).digest()
                  for j in range(-(-size // 32)))
        arrays.append(np.frombuffer(b"".join(blocks)[:size], np.uint8).reshape(shape))
    return arrays


def read_stages(case, dump):
    """For each CTA, for each stage in its order, the digests of its arrays."""
    ctas = []
    for records in dump:
        stages = []
        for record in records:
            if (record == UNWRITTEN).all():
                break
            digests, at = [], 0
            for _, size in case.layout.parts:
                digests.append(digest(record[at:at + size].tobytes()))
                at += size
            stages.append(digests)
        expected_end = records[len(stages):]
        if not (expected_end == UNWRITTEN).all():
            raise RuntimeError(f"{case.name}: expected stages one after the other")
        ctas.append(stages)
    return ctas


def run(folder, driver=None, cases=CASES):
    """The answers of a driver: NVIDIA's where `driver` is None."""
    device = blockscale_runtime.Runtime(folder / LIBRARY).device(0, driver)
    found = []
    for i, case in enumerate(cases):
        module = device.load(device.runtime.bundle(folder / f"{i:02}.bundle"))
        *results, dump = module.run("product", *draw_arguments(case, module.function("product")),
                                    fill=UNWRITTEN)
        found.append({"case": repr(case), "stages": read_stages(case, dump),
                      "results": [digest(result.tobytes()) for result in results]})
        if not i:
            first = base64.b85encode(lzma.compress(dump.tobytes())).decode()
    version = device.driver_version
    return {"date": f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M} UTC",
            "commit": json.loads((folder / "pack.json").read_text())["commit"],
            "device": device.name,
            "driver": f"{find_driver_release()} of CUDA {version // 1000}.{version % 1000 // 10}",
            "first": first, "cases": found}


def write_answers(path, answers):
    # Without the time, so that equal answers are equal files.
    path.write_bytes(gzip.compress(json.dumps(answers).encode(), mtime=0))


def read_answers(path):
    return json.loads(gzip.decompress(path.read_bytes()))


def compare_case(case, silicon, emulator):
    """The number of stages, and what is different."""
    different = []
    if silicon["case"] != emulator["case"]:
        return 0, [f"expected the case {silicon['case']}, but got {emulator['case']}"]
    for cta, (wanted, got) in enumerate(zip(silicon["stages"], emulator["stages"])):
        if len(wanted) != len(got):
            different.append(f"CTA {cta}: {len(wanted)} stages, but {len(got)} in the emulator")
        for i, (one, other) in enumerate(zip(wanted, got)):
            names = [name for (name, _), a, b in zip(case.layout.parts, one, other) if a != b]
            if names:
                different.append(f"CTA {cta}, stage {i}: other {', '.join(names)}")
    if len(silicon["stages"]) != len(emulator["stages"]):
        different.append("another number of CTAs")
    if silicon["results"] != emulator["results"]:
        different.append("other results")
    return sum(map(len, silicon["stages"])), different


def find_first_byte(silicon, emulator):
    """Where the dumps of the first case differ; None where they do not."""
    wanted, got = (lzma.decompress(base64.b85decode(answers["first"]))
                   for answers in (silicon, emulator))
    if wanted == got:
        return None
    at = next((i for i, (a, b) in enumerate(zip(wanted, got)) if a != b), min(map(len, (wanted,
                                                                                        got))))
    return f"the dump of the first case differs from byte {at} on"


def compare(silicon, emulator, cases=CASES):
    """Lines, and whether all is equal."""
    lines = [f"{emulator['device']}, commit {emulator['commit']}, {emulator['date']}"]
    counts = {len(cases), len(silicon["cases"]), len(emulator["cases"])}
    if len(counts) != 1:
        return [*lines, (f"expected {len(cases)} cases, but got {len(silicon['cases'])} and "
                         f"{len(emulator['cases'])}"), "failed"], False
    stages = failed = 0
    for case, *both in zip(cases, silicon["cases"], emulator["cases"]):
        count, different = compare_case(case, *both)
        if not count:
            different.append("expected stages")
        lines.append(f"  {case.name}: {len(both[0]['stages'])} CTAs, {count} stages of "
                     f"{case.layout.bytes} bytes: {'different' if different else 'equal'}")
        lines += [f"    {each}" for each in different]
        stages += count
        failed += bool(different)
    if problem := find_first_byte(silicon, emulator):
        lines.append(problem)
        failed += 1
    lines.append(f"{len(cases)} products, {stages} stages: {failed} different")
    return [*lines, "failed" if failed else "passed"], not failed


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pack", type=Path, metavar="FOLDER", help="is made, and must not exist")
    parser.add_argument("--run", type=Path, metavar="FOLDER")
    parser.add_argument("--driver", help="its library (default: NVIDIA's)")
    parser.add_argument("--out", type=Path, metavar="ANSWERS", help="where to write the answers")
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("SILICON", "EMULATOR"))
    options = parser.parse_args()
    if sum(map(bool, (options.pack, options.run, options.compare))) != 1 or (
            bool(options.run) != bool(options.out)):
        parser.error("expected --pack, or --run and --out, or --compare")
    if options.pack:
        pack(options.pack)
        return 0
    if options.run:
        answers = run(options.run, options.driver)
        write_answers(options.out, answers)
        count = sum(len(stages) for case in answers["cases"] for stages in case["stages"])
        print(f"{answers['device']}: {len(answers['cases'])} products, {count} stages")
        return 0
    silicon, emulator = map(read_answers, options.compare)
    lines, is_right = compare(silicon, emulator)
    command = " ".join(["scripts/gpu/stages.py --compare", *map(str, options.compare)])
    print(make_head(silicon["commit"], f"{silicon['device']}, driver {silicon['driver']}", command,
                    date=silicon["date"]))
    print(*lines, sep="\n")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
