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

/// The E2M1 code of `x` under 8 random bits.
constexpr uint8_t encodeE2M1Stochastic(float x, uint8_t randomBits) {
  if (isNan(x))
    return getFormatInfo(ElementFormat::E2M1).nanCode;
  uint8_t sign = static_cast<uint8_t>((toBits(x) >> 31) << 3);
  float magnitude = magnitudeOf(x);
  if (magnitude > kE2M1Max)
    magnitude = kE2M1Max;
  // In units of 1/512, a 256th of the smallest step. What the conversion cuts
  // off cannot carry: r is a multiple of the unit.
  auto units = static_cast<uint32_t>(magnitude * 512.0f);
  int stepLog2 = units < 1024 ? 0 : units < 2048 ? 1 : 2;
  units += static_cast<uint32_t>(randomBits) << stepLog2;
  uint32_t code = units < 1024   ? units / 256
                  : units < 2048 ? 2 + units / 512
                  : units < 3072 ? 6
                                 : 7;
  return static_cast<uint8_t>(sign | code);
}

/// quantizeElement of E2M1 data with stochastic rounding.
constexpr uint8_t quantizeElementStochastic(Recipe recipe, float x,
                                            const ElementScaling &scaling,
                                            uint8_t randomBits) {
  return encodeE2M1Stochastic(scaleElement(recipe, x, scaling), randomBits);
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_STOCHASTICROUNDING_H
