//===- GemmTimeline.h - Cycles of a matrix product on SM100 -----*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The time that a kernel with a schedule takes, estimated from what each
// multiprocessor does in a clock. A step is 128 bytes of K, four instructions:
//
//   multiply   rows * cols * elements at the rate of the tensor cores
//   read       operands and scales from shared memory
//   load       operands and scales from the L2 cache, multicast ones divided
//
// The longest of these is the step. Results of a tile are written while the
// next one is multiplied, but for columns that the accumulators share. Tiles
// come in waves of one for each CTA or pair. Parts of K (splits) write
// and read f32 sums besides.
//
// The rates of memories are assumptions, nothing was measured: trust the order
// of schedules more than shares of the peak. Power limits are left out.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_ANALYSIS_GEMMTIMELINE_H
#define BLOCKSCALE_ANALYSIS_GEMMTIMELINE_H

#include "blockscale/IR/BlockScaleDialect.h"
#include "blockscale/Target/Gpu.h"

namespace blockscale {

/// A product, as far as time depends on it.
struct GemmShape {
  double rows, cols, depth, matrices;
  /// What the tensor cores multiply: Fp4 or Fp8.
  target::Unit unit;
  /// Elements of K of a step, and bytes of scales of a row of it.
  double stepElements;
  double stepScaleBytes;
  /// Bytes of K of a row of A and of B that a step takes from the L2 cache.
  double stepBytesA, stepBytesB;
};

/// Clocks, but for the share.
struct GemmTimeline {
  GemmTimeline(const target::Gpu &gpu, const GemmShape &shape,
               GemmScheduleAttr schedule, double sharedColumns);

  /// Bytes and clocks assumed, as a sentence.
  static std::string getAssumptions();

  double multiply, read, load;
  /// The longest of the three.
  double step;
  double steps, tiles, waves;
  /// Writing the results of a tile, and the part of it that nothing hides.
  double write, exposed;
  double total;
  /// The share of the peak of the tensor cores that is reached, 0 to 1.
  double share;
  /// The time of all of it.
  double seconds;
};

} // namespace blockscale

#endif // BLOCKSCALE_ANALYSIS_GEMMTIMELINE_H
