//===- PackTest.cpp - Packing of 4-bit codes ------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Numerics/Pack.h"
#include "gtest/gtest.h"

using namespace blockscale::numerics;

namespace {

static_assert(packPair(/*even=*/0x1, /*odd=*/0xF) == 0xF1);
static_assert(packPair(/*even=*/0xF3, /*odd=*/0xF4) == 0x43);
static_assert(getPackedSize(0) == 0 && getPackedSize(5) == 3);

TEST(Pack, EveryPairRoundTrips) {
  for (int even = 0; even < 16; ++even) {
    for (int odd = 0; odd < 16; ++odd) {
      uint8_t byte =
          packPair(static_cast<uint8_t>(even), static_cast<uint8_t>(odd));
      EXPECT_EQ(byte, even + 16 * odd);
      EXPECT_EQ(unpackCode(&byte, 0), even);
      EXPECT_EQ(unpackCode(&byte, 1), odd);
    }
  }
}

TEST(Pack, OddRowEndsWithZero) {
  const uint8_t codes[5] = {1, 2, 3, 4, 15};
  uint8_t packed[4] = {0xAA, 0xAA, 0xAA, 0xAA};
  packRow(codes, 5, packed);
  EXPECT_EQ(packed[0], 0x21);
  EXPECT_EQ(packed[1], 0x43);
  EXPECT_EQ(packed[2], 0x0F);
  EXPECT_EQ(packed[3], 0xAA);
}

TEST(Pack, InPlace) {
  uint8_t codes[6] = {1, 2, 3, 4, 5, 6};
  packRow(codes, 6, codes);
  EXPECT_EQ(codes[0], 0x21);
  EXPECT_EQ(codes[1], 0x43);
  EXPECT_EQ(codes[2], 0x65);
}

} // namespace
