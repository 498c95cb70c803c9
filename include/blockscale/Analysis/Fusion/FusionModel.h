//===- FusionModel.h - What fused kernels take ------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel of several ops reads each of its operands once and stores what
// others need; what its ops make for each other moves nothing. It takes as long
// as its bytes, its instructions or a launch, whichever is longest.
//
// So one kernel of ops is never slower than several of them, unless it computes
// more: it moves no more, and the longest of sums is no longer than the sum of
// the longest. What is computed again is what there is to choose.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_ANALYSIS_FUSION_FUSIONMODEL_H
#define BLOCKSCALE_ANALYSIS_FUSION_FUSIONMODEL_H

#include "blockscale/Analysis/Cost/CostModel.h"
#include "blockscale/Target/Chip.h"

namespace blockscale {

/// The cost of ops that are in no kernel yet. It answers with a reason where
/// sizes are dynamic and nothing is assumed for them.
class FusionModel {
public:
  using KernelOps = llvm::ArrayRef<mlir::Operation *>;

  /// `dynamicSizes` as in ShapeEvaluator.
  FusionModel(const target::Chip &chip, llvm::ArrayRef<int64_t> dynamicSizes);

  /// What `kernels`, each of these ops, take together. Those that have the same
  /// op compute it each for itself.
  llvm::Expected<Cost> getCost(llvm::ArrayRef<KernelOps> kernels) const;
  /// What one kernel takes that stores `results`.
  llvm::Expected<Cost> getCost(KernelOps kernel,
                               llvm::ArrayRef<mlir::Value> results) const;

  /// The GPU whose rates count.
  const target::Gpu &getGpu() const { return gpu; }

private:
  llvm::Expected<Cost>
  getCost(KernelOps kernel,
          llvm::function_ref<bool(mlir::OpResult result)> isStored,
          ShapeEvaluator &sizes) const;

  const target::Chip &chip;
  const target::Gpu &gpu;
  llvm::SmallVector<int64_t> dynamicSizes;
};

} // namespace blockscale

#endif // BLOCKSCALE_ANALYSIS_FUSION_FUSIONMODEL_H
