//===- GlobalScaleTest.cpp - Global scales at their edges -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Matrix.h"

#include "blockscale/Numerics/GlobalScale.h"
#include "gtest/gtest.h"

using namespace blockscale::numerics;

namespace {

static_assert(getDecodeScale(Recipe::Torchao, 2688.0f) == 1.0f);
static_assert(getDecodeScale(Recipe::Modelopt, 2688.0f) == 1.0f);
static_assert(getDecodeScale(Recipe::Mslk, 2688.0f) == 1.0f);
static_assert(getDecodeScale(Recipe::Te, 2688.0f) == 1.0f);
static_assert(getDecodeScale(Recipe::Rceil, 5.0f) == 1.0f);

static_assert(getDecodeScale(Recipe::Torchao, 0.0f) == 0.0f);
static_assert(getDecodeScale(Recipe::TorchaoTraining, 0.0f) == 0.0f);
static_assert(getMslkEncodeScale(0.0f) == kGlobalRange / 1e-8f);
static_assert(getMslkEncodeScale(1e-9f) == kGlobalRange / 1e-8f);
static_assert(getMslkEncodeScale(2e-8f) == kGlobalRange / 2e-8f);

// 2688 / amax overflows below 7.9e-36.
TEST(GlobalScale, TeClampsTheEncodeScale) {
  EXPECT_EQ(getTeEncodeScale(0x1p-126f), kFloatMax);
  EXPECT_EQ(getTeEncodeScale(0x1p-149f), kFloatMax);
  EXPECT_EQ(getTeEncodeScaleFromDecode(0x1p-149f), kFloatMax);
}

TEST(GlobalScale, TeOfZeroAndInfinity) {
  EXPECT_EQ(getTeEncodeScale(0.0f), 1.0f);
  EXPECT_EQ(getDecodeScale(Recipe::Te, 0.0f), 1.0f);
  EXPECT_EQ(getTeEncodeScale(kInfinity), 1.0f);
  EXPECT_EQ(getTeEncodeScaleFromDecode(0.0f), 1.0f);
}

TEST(GlobalScale, NanPropagates) {
  float nan = fromBits(kFloatNanBits);
  for (Recipe recipe : {Recipe::Torchao, Recipe::Mslk, Recipe::Te,
                        Recipe::Modelopt, Recipe::TorchaoTraining}) {
    EXPECT_TRUE(isNan(getDecodeScale(recipe, nan))) << getName(recipe);
    GlobalFactors factors =
        getGlobalFactors(recipe, GlobalScale::fromAmax(nan));
    EXPECT_TRUE(isNan(factors.encode)) << getName(recipe);
    EXPECT_TRUE(isNan(factors.decode)) << getName(recipe);
  }
}

static_assert(GlobalScale().getKind() == GlobalScale::Kind::Absent);
static_assert(GlobalScale().getValue() == 1.0f);

// A given decode scale is dequantized with as it is, also where the recipe
// computes with its inverse: 1/(1/g) is not g.
TEST(GlobalScale, GivenDecodeScaleIsKept) {
  constexpr float kDecode = 7.0f;
  ASSERT_NE(1.0f / (1.0f / kDecode), kDecode);
  for (Recipe recipe : {Recipe::Torchao, Recipe::Mslk, Recipe::Te,
                        Recipe::Modelopt, Recipe::TorchaoTraining})
    EXPECT_EQ(
        getGlobalFactors(recipe, GlobalScale::fromDecodeScale(kDecode)).decode,
        kDecode);
}

// From the amax, the encode scale is the quotient, not the inverse of the
// decode scale.
TEST(GlobalScale, EncodeScaleOfAmaxIsTheQuotient) {
  int differences = 0;
  for (int i = 0; i < 128; ++i) {
    float amax = fromBits(0x3F800000u + static_cast<uint32_t>(i << 16));
    for (Recipe recipe : {Recipe::Mslk, Recipe::Te}) {
      GlobalFactors factors =
          getGlobalFactors(recipe, GlobalScale::fromAmax(amax));
      EXPECT_EQ(factors.encode, kGlobalRange / amax);
      EXPECT_EQ(factors.decode, 1.0f / (kGlobalRange / amax));
      differences += 1.0f / factors.decode != factors.encode;
    }
    // torchao multiplies by another quotient what it quantizes for training.
    GlobalFactors factors =
        getGlobalFactors(Recipe::TorchaoTraining, GlobalScale::fromAmax(amax));
    EXPECT_EQ(factors.encode, kGlobalRange / amax);
    EXPECT_EQ(factors.decode, amax / kGlobalRange);
  }
  EXPECT_GT(differences, 0);
}

// Where the project chooses the global scale, zeros have that of 2688, and so
// have numbers whose decode scale would be 0. Others keep their own.
static_assert(getNonzeroAmax(0.0f) == 2688.0f);
static_assert(getNonzeroAmax(-0.0f) == 2688.0f);
static_assert(getNonzeroAmax(1344 * 0x1p-149f) == 2688.0f);
static_assert(getNonzeroAmax(1345 * 0x1p-149f) == 1345 * 0x1p-149f);
static_assert(getNonzeroAmax(3.5f) == 3.5f);
static_assert(getNonzeroAmax(kInfinity) == kInfinity);

TEST(GlobalScale, NonzeroAmaxGivesPositiveScales) {
  constexpr GlobalScale::Kind kind = GlobalScale::Kind::NonzeroAmax;
  EXPECT_TRUE(isNan(getNonzeroAmax(fromBits(kFloatNanBits))));
  for (Recipe recipe :
       {Recipe::Torchao, Recipe::Mslk, Recipe::Te, Recipe::Modelopt,
        Recipe::Te4over6Mae, Recipe::Te4over6Mse, Recipe::CompressedTensors,
        Recipe::TorchaoTraining})
    for (float amax : {0.0f, 0x1p-149f, 1344 * 0x1p-149f, 1345 * 0x1p-149f,
                       0x1p-126f, 1.0f, kFloatMax}) {
      GlobalFactors factors =
          getGlobalFactors(recipe, GlobalScale::fromNonzeroAmax(amax));
      EXPECT_GT(factors.decode, 0.0f) << getName(recipe) << " " << amax;
      EXPECT_FALSE(isNan(factors.encode)) << getName(recipe) << " " << amax;
      GlobalFactors own = getGlobalFactors(
          recipe, GlobalScale::fromAmax(readGlobal(kind, amax)));
      EXPECT_EQ(factors.decode, own.decode);
      EXPECT_EQ(factors.encode, own.encode);
      EXPECT_EQ(factors.amax, own.amax);
    }
}

TEST(GlobalScale, MxHasNone) {
  GlobalFactors factors =
      getGlobalFactors(Recipe::Rceil, GlobalScale::fromDecodeScale(3.0f));
  EXPECT_EQ(factors.encode, 1.0f);
  EXPECT_EQ(factors.decode, 1.0f);
}

} // namespace
