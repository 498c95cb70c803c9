//===- BitLayoutTest.cpp - Maps of bits against published figures ---------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every element of every layout, against formulas that are written here from
// the words and figures of the PTX ISA and of cuBLAS, not from bits.
//
//===----------------------------------------------------------------------===//

#include "blockscale/Numerics/Accumulators.h"
#include "blockscale/Numerics/DataLayout.h"
#include "blockscale/Numerics/ScaleLayout.h"
#include "gtest/gtest.h"

#include <set>
#include <vector>

using namespace blockscale::numerics;

namespace {

using Element = ElementIndex<int64_t>;

/// Checks that the places of a layout are those of `getPlace`, each the place
/// of one element, and that `getElement` is the inverse.
template <size_t N, typename GetPlace>
void checkLayout(const BitLayout &layout, const int (&coordinates)[N],
                 GetPlace getPlace) {
  std::set<std::vector<int64_t>> taken;
  for (int64_t row = 0; row < layout.getRows(); ++row)
    for (int64_t col = 0; col < layout.getCols(); ++col) {
      std::vector<int64_t> want = getPlace(row, col), got;
      Element sum{0, 0};
      for (int at : coordinates) {
        got.push_back(layout.getPlace(row, col, at));
        EXPECT_LT(got.back(), int64_t(1) << layout.getPlaceBits(at));
        // Other tiles have the same places.
        EXPECT_EQ(got.back(), layout.getPlace(row + 3 * layout.getRows(),
                                              col + layout.getCols(), at));
        Element part = layout.getElementOf(at, got.back());
        sum = {sum.row + part.row, sum.col + part.col};
      }
      ASSERT_EQ(got, want) << row << ", " << col;
      EXPECT_EQ(sum.row, row);
      EXPECT_EQ(sum.col, col);
      taken.insert(got);
    }
  EXPECT_EQ(taken.size(), size_t(layout.getRows() * layout.getCols()));
}

constexpr int kByte[] = {0};
constexpr int kSum[] = {kSumThread, kSumRegister};

// cuBLAS, "1D block scaling factors layout": the offset of an element of the
// outer dimension and one of the inner in a tile of 128 x 4.
TEST(BitLayout, Tiles128x4) {
  EXPECT_EQ(k128x4.getTileRows(), 128);
  EXPECT_EQ(k128x4.getTileCols(), 4);
  checkLayout(k128x4.tile, kByte, [](int64_t outer, int64_t inner) {
    return std::vector<int64_t>{(outer % 32) * 16 + (outer / 32) * 4 + inner};
  });
}

// FlashInfer, layout_8x4: a tile is eight rows of four bytes.
TEST(BitLayout, Tiles8x4) {
  EXPECT_EQ(k8x4.getTileRows(), 8);
  EXPECT_EQ(k8x4.getTileCols(), 4);
  checkLayout(k8x4.tile, kByte, [](int64_t row, int64_t col) {
    return std::vector<int64_t>{row * 4 + col};
  });
}

// A matrix whose tiles are single bytes is row-major.
TEST(BitLayout, Linear) {
  EXPECT_TRUE(kLinear.isLinear());
  EXPECT_EQ(kLinear.getTileBytes(), 1);
  for (int64_t row = 0; row < 5; ++row)
    for (int64_t col = 0; col < 7; ++col) {
      EXPECT_EQ(kLinear.getOffset<int64_t>(row, col, 7), row * 7 + col);
      Element element = kLinear.getIndex<int64_t>(row * 7 + col, 7);
      EXPECT_EQ(element.row, row);
      EXPECT_EQ(element.col, col);
    }
}

// Whole matrices: every byte of the buffer is that of one row and column.
TEST(BitLayout, MatricesOfTiles) {
  for (const ScaleLayout *layout : kTiledLayouts)
    for (auto [rows, cols] : {std::pair<int64_t, int64_t>{1, 1},
                              {129, 3},
                              {257, 9},
                              {8, 4},
                              {9, 5}}) {
      std::set<int64_t> bytes;
      int64_t paddedRows = layout->getRowTiles(rows) * layout->getTileRows();
      int64_t paddedCols = layout->getColTiles(cols) * layout->getTileCols();
      for (int64_t row = 0; row < paddedRows; ++row)
        for (int64_t col = 0; col < paddedCols; ++col) {
          int64_t byte = layout->getOffset(row, col, cols);
          Element element = layout->getIndex(byte, cols);
          EXPECT_EQ(element.row, row);
          EXPECT_EQ(element.col, col);
          bytes.insert(byte);
        }
      EXPECT_EQ(bytes.size(), size_t(layout->getBytes(rows, cols)));
      EXPECT_EQ(*bytes.rbegin(), layout->getBytes(rows, cols) - 1);
    }
}

// PTX ISA, register fragments of A for wgmma.mma_async with 16-bit elements: a
// warp has 16 rows of the 64, a group of four threads a row and the one eight
// behind it, and a thread two columns of the first eight and of the last eight.
TEST(BitLayout, Fragments64x64) {
  constexpr int all[] = {kFragmentThread, kFragmentProduct, kFragmentRegister,
                         kFragmentHalf};
  checkLayout(kFragments64x64, all, [](int64_t row, int64_t col) {
    int64_t warp = row / 16, inWarp = row - 16 * warp;
    int64_t product = col / 16, inProduct = col - 16 * product;
    bool isLower = inWarp >= 8, isRight = inProduct >= 8;
    int64_t group = isLower ? inWarp - 8 : inWarp;
    int64_t inHalf = isRight ? inProduct - 8 : inProduct;
    return std::vector<int64_t>{32 * warp + 4 * group + inHalf / 2, product,
                                (isLower ? 1 : 0) + (isRight ? 2 : 0),
                                inHalf % 2};
  });
}

// PTX ISA, "Matrix Fragments for mma.m16n8k16", accumulators c0 to c3:
//   groupID           = %laneid >> 2
//   threadID_in_group = %laneid % 4
//   row = groupID for ci where i < 2, groupID + 8 for ci where i >= 2
//   col = threadID_in_group * 2 + (i & 0x1) for ci where i = {0,..,3}
TEST(BitLayout, MmaAccumulator) {
  EXPECT_EQ(kMmaAccumulator.getRows(), 16);
  EXPECT_EQ(kMmaAccumulator.getCols(), 8);
  for (int64_t lane = 0; lane < 32; ++lane)
    for (int64_t i = 0; i < 4; ++i) {
      int64_t group = lane / 4, inGroup = lane % 4;
      Element element = kMmaAccumulator.getElement({lane, i});
      EXPECT_EQ(element.row, i < 2 ? group : group + 8);
      EXPECT_EQ(element.col, inGroup * 2 + i % 2);
    }
  checkLayout(kMmaAccumulator, kSum, [](int64_t row, int64_t col) {
    int64_t group = row < 8 ? row : row - 8;
    return std::vector<int64_t>{group * 4 + col / 2,
                                col % 2 + (row < 8 ? 0 : 2)};
  });
}

// PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16", figure of the
// accumulator D: warp w has rows 16 w to 16 w + 15, and each eight columns are
// those of an mma with four registers more.
TEST(BitLayout, WgmmaAccumulator) {
  EXPECT_EQ(kWgmmaAccumulator.getRows(), 64);
  EXPECT_EQ(kWgmmaAccumulator.getCols(), 256);
  checkLayout(kWgmmaAccumulator, kSum, [](int64_t row, int64_t col) {
    int64_t warp = row / 16, inWarp = row % 16;
    int64_t group = inWarp % 8, lower = inWarp / 8;
    int64_t eight = col / 8, inEight = col % 8;
    return std::vector<int64_t>{warp * 32 + group * 4 + inEight / 2,
                                eight * 4 + lower * 2 + inEight % 2};
  });
}

// PTX ISA, tcgen05.ld with the shape .32x32b: a warp has the 32 lanes of its
// quarter of tensor memory, a thread a lane, and register i is column i.
TEST(BitLayout, TensorMemoryAccumulator) {
  EXPECT_EQ(kTensorMemoryAccumulator.getRows(), 128);
  checkLayout(kTensorMemoryAccumulator, kSum, [](int64_t row, int64_t col) {
    return std::vector<int64_t>{row, col};
  });
}

// What one access may take.
TEST(BitLayout, ContiguousBits) {
  EXPECT_EQ(k128x4.tile.getContiguousBits(), 2);
  EXPECT_EQ(k8x4.tile.getContiguousBits(), 2);
  EXPECT_EQ(kLinear.tile.getContiguousBits(), 0);
  EXPECT_EQ(kMmaAccumulator.getContiguousBits(kSumRegister), 1);
  EXPECT_EQ(kMmaAccumulator.getContiguousBits(kSumThread), 0);
  EXPECT_EQ(kTensorMemoryAccumulator.getContiguousBits(kSumRegister), 7);
  EXPECT_EQ(kFragments64x64.getContiguousBits(kFragmentHalf), 1);
}

// Units are the places of neighbours, numbered.
TEST(BitLayout, Units) {
  BitLayout words = k128x4.tile.inUnits(2);
  EXPECT_EQ(words.getRows(), 128);
  EXPECT_EQ(words.getCols(), 1);
  for (int64_t row = 0; row < 128; ++row)
    EXPECT_EQ(words.getPlace<int64_t>(row, 0),
              k128x4.getByteInTile<int64_t>(row, 0) / 4);
  for (const BitLayout &sums : {kMmaAccumulator, kWgmmaAccumulator}) {
    BitLayout pairs = getPairs(sums);
    for (int64_t row = 0; row < sums.getRows(); ++row)
      for (int64_t col = 0; col < sums.getCols(); ++col) {
        EXPECT_EQ(pairs.getPlace(row, col / 2, kSumThread),
                  sums.getPlace(row, col, kSumThread));
        EXPECT_EQ(pairs.getPlace(row, col / 2, kSumRegister),
                  sums.getPlace(row, col, kSumRegister) / 2);
      }
  }
}

// Two warpgroups have the rows of two instructions behind each other.
TEST(BitLayout, CoordinatesAboveTheirSize) {
  for (int64_t thread = 0; thread < 256; ++thread) {
    Element element = kWgmmaAccumulator.getElementOf(kSumThread, thread);
    Element inGroup = kWgmmaAccumulator.getElementOf(kSumThread, thread % 128);
    EXPECT_EQ(element.row, thread / 128 * 64 + inGroup.row);
    EXPECT_EQ(element.col, inGroup.col);
  }
}

} // namespace
