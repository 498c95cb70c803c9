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

/// 1 / d of a value of E4M3 but 0, from what is within 2 units in the last
/// place of it.
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

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_DIVISION_H
