//===- RowOrderTest.cpp - Rows of two matrices in one ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Checkpoint/RowOrder.h"

#include "Values.h"

using namespace blockscale::checkpoint;

namespace {

TEST(RowOrder, Rows) {
  // Two matrices of four rows of two bytes.
  const std::vector<uint8_t> alternating = {0, 1, 2,  3,  4,  5,  6,  7,
                                            8, 9, 10, 11, 12, 13, 14, 15};
  const std::vector<uint8_t> split = {0, 1, 4,  5,  2,  3,  6,  7,
                                      8, 9, 12, 13, 10, 11, 14, 15};
  std::vector<uint8_t> found(16);
  splitRows(2, 4, 2, alternating.data(), found.data());
  EXPECT_EQ(found, split);
  alternateRows(2, 4, 2, split.data(), found.data());
  EXPECT_EQ(found, alternating);
}

// Rows shorter and longer than what a thread takes at a time, and no row.
TEST(RowOrder, Sizes) {
  for (int64_t rowBytes : {1, 100, 200000}) {
    int64_t count = 3, rows = rowBytes < 1000 ? 5000 : 6;
    std::vector<uint8_t> bytes = makeBytes(count * rows * rowBytes);
    std::vector<uint8_t> split(bytes.size()), found(bytes.size());
    splitRows(count, rows, rowBytes, bytes.data(), split.data());
    for (int64_t row : {int64_t(0), rows / 2 - 1})
      for (int64_t half : {0, 1}) {
        auto at = [&](int64_t index) { return (2 * rows + index) * rowBytes; };
        EXPECT_TRUE(std::equal(split.begin() + at(half * (rows / 2) + row),
                               split.begin() + at(half * (rows / 2) + row + 1),
                               bytes.begin() + at(2 * row + half)));
      }
    alternateRows(count, rows, rowBytes, split.data(), found.data());
    EXPECT_EQ(found, bytes);
  }
  splitRows(3, 0, 5, nullptr, nullptr);
  alternateRows(0, 2, 5, nullptr, nullptr);
}

} // namespace
