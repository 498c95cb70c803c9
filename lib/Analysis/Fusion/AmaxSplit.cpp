//===- AmaxSplit.cpp - Amaxes that quantizers finish ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Analysis/Fusion/AmaxSplit.h"
#include "RowProgramPlan.h"
#include "blockscale/Analysis/Fusion/KernelFamily.h"
#include "blockscale/Analysis/Fusion/KernelGroups.h"
#include "blockscale/Analysis/Producers.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;

namespace blockscale {

/// The quantization of the x of `amax` that needs it, whose threads have rows;
/// null if there is none.
static QuantizeOp findReader(AmaxOp amax) {
  for (Operation *user : amax.getX().getUsers()) {
    auto quantize = dyn_cast<QuantizeOp>(user);
    if (!quantize || quantize.getX() != amax.getX() ||
        quantize->getBlock() != amax->getBlock() || getGroup(quantize) ||
        chooseFamily(quantize.getOperation()) != KernelFamily::Rows)
      continue;
    Value global = quantize.getGlobal();
    if (auto scale =
            global ? global.getDefiningOp<GlobalScaleOp>() : GlobalScaleOp())
      if (scale->getBlock() == quantize->getBlock())
        global = scale.getAmax();
    if (global == amax.getAmax())
      return quantize;
  }
  return {};
}

/// Whether others than `amax` and `quantize`, which both read x, share a kernel
/// with one of them.
static bool hasSiblings(AmaxOp amax, QuantizeOp quantize) {
  return llvm::any_of(amax.getX().getUsers(), [&](Operation *user) {
    return isa<AmaxOp, HadamardOp, QuantizeOp>(user) && user != amax &&
           user != quantize;
  });
}

/// Whether anything but `quantize` needs `value` before it.
static bool isNeededBefore(Value value, QuantizeOp quantize) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    Operation *ancestor = quantize->getBlock()->findAncestorOpInBlock(*user);
    return ancestor && ancestor != quantize &&
           ancestor->isBeforeInBlock(quantize);
  });
}

/// Whether elementwise ops make `x` that kernels of its readers would have.
static bool isElementwise(Value x, FusionDraft &draft) {
  auto producer = x.getDefiningOp<linalg::LinalgOp>();
  return producer && !isOfRowProgram(x, draft) &&
         !findElementwiseObstacle(producer);
}

static bool isSplit(AmaxOp amax, FusionDraft &draft) {
  RankedTensorType x = amax.getX().getType();
  if (amax.getOffsets() || amax.getAmax().getType().getRank() != 0 ||
      x.getShape().back() == 0)
    return false;
  QuantizeOp quantize = findReader(amax);
  if (!quantize || hasSiblings(amax, quantize))
    return false;
  auto scale = quantize.getGlobal().getDefiningOp<GlobalScaleOp>();
  if (scale && isNeededBefore(scale.getScale(), quantize))
    return false;
  bool isNeeded = llvm::any_of(amax->getUsers(), [&](Operation *user) {
    Operation *ancestor = quantize->getBlock()->findAncestorOpInBlock(*user);
    return user != scale && user != quantize && ancestor &&
           ancestor->isBeforeInBlock(quantize);
  });
  return !isNeeded && !isElementwise(amax.getX(), draft);
}

SmallVector<AmaxOp> findSplitAmaxes(FunctionOpInterface function,
                                    const FusionOptions &options) {
  SmallVector<AmaxOp> amaxes;
  if (!options.chip || !options.fuse)
    return amaxes;
  FusionDraft draft(options);
  for (Operation *op : draft.collectOps(function))
    if (auto amax = dyn_cast<AmaxOp>(op))
      if (isSplit(amax, draft))
        amaxes.push_back(amax);
  return amaxes;
}

} // namespace blockscale
