//===- ChipMatchTest.cpp - Which PTX a GPU runs ---------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/ChipMatch.h"

#include "gtest/gtest.h"

using namespace blockscale::runtime;

namespace {

TEST(ChipMatch, RunsOn) {
  EXPECT_TRUE(runsOn("sm_80", {9, 0}));
  EXPECT_TRUE(runsOn("sm_90", {9, 0}));
  EXPECT_TRUE(runsOn("sm_90", {10, 3}));
  EXPECT_FALSE(runsOn("sm_90", {8, 9}));
  EXPECT_TRUE(runsOn("sm_90a", {9, 0}));
  EXPECT_FALSE(runsOn("sm_90a", {10, 0}));
  EXPECT_FALSE(runsOn("sm_100a", {10, 3}));
  EXPECT_TRUE(runsOn("sm_100f", {10, 3}));
  EXPECT_FALSE(runsOn("sm_103f", {10, 0}));
  EXPECT_FALSE(runsOn("sm_100f", {11, 0}));
  for (const char *name :
       {"", "sm_", "sm_x", "sm_90b", "sm_90aa", "gfx90a", "sm_-90", "sm_0"})
    EXPECT_FALSE(runsOn(name, {9, 0})) << name;
}

TEST(ChipMatch, ChoosesTheNewest) {
  EXPECT_EQ(chooseChip({"sm_80", "sm_90a", "sm_100a"}, {9, 0}), 1u);
  EXPECT_EQ(chooseChip({"sm_80", "sm_90a", "sm_100a"}, {8, 6}), 0u);
  EXPECT_EQ(chooseChip({"sm_80", "sm_90a", "sm_100a"}, {12, 0}), 0u);
  EXPECT_EQ(chooseChip({"sm_90a", "sm_90", "sm_89"}, {9, 0}), 0u);
  EXPECT_EQ(chooseChip({"sm_90", "sm_90a"}, {9, 0}), 1u);
  EXPECT_EQ(chooseChip({"sm_100", "sm_100f", "sm_89"}, {10, 3}), 1u);
  EXPECT_EQ(chooseChip({"sm_100a", "sm_103a"}, {9, 0}), std::nullopt);
  EXPECT_EQ(chooseChip({}, {9, 0}), std::nullopt);
}

} // namespace
