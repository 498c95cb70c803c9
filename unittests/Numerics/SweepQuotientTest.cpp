//===- SweepQuotientTest.cpp - Quotients by reciprocals -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// GPU kernels compute the quotient w / s of a scale sweep from r = 1 / s as
//
//   q = w * r      q' = q + (w - q * s) * r
//
// in f32 with fused multiply-adds. Both q' and w / s are within two units in
// the last place of the exact quotient, so they can become different E2M1
// values only next to where rounding changes: there, all scales are tried.
// Powers of two scale everything alike as long as nothing is subnormal or
// overflows: for scales from 2^-60 to 2^60 and quotients between 1/8 and 8 the
// smallest bit of any intermediate value is above 2^-120. Smaller quotients
// become 0, larger ones, infinities and NaN 6, in either way.
//
//===----------------------------------------------------------------------===//

#include "blockscale/Numerics/ScaleSweep.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace blockscale::numerics;

namespace {

float getQuotient(float w, float scale, float reciprocal) {
  float quotient = w * reciprocal;
  return std::fma(std::fma(-scale, quotient, w), reciprocal, quotient);
}

TEST(SweepQuotientTest, IsExactNextToWhereRoundingChanges) {
  constexpr uint32_t mantissas = 1u << kFloatMantissaBits;
  uint32_t one = toBits(1.0f);
  uint64_t differences = 0;
  for (uint32_t mantissa = 0; mantissa < mantissas; ++mantissa) {
    float scale = fromBits(one | mantissa), reciprocal = 1.0f / scale;
    for (float limit : {0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.0f}) {
      uint32_t nearest = toBits(limit * scale);
      for (uint32_t bits = nearest - 3; bits <= nearest + 3; ++bits) {
        float w = fromBits(bits);
        differences += getQuotient(w, scale, reciprocal) != w / scale;
      }
    }
  }
  EXPECT_EQ(differences, 0u);
}

TEST(SweepQuotientTest, BecomesTheSameAtTheLimitsOfScales) {
  const float edges[] = {0.0f,
                         fromBits(1),
                         0x1p-149f,
                         0x1p-126f,
                         0x1p-62f,
                         0x1.8p-63f,
                         1.0f,
                         0x1.4p62f,
                         0x1.cp61f,
                         kFloatMax,
                         fromBits(kFloatInfinityBits),
                         fromBits(kFloatNanBits)};
  for (float scale : {0x1p-60f, 0x1.fffffep-60f, 0x1.fffffep59f, 0x1p60f})
    for (float w : edges)
      EXPECT_EQ(roundToE2M1(getQuotient(w, scale, 1.0f / scale)),
                roundToE2M1(w / scale))
          << w << " / " << scale;
}

} // namespace
