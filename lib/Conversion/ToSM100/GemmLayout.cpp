//===- GemmLayout.cpp - Memory of a CTA -----------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GemmLayout.h"
#include "Products/Barriers.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace blockscale::gemm {

GemmFormat getFormatOn(GemmFormat format, const target::Chip &chip) {
  format.hasLongSteps =
      chip.hasLongTcgen05() && format.kind != NVVM::MMABlockScaleKind::MXF8F6F4;
  return format;
}

SharedLayout::SharedLayout(const GemmFormat &format, int64_t rows, int64_t cols,
                           int64_t stages) {
  bytes = 0;
  auto take = [&](int64_t count) {
    int64_t begin = bytes;
    bytes += count;
    return begin;
  };
  BlockRows mine(rows, cols);
  // Data first: their stages begin at multiples of 1024.
  dataA = take(stages * getDataBytes(mine.dataA));
  dataB = take(stages * getDataBytes(mine.dataB));
  scaleA = take(stages * getScaleBytes(format, mine.scaleA));
  scaleB = take(stages * getScaleBytes(format, mine.scaleB));
  stageFull = take(stages * kBarrierBytes);
  stageEmpty = take(stages * kBarrierBytes);
  sumFull = take(kAccumulators * kBarrierBytes);
  sumEmpty = take(kAccumulators * kBarrierBytes);
  tensorMemory = take(sizeof(uint32_t));
}

int64_t SharedLayout::getMaxStages(const GemmFormat &format, int64_t rows,
                                   int64_t cols) {
  int64_t stages = 1;
  while (SharedLayout(format, rows, cols, stages + 1).bytes <= kMaxSharedBytes)
    ++stages;
  return stages;
}

/// Columns of accumulators that the epilogue empties at a time.
static constexpr int64_t kSharedUnit = 32;

TensorLayout::TensorLayout(const GemmFormat &format, int64_t rows,
                           int64_t cols) {
  int64_t scaleTiles = format.getScaleTiles();
  if (format.hasLongSteps)
    scaleTiles = std::max(scaleTiles, kLongScaleTiles);
  auto getColumns = [&](int64_t operandRows) {
    return operandRows / kTileRows * scaleTiles * kScaleTileColumns;
  };
  BlockRows mine(rows, cols);
  int64_t scaleColumns = llvm::alignTo(
      getColumns(mine.scaleA) + getColumns(mine.scaleB), kSharedUnit);
  int64_t left = kTensorColumns - scaleColumns;
  shared = std::max<int64_t>(kAccumulators * cols - left, 0);
  sums = {0, cols - shared};
  scaleA = sums.back() + cols;
  scaleB = scaleA + getColumns(mine.scaleA);
}

} // namespace blockscale::gemm
