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
#include "blockscale/Numerics/Bits.h"

#include "gtest/gtest.h"
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

using namespace blockscale::numerics;

namespace {

constexpr uint32_t kMantissas = 1u << 23;
constexpr uint32_t kOne = 0x3F800000;

float toFloat(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
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
void expectConstantDivision(float (*divide)(float), float d) {
  for (uint32_t mantissa = 0; mantissa < kMantissas; ++mantissa)
    for (float scale : {1.0f, d * 0x1p-128f, 0x1p-126f}) {
      float a = toFloat(kOne | mantissa) * scale;
      ASSERT_EQ(divide(a), a / d) << a;
    }
  for (uint32_t bits = 0; bits < 0x7F800000; bits += 61)
    ASSERT_EQ(divide(toFloat(bits)), toFloat(bits) / d) << bits;
  EXPECT_EQ(divide(-std::numeric_limits<float>::infinity()),
            -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(divide(toFloat(0x7FC00000))));
}

TEST(Division, ByFourOverSixRange) {
  expectConstantDivision(divideByFourOverSixRange, 1536);
}
TEST(Division, BySixInDouble) {
  expectConstantDivision(divideBySixInDouble, 6);
}
TEST(Division, ByGlobalRange) {
  expectConstantDivision(divideByGlobalRange, 2688);
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

// All approximations within 1 unit in the last place, for all mantissas.
TEST(Division, Reciprocal) {
  for (uint32_t mantissa = 0; mantissa + 1 < kMantissas; ++mantissa) {
    float d = toFloat(kOne | mantissa);
    uint32_t rounded = toBits(1 / d);
    for (uint32_t bits = rounded - 1; bits <= rounded + 1; ++bits) {
      double error = toFloat(bits) - 1 / static_cast<double>(d);
      if (std::abs(error) <= 0x1p-24)
        ASSERT_EQ(refineReciprocal(d, toFloat(bits)), 1 / d) << d;
    }
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

/// An approximation as `rcp.approx.ftz.f64` gives it: the low 32 bits are zero.
double approximate(float d, int error) {
  double reciprocal = 1 / static_cast<double>(d);
  uint64_t bits;
  std::memcpy(&bits, &reciprocal, sizeof(bits));
  uint64_t rounded = (bits >> 32) << 32;
  if (std::isfinite(reciprocal) && reciprocal != 0)
    rounded += static_cast<uint64_t>(static_cast<int64_t>(error)) << 32;
  std::memcpy(&reciprocal, &rounded, sizeof(bits));
  return reciprocal;
}

void expectDivisionInDouble(float a, float d, int error) {
  float quotient = divideInDouble(a, d, approximate(d, error));
  if (std::isnan(a / d))
    ASSERT_TRUE(std::isnan(quotient)) << a << " " << d;
  else
    ASSERT_EQ(toBits(quotient), toBits(a / d)) << a << " " << d;
}

// Any two, and those that are special, have special quotients, or lie where
// quotients of 25 bits fall between two subnormal values.
TEST(Division, InDouble) {
  std::mt19937 random(1);
  for (int i = 0; i < 5'000'000; ++i)
    expectDivisionInDouble(toFloat(random()), toFloat(random()), i % 5 - 2);
  std::vector<float> values = {0, -0.0f,
                               std::numeric_limits<float>::infinity()};
  for (int exponent = -149; exponent < 128; exponent += 3)
    for (float mantissa : {1.0f, 1.25f, 1.5f, 1.75f, toFloat(kOne + 1),
                           toFloat(kOne + kMantissas - 1)})
      values.push_back(std::ldexp(mantissa, exponent));
  for (float a : values)
    for (float d : values)
      for (float sign : {1.0f, -1.0f})
        expectDivisionInDouble(a, sign * d, sign > 0 ? 2 : -2);
  float nan = toFloat(0x7FC00000);
  expectDivisionInDouble(nan, 1, 0);
  expectDivisionInDouble(1, nan, 0);
}

} // namespace
