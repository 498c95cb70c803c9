//===- StochasticRoundingTest.cpp - Codes from random bits ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Numerics/StochasticRounding.h"

#include "blockscale/Numerics/Quantize.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace blockscale::numerics;

namespace {

float valueOf(float x, int bits) {
  return decode(ElementFormat::E2M1,
                encodeE2M1Stochastic(x, static_cast<uint8_t>(bits)));
}

/// The rule in f64, where t is exact for every x that is tested.
double expectedValue(double x, int bits) {
  double magnitude = std::fmin(std::fabs(x), 6.0);
  auto stepAt = [](double value) {
    return value < 2 ? 0.5 : value < 4 ? 1.0 : 2.0;
  };
  double t = magnitude + bits / 256.0 * stepAt(magnitude);
  double down = std::floor(t / stepAt(t)) * stepAt(t);
  return std::copysign(std::fmin(down, 6.0), x);
}

// Multiples of 2^-12 up to beyond the largest value, with their neighbours in
// f32, under all bits.
TEST(StochasticRounding, IsTheRule) {
  for (int i = 0; i <= 7 * 4096; i += 3) {
    uint32_t center = toBits(static_cast<float>(i) / 4096.0f);
    for (uint32_t pattern : {center, center + 1, center + 0x7FFF}) {
      float x = fromBits(pattern);
      for (int bits = 0; bits < 256; ++bits) {
        ASSERT_EQ(valueOf(x, bits), expectedValue(x, bits)) << x << " " << bits;
        ASSERT_EQ(toBits(valueOf(-x, bits)), toBits(-valueOf(x, bits)));
      }
    }
  }
}

// GPUs compute codes from the bits of a sum, whose product is rounded towards
// zero.
TEST(StochasticRounding, SumsHaveTheCodes) {
  auto getSumCode = [](float magnitude, uint32_t bits) {
    magnitude = std::fmin(magnitude, kE2M1Max);
    // Exact in f64 from 2^-29 on; below, what is cut off leaves a half.
    double moved = (static_cast<double>(magnitude) + 1) / 2;
    auto low = static_cast<float>(moved);
    if (static_cast<double>(low) > moved)
      low = std::nextafter(low, 0.0f);
    return getStochasticCode(getStochasticSum(magnitude, low, bits));
  };
  for (int i = 0; i <= 7 * 4096; i += 3) {
    uint32_t center = toBits(static_cast<float>(i) / 4096.0f);
    for (uint32_t pattern :
         {center, center + 1, center + 0x7FFF, i > 0 ? center - 1 : center})
      for (uint32_t bits = 0; bits < 256; ++bits)
        ASSERT_EQ(
            getSumCode(fromBits(pattern), bits),
            encodeE2M1Stochastic(fromBits(pattern), static_cast<uint8_t>(bits)))
            << fromBits(pattern) << " " << bits;
  }
  EXPECT_EQ(getSumCode(0x1p-149f, 255), 0u);
  EXPECT_EQ(getSumCode(fromBits(kFloatNanBits), 0), 7u);
}

// Only the two neighbours appear, the upper one in proportion to the distance
// from the lower one.
TEST(StochasticRounding, IsUnbiased) {
  constexpr float kValues[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (int i = 0; i < 7; ++i) {
    float lower = kValues[i], upper = kValues[i + 1];
    for (int part = 0; part < 256; ++part) {
      float x = lower + (upper - lower) * static_cast<float>(part) / 256.0f;
      int ups = 0;
      for (int bits = 0; bits < 256; ++bits) {
        float value = valueOf(x, bits);
        ASSERT_TRUE(value == lower || value == upper) << x << " " << bits;
        ups += value == upper;
      }
      ASSERT_EQ(ups, part) << x;
    }
  }
}

TEST(StochasticRounding, Edges) {
  for (int bits : {0, 1, 128, 255}) {
    auto code = [&](float x) {
      return encodeE2M1Stochastic(x, static_cast<uint8_t>(bits));
    };
    EXPECT_EQ(code(0.0f), 0);
    EXPECT_EQ(code(-0.0f), 8);
    EXPECT_EQ(code(0x1p-149f), 0);
    EXPECT_EQ(code(6.0f), 7);
    EXPECT_EQ(code(-7.0f), 15);
    EXPECT_EQ(code(__builtin_huge_valf()), 7);
    EXPECT_EQ(code(-__builtin_huge_valf()), 15);
    EXPECT_EQ(code(fromBits(kFloatNanBits)), 7);
    EXPECT_EQ(code(fromBits(kFloatNanBits | kFloatSignMask)), 7);
  }
  // Within an f32 ulp of the next 256th, the f32 sum would round up to 0.5.
  EXPECT_EQ(encodeE2M1Stochastic(fromBits(toBits(0x1p-9f) - 1), 255), 0);
  EXPECT_EQ(encodeE2M1Stochastic(0x1p-9f, 255), 1);
}

// A tile of x and the same elements as rows draw the same bits.
TEST(StochasticRounding, BitsBelongToElements) {
  constexpr int64_t kRows = 16, kCols = 32;
  float x[kRows * kCols];
  for (int64_t i = 0; i < kRows * kCols; ++i)
    x[i] = static_cast<float>((i * 37) % 101) / 17.0f - 3.0f;
  RngState rng{42, 7};
  uint8_t tiles[kRows * kCols], rows[kRows * kCols];
  constexpr uint8_t kOne = 0x38;
  for (int64_t col = 0; col < kCols; col += 16)
    encodeTileStochastic(Recipe::Te, kOneLevel, x + col, {16, 16, kCols, 1},
                         kOne, rng, 0, col, kCols, tiles + col);
  for (int64_t row = 0; row < kRows; ++row)
    encodeTileStochastic(Recipe::Te, kOneLevel, x + row * kCols,
                         {1, kCols, 0, 1}, kOne, rng, row, 0, kCols,
                         rows + row * kCols);
  for (int64_t i = 0; i < kRows * kCols; ++i) {
    EXPECT_EQ(tiles[i], rows[i]) << i;
    EXPECT_EQ(rows[i],
              encodeE2M1Stochastic(
                  x[i], getRandomByte(rng, i / kCols, i % kCols, kCols)));
  }
}

// With the bits of the generator, the mean of many roundings is the value.
TEST(StochasticRounding, MeanOfManyElements) {
  constexpr int64_t kCols = 4096, kRows = 64;
  RngState rng{123, 0};
  for (float x : {0.1f, 0.7f, 1.9f, -2.3f, 3.25f, -5.5f}) {
    double sum = 0;
    for (int64_t row = 0; row < kRows; ++row)
      for (int64_t group = 0; group < kCols / 16; ++group) {
        PhiloxWords words = getRandomWords(rng, row * (kCols / 16) + group);
        for (int i = 0; i < 16; ++i)
          sum += valueOf(x, getRandomByte(words, i));
      }
    // Up to 1/256 of a step is cut off; 262,144 draws leave a deviation of at
    // most 1/512 of a step, of which four are allowed.
    double step = std::fabs(x) < 2 ? 0.5 : std::fabs(x) < 4 ? 1.0 : 2.0;
    EXPECT_NEAR(sum / static_cast<double>(kRows * kCols), x,
                step * (1.0 / 256 + 4.0 / 1024));
  }
}

TEST(StochasticRounding, RecipesDropNegativeZero) {
  constexpr float one = 1.0f;
  EXPECT_EQ(quantizeElementStochastic(Recipe::Te, -0.0f, one, 255), 0);
  EXPECT_EQ(quantizeElementStochastic(Recipe::Torchao, -0.0f, one, 255), 8);
  EXPECT_EQ(quantizeElementStochastic(Recipe::Te, -0x1p-20f, one, 255), 8);
  constexpr float half = 2.0f;
  EXPECT_EQ(quantizeElementStochastic(Recipe::Modelopt, 3.0f, half, 0), 3);
}

} // namespace
