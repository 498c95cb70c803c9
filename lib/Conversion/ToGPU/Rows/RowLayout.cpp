//===- RowLayout.cpp - How rows fall on CTAs ------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowLayout.h"
#include "DeviceEmission/DeviceCode.h"

using namespace mlir;

namespace blockscale {

using emit::Lanes;

/// Warps of a CTA that goes through its rows in several passes.
static constexpr int64_t kPassWarps = 8;

/// The most rows that leave multiprocessors idle if a CTA has one of them.
static constexpr int64_t kFewRows = 128;

RowLayout::RowLayout(const QuantizeSpec &spec, const ThreadMapping &mapping)
    : rowElements(spec.rowElements), fragmentElements(mapping.fragmentElements),
      fragments(llvm::divideCeil(rowElements, fragmentElements)),
      rowStride(mapping.rowStride), warpsPerRowSet(mapping.unitsPerRowSet),
      rowSetsPerBlock(mapping.rowSetsPerGroup), passes(mapping.passes) {}

// A multiprocessor has 2^16 registers, of which a thread needs 70 or so beside
// its inputs.
int64_t RowLayout::countPasses(int64_t warps, int64_t inputBytes) {
  int64_t most = inputBytes <= 4 ? 16 : inputBytes <= 8 ? 10 : 12;
  return warps <= most ? 1 : llvm::divideCeil(warps, kPassWarps);
}

bool RowLayout::hasLongFragments(int64_t rowElements, int64_t inputBytes) {
  return inputBytes <= 8 && rowElements >= kRunLanes * kLongFragment;
}

bool RowLayout::areFew(int64_t rows) {
  return !ShapedType::isDynamic(rows) && rows <= kFewRows;
}

RowLayout::RowLayout(int64_t rowElements, int64_t inputBytes, bool areFew)
    : rowElements(rowElements),
      fragmentElements(hasLongFragments(rowElements, inputBytes)
                           ? kLongFragment
                           : kShortFragment),
      rowStride(1) {
  bool hasBlock = areFew && rowElements >= kWarpThreads * kShortFragment;
  int64_t mostLanes = kRunLanes;
  if (hasBlock) {
    fragmentElements = kShortFragment;
    mostLanes = kWarpThreads;
  }
  fragments = llvm::divideCeil(rowElements, fragmentElements);
  int64_t warps = llvm::divideCeil(fragments, mostLanes);
  passes = countPasses(warps, inputBytes);
  warpsPerRowSet = llvm::divideCeil(warps, passes);
  rowSetsPerBlock =
      hasBlock ? 1 : std::max<int64_t>(1, kFewestWarps / warpsPerRowSet);
  runLanes = std::min<int64_t>(llvm::PowerOf2Ceil(fragments), mostLanes);
}

RowLayout::RowLayout(int64_t rowElements, int64_t inputBytes, int64_t warps)
    : RowLayout(rowElements, inputBytes) {
  int64_t needed = llvm::divideCeil(fragments, kRunLanes);
  warpsPerRowSet = std::min<int64_t>(llvm::PowerOf2Ceil(needed), warps);
  passes = llvm::divideCeil(needed, warpsPerRowSet);
  rowSetsPerBlock = warps / warpsPerRowSet;
  runLanes = kRunLanes;
}

RowPosition RowPosition::emit(KernelBuilder &b, const RowLayout &layout,
                              bool batched, Lanes blockNumber) {
  using numerics::split;
  auto cast = [&](Lanes index, Type type) -> Lanes {
    return {b, arith::IndexCastUIOp::create(b, type, index)};
  };
  RowPosition position;
  position.thread =
      cast(emitThreadNumber(b, layout.getThreads()), b.getI32Type());
  auto [warp, lane] = split(position.thread, kWarpThreads);
  std::tie(position.rowSet, position.warp) = split(warp, layout.warpsPerRowSet);
  std::tie(position.run, position.lane) = split(lane, layout.runLanes);

  Lanes block = cast(blockNumber, b.getI64Type());
  Lanes inBlock = extend(position.rowSet, 64);
  Lanes rowSet = block * layout.rowSetsPerBlock + inBlock;
  // Row sets of neighbours follow each other, others come in tiles.
  int64_t rows = layout.getRowSetRows();
  Lanes row = (rowSet & -layout.rowStride) * (rows - 1) + rowSet;
  position.fragment.row = extend(position.run, 64) * layout.rowStride + row;
  position.fragment.fragment = position.warp * layout.runLanes + position.lane;
  position.fragment.matrix =
      batched ? cast(emitMatrixNumber(b), b.getI64Type()) : b.i64(0);
  return position;
}

} // namespace blockscale
