//===- StagedLoads.h - Operands that tensor maps bring ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels that decode an operand behind barriers: two threads load, one the
// plain operand and the other one codes and scales, into the stages of a ring,
// or each into those of a ring of its own. Others decode what is in a stage,
// and multiply.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_STAGEDLOADS_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_STAGEDLOADS_H

#include "Barriers.h"
#include "DecodedSpec.h"
#include "OperandData.h"
#include "SharedMemory.h"
#include "TileOrder.h"

namespace blockscale::products {

/// Warps that load, each an operand.
inline constexpr int64_t kLoadWarps = 2;

/// All that the code of such a kernel depends on.
struct StagedSpec : DecodedSpec {
  using DecodedSpec::DecodedSpec;

  /// Tiles of scales of a stage, for each product.
  int64_t getStageScaleTiles() const {
    return llvm::divideCeil(getStageSteps(), format.getTileSteps()) *
           getTilesAcross();
  }
  /// Those of an element of K: of all rows of a product where blocks lie along
  /// K.
  int64_t getTilesAcross() const {
    if (!format.isAcross())
      return 1;
    return llvm::divideCeil(DecodedTile(*this).scaledRowsOfEach,
                            format.block * kTileCols);
  }
};

/// Barriers of the stages of an operand.
struct StagedRing {
  const BarrierRing &full, &empty;
};

/// Shared memory. Plain data and scales of a stage are step by step.
struct StagedLayout : DecodedLayout {
  /// Takes the stages. Sums are those of `sumPart` plain rows.
  StagedLayout(const StagedSpec &spec, int64_t sumPart);
  /// Takes the barriers of stages.
  void takeStageBarriers(const StagedSpec &spec);

  /// Rows of codes of a stage come in boxes of `boxBytes` bytes of each row,
  /// with their pieces of 16 bytes exchanged as by a swizzle of so many bytes.
  int64_t boxBytes;
  /// Barriers of stages, of codes alone where plain rows have their own.
  int64_t stageFull = 0, stageEmpty = 0;
};

/// The parts of a kernel that loads need.
struct StagedOperands {
  const SharedMemory &memory;
  const StagedSpec &spec;
  const GemmArguments &arguments;
  const DecodedTile &tile;
  const StagedLayout &shared;
  const TileOrder &order;
  StagedRing plain, codes;
  /// CTAs of a cluster that need the same rows of A, of which each copies a
  /// part for all, and the number of this one among them, i32.
  int64_t sharers = 1;
  emit::Lanes sharer = {};
};

/// Those of the context of a kernel, whose plain rows have the ring `plain`.
template <typename Context>
StagedOperands getStagedOperands(const Context &context,
                                 const StagedRing &plain) {
  return {context,
          context.spec,
          context.arguments,
          context.tile,
          context.shared,
          context.order,
          plain,
          {context.stageFull, context.stageEmpty},
          /*sharers=*/1,
          /*sharer=*/{}};
}

/// Emits the role that loads one of the operands, the plain one or the one with
/// scales. One thread runs it.
void emitStagedLoads(KernelBuilder &b, const StagedOperands &operands,
                     bool isPlain);

/// The data of an operand with a map of which copies bring boxes of a stage.
OperandData getStagedData(const HostOperand &operand, const StagedSpec &spec,
                          int64_t boxBytes);

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_STAGEDLOADS_H
