//===- DecodeProductOperands.cpp - Plain operands of products -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Transforms/DecodeProductOperands.h"
#include "LinearScales.h"
#include "RowMajorData.h"
#include "blockscale/IR/PassOptions.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Target/Chip.h"
#include "blockscale/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "llvm/Support/ScopedPrinter.h"

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

/// The values of `data` and `scale` in `element`. The global scale stays the
/// product's, unless `global` is given, which multiplies elements.
static Value createValues(PatternRewriter &rewriter, ProductOpInterface op,
                          TypedValue<RankedTensorType> data, Value scale,
                          Type element, Value global = {}) {
  if (getGroupedLayout(scale.getType()))
    scale = createLinearScales(rewriter, op, scale, data);
  auto type = RankedTensorType::get(data.getType().getShape(), element);
  return DequantizeOp::create(rewriter, op.getLoc(), type, data, scale, global,
                              /*global_amax=*/Value(),
                              rewriter.getDenseI64ArrayAttr(op.getBlock()),
                              RecipeAttr());
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
        decodesA ? op.getScaleA() : op.getScaleB(), rewriter.getBF16Type());
    rewriter.modifyOpInPlace(op, [&] {
      (decodesA ? op.getAMutable() : op.getBMutable()).assign(values);
      (decodesA ? op.getScaleAMutable() : op.getScaleBMutable()).clear();
    });
    return success();
  }
};

/// %y = blockscale.scaled_mm %x, %w mn_major_b scales(none, %s) block [1, 32]
///   ->  %v = blockscale.dequantize %w, %s block [1, 32] : .. ->
///   tensor<..bf16>
///       %y = blockscale.scaled_mm %x, %v mn_major_b scales(none, none)
///           block [1, 16] ..
///
/// and the same for A, and for scaled_grouped_mm. A global scale that
/// multiplies sums stays the product's; one that multiplies elements is that of
/// the dequantization, whose values are those that the product would multiply.
/// What kernels of the chip decode themselves stays as it is.
template <typename OpTy>
struct DecodeMnMajor : public OpRewritePattern<OpTy> {
  DecodeMnMajor(MLIRContext *context, bool hasWgmma)
      : OpRewritePattern<OpTy>(context), hasWgmma(hasWgmma) {}

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    auto product = cast<ProductOpInterface>(op.getOperation());
    bool ofB = hasMnMajorScales(product, /*ofB=*/true);
    if (!ofB && !hasMnMajorScales(product, /*ofB=*/false))
      return rewriter.notifyMatchFailure(op, "scales lie along K, or are none");
    if (hasWgmma && hasPackedMnMajorScales(product))
      return rewriter.notifyMatchFailure(op, "kernels decode it across K");
    if (op->template getParentOfType<KernelOp>())
      return rewriter.notifyMatchFailure(op, "a kernel's operands are fixed");
    auto data = ofB ? op.getB() : op.getA();
    Type element = (ofB ? op.getA() : op.getB()).getType().getElementType();
    remark::missed(op.getLoc(),
                   remark::RemarkOpts::name("decoded").category("gpu-launch"))
        << remark::add(
               "'{0}' reads {1} values of {2} that a kernel before it "
               "decodes ({3}_c11): codes are decoded where they are "
               "multiplied only along K{4}, but this operand is mn_major_{2}",
               op->getName().getStringRef().str(), llvm::to_string(element),
               ofB ? "b" : "a", op->getName().stripDialect().str(),
               hasWgmma ? ", or across it of prepacked data of b whose global "
                          "scale multiplies sums"
                        : "");
    if (isPrepacked(data.getType()))
      data = createRowMajorData(rewriter, product, ofB);
    auto global =
        ofB ? op.getGlobalScaleBMutable() : op.getGlobalScaleAMutable();
    bool scalesElements = product.scalesElements();
    Value values = createValues(
        rewriter, product, data, ofB ? op.getScaleB() : op.getScaleA(), element,
        scalesElements && !global.empty() ? Value(global[0].get()) : Value());
    rewriter.modifyOpInPlace(op, [&] {
      (ofB ? op.getBMutable() : op.getAMutable()).assign(values);
      (ofB ? op.getScaleBMutable() : op.getScaleAMutable()).clear();
      op.setBlock({1, kPlainBlockSize});
      if (!scalesElements)
        return;
      (ofB ? op.getGlobalScaleBMutable() : op.getGlobalScaleAMutable()).clear();
      op.removeGlobalScalingAttr();
    });
    return success();
  }

  bool hasWgmma;
};

struct DecodeProductOperandsPass
    : public impl::DecodeProductOperandsBase<DecodeProductOperandsPass> {
  using DecodeProductOperandsBase::DecodeProductOperandsBase;

  LogicalResult initialize(MLIRContext *context) override {
    return chip.empty() ? success() : verifyChipOption(context, chip);
  }

  void runOnOperation() override {
    const target::Chip *target = target::findChip(chip);
    RewritePatternSet patterns(&getContext());
    populateDecodeMnMajorOperandPatterns(patterns,
                                         target && target->hasWgmma());
    if (target && target->decodesProductOperands())
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

void populateDecodeMnMajorOperandPatterns(RewritePatternSet &patterns,
                                          bool hasWgmma) {
  patterns.add<DecodeMnMajor<ScaledMMOp>, DecodeMnMajor<ScaledGroupedMMOp>>(
      patterns.getContext(), hasWgmma);
}

} // namespace blockscale
