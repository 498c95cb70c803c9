//===- ThreadMapping.cpp - How rows fall on threads -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ThreadMapping.h"
#include "DeviceEmission/LaunchModel.h"
#include "DeviceEmission/ScaleStore.h"
#include "DeviceEmission/WarpStage.h"
#include "RowLayout.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>

namespace blockscale {

/// Bytes of shared memory that thread blocks that reduce rows have for their
/// chunks.
static constexpr int64_t kStageBytes = 44 * 1024;

static int64_t getRunLanes(const QuantizeSpec &spec) {
  return ThreadMapping::hasRuns(spec) ? kWarpThreads / ThreadMapping::kLineRows
                                      : kWarpThreads;
}

static QuantizeModel getModel(const QuantizeSpec &spec,
                              const target::Chip &chip) {
  return QuantizeModel(chip, spec.recipe, spec.format, spec.blockElements,
                       spec.source->getBytes(), spec.source->countOps());
}

/// Whether full warps can access their chunks together. The lanes of a warp
/// must not part, as they do between groups.
static bool canStage(const QuantizeSpec &spec, const target::Chip &chip) {
  if (chip.hasWideGlobalAccess() || !spec.source->isMemory() ||
      spec.groupDim != GroupDim::None ||
      spec.getRowBytes() % WarpStage::kPieceBytes != 0)
    return false;
  if (spec.ownsRows() &&
      (!RowLayout::hasLongChunks(spec.rowElements, spec.ownedBytes) ||
       ThreadMapping::kLineRows * spec.rowElements * spec.getInputBytes() >
           kStageBytes))
    return false;
  // Runs of one row must fit in it; those of several follow each other only
  // where nothing is between the full chunks of rows.
  return ThreadMapping::hasRuns(spec)
             ? spec.rowElements >= kLongChunk * getRunLanes(spec)
             : spec.rowElements % kLongChunk == 0;
}

/// Elements of a full chunk. Chunks are longer where memory takes the most
/// time, so that more loads are under way.
static int64_t getChunkElements(const QuantizeSpec &spec,
                                const target::Chip &chip, bool isStaged) {
  bool isLong =
      chip.hasWideGlobalAccess() && getModel(spec, chip).isMemoryBound();
  // With longer chunks, values that a thread computes once for its row cost
  // less per element, and longer rows are in registers as a whole.
  isLong |= spec.ownsRows() && !numerics::isFourOverSix(spec.recipe) &&
            RowLayout::hasLongChunks(spec.rowElements, spec.ownedBytes);
  return isStaged || isLong ? kLongChunk : kShortChunk;
}

ThreadMapping::ThreadMapping(const QuantizeSpec &spec, const target::Chip &chip)
    : hasStage(canStage(spec, chip) &&
               (spec.ownsRows() || getModel(spec, chip).hasTimeToStage())),
      isStaged(hasStage && getModel(spec, chip).hasTimeToStage()),
      chunkElements(getChunkElements(spec, chip, isStaged)),
      chunkBlocks(chunkElements / spec.getBlockElements()),
      fullChunks(spec.rowElements / chunkElements),
      tailElements(spec.rowElements % chunkElements) {
  int64_t rowBlocks = spec.getBlocksPerRow();
  int64_t columns =
      spec.swizzled ? llvm::alignTo(rowBlocks, kTileCols) : rowBlocks;
  chunksPerRow = llvm::divideCeil(columns, chunkBlocks);
  runLanes = getRunLanes(spec);
  rowStride = spec.swizzled ? kRowStride : 1;
  threads = kThreads;
  passes = 1;
  unitsPerBlock = hasRuns(spec) ? kThreads / kWarpThreads : kThreads;
  unitsPerLine =
      hasRuns(spec) ? llvm::divideCeil(chunksPerRow, runLanes) : chunksPerRow;
  if (spec.ownsRows()) {
    passes = RowLayout::countPasses(unitsPerLine, spec.ownedBytes);
    unitsPerLine = llvm::divideCeil(unitsPerLine, passes);
    unitsPerBlock =
        unitsPerLine * std::max<int64_t>(1, kFewestWarps / unitsPerLine);
    threads = unitsPerBlock * kWarpThreads;
  }
  if (!spec.source->isMemory())
    residentBlocks = getModel(spec, chip)
                         .getResidentBlocks(
                             threads, chunkElements * spec.source->getBytes());
  int64_t common = std::gcd(unitsPerLine, unitsPerBlock);
  linesPerGroup = unitsPerBlock / common;
  blocksPerGroup = unitsPerLine / common;
}

void ThreadMapping::remark(mlir::Location loc, const QuantizeSpec &spec,
                           const target::Chip &chip) const {
  int64_t other = chunkElements == kLongChunk ? kShortChunk : kLongChunk;
  QuantizeModel model = getModel(spec, chip);
  model.remarkChunk(loc, chunkElements, other, hasStage, isStaged);
  if (spec.swizzled)
    model.remarkTiles(loc, runLanes, kLineRows, rowStride);
}

} // namespace blockscale
