//===- InputRoundingTest.cpp - Rounding to bf16 and f16 -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Numerics/InputRounding.h"
#include "Matrix.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace blockscale::numerics;

namespace {

float decodeBF16(uint32_t code) { return fromBits(code << 16); }

/// 5 bits of exponent, biased by 15, and 10 of mantissa.
float decodeF16(uint32_t code) {
  int exponent = static_cast<int>(code >> 10);
  auto mantissa = static_cast<float>(code & 0x3FF);
  return exponent == 0 ? std::ldexp(mantissa, -24)
                       : std::ldexp(mantissa + 1024, exponent - 25);
}

/// Holds `round` to every number of a type, given by `decode`, and to the
/// numbers around the middle of each two. The middle between the last number
/// and the one that would follow it counts as a tie.
template <typename Round, typename Decode>
void expectNearest(Round round, Decode decode, uint32_t last) {
  for (uint32_t code = 0; code <= last; ++code) {
    auto value = static_cast<double>(decode(code));
    bool isLast = code == last;
    double next = isLast ? 2 * value - decode(code - 1) : decode(code + 1);
    auto middle = static_cast<float>((value + next) / 2);
    float above = isLast ? kInfinity : static_cast<float>(next);
    auto low = static_cast<float>(value);
    ASSERT_EQ(round(low), low) << code;
    ASSERT_EQ(round(std::nextafter(middle, 0.0f)), low) << code;
    ASSERT_EQ(round(middle), code % 2 ? above : low) << code;
    ASSERT_EQ(round(std::nextafter(middle, kInfinity)), above) << code;
  }
  EXPECT_EQ(round(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(round(std::nanf(""))));
  EXPECT_TRUE(std::isnan(round(fromBits(0x7FFFFFFF))));
  EXPECT_TRUE(std::isnan(round(fromBits(0x7F800001))));
}

TEST(InputRounding, BF16) {
  expectNearest([](float x) { return roundToBF16(x); }, decodeBF16, 0x7F7F);
}

TEST(InputRounding, F16) {
  expectNearest([](float x) { return roundToF16(x); }, decodeF16, 0x7BFF);
  EXPECT_EQ(roundToF16(FLT_MAX), kInfinity);
}

// A recipe that takes every type of x rounds to none.
TEST(InputRounding, OtherRecipes) {
  float x = 1.0f + FLT_EPSILON;
  for (Recipe recipe : kRecipes)
    if (!roundsToInput(recipe))
      EXPECT_EQ(roundToInput(recipe, x), x) << getName(recipe);
}

} // namespace
