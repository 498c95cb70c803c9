//===- ScaledMmaLayout.h - Parts of a tile and shared memory ----*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mma.sync multiplies 16 rows by 8 columns. A tile of 128 x 128 results belongs
// to eight warps:
//
//   rows      0-15 of each 32 to warps 0-3, 16-31 to warps 4-7
//   columns   0-7 of each 32 to warps 0 and 4, 8-15 to warps 1 and 5, ..
//
// So a warp has four instructions along rows and four along columns, 32 rows or
// columns apart. Tiles of scales have the words of rows r, r + 32, r + 64 and
// r + 96 beside each other (docs/Spec.md, swizzle_128x4): one load of 16 bytes
// brings a thread the scales of all its rows, and another one those of all its
// columns.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOSCALEDMMA_SCALEDMMALAYOUT_H
#define BLOCKSCALE_LIB_CONVERSION_TOSCALEDMMA_SCALEDMMALAYOUT_H

#include "Products/GemmFormat.h"
#include "Products/SharedMemory.h"
#include "blockscale/Numerics/Accumulators.h"

namespace blockscale::products {

/// Steps of K of a stage, and bytes of a row of it.
inline constexpr int64_t kStageSteps = 2;
inline constexpr int64_t kStageRowBytes = kStageSteps * kStepBytes;

/// Rows and columns of a tile.
inline constexpr int64_t kMmaTileRows = kTileRows;
inline constexpr int64_t kMmaTileCols = 128;

/// The sizes of the product of an instruction.
inline constexpr int64_t kMmaRows = numerics::kMmaAccumulator.getRows();
inline constexpr int64_t kMmaCols = numerics::kMmaAccumulator.getCols();
/// f32 sums of a thread for it.
inline constexpr int64_t kMmaSums = kMmaRows * kMmaCols / kWarpThreads;

/// Rows of tiles that the same place of a warp comes back after: those of the
/// words of a row of a tile of scales.
inline constexpr int64_t kRepeatRows = kTileRows / kTileCols;
/// Warps beside each other that share these rows, and these columns.
inline constexpr int64_t kRowWarps = kRepeatRows / kMmaRows;
inline constexpr int64_t kColWarps = kRepeatRows / kMmaCols;
inline constexpr int64_t kMultiplyWarps = kRowWarps * kColWarps;
inline constexpr int64_t kMultiplyThreads = kMultiplyWarps * kWarpThreads;
/// Instructions of a warp along rows and along columns.
inline constexpr int64_t kRowRepeats = kMmaTileRows / kRepeatRows;
inline constexpr int64_t kColRepeats = kMmaTileCols / kRepeatRows;

/// Offsets in shared memory.
struct ScaledMmaLayout : SharedBytes {
  explicit ScaledMmaLayout(const ScaledGemmSpec &spec);

  int64_t dataA, dataB, scaleA, scaleB;
  /// Bytes of a stage of each.
  int64_t dataBytesA, dataBytesB, scaleBytesA, scaleBytesB;
  /// Sums on their way from the registers of warps to threads that have results
  /// of a row: `kRepeatRows` rows, `sumPitch` f32 apart.
  int64_t sums, sumPitch;
  int64_t stageFull, stageEmpty;
};

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_TOSCALEDMMA_SCALEDMMALAYOUT_H
