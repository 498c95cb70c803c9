#!/usr/bin/env python3
# ===- make_ptx_matrices.py - What a GPU gives for matrix instructions ----===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Writes ptx/sm_90_warp.npz beside this file: results of small PTX kernels.

  python3 make_ptx_matrices.py OUT.npz        needs a GPU of sm_90, no numpy

Each kernel holds an instruction by which the lanes of a warp, or the warps of a
warpgroup, exchange values. For kernel NAME the archive has `NAME__ptx`, its
text; `NAME__in` and `NAME__out`, words of 32 bits: what its first parameter
points to, and what it left where the second one points to; and `NAME__threads`.
Numbers are small, so that every order of a sum gives the same.
"""

import ctypes
import random
import struct
import sys
import zipfile

HEAD = """.version 8.4
.target sm_90a
.address_size 64
.visible .entry k(.param .b64 in, .param .b64 out)
{
.reg .b64 %in, %out, %q<8>;
.reg .b32 %t, %l, %w<8>;
.reg .pred %p<4>;
ld.param.b64 %in, [in];
ld.param.b64 %out, [out];
mov.u32 %t, %tid.x;
mov.u32 %l, %laneid;
"""


class Kernel:
    """PTX text, with words that threads read and write in rows of their own."""

    head = HEAD

    def __init__(self, name, seed, threads=32):
        self.name, self.threads = name, threads
        self.random = random.Random(name + str(seed))
        self.text, self.words, self.outputs = self.head, [], 0

    def add(self, text):
        self.text += text + "\n"

    def load(self, register, count, make, bits=32):
        """Declares registers and loads each thread's own words into them."""
        per = bits // 32
        base = len(self.words)
        self.words += [make() for _ in range(self.threads * count * per)]
        self.add(f".reg .b{bits} {register}<{count}>;")
        self.add(f"mad.wide.u32 %q0, %t, {count * per * 4}, %in;")
        for i in range(count):
            self.add(f"ld.global.b{bits} {register}{i}, "
                     f"[%q0+{base * 4 + i * per * 4}];")

    def store(self, register, count, bits=32):
        per = bits // 32
        base = self.outputs
        self.outputs += self.threads * count * per
        self.add(f"mad.wide.u32 %q0, %t, {count * per * 4}, %out;")
        for i in range(count):
            self.add(f"st.global.b{bits} [%q0+{base * 4 + i * per * 4}], "
                     f"{register}{i};")

    def fill_shared(self, count, make, more=0, make_more=None):
        """`count` words of shared memory `s` from the input, and `more` behind them."""
        base = len(self.words)
        self.words += [make() for _ in range(count)]
        self.words += [make_more() for _ in range(more)]
        count += more
        self.add(f".shared .align 1024 .b8 s[{count * 4}];")
        for i in range(0, count, self.threads):
            self.add(f"add.u32 %w0, %t, {i};\nmad.wide.u32 %q0, %w0, 4, %in;\n"
                     f"ld.global.b32 %w1, [%q0+{base * 4}];\n"
                     "mov.u32 %w2, s;\nmad.lo.u32 %w2, %w0, 4, %w2;\n"
                     "st.shared.b32 [%w2], %w1;")
        self.add("fence.proxy.async.shared::cta;\nbar.sync 0;")

    def dump_shared(self, count):
        base = self.outputs
        self.outputs += count
        self.add("bar.sync 0;")
        for i in range(0, count, self.threads):
            self.add(f"add.u32 %w0, %t, {i};\nmad.wide.u32 %q0, %w0, 4, %out;\n"
                     "mov.u32 %w2, s;\nmad.lo.u32 %w2, %w0, 4, %w2;\n"
                     "ld.shared.b32 %w1, [%w2];\n"
                     f"st.global.b32 [%q0+{base * 4}], %w1;")

    def finish(self):
        self.add("ret;\n}")
        return self


# ===----------------------------------------------------------------------===#
# Small numbers
# ===----------------------------------------------------------------------===#

CODES = {  # 0, 1, -1, 2, -2, 0.5, -0.5
    "f16": [0, 0x3C00, 0xBC00, 0x4000, 0xC000, 0x3800, 0xB800],
    "bf16": [0, 0x3F80, 0xBF80, 0x4000, 0xC000, 0x3F00, 0xBF00],
    "tf32": [0, 0x3F800000, 0xBF800000, 0x40000000, 0xC0000000, 0x3F000000],
    "e4m3": [0, 0x38, 0xB8, 0x40, 0xC0, 0x30, 0xB0],
    "e5m2": [0, 0x3C, 0xBC, 0x40, 0xC0, 0x38, 0xB8],
    "s8": list(range(256)),
    "u8": list(range(256)),
}
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8}


