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
#include "WarpExchange.h"

using namespace mlir;

namespace blockscale {

using emit::getIndex;
using emit::Group;
using emit::Lanes;

/// Tiles that a warp fills up: it finds the groups of all of them at once.
static constexpr int64_t kFilledTiles = 8;

/// Whether a group has rows of scales, rather than columns.
static bool areGroupsOfRows(const ScaleForm &form, unsigned groupDim) {
  return form[0].dim == groupDim;
}

int64_t GroupedScales::getTileElements(const ScaleForm &form,
                                       unsigned groupDim) {
  return areGroupsOfRows(form, groupDim) ? kTileRows * form[0].divisor
                                         : kTileCols * form[1].divisor;
}

bool GroupedScales::alongRows() const {
  return areGroupsOfRows(operands.form, operands.groupDim);
}

GroupedScales::GroupedScales(KernelBuilder &b, const Operands &operands)
    : b(b), operands(operands) {
  const ScaleForm &form = operands.form;
  auto getExtent = [&](const ScaleExtent &extent) {
    Lanes size = extent.dim == 0 ? operands.rows : operands.columns;
    return emit::ceilDiv(b, size, extent.divisor);
  };
  rows = getExtent(form[0]);
  columns = getExtent(form[1]);
  Lanes size = operands.groupDim == 0 ? operands.rows : operands.columns;
  groups = getGroupedDim(
      b, operands.offsets, operands.groups, size / operands.unit, operands.unit,
      getTileElements(form, operands.groupDim) / operands.unit);
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

Lanes GroupedScales::countTilesAcross() const {
  return alongRows() ? emit::ceilDiv(b, columns, kTileCols)
                     : emit::ceilDiv(b, rows, kTileRows);
}

Lanes GroupedScales::getFirstTile(const Group &group) const {
  return group.tilesBefore * countTilesAcross();
}

Lanes GroupedScales::getColumnTiles(const Group &group) const {
  return emit::ceilDiv(b, alongRows() ? columns : getSize(group), kTileCols);
}

Group GroupedScales::getGroup(const GroupStrip &strip,
                              Lanes tilesBefore) const {
  return {strip.group.index, strip.group.begin / operands.unit,
          strip.group.end / operands.unit, tilesBefore};
}

Lanes GroupedScales::countStoredColumns(const Group &group) const {
  return emit::roundUp(b, getSize(group), operands.storedColumns);
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
  return getCeilDiv(b, tiles, warps * kFilledTiles);
}

void GroupedScales::emitBlocks(Lanes block, Lanes warp, Lanes lane,
                               int64_t warps, function_ref<void(Lanes)> body) {
  Lanes filling = emit::ceilDiv(b, operands.tiles, warps * kFilledTiles);
  emit::emitIf(
      b, isBelow(b, block, filling),
      [&] {
        Lanes first = (block * warps + warp) * kFilledTiles;
        Lanes end = emit::min(b, first + kFilledTiles, operands.tiles);
        emit::emitIf(b, isBelow(first, end),
                     [&] { emitFills(first, end, lane); });
      },
      [&] { body(block - filling); });
}

/// Fills up tiles [first, end), at most `kFilledTiles`, of each of which one
/// thread finds the group.
void GroupedScales::emitFills(Lanes first, Lanes end, Lanes lane) {
  Lanes own = first + numerics::split(lane, kFilledTiles).second;
  Lanes across = emit::max(b, countTilesAcross(), getIndex(b, 1));
  Group found = emitFindTileGroupInWarp(b, groups, lane, own / across);
  emit::emitLoop(b, getIndex(b, 0), end - first, [&](Lanes i) {
    auto get = [&](Lanes value) {
      Lanes word = emitShuffleFrom(b, toWord(b, value), toWord(b, i));
      return toIndex(b, b.zext64(word));
    };
    Group group = {get(found.index), get(found.begin), get(found.end),
                   get(found.tilesBefore)};
    emitFill(first + i, group, lane);
  });
}

/// Zeros the bytes of a tile that are not stored with scales of its group: all
/// of them if it has no group.
void GroupedScales::emitFill(Lanes tile, const Group &group, Lanes lane) {
  Lanes width = emit::max(b, getColumnTiles(group), getIndex(b, 1));
  Lanes inGroup = tile - getFirstTile(group);
  Lanes firstRow = inGroup / width * kTileRows;
  Lanes firstColumn = inGroup % width * kTileCols;
  Lanes lastRow = alongRows() ? getSize(group) : rows;
  Lanes lastColumn = alongRows() ? columns : countStoredColumns(group);
  auto store = [&](Lanes byte, int64_t bytes) {
    Type type = b.getIntegerType(bytes * 8);
    b.store(arith::ConstantOp::create(b, b.getIntegerAttr(type, 0)),
            emitAddress(b, operands.scales, b.getI8Type(), byte), bytes);
  };
  auto fill = [&](Lanes row, int64_t column, int64_t bytes) {
    store(numerics::k128x4.getTiledOffset(tile, row, row.like(column)), bytes);
  };
  auto fillRow = [&](Lanes inTile) {
    emit::emitIf(
        b, isBelow(b, firstRow + inTile, lastRow),
        [&] {
          for (int64_t i = 0; i < kTileCols; ++i) {
            Lanes column = firstColumn + i;
            Lanes isPadding =
                compare(arith::CmpIPredicate::uge, column, lastColumn);
            emit::emitIf(b, isPadding, [&] { fill(inTile, i, 1); });
          }
        },
        [&] { fill(inTile, 0, kTileCols); });
  };
  constexpr int64_t kStores = numerics::kTileBytes / kTileCols / kWarpThreads;
  emit::emitIf(
      b, isBelow(b, group.begin, group.end),
      [&] {
        for (int64_t i = 0; i < kStores; ++i)
          fillRow(lane + i * numerics::kTileRowGroup);
      },
      // A tile of no group has no scales, even where its rows are below the
      // last one.
      [&] {
        Lanes first = tile * numerics::kTileBytes;
        for (int64_t i = 0; i < kStores; ++i)
          store(first + (lane + i * kWarpThreads) * kTileCols, kTileCols);
      });
}

} // namespace blockscale
