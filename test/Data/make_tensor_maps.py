#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes tensor_maps/products.json: the tensor maps in the launch plans of products, each
once, and those that the tests of tensor maps encode. Sizes are constants, so that a plan has
numbers and no expressions. The answers of a GPU's driver (h200.json.gz) are to these maps: where
the file changes, scripts/gpu/tensor_maps.py has to ask one again.

    test/Data/make_tensor_maps.py > test/Data/tensor_maps/products.json
    test/Data/make_tensor_maps.py --every=N   of every Nth product only
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BLOCKSCALE_BUILD_DIR", ROOT / "build"))
sys.path[:0] = [str(ROOT / "test/Execution/Inputs"), str(ROOT / "test")]

import sm100_matmul
from products import Op

# Sizes of layers of transformers, M x N x K.
SHAPES = ((128, 128, 256), (1, 300, 4096), (4096, 4096, 4096), (8192, 28672, 8192),
          (16384, 5120, 8192), (1 << 20, 128, 128))
OPERANDS = (("f8E4M3FN", "f4E2M1FN", "f4E2M1FN"), ("f8E8M0FNU", "f4E2M1FN", "f4E2M1FN"),
            ("f8E8M0FNU", "f8E4M3FN", "f8E4M3FN"), ("f8E8M0FNU", "f8E5M2", "f4E2M1FN"))
DRAWN = 60
SCHEDULES = ("rows = 128, cols = 128, stages = 2", "rows = 128, cols = 256, stages = 2",
             "rows = 256, cols = 256, stages = 2")
# emulator/test/run-tensor-map.test, and the matrices of Triton in emulator/test/Compilers.
OTHERS = (dict(element="UINT16", dims=[32, 8], strides=[64], box=[16, 4], swizzle="NONE"),
          dict(element="UINT16", dims=[32, 3], strides=[128], box=[16, 4], swizzle="32B"),
          dict(element="BFLOAT16", dims=[128, 256], strides=[256], box=[64, 128], swizzle="128B"),
          dict(element="BFLOAT16", dims=[64, 128], strides=[128], box=[32, 64], swizzle="64B"),
          dict(element="UINT8", dims=[512, 128], strides=[512], box=[128, 128], swizzle="128B"))


def list_ops():
    """Modules of one product each."""
    for number in range(DRAWN):
        random = np.random.default_rng((1, number))
        is_pair = number % 2 and random.random() < sm100_matmul.PAIRS
        op = sm100_matmul.draw_op(random, "mm",
                                  sm100_matmul.KINDS[number % len(sm100_matmul.KINDS)],
                                  is_pair)
        yield op, sm100_matmul.draw_schedule(random, op, is_pair) if number % 2 else None
    for scale, a, b in OPERANDS:
        for m, n, k in SHAPES:
            shape = {"B": (), "M": m, "N": n, "K": k}
            for schedule in SCHEDULES:
                yield (Op("mm", scale=scale, a=a, b=b, result="bf16", shape=shape),
                       (f"#blockscale.gemm_schedule<{schedule}, band = 2, ctas = 132, "
                        "multicast = 1, splits = 1>"))
            for kind in ("rows", "columns"):
                yield Op("mm", kind, scale=scale, a=a, b=b, result="bf16", layout_a="grouped",
                         layout_b="linear" if kind == "rows" else "grouped",
                         shape={**shape, "G": 8}), None


def find_maps(folder, number, op, schedule):
    op.dynamic = ""
    text = op.text()
    if schedule:
        text = text.replace("\n      : ", f" {{blockscale.schedule = {schedule}}}\n      : ", 1)
    path = folder / f"{number}.mlir"
    path.write_text(text)
    plan = subprocess.run([BUILD / "bin/blockscale-compile", path, "--target=sm_100a",
                           "--emit=plan", "-o", "-"], check=True, capture_output=True, text=True)
    launches = [step["launch"] for function in json.loads(plan.stdout)["functions"]
                for step in function["steps"] if "launch" in step]
    return [parameter["tensor_map"] for launch in launches
            for parameter in launch["parameters"] if "tensor_map" in parameter]


def make(every):
    """Lines of JSON, sorted, each map once whatever buffer it describes; of every Nth product."""
    found = [{"address": {}, "element_strides": [1] * len(map["dims"]), "fill": "ZERO",
              "interleave": "NONE", "l2_promotion": "NONE", **map} for map in OTHERS]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        for maps in pool.map(lambda each: find_maps(Path(folder), each[0], *each[1]),
                             list(enumerate(list_ops()))[::every]):
            found += maps
    for map in found:
        map["address"].pop("buffer", None)
    return sorted({json.dumps(map, sort_keys=True) for map in found})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--every", type=int, default=1, metavar="N")
    print("[", ",\n".join(make(parser.parse_args().every)), "]", sep="\n")
