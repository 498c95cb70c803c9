//===- SwizzleProductScales.cpp - Scales as tensor cores read them --------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinearScales.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Target/Chip.h"
#include "blockscale/Transforms/Passes.h"
#include "blockscale/Transforms/ProductSwizzle.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
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
    int64_t groups = op.getOffsets().getType().getDimSize(0);
    if (ShapedType::isDynamic(groups) || groups == 0)
      return rewriter.notifyMatchFailure(op, "a layout has a static number of "
                                             "groups");
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

struct SwizzleProductScalesPass
    : public impl::SwizzleProductScalesBase<SwizzleProductScalesPass> {
  using SwizzleProductScalesBase::SwizzleProductScalesBase;

  void runOnOperation() override {
    const target::Chip *target = target::findChip(chip);
    if (!target || !target->hasProducts())
      return;
    RewritePatternSet patterns(&getContext());
    patterns.add<SwizzleScales, SwizzleGroupedScales>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
} // namespace blockscale
