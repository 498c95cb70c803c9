//===- WarpSchedule.cpp - Choice of a schedule ----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step takes as long as the tensor cores multiply, shared memory is read, or
// operands arrive from the L2 cache, whichever is the longest. Tiles come in
// waves of one for each multiprocessor. Nothing multiplies while results of a
// tile are written. The rates of memories are assumptions, nothing was
// measured: trust the order of schedules more than shares of the peak.
//
//===----------------------------------------------------------------------===//

#include "WarpSchedule.h"
#include "Products/ScheduleRemarks.h"
#include "blockscale/Target/Gpu.h"

#include <cmath>

using namespace mlir;

namespace blockscale::gemm {

/// Parts of K, and steps that each has at least.
static constexpr int64_t kMaxSplits = 16;
static constexpr int64_t kMinPartSteps = 8;

/// FLOP of a multiprocessor in a clock, dense, of operands of 4 bits. Those of
/// 8 bits have half of them: block-scaled ones are not slowed down on GPUs for
/// games, as plain ones are.
static constexpr double kFp4Flops = 4096;
/// Bytes in a clock: from shared memory, and from the L2 cache, of which Chips
/// and Cheese ("Blackwell: Nvidia's Massive GPU", 2025) measured 8.7e12 a
/// second on RTX PRO 6000, whose 188 multiprocessors have a clock of 2.617 GHz.
static constexpr double kSharedBytes = 128;
static constexpr double kL2Bytes = 8.7e12 / (188 * 2.617e9);
/// Instructions an element of those that write results, clocks before the first
/// one, and instructions of all warps in a clock.
static constexpr double kWriteInstructions = 3;
static constexpr double kWriteStart = 400;
static constexpr double kIssue = 4;
/// Clocks from the launch to the first product.
static constexpr double kFill = 5500;

static WarpTimeline getTimeline(const AssumedSizes &sizes,
                                const ScaledGemmSpec &spec,
                                const target::Gpu &gpu) {
  const GemmFormat &format = spec.format;
  GemmScheduleAttr schedule = spec.schedule;
  WarpLayout shared(spec);
  double flops = kFp4Flops * static_cast<double>(format.stepElements) / 64;
  auto rows = static_cast<double>(schedule.getRows());
  auto cols = static_cast<double>(schedule.getCols());
  auto ofA = static_cast<double>(shared.dataBytesA + shared.scaleBytesA);
  auto ofB = static_cast<double>(shared.dataBytesB + shared.scaleBytesB);
  WarpTimeline time;
  time.multiply =
      2 * rows * cols * static_cast<double>(format.getStageElements()) / flops;
  // Each warp reads its rows and columns.
  time.read = (ofA * kColWarps + ofB * kRowWarps) / kSharedBytes;
  time.load = (ofA + ofB) / kL2Bytes;
  time.step = std::max({time.multiply, time.read, time.load});

  auto splits = static_cast<double>(schedule.getSplits());
  time.steps = std::ceil(
      std::ceil(sizes.depth / static_cast<double>(format.getStageElements())) /
      splits);
  time.tiles = std::ceil(sizes.rows / rows) * std::ceil(sizes.cols / cols) *
               sizes.matrices * splits;
  time.waves = std::ceil(
      time.tiles / std::min<double>(static_cast<double>(schedule.getCtas()),
                                    gpu.multiprocessors));
  time.write =
      rows * cols / kWarpThreads * kWriteInstructions / kIssue + kWriteStart;
  time.total = time.waves * (time.steps * time.step + time.write) + kFill;

  double clock =
      gpu.getPeakFlops(target::Unit::Fp4) / (gpu.multiprocessors * kFp4Flops);
  if (splits > 1) {
    // Sums go to memory and back, and another kernel adds them.
    double sums = sizes.rows * sizes.cols * sizes.matrices * splits * 4;
    double seconds = 2 * sums / (gpu.peakBytes * gpu.bytesShare);
    time.total += (seconds + target::kLaunchSeconds) * clock;
  }
  double useful = 2 * sizes.rows * sizes.cols * sizes.depth * sizes.matrices;
  time.share = useful / (gpu.multiprocessors * flops) / time.total;
  time.seconds = time.total / clock;
  return time;
}

SmallVector<RatedWarpSchedule> rateWarpSchedules(const Product &product,
                                                 const GemmFormat &format,
                                                 const target::Chip &chip) {
  const target::Gpu &gpu = *target::findGpu(chip.gpu);
  AssumedSizes sizes(product);
  SmallVector<RatedWarpSchedule> rated;
  auto add = [&](int64_t splits) {
    auto get = [&](int64_t stages) {
      return GemmScheduleAttr::get(
          product.op->getContext(), kWarpTileRows, kWarpTileCols, stages,
          kBandRows / kWarpTileRows, gpu.multiprocessors, /*multicast=*/1,
          splits);
    };
    ScaledGemmSpec spec{
        {format.getName(), format.block, format.getStageElements(), get(1)},
        format};
    spec.products = product.siblings;
    spec.schedule = get(WarpLayout::getMaxStages(spec, chip));
    rated.push_back({spec.schedule, getTimeline(sizes, spec, gpu)});
  };
  add(/*splits=*/1);
  bool isWhole = product.groups != GroupDim::None || product.hasEpilogue ||
                 !product.a.getType().hasStaticShape() ||
                 !product.b.getType().hasStaticShape();
  // Parts of K where tiles leave multiprocessors idle.
  auto steps = static_cast<int64_t>(rated.front().timeline.steps);
  for (int64_t splits = 2; splits <= kMaxSplits && !isWhole; splits *= 2)
    if (splits * kMinPartSteps <= steps)
      add(splits);
  llvm::sort(rated, [](const RatedWarpSchedule &x, const RatedWarpSchedule &y) {
    return x.timeline.total < y.timeline.total;
  });
  return rated;
}

void remarkWarpSchedule(const Product &product, const GemmFormat &format,
                        ArrayRef<RatedWarpSchedule> rated) {
  std::string assumptions = llvm::formatv(
      "{0:f0} FLOP of 4 bits, {1:f0} bytes of shared memory and {2:f1} of the "
      "L2 cache a clock and multiprocessor, {3:f0} instructions to write a "
      "result, {4:f0} clocks to begin",
      kFp4Flops, kSharedBytes, kL2Bytes, kWriteInstructions, kFill);
  remarkScaledSchedule(product, format.getStageElements(), rated, assumptions);
}

} // namespace blockscale::gemm
