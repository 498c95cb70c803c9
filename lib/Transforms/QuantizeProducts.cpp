//===- QuantizeProducts.cpp - Products of quantized operands --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Transforms/QuantizeProducts.h"
#include "ElementwiseStep.h"
#include "blockscale/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
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

/// The one op that reads the elements of `value`, or null.
static Operation *getOnlyReader(Value value) {
  Operation *reader = nullptr;
  for (Operation *user : value.getUsers()) {
    if (isa<tensor::DimOp>(user) || user == reader)
      continue;
    if (reader)
      return nullptr;
    reader = user;
  }
  return reader;
}

/// The result of the layer whose product is `value`: of the addition of a row,
/// its bias, if nothing else reads the product.
static Value findLayerResult(Value value) {
  for (Value behind = value;;) {
    Operation *reader = getOnlyReader(behind);
    if (!reader)
      return value;
    if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp>(
            reader)) {
      behind = reader->getResult(0);
      continue;
    }
    std::optional<ElementwiseStep> step = getElementwiseStep(reader);
    auto isBias = [](const StepOperand &operand) {
      return operand.spread == StepOperand::Spread::Columns;
    };
    if (!step || step->kind != ElementwiseStep::Kind::Add ||
        !(isBias(step->lhs) || isBias(step->rhs)))
      return value;
    return reader->getResult(0);
  }
}

/// Rounds the result of a layer whose product is `value`, as a layer of such a
/// type does:
///
///   %y = linalg.add ins(%product, %bias : tensor<MxNxf32>, ..)
///   ->  %y = linalg.add ins(%product, %bias : tensor<MxNxf32>, ..)
///       %n = arith.truncf %y : tensor<MxNxf32> to tensor<MxNxbf16>
///       %w = arith.extf %n : tensor<MxNxbf16> to tensor<MxNxf32>
static void roundLayer(RewriterBase &rewriter, Value value,
                       const ProductForm &form) {
  Value result = findLayerResult(value);
  auto tensor = cast<RankedTensorType>(result.getType());
  Type type = getLayerType(form, tensor.getElementType());
  if (type == tensor.getElementType())
    return;
  rewriter.setInsertionPointAfterValue(result);
  auto narrow = arith::TruncFOp::create(rewriter, result.getLoc(),
                                        tensor.clone(type), result);
  Value wide = arith::ExtFOp::create(rewriter, result.getLoc(), Type(tensor),
                                     Value(narrow));
  rewriter.replaceAllUsesExcept(result, wide, narrow);
}

void replaceProducts(RewriterBase &rewriter,
                     ArrayRef<ProductDecision> decisions) {
  // From the last one on, since a product may read the result of one before it,
  // which is another value then.
  for (const ProductDecision &decision : llvm::reverse(decisions)) {
    if (!decision.form)
      continue;
    Value product = createQuantizedProduct(rewriter, decision);
    rewriter.replaceOp(decision.op, product);
    roundLayer(rewriter, product, *decision.form);
  }
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
