//===- WgmmaRoles.h - The warps of a matrix product -------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   loads      two threads of the last warpgroup, of a warp each: TMA brings a
//              stage of one of the operands, and the scales, into shared memory
//   products   the other warpgroups: each thread decodes its elements of
//              the scaled operand into registers and the warpgroup adds their
//              product with the plain operand to sums, which are registers,
//              too; then results go to memory
//
// wgmma takes its first operand from registers, 64 rows a warpgroup. So the
// scaled operand is always the first one, and where it is B, sums are those of
// the transposed result. While one warpgroup decodes, the other multiplies.
// Where no operand has scales, wgmma takes both from shared memory. Where there
// are eight plain rows, each warp multiplies its 16 rows with scales by
// mma.sync, whose fragments are the same. Two warps have a tile of 32 rows.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOWGMMA_WGMMAROLES_H
#define BLOCKSCALE_LIB_CONVERSION_TOWGMMA_WGMMAROLES_H

#include "Products/Barriers.h"
#include "Products/DecodedPairs.h"
#include "Products/RegisterResults.h"
#include "Products/SharedMemory.h"
#include "SumRegisters.h"
#include "WgmmaLayout.h"
#include "blockscale/Numerics/Accumulators.h"

#include "Emission/Lanes.h"

namespace blockscale::products {

inline constexpr int64_t kWarpgroupThreads = 4 * kWarpThreads;
/// Threads that multiply, those of a CTA, of which the last warpgroup loads,
/// and those of a team.
inline int64_t getProductThreads(const WgmmaSpec &spec) {
  return spec.getWarpgroups() * kWarpgroupThreads;
}
inline int64_t getWgmmaThreads(const WgmmaSpec &spec) {
  return getProductThreads(spec) + kWarpgroupThreads;
}
inline int64_t getTeamThreads(const WgmmaSpec &spec) {
  return getProductThreads(spec) / spec.getTeams();
}

/// The CTAs of a cluster: each has a part of K of the same tiles, or its own
/// one of tiles beside each other.
struct WgmmaCluster {
  WgmmaCluster(KernelBuilder &b, const WgmmaSpec &spec);

  /// Waits for all threads of the cluster.
  void emitBarrier(KernelBuilder &b) const;
  /// The place of CTA `number` (i32) that is at `pointer` in this CTA, or
  /// `pointer` where there is one CTA.
  mlir::Value getPlace(KernelBuilder &b, mlir::Value pointer,
                       mlir::Value number) const;
  /// Arrives at the barriers of all CTAs that are at `barrier` in this one, for
  /// a warp, of which `lane` (i32) is the number of the thread. What the warp
  /// has done before is done.
  void emitArrive(KernelBuilder &b, mlir::Value barrier, emit::Lanes lane,
                  mlir::NVVM::MemScopeKind scope) const;

  int64_t blocks, parts, sharers;
  /// The numbers of the part of K and of the tile, i32.
  emit::Lanes part, sharer;
};

/// The values and places that the roles of a kernel share.
struct WgmmaContext : SharedMemory {
  /// `arguments` have the sizes as i32.
  WgmmaContext(KernelBuilder &b, const WgmmaSpec &spec,
               const GemmArguments &arguments);

  const WgmmaSpec &spec;
  const GemmArguments &arguments;
  DecodedTile tile;
  SumRegisters sums;
  WgmmaLayout shared;
  WgmmaCluster cluster;
  TileOrder order;
  BarrierRing stageFull, stageEmpty;
  /// Barriers of the plain rows of stages: others than `stageFull` where teams
  /// decode before these are there.
  BarrierRing plainFull;
  /// Barriers of the sums of each warpgroup: its warps in all CTAs of a cluster
  /// have stored them, and have read them.
  BarrierRing sumsFull, sumsEmpty;
};

/// A thread that multiplies, all i32.
struct WgmmaThread {
  /// `inBlock` is the number of the thread in its CTA.
  WgmmaThread(KernelBuilder &b, const WgmmaSpec &spec, mlir::Value inBlock);

