//===- MmaClauses.cpp - What a product must be for a kernel ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MmaClauses.h"
#include "Products/RingStages.h"

using namespace mlir;

namespace blockscale::gemm {

bool isMmaTile(const DecodedFormat &format, int64_t products, int64_t scaled,
               int64_t plain) {
  constexpr int64_t least = 16, most = 128, wide = 256;
  if (scaled != most / 2 && scaled != most && scaled != wide)
    return false;
  bool isSmall = scaled < most && plain > scaled;
  bool isPower = llvm::isPowerOf2_64(plain) && plain >= least && plain <= most;
  if (isSmall || !isPower)
    return false;
  if (!format.isScaledA)
    return true;
  return products > 1 ? plain == 2 * kFragment : plain >= kFragment;
}

LogicalResult verifyMmaTile(const Product &product, const LaunchSite &site,
                            const DecodedFormat &format,
                            GemmScheduleAttr schedule) {
  int64_t rows = schedule.getRows(), cols = schedule.getCols();
  int64_t scaled = format.isScaledA ? rows : cols;
  int64_t plain = format.isScaledA ? cols : rows;
  if (isMmaTile(format, product.siblings, scaled, plain))
    return success();
  return refuseProduct(product, site, "c4")
         << "expected a schedule with tiles of 64, 128 or 256 "
         << (format.isScaledA ? "rows" : "columns")
         << ", those of the operand with scales, by 16, 32, 64 or 128 of the "
            "plain one that such a tile can have, but got "
         << rows << " x " << cols;
}

LogicalResult verifyMmaSchedule(const Product &product, const LaunchSite &site,
                                const MmaSpec &spec) {
  GemmScheduleAttr schedule = spec.schedule;
  if (schedule.getMulticast() != 1)
    return refuseProduct(product, site, "c4")
           << "expected a schedule without multicast, but got "
           << schedule.getMulticast();
  MmaSpec fewest = spec;
  fewest.schedule = withStages(schedule, kLeastMmaStages);
  if (failed(verifyStages(product, site, schedule,
                          {kLeastMmaStages, MmaLayout::getMaxStages(spec),
                           MmaLayout(fewest).bytes})))
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
