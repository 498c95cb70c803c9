//===- PrepackProductWeights.cpp - Weights in the order of fragments ------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Storage/StorageRules.h"
#include "blockscale/IR/PassOptions.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Target/Chip.h"
#include "blockscale/Transforms/Passes.h"
#include "blockscale/Transforms/ProductData.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_PREPACKPRODUCTWEIGHTS
#include "blockscale/Transforms/Passes.h.inc"

namespace {

/// %y = blockscale.scaled_mm %x, %w scales(none, %s) ..
///   ->  %p = blockscale.prepack %w : .. -> tensor<.., #prepacked>
///       %y = blockscale.scaled_mm %x, %p scales(none, %s) ..
///
/// where %w is a constant; so for `a`, and for `b` of groups of rows.
struct PrepackConstant : public OpInterfaceRewritePattern<ProductOpInterface> {
  PrepackConstant(MLIRContext *context, int64_t maxElements)
      : OpInterfaceRewritePattern(context), maxElements(maxElements) {}

  LogicalResult matchAndRewrite(ProductOpInterface op,
                                PatternRewriter &rewriter) const override {
    if (op.getScaleA() && op.getScaleB())
      return rewriter.notifyMatchFailure(op, "both operands have scales");
    if (!op.getScaleElementType())
      return rewriter.notifyMatchFailure(op, "no operand has scales");
    if (op->getParentOfType<KernelOp>())
      return rewriter.notifyMatchFailure(op, "a kernel's operands are fixed");
    bool isB = op.getScaleB() != nullptr;
    if (hasMnMajorScales(op, isB))
      return rewriter.notifyMatchFailure(op, "the data lie across K");
    GroupDim groups = op.getGroupOperand().dim;
    if (groups == GroupDim::Columns || (groups == GroupDim::Rows && !isB))
      return rewriter.notifyMatchFailure(op, "groups begin in the data");
    OpOperand &data = isB ? op.getBMutable() : op.getAMutable();
    auto type = cast<RankedTensorType>(data.get().getType());
    if (isPrepacked(type))
      return rewriter.notifyMatchFailure(op, "the data are prepacked");
    if (!matchPattern(data.get(), m_Constant()))
      return rewriter.notifyMatchFailure(op, "the data are no constant");
    if (hasMoreElements(type.getShape(), maxElements)) {
      op->emitRemark() << "has row-major weights: expected a constant of at "
                          "most "
                       << maxElements
                       << " elements (max-elements) to prepack, but got "
                       << type;
      return rewriter.notifyMatchFailure(op, "more elements than the limit");
    }
    auto layout = DataLayoutAttr::getFragments64x64(op.getContext());
    rewriter.modifyOpInPlace(op, [&] {
      data.set(PrepackOp::create(rewriter, op.getLoc(),
                                 type.cloneWithEncoding(layout), data.get(),
                                 /*sizes=*/ValueRange()));
    });
    return success();
  }

private:
  int64_t maxElements;
};

struct PrepackProductWeightsPass
    : public impl::PrepackProductWeightsBase<PrepackProductWeightsPass> {
  using PrepackProductWeightsBase::PrepackProductWeightsBase;

  LogicalResult initialize(MLIRContext *context) override {
    return success(
        succeeded(verifyChipOption(context, chip)) &&
        succeeded(verifyCountOption(context, "max-elements", maxElements)));
  }

  void runOnOperation() override {
    const target::Chip *target = target::findChip(chip);
    if (!target->hasWgmma() || target->hasTcgen05())
      return;
    RewritePatternSet patterns(&getContext());
    populatePrepackProductWeightPatterns(patterns, maxElements);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace

void populatePrepackProductWeightPatterns(RewritePatternSet &patterns,
                                          int64_t maxElements) {
  patterns.add<PrepackConstant>(patterns.getContext(), maxElements);
}

} // namespace blockscale
