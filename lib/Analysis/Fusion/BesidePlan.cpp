//===- BesidePlan.cpp - Kernels of several x that share a launch ----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BesidePlan.h"
#include "blockscale/Analysis/Fusion/FusionLegality.h"
#include "blockscale/Analysis/Fusion/KernelFamily.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace blockscale {

/// The most x that a launch has code for. Each has as many registers as the one
/// that needs the most.
static constexpr int64_t kMostBeside = 4;

/// How many x the ops of `kernel` quantize, each with code of its own; 0 where
/// the kernel cannot have others beside these.
static int64_t countSources(const PlannedKernel &kernel) {
  if (kernel.family != KernelFamily::Strips || !kernel.copied.empty())
    return 0;
  llvm::SmallPtrSet<Value, 4> sources;
  for (Operation *op : KernelBody(kernel.ops).others) {
    if (findBesideObstacle(op) || op->hasAttr(kGroupAttrName))
      return 0;
    auto quantize = dyn_cast<QuantizeOp>(op);
    if (!quantize)
      continue;
    Value x = quantize.getX();
    if (auto hadamard = x.getDefiningOp<HadamardOp>())
      x = hadamard.getX();
    sources.insert(x);
  }
  return static_cast<int64_t>(sources.size());
}

void planBeside(FusionDraft &draft) {
  for (size_t i = 0; i < draft.getKernels().size(); ++i) {
    int64_t count = countSources(draft.getKernels()[i]);
    for (size_t j = i + 1; count > 0 && j < draft.getKernels().size();) {
      int64_t others = countSources(draft.getKernels()[j]);
      bool fits = others > 0 && count + others <= kMostBeside;
      if (fits && draft.join(i, j))
        count += others;
      else
        ++j;
    }
  }
}

} // namespace blockscale
