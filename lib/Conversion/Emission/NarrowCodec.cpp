//===- NarrowCodec.cpp - Narrow floats as f32 -----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NarrowCodec.h"
#include "Lanes.h"
#include "blockscale/IR/TypeRules.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace blockscale::emit {

bool isNarrowFloat(Type type) {
  return isa<Float4E2M1FNType, Float6E2M3FNType, Float6E3M2FNType,
             Float8E4M3FNType, Float8E5M2Type, Float8E8M0FNUType>(type);
}

Type withElement(Type type, Type element) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped ? shaped.clone(element) : element;
}

Value emitDecodeNarrow(ImplicitLocOpBuilder &b, Value x) {
  Lanes narrow(b, x);
  Type element = narrow.getElementType();
  Type bits =
      narrow.getTypeWith(b.getIntegerType(element.getIntOrFloatBitWidth()));
  Lanes code(b, arith::BitcastOp::create(b, bits, x));
  code = extend(code, 32);
  return isa<Float8E8M0FNUType>(element)
             ? numerics::decodeE8M0Bits(code)
             : numerics::decodeBits(blockscale::getElementFormat(element),
                                    code);
}

Value emitEncodeNarrow(ImplicitLocOpBuilder &b, Value x, Type type,
                       numerics::RoundingDirection direction) {
  Lanes number(b, x);
  Lanes code = isa<Float8E8M0FNUType>(type)
                   ? numerics::encodePlainE8M0(number, direction)
                   : numerics::encodePlainBits(
                         blockscale::getElementFormat(type), number, direction);
  code = truncate(code, type.getIntOrFloatBitWidth());
  return arith::BitcastOp::create(b, number.getTypeWith(type), code);
}

Value emitRoundToOdd(ImplicitLocOpBuilder &b, Value x) {
  Lanes exact(b, x);
  Lanes rounded = roundToF32(exact);
  Lanes back = extendToF64(rounded);
  Lanes bits = toBits(rounded);
  // The bits of a magnitude are ordered as the magnitudes, so that the other
  // neighbour is one above where the rounding went towards zero.
  auto getMagnitude = [&](Lanes number) {
    Lanes negative(b, arith::NegFOp::create(b, number));
    return select(isLess(number, number.like(0.0)), negative, number);
  };
  Lanes other = select(isLess(getMagnitude(back), getMagnitude(exact)),
                       bits + 1, bits - 1);
  Lanes isExact = compare(arith::CmpFPredicate::OEQ, back, exact);
  Lanes isOdd = isEqual(bits & 1, 1);
  return toF32(select(isExact, bits, select(isOdd, bits, other)));
}

Value emitRoundInDirection(ImplicitLocOpBuilder &b, Value x, Type type,
                           numerics::RoundingDirection direction) {
  using numerics::RoundingDirection;
  Type wide = x.getType(), narrow = withElement(wide, type);
  Type words =
      withElement(wide, b.getIntegerType(type.getIntOrFloatBitWidth()));
  auto constant = [&](int64_t value) -> Value {
    TypedAttr attr = b.getIntegerAttr(getElementTypeOrSelf(words), value);
    if (auto shaped = dyn_cast<ShapedType>(words))
      attr = DenseElementsAttr::get(shaped, Attribute(attr));
    return arith::ConstantOp::create(b, attr);
  };
  auto widen = [&](Value number) -> Value {
    return arith::ExtFOp::create(b, wide, number);
  };
  auto magnitude = [&](Value number) -> Value {
    return math::AbsFOp::create(b, number);
  };
  auto isLess = [&](Value left, Value right) -> Value {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, left, right);
  };
  Value nearest = arith::TruncFOp::create(b, narrow, x);
  Value found = widen(nearest);
  Value bits = arith::BitcastOp::create(b, words, nearest);
  // The bits of a magnitude are ordered as the magnitudes.
  Value larger = arith::AddIOp::create(b, bits, constant(1));
  Value smaller = arith::SubIOp::create(b, bits, constant(1));
  Value isNegative =
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, bits, constant(0));
  Value isWrong, other;
  switch (direction) {
  case RoundingDirection::Nearest:
    return nearest;
  case RoundingDirection::TowardZero:
    isWrong = isLess(magnitude(x), magnitude(found));
    other = smaller;
    break;
  case RoundingDirection::Up:
    isWrong = isLess(found, x);
    other = arith::SelectOp::create(b, isNegative, smaller, larger);
    break;
  case RoundingDirection::Down:
    isWrong = isLess(x, found);
    other = arith::SelectOp::create(b, isNegative, larger, smaller);
    break;
  case RoundingDirection::NearestAway: {
    // The differences to the two neighbours of a middle are exact.
    Value next = widen(arith::BitcastOp::create(b, narrow, larger));
    Value below = arith::SubFOp::create(b, magnitude(x), magnitude(found));
    Value above = arith::SubFOp::create(b, magnitude(next), magnitude(x));
    Value isMiddle =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, below, above);
    isWrong = arith::AndIOp::create(b, isLess(magnitude(found), magnitude(x)),
                                    isMiddle);
    other = larger;
    break;
  }
  }
  bits = arith::SelectOp::create(b, isWrong, other, bits);
  return arith::BitcastOp::create(b, narrow, bits);
}

} // namespace blockscale::emit
