//===- RingStages.h - How many stages a ring has ----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_RINGSTAGES_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_RINGSTAGES_H

#include "blockscale/IR/BlockScaleDialect.h"
#include "blockscale/Target/Chip.h"

namespace blockscale::products {

/// The schedule with `stages` stages.
inline GemmScheduleAttr withStages(GemmScheduleAttr schedule, int64_t stages) {
  return GemmScheduleAttr::get(schedule.getContext(), schedule.getRows(),
                               schedule.getCols(), stages, schedule.getBand(),
                               schedule.getCtas(), schedule.getMulticast(),
                               schedule.getSplits());
}

/// The numbers of stages that a kernel can have with a tile: the fewest that it
/// works with, and the most that fit into shared memory, which may be fewer
/// than that.
struct RingStages {
  int64_t least, most;
};

/// Where rings stop growing.
struct RingLimits {
  /// Stages that come and go together.
  int64_t unit = 1;
  /// CTAs that share the memory of a multiprocessor.
  int64_t blocks = 1;
};

/// The most stages that fit into the shared memory of a chip where `Layout` is
/// that of a CTA; 0 where none does.
template <typename Layout, typename Spec>
int64_t countStages(Spec spec, const target::Chip &chip,
                    RingLimits limits = {}) {
  auto fits = [&](int64_t stages) {
    spec.schedule = withStages(spec.schedule, stages);
    constexpr int64_t reserved = target::MultiprocessorLimits::kReservedBytes;
    return (Layout(spec).bytes + reserved) * limits.blocks <=
           chip.limits.sharedBytes;
  };
  int64_t stages = 0;
  while (fits(stages + limits.unit))
    stages += limits.unit;
  return stages;
}

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_RINGSTAGES_H
