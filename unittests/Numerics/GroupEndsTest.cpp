//===- GroupEndsTest.cpp - Where groups end -------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Numerics/GroupEnds.h"

#include "gtest/gtest.h"

using namespace blockscale::numerics;

namespace {

// An end that is no end of a group makes the group empty.
TEST(GroupEndsTest, WrongEndsMakeEmptyGroups) {
  static_assert(keepGroupEnd<int64_t>(96, 128, 32) == 96);
  static_assert(keepGroupEnd<int64_t>(95, 128, 32) == 0);
  static_assert(keepGroupEnd<int64_t>(95, 128, 1) == 95);
  static_assert(keepGroupEnd<int64_t>(160, 128, 32) == 0);
  static_assert(getGroupEnd<int64_t>(96, 32, 128, 32) == 96);
  static_assert(getGroupEnd<int64_t>(32, 32, 128, 32) == 32);
  static_assert(getGroupEnd<int64_t>(128, 32, 128, 32) == 128);
  static_assert(getGroupEnd<int64_t>(95, 32, 128, 32) == 32);
  static_assert(getGroupEnd<int64_t>(95, 32, 128, 1) == 95);
  static_assert(getGroupEnd<int64_t>(-32, 0, 128, 32) == 0);
  static_assert(getGroupEnd<int64_t>(0, 32, 128, 32) == 32);
  static_assert(getGroupEnd<int64_t>(160, 32, 128, 32) == 32);
}

// The first group whose end is behind a position is the one that a walk over
// the ends finds, whatever the ends are. No group is outside of the extent, and
// one whose end breaks a rule is empty.
TEST(GroupEndsTest, SearchesAndWalksAgree) {
  constexpr int64_t kExtent = 6, kGroups = 3;
  for (int64_t unit : {1, 2})
    for (int64_t number = 0; number < 1000; ++number) {
      int64_t ends[kGroups] = {number % 10 - 2, number / 10 % 10 - 2,
                               number / 100 - 2};
      int64_t begins[kGroups + 1] = {};
      for (int64_t group = 0; group < kGroups; ++group) {
        int64_t begin = begins[group], end = ends[group];
        begins[group + 1] = getGroupEnd(end, begin, kExtent, unit);
        bool holds = end >= begin && end <= kExtent && end % unit == 0;
        ASSERT_EQ(begins[group + 1], holds ? end : begin) << number;
      }
      for (int64_t position = 0; position < kExtent; ++position) {
        int64_t walked = kGroups, taken = 0;
        for (int64_t group = 0; group < kGroups; ++group) {
          int64_t end = begins[group + 1];
          if (begins[group] <= position && position < end)
            walked = group;
          taken = takeGroup(taken, end, position);
        }
        ASSERT_EQ(taken, walked) << number;
      }
    }
}

} // namespace
