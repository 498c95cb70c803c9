//===- ThreadMapping.cpp - How rows fall on threads -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ThreadMapping.h"
#include "DeviceEmission/LaunchModel.h"
#include "DeviceEmission/ScaleStore.h"
#include "DeviceEmission/WarpBuffer.h"
#include "QuadKernel.h"
#include "RowLayout.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>

namespace blockscale {

/// Bytes of shared memory that CTAs that reduce rows have for their fragments.
static constexpr int64_t kStageBytes = int64_t(44) * 1024;

static int64_t getRunLanes(const QuantizeSpec &spec) {
  return ThreadMapping::hasRuns(spec)
             ? kWarpThreads / ThreadMapping::kRowSetRows
             : kWarpThreads;
}

static QuantizeModel getModel(const QuantizeSpec &spec,
                              const target::Chip &chip) {
  return QuantizeModel(chip, spec.recipe, spec.format, spec.blockElements,
                       spec.source->getBytes(), spec.source->countOps());
}

/// Whether full warps can access their fragments together. The lanes of a warp
/// must not part, as they do between groups.
static bool canStage(const QuantizeSpec &spec, const target::Chip &chip) {
  if (chip.hasWideGlobalAccess() || !spec.source->isMemory() ||
      spec.isInQuads || spec.groupDim != GroupDim::None ||
      spec.getRowBytes() % WarpBuffer::kPartBytes != 0)
    return false;
  if (spec.ownsRows() &&
      (!RowLayout::hasLongFragments(spec.rowElements, spec.ownedBytes) ||
       ThreadMapping::kRowSetRows * spec.rowElements * spec.getInputBytes() >
           kStageBytes))
    return false;
  // Runs of one row must fit in it; those of several follow each other only
  // where nothing is between the full fragments of rows.
  return ThreadMapping::hasRuns(spec)
             ? spec.rowElements >= kLongFragment * getRunLanes(spec)
             : spec.rowElements % kLongFragment == 0;
}

/// Elements of a full fragment. Fragments are longer where memory takes the
/// most time, so that more loads are under way.
static int64_t getFragmentElements(const QuantizeSpec &spec,
                                   const target::Chip &chip, bool isStaged) {
  if (spec.isInQuads)
    return getQuadFragment(spec);
  bool isLong =
      chip.hasWideGlobalAccess() && getModel(spec, chip).isMemoryBound();
  // With longer fragments, values that a thread computes once for its row cost
  // less per element, and longer rows are in registers as a whole.
  isLong |= spec.ownsRows() && !numerics::isFourOverSix(spec.recipe) &&
            RowLayout::hasLongFragments(spec.rowElements, spec.ownedBytes);
  return isStaged || isLong ? kLongFragment : kShortFragment;
}

ThreadMapping::ThreadMapping(const QuantizeSpec &spec, const target::Chip &chip)
    : hasBuffer(canStage(spec, chip) &&
                (spec.ownsRows() || getModel(spec, chip).hasTimeToStage())),
      isStaged(hasBuffer && getModel(spec, chip).hasTimeToStage()),
      fragmentElements(getFragmentElements(spec, chip, isStaged)),
      fragmentBlocks(fragmentElements / spec.getBlockElements()),
      fullFragments(spec.rowElements / fragmentElements),
      tailElements(spec.rowElements % fragmentElements) {
  int64_t rowBlocks = spec.getBlocksPerRow();
  int64_t columns =
      spec.swizzled ? llvm::alignTo(rowBlocks, kTileCols) : rowBlocks;
  fragmentsPerRow = llvm::divideCeil(columns, fragmentBlocks);
  runLanes = getRunLanes(spec);
  rowStride = spec.swizzled ? kRowStride : 1;
  threads = kThreads;
  passes = 1;
  unitsPerBlock = hasRuns(spec) ? kThreads / kWarpThreads : kThreads;
  unitsPerRowSet = hasRuns(spec) ? llvm::divideCeil(fragmentsPerRow, runLanes)
                                 : fragmentsPerRow;
  if (spec.ownsRows()) {
    passes = RowLayout::countPasses(unitsPerRowSet, spec.ownedBytes);
    unitsPerRowSet = llvm::divideCeil(unitsPerRowSet, passes);
    unitsPerBlock =
        unitsPerRowSet * std::max<int64_t>(1, kFewestWarps / unitsPerRowSet);
    threads = unitsPerBlock * kWarpThreads;
  }
  if (!spec.source->isMemory())
    residentBlocks =
        getModel(spec, chip)
            .getResidentBlocks(threads,
                               fragmentElements * spec.source->getBytes());
  int64_t common = std::gcd(unitsPerRowSet, unitsPerBlock);
  rowSetsPerGroup = unitsPerBlock / common;
  blocksPerGroup = unitsPerRowSet / common;
}

void ThreadMapping::remark(mlir::Location loc, const QuantizeSpec &spec,
                           const target::Chip &chip) const {
  int64_t other =
      fragmentElements == kLongFragment ? kShortFragment : kLongFragment;
  QuantizeModel model = getModel(spec, chip);
  model.remarkFragment(loc, fragmentElements, other, hasBuffer, isStaged);
  if (spec.swizzled)
    model.remarkTiles(loc, runLanes, kRowSetRows, rowStride);
}

} // namespace blockscale
