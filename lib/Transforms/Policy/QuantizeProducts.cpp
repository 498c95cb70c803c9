//===- QuantizeProducts.cpp - Products of quantized operands --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Transforms/QuantizeProducts.h"
#include "Elementwise/ElementwiseStep.h"
#include "blockscale/Analysis/OnlyUser.h"
#include "blockscale/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_QUANTIZEPRODUCTS
#include "blockscale/Transforms/Passes.h.inc"

/// Remarks of this category say how products are quantized; why one is left is
/// a remark of its op in any case.
static constexpr StringLiteral kCategory = "quantize-products";

/// What is made of each number of rows: "nvfp4, weights only by rule 1 of
/// p.json for M up to 16, nvfp4 by rule 2 of p.json for M from 17 on".
static std::string describeByRows(const ProductDecision &decision) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(decision.byRows, os, [&](const RowsDecision &each) {
    const PolicyDecision &made = each.decision;
    if (made.form)
      os << describe(*made.form) << " by " << made.rule->name;
    else
      os << "left (" << made.obstacle->clause << ")";
    os << " for " << describeRows(each.rows);
  });
  return text;
}

static void explain(const ProductDecision &decision) {
  if (!decision.byRows.empty())
    remark::passed(decision.op->getLoc(),
                   remark::RemarkOpts::name("by-rows").category(kCategory))
        << remark::add("decided at run time: {0}", describeByRows(decision));
  else if (decision.obstacle)
    decision.op->emitRemark() << "is not quantized " << *decision.obstacle;
  else
    remark::passed(decision.op->getLoc(),
                   remark::RemarkOpts::name("quantized").category(kCategory))
        << remark::add("{0} by {1}", describe(*decision.form), decision.rule);
}

/// Says if amaxes of the policy are those of no product; `names` are the names
/// of all products. A file of another model, or one with names that were
/// misspelled, would change nothing and say nothing.
static void explainAmaxes(ModuleOp module, const QuantizationPolicy &policy,
                          const llvm::StringSet<> &names) {
  SmallVector<StringRef> strangers;
  for (StringRef name : policy.amaxes.keys())
    if (!names.contains(name))
      strangers.push_back(name);
  if (strangers.empty())
    return;
  InFlightDiagnostic diagnostic = module.emitRemark();
  diagnostic << "expected the names of " << policy.amaxesFile
             << " to be those of products, but got '"
             << *llvm::min_element(strangers) << "'";
  if (size_t others = strangers.size() - 1)
    diagnostic << " and " << others << " more";
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

static bool isBias(const StepOperand &operand) {
  return operand.spread == StepOperand::Spread::Columns;
}

/// The sum of `product` and a bias that an op on elements computes, among other
/// things perhaps; null if it does not.
static Value findSumInBody(linalg::GenericOp op, Value product) {
  auto isProduct = [&](OpOperand &operand) { return operand.get() == product; };
  OpOperand *input = llvm::find_if(op->getOpOperands(), isProduct);
  if (op.getNumParallelLoops() != op.getNumLoops() || !op.isDpsInput(input) ||
      !op.getMatchingIndexingMap(input).isIdentity() ||
      llvm::count_if(op->getOpOperands(), isProduct) != 1)
    return {};
  BlockArgument element = op.getMatchingBlockArgument(input);
  auto add = element.hasOneUse()
                 ? dyn_cast<arith::AddFOp>(*element.user_begin())
                 : arith::AddFOp();
  if (!add)
    return {};
  std::optional<StepOperand> other =
      getBodyOperand(op, add.getLhs() == element ? add.getRhs() : add.getLhs());
  return other && isBias(*other) ? add.getResult() : Value();
}

/// The result of the layer whose product is `value`: its sum with a row, the
/// bias, if nothing else reads the product. This is a tensor, or a number in
/// the body of an op.
static Value findLayerResult(Value value) {
  auto getColumns = [](Value of) {
    return cast<RankedTensorType>(of.getType()).getShape().back();
  };
  int64_t columns = getColumns(value);
  for (Value behind = value;;) {
    Operation *reader = getOnlyUser(behind);
    if (!reader)
      return value;
    if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::ReshapeOp,
            tensor::CastOp>(reader)) {
      behind = reader->getResult(0);
      // Parts of a row have no bias of the layer.
      if (cast<RankedTensorType>(behind.getType()).getRank() == 0 ||
          getColumns(behind) != columns)
        return value;
      continue;
    }
    if (auto generic = dyn_cast<linalg::GenericOp>(reader)) {
      Value sum = findSumInBody(generic, behind);
      return sum ? sum : value;
    }
    std::optional<ElementwiseStep> step = getElementwiseStep(reader);
    bool addsBias = step && step->kind == ElementwiseStep::Kind::Add &&
                    (isBias(step->lhs) || isBias(step->rhs));
    return addsBias ? reader->getResult(0) : value;
  }
}

/// Rounds the result of a layer whose product is `value`, as a layer of such a
/// type does:
///
///   %y = linalg.generic .. ins(%product, %bias : tensor<MxNxf32>, ..) {
///          %0 = arith.addf
///   ->  %y = linalg.generic .. ins(%product, %bias : tensor<MxNxf32>, ..) {
///              %0 = arith.addf
///              %1 = arith.truncf %0 : f32 to bf16
///              %2 = arith.extf %1 : bf16 to f32
void roundLayer(RewriterBase &rewriter, Value value,
                const ProductDecision &decision) {
  // A row behind a product of activations is a mask.
  bool isLayer = decision.isWeightA || decision.isWeightB;
  Value result = isLayer ? findLayerResult(value) : value;
  Type wideType = result.getType(), element = getElementTypeOrSelf(wideType);
  Type type = getLayerType(*decision.form, element);
  if (type == element)
    return;
  Type narrowType = type;
  if (auto tensor = dyn_cast<RankedTensorType>(wideType))
    narrowType = tensor.clone(type);
  rewriter.setInsertionPointAfterValue(result);
  auto narrow =
      arith::TruncFOp::create(rewriter, result.getLoc(), narrowType, result);
  Value wide =
      arith::ExtFOp::create(rewriter, result.getLoc(), wideType, Value(narrow));
  rewriter.replaceAllUsesExcept(result, wide, narrow);
}

void replaceProducts(RewriterBase &rewriter,
                     ArrayRef<ProductDecision> decisions) {
  // From the last one on, since a product may read the result of one before it,
  // which is another value then.
  for (const ProductDecision &decision : llvm::reverse(decisions)) {
    if (!decision.byRows.empty()) {
      replaceByRows(rewriter, decision);
      continue;
    }
    if (!decision.form)
      continue;
    Value product = createQuantizedProduct(rewriter, decision);
    rewriter.replaceOp(decision.op, product);
    roundLayer(rewriter, product, decision);
  }
}

void quantizeProducts(ModuleOp module, const QuantizationPolicy &policy) {
  IRRewriter rewriter(module.getContext());
  llvm::StringSet<> names;
  module->walk([&](FunctionOpInterface function) {
    std::vector<ProductDecision> decisions = decideProducts(function, policy);
    for (const ProductDecision &decision : decisions) {
      explain(decision);
      names.insert_range(getLocationNames(decision.op->getLoc()));
    }
    replaceProducts(rewriter, decisions);
    if (llvm::any_of(decisions, [](const ProductDecision &decision) {
          return !decision.byRows.empty();
        }))
      joinBranches(rewriter, function);
  });
  explainAmaxes(module, policy, names);
}

} // namespace blockscale
