//===- ProductBranches.cpp - Products in a form for each number of rows ---===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Analysis/OnlyUser.h"
#include "blockscale/Transforms/QuantizeProducts.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/ControlFlowSinkUtils.h"

using namespace mlir;

namespace blockscale {

//===----------------------------------------------------------------------===//
// What is in a branch
//===----------------------------------------------------------------------===//

/// Whether `op` gives a tensor another shape.
static bool isReshape(Operation *op) {
  return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::ReshapeOp,
             tensor::CastOp>(op);
}

/// Whether `op` computes each element of a tensor from that element of others,
/// or gives a tensor another shape.
static bool continuesLayer(Operation *op) {
  if (op->getNumResults() != 1 ||
      !isa<RankedTensorType>(op->getResult(0).getType()))
    return false;
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return linalgOp.hasPureTensorSemantics() &&
           linalgOp.getNumParallelLoops() == linalgOp.getNumLoops();
  return OpTrait::hasElementwiseMappableTraits(op) || isReshape(op);
}

/// The sizes of the result of `op` from its operands.
static FailureOr<SmallVector<OpFoldResult>> findSizes(RewriterBase &rewriter,
                                                      Operation *op) {
  Location loc = op->getLoc();
  if (auto reshape = dyn_cast<tensor::ReshapeOp>(op)) {
    SmallVector<OpFoldResult> sizes;
    auto type = cast<RankedTensorType>(reshape.getType());
    for (auto [dim, size] : llvm::enumerate(type.getShape())) {
      if (!ShapedType::isDynamic(size)) {
        sizes.push_back(rewriter.getIndexAttr(size));
        continue;
      }
      Value number = arith::ConstantIndexOp::create(rewriter, loc, dim);
      Value found = rewriter.createOrFold<tensor::ExtractOp>(
          loc, reshape.getShape(), number);
      sizes.push_back(rewriter.createOrFold<arith::IndexCastOp>(
          loc, rewriter.getIndexType(), found));
    }
    return sizes;
  }
  if (OpTrait::hasElementwiseMappableTraits(op) || isa<tensor::CastOp>(op)) {
    Value operand = *llvm::find_if(op->getOperands(), [](Value value) {
      return isa<RankedTensorType>(value.getType());
    });
    return tensor::getMixedSizes(rewriter, loc, operand);
  }
  ReifiedRankedShapedTypeDims sizes;
  if (failed(reifyResultShapes(rewriter, op, sizes)))
    return failure();
  return sizes[0];
}

/// Answers questions for sizes of the result of `op` by those of its operands.
static void answerSizes(RewriterBase &rewriter, Operation *op) {
  SmallVector<tensor::DimOp> questions;
  for (Operation *user : op->getUsers())
    if (auto dim = dyn_cast<tensor::DimOp>(user))
      questions.push_back(dim);
  if (questions.empty())
    return;
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  FailureOr<SmallVector<OpFoldResult>> sizes = findSizes(rewriter, op);
  if (failed(sizes))
    return;
  for (tensor::DimOp dim : questions) {
    std::optional<int64_t> number = dim.getConstantIndex();
    if (number && *number >= 0 && *number < static_cast<int64_t>(sizes->size()))
      rewriter.replaceOp(dim, getValueOrCreateConstantIndexOp(
                                  rewriter, dim.getLoc(), (*sizes)[*number]));
  }
}

/// The product, and the ops behind it that alone read it element by element, in
/// order.
static SmallVector<Operation *> findLayer(RewriterBase &rewriter,
                                          Operation *product) {
  SmallVector<Operation *> layer = {product};
  while (Operation *user = getOnlyUser(layer.back()->getResult(0))) {
    if (user->getBlock() != product->getBlock() || !continuesLayer(user))
      break;
    layer.push_back(user);
  }
  // The answers ask for sizes of what is before.
  for (Operation *op : llvm::reverse(layer))
    answerSizes(rewriter, op);
  // A question without an answer needs what it asks.
  for (size_t i = 0; i + 1 < layer.size(); ++i)
    if (llvm::any_of(layer[i]->getUsers(),
                     [&](Operation *user) { return user != layer[i + 1]; }))
      layer.resize(i + 1);
  // Kernels write the tensor before it has another shape.
  while (isReshape(layer.back()))
    layer.pop_back();
  return layer;
}

/// The rows that the product of a decision has, where its A is known.
static Value createRows(RewriterBase &rewriter,
                        const ProductDecision &decision) {
  OpBuilder::InsertionGuard guard(rewriter);
  const MatrixProduct &product = decision.product;
  rewriter.setInsertionPointAfterValue(product.a.source);
  Location loc = decision.op->getLoc();
  OpFoldResult rows = rewriter.getIndexAttr(1);
  // As sizes of reshapes are computed, so that they are known to be equal.
  AffineExpr both =
      rewriter.getAffineSymbolExpr(0) * rewriter.getAffineSymbolExpr(1);
  for (auto [dim, loop] : llvm::enumerate(product.a.loops))
    if (llvm::is_contained(product.a.rows, loop))
      rows = affine::makeComposedFoldedAffineApply(
          rewriter, loc, both,
          {rows, tensor::getMixedSize(rewriter, loc, product.a.source, dim)});
  return getValueOrCreateConstantIndexOp(rewriter, loc, rows);
}

//===----------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------===//

namespace {

/// Creates the branches of one decision.
class BranchBuilder {
public:
  BranchBuilder(RewriterBase &rewriter, const ProductDecision &decision,
                ArrayRef<Operation *> layer)
      : rewriter(rewriter), decision(decision), layer(layer),
        rows(createRows(rewriter, decision)) {
    createWeights();
  }

