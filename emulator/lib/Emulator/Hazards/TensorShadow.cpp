//===- TensorShadow.cpp - Users of tensor memory --------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Hazards/TensorShadow.h"

#include "Emulator/Memory/TensorMemory.h"

namespace blockscale::emulator {

static constexpr unsigned kLaneGroups = TensorMemory::kLanes / 16;

/// Calls `visit` with the lane group and column of all cells that are there,
/// until it returns true.
template <typename Visit>
static void visitCells(const CellRange &range, Visit visit) {
  unsigned end = std::min(range.column + range.columns, TensorMemory::kColumns);
  for (unsigned group = 0; group < kLaneGroups; ++group)
    if (range.lanes >> group & 1)
      for (unsigned column = range.column; column < end; ++column)
        if (visit(group, column))
          return;
}

static size_t getIndex(unsigned group, unsigned column) {
  return size_t(group) * TensorMemory::kColumns + column;
}

template <typename Visit>
std::optional<TensorShadow::Cell> TensorShadow::find(const CellRange &range,
                                                     Visit visit) const {
  std::optional<Cell> found;
  if (!states.empty())
    visitCells(range, [&](unsigned group, unsigned column) {
      if (visit(states[getIndex(group, column)]))
        found = {16 * group, column};
      return found.has_value();
    });
  return found;
}

void TensorShadow::begin(const CellRange &range, Use use) {
  states.resize(size_t(kLaneGroups) * TensorMemory::kColumns);
  ++inUse[unsigned(use)];
  visitCells(range, [&](unsigned group, unsigned column) {
    ++states[getIndex(group, column)].uses[unsigned(use)];
    return false;
  });
}

void TensorShadow::end(const CellRange &range, Use use,
                       const TensorAccess &access) {
  --inUse[unsigned(use)];
  bool isMatrix = use == Use::MatrixRead || use == Use::MatrixWrite;
  visitCells(range, [&](unsigned group, unsigned column) {
    State &state = states[getIndex(group, column)];
    --state.uses[unsigned(use)];
    if (isMatrix)
      state.matrixEnd = access.time;
    else
      state.access = access;
    return false;
  });
}

std::optional<TensorShadow::Cell> TensorShadow::findUse(const CellRange &range,
                                                        Use use) const {
  if (inUse[unsigned(use)] == 0)
    return std::nullopt;
  return find(range, [&](const State &state) {
    return state.uses[unsigned(use)] != 0;
  });
}

std::optional<TensorShadow::Cell>
TensorShadow::findUnfencedMatrix(const CellRange &range, unsigned warp,
                                 const TensorFences &fences) const {
  return find(range, [&](const State &state) {
    return !fences.isAfter(warp, state.matrixEnd);
  });
}

std::optional<TensorShadow::Cell> TensorShadow::findUnfencedAccess(
    const CellRange &range, unsigned warp, const VectorClock &clock,
    const TensorFences &fences, bool &isBefore) const {
  return find(range, [&](const State &state) {
    const TensorAccess &access = state.access;
    if (access.time == 0 || access.warp == warp ||
        clock[access.warp] < access.epoch)
      return false;
    isBefore = !fences.isBefore(access.warp, access.time);
    return isBefore || !fences.isAfter(warp, access.warp, access.epoch);
  });
}

} // namespace blockscale::emulator
