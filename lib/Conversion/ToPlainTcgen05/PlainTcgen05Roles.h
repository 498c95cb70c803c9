//===- PlainTcgen05Roles.h - The warps of a matrix product ------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   loads      two threads, of a warp each: TMA brings a stage of one of the
//              operands, and the scales, into shared memory
//   decode     eight warps: each thread decodes half of a row of a stage of the
//              scaled operand and puts it into tensor memory
//   products   one thread adds the product of a decoded stage and plain rows to
//              an accumulator in tensor memory. Plain rows have a ring of their
//              own, in which wide tiles have parts of stages
//   results    four warps bring an accumulator to registers, and results by
//              shared memory to global memory
//
// tcgen05.mma takes its first operand from tensor memory, 128 rows, which so is
// always the scaled one. Where that is B, sums are those of the transposed
// result. Weights fill all rows then, however few plain rows there are. Where
// no operand has scales, both are taken from shared memory, and none decode.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOPLAINTCGEN05_PLAINTCGEN05ROLES_H
#define BLOCKSCALE_LIB_CONVERSION_TOPLAINTCGEN05_PLAINTCGEN05ROLES_H

#include "PlainTcgen05Layout.h"

namespace blockscale::products {

/// Warps that decode: those of each half of a stage have all lanes.
inline constexpr int64_t kStageParts = 2;
inline constexpr int64_t kDecodeWarps = kStageParts * kResultWarps;
/// Without scales none decode.
inline int64_t getDecodeWarps(const PlainTcgen05Spec &spec) {
  return spec.format.hasScales ? kDecodeWarps : 0;
}
/// Threads of a block: warps with results, those that decode, those that load,
/// and the one that multiplies.
inline int64_t getThreads(const PlainTcgen05Spec &spec) {
  return (kResultWarps + getDecodeWarps(spec) + kLoadWarps + 1) * kWarpThreads;
}

/// The values and places that the roles of a kernel share.
struct PlainTcgen05Context : SharedMemory {
  /// `arguments` have the sizes as i32.
  PlainTcgen05Context(KernelBuilder &b, const PlainTcgen05Spec &spec,
                      const GemmArguments &arguments);

  /// Runs `body` on each stage of a tile, with what it carries behind the slot
  /// of the stage in the ring: with that slot, the number of the stage's first
  /// step in the product, and the elements of K that are left there, all i32.
  using StageBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      const RingSlot &slot, emit::Lanes firstStep, emit::Lanes left,
      mlir::ValueRange carried)>;
  llvm::SmallVector<mlir::Value> emitStages(KernelBuilder &b,
                                            const TileCoord &tile,
                                            mlir::ValueRange carried,
                                            StageBody body) const;

  const PlainTcgen05Spec &spec;
  const GemmArguments &arguments;
  DecodedTile tile;
  PlainTcgen05Layout shared;
  TileOrder order;
  BarrierRing stageFull, stageEmpty;
  BarrierRing plainFull, plainEmpty;
  BarrierRing decodedFull, decodedEmpty;
  BarrierRing sumFull, sumEmpty;
  /// The address of the tensor memory, i32, once it is allocated.
  mlir::Value tensorMemory;
};

/// Arrives at barriers for all threads of a warp, which get here together.
void emitArriveInWarp(KernelBuilder &b, llvm::ArrayRef<mlir::Value> barriers);

/// Emits the role that decodes. `kDecodeWarps` warps run it; `thread` (i32) is
/// the number of a thread in these.
void emitDecode(KernelBuilder &b, const PlainTcgen05Context &context,
                emit::Lanes thread);
/// Emits the role that multiplies. One thread runs it.
void emitProducts(KernelBuilder &b, const PlainTcgen05Context &context);
/// Emits the role that writes results. `kResultWarps` warps run it; `thread`
/// (i32) is the number of a thread in these.
void emitResults(KernelBuilder &b, const PlainTcgen05Context &context,
                 emit::Lanes thread);

/// Emits the whole kernel. `arguments` hold its parameters.
void emitPlainTcgen05(KernelBuilder &b, const PlainTcgen05Spec &spec,
                      GemmArguments arguments);

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_TOPLAINTCGEN05_PLAINTCGEN05ROLES_H