  /// The result of the layer, by the rows that it has, at the insertion point.
  Value create() { return createBranch(decision.byRows); }

private:
  void createWeights();
  const ProductOperand *findWeight(const ProductForm &form) const;
  ProductDecision makeDecision(Operation *product,
                               const RowsDecision &made) const;
  Value createCondition(int64_t bound);
  void fill(Block *block, ArrayRef<RowsDecision> decisions);
  Value createBranch(ArrayRef<RowsDecision> decisions);
  Value createLayer(const RowsDecision &made);

  RewriterBase &rewriter;
  const ProductDecision &decision;
  ArrayRef<Operation *> layer;
  Value rows;
  /// The weight in each form that several branches read.
  SmallVector<std::pair<const ProductForm *, ProductOperand>> weights;
};

} // namespace

ProductDecision BranchBuilder::makeDecision(Operation *product,
                                            const RowsDecision &made) const {
  ProductDecision single = decision;
  single.op = single.product.op = product;
  single.form = made.decision.form;
  single.byRows.clear();
  if (made.rows.max != SizeRange().max)
    single.maxRows = made.rows.max;
  return single;
}

/// The weight that several branches read in that form; null if they do not.
const ProductOperand *BranchBuilder::findWeight(const ProductForm &form) const {
  for (const auto &[known, operand] : weights)
    if (haveSameWeight(*known, form))
      return &operand;
  return nullptr;
}

/// Quantizes the weight where it is known, so that branches which follow one
/// another have nothing between them.
void BranchBuilder::createWeights() {
  if (!decision.isWeightA && !decision.isWeightB)
    return;
  OpBuilder::InsertionGuard guard(rewriter);
  const MatrixProduct &product = decision.product;
  rewriter.setInsertionPointAfterValue(
      (decision.isWeightB ? product.b : product.a).source);
  for (const RowsDecision &each : decision.byRows) {
    const std::optional<ProductForm> &form = each.decision.form;
    if (!form || findWeight(*form))
      continue;
    auto readers = llvm::count_if(decision.byRows, [&](const auto &other) {
      return other.decision.form && haveSameWeight(*other.decision.form, *form);
    });
    if (readers > 1)
      weights.emplace_back(
          &*form,
          createQuantizedWeight(rewriter, makeDecision(decision.op, each)));
  }
}

/// Whether there are fewer rows than `bound`.
Value BranchBuilder::createCondition(int64_t bound) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointAfterValue(rows);
  Location loc = decision.op->getLoc();
  Value constant = arith::ConstantIndexOp::create(rewriter, loc, bound);
  return arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ult, rows,
                               constant);
}

