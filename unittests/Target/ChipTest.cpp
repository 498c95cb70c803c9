//===- ChipTest.cpp - What each GPU can do --------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Target/Chip.h"
#include "blockscale/Target/Gpu.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace blockscale::target;

// Features are found by name, and SM100 has what its kernels are made of.
TEST(Chip, Sm100aHasTheInstructionsOfTheQuantizers) {
  const Chip *chip = findChip("sm_100a");
  ASSERT_NE(chip, nullptr);
  EXPECT_EQ(chip->name, "sm_100a");
  EXPECT_TRUE(chip->hasFp4Cvt());
  EXPECT_TRUE(chip->hasFp8Cvt());
  EXPECT_TRUE(chip->hasWideGlobalAccess());
  EXPECT_TRUE(chip->hasTcgen05());
  EXPECT_TRUE(chip->hasProducts());
  EXPECT_FALSE(chip->hasWgmma());
}

// Chips before SM100 have cvt to 8 bits from sm_89 on, and none to 4.
TEST(Chip, PortableChipsLackTheInstructionsOfSm100) {
  for (const char *name : {"sm_80", "sm_86", "sm_89", "sm_90a"}) {
    const Chip *chip = findChip(name);
    ASSERT_NE(chip, nullptr) << name;
    EXPECT_EQ(chip->hasFp8Cvt(), chip->name >= "sm_89") << name;
    EXPECT_FALSE(chip->hasFp4Cvt()) << name;
    EXPECT_FALSE(chip->hasWideGlobalAccess()) << name;
    EXPECT_FALSE(chip->hasTcgen05()) << name;
    EXPECT_EQ(chip->hasWgmma(), chip->name == "sm_90a") << name;
    EXPECT_TRUE(chip->hasProducts()) << name;
    EXPECT_TRUE(chip->decodesProductOperands()) << name;
  }
}

// Consumer Blackwell has SM100's conversions but those at random, and products
// of a warp: neither SM100's nor Hopper's.
TEST(Chip, ConsumerBlackwellHasConversionsOfSm100) {
  for (const char *name : {"sm_120a", "sm_121a"}) {
    const Chip *chip = findChip(name);
    ASSERT_NE(chip, nullptr) << name;
    EXPECT_TRUE(chip->hasFp4Cvt()) << name;
    EXPECT_TRUE(chip->hasFp8Cvt()) << name;
    EXPECT_TRUE(chip->hasWideGlobalAccess()) << name;
    EXPECT_FALSE(chip->hasStochasticCvt()) << name;
    EXPECT_TRUE(chip->hasBlockScaleMma()) << name;
    EXPECT_TRUE(chip->hasProducts()) << name;
    EXPECT_FALSE(chip->decodesProductOperands()) << name;
    EXPECT_FALSE(chip->hasTcgen05() || chip->hasWgmma()) << name;
  }
}

// The most shared memory of a block, as the CUDA programming guide has it: 163,
// 99 and 227 KiB.
TEST(Chip, SharedMemoryOfABlock) {
  for (auto [name, kibibytes] : {std::pair("sm_80", 163),
                                 {"sm_86", 99},
                                 {"sm_89", 99},
                                 {"sm_90a", 227},
                                 {"sm_100a", 227},
                                 {"sm_120a", 99},
                                 {"sm_121a", 99}})
    EXPECT_EQ(findChip(name)->limits.getSharedBytesOfBlock(), kibibytes * 1024)
        << name;
}

// The alternatives of a message are the chips that have the feature.
TEST(Chip, ListNamesChipsWithAFeature) {
  EXPECT_EQ(listChips(&Chip::hasFp4Cvt),
            "sm_100a, sm_103a, sm_110a, sm_120a, sm_121a");
  EXPECT_EQ(listChips(&Chip::hasFp8Cvt),
            "sm_89, sm_90a, sm_100a, sm_103a, sm_110a, sm_120a, sm_121a");
  EXPECT_EQ(listChips(&Chip::hasStochasticCvt), "sm_100a, sm_103a");
}

// A name is matched whole: the plain and family chips lack the instructions.
TEST(Chip, UnknownNamesAreNotFound) {
  for (const char *name :
       {"", "sm_90", "sm_100", "sm_100f", "sm_100aa", "SM_100A", "cpu"})
    EXPECT_EQ(findChip(name), nullptr) << name;
}

// The list for messages names every chip that can be found. Each goes by the
// rates of a known GPU.
TEST(Chip, ListNamesEveryChip) {
  std::string list = listChips();
  size_t begin = 0;
  int count = 0;
  while (begin <= list.size()) {
    size_t end = std::min(list.find(", ", begin), list.size());
    const Chip *chip = findChip(list.substr(begin, end - begin));
    ASSERT_NE(chip, nullptr) << list;
    EXPECT_NE(findGpu(chip->gpu), nullptr) << chip->name;
    ++count;
    begin = end + 2;
  }
  EXPECT_GE(count, 3);
}
