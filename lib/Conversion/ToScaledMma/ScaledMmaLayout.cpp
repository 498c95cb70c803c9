//===- ScaledMmaLayout.cpp - Parts of a tile and shared memory ------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScaledMmaLayout.h"
#include "Products/Barriers.h"

namespace blockscale::products {

/// f32 between rows of sums that keep the stores of a warp, of two f32 in each
/// of eight rows, in banks of their own.
static constexpr int64_t kSumGap = 8;

ScaledMmaLayout::ScaledMmaLayout(const ScaledGemmSpec &spec) {
  int64_t stages = spec.schedule.getStages();
  dataBytesA = spec.schedule.getRows() * kStageRowBytes;
  dataBytesB = spec.schedule.getCols() * kStageRowBytes;
  scaleBytesA = spec.format.getScaleTiles() * kTileBytes;
  scaleBytesB = spec.products * scaleBytesA;
  sumPitch = spec.schedule.getCols() + kSumGap;
  // Data first: their stages begin at multiples of what a swizzle repeats
  // after.
  dataA = take(stages * dataBytesA);
  dataB = take(stages * dataBytesB);
  scaleA = take(stages * scaleBytesA);
  scaleB = take(stages * scaleBytesB);
  sums = take(kRepeatRows * sumPitch * kWordBytes);
  stageFull = take(stages * kBarrierBytes);
  stageEmpty = take(stages * kBarrierBytes);
}

} // namespace blockscale::products