def packed(rng, type):
    def make():
        word = 0
        for shift in range(0, 32, BITS[type]):
            word |= rng.choice(CODES[type]) << shift
        return word
    return make


def accumulator(rng, type):
    if type == "s32":
        return lambda: rng.choice([0, 5, 0x7FFFFFF0, 0x80000010, rng.getrandbits(32)])
    if type == "f16":
        return packed(rng, "f16")
    return lambda: struct.unpack("<I", struct.pack("<f", rng.randint(-64, 64) / 4))[0]


# ===----------------------------------------------------------------------===#
# mma, ldmatrix, stmatrix, movmatrix
# ===----------------------------------------------------------------------===#

MMA = [  # shape, D, A, B, registers of A, B and C
    ("m16n8k8", "f16", "f16", "f16", 2, 1, 2), ("m16n8k8", "f32", "f16", "f16", 2, 1, 4),
    ("m16n8k8", "f32", "bf16", "bf16", 2, 1, 4), ("m16n8k16", "f16", "f16", "f16", 4, 2, 2),
    ("m16n8k16", "f32", "f16", "f16", 4, 2, 4), ("m16n8k16", "f32", "bf16", "bf16", 4, 2, 4),
    ("m16n8k4", "f32", "tf32", "tf32", 2, 1, 4), ("m16n8k8", "f32", "tf32", "tf32", 4, 2, 4),
    ("m16n8k32", "f32", "e4m3", "e5m2", 4, 2, 4), ("m16n8k32", "f32", "e5m2", "e4m3", 4, 2, 4),
    ("m8n8k16", "s32", "s8", "u8", 1, 1, 2), ("m16n8k16", "s32", "u8", "s8", 2, 1, 4),
    ("m16n8k32", "s32", "s8", "s8", 4, 2, 4), ("m16n8k32.satfinite", "s32", "s8", "s8", 4, 2, 4),
    ("m8n8k16.satfinite", "s32", "u8", "u8", 1, 1, 2),
]


def vector(register, count):
    return "{" + ", ".join(f"{register}{i}" for i in range(count)) + "}"


def mma(shape, d, a, b, count_a, count_b, count_c):
    kernel = Kernel(f"mma_{shape}_{d}_{a}_{b}", 1)
    kernel.load("%a", count_a, packed(kernel.random, a))
    kernel.load("%b", count_b, packed(kernel.random, b))
    kernel.load("%c", count_c, accumulator(kernel.random, d))
    kernel.add(f".reg .b32 %d<{count_c}>;")
    shape, _, sat = shape.partition(".")
    sat = "." + sat if sat else ""
    kernel.add(f"mma.sync.aligned.{shape}.row.col{sat}.{d}.{a}.{b}.{d} "
               f"{vector('%d', count_c)}, {vector('%a', count_a)}, "
               f"{vector('%b', count_b)}, {vector('%c', count_c)};")
    kernel.store("%d", count_c)
    return kernel.finish()


def mma_f64():
    kernel = Kernel("mma_m8n8k4_f64", 1)
    rng = kernel.random

    def make():  # halves of doubles; the low one first
        make.next = not make.next
        return 0 if make.next else rng.choice([0x3FF00000, 0xC0080000, 0x40240000])
    make.next = False
    for register, count in (("%a", 1), ("%b", 1), ("%c", 2)):
        kernel.load(register, count, make, bits=64)
    kernel.add(".reg .b64 %d<2>;\nmma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 "
               "{%d0, %d1}, {%a0}, {%b0}, {%c0, %c1};")
    kernel.store("%d", 2, bits=64)
    return kernel.finish()


def matrix_addresses(kernel, rows):
    """%w3: the shared address of a row of 16 bytes, of each lane its own."""
    order = list(range(64))
    kernel.random.shuffle(order)
    base = len(kernel.words)
    kernel.words += [16 * order[lane] for lane in range(32)]
    kernel.add(f"mad.wide.u32 %q0, %l, 4, %in;\nld.global.b32 %w3, [%q0+{base * 4}];\n"
               "mov.u32 %w2, s;\nadd.u32 %w3, %w3, %w2;")


def ldmatrix(count, trans):
    kernel = Kernel(f"ldmatrix_x{count}{trans}", 1)
    kernel.fill_shared(256, lambda: kernel.random.getrandbits(32))
    matrix_addresses(kernel, 8 * count)
    kernel.add(f".reg .b32 %d<{count}>;\nldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 "
               f"{vector('%d', count)}, [%w3];")
    kernel.store("%d", count)
    return kernel.finish()


