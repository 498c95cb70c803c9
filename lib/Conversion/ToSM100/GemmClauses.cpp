//===- GemmClauses.cpp - What a product must be for a kernel --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GemmClauses.h"
#include "GemmLayout.h"
#include "Products/RingStages.h"

using namespace mlir;

namespace blockscale::gemm {

LogicalResult verifySchedule(const Product &product, const LaunchSite &site,
                             const GemmFormat &format,
                             GemmScheduleAttr schedule) {
  int64_t rows = schedule.getRows(), cols = schedule.getCols();
  if (rows != 128 && rows != 256)
    return refuseProduct(product, site, "c4")
           << "expected a schedule of 128 or 256 rows, but got " << rows;
  if (cols != 256 && (cols != 128 || rows == 256))
    return refuseProduct(product, site, "c4")
           << "expected a schedule of " << rows << " rows to have "
           << (rows == 256 ? "256" : "128 or 256") << " columns, but got "
           << cols;
  constexpr int64_t fewest = 1;
  if (failed(
          verifyStages(product, site, schedule,
                       {fewest, SharedLayout::getMaxStages(format, rows, cols),
                        SharedLayout(format, rows, cols, fewest).bytes})))
    return failure();
  bool isWhole = product.groups != GroupDim::None || product.hasEpilogue;
  if (isWhole && schedule.getSplits() > 1)
    return refuseProduct(product, site, "c4")
           << "expected a schedule of groups, or with ops that follow, to have "
              "K in one part, but got "
           << schedule.getSplits();
  if (product.siblings > 1 && cols != 256)
    return refuseProduct(product, site, "c4")
           << "expected a schedule of two products to have 256 columns, but "
              "got "
           << cols;
  return success();
}

} // namespace blockscale::gemm
