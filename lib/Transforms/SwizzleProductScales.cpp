//===- SwizzleProductScales.cpp - Scales as tensor cores read them --------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/IR/TypeRules.h"
#include "blockscale/Target/Chip.h"
#include "blockscale/Transforms/Passes.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_SWIZZLEPRODUCTSCALES
#include "blockscale/Transforms/Passes.h.inc"

/// Linear scales, swizzled before `op`.
static Value swizzle(PatternRewriter &rewriter, Operation *op, Value scale) {
  auto type = cast<RankedTensorType>(scale.getType());
  auto layout = LayoutAttr::getSwizzle128x4(op->getContext());
  return SwizzleOp::create(rewriter, op->getLoc(),
                           type.cloneWithEncoding(layout), scale,
                           /*offsets=*/Value(), /*sizes=*/ValueRange());
}

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
    if (getLayout(op.getScaleA().getType()) &&
        getLayout(op.getScaleB().getType()))
      return rewriter.notifyMatchFailure(op, "both scales are swizzled");
    if (op->getParentOfType<KernelOp>())
      return rewriter.notifyMatchFailure(op, "a kernel's operands are fixed");
    rewriter.modifyOpInPlace(op, [&] {
      for (OpOperand *scale : {&op.getScaleAMutable(), &op.getScaleBMutable()})
        if (!getLayout(scale->get().getType()))
          scale->set(swizzle(rewriter, op, scale->get()));
    });
    return success();
  }
};

struct SwizzleProductScalesPass
    : public impl::SwizzleProductScalesBase<SwizzleProductScalesPass> {
  using SwizzleProductScalesBase::SwizzleProductScalesBase;

  void runOnOperation() override {
    const target::Chip *target = target::findChip(chip);
    if (!target || !target->hasBlockScaledMma())
      return;
    RewritePatternSet patterns(&getContext());
    patterns.add<SwizzleScales>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
} // namespace blockscale