def stmatrix(count, trans):
    kernel = Kernel(f"stmatrix_x{count}{trans}", 1)
    kernel.fill_shared(256, lambda: kernel.random.getrandbits(32))
    matrix_addresses(kernel, 8 * count)
    kernel.load("%a", count, lambda: kernel.random.getrandbits(32))
    kernel.add(f"stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [%w3], "
               f"{vector('%a', count)};")
    kernel.dump_shared(256)
    return kernel.finish()


def movmatrix():
    kernel = Kernel("movmatrix", 1)
    kernel.load("%a", 1, lambda: kernel.random.getrandbits(32))
    kernel.add(".reg .b32 %d<1>;\nmovmatrix.sync.aligned.m8n8.trans.b16 %d0, %a0;")
    kernel.store("%d", 1)
    return kernel.finish()


# ===----------------------------------------------------------------------===#
# wgmma
# ===----------------------------------------------------------------------===#

WORDS = 12288  # of shared memory: 48 KB; B begins at 16 KB


def descriptor(kernel, register, offset, leading, stride, swizzle, base=0):
    constant = leading // 16 << 16 | stride // 16 << 32 | base << 49 | swizzle << 62
    kernel.add(f".reg .b64 {register};\nmov.u32 %w2, s;\nadd.u32 %w2, %w2, {offset};\n"
               "and.b32 %w2, %w2, 0x3FFFF;\nshr.u32 %w2, %w2, 4;\n"
               f"cvt.u64.u32 {register}, %w2;\nor.b64 {register}, {register}, "
               f"{constant:#x};")


def wgmma(name, n, k, d, a, b, a_place, b_place, immediates="1, 1", registers_a=False,
          scale_d=1, twice=False, sat=""):
    """Places are (offset, leading, stride, swizzle) of the operands."""
    kernel = Kernel("wgmma_" + name, 1, threads=128)
    # Bytes are codes of either operand: they have the same type.
    kernel.fill_shared(WORDS, packed(kernel.random, b))
    count = n // 4 if d == "f16" else n // 2
    kernel.load("%d", count, accumulator(kernel.random, d))
    descriptor(kernel, "%y", *b_place)
    if registers_a:
        kernel.load("%a", 4, packed(kernel.random, a))
        first = vector("%a", 4)
    else:
        descriptor(kernel, "%x", *a_place)
        first = "%x"
    kernel.add(f"setp.ne.u32 %p0, {scale_d}, 0;\nwgmma.fence.sync.aligned;")
    tail = ", " + immediates if immediates else ""
    if twice:  # Equal ones would be joined into one.
        offset, *rest = b_place
        descriptor(kernel, "%z", offset + 512, *rest)
    for second in ("%y", "%z")[:1 + twice]:
        kernel.add(f"wgmma.mma_async.sync.aligned.m64n{n}k{k}{sat}.{d}.{a}.{b} "
                   f"{vector('%d', count)}, {first}, {second}, %p0{tail};")
    kernel.add("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;")
    kernel.store("%d", count)
    return kernel.finish()


def wgmma_groups():
    """Two products in groups of their own; the first is stored while the second
    may run."""
    kernel = Kernel("wgmma_groups", 1, threads=128)
    kernel.fill_shared(WORDS, packed(kernel.random, "f16"))
    kernel.load("%d", 8, accumulator(kernel.random, "f32"))
    kernel.load("%e", 8, accumulator(kernel.random, "f32"))
    descriptor(kernel, "%x", 0, 128, 256, 0)
    descriptor(kernel, "%y", 16384, 256, 512, 0)
    kernel.add("setp.eq.u32 %p0, %t, %t;\nwgmma.fence.sync.aligned;")
    for register in ("%d", "%e"):
        kernel.add("wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 "
                   f"{vector(register, 8)}, %x, %y, %p0, 1, 1, 0, 0;\n"
                   "wgmma.commit_group.sync.aligned;")
    kernel.add("wgmma.wait_group.sync.aligned 1;")
    kernel.store("%d", 8)
    kernel.add("wgmma.wait_group.sync.aligned 0;")
    kernel.store("%e", 8)
    return kernel.finish()


