//===- DecodedPairs.cpp - Codes times scales as pairs ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DecodedPairs.h"

#include "DeviceEmission/CvtEmitter.h"
#include "DeviceEmission/DeviceCode.h"
#include "blockscale/Numerics/Codec.h"
#include "blockscale/Numerics/SplitFactor.h"

using namespace mlir;

namespace blockscale::products {

using emit::Lanes;

Value DecodedPairs::emitScalePair(const CodePair &scales) {
  const DecodedFormat &format = spec.format;
  if (format.scale == numerics::ScaleFormat::E8M0) {
    auto decode = [](Lanes word, int byte) {
      return numerics::decodeE8M0Bits(word >> 8 * byte & 0xFF);
    };
    return pairs.round(decode(scales.low, scales.lowByte),
                       decode(scales.high, scales.highByte));
  }
  int exponent = 0;
  if (int shift = format.getSumShift())
    exponent = pairs.getBiasDistance(format.element) - shift;
  return pairs.decode(numerics::ElementFormat::E4M3, scales, exponent);
}

SmallVector<Value> emitSumsOfTile(
    KernelBuilder &b, const DecodedFormat &format, Value scale, Value canSplit,
    int64_t count,
    function_ref<SmallVector<Value>(const ElementScale &)> emitSums) {
  if (!format.canSplitFactors())
    return emitSums({scale});
  auto emitSplit = [&] {
    auto [ofCodes, ofSums] = numerics::splitGlobal(Lanes(b, scale));
    SmallVector<Value> sums = emitSums({ofCodes, /*isSplit=*/true});
    for (Value &sum : sums)
      sum = Lanes(b, sum) * ofSums;
    return sums;
  };
  return emitIfElse(b, canSplit, SmallVector<Type>(count, b.getF32Type()),
                    emitSplit, [&] { return emitSums({scale}); });
}

SmallVector<Value> DecodedPairs::emitFactors(const CodePair &scales,
                                             const ElementScale &global) {
  SmallVector<Value> factors;
  Value both = emitScalePair(scales);
  if (global.value) {
    auto [first, second] = pairs.widen(both);
    Lanes low = pairs.getBlockFactor(first, global.value);
    Lanes high = pairs.getBlockFactor(second, global.value);
    if (!global.isSplit)
      return {b.toBits(low), b.toBits(high)};
    PlainPairs::SplitPair split = pairs.splitFactors(low, high);
    for (int64_t i = 0; i < 2; ++i)
      factors.push_back(b.toBits(
          b.pack({b.extract(split.main, i), b.extract(split.rest, i)})));
    return factors;
  }
  return splatBoth(both);
}

/// The least and the largest scale that f16 has, as bytes of E8M0. Least is the
/// last place of subnormal numbers.
static constexpr int kLeastHalf = numerics::kFloatBias + 1 -
                                  numerics::kF16Fields.bias -
                                  numerics::kF16Fields.mantissaBits;
static constexpr int kLargestHalf =
    numerics::kFloatBias + numerics::kF16Fields.bias;

SmallVector<Value> DecodedPairs::emitWholeFactors(Lanes scales) {
  if (!multipliesHalves(spec))
    return splatBoth(pairs.emitWholeFactors(spec.format.element, scales));
  Lanes bytes = extend(scales, 32);
  auto getPower = [&](int byte) {
    return fromBits((bytes >> 8 * byte & 0xFF) << numerics::kFloatMantissaBits);
  };
  Lanes low = getPower(0);
  return splatBoth(halves.round(low, getPower(1)));
}

Value DecodedPairs::hasOtherScale(Lanes scales) {
  return multipliesHalves(spec)
             ? halves.hasScaleOutside(scales, kLeastHalf, kLargestHalf)
             : pairs.hasLargeScale(spec.format.element, scales);
}

SmallVector<Value> DecodedPairs::splatBoth(Value both) {
  SmallVector<Value> factors;
  for (int64_t i = 0; i < 2; ++i)
    factors.push_back(b.toBits(b.splat(b.extract(both, i), 2)));
  return factors;
}

SmallVector<Value> DecodedPairs::decodeElements(Lanes word, bool haveIt) {
  const DecodedFormat &format = spec.format;
  SmallVector<Value> elements;
  if (hasConversion(spec)) {
    std::unique_ptr<CvtEmitter> cvt = createCvtEmitter(*spec.chip);
    for (Lanes codes : {word, word >> 16}) {
      auto [low, high] = cvt->decodeE4M3Pair(b, truncate(codes, 16));
      elements.push_back(pairs.round(low, high));
    }
    return elements;
  }
  for (const CodePair &codes : getCodePairs(format.element, word))
    elements.push_back(haveIt ? pairs.decodeFields(format.element, codes)
                              : pairs.decode(format.element, codes));
  return elements;
}

SmallVector<Value> DecodedPairs::decodeWord(Lanes word, ArrayRef<Value> factors,
                                            bool isSplit, bool isWhole) {
  const DecodedFormat &format = spec.format;
  if (isWhole && multipliesHalves(spec)) {
    auto [low, high] = multiplyE4M3Word(
        b, word, truncate(Lanes(b, factors.front()), /*width=*/16));
    return {low, high};
  }
  auto multiply = [&](Value both, Value factor) {
    if (format.scalesElements && !isSplit)
      return pairs.dequantize(both, b.toFloat(factor));
    Lanes ofPair = b.bitcast(pairs.getType(), factor);
    if (!isSplit)
      return pairs.multiply(both, ofPair);
    return pairs.multiplySplit(both, {b.splat(b.extract(ofPair, 0), 2),
                                      b.splat(b.extract(ofPair, 1), 2)});
  };
  SmallVector<Value> elements = decodeElements(
      word, /*haveIt=*/isSplit || isWhole || format.getSumShift() != 0);
  size_t ofFactor = elements.size() / factors.size();
  for (auto [i, both] : llvm::enumerate(elements))
    both = b.toBits(multiply(both, factors[i / ofFactor]));
  return elements;
}

} // namespace blockscale::products
