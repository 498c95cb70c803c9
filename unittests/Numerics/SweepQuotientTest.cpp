//===- SweepQuotientTest.cpp - Quotients by reciprocals -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// GPU kernels compute the quotient w / s of a scale sweep as
//
//   r = 1 / s, rounded down      e = (1 - r * s) / s      q = w * r + w * e
//
// in f32, where 1 - r * s and the last sum are fused multiply-adds. Both q and
// w / s are within a unit in the last place of the exact quotient, so they can
// become different E2M1 values only next to where rounding changes: there, all
// scales are tried. Powers of two scale everything alike as long as nothing is
// subnormal or overflows: 1 - r * s is 0 or at least 2^-47, so that for scales
// from 2^-60 to 2^60 and quotients between 1/8 and 8 nothing else than 0 is
// below 2^-108. Smaller quotients become 0, larger ones, infinities and NaN 6,
// in either way.
//
//===----------------------------------------------------------------------===//

#include "blockscale/Numerics/ScaleSweep.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace blockscale::numerics;

namespace {

/// What is computed once a scale.
struct Reciprocal {
  explicit Reciprocal(float scale) : value(1.0f / scale) {
    if (std::fma(value, -scale, 1.0f) < 0.0f)
      value = fromBits(toBits(value) - 1);
    rest = std::fma(value, -scale, 1.0f) / scale;
  }
  float value, rest;
};

float getQuotient(float w, Reciprocal reciprocal) {
  return std::fma(w, reciprocal.value, w * reciprocal.rest);
}

TEST(SweepQuotientTest, BecomesTheSameNextToWhereRoundingChanges) {
  constexpr uint32_t mantissas = 1u << kFloatMantissaBits;
  uint32_t one = toBits(1.0f);
  uint64_t differences = 0;
  for (uint32_t mantissa = 0; mantissa < mantissas; ++mantissa) {
    float scale = fromBits(one | mantissa);
    Reciprocal reciprocal(scale);
    for (float limit : {0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.0f}) {
      uint32_t nearest = toBits(limit * scale);
      for (uint32_t bits = nearest - 3; bits <= nearest + 3; ++bits) {
        float w = fromBits(bits);
        differences +=
            roundToE2M1(getQuotient(w, reciprocal)) != roundToE2M1(w / scale);
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
      EXPECT_EQ(roundToE2M1(getQuotient(w, Reciprocal(scale))),
                roundToE2M1(w / scale))
          << w << " / " << scale;
}

} // namespace