def wgmma_kernels():
    none_a, none_b = (0, 128, 256, 0), (16384, 256, 512, 0)
    half = "1, 1, 0, 0"
    for d in ("f32", "f16"):
        yield wgmma(f"plain_{d}", 64, 16, d, "f16", "f16", none_a, none_b, half)
    for swizzle, span in ((1, 128), (2, 64), (3, 32)):
        # The second slice of 32 bytes along K where the span has one.
        offset = 32 if span > 32 else 0
        a = (offset, 16, 8 * span, swizzle)
        b = (16384 + offset, 16, 8 * span, swizzle)
        yield wgmma(f"k_span{span}", 64, 16, "f32", "bf16", "bf16", a, b, half)
        # MN-major: spans along M or N follow each other after `leading` bytes,
        # eight lines of K after `stride`.
        a = (0, 4096, 8 * span, swizzle)
        b = (16384, 2048, 8 * span + 1024, swizzle)
        yield wgmma(f"mn_span{span}", 96, 16, "f32", "f16", "f16", a, b, "1, 1, 1, 1")
        yield wgmma(f"mixed_span{span}", 32, 16, "f32", "f16", "f16", a,
                    (16384, 16, 8 * span, swizzle), "1, -1, 1, 0")
    yield wgmma("mn_none", 40, 16, "f32", "bf16", "bf16", (0, 1024, 128, 0),
                (16384, 2048, 256, 0), "1, 1, 1, 1")
    yield wgmma("n8", 8, 16, "f32", "f16", "f16", none_a, none_b, half)
    yield wgmma("n256", 256, 16, "f32", "f16", "f16", (0, 16, 1024, 1),
                (8192, 16, 1024, 1), half)
    yield wgmma("negated", 16, 16, "f32", "f16", "f16", none_a, none_b, "-1, 1, 0, 0")
    yield wgmma("cleared", 16, 16, "f32", "f16", "f16", none_a, none_b, half, scale_d=0)
    yield wgmma("twice", 16, 16, "f32", "f16", "f16", none_a, none_b, half, twice=True)
    yield wgmma("registers_f16", 24, 16, "f16", "f16", "f16", None, none_b, "1, 1, 0",
                registers_a=True)
    yield wgmma("registers_mn", 64, 16, "f32", "bf16", "bf16", None,
                (16384, 2048, 1024, 1), "-1, 1, 1", registers_a=True)
    yield wgmma("tf32", 48, 8, "f32", "tf32", "tf32", (32, 16, 1024, 1),
                (16384, 16, 1024, 1))
    yield wgmma("registers_tf32", 8, 8, "f32", "tf32", "tf32", None, none_b,
                registers_a=True)
    for d in ("f32", "f16"):
        yield wgmma(f"e4m3_{d}", 32, 32, d, "e4m3", "e4m3", (64, 16, 1024, 1),
                    (16384 + 64, 16, 1024, 1))
    yield wgmma("registers_e5m2", 16, 32, "f32", "e5m2", "e5m2", None, none_b,
                registers_a=True)
    yield wgmma("s8", 24, 32, "s32", "s8", "s8", none_a, none_b, "")
    yield wgmma("u8_sat", 16, 32, "s32", "u8", "u8", none_a, none_b, "", sat=".satfinite")
    yield wgmma_groups()
    yield wgmma("registers_s8", 32, 32, "s32", "s8", "u8", None, none_b, "",
                registers_a=True)


# ===----------------------------------------------------------------------===#
# Lanes
# ===----------------------------------------------------------------------===#


def lanes(name, text):
    """%d0 and %d1 from %a0, any word, and %b0, a small number."""
    kernel = Kernel(name, 1)
    kernel.load("%a", 1, lambda: kernel.random.getrandbits(32))
    kernel.load("%b", 1, lambda: kernel.random.randrange(40))
    kernel.add(".reg .b32 %d<2>;\nmov.b32 %d0, 0;\nmov.b32 %d1, 0;")
    kernel.add(text)
    kernel.store("%d", 2)
    return kernel.finish()


