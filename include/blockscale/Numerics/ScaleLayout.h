//===- ScaleLayout.h - Where scale bytes lie --------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A layout of a matrix of scale bytes: the matrix is padded with zero bytes to
// multiples of a tile's rows and columns and cut in tiles, which are stored
// row-major. In a tile the bits of row and column are permuted (BitLayout.h):
//
//   linear  tiles of one byte: row-major, without padding
//   128x4   byte = (row mod 32) * 16 + (row div 32) * 4 + column
//           (cuBLAS "1D block scaling factors layout"; torchao to_blocked)
//   8x4     byte = row * 4 + column
//           (FlashInfer SfLayout.layout_8x4; TensorRT-LLM SWIZZLED_8x4)
//
// A grouped matrix is a run of groups along rows (dimension 0) or columns
// (dimension 1), given by the end of each in rows or columns of scales, not
// decreasing. Each group is padded to tiles of 128x4 and tiled alone, and the
// tiles of all groups are concatenated (torchao torch_to_blocked_2d_M_groups,
// _K_groups). The buffer has the size that suffices for any ends.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_SCALELAYOUT_H
#define BLOCKSCALE_NUMERICS_SCALELAYOUT_H

#include "blockscale/Numerics/BitLayout.h"

#include <string_view>

namespace blockscale::numerics {

/// The order of the scales of a matrix in memory. Indices are numbers, or
/// values of a code generator.
struct ScaleLayout {
  /// The name that types have for it.
  std::string_view name;
  /// Which bits of row and column are those of the byte in a tile.
  BitLayout tile;

  constexpr bool isLinear() const { return tile.empty(); }

  constexpr int64_t getTileRows() const { return tile.getRows(); }
  constexpr int64_t getTileCols() const { return tile.getCols(); }
  constexpr int64_t getTileBytes() const {
    return getTileRows() * getTileCols();
  }

  /// Neighbours in a row of a tile that are consecutive bytes.
  constexpr int64_t getRunBytes() const {
    return int64_t(1) << tile.getContiguousBits();
  }

  /// Rows and columns of tiles.
  template <typename Index>
  constexpr Index getRowTiles(Index rows) const {
    return countTiles(rows, getTileRows());
  }
  template <typename Index>
  constexpr Index getColTiles(Index cols) const {
    return countTiles(cols, getTileCols());
  }

  /// Bytes of a matrix, padding included.
  template <typename Index>
  constexpr Index getBytes(Index rows, Index cols) const {
    return getRowTiles(rows) * getTileRows() *
           (getColTiles(cols) * getTileCols());
  }

  /// The byte of (row, col) in its tile.
  template <typename Index>
  constexpr Index getByteInTile(Index row, Index col) const {
    return tile.getPlace(row, col);
  }

  /// Number of the tile of (row, col) in a matrix with `colTiles` tiles beside
  /// each other.
  template <typename Index>
  constexpr Index getTileNumber(Index row, Index col, Index colTiles) const {
    return getTile(row, getTileRows()) * colTiles + getTile(col, getTileCols());
  }
  /// Number of the tile of (row, col) in a matrix that lies behind others.
  /// Those have `rowTilesBefore` rows of tiles together, each of `colTiles`
  /// tiles.
  template <typename Index>
  constexpr Index getTileNumber(Index rowTilesBefore, Index row, Index col,
                                Index colTiles) const {
    return (rowTilesBefore + getTile(row, getTileRows())) * colTiles +
           getTile(col, getTileCols());
  }

  /// Byte of (row, col), whose tile is number `number`.
  template <typename Index>
  constexpr Index getTiledOffset(Index number, Index row, Index col) const {
    return isLinear() ? number
                      : number * getTileBytes() + getByteInTile(row, col);
  }

  /// Byte of (row, col) of a matrix with `cols` columns.
  template <typename Index>
  constexpr Index getOffset(Index row, Index col, Index cols) const {
    return getTiledOffset(getTileNumber(row, col, getColTiles(cols)), row, col);
  }

