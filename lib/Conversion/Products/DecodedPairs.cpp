//===- DecodedPairs.cpp - Codes times scales as pairs ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DecodedPairs.h"

#include "DeviceEmission/CvtEmitter.h"
#include "blockscale/Numerics/Codec.h"

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

SmallVector<Value> DecodedPairs::emitFactors(const CodePair &scales,
                                             Value global) {
  SmallVector<Value> factors;
  Value both = emitScalePair(scales);
  if (global) {
    auto [first, second] = pairs.widen(both);
    for (Lanes scale : {first, second})
      factors.push_back(b.toBits(pairs.getBlockFactor(scale, global)));
    return factors;
  }
  for (int64_t i = 0; i < 2; ++i)
    factors.push_back(b.toBits(b.splat(b.extract(both, i), 2)));
  return factors;
}

SmallVector<Value> DecodedPairs::decodeElements(Lanes word) {
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
    elements.push_back(format.getSumShift()
                           ? pairs.decodeFields(format.element, codes)
                           : pairs.decode(format.element, codes));
  return elements;
}

SmallVector<Value> DecodedPairs::decodeWord(Lanes word, Value factor) {
  SmallVector<Value> products;
  bool scalesElements = spec.format.scalesElements;
  Lanes scale =
      scalesElements ? b.toFloat(factor) : b.bitcast(pairs.getType(), factor);
  for (Value both : decodeElements(word))
    products.push_back(b.toBits(scalesElements ? pairs.dequantize(both, scale)
                                               : pairs.multiply(both, scale)));
  return products;
}

} // namespace blockscale::products
