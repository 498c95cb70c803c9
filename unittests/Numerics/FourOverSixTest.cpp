//===- FourOverSixTest.cpp - Choices between two scales -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Numerics/FourOverSix.h"

#include "blockscale/Numerics/Quantize.h"
#include "gtest/gtest.h"

using namespace blockscale::numerics;

namespace {

constexpr Recipe kChoices[] = {Recipe::Te4over6Mae, Recipe::Te4over6Mse};

GlobalFactors getFactors(float amax) {
  return getGlobalFactors(Recipe::Te4over6Mae, GlobalScale::fromAmax(amax));
}

// A tensor amax of 1536 has S = 1: scales are amax / 6 and 1.5 times that.
static_assert(getGlobalFactors(Recipe::Te4over6Mse,
                               GlobalScale::fromAmax(1536.0f))
                  .encode == 1.0f);
static_assert(getFourOverSixScales(6.0f, {1.0f, 1.0f, 1536.0f, 1.0f}).six ==
              0x38);
static_assert(getFourOverSixScales(6.0f, {1.0f, 1.0f, 1536.0f, 1.0f}).four ==
              0x3C);

// The largest block of a tensor aims at 256 and 384.
TEST(FourOverSix, LargestBlock) {
  FourOverSixScales scales = getFourOverSixScales(3.0f, getFactors(3.0f));
  EXPECT_EQ(decode(ElementFormat::E4M3, scales.six), 256.0f);
  EXPECT_EQ(decode(ElementFormat::E4M3, scales.four), 384.0f);
}

// With 6 at scale 1 or 4 at scale 1.5: 4.5 is 3 * 1.5 but between 4 and 6.
TEST(FourOverSix, PicksTheSmallerError) {
  for (Recipe recipe : kChoices) {
    float four[16] = {6.0f, 4.5f}, six[16] = {6.0f, 4.0f};
    uint8_t codes[16];
    GlobalFactors global = getFactors(1536.0f);
    EXPECT_EQ(
        quantizeBlock(recipe, ElementFormat::E2M1, global, four, 16, codes),
        0x3C);
    EXPECT_EQ(codes[0], 6);
    EXPECT_EQ(codes[1], 5);
    EXPECT_EQ(
        quantizeBlock(recipe, ElementFormat::E2M1, global, six, 16, codes),
        0x38);
    EXPECT_EQ(codes[0], 7);
    EXPECT_EQ(codes[1], 6);
  }
}

// Both errors are 0 where amax is all there is; the tie is the 6's.
TEST(FourOverSix, TieIsTheSix) {
  for (Recipe recipe : kChoices) {
    float x[16] = {-6.0f};
    uint8_t codes[16];
    EXPECT_EQ(quantizeBlock(recipe, ElementFormat::E2M1, getFactors(1536.0f), x,
                            16, codes),
              0x38);
    EXPECT_EQ(codes[0], 15);
    EXPECT_EQ(codes[1], 0);
  }
}

// One large error or several small ones: 5 misses by 1 at scale 1 (as 4) and
// by 0.5 at 1.5 (as 4.5); 1 is exact at scale 1 and misses by 0.25 at 1.5.
TEST(FourOverSix, ErrorsDiffer) {
  float x[16] = {6.0f, 5.0f, 1.0f, 1.0f, 1.0f};
  uint8_t codes[16];
  GlobalFactors global = getFactors(1536.0f);
  EXPECT_EQ(quantizeBlock(Recipe::Te4over6Mae, ElementFormat::E2M1, global, x,
                          16, codes),
            0x38);
  EXPECT_EQ(quantizeBlock(Recipe::Te4over6Mse, ElementFormat::E2M1, global, x,
                          16, codes),
            0x3C);
}

// A tile has one scale for its 16 rows, and adds all their errors.
TEST(FourOverSix, Tiles) {
  float x[16 * 16] = {};
  x[0] = 6.0f;
  x[15 * 16 + 15] = 4.5f;
  x[7 * 16 + 3] = -6.0f;
  uint8_t codes[16 * 16];
  Tile tile{16, 16, 16, 1};
  for (Recipe recipe : kChoices) {
    EXPECT_EQ(quantizeTile(recipe, ElementFormat::E2M1, getFactors(1536.0f), x,
                           tile, codes),
              0x3C);
    EXPECT_EQ(codes[0], 6);
    EXPECT_EQ(codes[255], 5);
    EXPECT_EQ(codes[115], 14);
  }
}

// Rows that are 8 apart meet first. An error of 1 is lost where it meets one of
// 2^24 alone; two of them are not.
TEST(FourOverSix, OrderOfRows) {
  constexpr Recipe kMae = Recipe::Te4over6Mae;
  GlobalFactors global = getFactors(1536.0f);
  ScaleCandidate<float> one = getScaleCandidate(kMae, 1.0f, global);
  // At scale 1, elements beyond the codes leave errors of |x - 6|.
  float x[16 * 16] = {};
  x[0] = 0x1p24f + 6.0f;
  x[64] = 7.0f;
  x[192] = 7.0f;
  Tile tile{16, 16, 16, 1};
  // Rows 4 and 12 meet first, and their 2 is not lost in 2^24.
  EXPECT_EQ(getFourOverSixError(kMae, global, x, tile, one), 0x1p24f + 2.0f);
  x[192] = 0.0f;
  x[128] = 7.0f;
  // Row 8 meets row 0, and after it row 4 does.
  EXPECT_EQ(getFourOverSixError(kMae, global, x, tile, one), 0x1p24f);
}

TEST(FourOverSix, ZeroAndNan) {
  for (Recipe recipe : kChoices) {
    float x[16] = {};
    uint8_t codes[16];
    EXPECT_EQ(quantizeBlock(recipe, ElementFormat::E2M1, getFactors(0.0f), x,
                            16, codes),
              0);
    EXPECT_EQ(codes[0], 0);
    x[3] = fromBits(kFloatNanBits);
    EXPECT_EQ(quantizeBlock(recipe, ElementFormat::E2M1, getFactors(1536.0f), x,
                            16, codes),
              kE4M3Nan);
    EXPECT_EQ(codes[0], 7);
    // A tensor amax of infinity leaves S = 1 and errors that say nothing.
    float one[16] = {6.0f, 4.5f};
    EXPECT_EQ(quantizeBlock(recipe, ElementFormat::E2M1,
                            getFactors(__builtin_huge_valf()), one, 16, codes),
              0x38);
  }
}

// Where only the decode scale is known, errors are measured with 1536 * g.
TEST(FourOverSix, DecodeScale) {
  GlobalFactors factors = getGlobalFactors(Recipe::Te4over6Mae,
                                           GlobalScale::fromDecodeScale(0.25f));
  EXPECT_EQ(factors.encode, 4.0f);
  EXPECT_EQ(factors.decode, 0.25f);
  EXPECT_EQ(factors.amax, 384.0f);
  EXPECT_EQ(getGlobalFactors(Recipe::Te4over6Mae, {}).amax, 1536.0f);
}

} // namespace
