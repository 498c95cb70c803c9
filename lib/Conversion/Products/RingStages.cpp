//===- RingStages.cpp - How many stages a ring has ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RingStages.h"
#include "ProductClauses.h"

using namespace mlir;

namespace blockscale::gemm {

GemmScheduleAttr withStages(GemmScheduleAttr schedule, int64_t stages) {
  return GemmScheduleAttr::get(schedule.getContext(), schedule.getRows(),
                               schedule.getCols(), stages, schedule.getBand(),
                               schedule.getCtas(), schedule.getMulticast(),
                               schedule.getSplits());
}

LogicalResult verifyStages(const Product &product, const LaunchSite &site,
                           GemmScheduleAttr schedule,
                           const RingStages &stages) {
  if (stages.most < stages.least)
    return refuseProduct(product, site, "c4")
           << "expected a schedule with tiles whose " << stages.least
           << " stages, the fewest, fit into "
           << site.getChip().limits.getSharedBytesOfBlock()
           << " bytes of shared memory, but those of " << schedule.getRows()
           << " x " << schedule.getCols() << " take " << stages.leastBytes;
  int64_t own = schedule.getStages();
  if (own >= stages.least && own <= stages.most)
    return success();
  InFlightDiagnostic diag = refuseProduct(product, site, "c4");
  diag << "expected a schedule of " << stages.least;
  if (stages.most > stages.least)
    diag << " to " << stages.most;
  return diag << " stages, which shared memory holds, but got " << own;
}

} // namespace blockscale::gemm
