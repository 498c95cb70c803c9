//===- ScaleStore.h - Where scale bytes go ----------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_SCALESTORE_H
#define BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_SCALESTORE_H

#include "KernelBuilder.h"

namespace blockscale {

/// Columns of a swizzle tile.
inline constexpr int64_t kTileCols = 4;
inline constexpr int64_t kTileRows = 128;

/// Where in a batch of matrices a thread works.
struct ChunkPosition {
  /// i64: number of the matrix and of the row in it.
  mlir::Value matrix;
  mlir::Value row;
  /// i32: number of the chunk in the row.
  mlir::Value chunk;
};

/// Address of the first scale byte of a chunk of `chunkBlocks` blocks (1, 2 or
/// 4) in rows of `rowBlocks`, linear: byte (matrix * rows + row) * rowBlocks +
/// chunk * chunkBlocks.
mlir::Value getLinearScaleAddress(KernelBuilder &b, mlir::Value base,
                                  mlir::Value rows, ChunkPosition position,
                                  int64_t rowBlocks, int64_t chunkBlocks);

/// The same in 128x4 tiles: with r the row and c = chunk * chunkBlocks,
///
///   tile = (matrix * ceil(rows / 128) + r / 128) * ceil(rowBlocks / 4) + c / 4
///   byte = tile * 512 + (r % 32) * 16 + (r % 128 / 32) * 4 + c % 4
mlir::Value getSwizzledScaleAddress(KernelBuilder &b, mlir::Value base,
                                    mlir::Value rowTiles,
                                    ChunkPosition position, int64_t rowBlocks,
                                    int64_t chunkBlocks);

/// The number of a scale's byte, of index values: `row` and `column` are those
/// of the matrix, or group, that has tile `tile`.
mlir::Value getTileByte(KernelBuilder &b, mlir::Value tile, mlir::Value row,
                        mlir::Value column);

/// Stores `count` scale bytes (at most 4), given as i16 pairs with the first
/// byte low, to `address`, in pieces as wide as its alignment (1, 2 or 4)
/// allows.
void storeScaleBytes(KernelBuilder &b, mlir::ValueRange pairs,
                     mlir::Value address, int64_t count, int64_t alignment);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_SCALESTORE_H
