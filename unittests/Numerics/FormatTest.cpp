//===- FormatTest.cpp - The format table agrees with itself ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Numerics/BlockScale.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace blockscale::numerics;

namespace {

TEST(Format, DerivedFields) {
  for (ElementFormat format : kElementFormats) {
    const FormatInfo &info = getFormatInfo(format);
    EXPECT_EQ(info.bits, 1 + info.exponentBits + info.mantissaBits)
        << info.name;
    EXPECT_EQ(info.bias, (1 << (info.exponentBits - 1)) - 1) << info.name;
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

} // namespace
