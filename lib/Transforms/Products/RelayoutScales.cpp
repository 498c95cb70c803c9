//===- RelayoutScales.cpp - Linear scales where kernels need them ---------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinearScales.h"
#include "blockscale/Analysis/Fusion/KernelFamily.h"
#include "blockscale/IR/PassOptions.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Transforms/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_RELAYOUTSCALES
#include "blockscale/Transforms/Passes.h.inc"

/// Whether `op` is in a kernel, whose ops and operands are fixed.
static bool isInKernel(Operation *op) {
  return op->getParentOfType<KernelOp>() != nullptr;
}

/// Makes `scale`, a result of `op`, linear, and gives its users what a swizzle
/// makes of it.
static void relayoutResult(PatternRewriter &rewriter, Operation *op,
                           TypedValue<RankedTensorType> scale) {
  RankedTensorType type = scale.getType();
  rewriter.modifyOpInPlace(
      op, [&] { scale.setType(type.cloneWithEncoding(Attribute())); });
  rewriter.setInsertionPointAfter(op);
  auto swizzle = SwizzleOp::create(rewriter, op->getLoc(), type, scale,
                                   /*offsets=*/Value(), /*sizes=*/ValueRange());
  rewriter.replaceAllUsesExcept(scale, swizzle, swizzle);
}

namespace {

/// %q, %s = blockscale.quantize %x : .. -> .., tensor<.., #tiles>
///   ->  %q, %l = blockscale.quantize %x : .. -> .., tensor<..>
///       %s = blockscale.swizzle %l : tensor<..> -> tensor<.., #tiles>
struct RelayoutQuantizer : public OpRewritePattern<QuantizeOp> {
  RelayoutQuantizer(MLIRContext *context, bool isForGpu)
      : OpRewritePattern(context), isForGpu(isForGpu) {}

  LogicalResult matchAndRewrite(QuantizeOp op,
                                PatternRewriter &rewriter) const override {
    if (kernelWrites(op))
      return rewriter.notifyMatchFailure(op, "kernels write the layout");
    if (isInKernel(op))
      return rewriter.notifyMatchFailure(op, "a kernel's ops are fixed");
    relayoutResult(rewriter, op, op.getScale());
    return success();
  }

private:
  bool kernelWrites(QuantizeOp op) const {
    RankedTensorType type = op.getScale().getType();
    bool isInTiles =
        !getScaleLayout(type).isLinear() && !getGroupedLayout(type);
    return hasKernelOrder(type) && !(isForGpu && isInTiles && takesBlocks(op));
  }

  bool isForGpu;
};

/// The same for expand_scale.
struct RelayoutExpansion : public OpRewritePattern<ExpandScaleOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ExpandScaleOp op,
                                PatternRewriter &rewriter) const override {
    if (hasKernelOrder(op.getResult().getType()))
      return rewriter.notifyMatchFailure(op, "kernels write the layout");
    if (isInKernel(op))
      return rewriter.notifyMatchFailure(op, "a kernel's ops are fixed");
    relayoutResult(rewriter, op, op.getResult());
    return success();
  }
};

/// %x = blockscale.dequantize %q, %s : .., tensor<.., #tiles> -> ..
///   ->  %l = blockscale.swizzle %s : tensor<.., #tiles> -> tensor<..>
///       %x = blockscale.dequantize %q, %l : .., tensor<..> -> ..
struct RelayoutDequantizer : public OpRewritePattern<DequantizeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(DequantizeOp op,
                                PatternRewriter &rewriter) const override {
    if (hasKernelOrder(op.getScale().getType()))
      return rewriter.notifyMatchFailure(op, "kernels read the layout");
    if (isInKernel(op))
      return rewriter.notifyMatchFailure(op, "a kernel's ops are fixed");
    Value linear = createLinearScales(rewriter, op.getLoc(), op.getScale(),
                                      op.getData(), op.getBlock()[1]);
    rewriter.modifyOpInPlace(op, [&] { op.getScaleMutable().assign(linear); });
    return success();
  }
};

/// %t = blockscale.swizzle %s : tensor<.., #tiles> -> tensor<.., #others>
///   ->  %l = blockscale.swizzle %s : tensor<.., #tiles> -> tensor<..>
///       %t = blockscale.swizzle %l : tensor<..> -> tensor<.., #others>
struct SplitSwizzle : public OpRewritePattern<SwizzleOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SwizzleOp op,
                                PatternRewriter &rewriter) const override {
    RankedTensorType source = op.getSource().getType(), result = op.getType();
    if (getScaleLayout(source).isLinear() || getScaleLayout(result).isLinear())
      return rewriter.notifyMatchFailure(op, "one side is linear");
    if (source.getEncoding() == result.getEncoding())
      return rewriter.notifyMatchFailure(op, "the layout does not change");
    if (isInKernel(op))
      return rewriter.notifyMatchFailure(op, "a kernel's ops are fixed");
    auto linear =
        SwizzleOp::create(rewriter, op.getLoc(),
                          result.cloneWithEncoding(Attribute()), op.getSource(),
                          /*offsets=*/Value(), op.getSizes());
    rewriter.replaceOpWithNewOp<SwizzleOp>(op, result, linear,
                                           /*offsets=*/Value(),
                                           /*sizes=*/ValueRange());
    return success();
  }
};

struct RelayoutScalesPass
    : public impl::RelayoutScalesBase<RelayoutScalesPass> {
  using RelayoutScalesBase::RelayoutScalesBase;

  LogicalResult initialize(MLIRContext *context) override {
    return chip.empty() ? success() : verifyChipOption(context, chip);
  }

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<RelayoutQuantizer>(&getContext(), !chip.empty());
    patterns.add<RelayoutExpansion, RelayoutDequantizer, SplitSwizzle>(
        &getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
} // namespace blockscale
