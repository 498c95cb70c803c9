//===- Tile.h - Where the elements of a block lie ---------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_TILE_H
#define BLOCKSCALE_NUMERICS_TILE_H

#include "blockscale/Numerics/Bits.h"

namespace blockscale::numerics {

/// A block of a matrix, or what of it lies inside the matrix. The transpose of
/// a tile swaps rows with columns and their strides.
struct Tile {
  int64_t rows = 1;
  int64_t cols = 1;
  int64_t rowStride = 0;
  int64_t colStride = 1;

  constexpr int64_t getOffset(int64_t row, int64_t col) const {
    return row * rowStride + col * colStride;
  }
};

/// max |x| over a tile, 0 of none. NaN propagates.
constexpr float computeAmax(const float *x, const Tile &tile) {
  float amax = 0.0f;
  for (int64_t r = 0; r < tile.rows; ++r)
    for (int64_t c = 0; c < tile.cols; ++c)
      amax = maxMagnitude(amax, x[tile.getOffset(r, c)]);
  return amax;
}

/// max |x[i * stride]| over `count` elements, 0 of none. NaN propagates.
constexpr float computeAmax(const float *x, int64_t count, int64_t stride = 1) {
  return computeAmax(x, Tile{1, count, 0, stride});
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_TILE_H
