//===- ScheduleRemarks.h - What is said of schedules ------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Remarks that say which schedule of a product was chosen, by which numbers,
// and what was next. Schedules are rated, the best first.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_SCHEDULEREMARKS_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_SCHEDULEREMARKS_H

#include "AssumedSizes.h"
#include "blockscale/IR/BlockScaleDialect.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

#include <string>

namespace blockscale::gemm {

/// The tile of a schedule, the pairs of CTAs that share loads, and the parts of
/// K: "256 x 256 by 2, K in 4 parts".
std::string printTile(GemmScheduleAttr schedule);

/// The remark of a product of two operands with scales, whose stages have
/// `stageElements` of K. A rated schedule has clocks, and a share of the peak.
template <typename Rated>
void remarkScaledSchedule(const Product &product, int64_t stageElements,
                          llvm::ArrayRef<Rated> rated,
                          llvm::StringRef assumptions) {
  const auto &[schedule, best] = rated.front();
  llvm::StringRef longest = best.step == best.multiply ? "multiply"
                            : best.step == best.load   ? "load"
                                                       : "read";
  auto round = [](double clocks) {
    return llvm::formatv("{0:f0}", clocks).str();
  };
  auto printShare = [](const Rated &each) {
    return llvm::formatv("{0:f1} %", each.timeline.share * 100).str();
  };
  std::string others;
  for (const Rated &other : rated.drop_front().take_front(2))
    others += (others.empty() ? " (" : "; ") + printTile(other.schedule) +
              ", " + printShare(other);
  if (!others.empty())
    others += ")";
  mlir::remark::analysis(
      product.op->getLoc(),
      mlir::remark::RemarkOpts::name("schedule").category("gpu-launch"))
      << mlir::remark::add(
             "tiles of {0} in {1} stages: of the clocks of a step of {2} of K, "
             "{3} multiply, {4} read shared memory, {5} load, so that it has "
             "to {6}; tiles: {7}, waves: {8}, {9} of the peak{10}; assumed are "
             "{11}, and {12} for sizes that are not known",
             printTile(schedule), schedule.getStages(), stageElements,
             round(best.multiply), round(best.read), round(best.load), longest,
             round(best.tiles), round(best.waves), printShare(rated.front()),
             others, assumptions.str(), kAssumedSize);
}

} // namespace blockscale::gemm

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_SCHEDULEREMARKS_H
