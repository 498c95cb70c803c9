//===- DecodedSchedule.cpp - Rated schedules of decoded operands ----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DecodedSchedule.h"
#include "ScheduleRemarks.h"

using namespace mlir;

namespace blockscale::gemm {

double countOperandBytes(const AssumedSizes &sizes,
                         const DecodedFormat &format) {
  double scaledRows = format.isScaledA ? sizes.rows : sizes.cols;
  double plainRows = format.isScaledA ? sizes.cols : sizes.rows;
  double scaledBytes =
      format.getBits() / 8.0 + 1.0 / static_cast<double>(format.block);
  return sizes.matrices * sizes.depth *
         (scaledRows * scaledBytes + plainRows * 2);
}

void sortSchedules(MutableArrayRef<RatedDecodedSchedule> rated) {
  auto getKey = [](const RatedDecodedSchedule &each) {
    return std::make_tuple(each.timeline.total, each.schedule.getRows(),
                           each.schedule.getCols(), each.schedule.getSplits());
  };
  llvm::sort(rated,
             [&](const RatedDecodedSchedule &x, const RatedDecodedSchedule &y) {
               return getKey(x) < getKey(y);
             });
}

void remarkDecodedSchedule(const Product &product, int64_t stepElements,
                           ArrayRef<RatedDecodedSchedule> rated,
                           StringRef note) {
  const auto &[schedule, best] = rated.front();
  StringRef longest = best.step == best.multiply ? "multiply"
                      : best.step == best.load   ? "load"
                                                 : "decode and multiply";
  std::string others;
  for (const RatedDecodedSchedule &other : rated.drop_front().take_front(2))
    others += llvm::formatv("{0}{1}, {2:f1} us", others.empty() ? "" : "; ",
                            printTile(other.schedule), other.timeline.total)
                  .str();
  remark::analysis(product.op->getLoc(),
                   remark::RemarkOpts::name("schedule").category("gpu-launch"))
      << remark::add(
             "tiles of {0} in {1} stages: a step of {2} of K takes {3} us to "
             "multiply, {4} us to decode, {5} us to load, so that it has to "
             "{6}; tiles: {7}, waves: {8}, {9} us ({10}){11}; assumed is {12} "
             "for sizes that are not known",
             printTile(schedule), schedule.getStages(), stepElements,
             llvm::formatv("{0:f2}", best.multiply).str(),
             llvm::formatv("{0:f2}", best.decode).str(),
             llvm::formatv("{0:f2}", best.load).str(), longest,
             llvm::formatv("{0:f0}", best.tiles).str(),
             llvm::formatv("{0:f0}", best.waves).str(),
             llvm::formatv("{0:f1}", best.total).str(), others, note.str(),
             kAssumedSize);
}

} // namespace blockscale::gemm
