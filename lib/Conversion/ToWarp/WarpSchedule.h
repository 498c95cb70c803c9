//===- WarpSchedule.h - Choice of a schedule ---------------------*- C++ -*===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOWARP_WARPSCHEDULE_H
#define BLOCKSCALE_LIB_CONVERSION_TOWARP_WARPSCHEDULE_H

#include "Products/ScaledClauses.h"
#include "WarpLayout.h"
#include "blockscale/Target/Chip.h"

namespace blockscale::gemm {

/// The time that a schedule is expected to take: clocks of a multiprocessor,
/// but for the last ones.
struct WarpTimeline {
  /// A stage: its products, reading operands and scales from shared memory, and
  /// loading them from the L2 cache. The longest is the stage's.
  double multiply, read, load, step;
  double steps, tiles, waves;
  /// Writing the results of a tile.
  double write;
  double total;
  /// The share of the peak of the tensor cores that is reached, 0 to 1.
  double share;
  double seconds;
};

/// A schedule and the time that it is expected to take.
struct RatedWarpSchedule {
  GemmScheduleAttr schedule;
  WarpTimeline timeline;
};

/// The schedules that the op can have, the best first. Sizes that are not known
/// are taken to be large.
llvm::SmallVector<RatedWarpSchedule>
rateWarpSchedules(const Product &product, const GemmFormat &format,
                  const target::Chip &chip);

/// Says at the op what was chosen, by which numbers, and what was next.
void remarkWarpSchedule(const Product &product, const GemmFormat &format,
                        llvm::ArrayRef<RatedWarpSchedule> rated);

} // namespace blockscale::gemm

#endif // BLOCKSCALE_LIB_CONVERSION_TOWARP_WARPSCHEDULE_H
