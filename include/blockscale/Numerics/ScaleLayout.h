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

#include "blockscale/Numerics/Index.h"

namespace blockscale::numerics {

inline constexpr int64_t kTileRows = 128;
inline constexpr int64_t kTileCols = 4;
inline constexpr int64_t kTileBytes = kTileRows * kTileCols;

/// A tile is stored as 32 lines of 16 bytes. Line i has the scales of four rows
/// that are 32 apart: i, i + 32, i + 64 and i + 96.
inline constexpr int64_t kTileRowGroup = 32;
inline constexpr int64_t kTileLineRows = kTileRows / kTileRowGroup;
inline constexpr int64_t kTileLineBytes = kTileLineRows * kTileCols;
/// The dimensions of a tile in memory.
inline constexpr int64_t kTileShape[] = {kTileRowGroup, kTileLineRows,
                                         kTileCols};

/// Padding of every layout.
inline constexpr uint8_t kScalePadding = 0;

template <typename Index>
constexpr Index getRowTiles(Index rows) {
  return ceilDivide(rows, kTileRows);
}
template <typename Index>
constexpr Index getColTiles(Index cols) {
  return ceilDivide(cols, kTileCols);
}
template <typename Index>
constexpr Index getPaddedRows(Index rows) {
  return getRowTiles(rows) * kTileRows;
}
template <typename Index>
constexpr Index getPaddedCols(Index cols) {
  return getColTiles(cols) * kTileCols;
}

//===----------------------------------------------------------------------===//
// One tile
//===----------------------------------------------------------------------===//

/// The indices of a scale in its tile, as `kTileShape` has them.
template <typename Index>
struct InTile {
  Index line;
  Index lineRow;
  Index col;
};

/// Where the scale at (row, col) of a matrix is in its tile.
template <typename Index>
constexpr InTile<Index> getInTile(Index row, Index col) {
  return {row % kTileRowGroup, row % kTileRows / kTileRowGroup,
          col % kTileCols};
}

/// The byte of (row, col) in its tile.
template <typename Index>
constexpr Index getByteInTile(Index row, Index col) {
  InTile<Index> place = getInTile(row, col);
  return place.line * kTileLineBytes + place.lineRow * kTileCols + place.col;
}

//===----------------------------------------------------------------------===//
// One matrix
//===----------------------------------------------------------------------===//

template <typename Index>
struct ScaleIndex {
  Index row;
  Index col;
};

/// Byte of (row, col) in row-major order without padding.
template <typename Index>
constexpr Index getLinearOffset(Index row, Index col, Index cols) {
  return row * cols + col;
}

/// Bytes of a swizzled matrix, padding included.
template <typename Index>
constexpr Index getSwizzledSize(Index rows, Index cols) {
  return getPaddedRows(rows) * getPaddedCols(cols);
}

/// Number of the tile of (row, col) in a matrix with `colTiles` tiles beside
/// each other.
template <typename Index>
constexpr Index getTileNumber(Index row, Index col, Index colTiles) {
  return row / kTileRows * colTiles + col / kTileCols;
}

/// Number of the tile of (row, col) in a matrix that lies behind others. Those
/// have `rowTilesBefore` rows of tiles together, each of `colTiles` tiles.
template <typename Index>
constexpr Index getTileNumber(Index rowTilesBefore, Index row, Index col,
                              Index colTiles) {
  return (rowTilesBefore + row / kTileRows) * colTiles + col / kTileCols;
}

/// Byte of (row, col), whose tile is number `tile`.
template <typename Index>
constexpr Index getTiledOffset(Index tile, Index row, Index col) {
  return tile * kTileBytes + getByteInTile(row, col);
}

/// Byte of (row, col) in the 128x4 layout of a matrix with `cols` columns.
template <typename Index>
constexpr Index getSwizzledOffset(Index row, Index col, Index cols) {
  return getTiledOffset(getTileNumber(row, col, getColTiles(cols)), row, col);
}

/// Row and first column of the four scales of a row that are word `word` of a
/// matrix with `colTiles` tiles beside each other.
template <typename Index>
constexpr ScaleIndex<Index> getSwizzledWord(Index word, Index colTiles) {
  Index tile = word / kTileRows, inTile = word % kTileRows;
  return {tile / colTiles * kTileRows + inTile % kTileLineRows * kTileRowGroup +
              inTile / kTileLineRows,
          tile % colTiles * kTileCols};
}

/// The inverse of getSwizzledOffset. Row or column lie beyond the matrix where
/// the byte is padding.
template <typename Index>
constexpr ScaleIndex<Index> getSwizzledIndex(Index offset, Index cols) {
  ScaleIndex<Index> word =
      getSwizzledWord(Index(offset / kTileCols), getColTiles(cols));
  return {word.row, word.col + offset % kTileCols};
}

//===----------------------------------------------------------------------===//
// Scales of square blocks
//===----------------------------------------------------------------------===//

/// What a product sums over, in terms of the quantized matrix [.., N, K]: its
/// rows (the gradient of the other operand) or its columns (forward).
enum class ScaleDim : uint8_t { N = 0, K = 1 };

/// Which compact scale of B x B blocks stands at (row, col) of the scales that
/// a product takes, where every scale is repeated for the B rows it covers: K
/// gives a matrix [N, ceil(K / B)], N one [K, ceil(N / B)].
template <typename Index>
constexpr ScaleIndex<Index> getCompactIndex(ScaleDim dim, int64_t blockSize,
                                            Index row, Index col) {
  Index block = row / blockSize;
  return dim == ScaleDim::K ? ScaleIndex<Index>{block, col}
                            : ScaleIndex<Index>{col, block};
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// The dimension of a matrix that groups cut. In a product it is a dimension of
/// A: groups of columns cut K.
enum class GroupDim : uint8_t { None, Rows, Columns };

/// Tiles of `tile` units in the buffer of `groups` groups of `size` units:
/// enough for any ends, since a group wastes at most one tile less one unit.
template <typename Index, typename Groups>
constexpr Index getMostTiles(Index size, Groups groups, int64_t tile) {
  return (size + groups * (tile - 1)) / tile;
}

/// Rows (columns) of tiles in the buffer of `groups` groups of `size` rows
/// (columns).
template <typename Index, typename Groups>
constexpr Index getTilesAlong(GroupDim dim, Index size, Groups groups) {
  return getMostTiles(size, groups,
                      dim == GroupDim::Rows ? kTileRows : kTileCols);
}

/// Tiles in the buffer of `groups` groups of a rows x cols matrix.
template <typename Index, typename Groups>
constexpr Index getGroupedTiles(GroupDim dim, Index rows, Index cols,
                                Groups groups) {
  return dim == GroupDim::Rows
             ? getTilesAlong(dim, rows, groups) * getColTiles(cols)
             : getRowTiles(rows) * getTilesAlong(dim, cols, groups);
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
