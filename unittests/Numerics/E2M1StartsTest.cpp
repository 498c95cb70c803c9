//===- E2M1StartsTest.cpp - E2M1 codes of bf16 by comparison --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Numerics/E2M1Starts.h"
#include "blockscale/Numerics/Rounding.h"

#include "gtest/gtest.h"

#include <random>

using namespace blockscale::numerics;

namespace {

/// The codes of all magnitudes of bf16, NaN too, are those of the formula.
void expectAllCodes(Recipe recipe, float factor) {
  ASSERT_TRUE(hasE2M1Starts(recipe, factor)) << factor;
  E2M1Starts<uint32_t> starts = getE2M1Starts(recipe, factor);
  for (uint32_t bits = 0; bits < 0x8000; ++bits) {
    float scaled = applyFactor(recipe, fromBits(bits << 16), factor);
    ASSERT_EQ(countE2M1Code(bits, starts), countE2M1Code(magnitudeOf(scaled)))
        << fromBits(bits << 16) << " under " << factor;
    // A sign is that of the element: no other scaled value is zero.
    ASSERT_EQ(scaled == 0, bits == 0) << fromBits(bits << 16);
  }
}

constexpr Recipe kRecipesOfBlocks[] = {Recipe::Te, Recipe::Modelopt};

// Factors of any mantissa; the ends of the range; powers of two, as MX has.
TEST(E2M1Starts, AllMagnitudes) {
  std::mt19937 random(1);
  for (Recipe recipe : kRecipesOfBlocks) {
    bool divides = dividesElements(recipe);
    float least = divides ? kStartsLeastStep : 1 / kStartsMostStep;
    float most = divides ? kStartsMostStep : 1 / kStartsLeastStep;
    for (float factor :
         {least, fromBits(toBits(least) + 1), fromBits(toBits(most) - 1), 1.0f,
          0.5f, 64.0f, fromBits(toBits(1.0f) - 1), fromBits(toBits(1.0f) + 1)})
      ASSERT_NO_FATAL_FAILURE(expectAllCodes(recipe, factor));
    std::uniform_int_distribution<uint32_t> any(toBits(least),
                                                toBits(most) - 1);
    for (int i = 0; i < 500; ++i)
      ASSERT_NO_FATAL_FAILURE(expectAllCodes(recipe, fromBits(any(random))));
  }
}

// Factors for which elements lie on ties, or next to them: the scales of a
// block times global scales whose amax is a bf16, and what is near to a bf16
// after it is divided by the tie.
TEST(E2M1Starts, Ties) {
  std::mt19937 random(2);
  for (Recipe recipe : kRecipesOfBlocks)
    for (int i = 0; i < 60; ++i) {
      float amax = fromBits((0x3F80 + random() % 0x80) << 16);
      GlobalFactors global =
          getGlobalFactors(recipe, GlobalScale::fromAmax(amax));
      for (uint8_t byte = 0x38; byte < 0x40; ++byte)
        ASSERT_NO_FATAL_FAILURE(
            expectAllCodes(recipe, getElementFactor(recipe, byte, global)));
      float x = fromBits((0x3F80 + random() % 0x80) << 16);
      for (float tie : {1.0f, 1.25f, 1.5f, 1.75f})
        for (uint32_t ulps : {-2u, -1u, 0u, 1u, 2u}) {
          float step = dividesElements(recipe) ? x / tie : tie / x;
          ASSERT_NO_FATAL_FAILURE(
              expectAllCodes(recipe, fromBits(toBits(step) + ulps)));
        }
    }
}

// Other factors have none: 0, what is too small or too large, infinity, NaN,
// and negative ones.
TEST(E2M1Starts, FactorsWithout) {
  for (Recipe recipe : kRecipesOfBlocks) {
    bool divides = dividesElements(recipe);
    float least = divides ? kStartsLeastStep : 1 / kStartsMostStep;
    float most = divides ? kStartsMostStep : 1 / kStartsLeastStep;
    for (float factor :
         {0.0f, -0.0f, fromBits(toBits(least) - 1), most, -1.0f, kFloatMax,
          fromBits(kFloatInfinityBits), fromBits(kFloatNanBits)})
      EXPECT_FALSE(hasE2M1Starts(recipe, factor)) << factor;
  }
}

} // namespace
