//===- LowerNarrowFloats.cpp - Arithmetic on f4, f6 and f8 ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emission/NarrowCodec.h"
#include "NarrowTensors.h"
#include "blockscale/Analysis/ElementwiseBody.h"
#include "blockscale/Conversion/Passes.h"
#include "blockscale/IR/BlockScaleDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/DialectConversion.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace blockscale {

using emit::withElement;

#define GEN_PASS_DEF_LOWERNARROWFLOATS
#include "blockscale/Conversion/Passes.h.inc"

//===----------------------------------------------------------------------===//
// What is lowered
//===----------------------------------------------------------------------===//

/// Whether `type` or its elements are floats below 16 bits.
static bool isBelow16Bits(Type type) {
  auto element = dyn_cast<FloatType>(getElementTypeOrSelf(type));
  return element && element.getWidth() < 16;
}

static bool isNarrow(Type type) {
  return emit::isNarrowFloat(getElementTypeOrSelf(type));
}

static bool hasType(Operation *op, function_ref<bool(Type)> predicate) {
  return llvm::any_of(op->getOperandTypes(), predicate) ||
         llvm::any_of(op->getResultTypes(), predicate);
}

/// Whether `op` computes with numbers of its operands or results, where others
/// move them or their bits.
static bool computes(Operation *op) {
  if (isa<arith::ConstantOp, arith::SelectOp, arith::BitcastOp>(op))
    return false;
  return isa_and_present<arith::ArithDialect, math::MathDialect>(
             op->getDialect()) ||
         isa<vector::ReductionOp, vector::MultiDimReductionOp,
             vector::ContractionOp, vector::OuterProductOp, vector::FMAOp,
             vector::ScanOp>(op);
}

/// Calls `visit` with each op below `root` that is in no kernel.
static void walkOutsideKernels(Operation *root,
                               function_ref<void(Operation *)> visit) {
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<KernelOp>(op))
      return WalkResult::skip();
    visit(op);
    return WalkResult::advance();
  });
}

/// How a cast rounds.
static numerics::RoundingDirection
getDirection(std::optional<arith::RoundingMode> mode) {
  using numerics::RoundingDirection;
  switch (mode.value_or(arith::RoundingMode::to_nearest_even)) {
  case arith::RoundingMode::to_nearest_even:
    return RoundingDirection::Nearest;
  case arith::RoundingMode::to_nearest_away:
    return RoundingDirection::NearestAway;
  case arith::RoundingMode::toward_zero:
    return RoundingDirection::TowardZero;
  case arith::RoundingMode::downward:
    return RoundingDirection::Down;
  case arith::RoundingMode::upward:
    return RoundingDirection::Up;
  }
  llvm_unreachable("not a rounding mode");
}

/// Whether `op` casts to another type than narrow ones in a direction, which no
/// target does.
static bool roundsInDirection(Operation *op) {
  auto cast = dyn_cast<arith::TruncFOp>(op);
  return cast && !isNarrow(cast.getType()) &&
         !isNearest(cast.getRoundingmode());
}

/// Whether `op` is one that no target has, by its types or by how it rounds.
static bool isLowered(Operation *op) {
  return hasType(op, isNarrow) || roundsInDirection(op);
}

/// Refuses what has no definition here.
static LogicalResult verifyNarrowOp(Operation *op) {
  auto find = [&](function_ref<bool(Type)> predicate) {
    Type found;
    (void)hasType(op, [&](Type type) {
      if (!found && predicate(type))
        found = type;
      return bool(found);
    });
    return found;
  };
  if (Type type = find(
          [](Type type) { return isBelow16Bits(type) && !isNarrow(type); }))
    return op->emitOpError()
           << "expected narrow floats of f4E2M1FN, f6E2M3FN, f6E3M2FN, "
              "f8E4M3FN, f8E5M2 or f8E8M0FNU, but got "
           << type;
  if (isa<vector::VectorDialect>(op->getDialect()))
    return op->emitOpError()
           << "expected sums and products of vectors of f16, bf16, f32 or f64, "
              "but got "
           << find(isNarrow);
  if (Type type = find([](Type type) {
        Type element = getElementTypeOrSelf(type);
        return isa<FloatType>(element) &&
               !(isNarrow(element) || element.isBF16() || element.isF16() ||
                 element.isF32() || element.isF64());
      }))
    return op->emitOpError() << "expected casts of narrow floats from and to "
                                "bf16, f16, f32 or f64, but got "
                             << type;
  if (Type type = find([](Type type) {
        auto element = dyn_cast<IntegerType>(getElementTypeOrSelf(type));
        return element && element.getWidth() > 64;
      }))
    return op->emitOpError() << "expected casts of narrow floats from and to "
                                "integers of at most 64 bits, but got "
                             << type;
  if (Type type = find([](Type type) {
        auto vector = dyn_cast<VectorType>(type);
        return vector && vector.isScalable();
      }))
    return op->emitOpError()
           << "expected vectors of narrow floats of a fixed size, but got "
           << type;
  return success();
}

