//===- ScaleTiles.h - Bands of scales and their tiles -----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A band is the rows of scales of one row of tiles, 128 in the layout 128x4. It
// is collected in a row-major buffer, where a row is contiguous, and then
// stored tile by tile, padding included.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_SCALETILES_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_SCALETILES_H

#include "Kernels.h"
#include "blockscale/Numerics/ScaleLayout.h"

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
  ScaleBand(mlir::ImplicitLocOpBuilder &b, mlir::Value cols,
            const numerics::ScaleLayout &layout = numerics::k128x4);

  /// The rows of a tile, of `cols` bytes, rounded up to whole tiles. Padding is
  /// zero as long as nobody stores to it.
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
  const numerics::ScaleLayout &layout;
  mlir::Value buffer;
  mlir::Value paddedCols;
};

/// The scales of matrices in tiles, whose bands are the items of a kernel.
struct BandedScales {
  mlir::Value tiles;
  const numerics::ScaleLayout &layout;
  /// The sizes of the batch, and those of a matrix of scales.
  Indices batch;
  mlir::Value rows, cols;
};

/// Stores the bands [range.begin, range.end). `fill` gives the rows of a band:
/// `count` of matrix `batch`, from row `first` on, to those of `buffer`.
void emitScaleBands(
    const ItemRange &range, const BandedScales &scales,
    llvm::function_ref<void(mlir::ValueRange batch, mlir::Value first,
                            mlir::Value count, mlir::Value buffer)>
        fill);

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_SCALETILES_H
