# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels in Gluon, Triton's language for what a kernel places and waits for itself: block-scaled
products of a pair of CTAs. `triton_kernels.py` compiles them.

Gluon decides how the pair shares its work: each CTA loads its half of A, of B and of the scales
of A, and a multicast brings the scales of B to both; tcgen05.cp, mma and commit are those of
.cta_group::2.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon._runtime import GluonASTSource
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout,
    TensorMemoryScalesLayout,
    allocate_tensor_memory,
    tcgen05_copy,
    tcgen05_mma_scaled,
)
from triton.experimental.gluon.language.nvidia.hopper import (
    cluster,
    fence_async_shared,
    mbarrier,
    tma,
)


@gluon.jit
def pair(a, sa, b, sb, c, K, V: gl.constexpr, PACK: gl.constexpr, FMT: gl.constexpr,
         BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr):
    i = gl.program_id(0)
    j = gl.program_id(1)
    RM: gl.constexpr = BM // 128
    RN: gl.constexpr = BN // 128
    RK: gl.constexpr = BK // V // 4
    xs = gl.allocate_shared_memory(a.dtype, a.block_shape, a.layout)
    ys = gl.allocate_shared_memory(b.dtype, b.block_shape, b.layout)
    us = gl.allocate_shared_memory(sa.dtype, sa.block_shape, sa.layout)
    vs = gl.allocate_shared_memory(sb.dtype, sb.block_shape, sb.layout)
    acc_layout: gl.constexpr = TensorMemoryLayout((128, BN), col_stride=1, cga_layout=[[1, 0]],
                                                  two_ctas=True)
    acc = allocate_tensor_memory(gl.float32, [BM, BN], acc_layout)
    ut = allocate_tensor_memory(sa.dtype, [BM, BK // V],
                                TensorMemoryScalesLayout(cga_layout=[[1, 0]]))
    vt = allocate_tensor_memory(sb.dtype, [BN, BK // V],
                                TensorMemoryScalesLayout(cga_layout=[[0, 0]]))
    full = mbarrier.allocate_mbarrier(two_ctas=True)
    done = mbarrier.allocate_mbarrier()
    mbarrier.init(full, 1)
    mbarrier.init(done, 1)
    phase = 0
    use = False
    for k in range(0, K, BK):
        mbarrier.expect(full, a.nbytes_per_cta + b.nbytes_per_cta + sa.nbytes_per_cta
                        + sb.nbytes_per_cta)
        tma.async_load(a, [i * BM, k // PACK], full, xs)
        tma.async_load(b, [j * BN, k // PACK], full, ys)
        tma.async_load(sa, [0, i * RM, k // BK * RK, 0, 0], full, us)
        tma.async_load(sb, [0, j * RN, k // BK * RK, 0, 0], full, vs, multicast=True)
        mbarrier.wait(full, phase, deps=[xs, ys, us, vs])
        u = us.reshape((RM, RK, 32, 4, 4)).permute((0, 3, 2, 1, 4)).reshape((BM, BK // V))
        v = vs.reshape((RN, RK, 32, 4, 4)).permute((0, 3, 2, 1, 4)).reshape((BN, BK // V))
        tcgen05_copy(u, ut)
        tcgen05_copy(v, vt)
        tcgen05_mma_scaled(xs, ys.permute((1, 0)), acc, ut, vt, FMT, FMT, use_acc=use,
                           mbarriers=[done], multicast=True)
        mbarrier.wait(done, phase, deps=[xs, ys, us, vs])
        phase ^= 1
        use = True
    # Gluon's own barrier at the head of the loop is relaxed: it orders no wait before this.
    cluster.barrier()
    mbarrier.invalidate(full)
    mbarrier.invalidate(done)
    out = gl.allocate_shared_memory(c.dtype, c.block_shape, c.layout)
    out.store(acc.load().to(gl.bfloat16))
    fence_async_shared()
    tma.async_store(c, [i * BM, j * BN], out)
    tma.store_wait(0)


def _descriptor(type_, shape, bits, halved, swizzle=128):
    """A tensor descriptor whose blocks are halved along a dimension, or are whole in both CTAs."""
    basis = [int(i == halved) for i in range(len(shape))]
    layout = gl.NVMMASharedLayout(swizzle, bits, len(shape), cga_layout=[basis])
    return f"tensordesc<{type_}[{','.join(map(str, shape))}],{layout}>"


def pair_source(type_, scale_type, V, PACK, FMT, BM, BN, BK):
    """What triton.compile takes for the pair of a format, with tiles of this size."""
    columns = BK // V // 4
    constants = dict(V=V, PACK=PACK, FMT=FMT, BM=BM, BN=BN, BK=BK)
    signature = {
        "a": _descriptor(type_, (BM, BK // PACK), 8, 0),
        "sa": _descriptor(scale_type, (1, BM // 128, columns, 2, 256), 8, 1, 0),
        "b": _descriptor(type_, (BN, BK // PACK), 8, 0),
        "sb": _descriptor(scale_type, (1, BN // 128, columns, 2, 256), 8, None, 0),
        "c": _descriptor("bf16", (BM, BN), 16, 0), "K": "i32",
        **dict.fromkeys(constants, "constexpr")}
    return GluonASTSource(pair, signature, constants)
