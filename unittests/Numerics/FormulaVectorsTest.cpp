//===- FormulaVectorsTest.cpp - Recipes without an oracle -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Recipes that are compared with their formulas only: no implementation of
// `mslk` runs on a CPU, and the only one of `rceil_sat` is ModelOpt's, which
// has other rules for NaN (BlockAmaxTest). The expected arrays come from a
// second transcription of the formulas (test/Data/make_formula_vectors.py),
// over every bf16 amax.
//
//===----------------------------------------------------------------------===//

#include "Expected.h"

#include "blockscale/Numerics/BlockScale.h"

using namespace blockscale::numerics;

namespace {

constexpr int kAmaxPatterns = 0x8000;

TEST(FormulaVectors, Mslk) {
  auto isAmax = readExpectedAs<uint8_t>("mslk", "in_is_amax");
  auto isAbsent = readExpectedAs<uint8_t>("mslk", "in_is_absent");
  auto values = readExpectedAs<uint32_t>("mslk", "in_value");
  ASSERT_EQ(values.size(), 13u);
  for (size_t g = 0; g < values.size(); ++g) {
    float value = fromBits(values[g]);
    GlobalScale global = isAbsent[g] ? GlobalScale()
                         : isAmax[g] ? GlobalScale::fromAmax(value)
                                     : GlobalScale::fromDecodeScale(value);
    GlobalFactors factors = getGlobalFactors(Recipe::Mslk, global);
    std::string suffix = "_" + std::to_string(g);

    auto decode = readExpectedAs<uint32_t>("mslk", "out_decode" + suffix);
    ASSERT_EQ(decode.size(), 1u);
    EXPECT_EQ(toBits(factors.decode), decode[0]) << g;

    auto scales = readExpectedAs<uint8_t>("mslk", "out_scale" + suffix);
    ASSERT_EQ(scales.size(), static_cast<size_t>(kAmaxPatterns));
    for (int i = 0; i < kAmaxPatterns; ++i)
      ASSERT_EQ(getE4M3ScaleByte(Recipe::Mslk,
                                 decodeBF16(static_cast<uint16_t>(i)), factors),
                scales[i])
          << "global scale " << g << ", amax pattern " << i;

    auto multipliers =
        readExpectedAs<uint32_t>("mslk", "out_multiplier" + suffix);
    ASSERT_EQ(multipliers.size(), 0x7Eu);
    for (int byte = 1; byte <= 0x7E; ++byte) {
      float factor =
          getElementFactor(Recipe::Mslk, static_cast<uint8_t>(byte), factors);
      ASSERT_EQ(toBits(factor), multipliers[byte - 1])
          << "global scale " << g << ", scale byte " << byte;
    }
  }
}

TEST(FormulaVectors, RceilSat) {
  for (ElementFormat format : kElementFormats) {
    std::string name(getFormatInfo(format).name);
    auto scales =
        readExpectedAs<uint8_t>("rceil_sat", "out_" + name + "_scale");
    ASSERT_EQ(scales.size(), static_cast<size_t>(kAmaxPatterns));
    for (int i = 0; i < kAmaxPatterns; ++i)
      ASSERT_EQ(getE8M0ScaleByte(Recipe::RceilSat, format,
                                 decodeBF16(static_cast<uint16_t>(i))),
                scales[i])
          << name << ", amax pattern " << i;
  }
}

} // namespace
