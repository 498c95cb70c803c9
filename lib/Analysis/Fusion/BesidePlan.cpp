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
static constexpr size_t kMostBeside = 4;

using Sources = llvm::SmallPtrSet<Value, 4>;

/// What the ops of `kernel` quantize, each x with code of its own; empty where
/// the kernel cannot have others beside these.
static Sources getSources(const PlannedKernel &kernel) {
  Sources sources;
  if (kernel.family != KernelFamily::Strips || !kernel.copied.empty())
    return {};
  for (Operation *op : KernelBody(kernel.ops).others) {
    if (findBesideObstacle(op) || op->hasAttr(kGroupAttrName))
      return {};
    auto quantize = dyn_cast<QuantizeOp>(op);
    if (!quantize)
      continue;
    Value x = quantize.getX();
    auto hadamard = x.getDefiningOp<HadamardOp>();
    if (hadamard && llvm::is_contained(kernel.ops, hadamard))
      x = hadamard.getX();
    sources.insert(x);
  }
  return sources;
}

/// Whether one launch can have code for each x of both. Kernels of the same x
/// are apart for a reason.
static bool fit(const Sources &sources, const Sources &others) {
  return !others.empty() && sources.size() + others.size() <= kMostBeside &&
         llvm::none_of(others, [&](Value x) { return sources.contains(x); });
}

void planBeside(FusionDraft &draft) {
  for (size_t i = 0; i < draft.getKernels().size(); ++i) {
    Sources sources = getSources(draft.getKernels()[i]);
    for (size_t j = i + 1; !sources.empty() && j < draft.getKernels().size();) {
      Sources others = getSources(draft.getKernels()[j]);
      if (fit(sources, others) && draft.join(i, j))
        sources.insert(others.begin(), others.end());
      else
        ++j;
    }
  }
}

} // namespace blockscale