  /// Row and first column of the neighbours that are run `run` of consecutive
  /// bytes of a matrix with `colTiles` tiles beside each other. Row or column
  /// lie beyond the matrix where the bytes are padding.
  template <typename Index>
  constexpr ElementIndex<Index> getRun(Index run, Index colTiles) const {
    BitLayout runs = tile.inUnits(tile.getContiguousBits());
    int64_t runsInTile = getTileBytes() / getRunBytes();
    Index number = getTile(run, runsInTile);
    Index row = number / colTiles, col = number % colTiles;
    if (isLinear())
      return {row, col};
    return {row * getTileRows() + runs.getElement({run % runsInTile}).row,
            col * getTileCols()};
  }

  /// The inverse of getOffset. Row or column lie beyond the matrix where the
  /// byte is padding.
  template <typename Index>
  constexpr ElementIndex<Index> getIndex(Index offset, Index cols) const {
    ElementIndex<Index> first =
        getRun(getTile(offset, getRunBytes()), getColTiles(cols));
    return {first.row, first.col + offset % getRunBytes()};
  }

private:
  template <typename Index>
  static constexpr Index countTiles(Index size, int64_t unit) {
    return unit == 1 ? size : ceilDivide(size, unit);
  }
  template <typename Index>
  static constexpr Index getTile(Index position, int64_t unit) {
    return unit == 1 ? position : position / unit;
  }
};

constexpr bool operator==(const ScaleLayout &x, const ScaleLayout &y) {
  return x.tile == y.tile;
}
constexpr bool operator!=(const ScaleLayout &x, const ScaleLayout &y) {
  return !(x == y);
}

//===----------------------------------------------------------------------===//
// The layouts
//===----------------------------------------------------------------------===//

inline constexpr ScaleLayout kLinear{"linear", {}};
inline constexpr ScaleLayout k128x4{"swizzle_128x4",
                                    {{MatrixDim::Row, 0, 0, 4, 5},
                                     {MatrixDim::Row, 5, 0, 2, 2},
                                     {MatrixDim::Col, 0, 0, 0, 2}}};
inline constexpr ScaleLayout k8x4{
    "swizzle_8x4",
    {{MatrixDim::Row, 0, 0, 2, 3}, {MatrixDim::Col, 0, 0, 0, 2}}};

/// The layouts that types name, in the order of the numbers of the dialect.
inline constexpr const ScaleLayout *kTiledLayouts[] = {&k128x4, &k8x4};

/// Padding of every layout.
inline constexpr uint8_t kScalePadding = 0;

/// Rows, columns and bytes of a tile of 128x4.
inline constexpr int64_t kTileRows = k128x4.getTileRows();
inline constexpr int64_t kTileCols = k128x4.getTileCols();
inline constexpr int64_t kTileBytes = k128x4.getTileBytes();

/// A tile of 128x4 is stored as 32 lines of 16 bytes. Line i has the scales of
/// four rows that are 32 apart: i, i + 32, i + 64 and i + 96.
inline constexpr int64_t kTileRowGroup = 32;
inline constexpr int64_t kTileLineRows = kTileRows / kTileRowGroup;
inline constexpr int64_t kTileLineBytes = kTileLineRows * kTileCols;
/// The dimensions of a tile of 128x4 in memory.
inline constexpr int64_t kTileShape[] = {kTileRowGroup, kTileLineRows,
                                         kTileCols};

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
constexpr ElementIndex<Index> getCompactIndex(ScaleDim dim, int64_t blockSize,
                                              Index row, Index col) {
  Index block = row / blockSize;
  return dim == ScaleDim::K ? ElementIndex<Index>{block, col}
                            : ElementIndex<Index>{col, block};
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

/// Rows that `groups` groups of `size` rows take at most, each padded to a
/// multiple of `unit`.
template <typename Index, typename Groups>
constexpr Index getPaddedRows(Index size, Groups groups, int64_t unit) {
  return getMostTiles(size, groups, unit) * unit;
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
             ? getTilesAlong(dim, rows, groups) * k128x4.getColTiles(cols)
             : k128x4.getRowTiles(rows) * getTilesAlong(dim, cols, groups);
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
    along += dim == GroupDim::Rows ? k128x4.getRowTiles(size)
                                   : k128x4.getColTiles(size);
  }
  return along * (dim == GroupDim::Rows ? k128x4.getColTiles(extent)
                                        : k128x4.getRowTiles(extent));
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
           k128x4.getOffset(row - begin, col, cols);
  return getGroupTileStart(dim, ends, group, rows) * kTileBytes +
         k128x4.getOffset(row, col - begin, ends[group] - begin);
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_SCALELAYOUT_H
