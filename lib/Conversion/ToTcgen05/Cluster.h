//===- Cluster.h - CTAs that multiply together ------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile of 256 rows belongs to a pair of CTAs. Each has half of its rows of A
// and of B in shared memory, and half of its results; the first, the leader,
// issues the instructions of both (cta_group::2). Barriers that say what both
// have done are the leader's. Pairs of a cluster have tiles beside each other,
// so the same rows of A: each loads a part of them, for all.
//
// A tile of 128 rows belongs to one CTA, which leads itself.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOTCGEN05_CLUSTER_H
#define BLOCKSCALE_LIB_CONVERSION_TOTCGEN05_CLUSTER_H

#include "Products/Barriers.h"
#include "blockscale/IR/BlockScaleDialect.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace blockscale::products {

class Cluster {
public:
  Cluster(KernelBuilder &b, GemmScheduleAttr schedule);

  /// CTAs of a tile, and of the cluster.
  static int64_t getTileBlocks(GemmScheduleAttr schedule) {
    return schedule.getRows() / 128;
  }
  static int64_t getBlocks(GemmScheduleAttr schedule) {
    return getTileBlocks(schedule) * schedule.getMulticast();
  }

  bool isPair() const { return tileBlocks > 1; }
  int64_t getTileBlocks() const { return tileBlocks; }
  int64_t getPairs() const { return pairs; }
  mlir::NVVM::CTAGroupKind getGroup() const;
  mlir::NVVM::CTAGroupKindAttr getGroupAttr(KernelBuilder &b) const;

  /// The number of the CTA in its pair, and of the pair in the cluster, i32; 0
  /// where there is only one.
  emit::Lanes member, pair;

  /// Runs `body` in CTAs that lead.
  void emitIfLeader(KernelBuilder &b, llvm::function_ref<void()> body) const;

  /// Waits for all threads of the cluster, with what they did in memory.
  void emitBarrier(KernelBuilder &b) const;

  /// The leader's barrier that has the place of `barrier`, for copies.
  mlir::Value getLeaderBarrier(KernelBuilder &b, mlir::Value barrier) const;
  /// Arrives at the leader's barrier that has the place of `barrier`.
  void emitArriveAtLeader(KernelBuilder &b, mlir::Value barrier) const;

  /// Arrives at `barrier` of all CTAs of the cluster, or of those of the pair,
  /// once the products issued so far are done.
  void emitCommitToAll(KernelBuilder &b, mlir::Value barrier) const;
  void emitCommitToPair(KernelBuilder &b, mlir::Value barrier) const;

  /// The mask of CTAs that read the same rows of A, i16.
  mlir::Value getMulticastMask(KernelBuilder &b) const;

  /// The place of the CTA beside a leader that `pointer` into shared memory is
  /// of the leader.
  mlir::Value toPeer(KernelBuilder &b, mlir::Value pointer) const;

  /// `pointer` into shared memory, as one of the cluster's.
  mlir::Value toCluster(KernelBuilder &b, mlir::Value pointer) const;

private:
  void emitCommit(KernelBuilder &b, mlir::Value barrier,
                  mlir::Value mask) const;

  int64_t tileBlocks, pairs;
};

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_TOTCGEN05_CLUSTER_H
