//===- Division.h - Quotients by multiplication -----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Divisions of f32 as a GPU does them fast: no branches, no special cases. Each
// gives the correctly rounded quotient where nothing under- or overflows;
// unittests/Numerics/DivisionTest.cpp proves it.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_DIVISION_H
#define BLOCKSCALE_NUMERICS_DIVISION_H

#include <cmath>

namespace blockscale::numerics {

/// 1 / 6 rounded down, and the rest. Both are positive, so that infinity stays.
inline constexpr float kSixthHigh = 0x1.555554p-3f;
inline constexpr float kSixthLow = 0x1.555556p-27f;

/// a / 6: for each a from 2^-99 on, and infinity. What is below stays below.
inline float divideBySix(float a) {
  return std::fma(a, kSixthHigh, a * kSixthLow);
}

/// a / 1536, which 4over6 recipes divide by (FourOverSix.h): for each a.
inline constexpr double kInverseFourOverSixRange = 1.0 / 1536;
inline float divideByFourOverSixRange(float a) {
  return static_cast<float>(static_cast<double>(a) * kInverseFourOverSixRange);
}

/// a / 6 and a / 2688, which decode scales of amaxes are: for each a.
inline constexpr double kInverseSix = 1.0 / 6;
inline float divideBySixInDouble(float a) {
  return static_cast<float>(static_cast<double>(a) * kInverseSix);
}
inline constexpr double kInverseGlobalRange = 1.0 / 2688;
inline float divideByGlobalRange(float a) {
  return static_cast<float>(static_cast<double>(a) * kInverseGlobalRange);
}

/// 1 / d from what is within 1 unit in the last place of it, unless all bits of
/// the mantissa of d are set; of a value of E4M3 but 0 from what is within 2.
inline float refineReciprocal(float d, float approximation) {
  float error = std::fma(-d, approximation, 1.0f);
  return std::fma(error, approximation, approximation);
}

/// a / d, where `reciprocal` is 1 / d rounded (P. Markstein, Computation of
/// elementary functions on the IBM RISC System/6000 processor, 1990).
inline float divideByReciprocal(float a, float d, float reciprocal) {
  float quotient = a * reciprocal;
  float rest = std::fma(-d, quotient, a);
  return std::fma(rest, reciprocal, quotient);
}

/// a / d of any two, from what is within 2^-19 of 1 / d, relatively. f64 has
/// more than twice the bits of f32, so that rounding its quotient again is
/// harmless where it is exact whenever it has 25 bits.
inline float divideInDouble(float a, float d, double reciprocal) {
  double dividend = a, divisor = d;
  double error = std::fma(-divisor, reciprocal, 1.0);
  double refined = std::fma(error, reciprocal, reciprocal);
  double quotient = dividend * refined;
  double rest = std::fma(-divisor, quotient, dividend);
  // The rest is NaN where the divisor is 0 or infinity, or the dividend is.
  // That of a dividend of 0 is +0, which would take the sign of -0 away.
  if (std::isnan(rest) || dividend == 0)
    return static_cast<float>(dividend * reciprocal);
  return static_cast<float>(std::fma(rest, refined, quotient));
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_DIVISION_H
