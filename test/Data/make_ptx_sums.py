#!/usr/bin/env python3
# ===- make_ptx_sums.py - What a GPU gives for sums of products -----------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Writes ptx/sm_90_sums.npz beside this file: products whose sums are not exact.

  python3 make_ptx_sums.py OUT.npz        needs a GPU of sm_90, no numpy

The archive is laid out as that of make_ptx_matrices.py. Each kernel executes one
`mma` or `wgmma`, with D other than C so that each case starts anew. Numbers are of
a class each: those of A and B, and those of C.
"""

import sys

from make_ptx_matrices import Gpu, Kernel, descriptor, vector, write_archive

# Bits, bits of the mantissa, bias; whether the last exponent holds infinity.
FORMATS = {"f16": (16, 10, 15, True), "bf16": (16, 7, 127, True), "tf32": (32, 23, 127, True),
           "f32": (32, 23, 127, True), "e4m3": (8, 3, 7, False), "e5m2": (8, 2, 15, True)}

CLASSES = [  # of A and B, of C
    ("near", "near"), ("near", "zero"), ("near", "great"), ("finite", "finite"),
    ("finite", "zero"), ("bits", "bits"), ("tiny", "zero"), ("tiny", "tiny"),
    ("great", "great"), ("sparse", "zero"), ("sparse", "tiny")]


def draw(rng, form, kind):
    """A code of the class."""
    bits, mantissa, bias, has_infinity = FORMATS[form]
    last = (1 << bits - 1 - mantissa) - 1
    greatest = last - 1 if has_infinity else last
    sign = rng.getrandbits(1) << bits - 1
    if kind == "bits":
        return rng.getrandbits(bits)
    if kind == "zero" or (kind == "sparse" and rng.random() < 0.9):
        return sign
    if kind in ("near", "sparse"):
        exponent = rng.randint(bias - 3, bias + 3)
    elif kind == "finite":
        exponent = rng.randint(0, greatest)
    elif kind == "great":
        exponent = rng.randint(greatest - 1, greatest)
    elif form in ("bf16", "tf32"):  # Products about 2^-135, the least that is kept.
        exponent = rng.randint(bias - 76, bias - 60)
    else:
        exponent = rng.randint(0, 2)
    code = sign | exponent << mantissa | rng.getrandbits(mantissa)
    # The last code of e4m3 is NaN.
    return code if has_infinity or code & 0x7F != 0x7F else code - 1


def packed(rng, form, kind):
    bits = FORMATS[form][0]
    return lambda: sum(draw(rng, form, kind) << i for i in range(0, 32, bits))


MMA = [  # shape, D, A, B, registers of A and of B
    ("m16n8k8", "f16", "f16", "f16", 2, 1), ("m16n8k8", "f32", "f16", "f16", 2, 1),
    ("m16n8k8", "f32", "bf16", "bf16", 2, 1), ("m16n8k16", "f16", "f16", "f16", 4, 2),
    ("m16n8k16", "f32", "f16", "f16", 4, 2), ("m16n8k16", "f32", "bf16", "bf16", 4, 2),
    ("m16n8k4", "f32", "tf32", "tf32", 2, 1), ("m16n8k8", "f32", "tf32", "tf32", 4, 2),
    ("m16n8k16", "f32", "e4m3", "e4m3", 2, 1), ("m16n8k16", "f16", "e5m2", "e4m3", 2, 1),
    ("m16n8k32", "f32", "e4m3", "e4m3", 4, 2), ("m16n8k32", "f32", "e5m2", "e5m2", 4, 2),
    ("m16n8k32", "f32", "e4m3", "e5m2", 4, 2), ("m16n8k32", "f16", "e4m3", "e4m3", 4, 2),
    ("m16n8k32", "f16", "e5m2", "e5m2", 4, 2),
]

WGMMA = [  # K, D, A, B
    (16, "f16", "f16", "f16"), (16, "f32", "f16", "f16"), (16, "f32", "bf16", "bf16"),
    (8, "f32", "tf32", "tf32"), (32, "f32", "e4m3", "e4m3"), (32, "f32", "e5m2", "e5m2"),
    (32, "f32", "e4m3", "e5m2"), (32, "f16", "e4m3", "e4m3"), (32, "f16", "e5m2", "e5m2"),
]


class SumKernel(Kernel):
    """Products of FP8 of 16 values of K, and into f16, came with PTX 8.7."""

    head = Kernel.head.replace(".version 8.4", ".version 8.7")


def mma(shape, d, a, b, count_a, count_b, kinds, seed, warps):
    kernel = SumKernel("_".join(("mma", shape, d, a, b) + kinds), seed, threads=32 * warps)
    count = 2 if d == "f16" else 4
    kernel.load("%a", count_a, packed(kernel.random, a, kinds[0]))
    kernel.load("%b", count_b, packed(kernel.random, b, kinds[0]))
    kernel.load("%c", count, packed(kernel.random, d, kinds[1]))
    kernel.add(f".reg .b32 %d<{count}>;\n"
               f"mma.sync.aligned.{shape}.row.col.{d}.{a}.{b}.{d} {vector('%d', count)}, "
               f"{vector('%a', count_a)}, {vector('%b', count_b)}, {vector('%c', count)};")
    kernel.store("%d", count)
    return kernel.finish()


def wgmma(k, d, a, b, kinds, seed, columns):
    kernel = SumKernel("_".join(("wgmma", f"k{k}", d, a, b) + kinds), seed, threads=128)
    # A, 64 rows of 32 bytes, and behind it B.
    kernel.fill_shared(512, packed(kernel.random, a, kinds[0]), columns * 8,
                       packed(kernel.random, b, kinds[0]))
    count = columns // 4 if d == "f16" else columns // 2
    kernel.load("%d", count, packed(kernel.random, d, kinds[1]))
    descriptor(kernel, "%x", 0, 128, 256, 0)
    descriptor(kernel, "%y", 2048, 128, 256, 0)
    transposed = ", 0, 0" if k == 16 else ""
    kernel.add("setp.eq.u32 %p0, %t, %t;\nwgmma.fence.sync.aligned;\n"
               f"wgmma.mma_async.sync.aligned.m64n{columns}k{k}.{d}.{a}.{b} "
               f"{vector('%d', count)}, %x, %y, %p0, 1, 1{transposed};\n"
               "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;")
    kernel.store("%d", count)
    return kernel.finish()


def kernels(seed=1, warps=1, columns=16):
    for kinds in CLASSES:
        for form in MMA:
            yield mma(*form, kinds, seed, warps)
        for form in WGMMA:
            yield wgmma(*form, kinds, seed, columns)


if __name__ == "__main__":
    write_archive(sys.argv[1], Gpu(), kernels())
