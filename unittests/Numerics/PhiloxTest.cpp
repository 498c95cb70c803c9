//===- PhiloxTest.cpp - The generator and its assignment ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Numerics/Philox.h"

#include "gtest/gtest.h"

#include <set>

using namespace blockscale::numerics;

namespace {

void expectWords(PhiloxWords got, PhiloxWords want) {
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(got.word[i], want.word[i]) << i;
}

// The known answers that Random123 publishes for philox4x32, 10 rounds.
TEST(Philox, KnownAnswers) {
  expectWords(philox4x32({{0, 0, 0, 0}}, 0, 0),
              {{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8}});
  expectWords(philox4x32({{0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}},
                         0xFFFFFFFF, 0xFFFFFFFF),
              {{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD}});
  // Digits of pi.
  expectWords(philox4x32({{0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}},
                         0xA4093822, 0x299F31D0),
              {{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1}});
}

TEST(Philox, CounterAndKey) {
  RngState rng{0x299F31D0A4093822, 0x0370734413198A2E};
  expectWords(getRandomWords(rng, 0x05A308D3243F6A88),
              philox4x32({{0x243F6A88, 0x05A308D3, 0x13198A2E, 0x03707344}},
                         0xA4093822, 0x299F31D0));
}

// One word for four elements, in the order in which the instruction takes its
// bytes: {x3, x2, x1, x0} = upper bytes of the upper and the lower half, lower
// bytes of the upper and the lower half.
TEST(Philox, BytesOfAWord) {
  PhiloxWords words{{0x03010200, 0x07050604, 0x0B090A08, 0x0F0D0E0C}};
  for (int i = 0; i < 16; ++i) {
    uint32_t word = words.word[i / 4];
    uint32_t half = i % 2 != 0 ? word >> 16 : word & 0xFFFF;
    EXPECT_EQ(getRandomByte(words, i), i % 4 >= 2 ? half >> 8 : half & 0xFF);
  }
  EXPECT_EQ(getRandomByte(words, 0), 0x00);
  EXPECT_EQ(getRandomByte(words, 1), 0x01);
  EXPECT_EQ(getRandomByte(words, 2), 0x02);
  EXPECT_EQ(getRandomByte(words, 3), 0x03);
  EXPECT_EQ(getRandomByte(words, 15), 0x0F);
}

// Rows begin with a group of their own, also where 16 does not divide them.
TEST(Philox, GroupsOfRows) {
  std::set<int64_t> groups;
  for (int64_t row = 0; row < 5; ++row)
    for (int64_t col = 0; col < 40; ++col)
      groups.insert(getRandomGroup(row, col, 40));
  EXPECT_EQ(groups.size(), 15u);
  EXPECT_EQ(*groups.rbegin(), 14);
  EXPECT_EQ(getRandomGroup(1, 0, 40), 3);
  EXPECT_EQ(getRandomGroup(1, 0, 48), 3);
  EXPECT_EQ(getRandomGroup(3, 33, 48), 11);

  RngState rng{7, 9};
  EXPECT_EQ(getRandomByte(rng, 2, 37, 40),
            getRandomByte(getRandomWords(rng, 8), 5));
}

TEST(Philox, OffsetsAndSeedsGiveOtherBits) {
  int same = 0;
  for (int64_t group = 0; group < 64; ++group)
    for (int i = 0; i < 4; ++i) {
      uint32_t word = getRandomWords({1, 2}, group).word[i];
      same += word == getRandomWords({1, 3}, group).word[i];
      same += word == getRandomWords({2, 2}, group).word[i];
    }
  EXPECT_EQ(same, 0);
}

} // namespace
