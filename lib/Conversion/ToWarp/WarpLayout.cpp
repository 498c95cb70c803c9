//===- WarpLayout.cpp - Parts of a tile and shared memory -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpLayout.h"
#include "Products/Barriers.h"
#include "Products/RingStages.h"

namespace blockscale::gemm {

/// f32 between rows of sums that keep the stores of a warp, of two f32 in each
/// of eight rows, in banks of their own.
static constexpr int64_t kSumGap = 8;

WarpLayout::WarpLayout(const ScaledGemmSpec &spec) {
  bytes = 0;
  auto take = [&](int64_t count) {
    int64_t begin = bytes;
    bytes += count;
    return begin;
  };
  int64_t stages = spec.schedule.getStages();
  dataBytesA = spec.schedule.getRows() * kWarpRowBytes;
  dataBytesB = spec.schedule.getCols() * kWarpRowBytes;
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

int64_t WarpLayout::getMaxStages(ScaledGemmSpec spec,
                                 const target::Chip &chip) {
  auto getBytes = [&](int64_t stages) {
    spec.schedule = withStages(spec.schedule, stages);
    return WarpLayout(spec).bytes;
  };
  int64_t stages = 1;
  while (getBytes(stages + 1) <= chip.limits.getSharedBytesOfBlock())
    ++stages;
  return stages;
}

} // namespace blockscale::gemm
