//===- RowOrder.cpp - Rows of two matrices in one -------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Checkpoint/RowOrder.h"

#include "Parallel.h"

#include <cstring>

using namespace blockscale::checkpoint;

/// Calls copy(number of an alternating row, number of the same split row) for
/// the rows of all matrices.
template <typename Copy>
static void forEachRow(int64_t count, int64_t rows, int64_t rowBytes,
                       Copy copy) {
  constexpr int64_t grainBytes = int64_t(1) << 16;
  int64_t grain = grainBytes / std::max<int64_t>(rowBytes, 1) + 1;
  forEachChunk(count * rows, grain, [&](int64_t, int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      int64_t place = row % rows;
      copy(row, row - place + place % 2 * (rows / 2) + place / 2);
    }
  });
}

void blockscale::checkpoint::splitRows(int64_t count, int64_t rows,
                                       int64_t rowBytes,
                                       const uint8_t *alternating,
                                       uint8_t *split) {
  forEachRow(count, rows, rowBytes, [&](int64_t from, int64_t to) {
    std::memcpy(split + to * rowBytes, alternating + from * rowBytes, rowBytes);
  });
}

void blockscale::checkpoint::alternateRows(int64_t count, int64_t rows,
                                           int64_t rowBytes,
                                           const uint8_t *split,
                                           uint8_t *alternating) {
  forEachRow(count, rows, rowBytes, [&](int64_t to, int64_t from) {
    std::memcpy(alternating + to * rowBytes, split + from * rowBytes, rowBytes);
  });
}
