//===- ElementwiseToLinalg.cpp - Elementwise ops on plain tensors ---------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Checks/RunTimeChecks.h"
#include "blockscale/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_ELEMENTWISETOLINALG
#include "blockscale/Transforms/Passes.h.inc"

/// Whether tensors of `type` are computed with rather than moved.
static bool isPlain(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return true;
  Type element = tensor.getElementType();
  bool isNarrow =
      isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 16;
  return !tensor.getEncoding() && !isNarrow;
}

static bool isConverted(Operation *op) {
  return isElementwise(op) &&
         llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>) &&
         llvm::all_of(op->getOperandTypes(), isPlain) &&
         llvm::all_of(op->getResultTypes(), isPlain);
}

namespace {

struct ElementwiseToLinalgPass
    : public impl::ElementwiseToLinalgBase<ElementwiseToLinalgPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    linalg::populateElementwiseToLinalgConversionPatterns(patterns);
    ConversionTarget target(getContext());
    target.markUnknownOpDynamicallyLegal(
        [](Operation *op) { return !isConverted(op); });
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace blockscale
