//===- GlobalChains.cpp - Global scales in kernels of quantizers ----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GlobalChains.h"
#include "blockscale/Analysis/Fusion/KernelFamily.h"
#include "blockscale/IR/GlobalChain.h"

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
    // Without elements there is no kernel.
    if (family != KernelFamily::Rows ||
        quantize.getX().getType().getShape().back() == 0)
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

} // namespace blockscale
