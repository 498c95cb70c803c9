//===- ScaleTiles.h - Bands of scales and their tiles -----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A band is 128 rows of scales, the rows of one row of tiles. It is collected
// in a row-major buffer, where a row is contiguous, and then stored tile by
// tile, padding included.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_SCALETILES_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_SCALETILES_H

#include "Emission/LoopEmitter.h"

namespace blockscale::cpu {

using namespace emit;

/// Copies `count` bytes along a row, none of which is in both rows.
void emitCopyBytes(mlir::ImplicitLocOpBuilder &b, mlir::Value source,
                   mlir::ValueRange sourceRow, mlir::Value target,
                   mlir::ValueRange targetRow, mlir::Value count);

/// Sets tile `tile` of a grouped layout to zero.
void emitClearTile(mlir::ImplicitLocOpBuilder &b, mlir::Value tiles,
                   mlir::Value tile);

class ScaleBand {
public:
  /// Allocates the buffer for `cols` scales a row, all zero, where b stands.
  ScaleBand(mlir::ImplicitLocOpBuilder &b, mlir::Value cols);

  /// 128 rows of `cols` bytes, rounded up to whole tiles. Padding is zero as
  /// long as nobody stores to it.
  mlir::Value getBuffer() const { return buffer; }

  /// Makes the rows from `rows` on zero.
  void emitClearRows(mlir::Value rows);

  /// Stores tile `col`, for each of `colTiles`, to tiles[getTile(col), ..].
  void emitStoreTiles(mlir::Value tiles, mlir::Value colTiles,
                      llvm::function_ref<Indices(mlir::Value)> getTile);
  /// Stores the tiles [firstColTile, lastColTile) in the same way.
  void emitStoreTiles(mlir::Value tiles, mlir::Value firstColTile,
                      mlir::Value lastColTile,
                      llvm::function_ref<Indices(mlir::Value)> getTile);

  void emitFree();

private:
  mlir::ImplicitLocOpBuilder &b;
  mlir::Value buffer;
  mlir::Value paddedCols;
};

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_SCALETILES_H
