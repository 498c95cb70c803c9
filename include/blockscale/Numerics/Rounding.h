//===- Rounding.h - Rounding to small formats by sums -----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions of f32 as CPUs and GPUs without `cvt` do them fast: sums whose
// last place is the spacing of codes. unittests/Numerics/RoundingTest.cpp
// proves them.
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

/// The bits of what `addE2M1Code` gives for 0.
inline constexpr uint32_t kE2M1Base = 0x4AFFFFFC;

/// `kE2M1Base` plus the E2M1 code of |x|.
///
/// The codes 0 to 7 stand for 0, 0.5, 1, 1.5, 2, 3, 4, 6. Those up to 2 are 1/2
/// apart, as f32 is below 2^23, and those up to 4 are 1 apart, as f32 is above:
/// the sum of |x| and 2^23 - 2 has four codes below 2^23 and the others above,
/// rounded as they are, ties to even, and its bits count them. Above 4 the sum
/// of |x| / 2 and 2^23, code 4, is the lesser one, as codes are 2 apart there,
/// below it is not. Bits of positive floats are in their order, with infinity
/// and NaN above the bits of code 7.
inline uint32_t addE2M1Code(float x) {
  float magnitude = std::abs(x);
  return std::min({toBits(magnitude + (0x1p23f - 2)),
                   toBits(std::fma(magnitude, 0.5f, 0x1p23f)), kE2M1Base + 7});
}

/// The least f32 above 5, the tie between the last two codes of E2M1, which
/// goes to the lesser one.
inline constexpr float kE2M1AboveLastTie = 0x1.400002p2f;

/// The E2M1 code of a magnitude: `encodeE2M1Magnitude` (Codec.h) for CPUs with
/// vectors, which compare and add integers beside sums of floats, and have few
/// units for fused products and for minima of floats.
///
/// The sum of `addE2M1Code` has the codes up to 6, that of 4; what is not below
/// `kE2M1AboveLastTie`, such as NaN, has the next one.
template <typename Number>
constexpr Bits<Number> countE2M1Code(Number magnitude) {
  Bits<Number> sum = toBits(magnitude + (0x1p23f - 2));
  Bits<Number> code =
      minUnsigned(sum, like(sum, kE2M1Base + 6)) - (kE2M1Base - 1);
  auto isBelowLast = isLess(magnitude, like(magnitude, kE2M1AboveLastTie));
  return code - select(isBelowLast, like(sum, 1u), like(sum, 0u));
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_ROUNDING_H
