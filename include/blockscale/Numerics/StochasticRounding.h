//===- StochasticRounding.h - E2M1 codes from random bits -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A magnitude between two neighbours p and q of E2M1 becomes q with probability
// floor(256 (x - p) / (q - p)) / 256, decided by 8 random bits r (Philox.h):
//
//   step = 0.5 below 2, 1 below 4, 2 from there
//   t    = |x| + r / 256 * step, exactly
//   code = t rounded down to E2M1, at most 6
//
// The sign is kept, of zero too; NaN gives 7. This is the rule that
// TransformerEngine follows where the GPU has no such conversion (whose f32 sum
// may round t up to q when x is within an ulp of the next multiple of 1/256).
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_STOCHASTICROUNDING_H
#define BLOCKSCALE_NUMERICS_STOCHASTICROUNDING_H

#include "blockscale/Numerics/BlockScale.h"

namespace blockscale::numerics {

/// The E2M1 code of `x` under 8 random bits, as bits of which all above the low
/// byte are zero.
///
/// In units of 1/512, a 256th of the smallest step, codes are 256 apart to
/// 1024, then 512 to 2048, then 1024. So the code below a magnitude, which
/// stays below 4096, is
///
///   min(units / 256, units / 512 + 2, units / 1024 + 4)
///
/// What the conversion to units cuts off cannot carry: r is a multiple of one.
template <typename Number>
constexpr Bits<Number>
encodeE2M1StochasticBits(Number x, Bits<Number> randomBits,
                         NegativeZero negativeZero = NegativeZero::Keep) {
  Bits<Number> sign = getSign(x, 3, negativeZero);
  // NaN becomes 6, whose code is NaN's too.
  Bits<Number> magnitude = minUnsigned(toBits(x) & kFloatMagnitudeMask,
                                       like(toBits(x), toBits(kE2M1Max)));
  Bits<Number> units = truncateToI32(fromBits(magnitude) * 512.0f);
  Bits<Number> gain =
      select(isBelow(units, 2048u), randomBits << 1, randomBits << 2);
  units = units + select(isBelow(units, 1024u), randomBits, gain);
  Bits<Number> code = minUnsigned(units >> 8, (units >> 9) + 2u);
  return minUnsigned(code, (units >> 10) + 4u) | sign;
}

/// Another way to the same codes, for units that add floats as fast as
/// integers. From 1 on codes are the bits of a magnitude m from bit 22 up, and
/// below 1 those of (m + 1) / 2, rounded towards zero, which is the larger one
/// of the two there and the lesser one elsewhere. So with r at bit 14
///
///   sum = bits(max(m, (m + 1) / 2)) + r * 2^14
///   code = sum / 2^22 - 252
inline constexpr int kStochasticCodeBit = 22;
inline constexpr uint32_t kStochasticBase = 252;

/// The sum for a magnitude of 6 at most, and (magnitude + 1) / 2 rounded
/// towards zero. Bits of positive floats are in their order.
template <typename Number>
constexpr Bits<Number> getStochasticSum(Number magnitude, Number moved,
                                        Bits<Number> randomBits) {
  return maxUnsigned(toBits(magnitude), toBits(moved)) +
         (randomBits << (kStochasticCodeBit - 8));
}

/// The code of a magnitude with such a sum.
constexpr uint32_t getStochasticCode(uint32_t sum) {
  return (sum >> kStochasticCodeBit) - kStochasticBase;
}

/// The E2M1 code of `x` under 8 random bits. The sign of NaN is dropped.
constexpr uint8_t encodeE2M1Stochastic(float x, uint8_t randomBits) {
  return static_cast<uint8_t>(
      encodeE2M1StochasticBits(x, uint32_t{randomBits}));
}

/// quantizeElement of E2M1 data with stochastic rounding.
constexpr uint8_t quantizeElementStochastic(Recipe recipe, float x,
                                            float factor, uint8_t randomBits) {
  return encodeE2M1Stochastic(scaleElement(recipe, x, factor), randomBits);
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_STOCHASTICROUNDING_H
