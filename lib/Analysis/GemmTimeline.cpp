//===- GemmTimeline.cpp - Cycles of a matrix product on SM100 -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Analysis/GemmTimeline.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>

namespace blockscale {

/// FLOP of a multiprocessor in a clock, dense; rates of other operands follow
/// from those of the GPU.
static constexpr double kFp8Flops = 16384;
/// Bytes in a clock: from shared memory, and from the L2 cache.
static constexpr double kSharedBytes = 128;
static constexpr double kL2Bytes = 64;
/// Instructions an element of the four warps that write results, and the clocks
/// before their first one.
static constexpr double kWriteInstructions = 1.7;
static constexpr double kWriteStart = 300;
static constexpr double kWriteThreads = 128;
/// Clocks from the launch to the first product.
static constexpr double kFill = 5500;

static double ceilDiv(double x, double y) { return std::ceil(x / y); }

GemmTimeline::GemmTimeline(const target::Gpu &gpu, const GemmShape &shape,
                           GemmScheduleAttr schedule, double sharedColumns) {
  double flops = kFp8Flops * gpu.getPeakFlops(shape.unit) /
                 gpu.getPeakFlops(target::Unit::Fp8);
  double rows = schedule.getRows(), cols = schedule.getCols();
  // Multiprocessors of a tile: each has a part of the rows of both operands.
  double blocks = rows / 128;
  double multicast = schedule.getMulticast();
  double ofA = rows / blocks, ofB = cols / blocks;
  constexpr double rowBytes = 128;

  multiply = 2 * rows * cols * shape.stepElements / (flops * blocks);
  double scales = (ofA + cols) * shape.stepScaleBytes;
  read = ((ofA + ofB) * rowBytes + scales) / kSharedBytes;
  load =
      (ofA / multicast * shape.stepBytesA + ofB * shape.stepBytesB + scales) /
      kL2Bytes;
  step = std::max({multiply, read, load});

  double splits = schedule.getSplits();
  steps = ceilDiv(ceilDiv(shape.depth, shape.stepElements), splits);
  tiles = ceilDiv(shape.rows, rows) * ceilDiv(shape.cols, cols * multicast) *
          multicast * shape.matrices * splits;
  double units = std::min<double>(schedule.getCtas(), gpu.multiprocessors);
  waves = ceilDiv(tiles, std::max(1.0, std::floor(units / blocks)));

  write = ofA * cols / kWriteThreads * kWriteInstructions + kWriteStart;
  exposed = write * sharedColumns / cols;
  total = waves * std::max(steps * step + exposed, write) + write + kFill;

  double clock =
      gpu.getPeakFlops(target::Unit::Fp8) / (gpu.multiprocessors * kFp8Flops);
  if (splits > 1) {
    // Sums go to memory and back, and another kernel adds them.
    double sums = shape.rows * shape.cols * shape.matrices * splits * 4;
    double seconds = 2 * sums / (gpu.peakBytes * gpu.bytesShare);
    total += (seconds + target::kLaunchSeconds) * clock;
  }
  double useful = 2 * shape.rows * shape.cols * shape.depth * shape.matrices;
  share = useful / (gpu.multiprocessors * flops) / total;
  seconds = total / clock;
}

std::string GemmTimeline::getAssumptions() {
  return llvm::formatv(
             "{0:f0} bytes of shared memory and {1:f0} of the L2 cache a clock "
             "and multiprocessor, {2:f1} instructions to write a result, "
             "{3:f0} clocks to begin",
             kSharedBytes, kL2Bytes, kWriteInstructions, kFill)
      .str();
}

} // namespace blockscale
