//===- NarrowCodec.cpp - Narrow floats as f32 -----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NarrowCodec.h"
#include "Lanes.h"
#include "blockscale/IR/TypeRules.h"

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

} // namespace blockscale::emit
