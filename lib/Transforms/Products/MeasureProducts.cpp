//===- MeasureProducts.cpp - What quantization changes --------------------===//
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

#define GEN_PASS_DEF_MEASUREPRODUCTS
#include "blockscale/Transforms/Passes.h.inc"

bool isMeasured(const ProductDecision &decision) {
  auto function = dyn_cast<func::FuncOp>(decision.op->getParentOp());
  return decision.form && function && function.getBody().hasOneBlock();
}

void returnMeasured(RewriterBase &rewriter, func::FuncOp function,
                    ArrayRef<Value> results) {
  Operation *terminator = function.getBody().front().getTerminator();
  rewriter.setInsertionPoint(terminator);
  rewriter.replaceOpWithNewOp<func::ReturnOp>(terminator, results);
  function.setType(rewriter.getFunctionType(function.getArgumentTypes(),
                                            TypeRange(ValueRange(results))));
  function.removeResAttrsAttr();
}

/// The sums of the squares of `plain`, and of its differences from `quantized`:
///
///   %0:2 = linalg.generic ins(%plain, %quantized) outs(%zero, %zero) {
///     s = plain * plain + s;  d = (plain - quantized)^2 + d
///   } -> (tensor<f64>, tensor<f64>)
static ValueRange createSums(OpBuilder &builder, Location loc, Value plain,
                             Value quantized) {
  auto type = cast<RankedTensorType>(plain.getType());
  Type f64 = builder.getF64Type();
  auto scalar = RankedTensorType::get({}, f64);
  Value zero = arith::ConstantOp::create(builder, loc,
                                         DenseElementsAttr::get(scalar, 0.0));
  AffineMap each = builder.getMultiDimIdentityMap(type.getRank());
  AffineMap none = AffineMap::get(type.getRank(), 0, builder.getContext());
  SmallVector<utils::IteratorType> kinds(type.getRank(),
                                         utils::IteratorType::reduction);
  auto sums = linalg::GenericOp::create(
      builder, loc, TypeRange{scalar, scalar}, ValueRange{plain, quantized},
      ValueRange{zero, zero}, ArrayRef<AffineMap>{each, each, none, none},
      kinds, [&](OpBuilder &b, Location at, ValueRange arguments) {
        Value value = arith::ExtFOp::create(b, at, f64, arguments[0]);
        Value other = arith::ExtFOp::create(b, at, f64, arguments[1]);
        Value error = arith::SubFOp::create(b, at, value, other);
        auto add = [&](Value sum, Value term) -> Value {
          Value square = arith::MulFOp::create(b, at, term, term);
          return arith::AddFOp::create(b, at, sum, square);
        };
        linalg::YieldOp::create(
            b, at, {add(arguments[2], value), add(arguments[3], error)});
      });
  return sums.getResults();
}

void measureProducts(func::FuncOp function,
                     ArrayRef<ProductDecision> decisions) {
  IRRewriter rewriter(function.getContext());
  SmallVector<Value> results;
  for (const ProductDecision &decision : decisions) {
    if (!isMeasured(decision))
      continue;
    Value quantized = createQuantizedProduct(rewriter, decision);
    rewriter.setInsertionPointAfter(decision.op);
    llvm::append_range(results,
                       createSums(rewriter, decision.op->getLoc(),
                                  decision.op->getResult(0), quantized));
  }
  returnMeasured(rewriter, function, results);
}

namespace {

struct MeasureProductsPass
    : public impl::MeasureProductsBase<MeasureProductsPass> {
  using MeasureProductsBase::MeasureProductsBase;

  LogicalResult initialize(MLIRContext *context) override {
    return readPolicyOptions(context, policyFile, format, policy);
  }

  void runOnOperation() override {
    getOperation()->walk([&](func::FuncOp function) {
      auto decisions = decideProducts(function, policy);
      if (llvm::any_of(decisions, isMeasured))
        measureProducts(function, decisions);
    });
  }

private:
  QuantizationPolicy policy;
};

} // namespace
} // namespace blockscale
