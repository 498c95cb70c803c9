//===- GroupedSwizzleKernel.cpp - Scales of groups ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A grouped layout has the tiles of one group after those of another. Into it,
// a warp has a tile and a thread 16 bytes of that; out of it, a CTA has a row.
// What belongs to no group is zero.
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCode.h"
#include "DeviceEmission/GroupCheck.h"
#include "DeviceEmission/ScaleStore.h"
#include "Kernels.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Transforms/ProductSwizzle.h"

#include <numeric>

using namespace mlir;

namespace blockscale {

using emit::getIndex;
using emit::Group;
using emit::Lanes;

static constexpr int64_t kGroupedSwizzleThreads = 128;
/// Bytes of a load or store of the tiled side: a line of a tile.
static constexpr int64_t kGroupedSwizzleBytes = numerics::kTileLineBytes;

namespace {

/// The operands of the kernel: scales in both layouts, the ends of groups and
/// their number, the sizes of the linear scales, and the number of tiles.
struct GroupedSwizzleOperands {
  Value linear, tiles, offsets;
  Lanes rows, cols, groups, tileCount;
};

class GroupedSwizzleEmitter {
public:
  GroupedSwizzleEmitter(KernelBuilder &b, bool alongRows, int64_t block,
                        int64_t access, const GroupedSwizzleOperands &operands)
      : b(b), alongRows(alongRows), access(access), linear(operands.linear),
        tiles(operands.tiles), rows(toIndex(b, operands.rows)),
        cols(toIndex(b, operands.cols)),
        tileCount(toIndex(b, operands.tileCount)),
        rowTiles(emit::ceilDiv(b, rows, kTileRows)),
        colTiles(emit::ceilDiv(b, cols, kTileCols)),
        groups(getGroupedDim(b, operands.offsets, toIndex(b, operands.groups),
                             alongRows ? rows : cols, block,
                             alongRows ? kTileRows : kTileCols)) {}

  void emitToTiles();
  void emitFromTiles();

private:
  /// Tiles across the grouped dimension, the same for every group.
  Lanes getOtherTiles() const { return alongRows ? colTiles : rowTiles; }
  Lanes getColTiles(const Group &group) {
    return alongRows ? colTiles
                     : emit::ceilDiv(b, group.end - group.begin, kTileCols);
  }
  Lanes getFirstTile(const Group &group) {
    return group.tilesBefore * getOtherTiles();
  }
  Value getLinearAddress(Lanes row, Lanes col) {
    return emitAddress(b, linear, b.getI8Type(), row * cols + col);
  }
  Value getTileAddress(Lanes byte) {
    return emitAddress(b, tiles, b.getI8Type(), byte);
  }
  /// A word of scales of a row: columns from `first` on, below `last`.
  Lanes emitLoadWord(Lanes row, Lanes first, Lanes last);

