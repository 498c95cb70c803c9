//===- SwizzleKernel.cpp - Scales from layout to layout -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emission/GroupLoop.h"
#include "Kernels.h"
#include "ScaleAddress.h"
#include "ScaleTiles.h"
#include "blockscale/Numerics/ScaleLayout.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using blockscale::numerics::kTileCols;
using blockscale::numerics::kTileRows;

namespace blockscale::cpu {

static bool isLinear(Value scale) {
  return getScaleLayout(scale.getType()).isLinear();
}

/// Sizes of all dimensions of the memory but the last.
static Indices getCopiedRows(ImplicitLocOpBuilder &b, Value memref) {
  int64_t rank = cast<MemRefType>(memref.getType()).getRank();
  return getLeadingSizes(b, memref, rank - 1);
}

Value countItems(SwizzleOp op, CallSite &site) {
  ImplicitLocOpBuilder &b = site.b;
  if (isCopy(op)) {
    Value source = site.lookup(op.getSource());
    int64_t rank = cast<MemRefType>(source.getType()).getRank();
    CallSite::Sizes sizes = getAsOpFoldResult(getLeadingSizes(b, source, rank));
    return site.countItems(sizes, toIndex(b, sizes.end()[-2]));
  }
  bool fromLinear = isLinear(op.getSource());
  if (fromLinear && op.getGroupedLayout())
    return getDim(b, site.lookup(op.getResult()), 0);
  CallSite::Sizes sizes =
      site.getSizes(fromLinear ? op.getSource() : op.getResult());
  Value rows = toIndex(b, sizes.end()[-2]);
  const numerics::ScaleLayout &to = getScaleLayout(op.getType());
  return site.countItems(sizes, fromLinear ? ceilDiv(b, rows, to.getTileRows())
                                           : rows);
}

/// Items are rows of memory.
static void emitCopy(SwizzleOp op, const ItemRange &range) {
  ImplicitLocOpBuilder &b = range.b;
  Value source = range.lookup(op.getSource());
  Value result = range.lookup(op.getResult());
  Indices rowSizes = getCopiedRows(b, source);
  Value cols = getDim(b, source, rowSizes.size());
  emitLoop(b, range.begin, range.end, [&](Value item) {
    Indices row = delinearize(b, item, rowSizes);
    emitCopyBytes(b, source, row, result, row, cols);
  });
}

/// Items are bands of the source.
static void emitToTiles(SwizzleOp op, const ItemRange &range) {
  ImplicitLocOpBuilder &b = range.b;
  Value source = range.lookup(op.getSource());
  Value result = range.lookup(op.getResult());
  int64_t rank = getTensorType(op.getSource()).getRank();
  BandedScales scales{result, getScaleLayout(op.getType()),
                      getLeadingSizes(b, source, rank - 2),
                      getDim(b, source, rank - 2), getDim(b, source, rank - 1)};
  emitScaleBands(range, scales,
                 [&](ValueRange batch, Value first, Value count, Value buffer) {
                   emitLoop(b, getIndex(b, 0), count, [&](Value i) {
                     emitCopyBytes(b, source, append(batch, add(b, first, i)),
                                   buffer, i, scales.cols);
                   });
                 });
}

/// Copies scales [firstCol, lastCol) of a row out of `tiles`.
static void emitCopyFromTiles(ImplicitLocOpBuilder &b, const ScaleMatrix &tiles,
                              Value row, Value firstCol, Value lastCol,
                              Value result, ValueRange resultRow) {
  emitLoop(b, firstCol, lastCol, [&](Value col) {
    storeBits(loadBits(b, tiles.getMemRef(), tiles.getIndices(row, col)),
              result, append(resultRow, col));
  });
}

/// Items are rows of the result.
static void emitFromTiles(SwizzleOp op, const ItemRange &range) {
  ImplicitLocOpBuilder &b = range.b;
  Value source = range.lookup(op.getSource());
  Value result = range.lookup(op.getResult());
  int64_t rank = getTensorType(op.getResult()).getRank();
  Value cols = getDim(b, result, rank - 1);
  Indices rowSizes = getLeadingSizes(b, result, rank - 1);
  emitLoop(b, range.begin, range.end, [&](Value item) {
    Indices row = delinearize(b, item, rowSizes);
    ScaleMatrix tiles(b, source, getScaleLayout(op.getSource().getType()),
                      ValueRange(row).drop_back());
    emitCopyFromTiles(b, tiles, row.back(), getIndex(b, 0), cols, result, row);
  });
}

namespace {

/// The groups of a kernel with a grouped side, and where their tiles are.
class GroupedSwizzle {
public:
  GroupedSwizzle(SwizzleOp op, const ItemRange &range)
      : b(range.b),
        linear(range.lookup(isLinear(op.getSource()) ? op.getSource()
                                                     : op.getResult())),
        tiles(range.lookup(isLinear(op.getSource()) ? op.getResult()
                                                    : op.getSource())),
        offsets(range.lookup(op.getOffsets())), block(op.getBlock()),
        alongRows(op.getGroupedLayout().getDim() == 0) {
    rows = getDim(b, linear, 0);
    cols = getDim(b, linear, 1);
  }

