//===- RingStages.h - How many stages a ring has ----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_RINGSTAGES_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_RINGSTAGES_H

#include "GemmRequest.h"

namespace blockscale::gemm {

/// The schedule with `stages` stages.
GemmScheduleAttr withStages(GemmScheduleAttr schedule, int64_t stages);

/// The numbers of stages that a kernel can have with a tile.
struct RingStages {
  /// The fewest that the kernel works with, and the most that fit into shared
  /// memory, which may be fewer than that.
  int64_t least, most;
  /// Bytes of shared memory of a CTA with the fewest.
  int64_t leastBytes;
};

/// Verifies clause c4 for the number of stages of a schedule. Where no number
/// fits, the error is about the tile.
mlir::LogicalResult verifyStages(const Product &product, const LaunchSite &site,
                                 GemmScheduleAttr schedule,
                                 const RingStages &stages);

} // namespace blockscale::gemm

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_RINGSTAGES_H
