//===- DivisionTest.cpp - Quotients by multiplication ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products and sums scale with powers of two as long as nothing under- or
// overflows, so that all mantissas of one exponent stand for every exponent.
//
//===----------------------------------------------------------------------===//

#include "blockscale/Numerics/Division.h"

#include "gtest/gtest.h"
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>

using namespace blockscale::numerics;

namespace {

constexpr uint32_t kMantissas = 1u << 23;
constexpr uint32_t kOne = 0x3F800000;

float toFloat(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

uint32_t toBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

// Each mantissa; the ends of the range of exponents.
TEST(Division, BySix) {
  for (uint32_t mantissa = 0; mantissa < kMantissas; ++mantissa) {
    float a = toFloat(kOne | mantissa);
    ASSERT_EQ(divideBySix(a), a / 6) << a;
  }
  for (uint32_t mantissa = 0; mantissa < kMantissas; mantissa += 61)
    for (float scale : {0x1p-99f, 0x1p127f}) {
      float a = toFloat(kOne | mantissa) * scale;
      ASSERT_EQ(divideBySix(a), a / 6) << a;
    }
  EXPECT_EQ(divideBySix(0), 0);
  EXPECT_EQ(divideBySix(std::numeric_limits<float>::infinity()),
            std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(divideBySix(toFloat(0x7FC00000))));
}

// What is too small to be exact is still below the smallest exact quotient.
TEST(Division, BySixOfSmallValuesIsSmall) {
  for (uint32_t bits = 0; bits < toBits(0x1p-99f); bits += 127)
    ASSERT_LE(divideBySix(toFloat(bits)), 0x1p-99f / 6) << bits;
}

// Each mantissa, where quotients are normal, and where they are not.
TEST(Division, ByFourOverSixRange) {
  for (uint32_t mantissa = 0; mantissa < kMantissas; ++mantissa)
    for (float scale : {1.0f, 0x1p-118f, 0x1p-126f}) {
      float a = toFloat(kOne | mantissa) * scale;
      ASSERT_EQ(divideByFourOverSixRange(a), a / 1536) << a;
    }
  for (uint32_t bits = 0; bits < 0x7F800000; bits += 61)
    ASSERT_EQ(divideByFourOverSixRange(toFloat(bits)), toFloat(bits) / 1536)
        << bits;
  EXPECT_EQ(divideByFourOverSixRange(-std::numeric_limits<float>::infinity()),
            -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(divideByFourOverSixRange(toFloat(0x7FC00000))));
}

// Values of E4M3 have eight mantissas.
TEST(Division, ReciprocalOfE4M3) {
  for (uint32_t mantissa = 0; mantissa < 8; ++mantissa)
    for (int exponent = -9; exponent <= 8; ++exponent) {
      float d = std::ldexp(1 + mantissa / 8.0f, exponent);
      uint32_t rounded = toBits(1 / d);
      for (uint32_t bits = rounded - 2; bits <= rounded + 2; ++bits)
        EXPECT_EQ(refineReciprocal(d, toFloat(bits)), 1 / d) << d;
    }
}

// Each mantissa by each value of E4M3.
TEST(Division, ByE4M3) {
  for (uint32_t mantissa = 0; mantissa < 8; ++mantissa) {
    float d = 1 + mantissa / 8.0f, reciprocal = 1 / d;
    for (uint32_t bits = kOne; bits < kOne + kMantissas; ++bits) {
      float a = toFloat(bits);
      ASSERT_EQ(divideByReciprocal(a, d, reciprocal), a / d) << a << " " << d;
    }
  }
}

// Any divisor: Markstein's theorem, on samples, and on divisors at the ends.
TEST(Division, ByAnything) {
  std::mt19937 random(1);
  for (int i = 0; i < 2'000'000; ++i) {
    uint32_t mantissa = random() % kMantissas;
    if (i % 4 == 0)
      mantissa = i % 8 == 0 ? kMantissas - 1 - i % 64 : i % 64;
    float d = toFloat(kOne | mantissa);
    float a = toFloat(kOne | random() % kMantissas);
    float reciprocal = 1 / d;
    ASSERT_EQ(divideByReciprocal(a, d, reciprocal), a / d) << a << " " << d;
    ASSERT_EQ(
        divideByReciprocal(a * 0x1p-70f, d * 0x1p-80f, reciprocal * 0x1p80f),
        a / d * 0x1p10f)
        << a << " " << d;
    ASSERT_EQ(
        divideByReciprocal(a * 0x1p70f, d * 0x1p80f, reciprocal * 0x1p-80f),
        a / d * 0x1p-10f)
        << a << " " << d;
  }
}

} // namespace
