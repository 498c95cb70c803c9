//===- GroupedMMKernel.cpp - Products of groups ---------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GroupLoop.h"
#include "Kernels.h"
#include "PanelProduct.h"
#include "blockscale/Numerics/ScaleLayout.h"

using namespace mlir;
using blockscale::numerics::kTileCols;
using blockscale::numerics::kTileRows;

namespace blockscale::cpu {

Value prepareCall(ScaledGroupedMMOp op, CallSite &site) {
  ImplicitLocOpBuilder &b = site.b;
  int64_t blockSize = op.getBlockSize();
  CallSite::Sizes a = site.getDataSizes(op.getA(), op.getB());
  CallSite::Sizes bSizes = site.getSizes(op.getB());
  CallSite::Sizes groups = site.getSizes(op.getOffsets());
  OpFoldResult rows = a.front(), cols = bSizes[bSizes.size() - 2];
  bSizes.back() = a.back();
  CallSite::Sizes result = {rows, cols};
  if (op.isKGrouped())
    result.insert(result.begin(), groups.front());
  else
    bSizes.front() = groups.front();

  site.requireMultiple(a.back(), blockSize, "the last dimension of a");
  site.requireSizes("a", op.getA(), a, "b");
  site.requireSizes("b", op.getB(), bSizes, "a and offsets");
  site.requireSizes("scale_a", op.getScaleA(),
                    getScaleSizes(b, b.getLoc(), a, blockSize), "a");
  site.requireSizes("scale_b", op.getScaleB(),
                    getScaleSizes(b, b.getLoc(), bSizes, blockSize), "b");
  site.requireSizes("the result", op.getResult(), result, "a and b");
  for (auto [name, global] :
       {std::pair("global_scale_a", op.getGlobalScaleA()),
        std::pair("global_scale_b", op.getGlobalScaleB())})
    site.requireGlobalSizes(name, global, groups, "offsets");

  Value items = ceilDiv(b, toIndex(b, rows), kPanelRows);
  if (op.isKGrouped())
    items = mul(b, items, toIndex(b, groups.front()));
  return items;
}

namespace {

/// What both forms share.
class GroupedProduct {
public:
  GroupedProduct(ScaledGroupedMMOp op, const ItemRange &range)
      : b(range.b), op(op), range(range), result(range.lookup(op.getResult())),
        rows(getDim(b, range.lookup(op.getA()), 0)),
        cols(getDim(b, range.lookup(op.getB()),
                    getTensorType(op.getB()).getRank() - 2)),
        blocks(div(b, getDataCols(b, op.getA(), range.operands),
                   op.getBlockSize())),
        product(b, getScaleFormat(op.getScaleA()), blocks, cols, result,
                /*bias=*/Value()) {}

  void emitRowGroups();
  void emitKGroups();
  void emitFree() { product.emitFree(); }

private:
  /// Rows of A and of the result.
  struct Panel {
    Value begin, end;
  };

  Panel getPanel(Value index) {
    Value begin = mul(b, index, kPanelRows);
    return {begin, min(b, add(b, begin, getIndex(b, kPanelRows)), rows)};
  }

  Value loadFactor(Value group) {
    return loadGlobalProduct(b, range.lookup(op.getGlobalScaleA()),
                             range.lookup(op.getGlobalScaleB()), group);
  }

  MatmulOperand getOperand(Value data, ValueRange batch,
                           const ScaleMatrix &scales) {
    return {range.lookup(data), getElementFormat(data), Indices(batch), scales};
  }

  static bool isGrouped(Value scale) {
    LayoutAttr layout = getLayout(scale.getType());
    return layout && layout.isGrouped();
  }

  /// Scales that are linear or in tiles of the whole matrix `batch`.
  ScaleMatrix getWhole(Value scale, ValueRange batch) {
    return ScaleMatrix(b, range.lookup(scale), getLayout(scale.getType()),
                       batch);
  }

  /// The columns of a group, of scales with `rows` rows.
  ScaleMatrix getColumns(Value scale, Value rows, const Group &group) {
    if (!isGrouped(scale))
      return getWhole(scale, {});
    Value colTiles = ceilDiv(b, sub(b, group.end, group.begin), kTileCols);
    Value rowTiles = ceilDiv(b, rows, kTileRows);
    return ScaleMatrix::getGroup(b, range.lookup(scale),
                                 mul(b, group.tilesBefore, rowTiles), colTiles,
                                 getIndex(b, 0), group.begin);
  }

  ScaleMatrix getRows(Value scale, const Group &group) {
    if (!isGrouped(scale))
      return getWhole(scale, {});
    Value colTiles = ceilDiv(b, blocks, kTileCols);
    return ScaleMatrix::getGroup(b, range.lookup(scale),
                                 mul(b, group.tilesBefore, colTiles), colTiles,
                                 group.begin, getIndex(b, 0));
  }

  void emitZeroRows(Value begin, Value end);

  ImplicitLocOpBuilder &b;
  ScaledGroupedMMOp op;
  const ItemRange &range;
  Value result, rows, cols, blocks;
  PanelProduct product;
};

} // namespace

void GroupedProduct::emitZeroRows(Value begin, Value end) {
  Type element = cast<MemRefType>(result.getType()).getElementType();
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(element));
  emitLoop(b, begin, end, [&](Value row) {
    emitLoop(b, getIndex(b, 0), cols, [&](Value col) {
      storeBits(toBits(Lanes(b, zero)), result, {row, col});
    });
  });
}

/// A panel may hold rows of several groups, and behind the last of no group.
void GroupedProduct::emitRowGroups() {
  GroupedDim dim = {range.lookup(op.getOffsets()), rows, /*unit=*/1, kTileRows};
  emitLoop(b, range.begin, range.end, [&](Value item) {
    Panel panel = getPanel(item);
    Value covered = emitGroupLoop(b, dim, [&](const Group &group) {
      Value begin = max(b, panel.begin, group.begin);
      Value end = min(b, panel.end, group.end);
      Value isCovered =
          arith::CmpIOp::create(b, arith::CmpIPredicate::slt, begin, end);
      emitIf(b, isCovered, [&] {
        product.emit({getOperand(op.getA(), {}, getRows(op.getScaleA(), group)),
                      getOperand(op.getB(), group.index,
                                 getWhole(op.getScaleB(), group.index)),
                      begin, sub(b, end, begin), getIndex(b, 0), blocks,
                      Indices(), loadFactor(group.index)});
      });
    });
    emitZeroRows(max(b, panel.begin, covered), panel.end);
  });
}

void GroupedProduct::emitKGroups() {
  GroupedDim dim = {range.lookup(op.getOffsets()), blocks, op.getBlockSize(),
                    kTileCols};
  Indices sizes = {getDim(b, dim.offsets, 0), ceilDiv(b, rows, kPanelRows)};
  emitLoop(b, range.begin, range.end, [&](Value item) {
    Indices position = delinearize(b, item, sizes);
    Panel panel = getPanel(position.back());
    Group group = emitFindGroup(b, dim, position.front());
    product.emit(
        {getOperand(op.getA(), {}, getColumns(op.getScaleA(), rows, group)),
         getOperand(op.getB(), {}, getColumns(op.getScaleB(), cols, group)),
         panel.begin, sub(b, panel.end, panel.begin), group.begin,
         sub(b, group.end, group.begin), Indices{group.index},
         loadFactor(group.index)});
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
