//===- FoldProductScales.cpp - Scales and biases behind products ----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Elementwise/ElementwiseStep.h"
#include "blockscale/Analysis/ElementwiseBody.h"
#include "blockscale/Analysis/Fusion/FusionLegality.h"
#include "blockscale/Analysis/OnlyUser.h"
#include "blockscale/IR/ProductNumber.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Transforms/ProductScales.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/ScopedPrinter.h"

using namespace mlir;

namespace blockscale {
namespace {

/// A product, and the reshape of it that a step takes, if there is one.
struct ReshapedProduct {
  ProductOpInterface product;
  Operation *reshape = nullptr;

  Type getType() { return product.getResult().getType().getElementType(); }
};

/// The number of a step behind a product.
struct ProductNumber {
  /// As in StepOperand, or the reciprocal of a constant divisor.
  StepOperand operand;
  /// Whether it scales the product after its rounding to the result type.
  bool scalesAfterRounding;
};

} // namespace

static ReshapedProduct findProduct(Value value) {
  ReshapedProduct found;
  Operation *op = value.getDefiningOp();
  if (isa_and_present<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op)) {
    found.reshape = op;
    op = op->getOperand(0).getDefiningOp();
  }
  if (isa_and_present<ScaledMMOp, ScaledGroupedMMOp>(op))
    found.product = cast<ProductOpInterface>(op);
  return found;
}

/// The product of operands with scales that a step takes.
static ReshapedProduct findProduct(const StepOperand &operand) {
  if (operand.spread != StepOperand::Spread::Elements)
    return {};
  ReshapedProduct found = findProduct(operand.value);
  return found.product && found.product.getScaleElementType()
             ? found
             : ReshapedProduct();
}

/// Whether others than `user` take the product, or the reshape of it.
static bool hasOtherUses(ReshapedProduct found, Operation *user) {
  Operation *first = found.reshape ? found.reshape : user;
  return getOnlyUser(found.product.getResult()) != first ||
         (found.reshape && getOnlyUser(found.reshape->getResult(0)) != user);
}

/// The tensor of rank 1 that a row is, or is a reshape of; null of others.
static Value getVector(Value row) {
  if (auto expand = row.getDefiningOp<tensor::ExpandShapeOp>())
    row = expand.getSrc();
  return cast<RankedTensorType>(row.getType()).getRank() == 1 ? row : Value();
}

/// Whether `value` is a number of `type`.
static bool isExactIn(const llvm::APFloat &value, Type type) {
  llvm::APFloat converted = value;
  bool isRounded = false;
  converted.convert(cast<FloatType>(type).getFloatSemantics(),
                    llvm::APFloat::rmNearestTiesToEven, &isRounded);
  return !isRounded;
}

//===----------------------------------------------------------------------===//
// Clauses
//===----------------------------------------------------------------------===//

static std::optional<FusionObstacle>
toFusionObstacle(std::optional<NumberObstacle> obstacle) {
  if (!obstacle)
    return std::nullopt;
  return FusionObstacle{obstacle->clause, std::move(obstacle->expected),
                        std::move(obstacle->found)};
}

/// scale_c1, scale_c2 and scale_c6.
static std::optional<FusionObstacle> findProductObstacle(ReshapedProduct found,
                                                         Operation *user) {
  if (auto obstacle =
          toFusionObstacle(findProductNumberObstacle(found.product)))
    return obstacle;
  if (hasOtherUses(found, user))
    return FusionObstacle{"scale_c6", "a product without other uses",
                          "another use"};
  return std::nullopt;
}

/// scale_c3.
static std::optional<FusionObstacle>
findTypeObstacle(ReshapedProduct found, const ElementwiseStep &step,
                 ProductNumber &number) {
  Type type = found.getType();
  number.scalesAfterRounding = !type.isF32();
  if (!isa<Float32Type, BFloat16Type, Float16Type>(step.type))
    return FusionObstacle{"scale_c3", "a result of f32, bf16 or f16",
                          llvm::to_string(step.type)};
  if (type.isF32() && step.isWide)
    return std::nullopt;
  if (type != step.type)
    return FusionObstacle{"scale_c3",
                          "a result of " + llvm::to_string(type) +
                              ", which the product was rounded to",
                          llvm::to_string(step.type)};
  const StepOperand &operand = number.operand;
  if (operand.constant ? isExactIn(operand.constant.getValue(), type)
                       : operand.type == type)
    return std::nullopt;
  return FusionObstacle{"scale_c3", "a number of " + llvm::to_string(type),
                        operand.constant ? llvm::to_string(operand.constant)
                                         : llvm::to_string(operand.type)};
}

