//===- SwizzleProductScales.cpp - Scales as tensor cores read them --------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinearScales.h"
#include "blockscale/Analysis/Fusion/KernelFamily.h"
#include "blockscale/IR/PassOptions.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Target/Chip.h"
#include "blockscale/Transforms/Passes.h"
#include "blockscale/Transforms/ProductSwizzle.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_SWIZZLEPRODUCTSCALES
#include "blockscale/Transforms/Passes.h.inc"

namespace {

/// %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) ..
///   ->  %ta = blockscale.swizzle %sa : .. -> tensor<.., #swizzled>
///       %tb = blockscale.swizzle %sb : .. -> tensor<.., #swizzled>
///       %y = blockscale.scaled_mm %a, %b scales(%ta, %tb) ..
///
/// Canonicalization then lets a quantizer write them swizzled.
struct SwizzleScales : public OpRewritePattern<ScaledMMOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ScaledMMOp op,
                                PatternRewriter &rewriter) const override {
    bool needsA = isLinear(op.getScaleA()), needsB = isLinear(op.getScaleB());
    if (!needsA && !needsB)
      return rewriter.notifyMatchFailure(op, "the scales are swizzled");
    if (op->getParentOfType<KernelOp>())
      return rewriter.notifyMatchFailure(op, "a kernel's operands are fixed");
    auto layout = LayoutAttr::getSwizzle128x4(op.getContext());
    rewriter.modifyOpInPlace(op, [&] {
      if (needsA)
        swizzle(rewriter, op.getScaleAMutable()[0], layout);
      if (needsB)
        swizzle(rewriter, op.getScaleBMutable()[0], layout);
    });
    return success();
  }

  /// Whether there are scales, and in no layout.
  static bool isLinear(TypedValue<RankedTensorType> scale) {
    return scale && getScaleLayout(scale.getType()).isLinear();
  }

  static void swizzle(PatternRewriter &rewriter, OpOperand &scale,
                      LayoutAttr layout) {
    auto type = cast<RankedTensorType>(scale.get().getType());
    scale.set(SwizzleOp::create(rewriter, scale.getOwner()->getLoc(),
                                type.cloneWithEncoding(layout), scale.get(),
                                /*offsets=*/Value(), /*sizes=*/ValueRange()));
  }
};

/// Scales that offsets part are swizzled group by group.
///
/// %y = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) ..
///   ->  %ta = blockscale.swizzle %sa offsets(%ends) .. -> tensor<.., #grouped>
///       %tb = blockscale.swizzle %sb : .. -> tensor<.., #swizzled>
///       %y = blockscale.scaled_grouped_mm %a, %b offsets(%ends)
///           scales(%ta, %tb) ..
struct SwizzleGroupedScales : public OpRewritePattern<ScaledGroupedMMOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ScaledGroupedMMOp op,
                                PatternRewriter &rewriter) const override {
    bool needsA = needsGroups(op.getScaleA());
    bool needsB = op.isKGrouped() ? needsGroups(op.getScaleB())
                                  : SwizzleScales::isLinear(op.getScaleB());
    if (!needsA && !needsB)
      return rewriter.notifyMatchFailure(op, "the scales are swizzled");
    if (op->getParentOfType<KernelOp>())
      return rewriter.notifyMatchFailure(op, "a kernel's operands are fixed");
    rewriter.modifyOpInPlace(op, [&] {
      if (needsA)
        swizzleGroups(rewriter, op, op.getScaleAMutable()[0], op.getA());
      if (needsB && op.isKGrouped())
        swizzleGroups(rewriter, op, op.getScaleBMutable()[0], op.getB());
      else if (needsB)
        SwizzleScales::swizzle(rewriter, op.getScaleBMutable()[0],
                               LayoutAttr::getSwizzle128x4(op.getContext()));
    });
    return success();
  }

private:
  /// Whether there are scales, and not in tiles of each group.
  static bool needsGroups(Value scale) {
    return scale && !getGroupedLayout(scale.getType());
  }

  static void swizzleGroups(PatternRewriter &rewriter, ScaledGroupedMMOp op,
                            OpOperand &scale, Value data) {
    int64_t groups = op.getOffsets().getType().getDimSize(0);
    // A layout cannot say that there are no groups; the offsets do.
    if (groups == 0)
      groups = ShapedType::kDynamic;
    int64_t block = op.isKGrouped() ? op.getBlockSize() : 1;
    auto layout =
        LayoutAttr::get(op.getContext(), LayoutKind::Swizzle128x4, groups,
                        /*dim=*/op.isKGrouped() ? 1 : 0);
    auto type = cast<RankedTensorType>(scale.get().getType());
    Value linear = scale.get();
    if (!getScaleLayout(type).isLinear())
      linear = createLinearScales(rewriter, op, linear, data);
    auto swizzle = SwizzleOp::create(
        rewriter, op.getLoc(), type.cloneWithEncoding(layout), linear,
        op.getOffsets(), /*sizes=*/ValueRange(), block);
    swizzle->setAttr(kEndsCheckedAttrName, rewriter.getUnitAttr());
    scale.set(swizzle);
  }
};

