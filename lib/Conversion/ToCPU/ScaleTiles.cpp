//===- ScaleTiles.cpp - Bands of scales and their tiles -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScaleTiles.h"
#include "blockscale/Numerics/ScaleLayout.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using blockscale::numerics::kTileCols;
using blockscale::numerics::kTileLineRows;
using blockscale::numerics::kTileRowGroup;
using blockscale::numerics::kTileRows;

namespace blockscale::cpu {

/// Bytes of a step along a row.
static constexpr int64_t kBytesPerStep = 32;

void emitCopyBytes(ImplicitLocOpBuilder &b, Value source, ValueRange sourceRow,
                   Value target, ValueRange targetRow, Value count) {
  emitUnitSteps(b, count, kBytesPerStep, [&](Value first, int64_t bytes) {
    storeLanes(loadLanes(b, source, append(sourceRow, first), bytes), target,
               append(targetRow, first));
  });
}

void emitClearTile(ImplicitLocOpBuilder &b, Value tiles, Value tile) {
  auto type = VectorType::get({kTileCols}, b.getI8Type());
  Lanes zero(b, arith::ConstantOp::create(b, b.getZeroAttr(type)));
  Value first = getIndex(b, 0);
  emitLoop(b, first, getIndex(b, kTileRowGroup), [&](Value inner) {
    for (int64_t group = 0; group < kTileLineRows; ++group)
      storeLanes(zero, tiles, {tile, inner, getIndex(b, group), first});
  });
}

ScaleBand::ScaleBand(ImplicitLocOpBuilder &b, Value cols)
    : b(b), paddedCols(roundUp(b, cols, kTileCols)) {
  buffer =
      allocate(b, {kTileRows, ShapedType::kDynamic}, b.getI8Type(), paddedCols);
  emitClearRows(getIndex(b, 0));
}

void ScaleBand::emitClearRows(Value rows) {
  auto type = VectorType::get({kTileCols}, b.getI8Type());
  Value zero = arith::ConstantOp::create(b, type, b.getZeroAttr(type));
  emitLoop(b, rows, getIndex(b, kTileRows), [&](Value row) {
    emitLoop(
        b, getIndex(b, 0), paddedCols,
        [&](Value col) { storeLanes(Lanes(b, zero), buffer, {row, col}); },
        kTileCols);
  });
}

void ScaleBand::emitStoreTiles(Value tiles, Value colTiles,
                               function_ref<Indices(Value)> getTile) {
  emitStoreTiles(tiles, getIndex(b, 0), colTiles, getTile);
}

void ScaleBand::emitStoreTiles(Value tiles, Value firstColTile,
                               Value lastColTile,
                               function_ref<Indices(Value)> getTile) {
  Value zero = getIndex(b, 0);
  emitLoop(b, firstColTile, lastColTile, [&](Value tile) {
    Indices prefix = getTile(tile);
    Value col = mul(b, tile, kTileCols);
    emitLoop(b, zero, getIndex(b, kTileRowGroup), [&](Value inner) {
      for (int64_t group = 0; group < kTileLineRows; ++group) {
        Value row = add(b, inner, getIndex(b, group * kTileRowGroup));
        storeLanes(loadLanes(b, buffer, {row, col}, kTileCols), tiles,
                   append(prefix, {inner, getIndex(b, group), zero}));
      }
    });
  });
}

void ScaleBand::emitFree() { memref::DeallocOp::create(b, buffer); }

} // namespace blockscale::cpu
