//===- ScaleStore.h - Where scale bytes go ----------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_SCALESTORE_H
#define BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_SCALESTORE_H

#include "KernelBuilder.h"
#include "blockscale/Numerics/ScaleLayout.h"

namespace blockscale {

using numerics::kTileCols;
using numerics::kTileRows;

/// The position in a batch of matrices at which a thread works.
struct FragmentPosition {
  /// The number of the matrix and of the row in it, i64.
  emit::Lanes matrix;
  emit::Lanes row;
  /// The number of the fragment in the row, i32.
  emit::Lanes fragment;
};

/// Address of the first scale byte of a fragment of `fragmentBlocks` blocks (1,
/// 2 or 4) in rows of `rowBlocks`, linear: byte (matrix * rows + row) *
/// rowBlocks + fragment * fragmentBlocks.
mlir::Value getLinearScaleAddress(KernelBuilder &b, mlir::Value base,
                                  emit::Lanes rows, FragmentPosition position,
                                  int64_t rowBlocks, int64_t fragmentBlocks);

/// Address of the first scale byte of such a fragment where scales are in 128x4
/// tiles (numerics: `k128x4`). Each matrix has `rowTiles` rows of
/// tiles.
mlir::Value getSwizzledScaleAddress(KernelBuilder &b, mlir::Value base,
                                    emit::Lanes rowTiles,
                                    FragmentPosition position,
                                    int64_t rowBlocks, int64_t fragmentBlocks);

/// Stores `count` scale bytes (at most 4), given as i16 pairs with the first
/// byte low, to `address`, in accesses as wide as its alignment (1, 2 or 4)
/// allows.
void storeScaleBytes(KernelBuilder &b, llvm::ArrayRef<emit::Lanes> pairs,
                     mlir::Value address, int64_t count, int64_t alignment);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_SCALESTORE_H