def lane_kernels():
    for mode in ("up", "down", "bfly", "idx"):
        for clamp in ("0", "31", "0x1C1F", "0x180B", "0x1803", "0x1F00"):
            yield lanes(f"shfl_{mode}_{clamp}",
                        f"shfl.sync.{mode}.b32 %d0|%p0, %a0, %b0, {clamp}, 0xFFFFFFFF;\n"
                        "selp.b32 %d1, 1, 0, %p0;")
    for name, limit in (("some", 20), ("all", 99), ("none", 0)):
        yield lanes(f"vote_{name}",
                    f"setp.lt.u32 %p0, %b0, {limit};\n"
                    "vote.sync.ballot.b32 %d0, %p0, 0xFFFFFFFF;\n"
                    "vote.sync.all.pred %p1, %p0, 0xFFFFFFFF;\n"
                    "vote.sync.any.pred %p2, !%p0, 0xFFFFFFFF;\n"
                    "vote.sync.uni.pred %p3, %p0, 0xFFFFFFFF;\n"
                    "selp.b32 %d1, 1, 0, %p1;\n@%p2 or.b32 %d1, %d1, 2;\n"
                    "@%p3 or.b32 %d1, %d1, 4;")
    yield lanes("match_any", "and.b32 %b0, %b0, 3;\n"
                "match.any.sync.b32 %d0, %b0, 0xFFFFFFFF;")
    yield lanes("match_all", "match.all.sync.b32 %d0|%p0, %b0, 0xFFFFFFFF;\n"
                "mov.b32 %b0, 7;\nselp.b32 %d1, 1, 0, %p0;\n"
                "match.all.sync.b32 %w3|%p0, %b0, 0xFFFFFFFF;\n"
                "@%p0 xor.b32 %d1, %w3, %d1;")
    for operation in ("add.u32", "min.u32", "max.u32", "add.s32", "min.s32", "max.s32",
                      "and.b32", "or.b32", "xor.b32"):
        yield lanes(f"redux_{operation}",
                    f"redux.sync.{operation} %d0, %a0, 0xFFFFFFFF;\n"
                    "setp.lt.u32 %p0, %l, 9;\n@!%p0 bra $done;\n"
                    f"redux.sync.{operation} %d1, %b0, 0x1FF;\n$done:")
    yield lanes("elect", "elect.sync %d0|%p0, 0xFFFFFFFF;\nselp.b32 %d1, 1, 0, %p0;")


def kernels():
    for form in MMA:
        yield mma(*form)
    yield mma_f64()
    for count in (1, 2, 4):
        for trans in ("", ".trans"):
            yield ldmatrix(count, trans)
            yield stmatrix(count, trans)
    yield movmatrix()
    yield from wgmma_kernels()
    yield from lane_kernels()


# ===----------------------------------------------------------------------===#
# The GPU
# ===----------------------------------------------------------------------===#


class Gpu:
    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.check(self.cuda.cuInit(0))
        self.check(self.cuda.cuDeviceGet(ctypes.byref(device), 0))
        self.check(self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
        self.check(self.cuda.cuCtxSetCurrent(context))

    @staticmethod
    def check(status):
        if status != 0:
            raise RuntimeError(f"CUDA error {status}")

    def allocate(self, size):
        pointer = ctypes.c_uint64()
        self.check(self.cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size)))
        return pointer

    def run(self, kernel):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.check(self.cuda.cuModuleLoadData(ctypes.byref(module),
                                              kernel.text.encode() + b"\0"))
        self.check(self.cuda.cuModuleGetFunction(ctypes.byref(function), module, b"k"))
        data = struct.pack(f"<{len(kernel.words)}I", *kernel.words)
        size = 4 * kernel.outputs
        source, target = self.allocate(max(len(data), 4)), self.allocate(size)
        self.check(self.cuda.cuMemcpyHtoD_v2(source, data, ctypes.c_size_t(len(data))))
        parameters = (ctypes.c_void_p * 2)(ctypes.addressof(source), ctypes.addressof(target))
        self.check(self.cuda.cuLaunchKernel(function, 1, 1, 1, kernel.threads, 1, 1, 0,
                                            None, parameters, None))
        result = ctypes.create_string_buffer(size)
        self.check(self.cuda.cuMemcpyDtoH_v2(result, target, ctypes.c_size_t(size)))
        for pointer in (source, target):
            self.check(self.cuda.cuMemFree_v2(pointer))
        return result.raw


def npy(data, type):
    """The file of an array of one dimension; type is 'u1' or 'u4'."""
    count = len(data) // int(type[1])
    descr = "|u1" if type == "u1" else "<u4"
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({count},), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def write_archive(path, gpu, kernels):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        def write(name, data, type):
            info = zipfile.ZipInfo(name + ".npy", (1980, 1, 1, 0, 0, 0))
            archive.writestr(info, npy(data, type), zipfile.ZIP_DEFLATED)
        for kernel in kernels:
            try:
                result = gpu.run(kernel)
            except RuntimeError as error:
                raise RuntimeError(f"{kernel.name}: {error}") from error
            words = struct.pack(f"<{len(kernel.words)}I", *kernel.words)
            write(kernel.name + "__ptx", kernel.text.encode(), "u1")
            write(kernel.name + "__in", words, "u4")
            write(kernel.name + "__out", result, "u4")
            write(kernel.name + "__threads", struct.pack("<I", kernel.threads), "u4")
            print(kernel.name)


if __name__ == "__main__":
    write_archive(sys.argv[1], Gpu(), kernels())
