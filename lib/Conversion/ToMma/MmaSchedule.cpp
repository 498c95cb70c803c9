//===- MmaSchedule.cpp - Choice of a schedule -----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step takes as long as the tensor cores multiply it or operands arrive,
// whichever is longer, and never less than to decode it. Tiles come in waves of
// as many CTAs as multiprocessors hold, and no product is faster than memory is
// read. Rates were measured on a Hopper GPU, which runs the same instructions.
//
//===----------------------------------------------------------------------===//

#include "MmaSchedule.h"
#include "MmaClauses.h"
#include "blockscale/Target/Gpu.h"

#include <cmath>

using namespace mlir;

namespace blockscale::gemm {

static constexpr int64_t kPlainRows[] = {16, 32, 64, 128};
static constexpr int64_t kScaledRows[] = {64, 128, 256};
/// The most stages of tiles of up to 64 plain rows, and of more: others were no
/// faster.
static constexpr int64_t kSmallStages = 5;
static constexpr int64_t kLargeStages = 4;
/// Parts of K, and steps that each has at least.
static constexpr int64_t kMaxSplits = 16;
static constexpr int64_t kMinPartSteps = 16;

// Measured on an H100 and an H200, in microseconds.
/// The share of the peak at which the widest tiles are multiplied. That peak is
/// of another instruction: mma.sync alone reaches three quarters of it.
static constexpr double kMultiplyShare = 0.44;
/// Decoding a step of 64 rows: codes of 4 bits, FP8 where the chip converts it,
/// and others.
static constexpr double kDecodedRows = 64;
static constexpr double kDecodeFours = 0.13;
static constexpr double kDecodeConverted = 0.2;
static constexpr double kDecodeOthers = 0.27;
/// How much longer decoding takes where a multiprocessor has half of the CTAs
/// that it has room for, in tiles of more plain rows than this.
static constexpr double kAlone = 1.5;
static constexpr int64_t kAloneRows = 32;
/// The part of multiplying that is not hidden where decoding takes longer.
static constexpr double kShownMultiply = 0.5;
/// Bytes that come from the L2 cache to all multiprocessors, a microsecond.
static constexpr double kCacheBytes = 4e6;
/// What a stage takes to arrive, however small it is.
static constexpr double kArrival = 1;
/// Writing the results of 32 plain rows by 64 others, and filling the ring.
static constexpr double kPartWrite = 0.25;
static constexpr double kTileStart = 1.2;
/// What every product takes beside its tiles, and what the kernel takes more
/// that adds sums of parts of K.
static constexpr double kStart = 3.5;
static constexpr double kSumStart = 5;
/// The share of the memory's rate at which products read that wait for it.
static constexpr double kReadShare = 0.65;

static double getDecode(const MmaSpec &spec) {
  if (spec.format.getBits() == 4)
    return kDecodeFours;
  return spec.hasConversion() ? kDecodeConverted : kDecodeOthers;
}

static DecodedTimeline getTimeline(const AssumedSizes &sizes,
                                   const MmaSpec &spec,
                                   const target::Gpu &gpu) {
  constexpr double second = 1e6;
  GemmScheduleAttr schedule = spec.schedule;
  MmaLayout shared(spec);
  auto scaled = static_cast<double>(spec.getScaledRows());
  auto plain = static_cast<double>(spec.getPlainRows());
  auto splits = static_cast<double>(schedule.getSplits());
  double resident =
      static_cast<double>(schedule.getCtas()) / gpu.multiprocessors;
  auto stageSteps = static_cast<double>(spec.getStageSteps());
  DecodedTimeline time;
  time.tiles = std::ceil(sizes.rows / static_cast<double>(schedule.getRows())) *
               std::ceil(sizes.cols / static_cast<double>(schedule.getCols())) *
               sizes.matrices * splits;
  // CTAs of a multiprocessor share it.
  double together = std::min(
      resident, std::max(1.0, std::ceil(time.tiles / gpu.multiprocessors)));
  time.multiply = together * 2 * scaled * plain * kMmaStep *
                  gpu.multiprocessors * second /
                  (gpu.getPeakFlops(target::Unit::Bf16) * kMultiplyShare);
  time.decode = together * getDecode(spec) * scaled / kDecodedRows;
  if (spec.getPlainRows() > kAloneRows &&
      together < static_cast<double>(spec.getMaxResidentBlocks()))
    time.decode *= kAlone;
  time.load = together *
              static_cast<double>(shared.plainBytes + shared.codeBytes +
                                  shared.scaleBytes) /
              stageSteps * gpu.multiprocessors / kCacheBytes;
  // Of the ring's stages, one is multiplied, and the next one is there.
  auto arriving = static_cast<double>(schedule.getStages() - 2);
  time.load = std::max(time.load, kArrival / (arriving * stageSteps));
  time.step = std::max(
      {time.multiply, time.load, time.decode + kShownMultiply * time.multiply});
  time.steps = std::ceil(std::ceil(sizes.depth / spec.stageElements) / splits) *
               stageSteps;
  time.waves = std::ceil(time.tiles / (gpu.multiprocessors * together));
  double writes = plain / 32 * scaled / 64 * kPartWrite + kTileStart;
  double bytes = countOperandBytes(sizes, spec.format);
  double rate = gpu.peakBytes / second;
  time.total = kStart + std::max(time.waves * (time.steps * time.step + writes),
                                 bytes / (rate * kReadShare));
  if (splits > 1) {
    // Sums go to memory and back, and another kernel adds them.
    double sums = sizes.rows * sizes.cols * sizes.matrices * splits * 4;
    time.total += 2 * sums / (rate * gpu.bytesShare) + kSumStart;
  }
  return time;
}

SmallVector<RatedDecodedSchedule> rateMmaSchedules(const Product &product,
                                                   const DecodedFormat &format,
                                                   const target::Chip &chip) {
  const target::Gpu &gpu = *target::findGpu(chip.gpu);
  AssumedSizes sizes(product);
  SmallVector<RatedDecodedSchedule> rated;
  bool isWhole = product.groups != GroupDim::None || product.hasEpilogue ||
                 !product.a.getType().hasStaticShape() ||
                 !product.b.getType().hasStaticShape();
  auto add = [&](int64_t plain, int64_t scaled, int64_t splits) {
    int64_t rows = format.isScaledA ? scaled : plain;
    int64_t cols = format.isScaledA ? plain : scaled;
    auto get = [&](int64_t stages, int64_t resident) {
      return GemmScheduleAttr::get(product.op->getContext(), rows, cols, stages,
                                   std::max<int64_t>(kBandRows / rows, 1),
                                   gpu.multiprocessors * resident,
                                   /*multicast=*/1, splits);
    };
    MmaSpec spec(format, get(1, 1), chip);
    spec.products = product.siblings;
    // Where all tiles run at a time, they share no multiprocessor.
    double tiles = std::ceil(sizes.rows / static_cast<double>(rows)) *
                   std::ceil(sizes.cols / static_cast<double>(cols)) *
                   sizes.matrices * static_cast<double>(splits);
    int64_t resident =
        tiles > gpu.multiprocessors ? spec.getMaxResidentBlocks() : 1;
    int64_t stages = MmaLayout::getMaxStages(spec, resident);
    if (stages < kLeastMmaStages) {
      resident = 1;
      stages = MmaLayout::getMaxStages(spec);
    }
    if (stages < kLeastMmaStages)
      return;
    stages = std::min(stages, plain > 64 ? kLargeStages : kSmallStages);
    spec.schedule = get(stages, resident);
    rated.push_back({spec.schedule, getTimeline(sizes, spec, gpu)});
  };
  double steps = std::ceil(sizes.depth / kMmaStep);
  for (int64_t plain : kPlainRows)
    for (int64_t scaled : kScaledRows) {
      if (!isMmaTile(format, product.siblings, scaled, plain))
        continue;
      add(plain, scaled, /*splits=*/1);
      for (int64_t splits = 2; splits <= kMaxSplits && !isWhole; splits *= 2)
        if (static_cast<double>(splits * kMinPartSteps) <= steps)
          add(plain, scaled, splits);
    }
  sortSchedules(rated);
  return rated;
}

void remarkMmaSchedule(const Product &product,
                       ArrayRef<RatedDecodedSchedule> rated) {
  remarkDecodedSchedule(product, kMmaStep, rated, /*note=*/"");
}

} // namespace blockscale::gemm
