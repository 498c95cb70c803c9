//===- SwizzleTest.cpp - Swizzled addresses of shared memory --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Emulator/Swizzle.h"

#include <gtest/gtest.h>

#include <vector>

using namespace blockscale::emulator;

namespace {
/// A row of the pattern tables of the PTX ISA: which 16-byte chunk of the
/// source lies at each place of a row of 128 bytes.
using Rows = std::vector<std::vector<unsigned>>;
} // namespace

static void expectPattern(Swizzle swizzle, const Rows &rows) {
  for (unsigned pattern = 0; pattern < 2; ++pattern)
    for (unsigned row = 0; row < rows.size(); ++row)
      for (unsigned place = 0; place < 8; ++place) {
        unsigned start = 128 * (pattern * rows.size() + row);
        EXPECT_EQ(applySwizzle(swizzle, start + 16 * rows[row][place]),
                  start + 16 * place)
            << "row " << row << ", place " << place;
      }
}

// The tables of section "Swizzling Modes", copied row by row.
TEST(Swizzle, PatternsOfThePtxIsa) {
  expectPattern(Swizzle::None, {{0, 1, 2, 3, 4, 5, 6, 7}});
  expectPattern(Swizzle::Span32,
                {{0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}});
  expectPattern(Swizzle::Span64, {{0, 1, 2, 3, 4, 5, 6, 7},
                                  {1, 0, 3, 2, 5, 4, 7, 6},
                                  {2, 3, 0, 1, 6, 7, 4, 5},
                                  {3, 2, 1, 0, 7, 6, 5, 4}});
  expectPattern(Swizzle::Span128, {{0, 1, 2, 3, 4, 5, 6, 7},
                                   {1, 0, 3, 2, 5, 4, 7, 6},
                                   {2, 3, 0, 1, 6, 7, 4, 5},
                                   {3, 2, 1, 0, 7, 6, 5, 4},
                                   {4, 5, 6, 7, 0, 1, 2, 3},
                                   {5, 4, 7, 6, 1, 0, 3, 2},
                                   {6, 7, 4, 5, 2, 3, 0, 1},
                                   {7, 6, 5, 4, 3, 2, 1, 0}});
  expectPattern(Swizzle::Span128Atom32, {{0, 1, 2, 3, 4, 5, 6, 7},
                                         {2, 3, 0, 1, 6, 7, 4, 5},
                                         {4, 5, 6, 7, 0, 1, 2, 3},
                                         {6, 7, 4, 5, 2, 3, 0, 1}});
  expectPattern(Swizzle::Span128Atom64,
                {{0, 1, 2, 3, 4, 5, 6, 7}, {4, 5, 6, 7, 0, 1, 2, 3}});
}

// The address formulas of CuTe for 128 and 64 byte swizzles.
TEST(Swizzle, AddressFormulas) {
  for (uint64_t lin = 0; lin < 8192; lin += 8) {
    EXPECT_EQ(applySwizzle(Swizzle::Span128, lin),
              lin ^ (((lin >> 7) & 7) << 4));
    EXPECT_EQ(applySwizzle(Swizzle::Span64, lin),
              lin ^ (((lin >> 7) & 3) << 4));
  }
}

// "Swizzle 32B chunks within 128B span, additionally swap lower 8B with upper
// 8B within each 16B for every alternate row".
TEST(Swizzle, Flip8) {
  EXPECT_EQ(applySwizzle(Swizzle::Span128Atom32Flip8, 0), 0u);
  EXPECT_EQ(applySwizzle(Swizzle::Span128Atom32Flip8, 128), 128u + 32 + 8);
  EXPECT_EQ(applySwizzle(Swizzle::Span128Atom32Flip8, 128 + 8), 128u + 32);
  EXPECT_EQ(applySwizzle(Swizzle::Span128Atom32Flip8, 256), 256u + 64);
}

// Each is its own inverse, and moves no byte out of its atom.
TEST(Swizzle, Involution) {
  for (unsigned i = 0; i <= unsigned(Swizzle::Span128Atom64); ++i) {
    auto swizzle = static_cast<Swizzle>(i);
    unsigned atom = getAtom(swizzle);
    for (uint64_t address = 0; address < 2048; ++address) {
      uint64_t moved = applySwizzle(swizzle, address);
      EXPECT_EQ(applySwizzle(swizzle, moved), address);
      EXPECT_EQ(moved % atom, address % atom);
      EXPECT_EQ(moved / 128, address / 128);
    }
  }
}

// A pattern that starts off its boundary: its first row is unchanged.
TEST(Swizzle, BaseOffset) {
  uint64_t start = 3 * 128;
  for (unsigned row = 0; row < 16; ++row)
    EXPECT_EQ(applySwizzle(Swizzle::Span128, start + 128 * row, 3),
              start + 128 * row + 16 * (row & 7));
}

TEST(Swizzle, Spans) {
  EXPECT_EQ(getSpan(Swizzle::None), 0u);
  EXPECT_EQ(getSpan(Swizzle::Span32), 32u);
  EXPECT_EQ(getSpan(Swizzle::Span64), 64u);
  EXPECT_EQ(getSpan(Swizzle::Span128Atom64), 128u);
}
