//===- GroupedMMKernel.cpp - Products of groups ---------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emission/GroupLoop.h"
#include "Kernels.h"
#include "PanelProduct.h"
#include "blockscale/Numerics/ScaleLayout.h"

using namespace mlir;
using blockscale::numerics::kTileCols;
using blockscale::numerics::kTileRows;

namespace blockscale::cpu {

Value countItems(ScaledGroupedMMOp op, CallSite &site) {
  ImplicitLocOpBuilder &b = site.b;
  OpFoldResult rows = site.getSizes(op.getA()).front();
  OpFoldResult cols = site.getSizes(op.getB()).end()[-2];
  Value items = mul(b, ceilDiv(b, toIndex(b, rows), kPanelRows),
                    ceilDiv(b, toIndex(b, cols), kPanelCols));
  if (op.isKGrouped())
    items = mul(b, items, toIndex(b, site.getSizes(op.getOffsets()).front()));
  return items;
}

namespace {

/// The parts that both forms of a grouped product share.
class GroupedProduct {
public:
  GroupedProduct(ScaledGroupedMMOp op, const ItemRange &range)
      : b(range.b), op(op), range(range), result(range.lookup(op.getResult())),
        rows(getDim(b, range.lookup(op.getA()), 0)),
        cols(getDim(b, range.lookup(op.getB()),
                    getTensorType(op.getB()).getRank() - 2)),
        blocks(div(b, getDataCols(b, op.getA(), range.operands),
                   op.getBlockSize())),
        product(b, op, range.tensorCores, blocks,
                {result,
                 {range.lookup(op.getGlobalScaleA())},
                 {range.lookup(op.getGlobalScaleB())},
                 range.lookup(op.getBias()),
                 op.getGlobalScaling() == GlobalScaling::AfterRounding}) {}

  void emitRowGroups();
  void emitKGroups();
  void emitFree() { product.emitFree(); }

private:
  Indices getPanelCounts() {
    return {ceilDiv(b, rows, kPanelRows), ceilDiv(b, cols, kPanelCols)};
  }

  MatmulOperand getOperand(Value data, ValueRange batch,
                           const std::optional<ScaleMatrix> &scales) {
    return {range.lookup(data), getElementTypeOrSelf(data), Indices(batch),
            scales};
  }

  static bool isGrouped(Value scale) {
    return scale && getGroupedLayout(scale.getType());
  }

  /// Scales that are linear or in tiles of the whole matrix `batch`; none of a
  /// plain operand.
  std::optional<ScaleMatrix> getWhole(Value scale, ValueRange batch) {
    if (!scale)
      return std::nullopt;
    return ScaleMatrix(b, range.lookup(scale), getScaleLayout(scale.getType()),
                       batch);
  }

  /// The columns of a group, of scales with `rows` rows.
  std::optional<ScaleMatrix> getColumns(Value scale, Value rows,
                                        const Group &group) {
    if (!isGrouped(scale))
      return getWhole(scale, {});
    Value colTiles = ceilDiv(b, sub(b, group.end, group.begin), kTileCols);
    Value rowTiles = ceilDiv(b, rows, kTileRows);
    return ScaleMatrix::getGroup(b, range.lookup(scale),
                                 mul(b, group.tilesBefore, rowTiles), colTiles,
                                 getIndex(b, 0), group.begin);
  }

  std::optional<ScaleMatrix> getRows(Value scale, const Group &group) {
    if (!isGrouped(scale))
      return getWhole(scale, {});
    Value colTiles = ceilDiv(b, blocks, kTileCols);
    return ScaleMatrix::getGroup(b, range.lookup(scale),
                                 mul(b, group.tilesBefore, colTiles), colTiles,
                                 group.begin, getIndex(b, 0));
  }

  void emitZeroRows(Value begin, Value end, const Span &cols);

  ImplicitLocOpBuilder &b;
  ScaledGroupedMMOp op;
  const ItemRange &range;
  Value result, rows, cols, blocks;
  PanelProduct product;
};

} // namespace

void GroupedProduct::emitZeroRows(Value begin, Value end, const Span &cols) {
  Type element = cast<MemRefType>(result.getType()).getElementType();
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(element));
  emitLoop(b, begin, end, [&](Value row) {
    emitLoop(b, cols.first, add(b, cols.first, cols.count), [&](Value col) {
      storeBits(toBits(Lanes(b, zero)), result, {row, col});
    });
  });
}

/// A panel may hold rows of several groups, and behind the last of no group.
void GroupedProduct::emitRowGroups() {
  GroupedDim dim = GroupedDim::get(b, range.lookup(op.getOffsets()), rows,
                                   /*unit=*/1, kTileRows);
  Indices sizes = getPanelCounts();
  emitLoop(b, range.begin, range.end, [&](Value item) {
    Indices position = delinearize(b, item, sizes);
    Span panel = getPanel(b, position[0], kPanelRows, rows);
    Span panelCols = getPanel(b, position[1], kPanelCols, cols);
    Value panelEnd = add(b, panel.first, panel.count);
    Value covered = emitGroupLoop(b, dim, [&](const Group &group) {
      Value begin = max(b, panel.first, group.begin);
      Value end = min(b, panelEnd, group.end);
      emitIf(b, isLessSigned(Lanes(b, begin), Lanes(b, end)), [&] {
        product.emit({getOperand(op.getA(), {}, getRows(op.getScaleA(), group)),
                      getOperand(op.getB(), {group.index},
                                 getWhole(op.getScaleB(), {group.index})),
                      {begin, sub(b, end, begin)},
                      panelCols,
                      {getIndex(b, 0), blocks},
                      Indices(),
                      Indices{group.index}});
      });
    });
    emitZeroRows(max(b, panel.first, covered), panelEnd, panelCols);
  });
}

void GroupedProduct::emitKGroups() {
  GroupedDim dim = GroupedDim::get(b, range.lookup(op.getOffsets()), blocks,
                                   op.getBlockSize(), kTileCols);
  Indices sizes = getPanelCounts();
  sizes.insert(sizes.begin(), dim.count);
  emitLoop(b, range.begin, range.end, [&](Value item) {
    Indices position = delinearize(b, item, sizes);
    Group group = emitGroupAt(b, dim, position[0]);
    product.emit(
        {getOperand(op.getA(), {}, getColumns(op.getScaleA(), rows, group)),
         getOperand(op.getB(), {}, getColumns(op.getScaleB(), cols, group)),
         getPanel(b, position[1], kPanelRows, rows),
         getPanel(b, position[2], kPanelCols, cols),
         {group.begin, sub(b, group.end, group.begin)},
         Indices{group.index},
         Indices{group.index}});
  });
}

void emitItems(ScaledGroupedMMOp op, const ItemRange &range) {
  GroupedProduct product(op, range);
  if (op.isKGrouped())
    product.emitKGroups();
  else
    product.emitRowGroups();
  product.emitFree();
}

} // namespace blockscale::cpu
