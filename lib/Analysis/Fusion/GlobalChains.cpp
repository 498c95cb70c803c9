//===- GlobalChains.cpp - Global scales in kernels of quantizers ----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GlobalChains.h"
#include "blockscale/Analysis/Fusion/FusionLegality.h"
#include "blockscale/Analysis/Fusion/KernelFamily.h"
#include "blockscale/IR/GlobalChain.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;

namespace blockscale {

/// Whether others than the kernel of `ops` at `place` need what `op` computes
/// before it.
static bool isNeededBefore(Operation *op, ArrayRef<Operation *> ops,
                           Operation *place, const FusionDraft &draft) {
  return llvm::any_of(op->getUsers(), [&](Operation *user) {
    Operation *ancestor = place->getBlock()->findAncestorOpInBlock(*user);
    return ancestor && !llvm::is_contained(ops, user) &&
           draft.isBefore(ancestor, place);
  });
}

/// Whether a kernel of `family` can compute the global operand of `quantize`.
/// Without elements there is no kernel, and members of a group share code.
static bool mayComputeGlobal(QuantizeOp quantize, KernelFamily family) {
  bool hasCode =
      family == KernelFamily::Rows ||
      (family == KernelFamily::Strips && !quantize->hasAttr(kGroupAttrName));
  return hasCode && quantize.getX().getType().getShape().back() != 0;
}

void planGlobalChains(FunctionOpInterface function, FusionDraft &draft) {
  SmallVector<QuantizeOp> quantizes;
  for (Operation *op : collectOps(function))
    if (auto quantize = dyn_cast<QuantizeOp>(op))
      quantizes.push_back(quantize);
  for (QuantizeOp quantize : quantizes) {
    SmallVector<Operation *> chain = GlobalChain::find(quantize).getOps();
    const PlannedKernel *kernel = draft.findKernel(quantize);
    KernelFamily family =
        kernel ? *kernel->family : chooseFamily(quantize.getOperation());
    if (!mayComputeGlobal(quantize, family))
      continue;
    Operation *place = kernel ? kernel->place : quantize.getOperation();
    SmallVector<Operation *> ops;
    while (!chain.empty()) {
      Operation *op = chain.pop_back_val();
      SmallVector<Operation *> readers(ops);
      readers.push_back(quantize);
      if (draft.isTaken(op) || isNeededBefore(op, readers, place, draft))
        break;
      ops.insert(ops.begin(), op);
    }
    if (ops.empty())
      continue;
    if (kernel) {
      draft.extendBefore(quantize, ops);
      continue;
    }
    ops.push_back(quantize);
    draft.take(ops, {quantize, {}});
  }
}

//===----------------------------------------------------------------------===//
// Parts of amaxes
//===----------------------------------------------------------------------===//

/// Whether an amax can be taken in parts: it is one number for a tensor, whose
/// rows have elements.
static bool mayHaveParts(AmaxOp amax) {
  return !amax.getOffsets() && amax.getAmax().getType().getRank() == 0 &&
         amax.getX().getType().getShape().back() != 0;
}

/// The quantization that `amax`, or its scale, is the global operand of, in a
/// kernel that can compute it, where nothing needs it before; null if there is
/// none.
static QuantizeOp findFinisher(AmaxOp amax, const FusionDraft &draft) {
  auto findReader = [&](Value value) -> QuantizeOp {
    for (Operation *user : value.getUsers())
      if (auto quantize = dyn_cast<QuantizeOp>(user))
        if (quantize.getGlobal() == value &&
            quantize->getBlock() == amax->getBlock())
          return quantize;
    return {};
  };
  QuantizeOp quantize = findReader(amax.getAmax());
  for (Operation *user : amax->getUsers())
    if (auto scale = dyn_cast<GlobalScaleOp>(user); scale && !quantize)
      quantize = findReader(scale.getScale());
  const PlannedKernel *kernel = quantize ? draft.findKernel(quantize) : nullptr;
  bool isFinisher =
      kernel && kernel->family == KernelFamily::Strips &&
      !llvm::is_contained(kernel->ops, amax.getOperation()) &&
      mayComputeGlobal(quantize, KernelFamily::Strips) &&
      !isNeededBefore(amax, kernel->ops, kernel->place, draft) &&
      llvm::all_of(amax->getUsers(), [&](Operation *user) {
        // Its scale is the chain's only where the kernel has it.
        return !isa<GlobalScaleOp>(user) ||
               llvm::is_contained(kernel->ops, user) ||
               !isNeededBefore(user, kernel->ops, kernel->place, draft);
      });
  return isFinisher ? quantize : QuantizeOp();
}

void planAmaxParts(FusionDraft &draft) {
  SmallVector<std::pair<AmaxOp, QuantizeOp>> handedOver;
  for (const PlannedKernel &kernel : draft.getKernels()) {
    SmallVector<std::pair<AmaxOp, QuantizeOp>> ofKernel;
    bool isWhole = true;
    for (Operation *op : kernel.ops) {
      auto amax = dyn_cast<AmaxOp>(op);
      if (amax && mayHaveParts(amax))
        if (QuantizeOp quantize = findFinisher(amax, draft)) {
          ofKernel.emplace_back(amax, quantize);
          continue;
        }
      isWhole &= isa<HadamardOp, linalg::LinalgOp>(op);
    }
    if (isWhole)
      llvm::append_range(handedOver, ofKernel);
  }
  for (auto [amax, quantize] : handedOver)
    draft.handOver(amax, quantize);
}

} // namespace blockscale
