//===- MoveReshapes.cpp - Reshapes behind what follows products -----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What follows a product joins its kernel where it takes the product's result
// as it is ("blockscale/Analysis/Epilogue.h"). Frontends multiply matrices, and
// compute all else on tensors of more dimensions, so that a reshape stands
// between. It changes no number and no order, and can as well come behind.
//
//===----------------------------------------------------------------------===//

#include "blockscale/Transforms/MoveReshapes.h"
#include "Raising/BlockShapes.h"
#include "blockscale/Analysis/Epilogue.h"
#include "blockscale/Analysis/OnlyUser.h"
#include "blockscale/Analysis/Producers.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Transforms/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_MOVERESHAPES
#include "blockscale/Transforms/Passes.h.inc"

/// Whether `value` is the result of a product, or what elementwise ops make of
/// one for each other alone, so that its kernel can have it.
static bool isMadeByProduct(Value value) {
  llvm::SmallPtrSet<Operation *, 8> seen;
  SmallVector<Value> values = {value};
  while (!values.empty()) {
    Operation *op = values.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    if (isProduct(op))
      return true;
    auto elementwise = dyn_cast<linalg::LinalgOp>(op);
    if (!elementwise || findElementwiseObstacle(elementwise))
      continue;
    for (Value input : elementwise.getDpsInputs())
      if (getOnlyUser(input))
        values.push_back(input);
  }
  return false;
}

/// What a reshape takes that leaves the last dimension as it is; null of other
/// ops.
static Value getReshapedRows(Operation *op) {
  auto getRows = [](auto reshape) {
    SmallVector<ReassociationIndices> groups =
        reshape.getReassociationIndices();
    bool keepsRows = groups.size() > 1 && groups.back().size() == 1;
    return keepsRows ? Value(reshape.getSrc()) : Value();
  };
  return TypeSwitch<Operation *, Value>(op)
      .Case<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(getRows)
      .Default(Value());
}

/// The rows that a product made and `op` takes reshaped, by `reshape`; null
/// where others need them as they are, or reshaped.
static Value getProductRows(Operation *op, Operation *reshape) {
  Value rows = reshape ? getReshapedRows(reshape) : Value();
  bool isOnlyUser = rows && getOnlyUser(rows) == reshape &&
                    getOnlyUser(reshape->getResult(0)) == op;
  return isOnlyUser && isMadeByProduct(rows) ? rows : Value();
}

/// Whether the result of `op` is reduced, so that a norm begins with it, whose
/// kernel computes it.
static bool isReduced(linalg::LinalgOp op) {
  return llvm::any_of(op->getUsers(), [](Operation *user) {
    auto reduction = dyn_cast<linalg::LinalgOp>(user);
    return reduction && reduction.getNumReductionLoops() != 0;
  });
}

/// Whether `value` is the result of a product, as it is or reshaped.
static bool isOfProduct(Value value) {
  Operation *op = value.getDefiningOp();
  Value rows = op ? getReshapedRows(op) : Value();
  return isProduct(rows ? rows.getDefiningOp() : op);
}

/// Whether an elementwise op takes `operand` from a reshape behind a product.
/// The results of two that it takes may have other uses, for which the kernel
/// stores them.
static bool isBehindReshape(OpOperand *operand) {
  auto op = dyn_cast<linalg::GenericOp>(operand->getOwner());
  Operation *reshape = operand->get().getDefiningOp();
  if (!op || !reshape || !getReshapedRows(reshape) || isReduced(op) ||
      findElementwiseObstacle(op))
    return false;
  return getProductRows(op, reshape) ||
         (isOfProduct(operand->get()) &&
          llvm::count_if(op.getDpsInputs(), isOfProduct) > 1);
}

