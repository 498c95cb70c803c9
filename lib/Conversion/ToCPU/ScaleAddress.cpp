//===- ScaleAddress.cpp - Where the scale of a block is -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScaleAddress.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace blockscale::cpu {

ScaleMatrix ScaleMatrix::getGroup(ImplicitLocOpBuilder &b, Value memref,
                                  Value firstTile, Value colTiles,
                                  Value firstRow, Value firstCol) {
  ScaleMatrix matrix(b, memref, numerics::k128x4, {});
  matrix.firstTile = firstTile;
  matrix.colTiles = colTiles;
  matrix.firstRow = firstRow;
  matrix.firstCol = firstCol;
  return matrix;
}

Indices ScaleMatrix::getIndices(Value row, Value col) const {
  if (isLinear())
    return append(batch, {row, col});
  if (firstTile) {
    row = sub(b, row, firstRow);
    col = sub(b, col, firstCol);
  }
  Lanes r(b, row), c(b, col);
  Indices indices = batch;
  if (firstTile)
    indices.push_back(
        add(b, firstTile, layout->getTileNumber(r, c, Lanes(b, colTiles))));
  else
    indices.append({r / layout->getTileRows(), c / layout->getTileCols()});
  for (const numerics::BitRun &run : layout->tile)
    indices.push_back(numerics::BitLayout::getDigit(run, r, c));
  return indices;
}

bool ScaleMatrix::beginsTile(Value col) const {
  if (isLinear())
    return false;
  return firstTile ? isEqualConstantIntOrValue(col, firstCol)
                   : isConstantIntValue(col, 0);
}

} // namespace blockscale::cpu
