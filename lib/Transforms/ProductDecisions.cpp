//===- ProductDecisions.cpp - What a policy makes of products -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Transforms/QuantizeProducts.h"

#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/ScopedPrinter.h"

using namespace mlir;

namespace blockscale {

OperandForm ProductDecision::getFormA() const {
  return isWeightA && !isWeightB ? form->weight : form->activation;
}

OperandForm ProductDecision::getFormB() const {
  return isWeightB ? form->weight : form->activation;
}

//===----------------------------------------------------------------------===//
// Products that need one another
//===----------------------------------------------------------------------===//

/// Adds the values that `value` may reach in one step: results of its users,
/// and what their regions begin with and yield.
static void addReached(Value value, llvm::SetVector<Value> &reached) {
  for (Operation *user : value.getUsers()) {
    reached.insert(user->result_begin(), user->result_end());
    for (Region &region : user->getRegions())
      for (Block &block : region)
        reached.insert(block.args_begin(), block.args_end());
    if (!user->hasTrait<OpTrait::IsTerminator>())
      continue;
    for (Block *successor : user->getSuccessors())
      reached.insert(successor->args_begin(), successor->args_end());
    Operation *parent = user->getParentOp();
    if (isa<FunctionOpInterface>(parent))
      continue;
    reached.insert(parent->result_begin(), parent->result_end());
    // A loop yields what its next iteration begins with.
    for (Region &region : parent->getRegions())
      for (Block &block : region)
        reached.insert(block.args_begin(), block.args_end());
  }
}

/// The last projections among products with weights.
static SmallPtrSet<Operation *, 4>
findLastProjections(ArrayRef<Operation *> products) {
  SmallPtrSet<Operation *, 16> all(products.begin(), products.end());
  SmallPtrSet<Operation *, 16> needing, needed;
  for (Operation *product : products) {
    llvm::SetVector<Value> reached;
    reached.insert(product->result_begin(), product->result_end());
    // The vector grows.
    for (size_t i = 0; i < reached.size(); ++i) {
      Operation *op = reached[i].getDefiningOp();
      if (op && op != product && all.contains(op)) {
        needing.insert(op);
        needed.insert(product);
        // What is behind it is found from there.
        continue;
      }
      addReached(reached[i], reached);
    }
  }
  SmallPtrSet<Operation *, 4> last;
  for (Operation *product : products)
    if (needing.contains(product) && !needed.contains(product))
      last.insert(product);
  return last;
}

//===----------------------------------------------------------------------===//
// Clauses
//===----------------------------------------------------------------------===//

/// policy_c5 and policy_c6.
static std::optional<FusionObstacle>
findTypeObstacle(const ProductDecision &decision, const ProductForm &form) {
  const MatrixProduct &product = decision.product;
  bool hasWeight = decision.isWeightA || decision.isWeightB;
  if (!form.activation.format && !hasWeight)
    return FusionObstacle{"policy_c5", "a weight, as others stay plain",
                          "two operands that are none"};
  Type plain = getLayerType(
      form, (decision.isWeightB ? product.a : product.b).getElementType());
  bool isNvfp4 = form.weight.format->scale == numerics::ScaleFormat::E4M3;
  if (!form.activation.format && !plain.isBF16() && !(plain.isF16() && isNvfp4))
    return FusionObstacle{"policy_c5",
                          isNvfp4 ? "a plain operand of bf16 or f16"
                                  : "a plain operand of bf16",
                          llvm::to_string(plain)};
  if (form.isTransformed)
    for (Type type : {product.a.getElementType(), product.b.getElementType()})
      if (!getLayerType(form, type).isBF16())
        return FusionObstacle{"policy_c6",
                              "operands of bf16 to transform (rht)",
                              llvm::to_string(getLayerType(form, type))};
  return std::nullopt;
}

std::optional<FusionObstacle> findFormObstacle(const ProductDecision &decision,
                                               const ProductForm &form,
                                               bool leavesNarrow) {
  const MatrixProduct &product = decision.product;
  int64_t block = form.weight.format->blockSize;
  bool isNarrowA = decision.isWeightA && !decision.isWeightB;
  int64_t rows = product.getSize((isNarrowA ? product.a : product.b).rows);
  if (leavesNarrow && !ShapedType::isDynamic(rows) && rows < block)
    return FusionObstacle{
        "policy_c3",
        llvm::formatv("at least {0} rows, as many as a block has elements",
                      block),
        llvm::to_string(rows)};
  int64_t k = product.getSize(product.k);
  if (ShapedType::isDynamic(k) || k % block != 0 || k == 0)
    return FusionObstacle{
        "policy_c4", llvm::formatv("a static K of whole blocks of {0}", block),
        ShapedType::isDynamic(k) ? "a dynamic one" : llvm::to_string(k)};
  return findTypeObstacle(decision, form);
}

/// What the first rule that matches says.
static void decide(ProductDecision &decision, const QuantizationPolicy &policy,
                   StringRef function, bool isLast) {
  const MatrixProduct &product = decision.product;
  PolicyProduct seen = {decision.op->getLoc(),
                        function,
                        decision.isWeightA || decision.isWeightB,
                        isLast,
                        product.getSize(product.a.rows),
                        product.getSize(product.b.rows),
                        product.getSize(product.k)};
  const PolicyRule *rule = policy.find(seen);
  if (!rule)
    decision.obstacle = {"policy_c1", "a rule that matches", "none"};
  else if (!rule->form)
    decision.obstacle = {"policy_c1", "a rule that quantizes",
                         rule->name + ", which leaves it"};
  else if (isLast && policy.leavesLast)
    decision.obstacle = {"policy_c2", "a product before the last projection",
                         "that"};
  else
    decision.obstacle =
        findFormObstacle(decision, *rule->form, policy.leavesNarrow);
  if (decision.obstacle)
    return;
  decision.form = rule->form;
  decision.rule = rule->name;
}

std::vector<ProductDecision> decideProducts(FunctionOpInterface function,
                                            const QuantizationPolicy &policy) {
  std::vector<ProductDecision> decisions;
  SmallVector<Operation *> weighted;
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<KernelOp>(op))
      return WalkResult::skip();
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (!linalgOp || !linalgOp.hasPureTensorSemantics() ||
        !addsProducts(linalgOp))
      return WalkResult::advance();
    ProductDecision &decision = decisions.emplace_back();
    decision.op = op;
    decision.obstacle = matchMatrixProduct(linalgOp, decision.product);
    if (decision.obstacle)
      return WalkResult::advance();
    decision.isWeightA = isWeight(decision.product.a.source);
    decision.isWeightB = isWeight(decision.product.b.source);
    if (decision.isWeightA || decision.isWeightB)
      weighted.push_back(op);
    return WalkResult::advance();
  });
  SmallPtrSet<Operation *, 4> last = findLastProjections(weighted);
  for (ProductDecision &decision : decisions)
    if (!decision.obstacle)
      decide(decision, policy, function.getName(), last.contains(decision.op));
  return decisions;
}

} // namespace blockscale
