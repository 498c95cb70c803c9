//===- WgmmaLayout.h - Tiles and memory of a CTA ----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_CONVERSION_TOSM90_WGMMALAYOUT_H
#define BLOCKSCALE_LIB_CONVERSION_TOSM90_WGMMALAYOUT_H

#include "WgmmaFormat.h"

namespace blockscale::gemm {

/// Whether sums of both warpgroups make a result, those of two products.
inline bool needsBothWarpgroups(const WgmmaSpec &spec) {
  return spec.products > 1 && !spec.format.isScaledA;
}

/// The fewest stages of a ring: each team decodes one before the one before it
/// is empty.
inline int64_t getLeastStages(const WgmmaSpec &spec) {
  return 2 * spec.getTeams();
}

/// The rows of both operands that are multiplied in a tile, of which the
/// results are `rows` x `cols`.
struct WgmmaTile {
  explicit WgmmaTile(const WgmmaSpec &spec);

  /// Rows of the plain operand of a tile, and those of each matrix where
  /// several products have their own.
  int64_t plainRows, plainRowsOfEach;
  /// Rows of scaled data of a tile, and those of each matrix.
  int64_t scaledRows, scaledRowsOfEach;
  /// Products that have scaled data of their own, each a tile of scales.
  int64_t scaleTiles;
};

/// Bytes from the beginning of shared memory. A buffer of stages has them one
/// after the other, and plain data and scales of a stage step by step.
struct WgmmaLayout {
  explicit WgmmaLayout(const WgmmaSpec &spec);

  /// The number of ring stages that fit into shared memory, as many for each
  /// team; 0 where none does.
  static int64_t getMaxStages(WgmmaSpec spec);

  int64_t plain, codes, scales;
  /// Bytes of one stage of each.
  int64_t plainBytes, codeBytes, scaleBytes;
  /// Rows of codes of a stage come in boxes of `boxBytes` bytes of each row,
  /// with their pieces of 16 bytes exchanged as by a swizzle of so many bytes.
  int64_t boxBytes;
  /// Sums on their way from the registers of a warpgroup to threads that have
  /// results of a row: `sumRows` rows of `sumCols` f32, `sumPitch` f32 apart,
  /// `sumBytes` bytes for each team.
  int64_t sums;
  int64_t sumRows, sumCols, sumPitch, sumBytes;
  /// Barriers of stages, and those of sums of CTAs that add them.
  int64_t stageFull, stageEmpty, sumsFull, sumsEmpty;
  int64_t bytes;
};

} // namespace blockscale::gemm

#endif // BLOCKSCALE_LIB_CONVERSION_TOSM90_WGMMALAYOUT_H
