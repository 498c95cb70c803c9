//===- StripScaleTable.cpp - Scales of a warp's fragments -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StripScaleTable.h"
#include "DeviceEmission/DeviceCode.h"
#include "DeviceEmission/ScaleStore.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

#include <numeric>

using namespace mlir;

namespace blockscale {

using emit::getIndex;
using emit::Lanes;

/// Bytes of a store at most: the columns of a tile.
static constexpr int64_t kStoreBytes = kTileCols;
/// The most words of a thread that are stored without a loop.
static constexpr int64_t kUnrolledWords = 4;

static int64_t getWarpExtent(const StripSpec &spec, unsigned dim) {
  return dim == 0 ? spec.shape->getWarpRows() : spec.shape->getWarpColumns();
}

/// Blocks of a warp along a dimension.
static int64_t getWarpBlocks(const StripSpec &spec, unsigned dim) {
  return getWarpExtent(spec, dim) / spec.block[dim];
}

int64_t StripScaleTable::getBytes(const StripSpec &spec) {
  return getWarpBlocks(spec, 0) * getWarpBlocks(spec, 1);
}

/// The widest store of linear scales whose rows have so many bytes, where this
/// is known.
static int64_t getStaticWidth(const StripSpec &spec) {
  const ScaleExtent &minor = spec.scaleForm[1];
  int64_t width = std::min(kStoreBytes, getWarpBlocks(spec, minor.dim));
  if (spec.swizzled || spec.groupedTiles)
    return width;
  if (minor.dim == 0)
    return std::gcd(width, spec.groupRows / minor.divisor);
  return std::gcd(width,
                  llvm::divideCeil(spec.shape->columnUnit, minor.divisor));
}

/// Words of a thread side by side in a tile: those of rows that are 32 apart.
static int64_t getWordsBeside(const StripSpec &spec) {
  const ScaleExtent &major = spec.scaleForm[0];
  int64_t rows = getWarpExtent(spec, major.dim) / major.divisor;
  bool isWhole = getWarpBlocks(spec, spec.scaleForm[1].dim) == kTileCols;
  if (!spec.swizzled || !isWhole || rows % kWarpThreads != 0)
    return 1;
  return std::gcd(rows / kWarpThreads, numerics::kTileLineRows);
}

int64_t StripScaleTable::getStoredColumns(const StripSpec &spec) {
  return getStaticWidth(spec);
}

int64_t StripScaleTable::getAlignment(const StripSpec &spec) {
  if (spec.groupedTiles)
    return spec.groupRows != 0 ? numerics::kTileLineBytes : kTileCols;
  return getStaticWidth(spec) * getWordsBeside(spec);
}

StripScaleTable::StripScaleTable(KernelBuilder &b, const StripSpec &spec,
                                 const StripPosition &position, Value base,
                                 Value scales, const GroupedScales *grouped)
    : b(b), spec(spec), position(position), base(base), scales(scales),
      grouped(grouped), tableRows(getWarpBlocks(spec, spec.scaleForm[0].dim)),
      tableColumns(getWarpBlocks(spec, spec.scaleForm[1].dim)),
      repeats(spec.block[spec.scaleForm[0].dim] / spec.scaleForm[0].divisor) {}

void StripScaleTable::setGroup(const emit::Group &ownGroup,
                               const Beside &ownBeside) {
  group = ownGroup;
  beside = ownBeside;
}

//===----------------------------------------------------------------------===//
// Filling
//===----------------------------------------------------------------------===//

void StripScaleTable::put(ArrayRef<Lanes> pairs, int64_t count, Lanes row,
                          Lanes column, bool down) {
  if (!scales)
    return;
  auto getBlock = [](Lanes lane, int64_t extent, int64_t block, Lanes i) {
    return lane * extent / block + i;
  };
  Lanes blockRow =
      getBlock(position.laneRow, spec.shape->fragmentRows, spec.block[0], row);
  Lanes blockColumn = getBlock(position.laneColumn, spec.shape->fragmentColumns,
                               spec.block[1], column);
  bool alongRows = spec.hasScalesAlongRows();
  Lanes first = alongRows ? blockRow * tableColumns + blockColumn
                          : blockColumn * tableColumns + blockRow;
  Value address = emitAddress(b, base, b.getI8Type(), first);
  if (alongRows != down)
    return storeScaleBytes(b, pairs, address, count,
                           std::min<int64_t>(count, 4));
  for (int64_t i = 0; i < count; ++i) {
    Lanes byte = i % 2 == 0 ? pairs[i / 2] : pairs[i / 2] >> 8;
    b.store(truncate(byte, 8),
            b.offset(address, b.getI8Type(), b.i64(i * tableColumns)), 1);
  }
}

//===----------------------------------------------------------------------===//
// Storing
//===----------------------------------------------------------------------===//

/// Adjacent scales of a warp, at a row and byte of the warp's part of the
/// result.
struct StripScaleTable::Word {
  Lanes row;
  Lanes column;
};

Lanes StripScaleTable::getCount(int dimension) {
  const ScaleExtent &extent = spec.scaleForm[dimension];
  if (extent.dim == 1)
    return emit::ceilDiv(b, position.columns, extent.divisor);
  return emit::ceilDiv(b, position.rows, extent.divisor);
}

Lanes StripScaleTable::getEnd(int dimension) {
  const ScaleExtent &extent = spec.scaleForm[dimension];
  return extent.dim == 1 ? getCount(dimension)
                         : emit::ceilDiv(b, position.rowEnd, extent.divisor);
}

Lanes StripScaleTable::getPlace(int dimension, Lanes inWarp) {
  const ScaleExtent &extent = spec.scaleForm[dimension];
  Lanes first = extent.dim == 0 ? position.warpRow : position.warpColumn;
  return inWarp + first / extent.divisor;
}

void StripScaleTable::emitEachWord(int64_t width, int64_t beside,
                                   function_ref<void(const Word &)> body) {
  int64_t perRow = tableColumns / width;
  int64_t count = tableRows * repeats * perRow / beside;
  auto emitWord = [&](Lanes index) {
    if (beside == 1) {
      auto [row, word] = numerics::split(index, perRow);
      return body({row, word * width});
    }
    Lanes skipped = numerics::split(index, kWarpThreads).first * (beside - 1);
    skipped = skipped * kWarpThreads;
    body({index + skipped, getIndex(b, 0)});
  };
  if (count > kUnrolledWords * kWarpThreads)
    return emit::emitLoop(b, position.lane, getIndex(b, count), emitWord,
                          kWarpThreads);
  for (int64_t first = 0; first < count; first += kWarpThreads) {
    Lanes index = position.lane + first;
    if (first + kWarpThreads <= count)
      emitWord(index);
    else
      emit::emitIf(b, isBelow(index, count), [&] { emitWord(index); });
  }
}

Lanes StripScaleTable::loadWord(const Word &word, int64_t width, bool isZero) {
  Type type = b.getIntegerType(width * 8);
  if (isZero)
    return {b, arith::ConstantOp::create(b, b.getIntegerAttr(type, 0))};
  Lanes index = word.row / repeats * tableColumns;
  index = index + word.column;
  return b.load(type, emitAddress(b, base, b.getI8Type(), index), width);
}

/// Stores linear scales in words of `width` bytes. Only rows whose length is a
/// multiple of `width` start where such words do; others are stored in narrower
/// words.
void StripScaleTable::emitLinear(int64_t width, bool isZero) {
  auto emitWords = [&] {
    Lanes rows = getCount(0), columns = getCount(1);
    emitEachWord(width, /*beside=*/1, [&](const Word &word) {
      Lanes row = getPlace(0, word.row), column = getPlace(1, word.column);
      Lanes exists = isBelow(row, getEnd(0)) & isBelow(column, getEnd(1));
      emit::emitIf(b, exists, [&] {
        Lanes at = position.matrix * rows + row;
        at = at * columns + column;
        b.store(loadWord(word, width, isZero),
                emitAddress(b, scales, b.getI8Type(), at), width);
      });
    });
  };
  if (width == 1 || spec.scaleForm[1].dim == 1)
    return emitWords();
  Lanes left = getCount(1) % width;
  Lanes isAligned = isBelow(left, 1);
  emit::emitIf(b, isAligned, emitWords, [&] { emitLinear(width / 2, isZero); });
}

/// Stores the bytes of a word for which `exists` holds, one by one.
void StripScaleTable::storeBytes(const Word &word, int64_t width,
                                 function_ref<Lanes(int64_t)> exists,
                                 function_ref<Value(int64_t)> getAddress) {
  Lanes value = loadWord(word, width, /*isZero=*/false);
  for (int64_t i = 0; i < width; ++i)
    emit::emitIf(b, exists(i), [&] {
      b.store(truncate(width > 1 ? value >> (8 * i) : value, 8), getAddress(i),
              1);
    });
}

void StripScaleTable::storeWord(const Word &word, int64_t width, Value address,
                                Lanes column, Lanes columns) {
  auto emitWhole = [&] {
    b.store(loadWord(word, width, /*isZero=*/false), address, width);
  };
  if (!columns)
    return emitWhole();
  emit::emitIf(b, isBelow(column + (width - 1), columns), emitWhole, [&] {
    storeBytes(
        word, width, [&](int64_t i) { return isBelow(column + i, columns); },
        [&](int64_t i) { return b.offset(address, b.getI8Type(), b.i64(i)); });
  });
}

/// The columns of the scales of a word.
static SmallVector<Lanes> getColumns(Lanes first, int64_t width) {
  SmallVector<Lanes> columns;
  for (int64_t i = 0; i < width; ++i)
    columns.push_back(first + i);
  return columns;
}

/// Stores scales in a grouped layout. Each byte goes to the tiles of its group;
/// CTAs of their own clear the padding of these tiles (GroupedScales.h).
void StripScaleTable::emitGrouped(int64_t width) {
  Lanes rows = getCount(0), columns = getCount(1);
  const ScaleExtent &minor = spec.scaleForm[1];
  bool hasTails =
      minor.dim == 0 ||
      llvm::divideCeil(spec.shape->columnUnit, minor.divisor) % width != 0;
  // Where a row of the warp has one word, all threads store scales of the same
  // columns, whose groups the warp finds at once.
  SmallVector<emit::Group> shared;
  if (!grouped->alongRows() && tableColumns == width)
    shared = grouped->findInWarp(getColumns(getPlace(1, getIndex(b, 0)), width),
                                 position.lane);
  emitEachWord(width, /*beside=*/1, [&](const Word &word) {
    Lanes row = getPlace(0, word.row), column = getPlace(1, word.column);
    auto isCovered = [&](const emit::Group &group) {
      return isBelow(group.begin, group.end);
    };
    if (!grouped->alongRows()) {
      SmallVector<Lanes> places = getColumns(column, width);
      SmallVector<emit::Group> groups =
          shared.empty() ? grouped->find(places) : shared;
      return emit::emitIf(b, isBelow(row, rows), [&] {
        storeBytes(
            word, width, [&](int64_t i) { return isCovered(groups[i]); },
            [&](int64_t i) {
              return grouped->getAddress(groups[i], row, places[i]);
            });
      });
    }
    emit::Group group = grouped->find(row).front();
    Lanes exists = isCovered(group) & isBelow(column, columns);
    emit::emitIf(b, exists, [&] {
      storeWord(word, width, grouped->getAddress(group, row, column), column,
                hasTails ? columns : Lanes());
    });
  });
}

void StripScaleTable::emitInGroup(int64_t width) {
  Lanes rows = getEnd(0);
  Lanes columns = getEnd(1);
  if (!grouped->alongRows())
    columns = getGroupColumns();
  const ScaleExtent &minor = spec.scaleForm[1];
  bool hasTails =
      minor.dim == 1 &&
      llvm::divideCeil(spec.shape->columnUnit, minor.divisor) % width != 0;
  emitEachWord(width, /*beside=*/1, [&](const Word &word) {
    Lanes row = getPlace(0, word.row), column = getPlace(1, word.column);
    Lanes exists = isBelow(row, rows) & isBelow(column, columns);
    emit::emitIf(b, exists & beside.hasGroup, [&] {
      storeWord(word, width, grouped->getAddress(*group, row, column), column,
                hasTails ? columns : Lanes());
    });
  });
}

/// The column of scales behind those of the group that are stored.
Lanes StripScaleTable::getGroupColumns() {
  Lanes first = emit::ceilDiv(b, position.rowEnd, spec.scaleForm[1].divisor) -
                grouped->getSize(*group);
  return first + grouped->countStoredColumns(*group);
}

bool StripScaleTable::ownsTiles() const {
  int64_t columns = spec.shape->getWarpColumns() * beside.warps;
  return group && !grouped->alongRows() && repeats == 1 &&
         tableRows % kWarpThreads == 0 && columns % kTileRows == 0 &&
         spec.shape->columns % columns == 0 && tableColumns % kTileCols == 0;
}

/// Stores tiles: a warp has one at a time, and a thread the scales of rows that
/// are 32 apart, 16 bytes, from the tables of all warps.
void StripScaleTable::emitTiles() {
  int64_t tilesBeside = tableColumns / kTileCols;
  int64_t tiles = tableRows * beside.warps / kTileRows * tilesBeside;
  Lanes firstRow = position.warpColumn - beside.warp * tableRows;
  Lanes end = getGroupColumns();
  for (int64_t tile = 0; tile < tiles; ++tile) {
    int64_t row = tile / tilesBeside * kTileRows;
    int64_t column = tile % tilesBeside * kTileCols;
    Lanes place = getPlace(1, getIndex(b, column));
    Lanes isOwn = emit::isEqual(beside.warp, tile % beside.warps);
    emit::emitIf(b, isOwn & beside.hasGroup & isBelow(place, end), [&] {
      SmallVector<Value> words;
      for (int64_t part = 0; part < kTileRows; part += kWarpThreads) {
        int64_t inTables = row + part;
        Lanes byte = (position.lane + inTables % tableRows) * tableColumns +
                     (inTables / tableRows * beside.bytes + column);
        words.push_back(b.load(
            b.getI32Type(), emitAddress(b, beside.first, b.getI8Type(), byte),
            kTileCols));
      }
      b.store(
          b.pack(words),
          grouped->getAddress(*group, firstRow + position.lane + row, place),
          numerics::kTileLineBytes);
    });
  }
}

void StripScaleTable::emitWords(bool isZero) {
  int64_t width = getStaticWidth(spec);
  if (group)
    return emitInGroup(width);
  if (grouped)
    return emitGrouped(width);
  if (!spec.swizzled)
    return emitLinear(width, isZero);
  Lanes rows = getCount(0), columns = getCount(1);
  Lanes rowTiles = emit::ceilDiv(b, rows, kTileRows);
  Lanes columnTiles = emit::ceilDiv(b, columns, kTileCols);
  Lanes paddedRows = rowTiles * kTileRows;
  Lanes paddedColumns = columnTiles * kTileCols;
  int64_t beside = getWordsBeside(spec);
  emitEachWord(width, beside, [&](const Word &word) {
    Lanes row = getPlace(0, word.row), column = getPlace(1, word.column);
    Lanes exists = isBelow(row, paddedRows) & isBelow(column, paddedColumns);
    emit::emitIf(b, exists, [&] {
      Lanes tile = numerics::k128x4.getTileNumber(position.matrix * rowTiles,
                                                  row, column, columnTiles);
      Lanes byte = numerics::k128x4.getTiledOffset(tile, row, column);
      SmallVector<Lanes> values;
      for (int64_t i = 0; i < beside; ++i) {
        Lanes below = getIndex(b, i * kWarpThreads);
        Word next = {word.row + below, word.column};
        values.push_back(loadWord(next, width, isZero));
        if (isZero)
          continue;
        // Rows of padding lie beside those of data.
        Lanes zero = loadWord(next, width, /*isZero=*/true);
        values.back() = select(isBelow(row + below, rows), values.back(), zero);
      }
      b.store(beside == 1 ? values.front() : b.pack(values),
              emitAddress(b, scales, b.getI8Type(), byte), width * beside);
    });
  });
}

void StripScaleTable::emitStore() {
  if (!scales)
    return;
  if (ownsTiles()) {
    gpu::BarrierOp::create(b);
    return emitTiles();
  }
  NVVM::SyncWarpOp::create(b, b.i32(kAllLanes));
  emitWords(/*isZero=*/false);
}

void StripScaleTable::emitStoreZeros() { emitWords(/*isZero=*/true); }

} // namespace blockscale
