//===- ScalarOps.cpp - Numbers that ops compute ---------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScalarOps.h"
#include "blockscale/Analysis/ElementwiseBody.h"
#include "blockscale/Numerics/Bits.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace blockscale {

using Maybe = std::optional<ScalarNumber>;

static const llvm::fltSemantics &getSemantics(Type type) {
  return cast<FloatType>(type).getFloatSemantics();
}

/// Floats that f32 holds, and integers of at most 64 bits.
static bool isNumber(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.getWidth() <= 64;
  auto number = dyn_cast<FloatType>(type);
  return number && number.getWidth() <= 32 && !isa<FloatTF32Type>(type);
}

bool isScalarOp(Operation *op) {
  if (!op || op->getNumResults() != 1 || op->getNumRegions() != 0 ||
      !isa_and_present<arith::ArithDialect, math::MathDialect>(
          op->getDialect()) ||
      isa<arith::ConstantOp>(op))
    return false;
  return op->hasTrait<OpTrait::Elementwise>() ||
         isa<arith::ScalingExtFOp, arith::ScalingTruncFOp, arith::SelectOp>(op);
}

static llvm::APFloat toAPFloat(Type type, llvm::APFloat value) {
  bool isRounded;
  value.convert(getSemantics(type), llvm::APFloat::rmNearestTiesToEven,
                &isRounded);
  return value;
}

static float toFloat(llvm::APFloat value) {
  if (&value.getSemantics() == &llvm::APFloat::IEEEsingle())
    return value.convertToFloat();
  // LLVM 22 converts the NaN of f8E8M0FNU to infinity.
  if (value.isNaN())
    return std::numeric_limits<float>::quiet_NaN();
  bool isRounded;
  value.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven,
                &isRounded);
  return value.convertToFloat();
}

/// A number of `type` to the nearest of another one, ties to even.
static float roundTo(Type type, float value) {
  return type.isF32() ? value : toFloat(toAPFloat(type, llvm::APFloat(value)));
}

static Maybe makeFloat(float value) { return ScalarNumber{value, 0}; }

static uint64_t getMask(Type type) {
  return llvm::maskTrailingOnes<uint64_t>(type.getIntOrFloatBitWidth());
}

static Maybe makeInteger(Type type, uint64_t bits) {
  return ScalarNumber{0, bits & getMask(type)};
}

static int64_t asSigned(Type type, uint64_t bits) {
  return llvm::SignExtend64(bits, type.getIntOrFloatBitWidth());
}

Maybe getConstantNumber(Attribute constant) {
  if (auto number = dyn_cast<FloatAttr>(constant)) {
    if (!isNumber(number.getType()))
      return std::nullopt;
    return makeFloat(toFloat(number.getValue()));
  }
  auto integer = dyn_cast<IntegerAttr>(constant);
  if (!integer || integer.getValue().getBitWidth() > 64)
    return std::nullopt;
  return ScalarNumber{0, integer.getValue().getZExtValue()};
}

static Maybe bitcast(Type from, Type to, ScalarNumber x) {
  bool fromFloat = isa<FloatType>(from), toFloatType = isa<FloatType>(to);
  if (fromFloat == toFloatType)
    return from == to ? Maybe(x) : std::nullopt;
  unsigned width = from.getIntOrFloatBitWidth();
  if (fromFloat) {
    uint64_t bits = from.isF32() ? numerics::toBits(x.value)
                                 : toAPFloat(from, llvm::APFloat(x.value))
                                       .bitcastToAPInt()
                                       .getZExtValue();
    return makeInteger(to, bits);
  }
  return makeFloat(
      toFloat(llvm::APFloat(getSemantics(to), llvm::APInt(width, x.bits))));
}

/// A float as one of a narrower type. E8M0 has powers of two alone, and ops
/// differ in how they round to it, so others have no value.
static Maybe truncate(Type type, float value,
                      std::optional<arith::RoundingMode> mode) {
  if (!isNearest(mode))
    return std::nullopt;
  if (isa<Float8E8M0FNUType>(type)) {
    if (std::isnan(value))
      return makeFloat(value);
    int exponent;
    if (!std::isfinite(value) || std::frexp(value, &exponent) != 0.5f ||
        exponent - 1 < -127)
      return std::nullopt;
    return makeFloat(value);
  }
  return makeFloat(roundTo(type, value));
}