namespace {

/// %x = tensor.expand_shape %y [[0, 1], [2]] : tensor<?xNxbf16> into ..
/// %q, %s = blockscale.quantize %x .. : tensor<Bx?xNxbf16> -> ..
/// becomes
///   %d, %t = blockscale.quantize %y .. : tensor<?xNxbf16> -> ..
///   %q = tensor.expand_shape %d [[0, 1], [2]] ..
///   %s = tensor.expand_shape %t [[0, 1], [2]] ..
///
/// and so with collapse_shape, where a product makes %y. Blocks are of one row,
/// so that they stay the same.
template <typename OpTy>
struct MoveBehindQuantize : public OpRewritePattern<QuantizeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(QuantizeOp op,
                                PatternRewriter &rewriter) const override {
    auto reshape = op.getX().getDefiningOp<OpTy>();
    if (!reshape)
      return rewriter.notifyMatchFailure(op, "x is not reshaped");
    Value source = getProductRows(op, reshape);
    if (!source)
      return rewriter.notifyMatchFailure(
          op, "what is reshaped is not rows that a product makes for it");
    if (!op.hasRowBlocks())
      return rewriter.notifyMatchFailure(op, "blocks of several rows");
    if (op.getRng() || op.getBlockAmax() || op.getOffsets())
      return rewriter.notifyMatchFailure(op, "operands of the shape of x");
    if (Value global = op.getGlobal())
      if (auto type = dyn_cast<RankedTensorType>(global.getType());
          type && type.getRank() != 0)
        return rewriter.notifyMatchFailure(op, "several global values");
    if (!getScaleLayout(op.getScale().getType()).isLinear())
      return rewriter.notifyMatchFailure(op, "the scales have a layout");
    auto moved = cast<QuantizeOp>(rewriter.clone(*op));
    moved.getXMutable().assign(source);
    ArrayRef<int64_t> shape =
        cast<RankedTensorType>(source.getType()).getShape();
    for (auto [before, after] :
         llvm::zip_equal(op->getResults(), moved->getResults())) {
      auto type = cast<RankedTensorType>(before.getType());
      SmallVector<int64_t> sizes(shape);
      sizes.back() = type.getShape().back();
      after.setType(type.clone(sizes));
    }
    for (auto [before, after] :
         llvm::zip_equal(op->getResults(), moved->getResults()))
      rewriter.replaceAllUsesWith(before,
                                  createRowReshape(rewriter, reshape, after));
    rewriter.eraseOp(op);
    return success();
  }
};

/// %x = tensor.expand_shape %y [[0], [1, 2]] : tensor<1xNxbf16> into
///     tensor<1x1xNxbf16>
/// becomes
///   %x = tensor.expand_shape %y [[0, 1], [2]] ..
///
/// and so with collapse_shape, where a product makes %y: canonicalization gives
/// dimensions of size 1 to the last group, where the rows may have them.
template <typename OpTy>
struct GiveUnitsToRows : public OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    SmallVector<ReassociationIndices> groups = op.getReassociationIndices();
    if (groups.size() < 2 || groups.back().size() < 2)
      return rewriter.notifyMatchFailure(op, "the last dimension is its own");
    bool expands = isa<tensor::ExpandShapeOp>(op);
    ArrayRef<int64_t> sizes =
        cast<RankedTensorType>(expands ? op.getType() : op.getSrc().getType())
            .getShape();
    if (!llvm::all_of(ArrayRef(groups.back()).drop_back(),
                      [&](int64_t dim) { return sizes[dim] == 1; }))
      return rewriter.notifyMatchFailure(op, "rows are cut");
    if (!isMadeByProduct(op.getSrc()))
      return rewriter.notifyMatchFailure(op, "not of a product");
    ReassociationIndices &rows = groups[groups.size() - 2];
    rows.append(groups.back().begin(), std::prev(groups.back().end()));
    groups.back() = {groups.back().back()};
    rewriter.modifyOpInPlace(op, [&] {
      op.setReassociationAttr(
          getReassociationIndicesAttribute(rewriter, groups));
    });
    return success();
  }
};

struct MoveReshapesPass : public impl::MoveReshapesBase<MoveReshapesPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMoveReshapePatterns(patterns);
    // Two operands of an op may have been reshaped alike.
    tensor::CollapseShapeOp::getCanonicalizationPatterns(patterns,
                                                         &getContext());
    tensor::ExpandShapeOp::getCanonicalizationPatterns(patterns, &getContext());
    // Sizes are no use of what was reshaped.
    memref::populateResolveRankedShapedTypeResultDimsPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

/// Of the elementwise ops that follow, which upstream's patterns rewrite:
///
/// %x = tensor.expand_shape %y [[0, 1], [2]] : tensor<?xNxbf16> into ..
/// %g = linalg.generic .. ins(%x, %z : tensor<Bx?xNxbf16>, ..)
/// becomes
///   %c = tensor.collapse_shape %z [[0, 1], [2]]
///   %f = linalg.generic .. ins(%y, %c : tensor<?xNxbf16>, ..)
///   %g = tensor.expand_shape %f [[0, 1], [2]]
///
/// and so with collapse_shape, where a product makes %y.
void populateMoveReshapePatterns(RewritePatternSet &patterns) {
  linalg::populateFoldReshapeOpsByCollapsingPatterns(patterns, isBehindReshape);
  linalg::populateFoldReshapeOpsByExpansionPatterns(patterns, isBehindReshape);
  patterns.add<GiveUnitsToRows<tensor::CollapseShapeOp>,
               GiveUnitsToRows<tensor::ExpandShapeOp>,
               MoveBehindQuantize<tensor::CollapseShapeOp>,
               MoveBehindQuantize<tensor::ExpandShapeOp>>(
      patterns.getContext());
}

} // namespace blockscale
