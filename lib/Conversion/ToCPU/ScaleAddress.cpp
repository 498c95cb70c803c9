//===- ScaleAddress.cpp - Where the scale of a block is -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScaleAddress.h"
#include "blockscale/Numerics/ScaleLayout.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using blockscale::numerics::kTileCols;
using blockscale::numerics::kTileRowGroup;
using blockscale::numerics::kTileRows;

namespace blockscale::cpu {

ScaleMatrix ScaleMatrix::getGroup(ImplicitLocOpBuilder &b, Value memref,
                                  Value firstTile, Value colTiles,
                                  Value firstRow, Value firstCol) {
  ScaleMatrix matrix(b, memref, LayoutAttr(), {});
  matrix.isTiled = true;
  matrix.firstTile = firstTile;
  matrix.colTiles = colTiles;
  matrix.firstRow = firstRow;
  matrix.firstCol = firstCol;
  return matrix;
}

Indices ScaleMatrix::getIndices(Value row, Value col) const {
  if (!isTiled)
    return append(batch, {row, col});
  if (firstTile) {
    row = sub(b, row, firstRow);
    col = sub(b, col, firstCol);
  }
  Value rowTile = div(b, row, kTileRows), colTile = div(b, col, kTileCols);
  Indices indices = batch;
  if (firstTile)
    indices.push_back(
        add(b, firstTile, add(b, mul(b, rowTile, colTiles), colTile)));
  else
    indices.append({rowTile, colTile});
  Value inTile = rem(b, row, kTileRows);
  indices.append({rem(b, inTile, kTileRowGroup), div(b, inTile, kTileRowGroup),
                  rem(b, col, kTileCols)});
  return indices;
}

bool ScaleMatrix::beginsTile(Value col) const {
  if (!isTiled)
    return false;
  return firstTile ? isEqualConstantIntOrValue(col, firstCol)
                   : isConstantIntValue(col, 0);
}

} // namespace blockscale::cpu
