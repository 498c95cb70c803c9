//===- Tcgen05Layout.cpp - Memory of a CTA --------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tcgen05Layout.h"
#include "Products/Barriers.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace blockscale::products {

SharedLayout::SharedLayout(const ScaledGemmSpec &spec) {
  const GemmFormat &format = spec.format;
  int64_t stages = spec.schedule.getStages();
  BlockRows mine(spec.schedule.getRows(), spec.schedule.getCols());
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

} // namespace blockscale::products