/// scale_c4.
static std::optional<FusionObstacle>
findConstantObstacle(ReshapedProduct found, const StepOperand &operand) {
  if (!operand.constant)
    return toFusionObstacle(findNumberObstacle(found.product, std::nullopt,
                                               operand.value.getType()));
  return toFusionObstacle(findNumberObstacle(
      found.product, operand.constant.getValue(), operand.constant.getType()));
}

/// scale_c5, which makes a divisor its reciprocal.
static std::optional<FusionObstacle> invertDivisor(StepOperand &operand) {
  FusionObstacle obstacle{"scale_c5",
                          "a divisor that is a constant power of two with a "
                          "reciprocal in f32",
                          operand.constant ? llvm::to_string(operand.constant)
                          : operand.value
                              ? llvm::to_string(operand.value.getType())
                              : ""};
  if (!operand.constant)
    return obstacle;
  // In f64, where the reciprocal of no power of two of f32 is subnormal.
  bool isRounded = false;
  llvm::APFloat inverse(0.0), divisor = operand.constant.getValue();
  divisor.convert(llvm::APFloat::IEEEdouble(),
                  llvm::APFloat::rmNearestTiesToEven, &isRounded);
  if (!divisor.getExactInverse(&inverse))
    return obstacle;
  inverse.convert(llvm::APFloat::IEEEsingle(),
                  llvm::APFloat::rmNearestTiesToEven, &isRounded);
  if (isRounded)
    return obstacle;
  operand.constant =
      FloatAttr::get(Float32Type::get(operand.constant.getContext()), inverse);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// The rewrite
//===----------------------------------------------------------------------===//

/// A number as a global scale: f32, or a tensor of one without dimensions. A
/// product that is scaled after its rounding rounds the number to its type, so
/// that it takes one from before that rounding.
static Value createGlobal(PatternRewriter &rewriter, Location loc,
                          const ProductNumber &number) {
  const StepOperand &operand = number.operand;
  Type f32 = rewriter.getF32Type();
  if (operand.constant) {
    double value = operand.constant.getValueAsDouble();
    return arith::ConstantOp::create(rewriter, loc,
                                     rewriter.getF32FloatAttr(value));
  }
  Value value = operand.value;
  if (Value wide = number.scalesAfterRounding ? getUnrounded(value) : Value())
    value = wide;
  if (auto type = dyn_cast<RankedTensorType>(value.getType());
      type && type.getRank() != 0)
    value = tensor::CollapseShapeOp::create(rewriter, loc, value,
                                            ArrayRef<ReassociationIndices>());
  Type element = getElementTypeOrSelf(value);
  if (element.isF32())
    return value;
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return arith::ExtFOp::create(rewriter, loc,
                               type ? Type(type.clone(f32)) : f32, value);
}

/// The product with a result of `element`, and what `change` adds to it, in the
/// place of `op`, which takes it through the reshape.
static void replaceWithProduct(PatternRewriter &rewriter, Operation *op,
                               ReshapedProduct found, Type element,
                               function_ref<void(Operation *product)> change) {
  Operation *product = rewriter.clone(*found.product.getOperation());
  change(product);
  Value result = product->getResult(0);
  result.setType(cast<RankedTensorType>(result.getType()).clone(element));
  if (found.reshape) {
    IRMapping mapping;
    mapping.map(found.reshape->getOperand(0), result);
    Operation *reshape = rewriter.clone(*found.reshape, mapping);
    result = reshape->getResult(0);
    result.setType(cast<RankedTensorType>(result.getType()).clone(element));
  }
  rewriter.replaceOp(op, result);
}

/// The factors of `global`, one number, if each may be a global scale; null if
/// it is no product of such.
static std::pair<Value, Value> getGlobalFactors(Value global) {
  auto type = dyn_cast<RankedTensorType>(global.getType());
  auto [a, b] = getFactors(global);
  if ((type && type.getRank() != 0) || !a)
    return {};
  for (Value factor : {a, b})
    if (auto constant =
            dyn_cast_if_present<FloatAttr>(getUniformConstant(factor));
        constant && !isGlobalScale(constant.getValue()))
      return {};
  return {a, b};
}

/// Sets the global scales; that of A may be null.
template <typename OpTy>
static void assignGlobals(OpTy op, Value a, Value b) {
  op.getGlobalScaleAMutable().assign(a ? ValueRange(a) : ValueRange());
  op.getGlobalScaleBMutable().assign(b);
}

template <typename OpTy>
static void setGlobal(OpTy op, Value global, bool scalesAfterRounding) {
  auto [a, b] = getGlobalFactors(global);
  assignGlobals(op, a, a ? b : global);
  if (scalesAfterRounding)
    op.setGlobalScaling(GlobalScaling::AfterRounding);
  else
    op.removeGlobalScalingAttr();
}

namespace {

/// %y = blockscale.scaled_mm %a, %b .. -> tensor<MxNxf32>
/// %z = linalg.generic .. ins(%y, %g : tensor<MxNxf32>, tensor<f32>) {
///        arith.mulf
///      }
///   ->  %z = blockscale.scaled_mm %a, %b .. global_scale_b(%g : tensor<f32>)
///           -> tensor<MxNxf32>
///
/// and so behind an f32 product whose scaled values are rounded, which becomes
/// a product of the narrower type, and behind a bf16 or f16 product, which is
/// scaled after_rounding.
struct FoldNumber : public RewritePattern {
  explicit FoldNumber(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    std::optional<ElementwiseStep> step = getElementwiseStep(op);
    if (!step || step->kind == ElementwiseStep::Kind::Add)
      return rewriter.notifyMatchFailure(op, "neither multiplies nor divides");
    bool divides = step->kind == ElementwiseStep::Kind::Divide;
    ReshapedProduct found = findProduct(step->lhs);
    ProductNumber number{step->rhs, false};
    if (!found.product && !divides) {
      found = findProduct(step->rhs);
      number.operand = step->lhs;
    }
    if (!found.product || number.operand.spread != StepOperand::Spread::Single)
      return rewriter.notifyMatchFailure(op, "no product beside a number");
    if (op->getParentOfType<KernelOp>())
      return rewriter.notifyMatchFailure(op, "a kernel's operands are fixed");
    if (number.operand.value &&
        getElementTypeOrSelf(number.operand.value) != number.operand.type)
      return rewriter.notifyMatchFailure(op, "the number is converted");
    if (auto obstacle = findObstacle(op, found, *step, number)) {
      op->emitRemark("is not a global scale of the product before it " +
                     llvm::to_string(*obstacle));
      return rewriter.notifyMatchFailure(op, "a clause is not met");
    }
    Value global = createGlobal(rewriter, op->getLoc(), number);
    replaceWithProduct(
        rewriter, op, found, step->type, [&](Operation *product) {
          if (auto mm = dyn_cast<ScaledMMOp>(product))
            return setGlobal(mm, global, number.scalesAfterRounding);
          setGlobal(cast<ScaledGroupedMMOp>(product), global,
                    number.scalesAfterRounding);
        });
    return success();
  }

private:
  static std::optional<FusionObstacle> findObstacle(Operation *op,
                                                    ReshapedProduct found,
                                                    const ElementwiseStep &step,
                                                    ProductNumber &number) {
    if (auto obstacle = findProductObstacle(found, op))
      return obstacle;
    if (step.kind == ElementwiseStep::Kind::Divide)
      if (auto obstacle = invertDivisor(number.operand))
        return obstacle;
    if (auto obstacle = findTypeObstacle(found, step, number))
      return obstacle;
    return findConstantObstacle(found, number.operand);
  }
};

/// %y = blockscale.scaled_mm .. global_scaling after_rounding ..
///          -> tensor<MxNxbf16>
/// %z = linalg.generic .. ins(%y, %bias : tensor<MxNxbf16>, tensor<Nxbf16>) {
///        arith.addf
///      }
///   ->  %z = blockscale.scaled_mm .. global_scaling after_rounding
///           bias(%bias : tensor<Nxbf16>) .. -> tensor<MxNxbf16>
///
/// Such a product adds its bias to what was rounded. Others add it before.
struct FoldBias : public RewritePattern {
  explicit FoldBias(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    std::optional<ElementwiseStep> step = getElementwiseStep(op);
    if (!step || step->kind != ElementwiseStep::Kind::Add)
      return rewriter.notifyMatchFailure(op, "adds nothing");
    ReshapedProduct found = findProduct(step->lhs);
    StepOperand bias = step->rhs;
    if (!found.product) {
      found = findProduct(step->rhs);
      bias = step->lhs;
    }
    auto mm = dyn_cast_if_present<ScaledMMOp>(
        found.product ? found.product.getOperation() : nullptr);
    if (!mm || bias.spread != StepOperand::Spread::Columns)
      return rewriter.notifyMatchFailure(op, "no product beside a row");
    if (op->getParentOfType<KernelOp>())
      return rewriter.notifyMatchFailure(op, "a kernel's operands are fixed");
    if (mm.getGlobalScaling() != GlobalScaling::AfterRounding || mm.getBias() ||
        (!mm.getGlobalScaleA() && !mm.getGlobalScaleB()))
      return rewriter.notifyMatchFailure(
          op, "the product adds a bias before it is rounded");
    Value row = getVector(bias.value);
    if (!row)
      return rewriter.notifyMatchFailure(op, "a row of several dimensions");
    Type type = found.getType();
    if (type != step->type || (!step->isWide && bias.type != type) ||
        !isa<Float32Type, BFloat16Type, Float16Type>(bias.type))
      return rewriter.notifyMatchFailure(op, "another rounding");
    if (hasOtherUses(found, op))
      return rewriter.notifyMatchFailure(op, "the product has other uses");
    // The columns of a reshaped product are its own.
    auto shape = mm.getResult().getType().getShape();
    auto result = cast<RankedTensorType>(op->getResult(0).getType());
    if (found.reshape && (ShapedType::isDynamic(shape.back()) ||
                          shape.back() != result.getShape().back()))
      return rewriter.notifyMatchFailure(op, "columns are reshaped");
    replaceWithProduct(rewriter, op, found, type, [&](Operation *product) {
      cast<ScaledMMOp>(product).getBiasMutable().assign(row);
    });
    return success();
  }
};

/// %g = arith.mulf %ga, %gb : tensor<f32>
/// %y = blockscale.scaled_mm .. global_scale_b(%g : tensor<f32>)
///   ->  %y = blockscale.scaled_mm .. global_scale_a(%ga : tensor<f32>)
///           global_scale_b(%gb : tensor<f32>)
///
/// A product multiplies the two before it multiplies the sum.
template <typename OpTy>
struct SplitGlobal : public OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (bool(op.getGlobalScaleA()) == bool(op.getGlobalScaleB()))
      return rewriter.notifyMatchFailure(op, "no or two global scales");
    if (op.getGlobalScaling() == GlobalScaling::InElements)
      return rewriter.notifyMatchFailure(op, "elements are scaled");
    Value merged =
        op.getGlobalScaleA() ? op.getGlobalScaleA() : op.getGlobalScaleB();
    std::pair<Value, Value> factors = getGlobalFactors(merged);
    if (!factors.first)
      return rewriter.notifyMatchFailure(op, "no product of two numbers");
    rewriter.modifyOpInPlace(
        op, [&] { assignGlobals(op, factors.first, factors.second); });
    return success();
  }
};

