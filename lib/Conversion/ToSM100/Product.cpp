//===- Product.cpp - What dense and grouped products have -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Product.h"
#include "blockscale/Analysis/Epilogue.h"

using namespace mlir;

namespace blockscale::sm100 {

template <typename OpTy>
static bool isScaledAfterRounding(OpTy op) {
  return op.getGlobalScaling() == GlobalScaling::AfterRounding;
}

Product Product::of(Operation *op) {
  if (auto product = dyn_cast<ScaledMMOp>(op))
    return Product(product);
  return Product(cast<ScaledGroupedMMOp>(op));
}

void Product::lookAtKernel() {
  auto kernel = op->getParentOfType<KernelOp>();
  if (!kernel)
    return;
  Block &body = kernel.getBody().front();
  siblings =
      llvm::count_if(body, [](Operation &each) { return isProduct(&each); });
  hasEpilogue = !llvm::is_contained(body.getTerminator()->getOperands(),
                                    op->getResult(0));
}

Product::Product(ScaledMMOp op)
    : op(op), groups(Groups::None), a(op.getA()), b(op.getB()),
      scaleA(op.getScaleA()), scaleB(op.getScaleB()), result(op.getResult()),
      factorA(op.getGlobalScaleA()), factorB(op.getGlobalScaleB()),
      bias(op.getBias()), scalesAfterRounding(isScaledAfterRounding(op)) {
  lookAtKernel();
}

Product::Product(ScaledGroupedMMOp op)
    : op(op), groups(op.isKGrouped() ? Groups::Depth : Groups::Rows),
      a(op.getA()), b(op.getB()), scaleA(op.getScaleA()),
      scaleB(op.getScaleB()), result(op.getResult()), offsets(op.getOffsets()),
      factorA(op.getGlobalScaleA()), factorB(op.getGlobalScaleB()),
      bias(op.getBias()), scalesAfterRounding(isScaledAfterRounding(op)) {
  lookAtKernel();
}

} // namespace blockscale::sm100
