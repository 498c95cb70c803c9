//===- FusionPlan.h - What runs as one kernel, and why ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan says which ops of a function become kernels, each with the ops that it
// computes. It is made from the function as it is, which it leaves alone: the
// pass `blockscale-form-kernels` carries it out.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_ANALYSIS_FUSION_FUSIONPLAN_H
#define BLOCKSCALE_ANALYSIS_FUSION_FUSIONPLAN_H

#include "blockscale/Analysis/Fusion/FusionChoice.h"
#include "blockscale/Analysis/TransformSizes.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

#include <vector>

namespace blockscale {

/// What a plan is for.
struct FusionOptions {
  /// The GPU whose kernels may have several ops; null for the CPU, where each
  /// op of the dialect has its own.
  const target::Chip *chip = nullptr;
  /// Whether kernels have several ops. Norms, of which an op is no kernel on a
  /// GPU, have them in any case.
  bool fuse = true;
  Recompute recompute = Recompute::Model;
  /// The transforms that kernels compute in registers.
  TransformSizes transforms = TransformSizes::Any;
  /// Assumed sizes of dynamic dimensions, as in ShapeEvaluator.
  llvm::SmallVector<int64_t> dynamicSizes;
};

/// One kernel of a plan.
struct PlannedKernel {
  /// The ops that it computes, in an order in which they can be computed.
  llvm::SmallVector<mlir::Operation *> ops;
  /// The ops of `ops` that the kernel computes in a copy of its own
  /// (FusionPlan::copies).
  llvm::SmallPtrSet<mlir::Operation *, 4> copied;
  /// The family of its code on a GPU; nullopt for the CPU.
  std::optional<KernelFamily> family;
  /// The values of `ops` that it stores.
  llvm::SmallVector<mlir::Value> results;
  /// The one of `ops` that it takes the place of.
  mlir::Operation *place = nullptr;
  /// Why it has several ops, and what that was estimated to take; nullopt where
  /// there was nothing to choose.
  std::optional<FusionChoice> choice;
};

/// Something that a user wants to know about an op.
struct FusionRemark {
  mlir::Operation *op;
  std::string text;
  /// Whether the op has a plain kernel, as whole programs have many of: users
  /// ask for these remarks by their category.
  bool isPlain = false;
};

struct FusionPlan {
  /// The kernels, in the order in which they are to be made.
  std::vector<PlannedKernel> kernels;
  /// Ops that two kernels compute, and the ops that are to read the copy.
  llvm::MapVector<mlir::Operation *, llvm::SmallVector<mlir::Operation *>>
      copies;
  /// Amaxes of two kernels: one stores their parts, and one that quantizes
  /// takes the largest of these.
  llvm::SmallVector<AmaxOp> inParts;
  /// Ops that nothing is computed for: swizzles from a layout to the same one,
  /// and fills that kernels have inside.
  llvm::SmallVector<mlir::Operation *> unneeded;
  /// Why ops that could share a kernel do not.
  llvm::SmallVector<FusionRemark> remarks;
};

/// Ops of the dialect in `function` that are in no kernel.
llvm::SmallVector<mlir::Operation *>
collectOps(mlir::FunctionOpInterface function);

/// The kernels for the ops of the dialect in `function`, and on a GPU for the
/// linalg ops, that are in none yet.
FusionPlan planFusion(mlir::FunctionOpInterface function,
                      const FusionOptions &options);

} // namespace blockscale

#endif // BLOCKSCALE_ANALYSIS_FUSION_FUSIONPLAN_H
