//===- SharedSwizzleTest.cpp - Exchanged rows against tensor maps ---------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Numerics/SharedSwizzle.h"
#include "gtest/gtest.h"

#include <set>

using namespace blockscale::numerics;

namespace {

// CUDA driver API, CU_TENSOR_MAP_SWIZZLE_32B, _64B and _128B: bits 4; 4 and 5;
// 4, 5 and 6 of an address are exchanged by as many from bit 7 on.
TEST(SharedSwizzle, TensorMaps) {
  for (auto [rowBytes, mask] :
       {std::pair<int64_t, int64_t>{32, 0x10}, {64, 0x30}, {128, 0x70}})
    for (int64_t row = 0; row < 64; ++row)
      for (int64_t piece = 0; piece < rowBytes / 16; ++piece) {
        int64_t byte = row * rowBytes + piece * 16;
        int64_t want = byte ^ (byte >> 3 & mask);
        EXPECT_EQ(getSwizzledByte(row, piece, rowBytes), want);
        EXPECT_EQ(getSwizzledPiece(byte / 16, rowBytes), want / 16);
      }
}

// Eight threads that access the same piece of rows, or neighbours, have eight
// banks of 16 bytes.
TEST(SharedSwizzle, Banks) {
  for (int64_t rowBytes = 16; rowBytes <= 512; rowBytes *= 2)
    for (int64_t first = 0; first < 64; first += 8) {
      std::set<int64_t> neighbours;
      for (int64_t i = 0; i < 8; ++i)
        neighbours.insert(getSwizzledPiece(first + i, rowBytes) % 8);
      EXPECT_EQ(neighbours.size(), 8u) << rowBytes;
      for (int64_t piece = 0; piece < rowBytes / 16; ++piece) {
        std::set<int64_t> banks;
        for (int64_t i = 0; i < 8; ++i)
          banks.insert(getSwizzledByte(first + i, piece, rowBytes) / 16 % 8);
        EXPECT_EQ(banks.size(), 8u) << rowBytes << ", " << piece;
      }
    }
}

// Each piece has a place of its own, in its row.
TEST(SharedSwizzle, Places) {
  for (int64_t rowBytes = 16; rowBytes <= 512; rowBytes *= 2) {
    int64_t pieces = rowBytes / 16;
    std::set<int64_t> taken;
    for (int64_t number = 0; number < 32 * pieces; ++number) {
      int64_t place = getSwizzledPiece(number, rowBytes);
      EXPECT_EQ(place / pieces, number / pieces);
      taken.insert(place);
    }
    EXPECT_EQ(taken.size(), size_t(32 * pieces));
  }
}

} // namespace
