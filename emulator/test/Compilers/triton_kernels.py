#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels in Triton and Gluon, compiled ahead of time: PTX that is not ours to write.

    python triton_kernels.py OUT_DIR

writes one NAME.ptx a kernel and target, and triton.json with what a launch has
to know of each: kernel name, threads, dynamic shared memory, tensor maps. Needs
Triton alone (the version in requirements.txt), no GPU.
"""

import json
import sys
from pathlib import Path

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from gluon_kernels import pair_source


@triton.jit
def silu(x, y, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + o, mask=o < n).to(tl.float32)
    v = v / (1.0 + tl.exp(-v))
    tl.store(y + o, v.to(tl.bfloat16), mask=o < n)


@triton.jit
def scale_shift(x, y, n, scale, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + o, mask=o < n)
    v = tl.maximum(v * scale + 0.75, -2.0)
    tl.store(y + o, v.to(tl.float8e4nv), mask=o < n)


@triton.jit
def softmax(x, y, n, B: tl.constexpr):
    row = tl.program_id(0)
    o = tl.arange(0, B)
    v = tl.load(x + row * n + o, mask=o < n, other=-float("inf")).to(tl.float32)
    v = tl.exp(v - tl.max(v, 0))
    v = v / tl.sum(v, 0)
    tl.store(y + row * n + o, v.to(tl.bfloat16), mask=o < n)


@triton.jit
def reduce(x, y, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + o, mask=o < n, other=0.0)
    tl.atomic_add(y, tl.sum(v * v + tl.sqrt(tl.abs(v)), 0))
    tl.atomic_max(y + 1, tl.max(v, 0))


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    om = tl.program_id(0) * BM + tl.arange(0, BM)
    on = tl.program_id(1) * BN + tl.arange(0, BN)
    ok = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + om[:, None] * K + (k + ok)[None, :])
        y = tl.load(b + (k + ok)[:, None] * N + on[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + om[:, None] * N + on[None, :], acc.to(tl.bfloat16))


@triton.jit
def matmul_tma(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.program_id(0)
    j = tl.program_id(1)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(a.load([i * BM, k]), b.load([k, j * BN]), acc)
    c.store([i * BM, j * BN], acc.to(tl.bfloat16))


@triton.jit
def scaled(a, sa, b, sb, c, M, N, K, V: tl.constexpr, PACK: tl.constexpr, FMT: tl.constexpr,
           BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    om = tl.program_id(0) * BM + tl.arange(0, BM)
    on = tl.program_id(1) * BN + tl.arange(0, BN)
    ok = tl.arange(0, BK // PACK)
    os = tl.arange(0, BK // V)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + om[:, None] * (K // PACK) + (k // PACK + ok)[None, :])
        y = tl.load(b + on[:, None] * (K // PACK) + (k // PACK + ok)[None, :])
        sx = tl.load(sa + om[:, None] * (K // V) + (k // V + os)[None, :])
        sy = tl.load(sb + on[:, None] * (K // V) + (k // V + os)[None, :])
        acc = tl.dot_scaled(x, sx, FMT, y.T, sy, FMT, acc)
    tl.store(c + om[:, None] * N + on[None, :], acc.to(tl.bfloat16))


@triton.jit
def scaled_tma(a, sa, b, sb, c, M, N, K, V: tl.constexpr, PACK: tl.constexpr, FMT: tl.constexpr,
               BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.program_id(0)
    j = tl.program_id(1)
    om = i * BM + tl.arange(0, BM)
    on = j * BN + tl.arange(0, BN)
    os = tl.arange(0, BK // V)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        x = a.load([i * BM, k // PACK])
        y = b.load([j * BN, k // PACK])
        sx = tl.load(sa + om[:, None] * (K // V) + (k // V + os)[None, :])
        sy = tl.load(sb + on[:, None] * (K // V) + (k // V + os)[None, :])
        acc = tl.dot_scaled(x, sx, FMT, y.T, sy, FMT, acc)
    c.store([i * BM, j * BN], acc.to(tl.bfloat16))


@triton.jit
def scaled_copied(a, sa, b, sb, c, M, N, K, V: tl.constexpr, PACK: tl.constexpr, FMT: tl.constexpr,
                  BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr):
    """Scales in the hardware's tiles of 128x4, which tcgen05.cp takes to tensor memory."""
    i = tl.program_id(0)
    j = tl.program_id(1)
    RM: tl.constexpr = BM // 128
    RN: tl.constexpr = BN // 128
    RK: tl.constexpr = BK // V // 4
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in tl.range(0, K, BK, num_stages=STAGES):
        x = a.load([i * BM, k // PACK])
        y = b.load([j * BN, k // PACK])
        sx = sa.load([0, i * RM, k // BK * RK, 0, 0])
        sy = sb.load([0, j * RN, k // BK * RK, 0, 0])
        sx = sx.reshape(RM, RK, 32, 4, 4).trans(0, 3, 2, 1, 4).reshape(BM, BK // V)
        sy = sy.reshape(RN, RK, 32, 4, 4).trans(0, 3, 2, 1, 4).reshape(BN, BK // V)
        acc = tl.dot_scaled(x, sx, FMT, y.T, sy, FMT, acc)
    c.store([i * BM, j * BN], acc.to(tl.bfloat16))


def compile_all(out):
    meta = {}

    def emit_source(file, source, chip, **options):
        result = triton.compile(source, target=GPUTarget("cuda", chip, 32), options=options)
        (out / file).write_text(result.asm["ptx"])
        meta[file] = {"kernel": result.metadata.name, "threads": 32 * result.metadata.num_warps,
                      "shared": result.metadata.shared, "ctas": result.metadata.num_ctas,
                      "maps": result.metadata._asdict().get("tensordesc_meta") or []}
        print(file, flush=True)

    def emit(name, function, signature, constants, chips, warps=4):
        signature = dict(signature, **dict.fromkeys(constants, "constexpr"))
        aligned = {(i,): [["tt.divisibility", 16]]
                   for i, type_ in enumerate(signature.values()) if type_.startswith("*")}
        for chip in chips:
            emit_source(f"triton_{name}_sm_{chip}.ptx",
                        ASTSource(function, signature, constants, aligned), chip, num_warps=warps)

    sizes = {"M": "i32", "N": "i32", "K": "i32"}
    emit("silu", silu, {"x": "*bf16", "y": "*bf16", "n": "i32"}, {"B": 1024}, (90, 100))
    emit("scale_shift", scale_shift, {"x": "*fp32", "y": "*fp8e4nv", "n": "i32", "scale": "fp32"},
         {"B": 512}, (90, 100))
    emit("softmax", softmax, {"x": "*bf16", "y": "*bf16", "n": "i32"}, {"B": 1024}, (90, 100))
    emit("reduce", reduce, {"x": "*fp32", "y": "*fp32", "n": "i32"}, {"B": 1024}, (90, 100))
    pointers = {"a": "*bf16", "b": "*bf16", "c": "*bf16", **sizes}
    emit("matmul", matmul, pointers, {"BM": 128, "BN": 128, "BK": 64}, (90, 100))
    emit("matmul_small", matmul, pointers, {"BM": 32, "BN": 32, "BK": 32}, (90,))
    maps = {"a": "tensordesc<bf16[128,64]>", "b": "tensordesc<bf16[64,128]>",
            "c": "tensordesc<bf16[128,128]>", **sizes}
    emit("matmul_tma", matmul_tma, maps, {"BM": 128, "BN": 128, "BK": 64}, (90, 100))
    nvfp4 = {"V": 16, "PACK": 2, "FMT": "e2m1", "BM": 128, "BN": 128, "BK": 256}
    mxfp8 = {"V": 32, "PACK": 1, "FMT": "e4m3", "BM": 128, "BN": 128, "BK": 128}
    emit("nvfp4", scaled, {"a": "*u8", "sa": "*fp8e4nv", "b": "*u8", "sb": "*fp8e4nv", "c": "*bf16",
                           **sizes}, nvfp4, (100, 120))
    emit("mxfp8", scaled, {"a": "*fp8e4nv", "sa": "*u8", "b": "*fp8e4nv", "sb": "*u8", "c": "*bf16",
                           **sizes}, mxfp8, (100, 120))
    out_map = "tensordesc<bf16[128,128]>"
    emit("nvfp4_tma", scaled_tma,
         {"a": "tensordesc<u8[128,128]>", "sa": "*fp8e4nv", "b": "tensordesc<u8[128,128]>",
          "sb": "*fp8e4nv", "c": out_map, **sizes}, nvfp4, (100,))
    emit("mxfp8_tma", scaled_tma,
         {"a": "tensordesc<fp8e4nv[128,128]>", "sa": "*u8", "b": "tensordesc<fp8e4nv[128,128]>",
          "sb": "*u8", "c": out_map, **sizes}, mxfp8, (100,))
    for stages in (1, 3):
        name = "copied" if stages == 1 else "copied_ring"
        emit(f"nvfp4_{name}", scaled_copied,
             {"a": "tensordesc<u8[128,128]>", "sa": "tensordesc<fp8e4nv[1,1,4,2,256]>",
              "b": "tensordesc<u8[128,128]>", "sb": "tensordesc<fp8e4nv[1,1,4,2,256]>",
              "c": out_map, **sizes}, {**nvfp4, "STAGES": stages}, (100,))
        emit(f"mxfp8_{name}", scaled_copied,
             {"a": "tensordesc<fp8e4nv[256,128]>", "sa": "tensordesc<u8[1,2,1,2,256]>",
              "b": "tensordesc<fp8e4nv[128,128]>", "sb": "tensordesc<u8[1,1,1,2,256]>",
              "c": "tensordesc<bf16[256,128]>", **sizes}, {**mxfp8, "BM": 256, "STAGES": stages},
             (100,), warps=8)
    for name, types, tile, warps in (
            ("nvfp4_pair", ("u8", "fp8e4nv"), {**nvfp4, "BM": 256}, 4),
            ("nvfp4_pair_wide", ("u8", "fp8e4nv"), {**nvfp4, "BM": 256, "BN": 256}, 8),
            ("mxfp8_pair", ("fp8e4nv", "u8"), {**mxfp8, "BM": 256}, 4)):
        emit_source(f"triton_{name}_sm_100.ptx", pair_source(*types, **tile), 100,
                    num_ctas=2, num_warps=warps)
    (out / "triton.json").write_text(json.dumps(meta, indent=1, sort_keys=True, default=str) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    compile_all(Path(sys.argv[1]))
