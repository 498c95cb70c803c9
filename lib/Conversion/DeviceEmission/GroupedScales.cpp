//===- GroupedScales.cpp - Scales of groups in tiles ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GroupedScales.h"
#include "DeviceCode.h"
#include "LaunchSite.h"
#include "ScaleStore.h"

using namespace mlir;

namespace blockscale {

using emit::add;
using emit::div;
using emit::getIndex;
using emit::Group;
using emit::Lanes;
using emit::mul;
using emit::sub;

GroupedScales::GroupedScales(KernelBuilder &b, const Operands &operands)
    : b(b), operands(operands) {
  const ScaleForm &form = operands.form;
  auto getExtent = [&](const ScaleExtent &extent) {
    Value size = extent.dim == 0 ? operands.rows : operands.columns;
    return emit::ceilDiv(b, size, extent.divisor);
  };
  rows = getExtent(form[0]);
  columns = getExtent(form[1]);
  int64_t tileElements =
      alongRows() ? kTileRows * form[0].divisor : kTileCols * form[1].divisor;
  Value size = operands.groupDim == 0 ? operands.rows : operands.columns;
  groups = getGroupedDim(b, operands.offsets, operands.groups,
                         div(b, size, operands.unit), operands.unit,
                         tileElements / operands.unit);
}

/// Blocks along the groups as rows, or columns, of scales.
Value GroupedScales::toScales(Value blocks) const {
  int64_t divisor = operands.form[alongRows() ? 0 : 1].divisor;
  return mul(b, blocks, operands.unit / divisor);
}

Value GroupedScales::getSize(const Group &group) const {
  return toScales(sub(b, group.end, group.begin));
}

Value GroupedScales::getFirstTile(const Group &group) const {
  Value across = alongRows() ? emit::ceilDiv(b, columns, kTileCols)
                             : emit::ceilDiv(b, rows, kTileRows);
  return mul(b, group.tilesBefore, across);
}

Value GroupedScales::getColumnTiles(const Group &group) const {
  return emit::ceilDiv(b, alongRows() ? columns : getSize(group), kTileCols);
}

SmallVector<Group> GroupedScales::find(ValueRange scales) const {
  SmallVector<Value> blocks;
  for (Value scale : scales)
    blocks.push_back(div(
        b, scale, operands.unit / operands.form[alongRows() ? 0 : 1].divisor));
  return emitFindGroups(b, groups, blocks);
}

Value GroupedScales::getAddress(const Group &group, Value row,
                                Value column) const {
  Value begin = toScales(group.begin);
  if (alongRows())
    row = sub(b, row, begin);
  else
    column = sub(b, column, begin);
  Lanes r(b, row), c(b, column);
  Lanes tile = Lanes(b, getFirstTile(group)) +
               numerics::getTileNumber(r, c, Lanes(b, getColumnTiles(group)));
  return emitAddress(b, operands.scales, b.getI8Type(),
                     numerics::getTiledOffset(tile, r, c));
}

Value GroupedScales::countBlocks(ImplicitLocOpBuilder &b, Value tiles,
                                 int64_t warps) {
  return getCeilDiv(b, tiles, warps);
}

void GroupedScales::emitBlocks(Value block, Value warp, Value lane,
                               int64_t warps, function_ref<void(Value)> body) {
  Value filling = emit::ceilDiv(b, operands.tiles, warps);
  emit::emitIf(
      b, isBelow(b, block, filling),
      [&] {
        Value tile = add(b, mul(b, block, warps), warp);
        emit::emitIf(b, isBelow(b, tile, operands.tiles),
                     [&] { emitFill(tile, lane); });
      },
      [&] { body(sub(b, block, filling)); });
}

/// Zeros the bytes of a tile that are no scales of its group: all of them if it
/// has no group.
void GroupedScales::emitFill(Value tile, Value lane) {
  Group group = emitFindGroup(b, groups, [&](const Group &each) -> Value {
    Value along =
        emit::ceilDiv(b, sub(b, each.end, each.begin), groups.tileSize);
    Group behind = each;
    behind.tilesBefore = add(b, each.tilesBefore, along);
    return isIn(b, tile, getFirstTile(each), getFirstTile(behind));
  });
  Value width = emit::max(b, getColumnTiles(group), getIndex(b, 1));
  Value inGroup = sub(b, tile, getFirstTile(group));
  Value firstRow = mul(b, arith::DivUIOp::create(b, inGroup, width), kTileRows);
  Value firstColumn =
      mul(b, arith::RemUIOp::create(b, inGroup, width), kTileCols);
  Value lastRow = alongRows() ? getSize(group) : rows;
  Value lastColumn = alongRows() ? columns : getSize(group);
  // A tile of no group has no scales, even where its rows are below the last
  // one.
  Value exists = isBelow(b, group.begin, group.end);
  auto fill = [&](Value row, int64_t column, int64_t bytes) {
    Lanes r(b, row);
    Lanes byte = numerics::getTiledOffset(Lanes(b, tile), r, r.like(column));
    Type type = b.getIntegerType(bytes * 8);
    b.store(arith::ConstantOp::create(b, b.getIntegerAttr(type, 0)),
            emitAddress(b, operands.scales, b.getI8Type(), byte), bytes);
  };
  for (int64_t part = 0; part < kTileRows; part += numerics::kTileRowGroup) {
    Value inTile = add(b, lane, getIndex(b, part));
    Value hasScales = isBelow(b, add(b, firstRow, inTile), lastRow);
    emit::emitIf(
        b, arith::AndIOp::create(b, exists, hasScales),
        [&] {
          for (int64_t i = 0; i < kTileCols; ++i) {
            Value column = add(b, firstColumn, getIndex(b, i));
            Value isPadding = arith::CmpIOp::create(
                b, arith::CmpIPredicate::uge, column, lastColumn);
            emit::emitIf(b, isPadding, [&] { fill(inTile, i, 1); });
          }
        },
        [&] { fill(inTile, 0, kTileCols); });
  }
}

} // namespace blockscale
