//===- BlockQuantizer.cpp - Code that quantizes blocks --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockQuantizer.h"
#include "Emission/FloatCodec.h"
#include "Emission/LoopEmitter.h"
#include "blockscale/Numerics/FourOverSix.h"
#include "blockscale/Numerics/Rounding.h"
#include "blockscale/Numerics/StochasticRounding.h"

using namespace mlir;

namespace blockscale::cpu {

Type getWorkingType(Type element) {
  return element.isBF16() ? element : Float32Type::get(element.getContext());
}

Lanes loadElements(ImplicitLocOpBuilder &b, Value x, ValueRange indices,
                   int64_t count) {
  Type element = getElementTypeOrSelf(x.getType());
  Lanes bits = loadLanes(b, x, indices, count);
  return element.isF16() ? toBits(emitDecodeFloat(element, bits)) : bits;
}

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
  Lanes bytes =
      numerics::getScaleBits(format.recipe, format.format, amax, global);
  return {bytes, numerics::getFactorOfByte(format.recipe, bytes, global)};
}

BlockScales emitGivenBlockScales(const BlockFormat &format,
                                 const GlobalFactors &global, Lanes amax) {
  Lanes bytes = numerics::encodeBlockScale(
      numerics::getBlockScaleOfGivenAmax(format.recipe, amax, global));
  return {bytes, numerics::getFactorOfByte(format.recipe, bytes, global)};
}

using ScaleCandidate = numerics::ScaleCandidate<Lanes>;

/// The scale for each of `times` neighbours of a block.
static ScaleCandidate repeatCandidate(const ScaleCandidate &candidate,
                                      int64_t times) {
  return {repeatLanes(candidate.byte, times),
          repeatLanes(candidate.scale, times),
          repeatLanes(candidate.factor, times)};
}

/// The scales that a 4over6 recipe chooses for blocks of neighbours.
static BlockScales emitChosenScales(const BlockFormat &format,
                                    const GlobalFactors &global, Lanes amax,
                                    const ElementPairs &x) {
  int64_t pairs = format.getBlockSize() / 2;
  auto candidates = numerics::getScaleCandidates(format.recipe, amax, global);
  auto emitError = [&](const ScaleCandidate &ofBlocks) {
    ScaleCandidate candidate = repeatCandidate(ofBlocks, pairs);
    auto split = [&](Lanes bits) {
      return splitByResidue(numerics::getElementError(
                                format.recipe, toF32(bits), candidate, global),
                            pairs);
    };
    SmallVector<Lanes> even = split(x.even), odd = split(x.odd);
    Lanes sum = even[0] + odd[0];
    for (int64_t i = 1; i < pairs; ++i)
      sum = (sum + even[i]) + odd[i];
    return sum;
  };
  Lanes six = emitError(candidates.six), four = emitError(candidates.four);
  Lanes bytes = numerics::chooseCandidate(candidates, six, four);
  return {bytes, numerics::getFactorOfByte(format.recipe, bytes, global)};
}

Lanes emitEncodeElements(const BlockFormat &format, Lanes bits, Lanes factor,
                         const std::optional<Lanes> &randomBytes) {
  numerics::NegativeZero negativeZero =
      numerics::getNegativeZero(format.recipe);
  Lanes scaled = numerics::applyFactor(format.recipe, toF32(bits), factor);
  if (randomBytes)
    return numerics::encodeE2M1StochasticBits(scaled, extend(*randomBytes, 32),
                                              negativeZero);
  if (format.format == numerics::ElementFormat::E2M1)
    return numerics::countE2M1Code(numerics::magnitudeOf(scaled)) +
           numerics::getSign(scaled, /*position=*/3, negativeZero);
  return numerics::encodeBits(format.format, scaled, negativeZero);
}

Lanes emitEncodeMagnitudes(const BlockFormat &format, Lanes bits,
                           Lanes factor) {
  if (numerics::isFixedPoint(format.format))
    return emitEncodeElements(format, bits, factor);
  Lanes scaled = numerics::applyFactor(
      format.recipe, toF32(bits & numerics::kFloatMagnitudeMask), factor);
  if (!numerics::leavesNoOverflow(format.recipe))
    scaled = numerics::limitMagnitude(format.format, scaled);
  return numerics::encodeMagnitude(numerics::getFields(format.format), scaled);
}

Lanes addSigns(const BlockFormat &format, Lanes codes, Lanes x) {
  if (numerics::isFixedPoint(format.format))
    return codes;
  unsigned bits = numerics::getFormatInfo(format.format).bits;
  Lanes isNegative = compare(arith::CmpIPredicate::slt, x, 0);
  return codes |
         select(isNegative, codes.like(1u << (bits - 1)), codes.like(0));
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
                                   const GlobalFactors &global, Lanes x,
                                   const BlockOperands &operands) {
  int64_t blockSize = format.getBlockSize();
  ElementPairs pairs = splitPairs(x);
  auto getScales = [&] {
    if (operands.amax)
      return emitGivenBlockScales(format, global, *operands.amax);
    Lanes amax = emitBlockAmax(pairs, x.getCount() / blockSize);
    return numerics::isFourOverSix(format.recipe)
               ? emitChosenScales(format, global, amax, pairs)
               : emitBlockScales(format, global, amax);
  };
  BlockScales scales = getScales();
  Lanes factor = repeatLanes(scales.factor, blockSize / 2);
  std::optional<Lanes> randomEven, randomOdd;
  if (operands.randomBytes)
    std::tie(randomEven, randomOdd) = deinterleave(*operands.randomBytes);
  Lanes even = emitEncodeElements(format, pairs.even, factor, randomEven);
  Lanes odd = emitEncodeElements(format, pairs.odd, factor, randomOdd);
  return {packPairs(format, even, odd), truncate(scales.bytes, 8)};
}

} // namespace blockscale::cpu
