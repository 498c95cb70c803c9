//===- FormatTest.cpp - The format table agrees with itself ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Numerics/BlockFormat.h"
#include "blockscale/Numerics/BlockScale.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace blockscale::numerics;

namespace {

TEST(Format, DerivedFields) {
  for (ElementFormat format : kElementFormats) {
    const FormatInfo &info = getFormatInfo(format);
    if (isFixedPoint(format)) {
      // A sign, the ones, and the fraction.
      EXPECT_EQ(info.bits, 2 + info.mantissaBits) << info.name;
    } else {
      EXPECT_EQ(info.bits, 1 + info.exponentBits + info.mantissaBits)
          << info.name;
      EXPECT_EQ(info.bias, (1 << (info.exponentBits - 1)) - 1) << info.name;
    }
    EXPECT_EQ(info.maxExponent, std::ilogb(info.maxFinite)) << info.name;
    EXPECT_EQ(decode(format, info.maxFiniteCode), info.maxFinite) << info.name;
    EXPECT_EQ(isNanCode(format, info.nanCode), info.hasNan) << info.name;
    EXPECT_EQ(info.storageBits, info.bits == 4 ? 4 : 8) << info.name;
  }
}

TEST(Format, RecipeConstants) {
  EXPECT_EQ(kE2M1Max, getFormatInfo(ElementFormat::E2M1).maxFinite);
  EXPECT_EQ(kE4M3Max, getFormatInfo(ElementFormat::E4M3).maxFinite);
  EXPECT_EQ(kE4M3MinNormal, decode(ElementFormat::E4M3, 0x08));
  EXPECT_EQ(kE4M3MinSubnormal, decode(ElementFormat::E4M3, 0x01));
  EXPECT_EQ(kE4M3Nan, getFormatInfo(ElementFormat::E4M3).nanCode);
  EXPECT_EQ(kGlobalRange, kE2M1Max * kE4M3Max);
  EXPECT_EQ(toBits(kInverseE2M1Max), 0x3E2AAAABu);
  EXPECT_EQ(toBits(getInverseMaxFinite(ElementFormat::E4M3)), 0x3B124925u);
}

// NVFP4 alone has E4M3 scales, of E2M1 data in blocks of 16; every element has
// E8M0 scales for blocks of 32. A recipe that a row names makes its scales.
TEST(Format, BlockFormats) {
  for (ElementFormat element : kElementFormats) {
    bool isE2M1 = element == ElementFormat::E2M1;
    EXPECT_EQ(findBlockFormat(element, ScaleFormat::E4M3) != nullptr, isE2M1);
    ASSERT_NE(findBlockFormat(element, ScaleFormat::E8M0), nullptr);
  }
  for (const BlockFormat &format : kBlockFormats) {
    bool isNvfp4 = format.scale == ScaleFormat::E4M3;
    EXPECT_EQ(format.blockSize, isNvfp4 ? 16 : 32);
    EXPECT_EQ(format.recipe, isNvfp4 ? Recipe::Torchao : Recipe::Rceil);
    EXPECT_EQ(getScaleFormat(format.recipe), format.scale);
    EXPECT_EQ(getBlockFormat(format.scale).blockSize, format.blockSize);
    EXPECT_EQ(getBlockFormat(format.scale).recipe, format.recipe);
  }
}

} // namespace