//===----------------------------------------------------------------------===//
// Casts with a scale
//===----------------------------------------------------------------------===//

/// A cast between floats of any widths, where `mode` says how it rounds.
static Value castTo(ImplicitLocOpBuilder &b, Value x, Type element,
                    arith::RoundingModeAttr mode = {}) {
  Type from = getElementTypeOrSelf(x.getType());
  Type to = withElement(x.getType(), element);
  if (from == element)
    return x;
  int difference =
      int(element.getIntOrFloatBitWidth()) - int(from.getIntOrFloatBitWidth());
  if (difference > 0)
    return arith::ExtFOp::create(b, to, x);
  if (difference < 0)
    return arith::TruncFOp::create(b, to, x, mode, arith::FastMathFlagsAttr());
  return castTo(b, castTo(b, x, b.getF32Type()), element, mode);
}

/// %y = arith.scaling_extf %x, %s : f4E2M1FN, f32 to bf16
///   ->  %p = arith.truncf %s : f32 to f8E8M0FNU
///       %y = arith.mulf (extf %x), (extf %p) : bf16
///
/// and arith.scaling_truncf divides, in the type of %x, before it truncates.
/// This is their definition in MLIR's documentation.
static void expandScaling(Operation *op) {
  ImplicitLocOpBuilder b(op->getLoc(), op);
  Value x = op->getOperand(0), scale = op->getOperand(1);
  Type result = getElementTypeOrSelf(op->getResult(0).getType());
  bool isExtension = isa<arith::ScalingExtFOp>(op);
  Type computed = isExtension ? result : getElementTypeOrSelf(x.getType());
  scale = castTo(b, scale, b.getType<Float8E8M0FNUType>());
  scale = castTo(b, scale, computed);
  x = castTo(b, x, computed);
  Value y = isExtension ? Value(arith::MulFOp::create(b, x, scale))
                        : Value(arith::DivFOp::create(b, x, scale));
  arith::RoundingModeAttr mode;
  if (auto cast = dyn_cast<arith::ScalingTruncFOp>(op))
    mode = cast.getRoundingmodeAttr();
  op->getResult(0).replaceAllUsesWith(castTo(b, y, result, mode));
  op->erase();
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

namespace {

/// Computes one op of narrow floats, on scalars or vectors, in f32.
class NarrowOp {
public:
  explicit NarrowOp(Operation *op) : op(op), b(op->getLoc(), op) {}

  void lower();

private:
  /// `compute` of a scalar or of all lanes of a vector in one dimension.
  Value onLanes(Value x, function_ref<Value(Value)> compute);

  /// A float of any type as an f32 that has its value, or rounds as it does.
  Value widen(Value x);
  /// An f32 as a float of `element`.
  Value round(Value x, Type element,
              std::optional<arith::RoundingMode> mode = std::nullopt);

  Value lowerFromInteger();
  Value lowerInF32();

  Operation *op;
  ImplicitLocOpBuilder b;
};

} // namespace

Value NarrowOp::onLanes(Value x, function_ref<Value(Value)> compute) {
  auto type = dyn_cast<VectorType>(x.getType());
  if (!type || type.getRank() == 1)
    return compute(x);
  auto flat = VectorType::get(type.getNumElements(), type.getElementType());
  Value result = compute(vector::ShapeCastOp::create(b, flat, x));
  return vector::ShapeCastOp::create(
      b, type.clone(getElementTypeOrSelf(result.getType())), result);
}

Value NarrowOp::widen(Value x) {
  Type element = getElementTypeOrSelf(x.getType());
  if (element.isF32())
    return x;
  if (emit::isNarrowFloat(element))
    return onLanes(x, [&](Value y) { return emit::emitDecodeNarrow(b, y); });
  if (element.isF64())
    return onLanes(x, [&](Value y) { return emit::emitRoundToOdd(b, y); });
  return arith::ExtFOp::create(b, withElement(x.getType(), b.getF32Type()), x);
}

Value NarrowOp::round(Value x, Type element,
                      std::optional<arith::RoundingMode> mode) {
  if (emit::isNarrowFloat(element))
    return onLanes(x, [&](Value y) {
      return emit::emitEncodeNarrow(b, y, element, getDirection(mode));
    });
  return castTo(b, x, element);
}

/// arith.sitofp %x : i32 to f8E4M3FN
///   ->  the code nearest to arith.sitofp %x : i32 to f32
///
/// An f32 has integers of 24 bits. Larger ones are beyond the largest number of
/// all narrow formats but f8E8M0FNU, to which they go through f64, with no more
/// bits than that has. No bit that tells which power of two is nearer is left
/// out.
Value NarrowOp::lowerFromInteger() {
  constexpr unsigned kF32Bits = 24, kF64Bits = 53;
  constexpr int64_t kLarge = int64_t(1) << 40, kHighBits = ~int64_t(0xFFFFFFFF);
  Value x = op->getOperand(0);
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  unsigned width = getElementTypeOrSelf(x.getType()).getIntOrFloatBitWidth();
  bool isExact = width <= kF32Bits || !isa<Float8E8M0FNUType>(element);
  if (!isExact && width > kF64Bits) {
    Type type = x.getType();
    auto constant = [&](int64_t value) -> Value {
      TypedAttr attr = b.getIntegerAttr(getElementTypeOrSelf(type), value);
      if (auto shaped = dyn_cast<ShapedType>(type))
        attr = DenseElementsAttr::get(shaped, Attribute(attr));
      return arith::ConstantOp::create(b, attr);
    };
    auto predicate = isa<arith::SIToFPOp>(op) ? arith::CmpIPredicate::sge
                                              : arith::CmpIPredicate::uge;
    Value isLarge = arith::CmpIOp::create(b, predicate, x, constant(kLarge));
    Value high = arith::AndIOp::create(b, x, constant(kHighBits));
    x = arith::SelectOp::create(b, isLarge, high, x);
  }
  Type wide = isExact ? b.getF32Type() : Type(b.getF64Type());
  Operation *number = b.create(op->getLoc(), op->getName().getIdentifier(), x,
                               {withElement(x.getType(), wide)});
  return round(widen(number->getResult(0)), element);
}

/// arith.addf %x, %y : f8E4M3FN
///   ->  the code nearest to arith.addf (f32 of %x), (f32 of %y) : f32
Value NarrowOp::lowerInF32() {
  auto wide = [&](Type type) {
    return isNarrow(type) ? withElement(type, b.getF32Type()) : type;
  };
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(isNarrow(operand.getType()) ? widen(operand) : operand);
  SmallVector<Type> types = llvm::map_to_vector(op->getResultTypes(), wide);
  SmallVector<NamedAttribute> attributes;
  for (NamedAttribute attribute : op->getAttrs())
    if (attribute.getName() != "fastmath")
      attributes.push_back(attribute);
  Operation *computed = b.create(op->getLoc(), op->getName().getIdentifier(),
                                 operands, types, attributes);
  Type result = op->getResult(0).getType();
  Value value = computed->getResult(0);
  return isNarrow(result) ? round(value, getElementTypeOrSelf(result)) : value;
}

void NarrowOp::lower() {
  Type result = getElementTypeOrSelf(op->getResult(0).getType());
  Value value;
  if (auto cast = dyn_cast<arith::TruncFOp>(op);
      cast && roundsInDirection(cast))
    value = emit::emitRoundInDirection(b, cast.getIn(), result,
                                       getDirection(cast.getRoundingmode()));
  else if (cast)
    value = round(widen(cast.getIn()), result, cast.getRoundingmode());
  else if (isa<arith::ExtFOp>(op))
    value = round(widen(op->getOperand(0)), result);
  else if (isa<arith::SIToFPOp, arith::UIToFPOp>(op))
    value = lowerFromInteger();
  else
    value = lowerInF32();
  op->getResult(0).replaceAllUsesWith(value);
  op->erase();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Ops on tensors that become linalg ops. An op on tensors with an encoding is
/// left to blockscale-verify-layout, which refuses it, and so is a choice of
/// whole tensors, which moves them.
static bool isElementwiseOnTensors(Operation *op) {
  auto select = dyn_cast<arith::SelectOp>(op);
  if (select && !isa<RankedTensorType>(select.getCondition().getType()))
    return false;
  auto hasEncoding = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getEncoding();
  };
  return OpTrait::hasElementwiseMappableTraits(op) && isLowered(op) &&
         llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>) &&
         !hasType(op, hasEncoding);
}

