//===- GroupedScales.cpp - Scales of groups in tiles ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GroupedScales.h"
#include "DeviceCode.h"
#include "GroupScan.h"
#include "LaunchSite.h"
#include "ScaleStore.h"

using namespace mlir;

namespace blockscale {

using emit::getIndex;
using emit::Group;
using emit::Lanes;

GroupedScales::GroupedScales(KernelBuilder &b, const Operands &operands)
    : b(b), operands(operands) {
  const ScaleForm &form = operands.form;
  auto getExtent = [&](const ScaleExtent &extent) {
    Lanes size = extent.dim == 0 ? operands.rows : operands.columns;
    return emit::ceilDiv(b, size, extent.divisor);
  };
  rows = getExtent(form[0]);
  columns = getExtent(form[1]);
  int64_t tileElements =
      alongRows() ? kTileRows * form[0].divisor : kTileCols * form[1].divisor;
  Lanes size = operands.groupDim == 0 ? operands.rows : operands.columns;
  groups =
      getGroupedDim(b, operands.offsets, operands.groups, size / operands.unit,
                    operands.unit, tileElements / operands.unit);
  groups.padUnit = operands.padUnit;
  groups.sourceExtent = operands.sourceRows;
}

/// Blocks along the groups as rows, or columns, of scales.
Lanes GroupedScales::toScales(Lanes blocks) const {
  int64_t divisor = operands.form[alongRows() ? 0 : 1].divisor;
  return blocks * (operands.unit / divisor);
}

Lanes GroupedScales::getSize(const Group &group) const {
  return toScales(group.end - group.begin);
}

Lanes GroupedScales::getFirstTile(const Group &group) const {
  Lanes across = alongRows() ? emit::ceilDiv(b, columns, kTileCols)
                             : emit::ceilDiv(b, rows, kTileRows);
  return group.tilesBefore * across;
}

Lanes GroupedScales::getColumnTiles(const Group &group) const {
  return emit::ceilDiv(b, alongRows() ? columns : getSize(group), kTileCols);
}

SmallVector<Value> GroupedScales::toBlocks(ArrayRef<Lanes> scales) const {
  int64_t perBlock = operands.unit / operands.form[alongRows() ? 0 : 1].divisor;
  SmallVector<Value> blocks;
  for (Lanes scale : scales)
    blocks.push_back(scale / perBlock);
  return blocks;
}

SmallVector<Group> GroupedScales::find(ArrayRef<Lanes> scales) const {
  return emitFindGroups(b, groups, toBlocks(scales));
}

SmallVector<Group> GroupedScales::findInWarp(ArrayRef<Lanes> scales,
                                             Lanes lane) const {
  return emitFindGroupsInWarp(b, groups, lane, toBlocks(scales));
}

Value GroupedScales::getAddress(const Group &group, Lanes row,
                                Lanes column) const {
  Lanes begin = toScales(group.begin);
  if (alongRows())
    row = row - begin;
  else
    column = column - begin;
  Lanes tile = getFirstTile(group) + numerics::k128x4.getTileNumber(
                                         row, column, getColumnTiles(group));
  return emitAddress(b, operands.scales, b.getI8Type(),
                     numerics::k128x4.getTiledOffset(tile, row, column));
}

Lanes GroupedScales::countBlocks(ImplicitLocOpBuilder &b, Lanes tiles,
                                 int64_t warps) {
  return getCeilDiv(b, tiles, warps);
}

void GroupedScales::emitBlocks(Lanes block, Lanes warp, Lanes lane,
                               int64_t warps, function_ref<void(Lanes)> body) {
  Lanes filling = emit::ceilDiv(b, operands.tiles, warps);
  emit::emitIf(
      b, isBelow(b, block, filling),
      [&] {
        Lanes tile = block * warps + warp;
        emit::emitIf(b, isBelow(b, tile, operands.tiles),
                     [&] { emitFill(tile, lane); });
      },
      [&] { body(block - filling); });
}

/// Zeros the bytes of a tile that are no scales of its group: all of them if it
/// has no group.
void GroupedScales::emitFill(Lanes tile, Lanes lane) {
  Group group = emitFindGroup(b, groups, [&](const Group &each) -> Value {
    Lanes along = emit::ceilDiv(b, each.end - each.begin, groups.tileSize);
    Group behind = each;
    behind.tilesBefore = each.tilesBefore + along;
    return isIn(b, tile, getFirstTile(each), getFirstTile(behind));
  });
  Lanes width = emit::max(b, getColumnTiles(group), getIndex(b, 1));
  Lanes inGroup = tile - getFirstTile(group);
  Lanes firstRow = inGroup / width * kTileRows;
  Lanes firstColumn = inGroup % width * kTileCols;
  Lanes lastRow = alongRows() ? getSize(group) : rows;
  Lanes lastColumn = alongRows() ? columns : getSize(group);
  // A tile of no group has no scales, even where its rows are below the last
  // one.
  Lanes exists = isBelow(b, group.begin, group.end);
  auto fill = [&](Lanes row, int64_t column, int64_t bytes) {
    Lanes byte = numerics::k128x4.getTiledOffset(tile, row, row.like(column));
    Type type = b.getIntegerType(bytes * 8);
    b.store(arith::ConstantOp::create(b, b.getIntegerAttr(type, 0)),
            emitAddress(b, operands.scales, b.getI8Type(), byte), bytes);
  };
  for (int64_t part = 0; part < kTileRows; part += numerics::kTileRowGroup) {
    Lanes inTile = lane + part;
    Lanes hasScales = isBelow(b, firstRow + inTile, lastRow);
    emit::emitIf(
        b, exists & hasScales,
        [&] {
          for (int64_t i = 0; i < kTileCols; ++i) {
            Lanes column = firstColumn + i;
            Lanes isPadding =
                compare(arith::CmpIPredicate::uge, column, lastColumn);
            emit::emitIf(b, isPadding, [&] { fill(inTile, i, 1); });
          }
        },
        [&] { fill(inTile, 0, kTileCols); });
  }
}

} // namespace blockscale
