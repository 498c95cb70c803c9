//===- RoundingTest.cpp - Rounding to small formats by sums ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Numerics/Rounding.h"
#include "blockscale/Numerics/Codec.h"

#include "gtest/gtest.h"

using namespace blockscale::numerics;

namespace {

// Every value that `roundToE4M3` is for.
TEST(Rounding, E4M3) {
  for (uint32_t bits = toBits(kE4M3MinNormal); bits <= toBits(kE4M3Max);
       ++bits) {
    float x = fromBits(bits);
    uint8_t code = encode(ElementFormat::E4M3, x);
    ASSERT_EQ(roundToE4M3(x), decode(ElementFormat::E4M3, code)) << x;
  }
  EXPECT_TRUE(std::isnan(roundToE4M3(fromBits(kFloatNanBits))));
}

void expectE2M1(uint32_t bits) {
  uint32_t code = addE2M1Code(fromBits(bits)) - kE2M1Base;
  ASSERT_EQ(code, encode(ElementFormat::E2M1, fromBits(bits))) << bits;
  ASSERT_EQ(countE2M1Code(fromBits(bits)), code) << bits;
}

// Every value from 1/8 to 8, where all ties are, and every 61st elsewhere.
TEST(Rounding, E2M1) {
  for (uint32_t bits = toBits(0.125f); bits <= toBits(8.0f); ++bits)
    expectE2M1(bits);
  for (uint32_t bits = 0; bits < kFloatInfinityBits; bits += 61)
    expectE2M1(bits);
  expectE2M1(kFloatInfinityBits);
  for (uint32_t nan : {kFloatInfinityBits + 1, kFloatNanBits, 0x7FFFFFFFu})
    expectE2M1(nan);
  EXPECT_EQ(addE2M1Code(-5.0f), addE2M1Code(5.0f));
}

} // namespace
