//===- GemmSchedule.cpp - Choice of a schedule ----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GemmSchedule.h"
#include "GemmLayout.h"
#include "Products/AssumedSizes.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace blockscale::gemm {

/// Parts of K, and steps that each has at least.
static constexpr int64_t kMaxSplits = 16;
static constexpr int64_t kMinPartSteps = 4;

static GemmShape getShape(const Product &product, const GemmFormat &format) {
  AssumedSizes sizes(product);
  bool isPacked = format.stepElements == 64;
  auto getLoaded = [&](numerics::ElementFormat operand) {
    return format.isPadded(operand) ? kRowBytes / 2.0 : kRowBytes;
  };
  return {sizes.rows,
          sizes.cols,
          sizes.depth,
          sizes.matrices,
          isPacked ? target::Unit::Fp4 : target::Unit::Fp8,
          static_cast<double>(format.getStageElements()),
          static_cast<double>(kTileSteps * format.stepScales),
          getLoaded(format.a),
          getLoaded(format.b)};
}

/// The best first.
static SmallVector<RatedSchedule> sort(SmallVector<RatedSchedule> rated) {
  llvm::sort(rated, [](const RatedSchedule &x, const RatedSchedule &y) {
    return x.timeline.total < y.timeline.total;
  });
  return rated;
}

SmallVector<RatedSchedule> rateSchedules(const Product &product,
                                         const GemmFormat &stored,
                                         const target::Chip &chip) {
  GemmFormat format = getFormatOn(stored, chip);
  const target::Gpu &gpu = *target::findGpu(chip.gpu);
  GemmShape shape = getShape(product, format);
  SmallVector<RatedSchedule> rated;
  auto add = [&](int64_t rows, int64_t cols, int64_t multicast,
                 int64_t splits) {
    auto schedule = GemmScheduleAttr::get(
        product.op->getContext(), rows, cols,
        SharedLayout::getMaxStages(format, rows, cols), kBandRows / rows,
        gpu.multiprocessors, multicast, splits);
    auto shared = static_cast<double>(TensorLayout(format, rows, cols).shared);
    rated.push_back({schedule, {gpu, shape, schedule, shared}});
  };
  // Each product has scales of whole bands of 128 rows.
  if (product.siblings == 1)
    add(128, 128, 1, 1);
  add(128, 256, 1, 1);
  add(256, 256, 1, 1);
  add(256, 256, 2, 1);
  if (product.groups != GroupDim::None ||
      !product.a.getType().hasStaticShape() ||
      !product.b.getType().hasStaticShape())
    return sort(std::move(rated));
  // Parts of K where tiles leave multiprocessors idle.
  auto steps = static_cast<int64_t>(rated.front().timeline.steps);
  for (int64_t cols : {128, 256})
    for (int64_t splits = 2; splits <= kMaxSplits; splits *= 2)
      if (splits * kMinPartSteps <= steps)
        add(128, cols, 1, splits);
  return sort(std::move(rated));
}

static std::string print(GemmScheduleAttr schedule) {
  std::string text =
      llvm::formatv("{0} x {1}", schedule.getRows(), schedule.getCols());
  if (schedule.getMulticast() > 1)
    text += llvm::formatv(" by {0}", schedule.getMulticast());
  if (schedule.getSplits() > 1)
    text += llvm::formatv(", K in {0} parts", schedule.getSplits());
  return text;
}

static std::string printShare(const GemmTimeline &timeline) {
  return llvm::formatv("{0:f1} %", timeline.share * 100);
}

void remarkSchedule(const Product &product, const GemmFormat &format,
                    ArrayRef<RatedSchedule> rated) {
  const auto &[schedule, best] = rated.front();
  StringRef longest = best.step == best.multiply ? "multiply"
                      : best.step == best.load   ? "load"
                                                 : "read";
  std::string others;
  for (const RatedSchedule &other : rated.drop_front().take_front(2))
    others += (others.empty() ? "" : "; ") + print(other.schedule) + ", " +
              printShare(other.timeline);
  remark::analysis(product.op->getLoc(),
                   remark::RemarkOpts::name("schedule").category("gpu-launch"))
      << remark::add(
             "tiles of {0} in {1} stages: of the clocks of a step of {2} of K, "
             "{3} multiply, {4} read shared memory, {5} load, so that it has "
             "to {6}; tiles: {7}, waves: {8}, {9} of the peak ({10}); assumed "
             "are {11}, and {12} for sizes that are not known",
             print(schedule), schedule.getStages(), format.getStageElements(),
             llvm::formatv("{0:f0}", best.multiply).str(),
             llvm::formatv("{0:f0}", best.read).str(),
             llvm::formatv("{0:f0}", best.load).str(), longest,
             llvm::formatv("{0:f0}", best.tiles).str(),
             llvm::formatv("{0:f0}", best.waves).str(), printShare(best),
             others, GemmTimeline::getAssumptions(), kAssumedSize);
}

} // namespace blockscale::gemm
