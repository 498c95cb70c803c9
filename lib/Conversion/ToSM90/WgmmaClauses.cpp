//===- WgmmaClauses.cpp - What a product must be for wgmma ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "WgmmaClauses.h"
#include "Products/RingStages.h"
#include "WgmmaLayout.h"

using namespace mlir;

namespace blockscale::gemm {

FailureOr<WgmmaFormat> verifyWgmmaFormat(const Product &product,
                                         const LaunchSite &site) {
  FailureOr<DecodedFormat> format = verifyDecodedFormat(product, site, "wgmma");
  if (failed(format))
    return failure();
  Value data = format->isScaledA ? product.a : product.b;
  RankedTensorType type = cast<RankedTensorType>(data.getType());
  for (int64_t dim : {type.getRank() - 2, type.getRank() - 1})
    if (format->isPacked && type.isDynamicDim(dim))
      return refuseProduct(product, site, "c8")
             << "expected prepacked data of known rows and K, which its blocks "
                "do not tell, but got "
             << type << "; unpack it (blockscale.prepack)";
  return WgmmaFormat{*format};
}

LogicalResult verifyWgmmaSchedule(const Product &product,
                                  const LaunchSite &site,
                                  const WgmmaSpec &spec) {
  GemmScheduleAttr schedule = spec.schedule;
  bool isScaledA = spec.format.isScaledA;
  int64_t scaled = isScaledA ? schedule.getRows() : schedule.getCols();
  int64_t plain = isScaledA ? schedule.getCols() : schedule.getRows();
  bool isHalf = scaled == kWarpgroupRows && spec.products == 1;
  if (scaled != kMaxScaledRows && !isHalf)
    return refuseProduct(product, site, "c4")
           << "expected a schedule with tiles of "
           << (spec.products == 1 ? "64 or 128 " : "128 ")
           << (isScaledA ? "rows" : "columns")
           << ", those of the operand with scales, but got " << scaled;
  int64_t least = isScaledA ? kFragment : 16;
  int64_t most = 256;
  if (isScaledA && spec.products > 1)
    least = most = 2 * kFragment;
  if (!llvm::isPowerOf2_64(plain) || plain < least || plain > most)
    return refuseProduct(product, site, "c4")
           << "expected a schedule with tiles of a power of two from " << least
           << " to " << most << " " << (isScaledA ? "columns" : "rows")
           << ", those of the plain operand, but got " << plain;
  if (schedule.getMulticast() != 1)
    return refuseProduct(product, site, "c4")
           << "expected a schedule without multicast, but got "
           << schedule.getMulticast();

  WgmmaSpec fewest = spec;
  fewest.schedule = withStages(schedule, getLeastStages(spec));
  if (failed(
          verifyStages(product, site, schedule,
                       {getLeastStages(spec), WgmmaLayout::getMaxStages(spec),
                        WgmmaLayout(fewest).bytes})))
    return failure();
  if (schedule.getStages() % spec.getTeams() != 0)
    return refuseProduct(product, site, "c4")
           << "expected a schedule with a multiple of " << spec.getTeams()
           << " stages, which so many teams of warpgroups share, but got "
           << schedule.getStages();
  if (!llvm::isPowerOf2_64(schedule.getSplits()) ||
      schedule.getSplits() > kMaxParts)
    return refuseProduct(product, site, "c4")
           << "expected a schedule with K in a power of two of parts, of at "
              "most "
           << kMaxParts << ", the CTAs of a cluster, but got "
           << schedule.getSplits();
  return success();
}

} // namespace blockscale::gemm