/// Whether the body of a linalg op is not to be the one that its name means.
static bool isGeneralized(linalg::LinalgOp op) {
  if (isa<linalg::GenericOp>(op))
    return false;
  if (hasType(op, isStoredAsCodes))
    return true;
  bool isFound = false;
  op->walk([&](Operation *inside) {
    isFound |= computes(inside) && hasType(inside, isNarrow);
  });
  return isFound;
}

namespace {

struct LowerNarrowFloatsPass
    : public impl::LowerNarrowFloatsBase<LowerNarrowFloatsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    bool isLegal = true, isFound = false;
    SmallVector<Operation *> scaled;
    walkOutsideKernels(module, [&](Operation *op) {
      isFound |= isa_and_present<arith::ArithDialect, linalg::LinalgDialect,
                                 math::MathDialect, tensor::TensorDialect>(
                     op->getDialect()) &&
                 isLowered(op);
      if (!computes(op) ||
          (!hasType(op, isBelow16Bits) && !roundsInDirection(op)))
        return;
      isLegal &= succeeded(verifyNarrowOp(op));
      if (isa<arith::ScalingExtFOp, arith::ScalingTruncFOp>(op))
        scaled.push_back(op);
    });
    if (!isLegal)
      return signalPassFailure();
    if (!isFound)
      return markAllAnalysesPreserved();
    llvm::for_each(scaled, expandScaling);
    if (failed(convertElementwise()))
      return signalPassFailure();
    generalize();
    expandNarrowTensors(module);
    lowerNumbers();
  }