/// A product of plain operands that is rounded is one of the narrower type:
///
/// %y = blockscale.scaled_mm %a, %b scales(none, none) .. -> tensor<MxNxf32>
/// %z = arith.truncf %y : tensor<MxNxf32> to tensor<MxNxbf16>
///   ->  %z = blockscale.scaled_mm %a, %b scales(none, none) ..
///           -> tensor<MxNxbf16>
///
/// and so behind linalg.generic of the same, and of a product whose elements a
/// global scale multiplies, not its sums.
struct RoundSums : public RewritePattern {
  explicit RoundSums(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    auto sums =
        dyn_cast_if_present<TypedValue<RankedTensorType>>(getRounded(op));
    if (!sums)
      return rewriter.notifyMatchFailure(op, "not a rounding of elements");
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    if (!isa<BFloat16Type, Float16Type>(type.getElementType()) ||
        sums.getType() != type.clone(rewriter.getF32Type()))
      return rewriter.notifyMatchFailure(op, "not of f32 to bf16 or f16");
    ReshapedProduct found = findProduct(sums);
    if (!found.product || (found.product.getScaleElementType() &&
                           !found.product.scalesElements()))
      return rewriter.notifyMatchFailure(
          op, "no product without scales, or with a global one of elements");
    if (hasOtherUses(found, op))
      return rewriter.notifyMatchFailure(op, "the sums have other uses");
    if (op->getParentOfType<KernelOp>())
      return rewriter.notifyMatchFailure(op, "a kernel's operands are fixed");
    replaceWithProduct(rewriter, op, found, type.getElementType(),
                       [](Operation *) {});
    return success();
  }

private:
  /// The tensor of which `op` rounds each element, and does no more; null of
  /// other ops.
  static Value getRounded(Operation *op) {
    if (auto round = dyn_cast<arith::TruncFOp>(op))
      return round.getRoundingmodeAttr() ? Value() : round.getIn();
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (!generic || !generic.hasPureTensorSemantics())
      return {};
    Operation *inner = getUnaryOp(generic);
    return inner && getRounded(inner) ? generic.getDpsInputs().front()
                                      : Value();
  }
};

} // namespace

void populateFoldProductScalePatterns(RewritePatternSet &patterns) {
  patterns.add<FoldNumber, FoldBias, SplitGlobal<ScaledMMOp>,
               SplitGlobal<ScaledGroupedMMOp>, RoundSums>(
      patterns.getContext());
}

} // namespace blockscale
