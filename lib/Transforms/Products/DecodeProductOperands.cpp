//===- DecodeProductOperands.cpp - Plain operands of products -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Transforms/DecodeProductOperands.h"
#include "LinearScales.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Target/Chip.h"
#include "blockscale/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_DECODEPRODUCTOPERANDS
#include "blockscale/Transforms/Passes.h.inc"

namespace {

/// What the data of an operand come from, in the order in which operands are
/// preferred to be plain.
enum class Origin { Prepacked, Constant, Other, Quantizer };

} // namespace

static Origin getOrigin(Value data) {
  // One operand alone is prepacked, which is to be read so.
  if (isPrepacked(data.getType()))
    return Origin::Prepacked;
  if (matchPattern(data, m_Constant()))
    return Origin::Constant;
  return data.getDefiningOp<QuantizeOp>() ? Origin::Quantizer : Origin::Other;
}

/// The values of `data` and `scale` in bf16, without the global scale, which
/// stays the product's.
static Value createValues(PatternRewriter &rewriter, ProductOpInterface op,
                          TypedValue<RankedTensorType> data, Value scale,
                          DenseI64ArrayAttr block) {
  if (getGroupedLayout(scale.getType()))
    scale = createLinearScales(rewriter, op, scale, data);
  auto type =
      RankedTensorType::get(data.getType().getShape(), rewriter.getBF16Type());
  return DequantizeOp::create(rewriter, op.getLoc(), type, data, scale,
                              /*global_scale=*/Value(),
                              /*global_amax=*/Value(), block, RecipeAttr());
}

namespace {

/// %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] ..
///   ->  %x = blockscale.dequantize %a, %sa block [1, 16] : .. ->
///   tensor<..bf16>
///       %y = blockscale.scaled_mm %x, %b scales(none, %sb) block [1, 16] ..
///
/// and the same for B, and for scaled_grouped_mm. Scales in a grouped layout
/// are made linear before, which canonicalization folds into a quantizer that
/// makes them for nothing else.
template <typename OpTy>
struct DecodeOperand : public OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (!op.getScaleA() || !op.getScaleB())
      return rewriter.notifyMatchFailure(op, "an operand is plain already");
    if (op->template getParentOfType<KernelOp>())
      return rewriter.notifyMatchFailure(op, "a kernel's operands are fixed");
    auto product = cast<ProductOpInterface>(op.getOperation());
    bool decodesA = getOrigin(op.getA()) >= getOrigin(op.getB());
    Value values = createValues(
        rewriter, product, decodesA ? op.getA() : op.getB(),
        decodesA ? op.getScaleA() : op.getScaleB(), op.getBlockAttr());
    rewriter.modifyOpInPlace(op, [&] {
      (decodesA ? op.getAMutable() : op.getBMutable()).assign(values);
      (decodesA ? op.getScaleAMutable() : op.getScaleBMutable()).clear();
    });
    return success();
  }
};

struct DecodeProductOperandsPass
    : public impl::DecodeProductOperandsBase<DecodeProductOperandsPass> {
  using DecodeProductOperandsBase::DecodeProductOperandsBase;

  void runOnOperation() override {
    const target::Chip *target = target::findChip(chip);
    if (!target || !target->decodesProductOperands())
      return;
    RewritePatternSet patterns(&getContext());
    populateDecodeProductOperandPatterns(patterns);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
    // Two products of one operand share what is decoded of it.
    IRRewriter rewriter(&getContext());
    DominanceInfo dominance(getOperation());
    eliminateCommonSubExpressions(rewriter, dominance, getOperation());
  }
};

} // namespace

void populateDecodeProductOperandPatterns(RewritePatternSet &patterns) {
  patterns.add<DecodeOperand<ScaledMMOp>, DecodeOperand<ScaledGroupedMMOp>>(
      patterns.getContext());
}

} // namespace blockscale