private:
  LogicalResult convertElementwise() {
    RewritePatternSet patterns(&getContext());
    linalg::populateElementwiseToLinalgConversionPatterns(patterns);
    ConversionTarget target(getContext());
    target.markUnknownOpDynamicallyLegal([](Operation *op) {
      return op->getParentOfType<KernelOp>() || !isElementwiseOnTensors(op);
    });
    return applyPartialConversion(getOperation(), target, std::move(patterns));
  }

  /// A named op has the body of its name wherever it is printed and read.
  void generalize() {
    SmallVector<linalg::LinalgOp> ops;
    walkOutsideKernels(getOperation(), [&](Operation *op) {
      if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
        if (isGeneralized(linalgOp))
          ops.push_back(linalgOp);
    });
    IRRewriter rewriter(&getContext());
    for (linalg::LinalgOp op : ops) {
      rewriter.setInsertionPoint(op);
      (void)linalg::generalizeNamedOp(rewriter, op);
    }
  }

  void lowerNumbers() {
    SmallVector<Operation *> ops;
    walkOutsideKernels(getOperation(), [&](Operation *op) {
      if (computes(op) && isLowered(op) &&
          !hasType(op, llvm::IsaPred<TensorType>))
        ops.push_back(op);
    });
    for (Operation *op : ops)
      NarrowOp(op).lower();
  }
};

} // namespace
} // namespace blockscale
