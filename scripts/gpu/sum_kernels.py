# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of one matrix instruction each, as PTX, and their launches.

An instruction multiplies 32 bytes of K. Whatever the type, a register of a fragment is the same
four of them ("Matrix Fragments for mma.m16n8k8" and its kin), so that kernels differ in the
instruction alone.
"""

import ctypes
from dataclasses import dataclass
from itertools import product

import numpy as np

K_BYTES = 32
ELEMENT_BITS = {"bf16": 16, "f16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8}
ROWS, COLS = 64, 8  # whose multiples the launches take

HEAD = """\
.version 8.4
.target {target}
.address_size 64
.visible .entry sums(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d,
                     .param .u32 slabs, .param .u32 cols)
{{
  .reg .b32 %x<8>, %b<2>, %r<32>;
  .reg .b64 %p<12>;
  .reg .f32 %d<4>;
  .reg .pred %q;
  .shared .align 128 .b8 tile_a[2048];
  .shared .align 128 .b8 tile_b[256];
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ctaid.y;
  ld.param.u32 %r3, [slabs];
  ld.param.u32 %r4, [cols];
  ld.param.u64 %p0, [a];
  ld.param.u64 %p1, [b];
  ld.param.u64 %p2, [c];
  ld.param.u64 %p3, [d];
  shl.b32 %r5, %r3, 5;              // bytes of a row
  shr.u32 %r6, %r0, 5;              // warp
  shr.u32 %r7, %r0, 2;
  and.b32 %r7, %r7, 7;              // row of eight
  and.b32 %r8, %r0, 3;              // word of four
  mad.lo.u32 %r9, %r1, {rows}, %r7;
  shl.b32 %r10, %r6, 4;
  add.u32 %r9, %r9, %r10;           // row of the result
  shl.b32 %r11, %r2, 3;             // first column
  // The fragments of D: two columns of a row, and of the row 8 below.
  shl.b32 %r12, %r8, 1;
  add.u32 %r12, %r12, %r11;
  mad.lo.u32 %r12, %r9, %r4, %r12;
  mul.wide.u32 %p4, %r12, 4;
  add.u64 %p5, %p2, %p4;
  add.u64 %p6, %p3, %p4;
  mul.wide.u32 %p7, %r4, 32;
  add.u64 %p8, %p5, %p7;
  ld.global.v2.f32 {{%d0, %d1}}, [%p5];
  ld.global.v2.f32 {{%d2, %d3}}, [%p8];
"""
LOOP = """\
  mov.u32 %r13, 0;
LOOP:
  shl.b32 %r14, %r13, 5;            // byte of K
"""
FRAGMENTS_OF_A = """\
  mad.lo.u32 %r15, %r9, %r5, %r14;
  shl.b32 %r16, %r8, 2;
  add.u32 %r15, %r15, %r16;
  cvt.u64.u32 %p9, %r15;
  add.u64 %p9, %p0, %p9;
  mul.wide.u32 %p10, %r5, 8;
  add.u64 %p10, %p9, %p10;
  ld.global.b32 %x0, [%p9];
  ld.global.b32 %x1, [%p10];
  ld.global.b32 %x2, [%p9+16];
  ld.global.b32 %x3, [%p10+16];
"""
FRAGMENTS_OF_B = """\
  add.u32 %r17, %r11, %r7;
  mad.lo.u32 %r17, %r17, %r5, %r14;
  shl.b32 %r16, %r8, 2;
  add.u32 %r17, %r17, %r16;
  cvt.u64.u32 %p9, %r17;
  add.u64 %p9, %p1, %p9;
  ld.global.b32 %b0, [%p9];
  ld.global.b32 %b1, [%p9+16];
"""
# Eight rows of 16 bytes lie together, and behind them those of the next 16 bytes of K.
TO_SHARED = """\
{{
  .reg .b32 %i<6>;
  .reg .b64 %j<2>;
  .reg .pred %inside;
  setp.lt.u32 %inside, %r0, {threads};
  add.u32 %i0, %r0, {first};
  shr.u32 %i1, %i0, 3;              // row
  and.b32 %i2, %i0, 7;              // word of 32 bytes
  add.u32 %i3, %i1, {row};
  mad.lo.u32 %i3, %i3, %r5, %r14;
  shl.b32 %i4, %i2, 2;
  add.u32 %i3, %i3, %i4;
  cvt.u64.u32 %j0, %i3;
  add.u64 %j0, {base}, %j0;
  @%inside ld.global.b32 %i5, [%j0];
  shr.u32 %i3, %i1, 3;
  shl.b32 %i3, %i3, 8;
  and.b32 %i1, %i1, 7;
  shl.b32 %i1, %i1, 4;
  add.u32 %i3, %i3, %i1;
  shr.u32 %i1, %i2, 2;
  shl.b32 %i1, %i1, 7;
  add.u32 %i3, %i3, %i1;
  and.b32 %i2, %i2, 3;
  shl.b32 %i2, %i2, 2;
  add.u32 %i3, %i3, %i2;
  mov.u32 %i4, {tile};
  add.u32 %i3, %i3, %i4;
  @%inside st.shared.b32 [%i3], %i5;
}}
"""
# Core matrices are 128 bytes apart along K, and 256 along the rows.
DESCRIPTOR = """\
  mov.u32 %r18, {tile};
  shr.u32 %r18, %r18, 4;
  or.b32 %r18, %r18, {leading};
  mov.u32 %r19, 16;
  mov.b64 {to}, {{%r18, %r19}};
"""
TAIL = """\
  add.u32 %r13, %r13, 1;
  setp.lt.u32 %q, %r13, %r3;
  @%q bra LOOP;
  add.u64 %p8, %p6, %p7;
  st.global.v2.f32 [%p6], {%d0, %d1};
  st.global.v2.f32 [%p8], {%d2, %d3};
  ret;
}
"""


@dataclass(frozen=True)
class Kind:
    """An instruction of the types of A and B. `a_in_registers`: a wgmma whose A is a fragment."""
    instruction: str
    a: str
    b: str
    a_in_registers: bool = False

    @property
    def types(self):
        return self.a, self.b

    def __str__(self):
        types = self.a if self.a == self.b else f"{self.a} x {self.b}"
        return f"{self.instruction} {types}" + ", A in registers" * self.a_in_registers

    @property
    def depth(self):
        return 8 * K_BYTES // ELEMENT_BITS[self.a]

    @property
    def is_warp(self):
        return self.instruction == "mma.sync"

    def make_ptx(self, target):
        shape = f"m{16 if self.is_warp else 64}n8k{self.depth}"
        parts = [HEAD.format(target=target, rows=16 if self.is_warp else ROWS), LOOP]
        if self.is_warp:
            parts += [FRAGMENTS_OF_A, FRAGMENTS_OF_B]
            parts.append(f"  mma.sync.aligned.{shape}.row.col.f32.{self.a}.{self.b}.f32 "
                         "{%d0, %d1, %d2, %d3}, {%x0, %x1, %x2, %x3}, {%b0, %b1}, "
                         "{%d0, %d1, %d2, %d3};\n")
            return "".join([*parts, TAIL])
        parts.append("  bar.sync 0;\n")
        if self.a_in_registers:
            parts.append(FRAGMENTS_OF_A)
        else:
            parts.append("  shl.b32 %r20, %r1, 6;\n")
            parts += [TO_SHARED.format(threads=128, first=128 * i, row="%r20", base="%p0",
                                       tile="tile_a") for i in range(4)]
        parts.append(TO_SHARED.format(threads=64, first=0, row="%r11", base="%p1", tile="tile_b"))
        parts.append("  fence.proxy.async.shared::cta;\n  bar.sync 0;\n")
        leading = 8 << 16
        parts.append(DESCRIPTOR.format(tile="tile_b", leading=leading, to="%p11"))
        if not self.a_in_registers:
            parts.append(DESCRIPTOR.format(tile="tile_a", leading=leading, to="%p10"))
        first = "{%x0, %x1, %x2, %x3}" if self.a_in_registers else "%p10"
        # Types of 16 bits could be transposed in shared memory.
        transposed = ", 0" * (2 - self.a_in_registers) if ELEMENT_BITS[self.a] == 16 else ""
        parts.append("  setp.eq.u32 %q, %r0, %r0;\n  wgmma.fence.sync.aligned;\n"
                     f"  wgmma.mma_async.sync.aligned.{shape}.f32.{self.a}.{self.b} "
                     f"{{%d0, %d1, %d2, %d3}}, {first}, %p11, %q, 1, 1{transposed};\n"
                     "  wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n")
        return "".join([*parts, TAIL])


TYPES = [(name, name) for name in ("bf16", "f16", "tf32")] + list(
    product(("e4m3", "e5m2"), repeat=2))
KINDS = [Kind(*place, *types, in_registers) for place, in_registers in
         ((("mma.sync",), False), (("wgmma",), False), (("wgmma",), True)) for types in TYPES]


def to_memory(kind, codes, rows):
    """Codes as the bytes of memory, zeros behind K up to 32 bytes and behind the last row."""
    bits = ELEMENT_BITS[kind]
    words = codes << 13 if kind == "tf32" else codes
    words = words.astype({8: np.uint8, 16: np.uint16, 32: np.uint32}[bits])
    unit = 8 * K_BYTES // bits
    return np.pad(words, ((0, rows - len(words)), (0, -words.shape[1] % unit)))


class Machine:
    """The GPU, or an emulated one, and its loaded kernels."""

    def __init__(self, cuda, target):
        self.cuda, self.target = cuda, target
        self._functions = {}

    def _find(self, kind):
        if kind not in self._functions:
            module = self.cuda.load(kind.make_ptx(self.target).encode())
            self._functions[kind] = self.cuda.find(module, "sums")
        return self._functions[kind]

    def multiply(self, kind, operands):
        """The bits of A B^T + starts, as u32."""
        (rows, cols), cuda = operands.starts.shape, self.cuda
        padded = -(-rows // ROWS) * ROWS, -(-cols // COLS) * COLS
        starts = np.zeros(padded, np.uint32)
        starts[:rows, :cols] = operands.starts
        a = to_memory(kind.a, operands.a, padded[0])
        b = to_memory(kind.b, operands.b, padded[1])
        results = np.empty(padded, np.uint32)
        buffers = [cuda.allocate(array.nbytes) for array in (a, b, starts, results)]
        for buffer, array in zip(buffers, (a, b, starts)):
            cuda("cuMemcpyHtoD_v2", ctypes.c_uint64(buffer), ctypes.c_void_p(array.ctypes.data),
                 ctypes.c_size_t(array.nbytes))
        cuda("cuMemsetD8_v2", ctypes.c_uint64(buffers[3]), ctypes.c_ubyte(0xA5),
             ctypes.c_size_t(results.nbytes))
        values = [*map(ctypes.c_uint64, buffers), ctypes.c_uint32(a.nbytes // len(a) // K_BYTES),
                  ctypes.c_uint32(padded[1])]
        grid = padded[0] // (16 if kind.is_warp else ROWS), padded[1] // COLS, 1
        cuda.launch(self._find(kind), grid, 32 if kind.is_warp else 128, 0, values)
        cuda("cuStreamSynchronize", None)
        cuda("cuMemcpyDtoH_v2", ctypes.c_void_p(results.ctypes.data), ctypes.c_uint64(buffers[3]),
             ctypes.c_size_t(results.nbytes))
        for buffer in buffers:
            cuda("cuMemFree_v2", ctypes.c_uint64(buffer))
        return results[:rows, :cols]
