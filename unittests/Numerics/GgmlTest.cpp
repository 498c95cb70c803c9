//===- GgmlTest.cpp - The rounding of ggml's 4-bit formats ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Numerics/Ggml.h"

#include "Matrix.h"
#include "gtest/gtest.h"

using namespace blockscale::numerics;

namespace {

/// The nearest magnitude in E4M3, ties up, but for the ends of the range.
uint8_t findNearest(float x) {
  if (x >= 256.0f)
    return 0x7E;
  uint8_t best = 0;
  for (uint8_t code = 1; code < 0x78; ++code) {
    double value = decode(ElementFormat::E4M3, code);
    double before = decode(ElementFormat::E4M3, code - 1);
    if (x >= (value + before) / 2)
      best = code;
  }
  // The largest below 256 is rounded to 256, which is 448.
  return x >= 248.0f ? 0x7E : best;
}

TEST(Ggml, ScalesOfNvfp4AreRoundedHalfUp) {
  // Every bf16 from 2^-12 to 2^9, and its neighbours, has each tie.
  for (uint32_t bits = 0x3980; bits < 0x4400; ++bits)
    for (int step : {-1, 0, 1}) {
      float x = fromBits((bits << 16) + static_cast<uint32_t>(step));
      uint8_t expected = findNearest(x);
      // Subnormal sums are rounded to f32, and none becomes normal.
      if (x < kE4M3MinNormal) {
        float sum = x * 512.0f + 0.5f;
        expected = std::min<uint8_t>(static_cast<uint8_t>(sum), 7);
      }
      ASSERT_EQ(encodeGgmlE4M3(x), expected) << x;
    }
}

TEST(Ggml, EndsOfScalesOfNvfp4) {
  for (float x : {0.0f, -0.0f, -1.0f, -kInfinity, NAN, 0x1.fffffcp-11f})
    EXPECT_EQ(encodeGgmlE4M3(x), 0) << x;
  // The sum with a half is rounded to 1.
  EXPECT_EQ(encodeGgmlE4M3(0x1.fffffep-11f), 1);
  EXPECT_EQ(encodeGgmlE4M3(0x1p-10f), 1);
  EXPECT_EQ(encodeGgmlE4M3(0x1.fffffep-7f), 7);
  EXPECT_EQ(encodeGgmlE4M3(0x1p-6f), 8);
  // E4M3 has 256 to 416, but ggml does not use them.
  EXPECT_EQ(encodeGgmlE4M3(247.9f), 0x77);
  EXPECT_EQ(encodeGgmlE4M3(248.0f), 0x7E);
  EXPECT_EQ(encodeGgmlE4M3(256.0f), 0x7E);
  EXPECT_EQ(encodeGgmlE4M3(kInfinity), 0x7E);
  EXPECT_EQ(getGgmlE4M3ScaleByte(6.0f), 0x38);
}

TEST(Ggml, ScalesOfMxfp4) {
  for (int exponent = -125; exponent < 128; ++exponent) {
    EXPECT_EQ(getGgmlE8M0ScaleByte(powerOfTwo(exponent < 127 ? exponent : 126)),
              (exponent < 127 ? exponent : 126) + 125);
    if (exponent < 127)
      EXPECT_EQ(getGgmlE8M0ScaleByte(powerOfTwo(exponent) * 1.875f),
                exponent + 125);
  }
  // The logarithm of what is just below a power of two rounds to a whole
  // number, unless it is near 0.
  EXPECT_EQ(getGgmlE8M0ScaleByte(0x1.fffffep-6f), 120);
  EXPECT_EQ(getGgmlE8M0ScaleByte(0x1.ffff00p-6f), 119);
  EXPECT_EQ(getGgmlE8M0ScaleByte(0x1.fffffep-1f), 124);
  // Below 2^-125, and where there is no amax.
  for (float x : {0.0f, 0x1p-126f, 0x1p-149f})
    EXPECT_EQ(getGgmlE8M0ScaleByte(x), 0) << x;
  EXPECT_EQ(getGgmlE8M0ScaleByte(kFloatMax), 253);
  EXPECT_EQ(getGgmlE8M0ScaleByte(kInfinity), 254);
}

/// Under any scale, both find the same code wherever the first is defined.
void compareCodes(float scale) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float x = fromBits(bits << 16);
    if (magnitudeOf(x) > kGgmlNearestLimit * scale)
      continue;
    ASSERT_EQ(encodeGgmlE2M1(x, scale), searchGgmlE2M1(x, scale))
        << x << " under " << scale;
  }
  for (float bound : kE2M1Bounds)
    for (float sign : {1.0f, -1.0f})
      for (int step : {-1, 0, 1}) {
        float x = sign *
                  fromBits(toBits(bound * scale) + static_cast<uint32_t>(step));
        ASSERT_EQ(encodeGgmlE2M1(x, scale), searchGgmlE2M1(x, scale))
            << x << " under " << scale;
      }
}

TEST(Ggml, CodesAreThoseOfTheSearch) {
  for (int exponent : {-127, -126, -100, -1, 0, 5, 100})
    compareCodes(decodeE8M0(static_cast<uint8_t>(exponent + 127)));
  for (unsigned byte = 1; byte < 0x7F; ++byte)
    compareCodes(decode(ElementFormat::E4M3, static_cast<uint8_t>(byte)));
}

TEST(Ggml, TiesGoTowardZero) {
  const float ties[] = {0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.0f};
  for (uint32_t i = 0; i < 7; ++i) {
    EXPECT_EQ(encodeGgmlE2M1(ties[i], 1.0f), i);
    EXPECT_EQ(encodeGgmlE2M1(-ties[i], 1.0f), i == 0 ? 0 : i + 8);
    EXPECT_EQ(encodeGgmlE2M1(1.01f * ties[i], 1.0f), i + 1);
    EXPECT_EQ(encodeGgmlE2M1(-1.01f * ties[i], 1.0f), i + 9);
  }
  // There is no -0, and NaN is 0.
  for (float x : {0.0f, -0.0f, -0.1f, NAN, -NAN})
    EXPECT_EQ(encodeGgmlE2M1(x, 1.0f), 0u) << x;
}

// What is far above the largest value is not the largest code: differences are
// rounded to the same number, of which the first counts.
TEST(Ggml, FarValues) {
  EXPECT_EQ(searchGgmlE2M1(1e30f, 448.0f), 0u);
  EXPECT_EQ(searchGgmlE2M1(kInfinity, 448.0f), 0u);
  EXPECT_EQ(searchGgmlE2M1(NAN, 448.0f), 0u);
  EXPECT_EQ(searchGgmlE2M1(1e5f, 448.0f), 7u);
}

} // namespace