/// A copy of the layer with the product in one form.
Value BranchBuilder::createLayer(const RowsDecision &made) {
  IRMapping copies;
  // What the sum begins with is needed where the product is left alone.
  auto plain = cast<linalg::LinalgOp>(layer.front());
  if (auto fill = plain.getDpsInits()[0].getDefiningOp<linalg::FillOp>())
    rewriter.clone(*fill, copies);
  for (Operation *op : layer)
    rewriter.clone(*op, copies);
  auto getCopy = [&](Operation *op) {
    return copies.lookup(op->getResult(0)).getDefiningOp();
  };
  if (!made.decision.form)
    return getCopy(layer.back())->getResult(0);
  Operation *copy = getCopy(layer.front());
  // What is behind the product may become another value by the rounding.
  auto yield = scf::YieldOp::create(rewriter, decision.op->getLoc(),
                                    getCopy(layer.back())->getResult(0));
  ProductDecision single = makeDecision(copy, made);
  Value product =
      createQuantizedProduct(rewriter, single, findWeight(*single.form));
  rewriter.replaceOp(copy, product);
  roundLayer(rewriter, product, single);
  Value result = yield.getOperand(0);
  rewriter.eraseOp(yield);
  return result;
}

/// Computes the layer in an empty block of a branch.
void BranchBuilder::fill(Block *block, ArrayRef<RowsDecision> decisions) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(block);
  Value result = decisions.size() == 1 ? createLayer(decisions.front())
                                       : createBranch(decisions);
  rewriter.setInsertionPointToEnd(block);
  scf::YieldOp::create(rewriter, decision.op->getLoc(), result);
}

Value BranchBuilder::createBranch(ArrayRef<RowsDecision> decisions) {
  Value isFew = createCondition(decisions[1].rows.min);
  auto branch = scf::IfOp::create(rewriter, decision.op->getLoc(),
                                  layer.back()->getResultTypes(), isFew,
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  fill(branch.thenBlock(), decisions.take_front());
  fill(branch.elseBlock(), decisions.drop_front());
  return branch.getResult(0);
}

void replaceByRows(RewriterBase &rewriter, const ProductDecision &decision) {
  SmallVector<Operation *> layer = findLayer(rewriter, decision.op);
  // Where all that the layer reads is known.
  rewriter.setInsertionPoint(layer.back());
  Value result = BranchBuilder(rewriter, decision, layer).create();
  rewriter.replaceOp(layer.back(), result);
  for (Operation *op : llvm::reverse(ArrayRef(layer).drop_back()))
    rewriter.eraseOp(op);
}

//===----------------------------------------------------------------------===//
// Branches that follow one another
//===----------------------------------------------------------------------===//

/// Whether `op` reads a result of one of `others`, in its regions as well.
static bool readsAny(Operation *op,
                     const SmallPtrSetImpl<Operation *> &others) {
  return op
      ->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          if (others.contains(operand.getDefiningOp()))
            return WalkResult::interrupt();
        return WalkResult::advance();
      })
      .wasInterrupted();
}

static bool isWhole(scf::IfOp op) { return op && !op.getElseRegion().empty(); }

/// The next branch on the condition of `first` in its block, if what stands
/// between them can stand before both; that is moved there.
static scf::IfOp findNext(RewriterBase &rewriter, scf::IfOp first) {
  SmallVector<Operation *> between;
  SmallPtrSet<Operation *, 4> self = {first};
  for (Operation *op = first->getNextNode(); op; op = op->getNextNode()) {
    auto next = dyn_cast<scf::IfOp>(op);
    if (isWhole(next) && next.getCondition() == first.getCondition()) {
      for (Operation *moved : between)
        rewriter.moveOpBefore(moved, first);
      return next;
    }
    if (!isMemoryEffectFree(op) || readsAny(op, self))
      return {};
    between.push_back(op);
  }
  return {};
}

