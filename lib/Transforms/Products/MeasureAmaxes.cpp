//===- MeasureAmaxes.cpp - The amaxes of activations ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Transforms/MeasureProducts.h"
#include "blockscale/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_MEASUREAMAXES
#include "blockscale/Transforms/Passes.h.inc"

static bool hasMeasuredAmax(const ProductDecision &decision) {
  return isMeasured(decision) && decision.readsAmax();
}

void measureAmaxes(func::FuncOp function, ArrayRef<ProductDecision> decisions) {
  IRRewriter rewriter(function.getContext());
  SmallVector<Value> results;
  for (const ProductDecision &decision : decisions)
    if (hasMeasuredAmax(decision))
      results.push_back(createActivationAmax(rewriter, decision));
  returnMeasured(rewriter, function, results);
}

namespace {

struct MeasureAmaxesPass : public impl::MeasureAmaxesBase<MeasureAmaxesPass> {
  using MeasureAmaxesBase::MeasureAmaxesBase;

  LogicalResult initialize(MLIRContext *context) override {
    return readPolicyOptions(context, policyFile, format, policy);
  }

  void runOnOperation() override {
    getOperation()->walk([&](func::FuncOp function) {
      auto decisions = decideProducts(function, policy);
      if (llvm::any_of(decisions, hasMeasuredAmax))
        measureAmaxes(function, decisions);
    });
  }

private:
  QuantizationPolicy policy;
};

} // namespace
} // namespace blockscale
