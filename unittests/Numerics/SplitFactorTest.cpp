//===- SplitFactorTest.cpp - Factors of E2M1 as two bf16 numbers ----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elements by split factors are those that dequantizeElement gives, rounded to
// bf16. Arithmetic of bf16 is that of f64, which is exact here, rounded once.
//
//===----------------------------------------------------------------------===//

#include "blockscale/Numerics/SplitFactor.h"
#include "blockscale/Numerics/Codec.h"
#include "blockscale/Numerics/Dequantize.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace blockscale::numerics;

namespace {

/// A number of bf16, without NaN.
struct BF16 {
  double value;
};

/// Bits of the significand, and the exponent of the last place of subnormals.
constexpr int kSignificandBits = 8, kLastExponent = -133;

BF16 round(double x) {
  if (x == 0)
    return {x};
  int exponent =
      std::max(std::ilogb(x) - (kSignificandBits - 1), kLastExponent);
  double rounded =
      std::ldexp(std::nearbyint(std::ldexp(x, -exponent)), exponent);
  EXPECT_LT(std::abs(rounded), 0x1p128);
  return {rounded};
}

BF16 operator*(BF16 x, BF16 y) { return round(x.value * y.value); }
BF16 operator-(BF16 x, BF16 y) { return round(x.value - y.value); }
BF16 like(BF16, double value) { return {value}; }
BF16 fuse(BF16 x, BF16 y, BF16 z) {
  return round(std::fma(x.value, y.value, z.value));
}

BF16 fromF32(float x) { return {decodeBF16(encodeBF16(x))}; }

SplitFactor<BF16> split(float factor) {
  return splitFactor(fromF32(factor), fromF32(factor * kSplitPart), fuse);
}

/// The products of all magnitudes but 0 with a factor that differ from what is
/// rounded to f32 and then to bf16.
int countDifferences(float factor, const SplitFactor<BF16> &split) {
  int differences = 0;
  for (uint8_t code = 1; code < 8; ++code) {
    float element = decode(ElementFormat::E2M1, code);
    BF16 product = multiplySplit(BF16{element}, split, fuse);
    differences += product.value != fromF32(element * factor).value;
  }
  return differences;
}

// Each f32 of one power of two times each magnitude: all cases there are, but
// for powers of two, as long as nothing is subnormal or infinite.
TEST(SplitFactor, RoundsAsF32DoesForEachMantissa) {
  int differences = 0, withoutRest = 0;
  for (uint32_t mantissa = 0; mantissa <= kFloatMantissaMask; ++mantissa) {
    float factor = fromBits(toBits(1.0f) | mantissa);
    SplitFactor<BF16> both = split(factor);
    differences += countDifferences(factor, both);
    // A sample of what the rest is for.
    if (mantissa % 1024 == 0)
      withoutRest += countDifferences(factor, {both.main, {0}});
  }
  EXPECT_EQ(differences, 0);
  EXPECT_GT(withoutRest, 1000);
}

// Negative factors have the rest of positive ones, negated, and 0 has none.
TEST(SplitFactor, KeepsSigns) {
  for (float factor : {1.01f, 1.33f, 1.34f, 1.7f}) {
    SplitFactor<BF16> both = split(factor), negated = split(-factor);
    EXPECT_EQ(negated.main.value, -both.main.value);
    EXPECT_EQ(negated.rest.value, -both.rest.value);
  }
  EXPECT_EQ(split(0).main.value, 0);
  EXPECT_EQ(split(0).rest.value, 0);
}

// Of no other global scale may factors be split, and of these all scales and
// codes give elements that are exactly smaller by the power of two of sums.
TEST(SplitFactor, TakesGlobalScalesWhoseElementsAreNormal) {
  const float least = powerOfTwo(kSplitBegin), end = powerOfTwo(kSplitEnd);
  EXPECT_EQ(end, 2.0f);
  const float infinity = __builtin_huge_valf();
  for (float outside :
       {0.0f, 0x1p-149f, 0x1p-126f, std::nextafter(least, 0.0f), end, 0x1p127f,
        infinity, fromBits(kFloatNanBits), fromBits(kFloatInfinityBits + 1)}) {
    EXPECT_FALSE(canSplit(outside)) << outside;
    EXPECT_FALSE(canSplit(-outside)) << outside;
  }
  const float largest = 0x1.fffffep-8f;
  for (float global :
       {least, 0x1.aaaaaap-100f, 0x1.555556p-90f, 0x1.6db6dap-30f, 0.0003f,
        0x1.555554p-12f, 0x1.fffffep-9f, 0x1p-8f, largest, 0x1p-7f, 0.0123f,
        0x1.555556p-7f, 0x1p-6f, 0.37f, 1.0f, 0x1.000002p0f,
        std::nextafter(end, 0.0f)})
    for (float sign : {1.0f, -1.0f}) {
      float scale = sign * global;
      ASSERT_TRUE(canSplit(scale));
      auto [ofCodes, ofSums] = splitGlobal(scale);
      EXPECT_EQ(ofSums == 1, global <= largest) << global;
      EXPECT_LE(ofSums, 0x1p8f);
      for (int byte = 0; byte < 256; ++byte) {
        if (isNanScale(ScaleFormat::E4M3, static_cast<uint8_t>(byte)))
          continue;
        float block =
            decodeScale(ScaleFormat::E4M3, static_cast<uint8_t>(byte));
        SplitFactor<BF16> both =
            split(getBlockFactor(kProductRecipe, block, ofCodes));
        for (uint8_t code = 0; code < 16; ++code) {
          float expected =
              dequantizeElement(kProductRecipe, ElementFormat::E2M1, code,
                                static_cast<uint8_t>(byte), scale);
          BF16 bits{std::ldexp(decode(ElementFormat::E2M1, code),
                               -kSplitCodeExponent)};
          EXPECT_EQ(multiplySplit(bits, both, fuse).value * ofSums,
                    fromF32(expected).value)
              << global << " " << byte << " " << int(code);
        }
      }
    }
}

} // namespace
