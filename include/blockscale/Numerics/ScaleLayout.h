//===- ScaleLayout.h - Where scale bytes lie --------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The 128x4 layout of a matrix of scale bytes: padded with zero bytes to
// multiples of 128 rows and 4 columns and cut in tiles of 512 bytes, which are
// stored row-major. In a tile,
//
//   byte = (row mod 32) * 16 + (row div 32) * 4 + column
//
// (cuBLAS "1D block scaling factors layout"; torchao to_blocked).
//
// A grouped matrix is a run of groups along rows (dimension 0) or columns
// (dimension 1), given by the end of each in rows or columns of scales, not
// decreasing. Each group is padded and tiled alone, and the tiles of all groups
// are concatenated (torchao torch_to_blocked_2d_M_groups, _K_groups). The
// buffer has the size that suffices for any ends.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_SCALELAYOUT_H
#define BLOCKSCALE_NUMERICS_SCALELAYOUT_H

#include <cstdint>

namespace blockscale::numerics {

inline constexpr int64_t kTileRows = 128;
inline constexpr int64_t kTileCols = 4;
inline constexpr int64_t kTileBytes = kTileRows * kTileCols;

/// Rows of a tile lie in groups of 32, 16 bytes apart within a group.
inline constexpr int64_t kTileRowGroup = 32;

/// Padding of every layout.
inline constexpr uint8_t kScalePadding = 0;

constexpr int64_t getRowTiles(int64_t rows) {
  return (rows + kTileRows - 1) / kTileRows;
}
constexpr int64_t getColTiles(int64_t cols) {
  return (cols + kTileCols - 1) / kTileCols;
}
constexpr int64_t getPaddedRows(int64_t rows) {
  return getRowTiles(rows) * kTileRows;
}
constexpr int64_t getPaddedCols(int64_t cols) {
  return getColTiles(cols) * kTileCols;
}

//===----------------------------------------------------------------------===//
// One matrix
//===----------------------------------------------------------------------===//

struct ScaleIndex {
  int64_t row;
  int64_t col;
};

/// Byte of (row, col) in row-major order without padding.
constexpr int64_t getLinearOffset(int64_t row, int64_t col, int64_t cols) {
  return row * cols + col;
}

/// Bytes of a swizzled matrix, padding included.
constexpr int64_t getSwizzledSize(int64_t rows, int64_t cols) {
  return getPaddedRows(rows) * getPaddedCols(cols);
}

/// Byte of (row, col) in the 128x4 layout of a matrix with `cols` columns.
constexpr int64_t getSwizzledOffset(int64_t row, int64_t col, int64_t cols) {
  int64_t tile = row / kTileRows * getColTiles(cols) + col / kTileCols;
  return tile * kTileBytes + row % kTileRowGroup * 16 +
         row % kTileRows / kTileRowGroup * 4 + col % kTileCols;
}

/// The inverse of getSwizzledOffset. Row or column lie beyond the matrix where
/// the byte is padding.
constexpr ScaleIndex getSwizzledIndex(int64_t offset, int64_t cols) {
  int64_t tile = offset / kTileBytes;
  int64_t byte = offset % kTileBytes;
  return {tile / getColTiles(cols) * kTileRows + byte % 16 / 4 * kTileRowGroup +
              byte / 16,
          tile % getColTiles(cols) * kTileCols + byte % 4};
}

//===----------------------------------------------------------------------===//
// Scales of square blocks
//===----------------------------------------------------------------------===//

/// What a product sums over, in terms of the quantized matrix [.., N, K]: its
/// columns (forward) or its rows (the gradient of the other operand).
enum class ScaleDim : uint8_t { K = 0, N = 1 };

/// Which compact scale of B x B blocks stands at (row, col) of the scales that
/// a product takes, where every scale is repeated for the B rows it covers: K
/// gives a matrix [N, ceil(K / B)], N one [K, ceil(N / B)].
constexpr ScaleIndex getCompactIndex(ScaleDim dim, int64_t blockSize,
                                     int64_t row, int64_t col) {
  return dim == ScaleDim::K ? ScaleIndex{row / blockSize, col}
                            : ScaleIndex{col, row / blockSize};
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

enum class GroupDim : uint8_t { Rows = 0, Cols = 1 };

/// Tiles in the buffer of `groups` groups of a rows x cols matrix: enough for
/// any ends, since a group wastes at most one tile less one row (column).
constexpr int64_t getGroupedTiles(GroupDim dim, int64_t rows, int64_t cols,
                                  int64_t groups) {
  return dim == GroupDim::Rows
             ? (rows + (kTileRows - 1) * groups) / kTileRows * getColTiles(cols)
             : getRowTiles(rows) *
                   ((cols + (kTileCols - 1) * groups) / kTileCols);
}

/// First row (column) of a group.
constexpr int64_t getGroupBegin(const int32_t *ends, int64_t group) {
  return group == 0 ? 0 : ends[group - 1];
}

/// First tile of a group; with `group` = number of groups, the number of tiles
/// in use. `extent` is the size of the other dimension.
constexpr int64_t getGroupTileStart(GroupDim dim, const int32_t *ends,
                                    int64_t group, int64_t extent) {
  int64_t along = 0;
  for (int64_t i = 0; i < group; ++i) {
    int64_t size = ends[i] - getGroupBegin(ends, i);
    along += dim == GroupDim::Rows ? getRowTiles(size) : getColTiles(size);
  }
  return along *
         (dim == GroupDim::Rows ? getColTiles(extent) : getRowTiles(extent));
}

/// Byte of (row, col) of a rows x cols matrix in its grouped layout, or -1
/// where (row, col) is in no group. Linear in the number of groups: for
/// reference and tests; kernels keep the tile starts.
constexpr int64_t getGroupedOffset(GroupDim dim, const int32_t *ends,
                                   int64_t groups, int64_t rows, int64_t cols,
                                   int64_t row, int64_t col) {
  int64_t position = dim == GroupDim::Rows ? row : col;
  int64_t group = 0;
  while (group < groups && position >= ends[group])
    ++group;
  if (group == groups)
    return -1;
  int64_t begin = getGroupBegin(ends, group);
  if (dim == GroupDim::Rows)
    return getGroupTileStart(dim, ends, group, cols) * kTileBytes +
           getSwizzledOffset(row - begin, col, cols);
  return getGroupTileStart(dim, ends, group, rows) * kTileBytes +
         getSwizzledOffset(row, col - begin, ends[group] - begin);
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_SCALELAYOUT_H
