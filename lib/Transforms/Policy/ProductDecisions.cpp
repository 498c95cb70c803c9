//===- ProductDecisions.cpp - What a policy makes of products -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Transforms/QuantizeProducts.h"

#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "llvm/ADT/SetVector.h"

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
// What a policy makes of them
//===----------------------------------------------------------------------===//

/// What rules see of a product that is not the last projection.
static PolicyProduct toPolicyProduct(const ProductDecision &decision) {
  const MatrixProduct &product = decision.product;
  bool isNarrowA = decision.isWeightA && !decision.isWeightB;
  PolicyProduct seen;
  seen.hasWeight = decision.isWeightA || decision.isWeightB;
  seen.m = product.getSize(product.a.rows);
  seen.n = product.getSize(product.b.rows);
  seen.k = product.getSize(product.k);
  seen.weightRows = isNarrowA ? seen.m : seen.n;
  const ProductFactor &plain = decision.isWeightB ? product.a : product.b;
  const ProductFactor &weight = decision.isWeightB ? product.b : product.a;
  seen.plain = toLayerType(plain.getElementType());
  seen.weight = toLayerType(weight.getElementType());
  return seen;
}

bool ProductDecision::readsAmax() const {
  return form && blockscale::readsAmax(toPolicyProduct(*this), *form);
}

std::optional<FusionObstacle> findFormObstacle(const ProductDecision &decision,
                                               const ProductForm &form,
                                               bool leavesNarrow) {
  return findFormObstacle(toPolicyProduct(decision), form, leavesNarrow);
}

/// Makes `found` the decision.
static void setDecision(ProductDecision &decision, PolicyDecision found) {
  decision.obstacle = std::move(found.obstacle);
  decision.form = found.form;
  decision.rule = decision.form ? found.rule->name : std::string();
}

void ProductDecision::decideFor(int64_t rows) {
  for (RowsDecision &each : byRows)
    if (each.rows.contains(std::max<int64_t>(rows, 1)))
      setDecision(*this, each.decision);
  byRows.clear();
}

/// What the first rule that matches says.
static void decide(ProductDecision &decision, const QuantizationPolicy &policy,
                   StringRef function, bool isLast) {
  PolicyProduct seen = toPolicyProduct(decision);
  seen.names = getLocationNames(decision.op->getLoc());
  seen.function = function;
  seen.isLast = isLast;
  std::vector<RowsDecision> found = policy.decideByRows(seen);
  setDecision(decision, found.back().decision);
  bool isQuantized = llvm::any_of(found, [](const RowsDecision &each) {
    return each.decision.form.has_value();
  });
  if (found.size() > 1 && isQuantized)
    decision.byRows = std::move(found);
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