/// The larger of two, or the smaller, where -0 is below +0. NaN is the result
/// if one is NaN and `keepsNaN`.
static float getExtreme(float a, float b, bool isLarger, bool keepsNaN) {
  if (std::isnan(a) || std::isnan(b)) {
    if (keepsNaN)
      return std::isnan(a) ? a : b;
    return std::isnan(a) ? b : a;
  }
  bool isBelow = a < b || (a == b && std::signbit(a) && !std::signbit(b));
  return isBelow == isLarger ? b : a;
}

/// A float as an integer, toward zero; nullopt where no integer of the type is
/// it.
static Maybe toInteger(Type type, float value, bool isSigned) {
  if (!std::isfinite(value))
    return std::nullopt;
  double whole = std::trunc(double(value));
  unsigned width = type.getIntOrFloatBitWidth();
  double limit = std::ldexp(1.0, isSigned ? width - 1 : width);
  if (whole >= limit || whole < (isSigned ? -limit : 0.0))
    return std::nullopt;
  return makeInteger(type,
                     isSigned ? uint64_t(int64_t(whole)) : uint64_t(whole));
}

/// Ops whose operands are floats.
static Maybe evaluateFloatOp(Operation *op, ArrayRef<ScalarNumber> operands,
                             ArrayRef<Type> types, Type type) {
  float a = operands[0].value;
  float b = operands.size() > 1 ? operands[1].value : 0;
  auto rounded = [&](float value) { return makeFloat(roundTo(type, value)); };
  return llvm::TypeSwitch<Operation *, Maybe>(op)
      .Case<arith::AddFOp>([&](auto) { return rounded(a + b); })
      .Case<arith::SubFOp>([&](auto) { return rounded(a - b); })
      .Case<arith::MulFOp>([&](auto) { return rounded(a * b); })
      .Case<arith::DivFOp>([&](auto) { return rounded(a / b); })
      .Case<arith::NegFOp>([&](auto) { return makeFloat(-a); })
      .Case<math::AbsFOp>([&](auto) { return makeFloat(std::fabs(a)); })
      .Case<math::CeilOp>([&](auto) { return makeFloat(std::ceil(a)); })
      .Case<math::FloorOp>([&](auto) { return makeFloat(std::floor(a)); })
      .Case<math::TruncOp>([&](auto) { return makeFloat(std::trunc(a)); })
      .Case<math::RoundEvenOp>(
          [&](auto) { return makeFloat(std::nearbyint(a)); })
      .Case<arith::MaximumFOp>(
          [&](auto) { return makeFloat(getExtreme(a, b, true, true)); })
      .Case<arith::MinimumFOp>(
          [&](auto) { return makeFloat(getExtreme(a, b, false, true)); })
      .Case<arith::MaxNumFOp>(
          [&](auto) { return makeFloat(getExtreme(a, b, true, false)); })
      .Case<arith::MinNumFOp>(
          [&](auto) { return makeFloat(getExtreme(a, b, false, false)); })
      .Case<arith::CmpFOp>([&](arith::CmpFOp compare) {
        return makeInteger(
            type, arith::applyCmpPredicate(compare.getPredicate(),
                                           llvm::APFloat(a), llvm::APFloat(b)));
      })
      .Case<arith::ExtFOp>([&](auto) { return rounded(a); })
      .Case<arith::TruncFOp>([&](arith::TruncFOp truncated) {
        return truncate(type, a, truncated.getRoundingmode());
      })
      .Case<arith::ScalingTruncFOp>(
          [&](arith::ScalingTruncFOp scaled) -> Maybe {
            auto scale = truncate(Float8E8M0FNUType::get(op->getContext()), b,
                                  std::nullopt);
            if (!scale || types[0].isF16())
              return std::nullopt;
            return truncate(type, roundTo(types[0], a / scale->value),
                            scaled.getRoundingmode());
          })
      .Case<arith::FPToSIOp>([&](auto) { return toInteger(type, a, true); })
      .Case<arith::FPToUIOp>([&](auto) { return toInteger(type, a, false); })
      .Default([](Operation *) { return std::nullopt; });
}

