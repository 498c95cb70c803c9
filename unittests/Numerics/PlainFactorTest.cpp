//===- PlainFactorTest.cpp - Data times scales beside a plain operand -----===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product of a plain operand, bf16 or f16, multiplies it by data times their
// scales in that type. Here each code of each format is multiplied by each
// scale, to know which of these values the types hold.
//
//===----------------------------------------------------------------------===//

#include "blockscale/Numerics/BlockFormat.h"
#include "blockscale/Numerics/Codec.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace blockscale::numerics;

namespace {

/// A binary format: bits of the significand, the exponent of the smallest
/// normal value, and the power of two above the largest.
struct FloatType {
  int significandBits, smallestNormal, end;

  /// Whether it holds a finite value.
  bool holds(double value) const {
    if (value == 0)
      return true;
    int exponent = std::ilogb(value);
    int lastBit = std::max(exponent, smallestNormal) - (significandBits - 1);
    return exponent < end && std::ldexp(value, -lastBit) ==
                                 std::rint(std::ldexp(value, -lastBit));
  }
};

constexpr FloatType kBF16 = {8, -126, 128};
constexpr FloatType kF16 = {11, -14, 16};

/// Calls `visit` with each finite code times each scale, and with the scale.
template <typename Visit>
void forEachValue(ElementFormat format, ScaleFormat scale, Visit visit) {
  unsigned codes = 1u << getFormatInfo(format).bits;
  for (unsigned scaleByte = 0; scaleByte < 256; ++scaleByte) {
    double factor = decodeScale(scale, static_cast<uint8_t>(scaleByte));
    for (unsigned code = 0; code < codes; ++code) {
      double value = decode(format, static_cast<uint8_t>(code));
      if (std::isfinite(factor) && std::isfinite(value))
        visit(value * factor, factor);
    }
  }
}

} // namespace

// NVFP4: both types hold every value, whose magnitudes are 0 and 2^-10 to 2688.
TEST(PlainFactorTest, Nvfp4IsExact) {
  double smallest = HUGE_VAL, largest = 0;
  forEachValue(ElementFormat::E2M1, ScaleFormat::E4M3,
               [&](double value, double) {
                 EXPECT_TRUE(kBF16.holds(value)) << value;
                 EXPECT_TRUE(kF16.holds(value)) << value;
                 if (value != 0)
                   smallest = std::min(smallest, std::abs(value));
                 largest = std::max(largest, std::abs(value));
               });
  EXPECT_EQ(smallest, 0x1p-10);
  EXPECT_EQ(largest, 2688);
}

// MX: bf16 holds every value between the ends of its own range, and where it
// does not, the value is beyond one of them. f16 holds no such range.
TEST(PlainFactorTest, MxIsExactInsideTheRange) {
  for (ElementFormat format :
       {ElementFormat::E2M1, ElementFormat::E2M3, ElementFormat::E3M2,
        ElementFormat::E4M3, ElementFormat::E5M2, ElementFormat::INT8}) {
    unsigned beyond = 0, beyondF16 = 0;
    forEachValue(format, ScaleFormat::E8M0, [&](double value, double factor) {
      beyondF16 += !kF16.holds(value);
      if (kBF16.holds(value))
        return;
      ++beyond;
      EXPECT_TRUE(std::abs(value) >= 0x1p128 || std::abs(value) < 0x1p-126)
          << value << " of scale " << factor;
      // Scales of 2^-110 to 2^112 are far from the ends in every format.
      EXPECT_TRUE(factor > 0x1p112 || factor < 0x1p-110) << factor;
    });
    EXPECT_GT(beyond, 0u);
    EXPECT_GT(beyondF16, beyond);
  }
}

// The formats whose values bf16 holds wherever f32 does.
TEST(PlainFactorTest, ExactInBF16) {
  unsigned exactFormats = 0;
  for (const BlockFormat &format : kBlockFormats) {
    bool isExact = true;
    forEachValue(format.element, format.scale, [&](double value, double) {
      isExact &= kBF16.holds(value) || std::abs(value) >= 0x1p128;
    });
    EXPECT_EQ(isExactInBF16(format.element, format.scale), isExact)
        << getFormatInfo(format.element).name;
    exactFormats += isExact;
  }
  // All but E4M3 and E5M2.
  EXPECT_EQ(exactFormats, 5u);
}
