//===- BlockQuantizer.cpp - Code that quantizes blocks --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockQuantizer.h"
#include "CodecEmitter.h"
#include "blockscale/Numerics/Bits.h"

using namespace mlir;

namespace blockscale::cpu {

/// f32 bits of the even and of the odd elements. Two neighbours end up in one
/// byte or half word, so they travel in two vectors; bf16 pairs come apart
/// without moving lanes.
static std::pair<Lanes, Lanes> splitPairs(Lanes x) {
  ImplicitLocOpBuilder &b = x.getBuilder();
  if (x.getElementType().isInteger(32))
    return deinterleave(x);
  Lanes words = bitcastLanes(x, b.getI32Type());
  return {words << 16, words & 0xFFFF0000u};
}

/// The amax of each block. Magnitude bits order as the magnitudes do, NaN on
/// top, so that NaN propagates.
static Lanes emitBlockAmax(Lanes even, Lanes odd, int64_t blocks) {
  uint32_t mask = numerics::kFloatMagnitudeMask;
  Lanes amax = maxUnsigned(even & mask, odd & mask);
  while (amax.getCount() > blocks) {
    auto [left, right] = deinterleave(amax);
    amax = maxUnsigned(left, right);
  }
  return toF32(amax);
}

static Lanes pack(const BlockFormat &format, Lanes even, Lanes odd) {
  if (format.getCodesPerByte() == 2)
    return truncate(even | (odd << 4), 8);
  Lanes pairs = truncate(even | (odd << 8), 16);
  return bitcastLanes(pairs, pairs.getBuilder().getI8Type());
}

QuantizedBlocks emitQuantizeBlocks(const BlockFormat &format,
                                   const GlobalFactors &global, Lanes x) {
  int64_t blockSize = format.getBlockSize();
  auto [even, odd] = splitPairs(x);
  Lanes amax = emitBlockAmax(even, odd, x.getCount() / blockSize);
  Lanes scaleByte = emitScaleByte(format.recipe, format.format, amax, global);
  ElementScaling scaling = emitElementScaling(format.recipe, scaleByte, global);
  Lanes factor = repeatLanes(scaling.factor, blockSize / 2);
  NegativeZero negativeZero = numerics::keepsNegativeZero(format.recipe)
                                  ? NegativeZero::Keep
                                  : NegativeZero::Drop;
  auto encode = [&](Lanes bits) {
    Lanes element = toF32(bits);
    Lanes scaled = scaling.divide ? element / factor : element * factor;
    return emitEncode(format.format, scaled, negativeZero);
  };
  Lanes evenCodes = encode(even), oddCodes = encode(odd);
  return {pack(format, evenCodes, oddCodes), truncate(scaleByte, 8)};
}

} // namespace blockscale::cpu
