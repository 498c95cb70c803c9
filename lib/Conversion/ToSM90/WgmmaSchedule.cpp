//===- WgmmaSchedule.cpp - Choice of a schedule ---------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// While one warpgroup multiplies, the other one decodes. So a step takes as
// long as both multiply, or as one decodes and multiplies, or as its data take
// to come from the L2 cache. Tiles come in waves of one for each
// multiprocessor, and no product is faster than memory is read.
//
//===----------------------------------------------------------------------===//

#include "WgmmaSchedule.h"
#include "Products/AssumedSizes.h"
#include "WgmmaLayout.h"
#include "blockscale/Target/Gpu.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;

namespace blockscale::gemm {

/// Rows of the plain operand that tiles have.
static constexpr int64_t kPlainRows[] = {16, 32, 64, 128, 256};
/// Parts of K, and steps that each has at least.
static constexpr int64_t kMaxSplits = 16;
static constexpr int64_t kMinPartSteps = 4;

// Measured on an H200, in microseconds: waiting for a step and decoding it, a
// word of codes in each thread, and making results of a part of a tile.
static constexpr double kStepLatency = 0.10;
static constexpr double kWordDecode = 0.01;
static constexpr double kPartWrite = 0.6;
/// Bytes that come from the L2 cache to all multiprocessors, a microsecond.
static constexpr double kCacheBytes = 5.5e6;

static WgmmaTimeline getTimeline(const AssumedSizes &sizes,
                                 const WgmmaSpec &spec,
                                 const target::Gpu &gpu) {
  constexpr double second = 1e6;
  GemmScheduleAttr schedule = spec.schedule;
  WgmmaTile tile(spec);
  WgmmaLayout shared(spec);
  double splits = static_cast<double>(schedule.getSplits());
  auto plain = static_cast<double>(tile.plainRows);
  double flops = 2.0 * kScaledRows * plain * kStepElements;
  auto stageSteps = static_cast<double>(spec.getStageSteps());
  double words = static_cast<double>(shared.codeBytes) / stageSteps /
                 kWordBytes / (kWarpgroups * 4 * kWarpThreads);
  WgmmaTimeline time;
  time.multiply = flops * gpu.multiprocessors * second /
                  (gpu.getPeakFlops(target::Unit::Bf16) * gpu.flopsShare);
  time.decode = kStepLatency + kWordDecode * words;
  time.load = static_cast<double>(shared.plainBytes + shared.codeBytes +
                                  shared.scaleBytes) /
              stageSteps * gpu.multiprocessors / kCacheBytes;
  time.step = std::max(
      {time.multiply, time.decode + time.multiply / kWarpgroups, time.load});
  time.steps = std::ceil(std::ceil(sizes.depth / spec.stageElements) / splits) *
               stageSteps;
  time.tiles = std::ceil(sizes.rows / schedule.getRows()) *
               std::ceil(sizes.cols / schedule.getCols()) * sizes.matrices *
               splits;
  time.waves = std::ceil(time.tiles / gpu.multiprocessors);
  double parts = std::ceil(plain / 64);
  double sums = splits > 1
                    ? 2 * splits * sizes.rows * sizes.cols * 4 * sizes.matrices
                    : 0;
  double scaledRows = spec.format.isScaledA ? sizes.rows : sizes.cols;
  double plainRows = spec.format.isScaledA ? sizes.cols : sizes.rows;
  double bytes = sizes.matrices * sizes.depth *
                     (scaledRows * spec.format.getBits() / 8 + plainRows * 2) +
                 sums;
  double rate = gpu.peakBytes * gpu.bytesShare / second;
  time.total = std::max(
      time.waves * (time.steps * time.step + parts * kPartWrite), bytes / rate);
  if (splits > 1)
    time.total += (target::kLaunchSeconds * second) + sums / 2 / rate;
  return time;
}

SmallVector<RatedWgmmaSchedule> rateWgmmaSchedules(const Product &product,
                                                   const WgmmaFormat &format,
                                                   const target::Chip &chip) {
  const target::Gpu &gpu = *target::findGpu(chip.gpu);
  AssumedSizes sizes(product);
  SmallVector<RatedWgmmaSchedule> rated;
  auto add = [&](int64_t plain, int64_t splits) {
    int64_t rows = format.isScaledA ? kScaledRows : plain;
    int64_t cols = format.isScaledA ? plain : kScaledRows;
    auto get = [&](int64_t stages) {
      return GemmScheduleAttr::get(product.op->getContext(), rows, cols, stages,
                                   std::max<int64_t>(kBandRows / rows, 1),
                                   gpu.multiprocessors, /*multicast=*/1,
                                   splits);
    };
    WgmmaSpec spec(format, get(1), chip);
    spec.products = product.siblings;
    spec.schedule = get(WgmmaLayout::getMaxStages(spec));
    rated.push_back({spec.schedule, getTimeline(sizes, spec, gpu)});
  };
  bool canSplit = product.groups == GroupDim::None && !product.hasEpilogue &&
                  product.a.getType().hasStaticShape() &&
                  product.b.getType().hasStaticShape();
  double steps = std::ceil(sizes.depth / kStepElements);
  for (int64_t plain : kPlainRows) {
    bool isPair = format.isScaledA && product.siblings > 1;
    if ((format.isScaledA && plain < kFragment) ||
        (isPair && plain != 2 * kFragment))
      continue;
    add(plain, 1);
    for (int64_t splits = 2;
         canSplit && splits <= kMaxSplits &&
         static_cast<double>(splits * kMinPartSteps) <= steps;
         splits *= 2)
      add(plain, splits);
  }
  // Of equals the one with the fewest rows, and in the fewest parts, is first.
  auto getKey = [](const RatedWgmmaSchedule &each) {
    return std::make_tuple(each.timeline.total, each.schedule.getRows(),
                           each.schedule.getCols(), each.schedule.getSplits());
  };
  llvm::sort(rated,
             [&](const RatedWgmmaSchedule &x, const RatedWgmmaSchedule &y) {
               return getKey(x) < getKey(y);
             });
  return rated;
}

static std::string print(const RatedWgmmaSchedule &rated) {
  GemmScheduleAttr schedule = rated.schedule;
  std::string text =
      llvm::formatv("{0} x {1}", schedule.getRows(), schedule.getCols());
  if (schedule.getSplits() > 1)
    text += llvm::formatv(", K in {0} parts", schedule.getSplits());
  return text;
}

void remarkWgmmaSchedule(const Product &product,
                         ArrayRef<RatedWgmmaSchedule> rated) {
  const auto &[schedule, best] = rated.front();
  StringRef longest = best.step == best.multiply ? "multiply"
                      : best.step == best.load   ? "load"
                                                 : "decode and multiply";
  std::string others;
  for (const RatedWgmmaSchedule &other : rated.drop_front().take_front(2))
    others += llvm::formatv("{0}{1}, {2:f1} us", others.empty() ? "" : "; ",
                            print(other), other.timeline.total)
                  .str();
  remark::analysis(product.op->getLoc(),
                   remark::RemarkOpts::name("schedule").category("gpu-launch"))
      << remark::add(
             "tiles of {0} in {1} stages: a step of {2} of K takes {3} us to "
             "multiply, {4} us to decode, {5} us to load, so that it has to "
             "{6}; tiles: {7}, waves: {8}, {9} us ({10}); assumed is {11} for "
             "sizes that are not known",
             print(rated.front()), schedule.getStages(), kStepElements,
             llvm::formatv("{0:f2}", best.multiply).str(),
             llvm::formatv("{0:f2}", best.decode).str(),
             llvm::formatv("{0:f2}", best.load).str(), longest,
             llvm::formatv("{0:f0}", best.tiles).str(),
             llvm::formatv("{0:f0}", best.waves).str(),
             llvm::formatv("{0:f1}", best.total).str(), others, kAssumedSize);
}

} // namespace blockscale::gemm
