//===- UnpackProductData.cpp - Products of row-major data -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Raising/RaisedFactor.h"
#include "RowMajorData.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Transforms/Passes.h"
#include "blockscale/Transforms/ProductData.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_UNPACKPRODUCTDATA
#include "blockscale/Transforms/Passes.h.inc"

namespace {

/// %y = blockscale.scaled_mm %x, %p scales(none, %s) ..
///   ->  %w = blockscale.prepack %p : tensor<.., #prepacked> -> tensor<..>
///       %y = blockscale.scaled_mm %x, %w scales(none, %s) ..
struct UnpackData : public OpInterfaceRewritePattern<ProductOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(ProductOpInterface op,
                                PatternRewriter &rewriter) const override {
    bool isB = isPrepacked(op.getB().getType());
    if (!isB && !isPrepacked(op.getA().getType()))
      return rewriter.notifyMatchFailure(op, "the data are row-major");
    if (op->getParentOfType<KernelOp>())
      return rewriter.notifyMatchFailure(op, "a kernel's operands are fixed");
    OpOperand &data = isB ? op.getBMutable() : op.getAMutable();
    if (!isMadeFromRowMajor(data.get()))
      op->emitRemark("reads prepacked data by a kernel that brings it to "
                     "row-major order, as its own kernels read no other; "
                     "row-major data needs none");
    rewriter.modifyOpInPlace(
        op, [&] { data.set(createRowMajorData(rewriter, op, isB)); });
    return success();
  }

private:
  /// Whether the data come back without a kernel: they are constant, or what
  /// prepacks them is beside the product.
  static bool isMadeFromRowMajor(Value data) {
    return matchPattern(data, m_Constant()) || data.getDefiningOp<PrepackOp>();
  }
};

/// %y = blockscale.scaled_mm %x, %w mn_major_b ..
///   ->  %t = linalg.transpose ins(%w) ..
///       %y = blockscale.scaled_mm %x, %t ..
///
/// and the same for A, and for scaled_grouped_mm.
template <typename OpTy>
struct TransposeData : public OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (!op.getMnMajorA() && !op.getMnMajorB())
      return rewriter.notifyMatchFailure(op, "the operands are K-major");
    if (op.getScaleA() || op.getScaleB())
      return rewriter.notifyMatchFailure(
          op, "an operand with scales is decoded, as blocks cannot be turned");
    if (op->template getParentOfType<KernelOp>())
      return rewriter.notifyMatchFailure(op, "a kernel's operands are fixed");
    auto transpose = [&](OpOperand &data) {
      data.set(createTransposed(rewriter, op.getLoc(), data.get()));
    };
    rewriter.modifyOpInPlace(op, [&] {
      if (op.getMnMajorA())
        transpose(op.getAMutable());
      if (op.getMnMajorB())
        transpose(op.getBMutable());
      op.setMnMajorA(false);
      op.setMnMajorB(false);
    });
    return success();
  }
};

struct UnpackProductDataPass
    : public impl::UnpackProductDataBase<UnpackProductDataPass> {
  using UnpackProductDataBase::UnpackProductDataBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateUnpackProductDataPatterns(patterns);
    if (kMajor)
      populateTransposeProductDataPatterns(patterns);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace

void populateUnpackProductDataPatterns(RewritePatternSet &patterns) {
  patterns.add<UnpackData>(patterns.getContext());
}

void populateTransposeProductDataPatterns(RewritePatternSet &patterns) {
  patterns.add<TransposeData<ScaledMMOp>, TransposeData<ScaledGroupedMMOp>>(
      patterns.getContext());
}

} // namespace blockscale
