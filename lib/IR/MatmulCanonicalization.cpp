//===- MatmulCanonicalization.cpp - Normal form of products ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConstantNumber.h"
#include "UnitGlobalScale.h"
#include "blockscale/IR/ProductNumber.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace blockscale;

template <typename OpTy>
static bool hasF32Result(OpTy op) {
  return op.getResult().getType().getElementType().isF32();
}

/// Whether the bias is added to the rounded product where there is a global
/// scale, and to the sum before its rounding where there is none.
template <typename OpTy>
static bool globalScaleMovesBias(OpTy op) {
  return op.getGlobalScaling() == GlobalScaling::AfterRounding &&
         op.getBias() && !hasF32Result(op);
}

namespace {

/// A place of the global scales that is dropped: both places give the same
/// bytes where there is no global scale, and where rounding to the result type
/// changes nothing.
///
///   blockscale.scaled_mm .. global_scaling after_rounding .. ->
///   tensor<8x8xf32>
/// becomes
///   blockscale.scaled_mm .. -> tensor<8x8xf32>
///
/// and `before_rounding` is dropped everywhere, as it is the default. Elements
/// that no global scale multiplies are what they are by default, too.
template <typename OpTy>
struct DropGlobalScaling : public OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    std::optional<GlobalScaling> place = op.getGlobalScaling();
    if (!place)
      return rewriter.notifyMatchFailure(op, "the place is the default");
    bool hasGlobal = op.getGlobalScaleA() || op.getGlobalScaleB();
    if (*place == GlobalScaling::AfterRounding && !hasF32Result(op) &&
        hasGlobal)
      return rewriter.notifyMatchFailure(op, "a rounded sum is scaled");
    if (*place == GlobalScaling::InElements && hasGlobal)
      return rewriter.notifyMatchFailure(op, "elements are scaled");
    rewriter.modifyOpInPlace(op, [&] { op.removeGlobalScalingAttr(); });
    return success();
  }
};

/// The default order is dropped.
///
///   blockscale.scaled_mm .. order free ..
/// becomes
///   blockscale.scaled_mm ..
template <typename OpTy>
struct DropFreeOrder : public OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (op.getOrder() != SumOrder::Free)
      return rewriter.notifyMatchFailure(op, "no order, or that of a chain");
    rewriter.modifyOpInPlace(op, [&] { op.removeOrderAttr(); });
    return success();
  }
};

/// Two constant global scales that are one: a product multiplies them with each
/// other before it multiplies the sum.
///
///   blockscale.scaled_mm .. global_scale_a(%two : f32) global_scale_b(%three :
///   f32)
/// becomes
///   blockscale.scaled_mm .. global_scale_b(%six : f32)
///
/// unless the number is not one that a global scale may be.
template <typename OpTy>
struct MergeConstantGlobals : public OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    std::optional<APFloat> a = getConstantNumber(op.getGlobalScaleA());
    std::optional<APFloat> b = getConstantNumber(op.getGlobalScaleB());
    if (!a || !b || hasSeveral(op.getGlobalScaleA()) ||
        hasSeveral(op.getGlobalScaleB()))
      return rewriter.notifyMatchFailure(op, "not two constant numbers");
    a->multiply(*b, APFloat::rmNearestTiesToEven);
    if (!isGlobalScale(*a))
      return rewriter.notifyMatchFailure(
          op, "the product is not positive and finite");
    Type type = op.getGlobalScaleB().getType();
    TypedAttr value = FloatAttr::get(rewriter.getF32Type(), *a);
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      value = DenseElementsAttr::get(tensor, value);
    Value merged = arith::ConstantOp::create(rewriter, op.getLoc(), value);
    rewriter.modifyOpInPlace(op, [&] {
      op.getGlobalScaleAMutable().clear();
      op.getGlobalScaleBMutable().assign(merged);
    });
    return success();
  }

private:
  /// Whether there is a global scale for each matrix.
  static bool hasSeveral(Value global) {
    auto type = dyn_cast<RankedTensorType>(global.getType());
    return type && type.getRank() != 0;
  }
};

