//===- TensorMemory.h - What kernels of tcgen05.mma share -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tcgen05.mma adds products to sums in tensor memory, which has 128 lanes of
// 512 columns of 32 bits. A thread can read and write the lane of its number in
// four warps, those whose numbers begin at a multiple of four.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_TENSORMEMORY_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_TENSORMEMORY_H

#include "MatrixDescriptor.h"
#include "TileOrder.h"
#include "blockscale/Target/Gpu.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace blockscale::products {

/// Columns of tensor memory; all are allocated.
inline constexpr int64_t kTensorColumns = 512;

/// Warps with results: each reads a quarter of the lanes of tensor memory.
inline constexpr int64_t kResultWarps = 4;

/// Descriptor of a tile whose rows of 128 bytes are swizzled (PTX ISA, "Shared
/// memory descriptor"), of version 1. nvvm.tcgen05.mma_smem_desc would be as
/// many instructions.
inline constexpr uint64_t getDataDescriptor(bool isMnMajor) {
  return getTileOffsets(isMnMajor) | uint64_t(1) << 46 | uint64_t(2) << 61;
}
inline constexpr uint64_t kDataDescriptor = getDataDescriptor(false);

/// A pointer to so many columns of tensor memory behind `address` (i32).
mlir::Value getTensorPointer(KernelBuilder &b, mlir::Value address,
                             int64_t columns = 0);

/// Allocates all columns, and writes their address to `place`. One warp does
/// this.
void emitTensorAlloc(KernelBuilder &b, mlir::Value place,
                     mlir::NVVM::CTAGroupKind group);
/// Gives all columns at `address` (i32) back. One warp does this.
void emitTensorFree(KernelBuilder &b, mlir::Value address,
                    mlir::NVVM::CTAGroupKind group);

/// The first lane of tensor memory that the warp of thread `thread` (i32) of
/// four warps can access, as bits of an address.
emit::Lanes getWarpLanes(emit::Lanes thread);

/// `columns` sums of the thread's lane, from the column at `address` (i32) on,
/// as a vector of f32; zeros where the tile has no products to add.
mlir::Value emitLoadSums(KernelBuilder &b, const GemmSpec &spec,
                         const TileCoord &tile, mlir::Value address,
                         int64_t columns);

/// FLOP of a multiprocessor in a clock, dense, of operands of 8 bits; rates of
/// others follow from those of the GPU.
inline constexpr double kFp8Flops = 16384;
/// Bytes in a clock, which are assumptions: from shared memory, and from the L2
/// cache.
inline constexpr double kSharedBytes = 128;
inline constexpr double kL2Bytes = 64;
/// Clocks before the first instruction of the warps that write results, and
/// from the launch to the first product.
inline constexpr double kWriteStart = 300;
inline constexpr double kFill = 5500;

/// Clocks in a microsecond.
double getClock(const target::Gpu &gpu);

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_TENSORMEMORY_H
