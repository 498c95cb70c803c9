//===- DeviceQuantizer.cpp - Arithmetic of a recipe -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceQuantizer.h"

using namespace mlir;

namespace blockscale {

using emit::Lanes;

DeviceQuantizer::~DeviceQuantizer() = default;

std::unique_ptr<DeviceQuantizer>
createDeviceQuantizer(CvtEmitter &cvt, numerics::Recipe recipe,
                      numerics::ElementFormat format, GlobalKind global,
                      bool amaxIsGiven) {
  if (numerics::isFourOverSix(recipe))
    return createFourOverSixQuantizer(cvt, recipe, global);
  if (numerics::isNvfp4(recipe))
    return createNvfp4Quantizer(cvt, recipe, global, amaxIsGiven);
  return createMxQuantizer(cvt, recipe, format);
}

SmallVector<Value> DeviceQuantizer::encode(KernelBuilder &b,
                                           const BlockElements &block,
                                           Lanes factor,
                                           ValueRange randomWords) {
  SmallVector<Value> elements = block.mapToF32(b, [&](Lanes vector) {
    return scale(b, vector, b.splat(factor, vector.getCount()));
  });
  int64_t perWord = 32 / numerics::getFormatInfo(getFormat()).storageBits;
  SmallVector<Value> words;
  auto encodeWord = [&](ArrayRef<Value> elements) {
    if (randomWords.empty())
      return cvt.encodeWord(b, getFormat(), elements);
    ValueRange random = randomWords.take_front(2);
    randomWords = randomWords.drop_front(2);
    return cvt.encodeStochasticWord(b, elements, random);
  };
  for (ArrayRef<Value> rest = elements; !rest.empty();
       rest = rest.drop_front(perWord))
    words.push_back(encodeWord(rest.take_front(perWord)));
  return words;
}

} // namespace blockscale