/// A number behind a product that is its global scale (ProductNumber.h).
///
///   %y = blockscale.scaled_mm .. -> tensor<8x8xf32>
///   %n = tensor.splat %g : tensor<8x8xf32>
///   %z = arith.mulf %y, %n : tensor<8x8xf32>
/// becomes
///   %z = blockscale.scaled_mm .. global_scale_b(%g : f32) -> tensor<8x8xf32>
///
/// and so behind a bf16 or f16 product, which is scaled after_rounding.
template <typename OpTy>
struct MergeNumber : public OpRewritePattern<arith::MulFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::MulFOp op,
                                PatternRewriter &rewriter) const override {
    auto product = op.getLhs().getDefiningOp<OpTy>();
    Value number = op.getRhs();
    if (!product) {
      product = op.getRhs().template getDefiningOp<OpTy>();
      number = op.getLhs();
    }
    if (!product)
      return rewriter.notifyMatchFailure(op, "no product is multiplied");
    if (!product->hasOneUse())
      return rewriter.notifyMatchFailure(op, "the product has other uses");
    if (op->template getParentOfType<KernelOp>())
      return rewriter.notifyMatchFailure(op, "a kernel's operands are fixed");
    auto splat = number.getDefiningOp<tensor::SplatOp>();
    std::optional<APFloat> constant = getConstantNumber(number);
    if (!splat && !constant)
      return rewriter.notifyMatchFailure(op, "the factors are not one number");
    auto interface = cast<ProductOpInterface>(product.getOperation());
    std::optional<NumberObstacle> obstacle =
        findProductNumberObstacle(interface);
    if (!obstacle)
      obstacle = findNumberObstacle(interface, constant,
                                    splat ? splat.getInput().getType()
                                          : number.getType());
    if (obstacle)
      return rewriter.notifyMatchFailure(op, [&](Diagnostic &diag) {
        diag << "(" << obstacle->clause << "): expected " << obstacle->expected
             << ", but got " << obstacle->found;
      });
    Value global = createGlobal(rewriter, op.getLoc(), splat, constant);
    auto scaled = cast<OpTy>(rewriter.clone(*product));
    scaled.getGlobalScaleBMutable().assign(global);
    if (hasF32Result(scaled))
      scaled.removeGlobalScalingAttr();
    else
      scaled.setGlobalScaling(GlobalScaling::AfterRounding);
    rewriter.replaceOp(op, scaled.getResult());
    rewriter.eraseOp(product);
    return success();
  }

private:
  /// The number as f32, which holds those of bf16 and f16.
  static Value createGlobal(PatternRewriter &rewriter, Location loc,
                            tensor::SplatOp splat,
                            const std::optional<APFloat> &constant) {
    Type f32 = rewriter.getF32Type();
    if (constant)
      return arith::ConstantOp::create(
          rewriter, loc,
          rewriter.getF32FloatAttr(
              static_cast<float>(constant->convertToDouble())));
    Value number = splat.getInput();
    return number.getType().isF32()
               ? number
               : arith::ExtFOp::create(rewriter, loc, f32, number).getResult();
  }
};

} // namespace

/// Why the only global scale of a product stays, though it is 1.0.
template <typename OpTy>
static std::optional<StringRef> whyLastGlobalScaleStays(OpTy op) {
  bool isLast = !op.getGlobalScaleA() || !op.getGlobalScaleB();
  if (isLast && globalScaleMovesBias(op))
    return "without it the bias would be added before the rounding";
  return std::nullopt;
}

template <typename OpTy>
static void addPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<DropUnitGlobalScale<OpTy>>(
      context, &OpTy::getGlobalScaleAMutable, whyLastGlobalScaleStays<OpTy>);
  patterns.add<DropUnitGlobalScale<OpTy>>(
      context, &OpTy::getGlobalScaleBMutable, whyLastGlobalScaleStays<OpTy>);
  patterns.add<DropGlobalScaling<OpTy>, DropFreeOrder<OpTy>,
               MergeConstantGlobals<OpTy>, MergeNumber<OpTy>>(context);
}

void ScaledMMOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                             MLIRContext *context) {
  addPatterns<ScaledMMOp>(patterns, context);
}

void ScaledGroupedMMOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                    MLIRContext *context) {
  addPatterns<ScaledGroupedMMOp>(patterns, context);
}