  /// The number of its team, known to be the same for all threads of a warp;
  /// its number in the team, and those of its warpgroup there and of its lane.
  emit::Lanes team, number, warpgroup, lane;
  /// The first of the two rows of the tile that it has elements of; the second
  /// one is eight rows after it. Four threads have elements of a row, and this
  /// is the number among them.
  emit::Lanes row, member;
};

/// Rows between the two of a thread.
inline constexpr int64_t kRowDistance =
    numerics::kWgmmaAccumulator.getElementOf<int64_t>(numerics::kSumRegister, 2)
        .row;
/// Registers of a thread for its elements of a step.
inline constexpr int64_t kStepRegisters = 4 * kStepProducts;

/// Emits the role that multiplies. `getProductThreads` threads run it.
void emitProducts(KernelBuilder &b, const WgmmaContext &context,
                  const WgmmaThread &thread);

/// Emits the wait for the launch before in a role, where launches overlap and
/// not all threads have waited. A thread that loads what no launch writes does
/// not wait: its ring is full by the time that the others may begin.
void emitRoleWait(KernelBuilder &b, const GemmArguments &arguments,
                  bool isEarly);

/// A step of K in a stage, all i32.
struct WgmmaStep {
  emit::Lanes slot;
  /// The numbers of the step in its stage and in the product.
  emit::Lanes inStage, inProduct;
};

/// The thread's elements of the scaled operand of a step, times their scales:
/// `kStepRegisters` i32. `tileOfRows` (i32) is the number of the tile along the
/// rows with scales.
llvm::SmallVector<mlir::Value>
emitDecode(KernelBuilder &b, const WgmmaContext &context,
           const WgmmaThread &thread, const WgmmaStep &step,
           mlir::Value tileOfRows, const ElementScale &global);
/// These as the first operand of the step's instructions, transposed where
/// blocks lie across K. Instructions that were begun before have ended then:
/// beside one that runs, ptxas would wait for each.
llvm::SmallVector<mlir::Value>
emitFirstOperand(KernelBuilder &b, const WgmmaContext &context,
                 llvm::ArrayRef<mlir::Value> elements);

/// Writes results. The threads of a warpgroup get here together. The parity
/// (i32) of the parts of tiles so far is carried from one to the next.
class WgmmaResults : public RegisterResults {
public:
  WgmmaResults(KernelBuilder &b, const WgmmaContext &context,
               const WgmmaThread &thread);

  /// Lets team `team` (i32) alone have the sums of a tile.
  void setOwner(emit::Lanes team) { owner = team; }

  /// Makes results of the sums of a tile. Gives the parity (i32) of the next
  /// one's, where `parity` is that of this one.
  mlir::Value emitTileSums(const TileCoord &tile, mlir::ValueRange sums,
                           mlir::Value parity);
  void emitTile(const TileCoord &tile) override;

private:
  void emitBegin(mlir::ValueRange carried) override;
  void emitStoreSums(mlir::ValueRange sums) override;
  /// The same of the team that has them.
  void emitStoreOwn(mlir::ValueRange sums);
  void emitStoreRounded(mlir::ValueRange sums);
  void emitStored(mlir::ValueRange carried) override;
  llvm::SmallVector<mlir::Value> emitRead(mlir::ValueRange carried) override;
  mlir::Value getSumAddress(int64_t copy, mlir::Value place) override;
  void emitRest(const ProductRange &product, mlir::Value cluster,
                mlir::Value clusters) override;
  /// Runs `body` in one team of those that share a tile.
  void emitOnce(llvm::function_ref<void()> body) override;
  /// Arrives at the barriers of all CTAs of the cluster, for a warp.
  void emitArrive(const BarrierRing &barriers, mlir::NVVM::MemScopeKind scope);
  /// Waits for the threads that share the results of a part, of all teams.
  void emitBarrier();

  const WgmmaContext &context;
  const WgmmaThread &thread;
  /// The number of the thread's team in the cluster, and that of the barrier of
  /// those that share a part, i32.
  emit::Lanes teamOfAll, ring;
  /// The team that has the sums of a tile, i32; null where each has some.
  emit::Lanes owner;
  /// Whether that team alone makes results.
  bool isOwned = false;
  /// Whether what is emitted runs in it alone.
  bool isInOwner = false;
};

/// Emits the whole kernel. `arguments` hold its parameters.
void emitWgmma(KernelBuilder &b, const WgmmaSpec &spec,
               GemmArguments arguments);

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_TOWGMMA_WGMMAROLES_H
