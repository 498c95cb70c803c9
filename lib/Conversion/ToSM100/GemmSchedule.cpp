//===- GemmSchedule.cpp - Choice of a schedule ----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GemmSchedule.h"
#include "GemmLayout.h"
#include "Products/ScheduleRemarks.h"

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

void remarkSchedule(const Product &product, const GemmFormat &format,
                    ArrayRef<RatedSchedule> rated) {
  remarkScaledSchedule(product, format.getStageElements(), rated,
                       GemmTimeline::getAssumptions());
}

} // namespace blockscale::gemm
