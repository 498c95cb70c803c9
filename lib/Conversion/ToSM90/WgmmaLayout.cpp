//===- WgmmaLayout.cpp - Tiles and memory of a CTA ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "WgmmaLayout.h"
#include "Products/Barriers.h"
#include "Products/RingStages.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace blockscale::gemm {

/// Rows of the plain operand whose sums go through shared memory at a time.
static constexpr int64_t kSumPart = 64;

/// Bytes of a row that the widest swizzle takes.
static constexpr int64_t kMaxBoxBytes = 128;

WgmmaTile::WgmmaTile(const WgmmaSpec &spec) {
  bool isScaledA = spec.format.isScaledA;
  plainRows = spec.getPlainRows();
  // Products share A.
  plainRowsOfEach = isScaledA ? plainRows / spec.products : plainRows;
  scaleTiles = isScaledA ? 1 : spec.products;
  scaledRows = spec.getScaledRows();
  scaledRowsOfEach = scaledRows / scaleTiles;
}

WgmmaLayout::WgmmaLayout(const WgmmaSpec &spec) {
  WgmmaTile tile(spec);
  int64_t stages = spec.schedule.getStages();
  bytes = 0;
  auto take = [&](int64_t count) {
    int64_t begin = bytes;
    bytes += count;
    return begin;
  };
  int64_t rowBytes = spec.getStageSteps() * spec.format.getCodeBytes();
  plainBytes = spec.getStageSteps() * tile.plainRows * kPlainRowBytes;
  codeBytes = tile.scaledRows * rowBytes;
  boxBytes = std::min(rowBytes, kMaxBoxBytes);
  scaleBytes = tile.scaleTiles * spec.getStageScaleTiles() * kTileBytes;
  // What is swizzled comes first: its stages begin at multiples of 1024.
  plain = take(stages * plainBytes);
  codes = take(stages * codeBytes);
  scales = take(stages * scaleBytes);
  int64_t part = std::min(tile.plainRows, kSumPart);
  sumRows = spec.format.isScaledA ? tile.scaledRows : part;
  sumCols = spec.format.isScaledA ? part : tile.scaledRows;
  // Threads of a warp store sums of 8 scaled rows and of 4 plain ones, two
  // apart, to different banks.
  sumPitch = sumCols + (spec.format.isScaledA ? 8 : 4);
  sumBytes = sumRows * sumPitch * 4;
  sums = take(spec.getTeams() * sumBytes);
  stageFull = take(stages * kBarrierBytes);
  stageEmpty = take(stages * kBarrierBytes);
  int64_t rings = spec.getParts() > 1 ? kTeamWarpgroups : 0;
  sumsFull = take(rings * kBarrierBytes);
  sumsEmpty = take(rings * kBarrierBytes);
}

int64_t WgmmaLayout::getMaxStages(WgmmaSpec spec) {
  auto fits = [&](int64_t stages) {
    spec.schedule = withStages(spec.schedule, stages);
    return WgmmaLayout(spec).bytes <= kMaxSharedBytes;
  };
  int64_t stages = 0;
  int64_t each = spec.getTeams();
  while (fits(stages + each))
    stages += each;
  return stages;
}

} // namespace blockscale::gemm
