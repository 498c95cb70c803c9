//===- PanelScales.cpp - Scales of a panel on their way to memory ---------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PanelScales.h"
#include "Transpose.h"
#include "blockscale/Numerics/ScaleLayout.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using blockscale::numerics::kTileCols;
using blockscale::numerics::kTileLineRows;
using blockscale::numerics::kTileRowGroup;
using blockscale::numerics::kTileRows;

namespace blockscale::cpu {

/// Scales of a band that are transposed, or stored, at a time.
static constexpr int64_t kBandScalesPerStep = 32;

/// Whether rows of scales run down the columns of x.
static bool isTransposed(const ScaleForm &form) { return form[0].dim == 1; }

int64_t PanelScales::getScaleCols(const ScaleForm &form) {
  return form[isTransposed(form) ? 0 : 1].divisor;
}

/// Rows of x that have a scale byte of their own in the result.
static int64_t getScaleRows(const ScaleForm &form) {
  return form[isTransposed(form) ? 1 : 0].divisor;
}

PanelScales::PanelScales(ImplicitLocOpBuilder &b, const ScaleForm &form,
                         int64_t blockRows)
    : b(b), form(form), bands(kQuantizePanelRows / blockRows),
      width(kQuantizePanelCols / getScaleCols(form)),
      repeats(blockRows / getScaleRows(form)),
      buffer(allocate(b, {bands, width}, b.getI8Type())) {
  if (isTransposed(form))
    transposed = allocate(b, {bands * width}, b.getI8Type());
}

void PanelScales::emitFree() {
  memref::DeallocOp::create(b, buffer);
  if (transposed)
    memref::DeallocOp::create(b, transposed);
}

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

void PanelScales::emitClearPadding(const Panel &panel) {
  Value zero = getIndex(b, 0), end = getIndex(b, width);
  auto clear = [&](Value firstBand, Value firstCol) {
    emitLoop(b, firstBand, getIndex(b, bands), [&](Value band) {
      emitLoop(b, firstCol, end, [&](Value col) {
        Lanes byte = loadBits(b, buffer, {band, col});
        storeBits(byte.like(0), buffer, {band, col});
      });
    });
  };
  emitIfLess(b, panel.rows, kQuantizePanelRows, [&] {
    clear(ceilDiv(b, panel.rows, kQuantizePanelRows / bands), zero);
  });
  emitIfLess(b, panel.cols, kQuantizePanelCols, [&] {
    clear(zero, ceilDiv(b, panel.cols, kQuantizePanelCols / width));
  });
}

/// transposed[col * bands + band] = buffer[band, col]
void PanelScales::emitTranspose() {
  int64_t step = std::min(kBandScalesPerStep, width);
  emitLoop(
      b, getIndex(b, 0), getIndex(b, width),
      [&](Value col) {
        SmallVector<Lanes> rows;
        for (int64_t band = 0; band < bands; ++band)
          rows.push_back(loadLanes(b, buffer, {getIndex(b, band), col}, step));
        storeLanes(interleaveRows(rows), transposed, {mul(b, col, bands)});
      },
      step);
}

Lanes PanelScales::emitLoad(Value row, Value col, int64_t count) const {
  if (transposed)
    return loadLanes(b, transposed, {add(b, mul(b, row, bands), col)}, count);
  return loadLanes(b, buffer, {div(b, row, repeats), col}, count);
}

//===----------------------------------------------------------------------===//
// Storing
//===----------------------------------------------------------------------===//

void PanelScales::emitStoreLinear(const ScaleMatrix &scales,
                                  const Extents &first,
                                  const Extents &extents) {
  emitLoop(b, getIndex(b, 0), extents.rows, [&](Value row) {
    int64_t maxCount = std::min(kBandScalesPerStep, transposed ? bands : width);
    emitUnitSteps(b, extents.cols, maxCount, [&](Value col, int64_t count) {
      storeLanes(
          emitLoad(row, col, count), scales.getMemRef(),
          scales.getIndices(add(b, first.rows, row), add(b, first.cols, col)));
    });
  });
}

/// Tiles of the panel, padding included. Columns of padding are zero in the
/// buffer, rows may repeat others.
void PanelScales::emitStoreTiles(const ScaleMatrix &scales,
                                 const Extents &first, const Extents &extents) {
  auto storeRow = [&](Value row, Value col, ValueRange tile, Value inner,
                      int64_t group) {
    Lanes bytes = emitLoad(row, col, kTileCols);
    storeLanes(select(isBelow(b, row, extents.rows), bytes, bytes.like(0)),
               scales.getMemRef(),
               append(tile, {inner, getIndex(b, group), getIndex(b, 0)}));
  };
  auto storeTile = [&](Value row, Value col) {
    Indices tile =
        scales.getIndices(add(b, first.rows, row), add(b, first.cols, col));
    tile.pop_back_n(3);
    emitLoop(b, getIndex(b, 0), getIndex(b, kTileRowGroup), [&](Value inner) {
      for (int64_t group = 0; group < kTileLineRows; ++group)
        storeRow(add(b, row, add(b, inner, getIndex(b, group * kTileRowGroup))),
                 col, tile, inner, group);
    });
  };
  emitLoop(
      b, getIndex(b, 0), extents.rows,
      [&](Value row) {
        emitLoop(
            b, getIndex(b, 0), extents.cols,
            [&](Value col) { storeTile(row, col); }, kTileCols);
      },
      kTileRows);
}

void PanelScales::emitPanelDone(const Panel &panel, const ScaleMatrix &scales) {
  auto inScales = [&](Value rows, Value cols) -> Extents {
    Value sizes[] = {rows, cols};
    return {ceilDiv(b, sizes[form[0].dim], form[0].divisor),
            ceilDiv(b, sizes[form[1].dim], form[1].divisor)};
  };
  Extents first = inScales(panel.firstRow, panel.firstCol);
  Extents extents = inScales(panel.rows, panel.cols);
  if (!scales.isLinear())
    emitClearPadding(panel);
  if (transposed)
    emitTranspose();
  if (scales.isLinear())
    emitStoreLinear(scales, first, extents);
  else
    emitStoreTiles(scales, first, extents);
}

} // namespace blockscale::cpu
