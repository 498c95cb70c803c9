//===- WgmmaSchedule.cpp - Choice of a schedule ---------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread that waits for tensor cores to take its instruction does not decode,
// so that a step takes as long as both together, but for what one warpgroup
// decodes while the other one multiplies. Wide tiles hide decoding: then the
// step takes as long as to multiply. Tiles come in waves of one for each
// multiprocessor, and no product is faster than memory is read.
//
//===----------------------------------------------------------------------===//

#include "WgmmaSchedule.h"
#include "WgmmaLayout.h"
#include "blockscale/Target/Gpu.h"

#include <cmath>

using namespace mlir;

namespace blockscale::gemm {

/// Rows of the plain operand that tiles have.
static constexpr int64_t kPlainRows[] = {16, 32, 64, 128, 256};
/// Steps of K that each part has at least.
static constexpr int64_t kMinPartSteps = 4;

// Measured on an H100 and an H200, in microseconds. First decoding a step, by
// whether data are packed, whether codes have eight bits, and whether tiles
// have 64 rows instead of 128; then what it takes more where elements of E2M1
// are multiplied twice.
static constexpr double kStepDecode[2][2][2] = {{{0.22, 0.14}, {0.26, 0.16}},
                                                {{0.15, 0.09}, {0.20, 0.12}}};
static constexpr double kTwiceDecode = 0.02;
// Making results of a part of a tile, twice as long where CTAs add their sums;
// what every product takes beside its steps, and what one of clusters takes
// more.
static constexpr double kPartWrite = 0.6;
static constexpr double kStart = 3.4;
static constexpr double kClusterStart = 2.0;
/// The part of multiplying that decoding does not hide, where it takes longer.
static constexpr double kShownMultiply = 0.65;
/// Bytes that come from the L2 cache to all multiprocessors, a microsecond.
static constexpr double kCacheBytes = 1e7;
/// The share of the memory's rate at which products read that wait for it:
/// they are over before its rate is reached.
static constexpr double kReadShare = 0.65;
/// The share of multiprocessors that clusters of more than two CTAs can use:
/// some of a GPU's larger parts, which a cluster has to fit in, are left over.
static constexpr double kClusterShare = 0.93;

/// The clusters that a GPU runs at a time.
static int64_t countClusters(const target::Gpu &gpu, int64_t parts) {
  double share = parts > 2 ? kClusterShare : 1;
  return static_cast<int64_t>(gpu.multiprocessors * share) / parts;
}

static DecodedTimeline getTimeline(const AssumedSizes &sizes,
                                   const WgmmaSpec &spec,
                                   const target::Gpu &gpu) {
  constexpr double second = 1e6;
  GemmScheduleAttr schedule = spec.schedule;
  WgmmaTile tile(spec);
  WgmmaLayout shared(spec);
  auto parts = static_cast<double>(spec.getParts());
  auto plain = static_cast<double>(tile.plainRows);
  auto scaled = static_cast<double>(tile.scaledRows);
  auto stageSteps = static_cast<double>(spec.getStageSteps());
  double flops = 2.0 * scaled * plain * kStepElements;
  DecodedTimeline time;
  time.multiply = flops * gpu.multiprocessors * second /
                  (gpu.getPeakFlops(target::Unit::Bf16) * gpu.flopsShare);
  bool isWide = spec.format.getBits() == 8;
  time.decode = kStepDecode[spec.format.isPacked][isWide][spec.getTeams() > 1];
  if (!isWide && !spec.format.getSumShift())
    time.decode += kTwiceDecode * scaled / kMaxScaledRows;
  time.load = static_cast<double>(shared.plainBytes + shared.codeBytes +
                                  shared.scaleBytes) /
              stageSteps * gpu.multiprocessors / kCacheBytes;
  time.step = std::max(
      {time.multiply, time.decode + kShownMultiply * time.multiply, time.load});
  time.steps = std::ceil(std::ceil(sizes.depth / spec.stageElements) / parts) *
               stageSteps;
  time.tiles = std::ceil(sizes.rows / schedule.getRows()) *
               std::ceil(sizes.cols / schedule.getCols()) * sizes.matrices;
  time.waves = std::ceil(
      time.tiles / static_cast<double>(countClusters(gpu, spec.getParts())));
  double writes = std::ceil(plain / 64) * kPartWrite * (parts > 1 ? 2 : 1);
  double bytes = countOperandBytes(sizes, spec.format);
  double rate = gpu.peakBytes * kReadShare / second;
  time.total =
      kStart + (parts > 1 ? kClusterStart : 0) +
      std::max(time.waves * (time.steps * time.step + writes), bytes / rate);
  return time;
}

SmallVector<RatedDecodedSchedule> rateWgmmaSchedules(const Product &product,
                                                     const WgmmaFormat &format,
                                                     const target::Chip &chip) {
  const target::Gpu &gpu = *target::findGpu(chip.gpu);
  AssumedSizes sizes(product);
  SmallVector<RatedDecodedSchedule> rated;
  bool isPair = product.siblings > 1;
  auto add = [&](int64_t plain, int64_t scaled, int64_t splits) {
    int64_t rows = format.isScaledA ? scaled : plain;
    int64_t cols = format.isScaledA ? plain : scaled;
    auto get = [&](int64_t stages) {
      return GemmScheduleAttr::get(product.op->getContext(), rows, cols, stages,
                                   std::max<int64_t>(kBandRows / rows, 1),
                                   countClusters(gpu, splits) * splits,
                                   /*multicast=*/1, splits);
    };
    WgmmaSpec spec(format, get(1), chip);
    spec.products = product.siblings;
    int64_t stages = WgmmaLayout::getMaxStages(spec);
    if (stages < getLeastStages(spec))
      return;
    spec.schedule = get(stages);
    rated.push_back({spec.schedule, getTimeline(sizes, spec, gpu)});
  };
  double steps = std::ceil(sizes.depth / kStepElements);
  for (int64_t plain : kPlainRows) {
    if (format.isScaledA &&
        (plain < kFragment || (isPair && plain != 2 * kFragment)))
      continue;
    for (int64_t scaled : {kMaxScaledRows, kWarpgroupRows})
      for (int64_t splits = 1;
           splits <= kMaxParts && !(isPair && scaled < kMaxScaledRows);
           splits *= 2)
        if (splits == 1 || static_cast<double>(splits * kMinPartSteps) <= steps)
          add(plain, scaled, splits);
  }
  sortSchedules(rated);
  return rated;
}

void remarkWgmmaSchedule(const Product &product, const WgmmaFormat &format,
                         ArrayRef<RatedDecodedSchedule> rated) {
  remarkDecodedSchedule(
      product, kStepElements, rated,
      format.isPacked
          ? "; data are prepacked"
          : "; data are row-major, which take longer to decode than prepacked "
            "ones (blockscale.prepack)");
}

} // namespace blockscale::gemm
