//===- GemmSchedule.h - Choice of a schedule --------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOSM100_GEMMSCHEDULE_H
#define BLOCKSCALE_LIB_CONVERSION_TOSM100_GEMMSCHEDULE_H

#include "GemmLayout.h"
#include "Products/ScaledClauses.h"
#include "blockscale/Analysis/GemmTimeline.h"
#include "blockscale/Target/Chip.h"

namespace blockscale::gemm {

/// A schedule and the time that it is expected to take.
struct RatedSchedule {
  GemmScheduleAttr schedule;
  GemmTimeline timeline;
};

/// The schedules that the op can have, the best first. Sizes that are not known
/// are taken to be large.
llvm::SmallVector<RatedSchedule> rateSchedules(const Product &product,
                                               const GemmFormat &format,
                                               const target::Chip &chip);

/// Says at the op what was chosen, by which numbers, and what was next.
void remarkSchedule(const Product &product, const GemmFormat &format,
                    llvm::ArrayRef<RatedSchedule> rated);

} // namespace blockscale::gemm

#endif // BLOCKSCALE_LIB_CONVERSION_TOSM100_GEMMSCHEDULE_H
