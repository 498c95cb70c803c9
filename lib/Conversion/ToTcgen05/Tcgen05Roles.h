//===- Tcgen05Roles.h - The warps of a matrix product -----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   loads      TMA brings a step of 128 bytes of K of both operands, and their
//              scales, into a stage of shared memory
//   products   copies the scales of a stage to tensor memory and adds the
//              product of its data to an accumulator there
//   results    brings an accumulator to registers, and results to memory
//
// Each role goes through the tiles of the CTA; barriers of stages and of
// accumulators keep them together.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOTCGEN05_TCGEN05ROLES_H
#define BLOCKSCALE_LIB_CONVERSION_TOTCGEN05_TCGEN05ROLES_H

#include "Cluster.h"
#include "Products/Barriers.h"
#include "Products/SharedMemory.h"
#include "Products/TileOrder.h"
#include "Tcgen05Layout.h"

namespace blockscale::products {

/// The values and places that the roles of a kernel share.
struct Tcgen05Context : SharedMemory {
  /// `arguments` have the sizes as i32.
  Tcgen05Context(KernelBuilder &b, const ScaledGemmSpec &spec,
                 const GemmArguments &arguments);

  const ScaledGemmSpec &spec;
  const GemmArguments &arguments;
  SharedLayout shared;
  TensorLayout tensor;
  BlockRows mine;
  Cluster cluster;
  TileOrder order;
  BarrierRing stageFull, stageEmpty;
  /// The number of barriers in `sumEmpty`. Accumulators that share columns have
  /// one barrier there, for these columns.
  int64_t sumEmptySlots;
  BarrierRing sumFull, sumEmpty;
  /// The address of the tensor memory, i32, once it is allocated.
  mlir::Value tensorMemory;
};

/// Emits the role that loads operands. One thread runs it.
void emitLoads(KernelBuilder &b, const Tcgen05Context &context);
/// Emits the role that multiplies. One warp of a CTA that leads runs it;
/// `thread` (i32) is the number of a thread.
void emitProducts(KernelBuilder &b, const Tcgen05Context &context,
                  mlir::Value thread);
/// Emits the role that writes results. `kResultWarps` warps run it; `thread`
/// (i32) is the number of a thread in these.
void emitResults(KernelBuilder &b, const Tcgen05Context &context,
                 mlir::Value thread);

/// Emits the whole kernel. `arguments` hold its parameters.
void emitTcgen05(KernelBuilder &b, const ScaledGemmSpec &spec,
                 GemmArguments arguments);
/// Threads of a block.
inline constexpr int64_t kTcgen05Threads = (kResultWarps + 2) * kWarpThreads;

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_TOTCGEN05_TCGEN05ROLES_H
