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

using emit::add;
using emit::div;
using emit::getIndex;
using emit::Lanes;
using emit::mul;
using emit::rem;

/// Bytes of a store at most: the columns of a tile.
static constexpr int64_t kStoreBytes = kTileCols;
/// The most words of a thread that are stored without a loop.
static constexpr int64_t kUnrolledWords = 4;

static int64_t getWarpExtent(const StripSpec &spec, unsigned dim) {
  return dim == 0 ? spec.getWarpRows() : spec.getWarpColumns();
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
  if (spec.swizzled || spec.groupedTiles || minor.dim == 0)
    return width;
  return std::gcd(width, llvm::divideCeil(spec.columnUnit, minor.divisor));
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

int64_t StripScaleTable::getAlignment(const StripSpec &spec) {
  if (spec.groupedTiles)
    return kTileCols;
  return getStaticWidth(spec) * getWordsBeside(spec);
}

StripScaleTable::StripScaleTable(KernelBuilder &b, const StripSpec &spec,
                                 const StripPosition &position, Value base,
                                 Value scales, const GroupedScales *grouped)
    : b(b), spec(spec), position(position), base(base), scales(scales),
      grouped(grouped), tableRows(getWarpBlocks(spec, spec.scaleForm[0].dim)),
      tableColumns(getWarpBlocks(spec, spec.scaleForm[1].dim)),
      repeats(spec.block[spec.scaleForm[0].dim] / spec.scaleForm[0].divisor) {}

//===----------------------------------------------------------------------===//
// Filling
//===----------------------------------------------------------------------===//

void StripScaleTable::put(ValueRange pairs, int64_t count, Value row,
                          Value column, bool down) {
  auto getBlock = [&](Value lane, int64_t extent, int64_t block, Value i) {
    return add(b, div(b, mul(b, lane, extent), block), i);
  };
  Value blockRow =
      getBlock(position.laneRow, spec.fragmentRows, spec.block[0], row);
  Value blockColumn = getBlock(position.laneColumn, spec.fragmentColumns,
                               spec.block[1], column);
  bool alongRows = spec.hasScalesAlongRows();
  Value first = alongRows ? add(b, mul(b, blockRow, tableColumns), blockColumn)
                          : add(b, mul(b, blockColumn, tableColumns), blockRow);
  Value address = emitAddress(b, base, b.getI8Type(), first);
  if (alongRows != down)
    return storeScaleBytes(b, pairs, address, count,
                           std::min<int64_t>(count, 4));
  for (int64_t i = 0; i < count; ++i) {
    Value byte = pairs[i / 2];
    if (i % 2 != 0)
      byte = arith::ShRUIOp::create(
          b, byte, arith::ConstantOp::create(b, b.getI16IntegerAttr(8)));
    b.store(arith::TruncIOp::create(b, b.getI8Type(), byte),
            b.offset(address, b.getI8Type(), b.i64(i * tableColumns)), 1);
  }
}

//===----------------------------------------------------------------------===//
// Storing
//===----------------------------------------------------------------------===//

/// Adjacent scales of a warp, at a row and byte of the warp's part of the
/// result.
struct StripScaleTable::Word {
  Value row;
  Value column;
};

Value StripScaleTable::getCount(int dimension) {
  const ScaleExtent &extent = spec.scaleForm[dimension];
  if (extent.dim == 1)
    return emit::ceilDiv(b, position.columns, extent.divisor);
  return emit::ceilDiv(b, position.rows, extent.divisor);
}

Value StripScaleTable::getPlace(int dimension, Value inWarp) {
  const ScaleExtent &extent = spec.scaleForm[dimension];
  Value first = extent.dim == 0 ? position.warpRow : position.warpColumn;
  return add(b, inWarp, div(b, first, extent.divisor));
}

void StripScaleTable::emitEachWord(int64_t width, int64_t beside,
                                   function_ref<void(const Word &)> body) {
  int64_t perRow = tableColumns / width;
  int64_t count = tableRows * repeats * perRow / beside;
  auto emitWord = [&](Value index) {
    if (beside == 1)
      return body(
          {div(b, index, perRow), mul(b, rem(b, index, perRow), width)});
    Value skipped = mul(b, div(b, index, kWarpThreads), beside - 1);
    skipped = mul(b, skipped, kWarpThreads);
    body({add(b, index, skipped), getIndex(b, 0)});
  };
  if (count > kUnrolledWords * kWarpThreads)
    return emit::emitLoop(b, position.lane, getIndex(b, count), emitWord,
                          kWarpThreads);
  for (int64_t first = 0; first < count; first += kWarpThreads) {
    Value index = add(b, position.lane, getIndex(b, first));
    if (first + kWarpThreads <= count)
      emitWord(index);
    else
      emit::emitIf(b, isBelow(b, index, getIndex(b, count)),
                   [&] { emitWord(index); });
  }
}

Value StripScaleTable::loadWord(const Word &word, int64_t width, bool isZero) {
  Type type = b.getIntegerType(width * 8);
  if (isZero)
    return arith::ConstantOp::create(b, b.getIntegerAttr(type, 0));
  Value index = mul(b, div(b, word.row, repeats), tableColumns);
  index = add(b, index, word.column);
  return b.load(type, emitAddress(b, base, b.getI8Type(), index), width);
}

/// Stores linear scales in words of `width` bytes. Only rows whose length is a
/// multiple of `width` start where such words do; others are stored in narrower
/// words.
void StripScaleTable::emitLinear(int64_t width, bool isZero) {
  auto emitWords = [&] {
    Value rows = getCount(0), columns = getCount(1);
    emitEachWord(width, /*beside=*/1, [&](const Word &word) {
      Value row = getPlace(0, word.row), column = getPlace(1, word.column);
      Value exists = arith::AndIOp::create(b, isBelow(b, row, rows),
                                           isBelow(b, column, columns));
      emit::emitIf(b, exists, [&] {
        Value at = add(b, mul(b, position.matrix, rows), row);
        at = add(b, mul(b, at, columns), column);
        b.store(loadWord(word, width, isZero),
                emitAddress(b, scales, b.getI8Type(), at), width);
      });
    });
  };
  if (width == 1 || spec.scaleForm[1].dim == 1)
    return emitWords();
  Value left = rem(b, getCount(1), width);
  Value isAligned = isBelow(b, left, getIndex(b, 1));
  emit::emitIf(b, isAligned, emitWords, [&] { emitLinear(width / 2, isZero); });
}

/// Stores the bytes of a word for which `exists` holds, one by one.
void StripScaleTable::storeBytes(const Word &word, int64_t width,
                                 function_ref<Value(int64_t)> exists,
                                 function_ref<Value(int64_t)> getAddress) {
  Value value = loadWord(word, width, /*isZero=*/false);
  for (int64_t i = 0; i < width; ++i)
    emit::emitIf(b, exists(i), [&] {
      Value byte = value;
      if (width > 1) {
        Value shift = arith::ConstantOp::create(
            b, b.getIntegerAttr(value.getType(), 8 * i));
        byte = arith::TruncIOp::create(b, b.getI8Type(),
                                       arith::ShRUIOp::create(b, value, shift));
      }
      b.store(byte, getAddress(i), 1);
    });
}

/// Stores scales in a grouped layout. Each byte goes to the tiles of its group;
/// CTAs of their own clear the padding of these tiles (GroupedScales.h).
void StripScaleTable::emitGrouped(int64_t width) {
  Value rows = getCount(0), columns = getCount(1);
  const ScaleExtent &minor = spec.scaleForm[1];
  bool hasTails = minor.dim == 0 ||
                  llvm::divideCeil(spec.columnUnit, minor.divisor) % width != 0;
  emitEachWord(width, /*beside=*/1, [&](const Word &word) {
    Value row = getPlace(0, word.row), column = getPlace(1, word.column);
    auto isCovered = [&](const emit::Group &group) {
      return isBelow(b, group.begin, group.end);
    };
    if (!grouped->alongRows()) {
      SmallVector<Value> places;
      for (int64_t i = 0; i < width; ++i)
        places.push_back(add(b, column, getIndex(b, i)));
      SmallVector<emit::Group> groups = grouped->find(places);
      return emit::emitIf(b, isBelow(b, row, rows), [&] {
        storeBytes(
            word, width, [&](int64_t i) { return isCovered(groups[i]); },
            [&](int64_t i) {
              return grouped->getAddress(groups[i], row, places[i]);
            });
      });
    }
    emit::Group group = grouped->find(row).front();
    Value exists =
        arith::AndIOp::create(b, isCovered(group), isBelow(b, column, columns));
    emit::emitIf(b, exists, [&] {
      Value address = grouped->getAddress(group, row, column);
      auto emitWhole = [&] {
        b.store(loadWord(word, width, /*isZero=*/false), address, width);
      };
      if (!hasTails)
        return emitWhole();
      auto getEnd = [&](int64_t i) { return add(b, column, getIndex(b, i)); };
      emit::emitIf(b, isBelow(b, getEnd(width - 1), columns), emitWhole, [&] {
        storeBytes(
            word, width,
            [&](int64_t i) { return isBelow(b, getEnd(i), columns); },
            [&](int64_t i) {
              return b.offset(address, b.getI8Type(), b.i64(i));
            });
      });
    });
  });
}

void StripScaleTable::emitWords(bool isZero) {
  int64_t width = getStaticWidth(spec);
  if (grouped)
    return emitGrouped(width);
  if (!spec.swizzled)
    return emitLinear(width, isZero);
  Value rows = getCount(0), columns = getCount(1);
  Value rowTiles = emit::ceilDiv(b, rows, kTileRows);
  Value columnTiles = emit::ceilDiv(b, columns, kTileCols);
  Value paddedRows = mul(b, rowTiles, kTileRows);
  Value paddedColumns = mul(b, columnTiles, kTileCols);
  int64_t beside = getWordsBeside(spec);
  emitEachWord(width, beside, [&](const Word &word) {
    Value row = getPlace(0, word.row), column = getPlace(1, word.column);
    Value exists = arith::AndIOp::create(b, isBelow(b, row, paddedRows),
                                         isBelow(b, column, paddedColumns));
    emit::emitIf(b, exists, [&] {
      Lanes r(b, row), c(b, column);
      Lanes tile =
          numerics::getTileNumber(Lanes(b, mul(b, position.matrix, rowTiles)),
                                  r, c, Lanes(b, columnTiles));
      Value byte = numerics::getTiledOffset(tile, r, c);
      SmallVector<Value> values;
      for (int64_t i = 0; i < beside; ++i) {
        Value below = getIndex(b, i * kWarpThreads);
        Word next = {add(b, word.row, below), word.column};
        values.push_back(loadWord(next, width, isZero));
        if (isZero)
          continue;
        // Rows of padding lie beside those of data.
        Value zero = loadWord(next, width, /*isZero=*/true);
        values.back() = arith::SelectOp::create(
            b, isBelow(b, add(b, row, below), rows), values.back(), zero);
      }
      b.store(beside == 1 ? values.front() : b.pack(values),
              emitAddress(b, scales, b.getI8Type(), byte), width * beside);
    });
  });
}

void StripScaleTable::emitStore() {
  NVVM::SyncWarpOp::create(b, b.i32(kAllLanes));
  emitWords(/*isZero=*/false);
}

void StripScaleTable::emitStoreZeros() { emitWords(/*isZero=*/true); }

} // namespace blockscale
