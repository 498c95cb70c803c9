//===- PatchTile.cpp - What a warp of a patch kernel has ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PatchTile.h"
#include "DeviceEmission/ScaleStore.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;

namespace blockscale {

static constexpr int64_t kSectorBytes = 32;
/// Elements whose random words threads share, along a row.
static constexpr int64_t kRandomElements = 16;

/// Whether a warp of `spec` may have its patches in that form.
static bool isLegal(const PatchSpec &spec) {
  std::array<int64_t, 2> warp = {spec.getWarpRows(), spec.getWarpColumns()};
  if (warp[0] % spec.block[0] != 0 || warp[1] % spec.block[1] != 0)
    return false;
  bool isTiled = spec.swizzled || spec.groupedTiles;
  unsigned minor = spec.scaleForm[1].dim;
  if (isTiled && warp[minor] / spec.block[minor] % kTileCols != 0)
    return false;
  int64_t lanes = spec.transposed ? spec.laneRows : spec.getLaneColumns();
  if (spec.exchangesCodes() && lanes < 2)
    return false;
  return !spec.stochastic || warp[1] % kRandomElements == 0;
}

/// Sectors of `rows` rows of so many bytes.
static int64_t countSectors(int64_t rows, double bytes) {
  return rows * static_cast<int64_t>(std::ceil(bytes / kSectorBytes));
}

static int64_t countSectors(const PatchSpec &spec) {
  std::array<int64_t, 2> warp = {spec.getWarpRows(), spec.getWarpColumns()};
  double codeBytes = static_cast<double>(spec.getDataBits()) / 8;
  int64_t sectors =
      spec.transposed
          ? countSectors(warp[1], static_cast<double>(warp[0]) * codeBytes)
          : countSectors(warp[0], static_cast<double>(warp[1]) * codeBytes);
  const auto &[major, minor] = spec.scaleForm;
  int64_t rows = warp[major.dim] / major.divisor;
  int64_t bytes = warp[minor.dim] / minor.divisor;
  if (!spec.swizzled && !spec.groupedTiles)
    return sectors + countSectors(rows, static_cast<double>(bytes));
  // Rows of a tile that are 32 apart share 16 bytes.
  int64_t places = std::min<int64_t>(rows, kTileRows / kTileCols);
  int64_t tiles = llvm::divideCeil(rows, kTileRows) * (bytes / kTileCols);
  return sectors + tiles * countSectors(1, static_cast<double>(places * 16));
}

SmallVector<RatedTile> rateTiles(const PatchJob &job) {
  SmallVector<RatedTile> tiles;
  for (int64_t laneRows = 1; laneRows <= kWarpThreads; laneRows *= 2) {
    PatchJob other = job;
    other.setLaneRows(laneRows);
    if (other.hasOtherTile && !llvm::all_of(other.specs, isLegal))
      continue;
    const PatchShape &shape = other.shape;
    RatedTile tile{shape.getWarpRows(), shape.getWarpColumns(), 0};
    tile.sectors = countSectors(
        tile.rows, static_cast<double>(tile.columns * shape.getInputBytes()));
    for (const PatchSpec &spec : other.specs)
      tile.sectors += countSectors(spec);
    tiles.push_back(tile);
  }
  int64_t rows = job.shape.getWarpRows();
  llvm::sort(tiles, [&](const RatedTile &a, const RatedTile &b) {
    return std::tuple(a.rows != rows, a.sectors, a.rows) <
           std::tuple(b.rows != rows, b.sectors, b.rows);
  });
  return tiles;
}

LogicalResult applyTile(KernelOp kernel, PatchJob &job) {
  Attribute attr = kernel->getDiscardableAttr(kTileAttrName);
  if (!attr)
    return success();
  SmallVector<RatedTile> tiles = rateTiles(job);
  auto asked = dyn_cast<DenseI64ArrayAttr>(attr);
  for (const RatedTile &tile : tiles)
    if (asked && asked.asArrayRef() == ArrayRef{tile.rows, tile.columns}) {
      job.setLaneRows(tile.rows / job.shape.patchRows);
      return success();
    }
  InFlightDiagnostic diag = kernel.emitOpError()
                            << "expected " << kTileAttrName << " to be one of ";
  llvm::interleaveComma(tiles, diag, [&](const RatedTile &tile) {
    diag << "array<i64: " << tile.rows << ", " << tile.columns << ">";
  });
  return diag << ", but got " << attr;
}

void remarkTile(Location loc, ArrayRef<RatedTile> tiles) {
  const RatedTile &best = tiles.front();
  std::string others;
  for (const RatedTile &tile : tiles.drop_front())
    others += llvm::formatv("{0}{1} of {2}: {3}", others.empty() ? "" : ", ",
                            tile.rows, tile.columns, tile.sectors);
  remark::analysis(loc, remark::RemarkOpts::name("tile").category("gpu-launch"))
      << remark::add("a warp has {0} rows of {1} columns, which takes {2} "
                     "sectors of 32 bytes to load and store; others: {3}",
                     best.rows, best.columns, best.sectors,
                     others.empty() ? "none" : others);
}

} // namespace blockscale
