//===- PlainMmaLayout.cpp - Parts of a tile and shared memory -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlainMmaLayout.h"
#include "Products/RingStages.h"

namespace blockscale::products {

/// Plain rows of a tile whose sums go through shared memory at a time, where
/// each warp has all plain rows.
static constexpr int64_t kSumPart = 64;

/// Rows of each operand that a warp of a tile of so many plain rows and more
/// has, where nothing is decoded.
static constexpr int64_t kSquareTileRows = 128;
static constexpr int64_t kSquareRows = 64;

/// Warps that a tile of few plain rows has, in teams.
static constexpr int64_t kTeamWarps = 8;
/// The most plain rows of a tile that has teams, and of one whose stages have
/// four steps.
static constexpr int64_t kMaxTeamRows = 64;
static constexpr int64_t kMaxLongRows = 32;
/// The most plain rows of a tile whose teams load. With more rows that was no
/// faster.
static constexpr int64_t kMaxTeamLoadRows = 16;

/// The least plain rows of a tile whose threads, if they are more than these,
/// need half of the registers of a multiprocessor and more.
static constexpr int64_t kLoneRows = 64;
static constexpr int64_t kLoneThreads = 128;

/// Threads that copy a step of eight plain rows: with fewer of them, the rows
/// of a thread would not all be exchanged alike.
static constexpr int64_t kStepThreads = 8 * kPlainStepBytes / kCopyBytes;

/// Steps of a stage. Where a tile has few rows, stages are small: longer ones
/// cost fewer waits, and copies bring longer parts of rows of codes.
static int64_t chooseStageSteps(int64_t plainRows, int64_t teams,
                                int64_t threads) {
  int64_t steps = plainRows <= kMaxLongRows   ? 4
                  : plainRows <= kMaxTeamRows ? 2
                                              : 1;
  return std::min(std::max(steps, teams), threads / kStepThreads);
}

PlainMmaSpec::PlainMmaSpec(const DecodedFormat &format,
                           GemmScheduleAttr schedule, const target::Chip &chip)
    : DecodedSpec(format, schedule, chip) {
  stageElements =
      chooseStageSteps(getPlainRows(), getTeams(), getThreads()) * kDecodedStep;
}

bool PlainMmaSpec::hasSquareWarps() const {
  return !format.hasScales && getPlainRows() >= kSquareTileRows;
}

int64_t PlainMmaSpec::getWarpFragments() const {
  return hasSquareWarps() ? kSquareRows / kScaledFragment : kDecodedFragments;
}

int64_t PlainMmaSpec::getWarpPlainRows() const {
  return hasSquareWarps() ? kSquareRows : getPlainRows();
}

int64_t PlainMmaSpec::getTeams() const {
  if (getPlainRows() > kMaxTeamRows || format.keepsChain)
    return 1;
  return std::max<int64_t>(kTeamWarps / getRowWarps(), 1);
}

bool PlainMmaSpec::hasTeamLoads() const {
  return getTeams() > 1 && getPlainRows() <= kMaxTeamLoadRows;
}

int64_t PlainMmaSpec::getMaxResidentBlocks() const {
  return getThreads() > kLoneThreads && getPlainRows() >= kLoneRows ? 1 : 2;
}

/// Plain rows of a part of the sums, which has rows of both products, and sums
/// of all warps. Stages leave room for the whole tile that some warps have
/// other plain rows in.
static int64_t getSumPart(const PlainMmaSpec &spec) {
  return spec.getPlainWarps() > 1
             ? spec.getPlainRows()
             : std::min(spec.getPlainRows(),
                        kSumPart * DecodedTile(spec).plainOwners);
}

PlainMmaLayout::PlainMmaLayout(const PlainMmaSpec &spec)
    : DecodedLayout(spec,
                    DecodedTile(spec).bandsOfEach * spec.getStageScaleTiles(),
                    getSumPart(spec)) {
  bytes = std::max(bytes, spec.getTeams() * sumBytes);
}

int64_t PlainMmaLayout::getMaxStages(const PlainMmaSpec &spec, int64_t blocks) {
  constexpr int64_t enough = 8;
  return std::min(
      countStages<PlainMmaLayout>(spec, *spec.chip, {/*unit=*/1, blocks}),
      enough);
}

int64_t PlainMmaLayout::getResidentBlocks(const PlainMmaSpec &spec) {
  int64_t blocks = spec.getMaxResidentBlocks();
  // These have enough registers in any case. With more, ptxas orders their
  // loads so that they take longer.
  if (spec.format.getBits() == 4 && spec.hasTeamLoads())
    return blocks;
  return spec.schedule.getStages() <= getMaxStages(spec, blocks) ? blocks : 1;
}

} // namespace blockscale::products