/// A quantizer whose results only products of the same groups read takes the
/// ends of these, so that it can write the tiles of each group.
///
/// %q, %s = blockscale.quantize %x ..
/// %y = blockscale.scaled_grouped_mm %q, %b offsets(%ends) scales(%s, %sb) ..
///   ->  %q, %s = blockscale.quantize %x .. offsets(%ends)
///       %y = blockscale.scaled_grouped_mm %q, %b offsets(%ends) ..
///
/// What belongs to no group becomes zero, and no product reads it. The product
/// checks the ends, and the quantizer does not (ProductSwizzle.h).
struct TakeOffsets : public OpRewritePattern<QuantizeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(QuantizeOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getOffsets() || op.getX().getType().getRank() != 2)
      return rewriter.notifyMatchFailure(op, "x has groups, or is a batch");
    if (op->getParentOfType<KernelOp>())
      return rewriter.notifyMatchFailure(op, "a kernel's operands are fixed");
    if (!SwizzleScales::isLinear(op.getScale()) ||
        op.getScaleForm()[0].divisor != 1)
      return rewriter.notifyMatchFailure(op, "the scales are in a layout, or "
                                             "have none of groups");
    if (op.getGlobalOperand().extent == GlobalExtent::Row)
      return rewriter.notifyMatchFailure(op, "rows have global values");
    if (takesBlocks(op))
      return rewriter.notifyMatchFailure(op, "its kernel has blocks, not rows");
    ScaledGroupedMMOp product = findProduct(op);
    if (!product)
      return rewriter.notifyMatchFailure(
          op, "others than products of the same groups read the results");
    // Groups cut the rows of the data, or K.
    unsigned dim = product.isKGrouped() != op.getTransposed() ? 1 : 0;
    int64_t unit = product.isKGrouped() ? product.getBlockSize() : 1;
    if (op.getBlock()[dim] != unit)
      return rewriter.notifyMatchFailure(op, "groups may cut a block");
    Value ends = product.getOffsets();
    if (!DominanceInfo().properlyDominates(ends, op))
      return rewriter.notifyMatchFailure(op, "the ends come later");
    rewriter.modifyOpInPlace(op, [&] {
      op.getOffsetsMutable().assign(ends);
      op.setGroupDim(dim);
      op->setAttr(kEndsCheckedAttrName, rewriter.getUnitAttr());
    });
    return success();
  }

private:
  /// A product that reads the results, if only products do that have the same
  /// groups along the same dimension; null otherwise.
  static ScaledGroupedMMOp findProduct(QuantizeOp op) {
    ScaledGroupedMMOp found;
    for (Value result : {op.getData(), op.getScale()})
      for (OpOperand &use : result.getUses()) {
        if (isa<tensor::DimOp>(use.getOwner()))
          continue;
        auto product = dyn_cast<ScaledGroupedMMOp>(use.getOwner());
        // The matrices of B have no groups of rows.
        if (!product || product->getParentOfType<KernelOp>() ||
            (!product.isKGrouped() && use.get() != product.getA() &&
             use.get() != product.getScaleA()))
          return {};
        if (!found)
          found = product;
        if (product.getOffsets() != found.getOffsets() ||
            product.isKGrouped() != found.isKGrouped())
          return {};
      }
    return found;
  }
};

struct SwizzleProductScalesPass
    : public impl::SwizzleProductScalesBase<SwizzleProductScalesPass> {
  using SwizzleProductScalesBase::SwizzleProductScalesBase;

  LogicalResult initialize(MLIRContext *context) override {
    return verifyChipOption(context, chip);
  }

  void runOnOperation() override {
    const target::Chip *target = target::findChip(chip);
    if (!target->hasProducts())
      return;
    RewritePatternSet patterns(&getContext());
    patterns.add<SwizzleScales, SwizzleGroupedScales, TakeOffsets>(
        &getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
} // namespace blockscale
