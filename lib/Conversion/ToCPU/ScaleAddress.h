//===- ScaleAddress.h - Where the scale of a block is -----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_SCALEADDRESS_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_SCALEADDRESS_H

#include "Emission/LoopEmitter.h"
#include "blockscale/IR/TypeRules.h"

namespace blockscale::cpu {

using namespace emit;

/// One matrix of scales in memory: linear, in tiles, or one group of a grouped
/// layout.
class ScaleMatrix {
public:
  /// The matrix `batch` of a linear or ungrouped memref.
  ScaleMatrix(mlir::ImplicitLocOpBuilder &b, mlir::Value memref,
              const numerics::ScaleLayout &layout, mlir::ValueRange batch)
      : b(b), memref(memref), layout(&layout), batch(batch) {}

  /// The group whose tiles begin at `firstTile` and whose scale (firstRow,
  /// firstCol) is the first of its first tile.
  static ScaleMatrix getGroup(mlir::ImplicitLocOpBuilder &b, mlir::Value memref,
                              mlir::Value firstTile, mlir::Value colTiles,
                              mlir::Value firstRow, mlir::Value firstCol);

  mlir::Value getMemRef() const { return memref; }

  /// The indices of scale (row, col) of the whole matrix.
  Indices getIndices(mlir::Value row, mlir::Value col) const;

  /// Whether a row of scales is contiguous.
  bool isLinear() const { return layout->isLinear(); }
  /// Whether it is known now that column `col` begins a tile, so that it and
  /// the others of its row of the tile, padding included, are contiguous.
  bool beginsTile(mlir::Value col) const;

private:
  mlir::ImplicitLocOpBuilder &b;
  mlir::Value memref;
  const numerics::ScaleLayout *layout;
  Indices batch;
  /// The place of the group: its first tile, the columns of its tiles, and its
  /// first row and column. Null where the layout is not grouped.
  mlir::Value firstTile, colTiles, firstRow, firstCol;
};

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_SCALEADDRESS_H
