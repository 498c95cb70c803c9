//===- ScaleLayoutTest.cpp - Layout maps against other software -----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An expected map gives for each byte the row-major index of the scale it
// holds, or -1 for padding.
//
//===----------------------------------------------------------------------===//

#include "Expected.h"

#include "blockscale/Numerics/ScaleLayout.h"

#include <algorithm>

using namespace blockscale::numerics;

namespace {

constexpr const char *kArchive = "swizzle__maps";

static_assert(k128x4.getOffset<int64_t>(0, 0, 4) == 0);
static_assert(k128x4.getOffset<int64_t>(1, 0, 4) == 16);
static_assert(k128x4.getOffset<int64_t>(32, 0, 4) == 4);
static_assert(k128x4.getOffset<int64_t>(127, 3, 4) == 511);
static_assert(k128x4.getOffset<int64_t>(0, 4, 5) == 512);
static_assert(k128x4.getOffset<int64_t>(128, 0, 5) == 1024);
static_assert(kLinear.getOffset<int64_t>(2, 3, 5) == 13);

struct Shape {
  int64_t rows;
  int64_t cols;
};
constexpr Shape kShapes[] = {{1, 1},    {128, 4}, {128, 8}, {256, 4},
                             {256, 16}, {130, 5}, {100, 3}, {33, 12}};
constexpr Shape kShapes8x4[] = {{1, 1}, {8, 4}, {8, 8},   {16, 4}, {16, 16},
                                {9, 5}, {3, 3}, {33, 12}, {130, 7}};

/// Compares a layout with the maps of an archive.
template <size_t N>
void checkMaps(const ScaleLayout &layout, const char *archive,
               const Shape (&shapes)[N]) {
  for (auto [rows, cols] : shapes) {
    auto map =
        readExpectedAs<int32_t>(archive, "out_map_" + std::to_string(rows) +
                                             "x" + std::to_string(cols));
    ASSERT_EQ(static_cast<int64_t>(map.size()), layout.getBytes(rows, cols));
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < cols; ++c)
        EXPECT_EQ(map[layout.getOffset(r, c, cols)],
                  kLinear.getOffset(r, c, cols));
    for (size_t byte = 0; byte < map.size(); ++byte) {
      ElementIndex<int64_t> index =
          layout.getIndex(static_cast<int64_t>(byte), cols);
      bool isPadding = index.row >= rows || index.col >= cols;
      EXPECT_EQ(map[byte],
                isPadding ? -1 : kLinear.getOffset(index.row, index.col, cols));
    }
  }
}

TEST(ScaleLayout, SwizzleMaps) { checkMaps(k128x4, kArchive, kShapes); }

TEST(ScaleLayout, Maps8x4) { checkMaps(k8x4, "swizzle__maps_8x4", kShapes8x4); }

TEST(ScaleLayout, PaddedSizes) {
  EXPECT_EQ(k128x4.getRowTiles<int64_t>(0), 0);
  EXPECT_EQ(k128x4.getRowTiles<int64_t>(1), 1);
  EXPECT_EQ(k128x4.getRowTiles<int64_t>(129), 2);
  EXPECT_EQ(k128x4.getColTiles<int64_t>(5), 2);
  EXPECT_EQ(k128x4.getBytes<int64_t>(0, 5), 0);
  EXPECT_EQ(k128x4.getBytes<int64_t>(129, 5), 2 * 2 * 512);
  EXPECT_EQ(kLinear.getBytes<int64_t>(129, 5), 129 * 5);
}

/// The map of our grouped layout, -1 for padding.
std::vector<int32_t> makeGroupedMap(GroupDim dim,
                                    const std::vector<int32_t> &ends,
                                    int64_t rows, int64_t cols) {
  auto groups = static_cast<int64_t>(ends.size());
  std::vector<int32_t> map(
      getGroupedTiles(dim, rows, cols, groups) * kTileBytes, -1);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) {
      int64_t offset =
          getGroupedOffset(dim, ends.data(), groups, rows, cols, r, c);
      if (offset < 0)
        continue;
      EXPECT_EQ(map.at(offset), -1) << "byte " << offset << " is written twice";
      map[offset] = static_cast<int32_t>(kLinear.getOffset(r, c, cols));
    }
  }
  return map;
}

