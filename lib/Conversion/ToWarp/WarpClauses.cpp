//===- WarpClauses.cpp - What a product must be for a kernel --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpClauses.h"
#include "Products/RingStages.h"
#include "WarpLayout.h"

using namespace mlir;

namespace blockscale::gemm {

LogicalResult verifyWarpSchedule(const Product &product, const LaunchSite &site,
                                 const ScaledGemmSpec &spec) {
  GemmScheduleAttr schedule = spec.schedule;
  int64_t rows = schedule.getRows(), cols = schedule.getCols();
  if (rows != kWarpTileRows || cols != kWarpTileCols)
    return refuseProduct(product, site, "c4")
           << "expected a schedule with tiles of " << kWarpTileRows << " x "
           << kWarpTileCols << ", but got " << rows << " x " << cols;
  ScaledGemmSpec fewest = spec;
  fewest.schedule = withStages(schedule, kLeastWarpStages);
  if (failed(verifyStages(product, site, schedule,
                          {kLeastWarpStages,
                           WarpLayout::getMaxStages(spec, site.getChip()),
                           WarpLayout(fewest).bytes})))
    return failure();
  bool isWhole = product.groups != GroupDim::None || product.hasEpilogue;
  if (isWhole && schedule.getSplits() > 1)
    return refuseProduct(product, site, "c4")
           << "expected a schedule of groups, or with ops that follow, to have "
              "K in one part, but got "
           << schedule.getSplits();
  return success();
}

} // namespace blockscale::gemm
