//===- ProductTimeline.cpp - The time that a schedule takes ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProductTimeline.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;

namespace blockscale::products {

static double ceilDiv(double x, int64_t y) {
  return std::ceil(x / static_cast<double>(y));
}

double countTiles(const AssumedSizes &sizes, GemmScheduleAttr schedule,
                  bool addsInCluster) {
  int64_t pairs = schedule.getMulticast();
  double tiles = ceilDiv(sizes.rows, schedule.getRows()) *
                 ceilDiv(sizes.cols, schedule.getCols() * pairs) *
                 static_cast<double>(pairs) * sizes.matrices;
  return addsInCluster ? tiles
                       : tiles * static_cast<double>(schedule.getSplits());
}

ProductTimeline::ProductTimeline(const AssumedSizes &sizes,
                                 const GemmSpec &spec, const target::Gpu &gpu,
                                 const KernelCost &cost)
    : multiply(cost.multiply), decode(cost.decode), read(cost.read),
      load(cost.load),
      step(std::max({multiply, read, load,
                     decode ? decode + cost.shownMultiply * multiply : 0})) {
  int64_t splits = spec.schedule.getSplits();
  int64_t stageSteps = spec.stageElements / cost.stepElements;
  steps = ceilDiv(ceilDiv(sizes.depth, spec.stageElements), splits) *
          static_cast<double>(stageSteps);
  tiles = countTiles(sizes, spec.schedule, cost.addsInCluster);
  waves = std::ceil(tiles / cost.slots);
  double tile = std::max(steps * step + cost.write, cost.hiddenWrite);
  busy = waves * tile + cost.hiddenWrite;
  total = cost.start + std::max(busy, cost.memory);
  if (splits > 1 && !cost.addsInCluster) {
    // Sums go to memory and back, and another kernel adds them.
    double bytes = sizes.rows * sizes.cols * sizes.matrices *
                   static_cast<double>(splits) * sizeof(float);
    double rate = gpu.peakBytes / kMicroseconds * gpu.bytesShare;
    total += 2 * bytes / rate + cost.sumStart;
  }
  double useful = 2 * sizes.rows * sizes.cols * sizes.depth * sizes.matrices;
  share = useful / cost.peak / total;
}

void sortSchedules(MutableArrayRef<RatedSchedule> rated) {
  auto getKey = [](const RatedSchedule &each) {
    GemmScheduleAttr schedule = each.schedule;
    return std::make_tuple(each.timeline.total, each.timeline.busy,
                           schedule.getRows(), schedule.getCols(),
                           schedule.getSplits(), schedule.getMulticast());
  };
  llvm::sort(rated, [&](const RatedSchedule &x, const RatedSchedule &y) {
    return getKey(x) < getKey(y);
  });
}

std::string printTile(GemmScheduleAttr schedule) {
  std::string text =
      llvm::formatv("{0} x {1}", schedule.getRows(), schedule.getCols());
  if (schedule.getMulticast() > 1)
    text += llvm::formatv(" by {0}", schedule.getMulticast());
  if (schedule.getSplits() > 1)
    text += llvm::formatv(", K in {0} parts", schedule.getSplits());
  return text;
}

static std::string printTime(const ProductTimeline &time) {
  return llvm::formatv("{0:f1} us, {1:f1} % of the peak", time.total,
                       time.share * 100);
}

/// The parts of a step that a kernel has: "1.27 us to multiply, ...".
static std::string printParts(const ProductTimeline &time) {
  std::pair<double, StringRef> parts[] = {{time.multiply, "multiply"},
                                          {time.decode, "decode"},
                                          {time.read, "read shared memory"},
                                          {time.load, "load"}};
  std::string text;
  for (auto [part, name] : parts)
    if (part)
      text += llvm::formatv("{0}{1:f2} us to {2}", text.empty() ? "" : ", ",
                            part, name);
  return text;
}

void remarkSchedule(const Product &product, int64_t stepElements,
                    ArrayRef<RatedSchedule> rated, StringRef note) {
  const auto &[schedule, best] = rated.front();
  StringRef longest = best.step == best.multiply ? "multiply"
                      : best.step == best.load   ? "load"
                      : best.step == best.read   ? "read shared memory"
                                                 : "decode and multiply";
  std::string others;
  for (const RatedSchedule &other : rated.drop_front().take_front(2))
    others +=
        llvm::formatv("{0}{1}, {2}", others.empty() ? " (" : "; ",
                      printTile(other.schedule), printTime(other.timeline));
  if (!others.empty())
    others += ")";
  remark::analysis(product.op->getLoc(),
                   remark::RemarkOpts::name("schedule").category("gpu-launch"))
      << remark::add("tiles of {0} in {1} stages: a step of {2} of K takes "
                     "{3}, so that "
                     "it has to {4}; tiles: {5}, waves: {6}, {7}{8}{9}; "
                     "assumed is {10} "
                     "for sizes that are not known",
                     printTile(schedule), schedule.getStages(), stepElements,
                     printParts(best), longest,
                     llvm::formatv("{0:f0}", best.tiles).str(),
                     llvm::formatv("{0:f0}", best.waves).str(), printTime(best),
                     others, note.str(), kAssumedSize);
}

} // namespace blockscale::products
