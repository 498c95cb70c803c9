//===- FusionDraft.h - A plan that is being made ----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_ANALYSIS_FUSION_FUSIONDRAFT_H
#define BLOCKSCALE_LIB_ANALYSIS_FUSION_FUSIONDRAFT_H

#include "blockscale/Analysis/Fusion/FusionLegality.h"
#include "blockscale/Analysis/Fusion/FusionPlan.h"

#include "llvm/ADT/DenseSet.h"

namespace blockscale {

/// The kernels planned so far, and what they change: which ops have a kernel,
/// which come earlier than they stand, and which are computed twice.
class FusionDraft {
public:
  using Ops = llvm::ArrayRef<mlir::Operation *>;

  /// The place of a kernel: `op`, after `moved` have come before it.
  struct Place {
    explicit operator bool() const { return op != nullptr; }

    mlir::Operation *op = nullptr;
    llvm::SmallVector<mlir::Operation *> moved;
  };

  explicit FusionDraft(const FusionOptions &options);

  const FusionOptions &getOptions() const { return options; }
  /// The estimates, for a GPU only.
  const FusionModel &getModel() const { return *model; }

  /// Whether `op` is computed in a kernel, planned or there already.
  bool isTaken(mlir::Operation *op) const { return taken.contains(op); }
  /// Whether a row program computes `op`.
  bool isProgramOp(mlir::Operation *op) const { return programs.contains(op); }
  /// Ops of the dialect in `function` that are in no kernel, nor planned to be.
  llvm::SmallVector<mlir::Operation *>
  collectOps(mlir::FunctionOpInterface function) const;

  /// Notes that `readers`, and the kernel that has them, take a copy of `op`.
  void copyFor(mlir::Operation *op, Ops readers);
  /// Whether a kernel of `ops` computes a copy of `op`, one of them.
  bool isCopy(mlir::Operation *op, Ops ops) const;
  /// Whether `user` reads what a kernel of `ops` computes as `op`, one of them.
  bool isUse(mlir::Operation *op, mlir::Operation *user, Ops ops) const;
  /// Whether `user`, of which a kernel of `ops` has only a copy, reads what the
  /// kernel computes as `op` in another one, too.
  bool isReadElsewhere(mlir::Operation *op, mlir::Operation *user,
                       Ops ops) const;
  /// Whether what a kernel of `ops` computes as `op` comes before `other` in
  /// their block.
  bool isBefore(mlir::Operation *op, mlir::Operation *other) const;

  /// Where all of `ops` can be computed, after slices, constants and scalars
  /// that they need have moved there; nowhere if there is no such place. Brings
  /// `ops` into the order of their block.
  Place findPlace(llvm::SmallVectorImpl<mlir::Operation *> &ops) const;

  /// The values of `ops` that others need, or that nothing needs.
  llvm::SmallVector<mlir::Value> getResults(Ops ops) const;

  /// Adds a kernel at `place`, of the family that its ops have if it names
  /// none.
  void take(PlannedKernel kernel, const Place &place);
  /// Adds a kernel of `ops`.
  void take(Ops ops, const Place &place,
            std::optional<FusionChoice> choice = std::nullopt);
  llvm::ArrayRef<PlannedKernel> getKernels() const { return plan.kernels; }
  /// Lets the kernel number `number` compute the ops of kernel `other`, one of
  /// a higher number, as well, where the one that comes first is, if neither
  /// needs the other one and both could be there. Returns whether it does.
  bool join(size_t number, size_t other);
  /// The kernel planned for `op`; null if there is none.
  const PlannedKernel *findKernel(mlir::Operation *op) const;
  /// Lets the kernel of `member` compute `op` as well, which reads nothing but
  /// results of `member`.
  void extend(mlir::Operation *member, mlir::Operation *op);
  /// Lets the kernel of `member` compute `ops` first, which read no results of
  /// its ops.
  void extendBefore(mlir::Operation *member, Ops ops);
  /// Lets the kernel of `amax` store its parts, of which the kernel of `member`
  /// takes the largest first.
  void handOver(AmaxOp amax, mlir::Operation *member);
  /// Notes that `op` needs no kernel.
  void drop(mlir::Operation *op);

  /// A remark that an op has a plain kernel, and why it has no other.
  void remarkPlain(mlir::Operation *op, const FusionObstacle &obstacle);
  void remark(mlir::Operation *op, const llvm::Twine &text);
  void remark(mlir::Operation *op, const llvm::Twine &text,
              const FusionObstacle &obstacle);

  /// The plan, once every op is in it.
  FusionPlan finish();

private:
  /// What an op stands before, or in the place of.
  struct Anchor {
    mlir::Operation *op;
    bool isMoved;
  };
  Anchor getAnchor(mlir::Operation *op) const;
  PlannedKernel &getKernel(mlir::Operation *member);
  void insert(PlannedKernel &kernel, mlir::Operation **place, Ops ops);
  bool isAvailable(mlir::Value value, mlir::Operation *place, Ops ops) const;
  bool isNeededBefore(mlir::Operation *op, mlir::Operation *last,
                      Ops ops) const;
  llvm::SmallVector<mlir::Value> getNeeded(mlir::Operation *op, Ops ops) const;
  std::optional<llvm::SmallVector<mlir::Operation *>>
  findMoved(mlir::Operation *place, Ops ops) const;

  FusionOptions options;
  std::optional<FusionModel> model;
  FusionPlan plan;
  llvm::DenseSet<mlir::Operation *> taken;
  llvm::DenseSet<mlir::Operation *> takenCopies;
  llvm::DenseSet<mlir::Operation *> programs;
  llvm::DenseMap<mlir::Operation *, Anchor> anchors;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_ANALYSIS_FUSION_FUSIONDRAFT_H
