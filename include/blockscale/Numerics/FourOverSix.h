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

/// One of the two scales of a block: its byte, its value and the factor of
/// elements under it.
template <typename Number>
struct ScaleCandidate {
  Bits<Number> byte;
  Number scale;
  Number factor;
};

template <typename Number>
struct ScaleCandidates {
  ScaleCandidate<Number> six;
  ScaleCandidate<Number> four;
};

/// The candidate with a scale, which the cast to E4M3 saturates.
template <typename Number>
constexpr ScaleCandidate<Number>
getScaleCandidate(Recipe recipe, Number scale,
                  const GlobalFactorsOf<Number> &global) {
  Bits<Number> byte = encodeBlockScale(scale);
  Number value = decodeBits(ElementFormat::E4M3, byte);
  return {byte, value, getFactorOfScale(recipe, value, global)};
}

/// The two scales of a block.
template <typename Number>
constexpr ScaleCandidates<Number>
getScaleCandidates(Recipe recipe, Number amax,
                   const GlobalFactorsOf<Number> &global) {
  Number base = getBlockScale(recipe, amax, global);
  return {
      getScaleCandidate(recipe, base, global),
      getScaleCandidate(recipe, Number(base * kFourOverSixExpansion), global)};
}

struct FourOverSixScales {
  uint8_t six;
  uint8_t four;
};

/// The two scale bytes of a block.
constexpr FourOverSixScales getFourOverSixScales(float amax,
                                                 const GlobalFactors &global) {
  auto candidates = getScaleCandidates(Recipe::Te4over6Mae, amax, global);
  return {static_cast<uint8_t>(candidates.six.byte),
          static_cast<uint8_t>(candidates.four.byte)};
}

/// The measure of a difference.
template <typename Number>
constexpr Number measureError(Recipe recipe, Number difference) {
  return recipe == Recipe::Te4over6Mae ? magnitudeOf(difference)
                                       : roundedProduct(difference, difference);
}

/// The error that an element x leaves which becomes `product`, the value of its
/// code times the scale. `quotient` gives product * amax / 1536.
template <typename Number, typename Quotient>
constexpr Number getFourOverSixError(Recipe recipe, Number x, Number product,
                                     Quotient quotient) {
  return measureError(recipe, Number(quotient(product) - x));
}

/// The byte of the scale with the smaller error, that of 6 on a tie.
template <typename Number>
constexpr Bits<Number>
chooseCandidate(const ScaleCandidates<Number> &candidates, Number sixError,
                Number fourError) {
  return select(isLess(fourError, sixError), candidates.four.byte,
                candidates.six.byte);
}

/// The error of an element under a scale, through its code.
template <typename Number>
constexpr Number getElementError(Recipe recipe, Number x,
                                 const ScaleCandidate<Number> &candidate,
                                 const GlobalFactorsOf<Number> &global) {
  Bits<Number> code =
      encodeBits(ElementFormat::E2M1, applyFactor(recipe, x, candidate.factor),
                 NegativeZero::Drop) &
      0xFu;
  Number product = decodeBits(ElementFormat::E2M1, code) * candidate.scale;
  return getFourOverSixError(recipe, x, product, [&](Number value) -> Number {
    return (value * global.amax) / kFourOverSixRange;
  });
}

/// The error of a tile under a scale.
constexpr float getFourOverSixError(Recipe recipe, const GlobalFactors &global,
                                    const float *x, const Tile &tile,
                                    const ScaleCandidate<float> &candidate) {
  float rows[kFourOverSixRows] = {};
  for (int64_t r = 0; r < tile.rows; ++r)
    for (int64_t c = 0; c < tile.cols; ++c)
      rows[r] +=
          getElementError(recipe, x[tile.getOffset(r, c)], candidate, global);
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
  auto candidates = getScaleCandidates(recipe, amax, global);
  float four = getFourOverSixError(recipe, global, x, tile, candidates.four);
  float six = getFourOverSixError(recipe, global, x, tile, candidates.six);
  return static_cast<uint8_t>(chooseCandidate(candidates, six, four));
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_FOUROVERSIX_H
