//===- Quantize.h - Quantization of one block -------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_QUANTIZE_H
#define BLOCKSCALE_NUMERICS_QUANTIZE_H

#include "blockscale/Numerics/BlockScale.h"

namespace blockscale::numerics {

/// max |x[i * stride]| over `count` elements, 0 of none. NaN propagates.
constexpr float computeAmax(const float *x, int64_t count, int64_t stride = 1) {
  float amax = 0.0f;
  for (int64_t i = 0; i < count; ++i)
    amax = maxMagnitude(amax, x[i * stride]);
  return amax;
}

/// The code of one element: scaled, then saturated to the format. A scaled
/// value of NaN gives the format's NaN code.
constexpr uint8_t quantizeElement(Recipe recipe, ElementFormat format, float x,
                                  const ElementScaling &scaling) {
  float scaled = scaling.divide ? x / scaling.factor : x * scaling.factor;
  if (isNegativeZero(scaled) && !keepsNegativeZero(recipe))
    scaled = 0.0f;
  return encode(format, scaled);
}

/// Quantizes the elements x[0], x[stride], .. of a block, or of a tail of one,
/// to `codes` (one a byte, same stride), and returns the scale byte.
constexpr uint8_t quantizeBlock(Recipe recipe, ElementFormat format,
                                const GlobalFactors &global, const float *x,
                                int64_t count, uint8_t *codes,
                                int64_t stride = 1) {
  uint8_t scaleByte =
      getScaleByte(recipe, format, computeAmax(x, count, stride), global);
  ElementScaling scaling = getElementScaling(recipe, scaleByte, global);
  for (int64_t i = 0; i < count; ++i)
    codes[i * stride] = quantizeElement(recipe, format, x[i * stride], scaling);
  return scaleByte;
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_QUANTIZE_H