  /// Stores tile `item`, zero where no group has it.
  void emitStoreTile(Value item) {
    emitClearTile(b, tiles, item);
    emitGroups([&](const Group &group) {
      Value colTiles = getColTiles(group);
      Value first = mul(b, group.tilesBefore, getOtherTiles());
      Value count = mul(b, getRowTiles(group), colTiles);
      emitIf(b, isIn(b, item, first, add(b, first, count)), [&] {
        Lanes tile = sub(b, item, first);
        Lanes rowTile = tile / colTiles, colTile = tile % colTiles;
        emitFillTile(item,
                     add(b, getFirstRow(group), mul(b, rowTile, kTileRows)),
                     getLastRow(group),
                     add(b, getFirstCol(group), mul(b, colTile, kTileCols)),
                     getLastCol(group));
      });
    });
  }

  /// Stores row `row` of the linear result, zero where no group has it.
  void emitLoadRow(Value row) {
    Lanes zero(b, arith::ConstantOp::create(b, b.getI8IntegerAttr(0)));
    emitLoop(b, getIndex(b, 0), cols,
             [&](Value col) { storeBits(zero, linear, {row, col}); });
    emitGroups([&](const Group &group) {
      ScaleMatrix matrix = ScaleMatrix::getGroup(
          b, tiles, mul(b, group.tilesBefore, getOtherTiles()),
          getColTiles(group), getFirstRow(group), getFirstCol(group));
      emitIf(b, isIn(b, row, getFirstRow(group), getLastRow(group)), [&] {
        emitCopyFromTiles(b, matrix, row, getFirstCol(group), getLastCol(group),
                          linear, row);
      });
    });
  }

private:
  void emitGroups(function_ref<void(const Group &)> body) {
    emitGroupLoop(b,
                  GroupedDim::get(b, offsets, alongRows ? rows : cols, block,
                                  alongRows ? kTileRows : kTileCols),
                  body);
  }

  Value getFirstRow(const Group &g) {
    return alongRows ? g.begin : getIndex(b, 0);
  }
  Value getLastRow(const Group &g) { return alongRows ? g.end : rows; }
  Value getFirstCol(const Group &g) {
    return alongRows ? getIndex(b, 0) : g.begin;
  }
  Value getLastCol(const Group &g) { return alongRows ? cols : g.end; }

  Value getRowTiles(const Group &g) {
    return ceilDiv(b, sub(b, getLastRow(g), getFirstRow(g)), kTileRows);
  }
  Value getColTiles(const Group &g) {
    return ceilDiv(b, sub(b, getLastCol(g), getFirstCol(g)), kTileCols);
  }
  /// Tiles across the grouped dimension, the same for every group.
  Value getOtherTiles() {
    return alongRows ? ceilDiv(b, cols, kTileCols)
                     : ceilDiv(b, rows, kTileRows);
  }

  /// Stores the scales of the tile that begins at (firstRow, firstCol).
  void emitFillTile(Value item, Value firstRow, Value lastRow, Value firstCol,
                    Value lastCol) {
    Value endRow = min(b, add(b, firstRow, getIndex(b, kTileRows)), lastRow);
    Value endCol = min(b, add(b, firstCol, getIndex(b, kTileCols)), lastCol);
    ScaleMatrix matrix = ScaleMatrix::getGroup(b, tiles, item, getIndex(b, 1),
                                               firstRow, firstCol);
    emitLoop(b, firstRow, endRow, [&](Value row) {
      emitLoop(b, firstCol, endCol, [&](Value col) {
        storeBits(loadBits(b, linear, {row, col}), tiles,
                  matrix.getIndices(row, col));
      });
    });
  }

  ImplicitLocOpBuilder &b;
  Value linear, tiles, offsets;
  int64_t block;
  bool alongRows;
  Value rows, cols;
};

} // namespace

void emitItems(SwizzleOp op, const ItemRange &range) {
  if (isCopy(op))
    return emitCopy(op, range);
  bool fromLinear = isLinear(op.getSource());
  if (!op.getGroupedLayout())
    return fromLinear ? emitToTiles(op, range) : emitFromTiles(op, range);
  GroupedSwizzle swizzle(op, range);
  emitLoop(range.b, range.begin, range.end, [&](Value item) {
    if (fromLinear)
      swizzle.emitStoreTile(item);
    else
      swizzle.emitLoadRow(item);
  });
}

} // namespace blockscale::cpu
