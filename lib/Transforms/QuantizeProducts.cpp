//===- QuantizeProducts.cpp - Products of quantized operands --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Transforms/QuantizeProducts.h"
#include "blockscale/Transforms/Passes.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_QUANTIZEPRODUCTS
#include "blockscale/Transforms/Passes.h.inc"

/// Remarks of this category say how products are quantized; why one is left is
/// a remark of its op in any case.
static constexpr StringLiteral kCategory = "quantize-products";

static void explain(const ProductDecision &decision) {
  if (decision.obstacle)
    decision.op->emitRemark() << "is not quantized " << *decision.obstacle;
  else
    remark::passed(decision.op->getLoc(),
                   remark::RemarkOpts::name("quantized").category(kCategory))
        << remark::add("{0} by {1}", describe(*decision.form), decision.rule);
}

namespace {

struct QuantizeProductsPass
    : public impl::QuantizeProductsBase<QuantizeProductsPass> {
  using QuantizeProductsBase::QuantizeProductsBase;

  LogicalResult initialize(MLIRContext *context) override {
    return readPolicyOptions(context, policyFile, format, policy);
  }

  void runOnOperation() override { quantizeProducts(getOperation(), policy); }

private:
  QuantizationPolicy policy;
};

} // namespace

void replaceProducts(RewriterBase &rewriter,
                     ArrayRef<ProductDecision> decisions) {
  // From the last one on, since a product may read the result of one before it,
  // which is another value then.
  for (const ProductDecision &decision : llvm::reverse(decisions))
    if (decision.form)
      rewriter.replaceOp(decision.op,
                         createQuantizedProduct(rewriter, decision));
}

void quantizeProducts(ModuleOp module, const QuantizationPolicy &policy) {
  IRRewriter rewriter(module.getContext());
  module->walk([&](FunctionOpInterface function) {
    std::vector<ProductDecision> decisions = decideProducts(function, policy);
    for (const ProductDecision &decision : decisions)
      explain(decision);
    replaceProducts(rewriter, decisions);
  });
}

} // namespace blockscale
