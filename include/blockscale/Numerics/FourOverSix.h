//===- FourOverSix.h - The better of two scales for a block -----*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The amax of a block may be mapped to the code 6 or to 4, where the codes lie
// closer. `te_4over6_mae` and `te_4over6_mse` quantize both ways and keep the
// one with the smaller error, the 6 on a tie or where an error is NaN
// (TransformerEngine NVFP4QuantizerRef). With S = min(1536 / G, FLT_MAX) of the
// tensor's amax G,
//
//   base     (amax / 6) * S
//   s6, s4   e4m3(min(base, 448)), e4m3(min(base * 1.5, 448))
//   q        e2m1(x * min(1 / (s * (1 / S)), FLT_MAX)), -0 as 0
//   d        (((q * s) * G) / 1536) - x
//   error    sum of |d|, or of d * d
//
// Errors are added in f32: along a row from its first element; then, in a tile
// of 16 rows, row i to row i + 8, i to i + 4, i to i + 2 and 0 to 1.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_FOUROVERSIX_H
#define BLOCKSCALE_NUMERICS_FOUROVERSIX_H

#include "blockscale/Numerics/BlockScale.h"
#include "blockscale/Numerics/Tile.h"

namespace blockscale::numerics {

/// How much larger the scale is that maps the amax to 4.
inline constexpr float kFourOverSixExpansion = 1.5f;

/// Rows of the tallest tile, 16x16.
inline constexpr int kFourOverSixRows = 16;

struct FourOverSixScales {
  uint8_t six;
  uint8_t four;
};

/// The two scale bytes of a block.
constexpr FourOverSixScales getFourOverSixScales(float amax,
                                                 const GlobalFactors &global) {
  float base = (amax / kE2M1Max) * global.encode;
  return {encode(ElementFormat::E4M3, minKeepNan(base, kE4M3Max)),
          encode(ElementFormat::E4M3,
                 minKeepNan(base * kFourOverSixExpansion, kE4M3Max))};
}

/// The error that an element's code leaves under a scale.
constexpr float getFourOverSixError(Recipe recipe, float x, uint8_t code,
                                    uint8_t scaleByte,
                                    const GlobalFactors &global) {
  float value = decode(ElementFormat::E2M1, code) *
                decode(ElementFormat::E4M3, scaleByte);
  float difference = (value * global.amax) / kFourOverSixRange - x;
  return recipe == Recipe::Te4over6Mae ? magnitudeOf(difference)
                                       : roundedProduct(difference, difference);
}

/// The error of a tile under a scale.
constexpr float getFourOverSixError(Recipe recipe, const GlobalFactors &global,
                                    const float *x, const Tile &tile,
                                    uint8_t scaleByte) {
  ElementScaling scaling = getElementScaling(recipe, scaleByte, global);
  float rows[kFourOverSixRows] = {};
  for (int64_t r = 0; r < tile.rows; ++r) {
    for (int64_t c = 0; c < tile.cols; ++c) {
      float element = x[tile.getOffset(r, c)];
      uint8_t code =
          quantizeElement(recipe, ElementFormat::E2M1, element, scaling);
      rows[r] += getFourOverSixError(recipe, element, code, scaleByte, global);
    }
  }
  for (int half = kFourOverSixRows / 2; half > 0; half /= 2)
    for (int r = 0; r < half; ++r)
      rows[r] += rows[r + half];
  return rows[0];
}

/// The scale byte of a tile of at most 16 rows: that of the smaller error.
constexpr uint8_t chooseFourOverSixScale(Recipe recipe,
                                         const GlobalFactors &global,
                                         const float *x, const Tile &tile,
                                         float amax) {
  FourOverSixScales scales = getFourOverSixScales(amax, global);
  float four = getFourOverSixError(recipe, global, x, tile, scales.four);
  float six = getFourOverSixError(recipe, global, x, tile, scales.six);
  return four < six ? scales.four : scales.six;
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_FOUROVERSIX_H
