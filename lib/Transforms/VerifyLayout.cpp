//===- VerifyLayout.cpp - Refuse uses that upstream ops would accept ------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConstantRules.h"
#include "blockscale/Transforms/Passes.h"
#include "blockscale/Transforms/Storage.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_VERIFYLAYOUT
#include "blockscale/Transforms/Passes.h.inc"

namespace {

struct VerifyLayoutPass : public impl::VerifyLayoutBase<VerifyLayoutPass> {
  void runOnOperation() override {
    bool isLegal = true;
    getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
      // A size that memory does not hold may still fold away.
      if (!isa<tensor::DimOp>(op))
        isLegal &= succeeded(verifyStorageRules(op));
      isLegal &= succeeded(verifyConstantOperands(op));
    });
    if (!isLegal)
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace blockscale
