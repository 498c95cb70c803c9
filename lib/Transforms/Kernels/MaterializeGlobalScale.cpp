//===- MaterializeGlobalScale.cpp - Make an absent global scale 1.0 -------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/IR/TypeRules.h"
#include "blockscale/Transforms/GlobalScale.h"
#include "blockscale/Transforms/Passes.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_MATERIALIZEGLOBALSCALE
#include "blockscale/Transforms/Passes.h.inc"

static bool isNvfp4(TypedValue<RankedTensorType> scale) {
  return isNvfp4ScaleType(scale.getType().getElementType());
}

static Value createOne(PatternRewriter &rewriter, Location loc) {
  auto type = RankedTensorType::get({}, rewriter.getF32Type());
  return arith::ConstantOp::create(rewriter, loc,
                                   DenseElementsAttr::get(type, 1.0f));
}

namespace {

/// blockscale.quantize %x block [1, 16]
///   ->  %one = arith.constant dense<1.0> : tensor<f32>
///       blockscale.quantize %x block [1, 16] global_scale(%one : tensor<f32>)
///
/// and the same for dequantize. A global_amax is another way to say the scale.
template <typename OpTy>
struct MaterializeInQuantizer : public OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (!isNvfp4(op.getScale()))
      return rewriter.notifyMatchFailure(op, "MX has no global scale");
    if (op.getGlobalScale() || op.getGlobalAmax())
      return rewriter.notifyMatchFailure(op, "the global scale is present");
    if (op->template getParentOfType<KernelOp>())
      return rewriter.notifyMatchFailure(op, "a kernel's operands are fixed");
    Value one = createOne(rewriter, op.getLoc());
    rewriter.modifyOpInPlace(op,
                             [&] { op.getGlobalScaleMutable().assign(one); });
    return success();
  }
};

/// A matmul gets each of its two global scales that is absent, but none of an
/// operand without block scales. Without either the place of the scaling says
/// nothing, with one it says when the bias is added:
///
///   blockscale.scaled_mm .. global_scaling after_rounding bias(%bias : ..)
///   ->  blockscale.scaled_mm .. global_scale_a(%one : ..)
///           global_scale_b(%one : ..) bias(%bias : ..)
template <typename OpTy>
struct MaterializeInMatmul : public OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (!isNvfp4ScaleType(op.getScaleElementType()))
      return rewriter.notifyMatchFailure(op, "MX has no global scale");
    bool needsA = op.getScaleA() && !op.getGlobalScaleA();
    bool needsB = op.getScaleB() && !op.getGlobalScaleB();
    if (!needsA && !needsB)
      return rewriter.notifyMatchFailure(op, "the global scales are present");
    if (op->template getParentOfType<KernelOp>())
      return rewriter.notifyMatchFailure(op, "a kernel's operands are fixed");
    Value one = createOne(rewriter, op.getLoc());
    rewriter.modifyOpInPlace(op, [&] {
      if (!op.getGlobalScaleA() && !op.getGlobalScaleB())
        op.removeGlobalScalingAttr();
      if (needsA)
        op.getGlobalScaleAMutable().assign(one);
      if (needsB)
        op.getGlobalScaleBMutable().assign(one);
    });
    return success();
  }
};

struct MaterializeGlobalScalePass
    : public impl::MaterializeGlobalScaleBase<MaterializeGlobalScalePass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMaterializeGlobalScalePatterns(patterns);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace

void populateMaterializeGlobalScalePatterns(RewritePatternSet &patterns) {
  patterns.add<
      MaterializeInQuantizer<QuantizeOp>, MaterializeInQuantizer<DequantizeOp>,
      MaterializeInMatmul<ScaledMMOp>, MaterializeInMatmul<ScaledGroupedMMOp>>(
      patterns.getContext());
}

} // namespace blockscale
