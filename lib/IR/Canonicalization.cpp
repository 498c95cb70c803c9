//===- Canonicalization.cpp - Rewrites to normal form ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "UnitGlobalScale.h"
#include "blockscale/IR/TypeRules.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace blockscale;

/// The swizzles that are all uses of `scales`, of which there are some, if they
/// make the same; none otherwise.
static SmallVector<SwizzleOp> getOnlySwizzles(Value scales) {
  SmallVector<SwizzleOp> swizzles;
  for (Operation *user : scales.getUsers()) {
    auto swizzle = dyn_cast<SwizzleOp>(user);
    if (!swizzle)
      return {};
    swizzles.push_back(swizzle);
  }
  auto isLikeFirst = [&](SwizzleOp swizzle) {
    SwizzleOp first = swizzles.front();
    return swizzle.getResult().getType() == first.getResult().getType() &&
           swizzle.getOffsets() == first.getOffsets() &&
           swizzle.getBlock() == first.getBlock();
  };
  return llvm::all_of(swizzles, isLikeFirst) ? swizzles
                                             : SmallVector<SwizzleOp>();
}

namespace {

/// A quantizer writes its scales in any layout at no cost.
///
///   %q, %s = blockscale.quantize %x : ... -> tensor<f4>, tensor<f8>
///   %t = blockscale.swizzle %s : tensor<f8> -> tensor<f8, #swizzled>
/// becomes
///   %q, %t = blockscale.quantize %x : ... -> tensor<f4>, tensor<f8, #swizzled>
///
/// where %s has no other use than such swizzles: there is one for each product
/// of %q. So with a grouped layout, where both ops have the same offsets and
/// count them alike.
struct FoldSwizzleIntoQuantize : public OpRewritePattern<QuantizeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(QuantizeOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<SwizzleOp> swizzles = getOnlySwizzles(op.getScale());
    if (swizzles.empty())
      return rewriter.notifyMatchFailure(op, "the users are not swizzles that "
                                             "make the same");
    SwizzleOp swizzle = swizzles.front();
    auto type = swizzle.getResult().getType();
    if (type.getShape() != op.getScale().getType().getShape())
      return rewriter.notifyMatchFailure(op, "the static shapes differ");
    if (type.getEncoding() && op.getScaleForm()[0].divisor != 1)
      return rewriter.notifyMatchFailure(
          op, "one scale for blocks of several rows has no layout");
    if (!hasKernelOrder(type))
      return rewriter.notifyMatchFailure(op, "no kernel has such a layout");
    if (swizzle.getOffsets() && !hasSameGroups(op, swizzle))
      return rewriter.notifyMatchFailure(op, "the groups are not quantize's");
    rewriter.modifyOpInPlace(op, [&] { op.getScale().setType(type); });
    for (SwizzleOp each : swizzles)
      rewriter.replaceOp(each, op.getScale());
    return success();
  }

private:
  /// Whether the scales that quantize gives each group are those that the
  /// grouped side of `swizzle` has.
  static bool hasSameGroups(QuantizeOp op, SwizzleOp swizzle) {
    LayoutAttr layout = swizzle.getGroupedLayout();
    ScaleExtent extent = op.getScaleForm()[layout.getDim()];
    if (swizzle.getOffsets() != op.getOffsets() ||
        extent.dim != op.getGroupDim() ||
        extent.divisor != static_cast<int64_t>(swizzle.getBlock()))
      return false;
    // An offset beyond x ends a short last block for swizzle alone.
    int64_t size = op.getX().getType().getDimSize(extent.dim);
    return extent.divisor == 1 || !acceptsTails(op.getEffectiveRecipe()) ||
           (!ShapedType::isDynamic(size) && size % extent.divisor == 0);
  }
};

/// The scales of square blocks are expanded as they are written.
///
///   %q, %s = blockscale.quantize %x block [32, 32]
///   %e = blockscale.expand_scale %s block [32, 32] scale_dim k
/// becomes
///   %q, %e = blockscale.quantize %x block [32, 32] scale_dim k
///
/// where %s has no other use and the expanded size is that of x.
struct FoldExpandIntoQuantize : public OpRewritePattern<ExpandScaleOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ExpandScaleOp op,
                                PatternRewriter &rewriter) const override {
    auto quantize = op.getSource().getDefiningOp<QuantizeOp>();
    if (!quantize)
      return rewriter.notifyMatchFailure(op,
                                         "the scales are not a quantizer's");
    if (!op.getSource().hasOneUse())
      return rewriter.notifyMatchFailure(op, "the scales have other uses");
    if (quantize.getOffsets())
      return rewriter.notifyMatchFailure(op, "the scales are grouped");
    if (quantize.getBlock() != op.getBlock() || quantize.getScaleDim())
      return rewriter.notifyMatchFailure(op, "the scales are not compact ones "
                                             "of these blocks");
    // Rows of transposed scales are columns of x.
    ScaleDim dim = op.getScaleDim();
    if (quantize.getTransposed())
      dim = dim == ScaleDim::K ? ScaleDim::N : ScaleDim::K;
    auto type = op.getResult().getType();
    if (type.getShape() != ArrayRef<int64_t>(getScaleShape(
                               quantize.getX().getType().getShape(),
                               getExpandedForm(quantize.getBlockSize(), dim))))
      return rewriter.notifyMatchFailure(op, "the static sizes are not x's");
    if (op.getSize())
      return rewriter.notifyMatchFailure(op, "the size may not be x's");
    rewriter.modifyOpInPlace(quantize, [&] {
      quantize.setScaleDim(dim);
      quantize.getScale().setType(type);
    });
    rewriter.replaceOp(op, quantize.getScale());
    return success();
  }
};

/// Expanded scales are written in tiles at no cost.
///
///   %e = blockscale.expand_scale %s ... -> tensor<f8>
///   %t = blockscale.swizzle %e : tensor<f8> -> tensor<f8, #swizzled>
/// becomes
///   %t = blockscale.expand_scale %s ... -> tensor<f8, #swizzled>
///
/// where %e has no other use than such swizzles.
struct FoldSwizzleIntoExpand : public OpRewritePattern<ExpandScaleOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ExpandScaleOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<SwizzleOp> swizzles = getOnlySwizzles(op.getResult());
    if (swizzles.empty())
      return rewriter.notifyMatchFailure(op, "the users are not swizzles that "
                                             "make the same");
    SwizzleOp swizzle = swizzles.front();
    if (swizzle.getOffsets())
      return rewriter.notifyMatchFailure(op, "the layout is grouped");
    auto type = swizzle.getResult().getType();
    if (type.getShape() != op.getResult().getType().getShape())
      return rewriter.notifyMatchFailure(op, "the static shapes differ");
    if (!hasKernelOrder(type))
      return rewriter.notifyMatchFailure(op, "no kernel has such a layout");
    rewriter.modifyOpInPlace(op, [&] { op.getResult().setType(type); });
    for (SwizzleOp each : swizzles)
      rewriter.replaceOp(each, op.getResult());
    return success();
  }
};

} // namespace

void QuantizeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                             MLIRContext *context) {
  patterns.add<DropUnitGlobalScale<QuantizeOp>>(
      context, &QuantizeOp::getGlobalScaleMutable);
  patterns.add<FoldSwizzleIntoQuantize>(context);
}

void DequantizeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                               MLIRContext *context) {
  patterns.add<DropUnitGlobalScale<DequantizeOp>>(
      context, &DequantizeOp::getGlobalScaleMutable);
}

void ExpandScaleOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                MLIRContext *context) {
  patterns.add<FoldExpandIntoQuantize, FoldSwizzleIntoExpand>(context);
}
