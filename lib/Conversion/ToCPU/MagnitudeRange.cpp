//===- MagnitudeRange.cpp - Whether numbers are in a range ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MagnitudeRange.h"
#include "Emission/FloatCodec.h"
#include "blockscale/Numerics/Bits.h"

using namespace mlir;

namespace blockscale::cpu {

Lanes MagnitudeRange::createFirst(ImplicitLocOpBuilder &b, int64_t lanes) {
  auto type = VectorType::get({lanes}, b.getI32Type());
  return Lanes(b, arith::ConstantOp::create(b, b.getZeroAttr(type)));
}

Lanes MagnitudeRange::raise(Lanes farthest, Lanes bits) const {
  Lanes magnitude = emitMagnitudeBits(bits);
  Lanes above = select(isEqual(magnitude, 0), magnitude,
                       magnitude - numerics::toBits(least));
  return maxUnsigned(farthest, above);
}

Lanes emitMaximum(Lanes x) {
  return reduceLanes(
      x, [](Lanes left, Lanes right) { return maxUnsigned(left, right); });
}

Lanes MagnitudeRange::holds(Lanes farthest) const {
  return compare(arith::CmpIPredicate::ule, emitMaximum(farthest),
                 numerics::toBits(most) - numerics::toBits(least));
}

} // namespace blockscale::cpu