/// Buffers differ in their upper bound; what only one has must be padding.
void expectSameMap(const std::vector<int32_t> &got,
                   const std::vector<int32_t> &want) {
  for (size_t i = 0; i < std::max(got.size(), want.size()); ++i)
    EXPECT_EQ(i < got.size() ? got[i] : -1, i < want.size() ? want[i] : -1)
        << i;
}

TEST(ScaleLayout, GroupsOfRows) {
  for (std::string prefix : {"mgroup0", "mgroup1"}) {
    auto ends = readExpectedAs<int32_t>(kArchive, "in_" + prefix + "_offs");
    auto size = readExpectedAs<int32_t>(kArchive, "in_" + prefix + "_cols");
    auto starts =
        readExpectedAs<int64_t>(kArchive, "out_" + prefix + "_start_rows");
    ASSERT_EQ(size.size(), 1u);
    int64_t rows = ends.back(), cols = size[0];
    expectSameMap(makeGroupedMap(GroupDim::Rows, ends, rows, cols),
                  readExpectedAs<int32_t>(kArchive, "out_" + prefix + "_map"));
    ASSERT_EQ(starts.size(), ends.size() + 1);
    for (size_t g = 0; g < starts.size(); ++g)
      EXPECT_EQ(getGroupTileStart(GroupDim::Rows, ends.data(),
                                  static_cast<int64_t>(g), cols) *
                    kTileBytes,
                starts[g] * k128x4.getColTiles(cols) * kTileCols);
  }
}

TEST(ScaleLayout, GroupsOfColumns) {
  for (std::string prefix : {"kgroup0", "kgroup1"}) {
    auto ends = readExpectedAs<int32_t>(kArchive, "in_" + prefix + "_offs");
    auto size = readExpectedAs<int32_t>(kArchive, "in_" + prefix + "_rows");
    auto starts =
        readExpectedAs<int64_t>(kArchive, "out_" + prefix + "_start_cols");
    ASSERT_EQ(size.size(), 1u);
    int64_t rows = size[0], cols = ends.back();
    expectSameMap(makeGroupedMap(GroupDim::Columns, ends, rows, cols),
                  readExpectedAs<int32_t>(kArchive, "out_" + prefix + "_map"));
    ASSERT_EQ(starts.size(), ends.size() + 1);
    for (size_t g = 0; g < starts.size(); ++g)
      EXPECT_EQ(getGroupTileStart(GroupDim::Columns, ends.data(),
                                  static_cast<int64_t>(g), rows) *
                    kTileBytes,
                starts[g] * k128x4.getRowTiles(rows) * kTileRows);
  }
}

// The buffer holds the tiles of any ends, and there are ends that fill it.
TEST(ScaleLayout, GroupedBufferSuffices) {
  for (GroupDim dim : {GroupDim::Rows, GroupDim::Columns}) {
    int64_t tile = dim == GroupDim::Rows ? kTileRows : kTileCols;
    for (int32_t extent = 0; extent < 3 * tile; ++extent) {
      int64_t rows = dim == GroupDim::Rows ? extent : 200;
      int64_t cols = dim == GroupDim::Rows ? 9 : extent;
      int64_t other = dim == GroupDim::Rows ? cols : rows;
      int64_t bound = getGroupedTiles(dim, rows, cols, 2);
      int64_t most = 0;
      for (int32_t split = 0; split <= extent; ++split) {
        const int32_t ends[2] = {split, extent};
        most = std::max(most, getGroupTileStart(dim, ends, 2, other));
      }
      EXPECT_LE(most, bound) << extent;
      // One row or column cannot start a tile in two groups.
      if (extent >= 2) {
        EXPECT_EQ(most, bound) << extent;
      }
    }
  }
}

TEST(ScaleLayout, PositionsBeyondTheLastGroup) {
  const int32_t ends[2] = {3, 3};
  EXPECT_EQ(getGroupedOffset(GroupDim::Rows, ends, 2, 5, 4, 3, 0), -1);
  EXPECT_NE(getGroupedOffset(GroupDim::Rows, ends, 2, 5, 4, 2, 0), -1);
}

} // namespace
