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

ElementPairs splitPairs(Lanes x) {
  ImplicitLocOpBuilder &b = x.getBuilder();
  if (x.getElementType().isInteger(32)) {
    auto [even, odd] = deinterleave(x);
    return {even, odd};
  }
  Lanes words = bitcastLanes(x, b.getI32Type());
  return {words << 16, words & 0xFFFF0000u};
}

/// Magnitude bits order as the magnitudes do, NaN on top, so that NaN
/// propagates.
Lanes emitBlockAmax(const ElementPairs &x, int64_t blocks) {
  uint32_t mask = numerics::kFloatMagnitudeMask;
  Lanes amax = maxUnsigned(x.even & mask, x.odd & mask);
  while (amax.getCount() > blocks) {
    auto [left, right] = deinterleave(amax);
    amax = maxUnsigned(left, right);
  }
  return toF32(amax);
}

BlockScales emitBlockScales(const BlockFormat &format,
                            const GlobalFactors &global, Lanes amax) {
  Lanes bytes = emitScaleByte(format.recipe, format.format, amax, global);
  return {bytes, emitElementScaling(format.recipe, bytes, global)};
}

ElementScaling repeatScaling(const ElementScaling &scaling, int64_t times) {
  return {repeatLanes(scaling.factor, times), scaling.divide};
}

Lanes emitEncodeElements(const BlockFormat &format, Lanes bits,
                         const ElementScaling &scaling) {
  NegativeZero negativeZero = numerics::keepsNegativeZero(format.recipe)
                                  ? NegativeZero::Keep
                                  : NegativeZero::Drop;
  Lanes element = toF32(bits);
  Lanes scaled =
      scaling.divide ? element / scaling.factor : element * scaling.factor;
  return emitEncode(format.format, scaled, negativeZero);
}

Lanes packPairs(const BlockFormat &format, Lanes even, Lanes odd) {
  if (format.getCodesPerByte() == 2)
    return truncate(even | (odd << 4), 8);
  Lanes pairs = truncate(even | (odd << 8), 16);
  return bitcastLanes(pairs, pairs.getBuilder().getI8Type());
}

Lanes packRows(const ElementPairs &upper, const ElementPairs &lower) {
  Lanes even = (upper.even | (lower.even << 4)) & 0xFF;
  Lanes odd = upper.odd | (lower.odd << 4);
  Lanes pairs = truncate(even | (odd << 8), 16);
  return bitcastLanes(pairs, pairs.getBuilder().getI8Type());
}

QuantizedBlocks emitQuantizeBlocks(const BlockFormat &format,
                                   const GlobalFactors &global, Lanes x) {
  int64_t blockSize = format.getBlockSize();
  ElementPairs pairs = splitPairs(x);
  Lanes amax = emitBlockAmax(pairs, x.getCount() / blockSize);
  BlockScales scales = emitBlockScales(format, global, amax);
  ElementScaling scaling = repeatScaling(scales.scaling, blockSize / 2);
  Lanes even = emitEncodeElements(format, pairs.even, scaling);
  Lanes odd = emitEncodeElements(format, pairs.odd, scaling);
  return {packPairs(format, even, odd), truncate(scales.bytes, 8)};
}

} // namespace blockscale::cpu
