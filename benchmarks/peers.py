#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled functions beside torchao, torch.compile and numpy, in one run.

One thread on both sides, the same data. Each round times everything of a group
in turn: the fastest of a few calls, a call or two for what takes seconds. The
figures are medians over the rounds; ratios are medians of the ratios within a
round. Results are compared bit by bit before. Writes JSON.

Peers whose package is missing are left out, and the notes say so.
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import ml_dtypes
import numpy as np

from cases import ROOT, read_cases
from sweep_reference import sweep

sys.path.append(str(ROOT / "python"))

from blockscale_object import Object
from blockscale_reference import pack, scaled_matmul, swizzle

try:
    import torch
    from torchao.prototype.mx_formats.config import ScaleCalculationMode
    from torchao.prototype.mx_formats.mx_tensor import to_mx
    from torchao.prototype.mx_formats.nvfp4_tensor import nvfp4_quantize
    from torchao.prototype.mx_formats.utils import to_blocked
    torch.set_num_threads(1)
except ImportError:
    torch = None

SIZE = 4096
CPUS = {"host": "", "x86-64-v3": " AVX2", "x86-64": " baseline"}


def measure(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def time_round(call, budget=0.1, calls=5):
    """Seconds of the fastest of at most `calls` calls."""
    first = measure(call)
    more = min(calls - 1, int(budget / first))
    return min([first] + [measure(call) for _ in range(more)])


def time_group(candidates, rounds):
    """Milliseconds of each candidate, a list over the rounds."""
    for call in candidates.values():
        call()
    times = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, call in candidates.items():
            times[name].append(1000 * time_round(call))
    return times


def make_memcpy(num_bytes):
    """A copy that reads and writes `num_bytes` in all."""
    source = np.ones(num_bytes // 2, np.uint8)
    target = np.empty_like(source)
    return lambda: np.copyto(target, source)


def byte_view(tensor):
    return tensor.view(torch.uint8).numpy().reshape(-1)


class Report:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.cases = read_cases()
        self.notes = {}
        self.groups = {}

    def compile(self, name, arrays):
        """The function for each CPU; empty, with a note, where it fails."""
        compiled = {}
        for cpu in CPUS:
            try:
                code = Object(self.options.tool, self.cases[name],
                              pathlib.Path(self.folder) / f"{name}-{cpu}", cpu)
                compiled[cpu] = code.bind(name, *arrays)
            except Exception as error:
                self.notes[f"{name} {cpu}"] = f"FAILED: {error}"
        return compiled

    def add_compiled_torch(self, candidates, name, function):
        """torch.compile of `function`, or a note saying why not."""
        try:
            compiled = torch.compile(function, fullgraph=True)
            seconds = measure(compiled)
            self.notes[name] = f"first call {seconds:.1f} s"
            candidates[name] = compiled
        except Exception as error:
            self.notes[name] = "fails: " + str(error).strip().splitlines()[0][:160]

    def check(self, name, equal):
        self.notes[name] = "same bytes" if equal else "FAILED: other bytes"

    def time(self, group, num_bytes, candidates, rounds=None):
        if num_bytes:
            candidates = {"memcpy": make_memcpy(num_bytes), **candidates}
        times = time_group(candidates, rounds or self.options.rounds)
        self.groups[group] = {"bytes": num_bytes, "ms": times}


def quantize_mxfp8(report, x):
    data = np.zeros((SIZE, SIZE), np.uint8)
    scales = np.zeros((SIZE, SIZE // 32), np.uint8)
    arrays = [x, data, scales]
    ours = report.compile("quantize_mxfp8_1x32_rceil", arrays)
    candidates = {f"blockscale{CPUS[cpu]}": call for cpu, call in ours.items()}
    if torch:
        tensor = torch.from_numpy(x.view(np.int16)).view(torch.bfloat16)

        def peer():
            return to_mx(tensor, torch.float8_e4m3fn, 32, ScaleCalculationMode.RCEIL)

        expected_scales, expected = peer()
        for cpu, call in ours.items():
            call()
            report.check(f"MXFP8 {cpu} against torchao",
                         (byte_view(expected) == data.reshape(-1)).all()
                         and (byte_view(expected_scales) == scales.reshape(-1)).all())
        candidates["torchao eager"] = peer
        report.add_compiled_torch(candidates, "torch.compile", peer)
    report.time("MXFP8 1x32 rceil", sum(a.nbytes for a in arrays), candidates)


def quantize_nvfp4(report, x):
    decode = np.array(np.abs(x.view(ml_dtypes.bfloat16).astype(np.float32)).max() / 2688,
                      np.float32)
    data = np.zeros((SIZE, SIZE // 2), np.uint8)
    scales = np.zeros((SIZE // 128, SIZE // 64, 32, 4, 4), np.uint8)
    arrays = [x, decode, data, scales]
    ours = report.compile("quantize_nvfp4_1x16_torchao_swizzled", arrays)
    candidates = {f"blockscale{CPUS[cpu]}": call for cpu, call in ours.items()}
    if torch:
        tensor = torch.from_numpy(x.view(np.int16)).view(torch.bfloat16)
        scale = torch.tensor(float(decode))

        def peer():
            block_scales, codes = nvfp4_quantize(tensor, 16, scale)
            return to_blocked(block_scales), codes

        expected_scales, expected = peer()
        for cpu, call in ours.items():
            call()
            report.check(f"NVFP4 {cpu} against torchao",
                         (byte_view(expected) == data.reshape(-1)).all()
                         and (byte_view(expected_scales) == scales.reshape(-1)).all())
        candidates["torchao eager"] = peer
        report.add_compiled_torch(candidates, "torch.compile NVFP4", peer)
    report.time("NVFP4 1x16, global scale, swizzled", sum(a.nbytes for a in arrays),
                candidates)


def scale_sweep(report, x):
    """On part of the data: a reference takes seconds for it."""
    size = 1024
    x = np.ascontiguousarray(x[:size, :size])
    blocks = x.view(ml_dtypes.bfloat16).astype(np.float32).reshape(-1, 16)
    amax = np.array(np.abs(blocks).max(), np.float32)
    best = np.zeros((size, size // 16), np.float32)
    ours = report.compile("scale_sweep_1024", [x, amax, best])
    candidates = {f"blockscale{CPUS[cpu]}": call for cpu, call in ours.items()}
    expected, _ = sweep(np, blocks, amax)
    for cpu, call in ours.items():
        call()
        other = int((best.reshape(-1) != expected).sum())
        report.notes[f"sweep {cpu}"] = f"{other} of {expected.size} winners differ"
    candidates["numpy, 126 passes"] = lambda: sweep(np, blocks, amax)
    if torch:
        tensor, scalar = torch.from_numpy(blocks), torch.tensor(float(amax))
        candidates["torch, 126 passes"] = lambda: sweep(torch, tensor, scalar)
    report.time("scale sweep, 1024x1024", None, candidates, min(report.options.rounds, 3))


def random_operand(random, form, rows, cols):
    """Codes and scale bytes as they are stored, and their values: MXFP8 with linear scales
    or NVFP4 with swizzled ones."""
    if form == "mxfp8":
        codes = random.integers(0, 0x7F, (rows, cols), np.uint8)
        codes |= random.integers(0, 2, codes.shape, np.uint8) << 7
        scales = random.integers(120, 135, (rows, cols // 32), np.uint8)
        values = codes.view(ml_dtypes.float8_e4m3fn).astype(np.float32)
        factors = np.exp2(scales.astype(np.float32) - 127)
        stored = codes, scales
    else:
        codes = random.integers(0, 16, (rows, cols), np.uint8)
        scales = random.integers(0x20, 0x60, (rows, cols // 16), np.uint8)
        values = codes.view(ml_dtypes.float4_e2m1fn).astype(np.float32)
        factors = scales.view(ml_dtypes.float8_e4m3fn).astype(np.float32)
        stored = pack(codes), swizzle(scales)
    return stored, values * np.repeat(factors, cols // factors.shape[1], axis=1)


def is_near(product, got):
    """Whether a bf16 result is within the bound of docs/Numerics.md."""
    error = np.abs(got.view(ml_dtypes.bfloat16).astype(np.float64) - product.value)
    return bool((error <= product.bound() + 2.0**-8 * np.abs(product.value)).all())


def products(report, x):
    """Beside numpy's product of f32 matrices, which hold the decoded values."""
    size = 1024
    for form in ("mxfp8", "nvfp4"):
        random = np.random.default_rng(2)
        a, left = random_operand(random, form, size, size)
        b, right = random_operand(random, form, size, size)
        result = np.zeros((size, size), np.uint16)
        ones = [np.ones((), np.float32)] * (2 if form == "nvfp4" else 0)
        ours = report.compile(f"scaled_mm_{form}_{size}", [a[0], b[0], a[1], b[1], *ones, result])
        product = scaled_matmul(left, right)
        for cpu, call in ours.items():
            call()
            report.notes[f"{form} product {cpu}"] = (
                "within the bound" if is_near(product, result) else "FAILED: beyond the bound")
        candidates = {f"blockscale{CPUS[cpu]}": call for cpu, call in ours.items()}
        right_t = right.T
        candidates["numpy, f32"] = lambda left=left, right_t=right_t: left @ right_t
        report.time(f"{form} product, 1024x1024x1024", None, candidates)


def weight_products(report, x):
    """One row by a weight that no cache holds, beside a copy of its codes and scales."""
    rows, cols = 16384, SIZE
    for form in ("mxfp8", "nvfp4"):
        random = np.random.default_rng(3)
        b, right = random_operand(random, form, rows, cols)
        row, result = np.ascontiguousarray(x[:1]), np.zeros((1, rows), np.uint16)
        ones = [np.ones((), np.float32)] * (form == "nvfp4")
        ours = report.compile(f"scaled_mm_{form}_weight_1", [row, *b, *ones, result])
        product = scaled_matmul(row.view(ml_dtypes.bfloat16).astype(np.float32), right)
        for cpu, call in ours.items():
            call()
            report.notes[f"{form} weight {cpu}"] = (
                "within the bound" if is_near(product, result) else "FAILED: beyond the bound")
        candidates = {f"blockscale{CPUS[cpu]}": call for cpu, call in ours.items()}
        candidates["copy"] = make_memcpy(2 * sum(part.nbytes for part in b))
        report.time(f"{form} weight, one row", None, candidates)


PARTS = (quantize_mxfp8, quantize_nvfp4, scale_sweep, products, weight_products)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", default=ROOT / "build/bin/blockscale-compile")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", choices=[part.__name__ for part in PARTS], action="append",
                        help="measure this part, not all; may be given again")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    options = parser.parse_args()

    random = np.random.default_rng(1)
    x = random.standard_normal((SIZE, SIZE), dtype=np.float32)
    x = x.astype(ml_dtypes.bfloat16).view(np.uint16)
    with tempfile.TemporaryDirectory() as folder:
        report = Report(options, folder)
        report.notes["torch"] = torch.__version__ if torch else \
            "missing: scripts/bench.sh --peers installs it"
        for part in PARTS:
            if not options.only or part.__name__ in options.only:
                part(report, x)
    options.out.write_text(json.dumps(
        {"load": os.getloadavg(), "groups": report.groups, "notes": report.notes}, indent=1))


if __name__ == "__main__":
    main()
