//===- Rounding.h - Rounding to small formats by sums -----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions of f32 as GPUs without `cvt` do them fast: sums whose last place
// is the spacing of codes. unittests/Numerics/RoundingTest.cpp proves them.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_ROUNDING_H
#define BLOCKSCALE_NUMERICS_ROUNDING_H

#include "blockscale/Numerics/Bits.h"

#include <algorithm>
#include <cmath>

namespace blockscale::numerics {

/// The nearest value of E4M3 to one from its smallest normal value to its
/// largest, ties to even: a sum with a multiple of 2^20 times the value, which
/// is a multiple of what is rounded to, rounds away the 20 low bits.
inline float roundToE4M3(float x) {
  return std::fma(x, 0x1p20f, std::fma(x, -0x1p20f, x));
}

/// 1.5 * 2^23: sums with it are rounded to integers, which are in their low
/// bits.
inline constexpr float kRounder = 0x1.8p23f;

/// The bits of `rounder` plus the E2M1 code of |x|.
///
/// The magnitudes 0, 0.5, 1, 1.5, 2, 3, 4, 6 lie on three lines, of 2, 1 and
/// 1/2 codes a unit; the code of |x| is the least of the three, each rounded to
/// an integer, ties to even, and of 7: all offsets are even. It is found among
/// bits, as positive floats are in their order, with infinity and NaN above.
inline uint32_t encodeE2M1ByLines(float x, float rounder = kRounder) {
  float magnitude = std::abs(x);
  return std::min({toBits(std::fma(magnitude, 2.0f, rounder)),
                   toBits(magnitude + (rounder + 2)),
                   toBits(std::fma(magnitude, 0.5f, rounder + 4)),
                   toBits(rounder + 7)});
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_ROUNDING_H