/// Ops whose operands are integers.
static Maybe evaluateIntegerOp(Operation *op, ArrayRef<ScalarNumber> operands,
                               ArrayRef<Type> types, Type type) {
  uint64_t a = operands[0].bits;
  uint64_t b = operands.size() > 1 ? operands[1].bits : 0;
  int64_t left = asSigned(types[0], a), right = asSigned(types[0], b);
  bool shiftsWithin = b < types[0].getIntOrFloatBitWidth();
  auto whole = [&](uint64_t bits) { return makeInteger(type, bits); };
  auto shifted = [&](uint64_t bits) {
    return shiftsWithin ? makeInteger(type, bits) : std::nullopt;
  };
  auto real = [&](double value) -> Maybe {
    // A double has these integers as they are, so that one is rounded once.
    if (std::fabs(value) > 0x1p53)
      return std::nullopt;
    return makeFloat(toFloat(toAPFloat(type, llvm::APFloat(value))));
  };
  unsigned shift = shiftsWithin ? unsigned(b) : 0;
  return llvm::TypeSwitch<Operation *, Maybe>(op)
      .Case<arith::AddIOp>([&](auto) { return whole(a + b); })
      .Case<arith::SubIOp>([&](auto) { return whole(a - b); })
      .Case<arith::MulIOp>([&](auto) { return whole(a * b); })
      .Case<arith::AndIOp>([&](auto) { return whole(a & b); })
      .Case<arith::OrIOp>([&](auto) { return whole(a | b); })
      .Case<arith::XOrIOp>([&](auto) { return whole(a ^ b); })
      .Case<arith::ShLIOp>([&](auto) { return shifted(a << shift); })
      .Case<arith::ShRUIOp>([&](auto) { return shifted(a >> shift); })
      .Case<arith::ShRSIOp>([&](auto) { return shifted(left >> shift); })
      .Case<arith::MaxSIOp>([&](auto) { return whole(left > right ? a : b); })
      .Case<arith::MinSIOp>([&](auto) { return whole(left < right ? a : b); })
      .Case<arith::MaxUIOp>([&](auto) { return whole(std::max(a, b)); })
      .Case<arith::MinUIOp>([&](auto) { return whole(std::min(a, b)); })
      .Case<arith::CmpIOp>([&](arith::CmpIOp compare) {
        unsigned width = types[0].getIntOrFloatBitWidth();
        return whole(arith::applyCmpPredicate(compare.getPredicate(),
                                              llvm::APInt(width, a),
                                              llvm::APInt(width, b)));
      })
      .Case<arith::ExtUIOp, arith::TruncIOp>([&](auto) { return whole(a); })
      .Case<arith::ExtSIOp>([&](auto) { return whole(left); })
      .Case<arith::SIToFPOp>([&](auto) { return real(double(left)); })
      .Case<arith::UIToFPOp>([&](auto) { return real(double(a)); })
      .Default([](Operation *) { return std::nullopt; });
}

Maybe evaluateOp(Operation *op, ArrayRef<Maybe> operands, ArrayRef<Type> types,
                 Type type) {
  if (operands.empty() || !isNumber(type) || !llvm::all_of(types, isNumber))
    return std::nullopt;
  if (isa<arith::SelectOp>(op)) {
    if (!operands[0])
      return std::nullopt;
    return operands[0]->bits ? operands[1] : operands[2];
  }
  SmallVector<ScalarNumber, 3> numbers;
  for (const Maybe &operand : operands) {
    if (!operand)
      return std::nullopt;
    numbers.push_back(*operand);
  }
  if (isa<arith::BitcastOp>(op))
    return bitcast(types[0], type, numbers[0]);
  return isa<FloatType>(types[0]) ? evaluateFloatOp(op, numbers, types, type)
                                  : evaluateIntegerOp(op, numbers, types, type);
}

} // namespace blockscale
