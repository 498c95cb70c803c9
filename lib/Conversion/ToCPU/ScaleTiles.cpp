//===- ScaleTiles.cpp - Bands of scales and their tiles -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScaleTiles.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using blockscale::numerics::kTileCols;
using blockscale::numerics::kTileLineRows;
using blockscale::numerics::kTileRowGroup;

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

ScaleBand::ScaleBand(ImplicitLocOpBuilder &b, Value cols,
                     const numerics::ScaleLayout &layout)
    : b(b), layout(layout), paddedCols(roundUp(b, cols, layout.getTileCols())) {
  buffer = allocate(b, {layout.getTileRows(), ShapedType::kDynamic},
                    b.getI8Type(), paddedCols);
  emitClearRows(getIndex(b, 0));
}

void ScaleBand::emitClearRows(Value rows) {
  int64_t step = layout.getRunBytes();
  auto type = VectorType::get({step}, b.getI8Type());
  Value zero = arith::ConstantOp::create(b, type, b.getZeroAttr(type));
  emitLoop(b, rows, getIndex(b, layout.getTileRows()), [&](Value row) {
    emitLoop(
        b, getIndex(b, 0), paddedCols,
        [&](Value col) { storeLanes(Lanes(b, zero), buffer, {row, col}); },
        step);
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
  // The runs of bits of a row, of which the first is a loop. A row of a tile is
  // consecutive bytes.
  ArrayRef<numerics::BitRun> digits(layout.tile.begin(), layout.tile.end());
  digits = digits.drop_back();
  int64_t inner = digits.front().getSize();
  int64_t outer = layout.getTileRows() / inner;
  emitLoop(b, firstColTile, lastColTile, [&](Value tile) {
    Indices prefix = getTile(tile);
    Value col = mul(b, tile, layout.getTileCols());
    emitLoop(b, zero, getIndex(b, inner), [&](Value i) {
      for (int64_t j = 0; j < outer; ++j) {
        Value row = add(b, i, getIndex(b, j * inner));
        Indices place = append(prefix, i);
        for (const numerics::BitRun &digit : digits.drop_front())
          place.push_back(getIndex(
              b, numerics::BitLayout::getDigit(digit, j * inner, int64_t(0))));
        place.push_back(zero);
        storeLanes(loadLanes(b, buffer, {row, col}, layout.getTileCols()),
                   tiles, place);
      }
    });
  });
}

void ScaleBand::emitFree() { memref::DeallocOp::create(b, buffer); }

void emitScaleBands(const ItemRange &range, const BandedScales &scales,
                    function_ref<void(ValueRange, Value, Value, Value)> fill) {
  ImplicitLocOpBuilder &b = range.b;
  int64_t bandRows = scales.layout.getTileRows();
  Indices sizes = append(scales.batch, ceilDiv(b, scales.rows, bandRows));
  ScaleBand band(b, scales.cols, scales.layout);
  emitLoop(b, range.begin, range.end, [&](Value item) {
    Indices index = delinearize(b, item, sizes);
    Value first = mul(b, index.back(), bandRows);
    Value count = min(b, getIndex(b, bandRows), sub(b, scales.rows, first));
    fill(ValueRange(index).drop_back(), first, count, band.getBuffer());
    band.emitClearRows(count);
    band.emitStoreTiles(scales.tiles,
                        ceilDiv(b, scales.cols, scales.layout.getTileCols()),
                        [&](Value col) { return append(index, col); });
  });
  band.emitFree();
}

} // namespace blockscale::cpu