/// One branch of two neighbours on one condition. It has the results that are
/// read behind it.
static scf::IfOp join(RewriterBase &rewriter, scf::IfOp first,
                      scf::IfOp second) {
  // What the second reads of the first is known in each of its branches.
  for (auto [before, after] :
       llvm::zip_equal(first->getRegions(), second->getRegions())) {
    Region &behind = after;
    for (auto [result, value] : llvm::zip_equal(
             first.getResults(), before.front().getTerminator()->getOperands()))
      rewriter.replaceUsesWithIf(result, value, [&](OpOperand &use) {
        return behind.isAncestor(use.getOwner()->getParentRegion());
      });
  }
  SmallVector<OpResult> results;
  for (scf::IfOp part : {first, second})
    llvm::copy_if(part->getResults(), std::back_inserter(results),
                  [](OpResult result) { return !result.use_empty(); });
  auto types = llvm::map_to_vector(
      results, [](OpResult result) { return result.getType(); });
  rewriter.setInsertionPoint(second);
  auto joined =
      scf::IfOp::create(rewriter, first.getLoc(), types, first.getCondition(),
                        /*addThenBlock=*/true, /*addElseBlock=*/true);
  for (unsigned number = 0; number < 2; ++number) {
    Block &block = joined->getRegion(number).front();
    SmallVector<Value> yielded;
    for (OpResult result : results)
      yielded.push_back(result.getOwner()
                            ->getRegion(number)
                            .front()
                            .getTerminator()
                            ->getOperand(result.getResultNumber()));
    for (scf::IfOp part : {first, second}) {
      Block &inner = part->getRegion(number).front();
      rewriter.eraseOp(inner.getTerminator());
      rewriter.inlineBlockBefore(&inner, &block, block.end());
    }
    rewriter.setInsertionPointToEnd(&block);
    scf::YieldOp::create(rewriter, first.getLoc(), yielded);
  }
  for (auto [result, value] : llvm::zip_equal(results, joined.getResults()))
    rewriter.replaceAllUsesWith(result, value);
  rewriter.eraseOp(second);
  rewriter.eraseOp(first);
  return joined;
}

/// Joins the branches of a block, and those in them.
static void joinIn(RewriterBase &rewriter, Block &block) {
  for (Operation *op = &block.front(); op; op = op->getNextNode()) {
    if (auto branch = dyn_cast<scf::IfOp>(op); isWhole(branch)) {
      while (scf::IfOp next = findNext(rewriter, branch))
        branch = join(rewriter, branch, next);
      op = branch;
    }
    for (Region &region : op->getRegions())
      for (Block &inner : region)
        joinIn(rewriter, inner);
  }
}

/// Moves what only one way of a branch needs into it, as the zeros that a
/// product begins with that is left there.
static void sinkIntoBranches(FunctionOpInterface function) {
  DominanceInfo dominance(function);
  SmallVector<scf::IfOp> branches;
  function->walk<WalkOrder::PreOrder>(
      [&](scf::IfOp branch) { branches.push_back(branch); });
  for (scf::IfOp branch : branches)
    controlFlowSink(
        branch->getRegions(), dominance,
        [](Operation *op, Region *) {
          return isMemoryEffectFree(op) &&
                 !op->hasTrait<OpTrait::ConstantLike>();
        },
        [](Operation *op, Region *region) {
          op->moveBefore(&region->front(), region->front().begin());
        });
}

void joinBranches(RewriterBase &rewriter, FunctionOpInterface function) {
  // Conditions are told apart by their values.
  auto unify = [&] {
    DominanceInfo dominance(function);
    eliminateCommonSubExpressions(rewriter, dominance, function);
  };
  unify();
  for (Block &block : function.getFunctionBody())
    joinIn(rewriter, block);
  unify();
  sinkIntoBranches(function);
}

} // namespace blockscale
