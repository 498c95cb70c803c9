//===- PlainTcgen05Layout.cpp - Tiles and memory of a CTA ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlainTcgen05Layout.h"

namespace blockscale::products {

/// Steps of a stage of rows without scales. Where a tile has few of them, steps
/// are short and stages small: one wait for two or four steps costs less.
static int64_t choosePlainSteps(int64_t plainRows, bool hasScales) {
  if (plainRows <= (hasScales ? 64 : 32))
    return 4;
  return plainRows <= 128 ? 2 : 1;
}

/// Steps of a stage of codes. Whoever decodes waits once for all of them, and
/// copies, of which a thread cannot begin many, bring longer rows.
static constexpr int64_t kCodeSteps = 4;

PlainTcgen05Spec::PlainTcgen05Spec(const DecodedFormat &format,
                                   GemmScheduleAttr schedule,
                                   const target::Chip &chip)
    : StagedSpec(format, schedule, chip) {
  int64_t plainSteps = choosePlainSteps(getPlainRows(), format.hasScales);
  int64_t steps = format.hasScales ? kCodeSteps : plainSteps;
  stageElements = steps * kDecodedStep;
  plainParts = steps / plainSteps;
  hasWholeStages = false;
}

// A part of the sums has columns of both products.
PlainTcgen05Layout::PlainTcgen05Layout(const PlainTcgen05Spec &spec)
    : StagedLayout(spec, std::min(spec.getPlainRows(),
                                  kSumPart * DecodedTile(spec).plainOwners)) {
  sums = take(sumBytes);
  takeStageBarriers(spec);
  plainFull = take(spec.schedule.getStages() * kBarrierBytes);
  plainEmpty = take(spec.schedule.getStages() * kBarrierBytes);
  decodedFull = take(spec.getDecodedStages() * kBarrierBytes);
  decodedEmpty = take(spec.getDecodedStages() * kBarrierBytes);
  sumFull = take(spec.getAccumulators() * kBarrierBytes);
  sumEmpty = take(spec.getAccumulators() * kBarrierBytes);
  tensorMemory = take(kWordBytes);
}

} // namespace blockscale::products
