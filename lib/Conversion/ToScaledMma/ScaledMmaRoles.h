//===- ScaledMmaRoles.h - The warps of a matrix product ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   loads      one thread of the last warp: TMA brings 64 bytes of K of both
//              operands, and their scales, into a stage of shared memory
//   products   the other warps: each brings the fragments of its rows and
//              columns to registers and adds their products to sums, which are
//              in registers, too; then results go to memory by way of shared
//              memory
//
// Each role goes through the tiles of the CTA; barriers of stages keep them
// together. While results are written, stages of the next tile arrive.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOSCALEDMMA_SCALEDMMAROLES_H
#define BLOCKSCALE_LIB_CONVERSION_TOSCALEDMMA_SCALEDMMAROLES_H

#include "Products/Barriers.h"
#include "Products/RegisterResults.h"
#include "Products/SharedMemory.h"
#include "ScaledMmaLayout.h"

namespace blockscale::products {

/// Threads of a block: warps that multiply, and the one that loads.
inline constexpr int64_t kScaledMmaThreads = kMultiplyThreads + kWarpThreads;

/// The values and places that the roles of a kernel share.
struct ScaledMmaContext : SharedMemory {
  /// `arguments` have the sizes as i32.
  ScaledMmaContext(KernelBuilder &b, const ScaledGemmSpec &spec,
                   const GemmArguments &arguments);

  const ScaledGemmSpec &spec;
  const GemmArguments &arguments;
  ScaledMmaLayout shared;
  TileOrder order;
  BarrierRing stageFull, stageEmpty;
};

/// A thread that multiplies, all i32.
struct ScaledMmaThread {
  explicit ScaledMmaThread(emit::Lanes number);

  /// Its number among those that multiply, and that of its lane.
  emit::Lanes number, lane;
  /// The first row and column, of each `kRepeatRows`, that its warp has.
  emit::Lanes row, col;
};

/// Emits the role that loads operands. One thread runs it.
void emitLoads(KernelBuilder &b, const ScaledMmaContext &context);
/// Emits the role that multiplies and writes results. `kMultiplyThreads`
/// threads run it.
void emitProducts(KernelBuilder &b, const ScaledMmaContext &context,
                  const ScaledMmaThread &thread);

/// Writes results. The threads that multiply get here together. Sums are those
/// of the instructions of the first rows, column by column, then of the next
/// rows.
class ScaledMmaResults : public RegisterResults {
public:
  ScaledMmaResults(KernelBuilder &b, const ScaledMmaContext &context,
                   const ScaledMmaThread &thread);

private:
  void emitStoreSums(mlir::ValueRange sums) override;
  void emitStored(mlir::ValueRange carried) override;
  mlir::Value getSumAddress(int64_t copy, mlir::Value place) override;

  const ScaledMmaContext &context;
  const ScaledMmaThread &thread;
};

/// Emits the whole kernel. `arguments` hold its parameters.
void emitScaledMma(KernelBuilder &b, const ScaledGemmSpec &spec,
                   GemmArguments arguments);

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_TOSCALEDMMA_SCALEDMMAROLES_H
