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
#include "blockscale/Analysis/RowMoves.h"
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
      rewriter.replaceAllUsesWith(before,
                                  createRowReshape(rewriter, reshape, after));
    }
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

/// %a = linalg.transpose ins(%x) permutation = [0, 2, 1, 3] : BxMxHxK
/// %c = tensor.collapse_shape %a [[0, 1], [2], [3]] : into tensor<?xMxKxbf16>
/// %y = blockscale.scaled_mm %c, %d .. : tensor<?xMxKxbf16>, ..
/// becomes
///   %e = tensor.expand_shape %d [[0, 1], [2], [3]] ..
///   %z = blockscale.scaled_mm %a, %e .. : tensor<BxHxMxKxbf16>, ..
///   %y = tensor.collapse_shape %z [[0, 1], [2], [3]] ..
///
/// and so with B, and where the result is expanded before its rows are
/// scattered, so that the kernel finds what moves rows beside the product.
struct ExpandBatch : public OpRewritePattern<ScaledMMOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ScaledMMOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getScaleA() || op.getScaleB())
      return rewriter.notifyMatchFailure(op, "an operand has scales");
    if (!op.getGlobalOperandA().isSingle() ||
        !op.getGlobalOperandB().isSingle())
      return rewriter.notifyMatchFailure(op, "matrices have global scales");
    Operation *reshape = findGathered(op);
    if (!reshape)
      reshape = findScattered(op);
    if (!reshape)
      return rewriter.notifyMatchFailure(
          op, "no rows are moved beside a reshape of the batch");
    std::optional<Batch> batch = getBatch(rewriter, reshape);
    if (!batch)
      return rewriter.notifyMatchFailure(
          op, "matrices are reshaped, or several sizes are not known");
    auto expand = [&](Value data) -> Value {
      return tensor::ExpandShapeOp::create(
          rewriter, op.getLoc(), batch->getExpanded(data.getType()), data,
          batch->groups, batch->getSizes(rewriter, data));
    };
    auto expanded = cast<ScaledMMOp>(rewriter.clone(*op));
    rewriter.setInsertionPoint(expanded);
    expanded.getAMutable().assign(expand(op.getA()));
    expanded.getBMutable().assign(expand(op.getB()));
    expanded.getResult().setType(batch->getExpanded(op.getType()));
    rewriter.setInsertionPointAfter(expanded);
    rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(
        op, op.getType(), expanded.getResult(), batch->groups);
    return success();
  }

private:
  /// The leading dimensions that a batch is made of.
  struct Batch {
    SmallVector<ReassociationIndices> groups;
    SmallVector<OpFoldResult> sizes;

    RankedTensorType getExpanded(Type type) const {
      SmallVector<int64_t> shape;
      for (OpFoldResult size : sizes)
        shape.push_back(
            getConstantIntValue(size).value_or(ShapedType::kDynamic));
      auto tensor = cast<RankedTensorType>(type);
      llvm::append_range(shape, tensor.getShape().take_back(2));
      return tensor.clone(shape);
    }
    SmallVector<OpFoldResult> getSizes(OpBuilder &b, Value data) const {
      SmallVector<OpFoldResult> all(sizes);
      llvm::append_range(
          all,
          ArrayRef(tensor::getMixedSizes(b, data.getLoc(), data)).take_back(2));
      return all;
    }
  };

  /// The batch that `reshape` joins, or splits into, if it leaves matrices as
  /// they are and all sizes but one are known.
  static std::optional<Batch> getBatch(PatternRewriter &rewriter,
                                       Operation *reshape) {
    auto collapse = dyn_cast<tensor::CollapseShapeOp>(reshape);
    auto expand = dyn_cast<tensor::ExpandShapeOp>(reshape);
    SmallVector<ReassociationIndices> groups =
        collapse ? collapse.getReassociationIndices()
                 : expand.getReassociationIndices();
    RankedTensorType type =
        collapse ? collapse.getSrcType() : expand.getResultType();
    bool keepsMatrices = groups.size() > 2 && groups.back().size() == 1 &&
                         groups.end()[-2].size() == 1;
    ArrayRef<int64_t> batch = type.getShape().drop_back(2);
    if (!keepsMatrices || llvm::count_if(batch, ShapedType::isDynamic) > 1)
      return std::nullopt;
    SmallVector<OpFoldResult> sizes =
        collapse ? tensor::getMixedSizes(rewriter, reshape->getLoc(),
                                         collapse.getSrc())
                 : expand.getMixedOutputShape();
    sizes.truncate(batch.size());
    return Batch{groups, sizes};
  }

  /// What reshapes an operand whose rows are gathered before.
  static Operation *findGathered(ScaledMMOp op) {
    for (Value data : {op.getA(), op.getB()}) {
      auto collapse = data.getDefiningOp<tensor::CollapseShapeOp>();
      Operation *move = collapse ? collapse.getSrc().getDefiningOp() : nullptr;
      if (move && getGatheredRows(move))
        return collapse;
    }
    return nullptr;
  }

  /// What reshapes the result before its rows are scattered, into sizes that
  /// are known before the product.
  static Operation *findScattered(ScaledMMOp op) {
    auto expand =
        dyn_cast_if_present<tensor::ExpandShapeOp>(getOnlyUser(op.getResult()));
    Operation *move = expand ? getOnlyUser(expand.getResult()) : nullptr;
    auto isThere = [&](Value size) {
      Operation *maker = size.getDefiningOp();
      return !maker || (maker->getBlock() == op->getBlock() &&
                        maker->isBeforeInBlock(op));
    };
    return move && getScatteredRows(move) &&
                   llvm::all_of(expand.getOutputShape(), isThere)
               ? expand
               : nullptr;
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
  patterns.add<ExpandBatch, GiveUnitsToRows<tensor::CollapseShapeOp>,
               GiveUnitsToRows<tensor::ExpandShapeOp>,
               MoveBehindQuantize<tensor::CollapseShapeOp>,
               MoveBehindQuantize<tensor::ExpandShapeOp>>(
      patterns.getContext());
}

} // namespace blockscale
