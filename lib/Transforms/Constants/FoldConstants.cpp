//===- FoldConstants.cpp - Evaluation of constant operands ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Transforms/FoldConstants.h"
#include "ConstantEvaluation.h"
#include "Storage/StorageRules.h"
#include "blockscale/IR/PassOptions.h"
#include "blockscale/Transforms/Passes.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_FOLDCONSTANTS
#include "blockscale/Transforms/Passes.h.inc"

namespace {

template <typename... OpTys>
struct OpList {
  static bool contains(Operation *op) { return isa<OpTys...>(op); }
  template <template <typename> class PatternTy>
  static void addTo(RewritePatternSet &patterns, int64_t maxElements) {
    patterns.add<PatternTy<OpTys>...>(patterns.getContext(), maxElements);
  }
};

/// Ops that move or convert the elements of their first operand.
using Moves = OpList<tensor::CollapseShapeOp, tensor::ExpandShapeOp,
                     tensor::ExtractSliceOp, linalg::TransposeOp,
                     arith::TruncFOp, arith::ExtFOp>;

} // namespace

/// Whether something of the dialect reads the result of a move, or of moves
/// behind it. Other constants are left as they are: their moves would be one
/// more copy of each.
static bool isReadByDialect(Operation *move) {
  return llvm::any_of(move->getUsers(), [](Operation *user) {
    return Moves::contains(user)
               ? isReadByDialect(user)
               : isa_and_present<BlockScaleDialect>(user->getDialect());
  });
}

namespace {

/// A weight that the program knows is quantized before it runs:
///
///   %w = arith.constant dense_resource<w> : tensor<4096x4096xbf16>
///   %q, %s = blockscale.quantize %w block [1, 16] : ...
/// becomes
///   %q = arith.constant dense_resource<q> : tensor<4096x4096xf4E2M1FN>
///   %s = arith.constant dense_resource<s> : tensor<4096x256xf8E4M3FN>
///
/// So is what moves or converts it in front of that.
template <typename OpTy>
struct FoldConstantOp : public OpRewritePattern<OpTy> {
  FoldConstantOp(MLIRContext *context, int64_t maxElements)
      : OpRewritePattern<OpTy>(context), maxElements(maxElements) {}

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (op->template getParentOfType<KernelOp>())
      return rewriter.notifyMatchFailure(op, "a kernel's operands are fixed");
    OperandRange operands = op->getOperands();
    if (Moves::contains(op)) {
      // Behind it are sizes, and what a transposition writes to.
      operands = operands.take_front(1);
      if (!isReadByDialect(op))
        return rewriter.notifyMatchFailure(op, "no op of the dialect reads it");
    }
    for (Value operand : operands)
      if (!matchPattern(operand, m_Constant()))
        return rewriter.notifyMatchFailure(op, "an operand is not constant");
    if (failed(verifySize(op)))
      return rewriter.notifyMatchFailure(op, "more elements than the limit");
    std::optional<ConstantResults> results = evaluate(op);
    if (!results)
      return rewriter.notifyMatchFailure(op, "not evaluated in this form");
    SmallVector<Value> constants;
    for (TypedAttr result : *results)
      constants.push_back(
          arith::ConstantOp::create(rewriter, op.getLoc(), result));
    rewriter.replaceOp(op, constants);
    return success();
  }

private:
  LogicalResult verifySize(OpTy op) const {
    for (Type type :
         llvm::concat<const Type>(SmallVector<Type>(op->getOperandTypes()),
                                  SmallVector<Type>(op->getResultTypes()))) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor || !tensor.hasStaticShape() ||
          !hasMoreElements(tensor.getShape(), maxElements))
        continue;
      op.emitRemark() << "is not evaluated at compile time: expected at most "
                      << maxElements << " elements (max-elements), but got "
                      << tensor;
      return failure();
    }
    return success();
  }

  int64_t maxElements;
};

struct FoldConstantsPass : public impl::FoldConstantsBase<FoldConstantsPass> {
  using FoldConstantsBase::FoldConstantsBase;

  LogicalResult initialize(MLIRContext *context) override {
    return verifyCountOption(context, "max-elements", maxElements);
  }

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateFoldConstantPatterns(patterns, maxElements);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace

void populateFoldConstantPatterns(RewritePatternSet &patterns,
                                  int64_t maxElements) {
  Moves::addTo<FoldConstantOp>(patterns, maxElements);
  patterns.add<FoldConstantOp<AmaxOp>, FoldConstantOp<GlobalScaleOp>,
               FoldConstantOp<HadamardOp>, FoldConstantOp<ScaleSweepOp>,
               FoldConstantOp<QuantizeOp>, FoldConstantOp<ExpandScaleOp>,
               FoldConstantOp<SwizzleOp>, FoldConstantOp<PrepackOp>>(
      patterns.getContext(), maxElements);
}

} // namespace blockscale
