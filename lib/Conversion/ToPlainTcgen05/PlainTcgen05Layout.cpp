//===- PlainTcgen05Layout.cpp - Tiles and memory of a CTA ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlainTcgen05Layout.h"

namespace blockscale::products {

/// Steps of a stage. Where a tile has few plain rows, steps are short and
/// stages small: one wait for two or four steps costs less, and copies, of
/// which a thread cannot begin many, bring longer rows of codes. Where no
/// operand has codes, as few rows take as much memory.
static int64_t chooseStageSteps(int64_t plainRows, bool hasScales) {
  if (plainRows <= (hasScales ? 64 : 32))
    return 4;
  return plainRows <= 128 ? 2 : 1;
}

PlainTcgen05Spec::PlainTcgen05Spec(const DecodedFormat &format,
                                   GemmScheduleAttr schedule,
                                   const target::Chip &chip)
    : StagedSpec(format, schedule, chip) {
  stageElements =
      chooseStageSteps(getPlainRows(), format.hasScales) * kDecodedStep;
  hasWholeStages = false;
}

// A part of the sums has columns of both products.
PlainTcgen05Layout::PlainTcgen05Layout(const PlainTcgen05Spec &spec)
    : StagedLayout(spec, std::min(spec.getPlainRows(),
                                  kSumPart * DecodedTile(spec).plainOwners)) {
  sums = take(sumBytes);
  takeStageBarriers(spec);
  decodedFull = take(spec.getDecodedStages() * kBarrierBytes);
  decodedEmpty = take(spec.getDecodedStages() * kBarrierBytes);
  sumFull = take(spec.getAccumulators() * kBarrierBytes);
  sumEmpty = take(spec.getAccumulators() * kBarrierBytes);
  tensorMemory = take(kWordBytes);
}

} // namespace blockscale::products