  KernelBuilder &b;
  bool alongRows;
  /// Scales of a row that are moved at once, all of one group.
  int64_t access;
  Value linear, tiles;
  Lanes rows, cols, tileCount, rowTiles, colTiles;
  emit::GroupedDim groups;
};

} // namespace

Lanes GroupedSwizzleEmitter::emitLoadWord(Lanes row, Lanes first, Lanes last) {
  Type accessType = b.getIntegerType(access * 8);
  Lanes word = b.i32(0);
  for (int64_t at = 0; at < kTileCols; at += access) {
    Lanes col = first + at;
    Lanes bits = emitIfElseZero(b, isBelow(col, last), [&] {
                   Lanes loaded =
                       b.load(accessType, getLinearAddress(row, col), access);
                   return SmallVector<Lanes>{extend(loaded, 32)};
                 }).front();
    word = word | (bits << (at * 8));
  }
  return word;
}

void GroupedSwizzleEmitter::emitToTiles() {
  Lanes thread = emitThreadNumber(b, kGroupedSwizzleThreads);
  Lanes inGroup = numerics::getLane(thread);
  Lanes item = emitBlockNumber(b) * (kGroupedSwizzleThreads / kWarpThreads) +
               numerics::getWarp(thread);
  emit::emitIf(b, isBelow(item, tileCount), [&] {
    Group group = emitFindGroup(b, groups, [&](const Group &each) -> Value {
      Lanes along = emit::ceilDiv(b, each.end - each.begin, groups.tileSize);
      Lanes first = getFirstTile(each);
      return isIn(b, item, first, first + along * getOtherTiles());
    });
    // An item that is in no group gets a width of one column, so that nothing
    // is divided by zero; all its columns or rows are out of range.
    Lanes width = maxSigned(getColTiles(group), getIndex(b, 1));
    auto [rowTile, colTile] =
        numerics::split(item - getFirstTile(group), width);
    Lanes firstRow = rowTile * kTileRows, firstCol = colTile * kTileCols;
    Lanes lastRow = alongRows ? group.end : rows;
    Lanes lastCol = alongRows ? cols : group.end;
    Lanes &first = alongRows ? firstRow : firstCol;
    first = first + group.begin;
    SmallVector<Lanes> words;
    for (int64_t part = 0; part < kTileRows; part += numerics::kTileRowGroup) {
      Lanes row = firstRow + (inGroup + part);
      words.append(emitIfElseZero(b, isBelow(row, lastRow), [&] {
        return SmallVector<Lanes>{emitLoadWord(row, firstCol, lastCol)};
      }));
    }
    Lanes byte =
        numerics::k128x4.getTiledOffset(item, inGroup, inGroup.like(0));
    emitStoreWords(b, words, getTileAddress(byte), kGroupedSwizzleBytes);
  });
}

void GroupedSwizzleEmitter::emitFromTiles() {
  Lanes row = emitBlockNumber(b);
  auto find = [&](Lanes place) {
    return emitFindGroup(b, groups, [&](const Group &group) {
      return isIn(b, place, group.begin, group.end);
    });
  };
  Group ofRow = alongRows ? find(row) : Group();
  Lanes thread = emitThreadNumber(b, kGroupedSwizzleThreads);
  auto emitColumn = [&](Lanes col) {
    Group group = alongRows ? ofRow : find(col);
    Type accessType = b.getIntegerType(access * 8);
    Lanes bits =
        emitIfElseZero(b, isBelow(group.begin, group.end), [&] {
          Lanes r = alongRows ? row - group.begin : row;
          Lanes c = alongRows ? col : col - group.begin;
          Lanes tile = getFirstTile(group) +
                       numerics::k128x4.getTileNumber(r, c, getColTiles(group));
          Value address =
              getTileAddress(numerics::k128x4.getTiledOffset(tile, r, c));
          return SmallVector<Lanes>{b.load(accessType, address, access)};
        }).front();
    b.store(bits, getLinearAddress(row, col), access);
  };
  emit::emitLoop(b, thread * access, cols, emitColumn,
                 kGroupedSwizzleThreads * access);
}

void launchGroupedSwizzle(SwizzleOp op, LaunchSite &site) {
  ImplicitLocOpBuilder &b = site.b;
  Value source = site.lookup(op.getSource());
  Value result = site.lookup(op.getResult());
  bool toTiles = getGroupedLayout(op.getResult().getType()) != nullptr;
  bool alongRows = op.getGroupedLayout().getDim() == 0;
  Value linear = toTiles ? source : result, tiles = toTiles ? result : source;
  int64_t staticCols = cast<MemRefType>(linear.getType()).getShape().back();
  int64_t access = alongRows && !ShapedType::isDynamic(staticCols)
                       ? std::gcd(staticCols, kTileCols)
                       : 1;
  int64_t block = op.getBlock();

  Value offsets = site.lookup(op.getOffsets());
  GroupedSwizzleOperands operands{linear,
                                  tiles,
                                  offsets,
                                  emit::getDim(b, linear, 0),
                                  emit::getDim(b, linear, 1),
                                  emit::getDim(b, offsets, 0),
                                  emit::getDim(b, tiles, 0)};
  Lanes blocks = toTiles ? getCeilDiv(b, operands.tileCount,
                                      kGroupedSwizzleThreads / kWarpThreads)
                         : operands.rows;
  std::string name;
  llvm::raw_string_ostream os(name);
  os << "swizzle_" << (alongRows ? "row" : "column") << "_groups_"
     << (toTiles ? "to" : "from") << "_tiles_x" << access;
  if (block != 1)
    os << "_block" << block;
  KernelSignature::Slot slots[] = {{operands.linear, access},
                                   {operands.tiles, kGroupedSwizzleBytes}};
  site.launch(
      name, {kGroupedSwizzleThreads, blocks, {}},
      {slots[toTiles ? 0 : 1],
       slots[toTiles ? 1 : 0],
       {operands.offsets, sizeof(int32_t)},
       {operands.rows},
       {operands.cols},
       {operands.groups},
       {operands.tileCount}},
      [&](KernelBuilder &b) {
        Lanes size = toIndex(b, alongRows ? operands.rows : operands.cols);
        if (!op->hasAttr(kEndsCheckedAttrName))
          emitCheckGroups(b, emit::getGroupRules(op), operands.offsets,
                          operands.groups, size * block, emitBlockNumber(b));
        GroupedSwizzleEmitter emitter(b, alongRows, block, access, operands);
        if (toTiles)
          emitter.emitToTiles();
        else
          emitter.emitFromTiles();
      });
}

} // namespace blockscale
