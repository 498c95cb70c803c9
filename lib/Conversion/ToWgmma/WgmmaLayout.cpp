//===- WgmmaLayout.cpp - Tiles and memory of a CTA ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "WgmmaLayout.h"
#include "Products/Barriers.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace blockscale::products {

/// Rows of the plain operand whose sums go through shared memory at a time.
static constexpr int64_t kSumPart = 64;

/// Steps of a stage. Where a tile has few rows, steps are short and stages
/// small: one wait for two or four steps costs less, and copies, of which a
/// thread cannot begin many, bring longer rows of codes. Rows without scales
/// are long as they are, and fewer of them fit.
static int64_t chooseStageSteps(int64_t plainRows, int64_t scaledRows,
                                const DecodedFormat &format) {
  // Twice as long stages, whose sums are handed over half as often. Eight warps
  // have registers for them, unless elements are made of f32.
  if (scaledRows == kNarrowRows)
    return format.scalesElements ? 4 : 8;
  // A warpgroup alone, which waits for its instructions at the end of a stage,
  // has registers for such a stage of decoded steps, and memory if codes are
  // small.
  bool isAlone = format.keepsChain && format.getBits() == 4 &&
                 scaledRows == kWarpgroupRows;
  int64_t longRows = isAlone ? kSumPart : kManyTeamsRows;
  if (plainRows <= longRows && format.hasScales)
    return 4;
  return plainRows <= 128 ? 2 : 1;
}

WgmmaSpec::WgmmaSpec(const DecodedFormat &format, GemmScheduleAttr schedule,
                     const target::Chip &chip)
    : StagedSpec(format, schedule, chip) {
  stageElements =
      chooseStageSteps(getPlainRows(), getScaledRows(), format) * kDecodedStep;
}

WgmmaLayout::WgmmaLayout(const WgmmaSpec &spec)
    : StagedLayout(spec, std::min(spec.getPlainRows(), kSumPart)) {
  sums = take((spec.hasOwnResults() ? spec.getTeams() : spec.countSums()) *
              sumBytes);
  // A warp that multiplies by itself may store sums for results before another
  // one of its team has taken what was handed over.
  handedSums =
      spec.handsOverSums() && spec.multipliesByWarp()
          ? take(spec.getScaledRows() * spec.getPlainRows() * kWordBytes)
          : sums;
  takeStageBarriers(spec);
  if (spec.decodesEarly())
    plainFull = take(spec.schedule.getStages() * kBarrierBytes);
  constexpr int64_t bytes = kTeamWarpgroups * kBarrierBytes;
  sumsFull = take(spec.getParts() > 1 ? bytes : 0);
  sumsEmpty = take(spec.readsSumsLate() ? bytes : 0);
}

} // namespace blockscale::products
