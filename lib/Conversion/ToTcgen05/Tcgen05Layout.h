//===- Tcgen05Layout.h - Memory of a CTA ------------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOTCGEN05_TCGEN05LAYOUT_H
#define BLOCKSCALE_LIB_CONVERSION_TOTCGEN05_TCGEN05LAYOUT_H

#include "Products/GemmFormat.h"
#include "Products/SharedMemory.h"
#include "Products/TensorMemory.h"

#include <array>

namespace blockscale::products {

/// Steps of K of a stage, and bytes of a row of it.
inline constexpr int64_t kTileSteps = 4;
inline constexpr int64_t kRowBytes = kTileSteps * kStepBytes;

/// Bytes of K of one instruction on chips that multiply 96 codes of 4 bits, of
/// which eight instructions take whole stages.
inline constexpr int64_t kLongStepBytes = 48;
inline constexpr int64_t kLongStages = 3;
inline constexpr int64_t kLongSteps = kLongStages * kRowBytes / kLongStepBytes;
/// Tiles of scales along K that begin and end with such instructions.
inline constexpr int64_t kLongScaleTiles = 3;

/// The columns of tensor memory that a tile of scales takes.
inline constexpr int64_t kScaleTileColumns = 4;

/// Accumulators that tensor memory has: one is filled while the other is
/// emptied.
inline constexpr int64_t kAccumulators = 2;

/// Rows of the operands of a tile of `rows` x `cols` that a CTA has: of a tile
/// of 256 rows a half, but the scales of all rows of B.
struct BlockRows {
  BlockRows(int64_t rows, int64_t cols)
      : dataA(kTileRows), dataB(cols / (rows / kTileRows)), scaleA(kTileRows),
        scaleB(cols) {}

  int64_t dataA, dataB, scaleA, scaleB;
};

/// Bytes from the beginning of shared memory. A buffer of stages has them one
/// after the other.
struct SharedLayout : SharedBytes {
  explicit SharedLayout(const ScaledGemmSpec &spec);

  /// Bytes of a ring stage for the data, or the scales, of an operand whose
  /// tile has `rows` rows.
  static int64_t getDataBytes(int64_t rows) { return rows * kRowBytes; }
  static int64_t getScaleBytes(const GemmFormat &format, int64_t rows) {
    return rows / kTileRows * format.getScaleTiles() * kTileBytes;
  }

  int64_t dataA, dataB;
  int64_t scaleA, scaleB;
  /// Barriers: of stages, and of accumulators.
  int64_t stageFull, stageEmpty;
  int64_t sumFull, sumEmpty;
  /// The place that the address of the tensor memory is written to.
  int64_t tensorMemory;
};

/// Columns of tensor memory. Two accumulators of 256 columns and the scales do
/// not fit: the accumulators share columns, which the second begins with. They
/// are emptied first, and then filled again.
struct TensorLayout {
  TensorLayout(const GemmFormat &format, int64_t rows, int64_t cols);

  std::array<int64_t, kAccumulators> sums;
  /// Columns that both accumulators have; 0 where they are apart.
  int64_t shared;
  int64_t scaleA, scaleB;
};

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_TOTCGEN05_TCGEN05LAYOUT_H
