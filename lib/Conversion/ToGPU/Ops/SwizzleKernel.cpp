//===- SwizzleKernel.cpp - Scales from layout to layout -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Between linear scales and tiles of 128x4, a thread moves the scales of four
// rows, 32 apart, and of the columns of up to
// four tiles: in each of these tiles they are 16 bytes in a row. It has as many
// tiles as fill the widest access that the rows of the linear side allow.
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCode.h"
#include "DeviceEmission/GroupSearch.h"
#include "DeviceEmission/ScaleStore.h"
#include "Emission/OperandChecks.h"
#include "Kernels.h"
#include "Relayout.h"
#include "blockscale/IR/TypeRules.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <numeric>

using namespace mlir;

namespace blockscale {

using emit::Lanes;
using numerics::kTileBytes;
using numerics::kTileLineRows;
using numerics::kTileRowGroup;

/// The row of each 32, and the column, that a thread of a block has. Neighbours
/// are two along a row, then 32 rows, then two along the row again: a warp
/// moves whole sectors on both sides.
static constexpr numerics::BitLayout kSwizzlePlaces = {
    {numerics::MatrixDim::Row, 0, 0, 1, 5},
    {numerics::MatrixDim::Col, 0, 0, 0, 1},
    {numerics::MatrixDim::Col, 1, 0, 6, 1}};
static_assert(kSwizzlePlaces.getRows() == kTileRowGroup);

static constexpr int64_t kSwizzleThreads = 1 << kSwizzlePlaces.getPlaceBits();
/// Threads of a block along the columns; the others are along the rows.
static constexpr int64_t kThreadCols = kSwizzlePlaces.getCols();
/// Bytes of a load or store of the tiled side: a line of a tile.
static constexpr int64_t kSwizzleBytes = numerics::kTileLineBytes;

namespace {

/// The operands of the kernel: scales in both layouts, and the sizes of the
/// linear ones.
struct SwizzleOperands {
  Value linear, tiles;
  Lanes rows, cols, matrices;
};

class SwizzleEmitter {
public:
  SwizzleEmitter(KernelBuilder &b, bool toTiles, int64_t access,
                 const SwizzleOperands &operands)
      : b(b), toTiles(toTiles), access(access),
        threadTiles(std::max<int64_t>(access / kTileCols, 1)),
        linear(operands.linear), tiles(operands.tiles),
        rows(toIndex(b, operands.rows)), cols(toIndex(b, operands.cols)),
        matrices(toIndex(b, operands.matrices)) {}

  void emit();

private:
  /// Scales of a row that the thread has, a word for each tile.
  SmallVector<Lanes> emitLoadRow(Lanes row);
  void emitStoreRow(ArrayRef<Lanes> words, Lanes row);
  /// Address of scale `at` of the thread's in a row.
  Value getLinearAddress(Lanes row, int64_t at);
  /// Whether the row has scale `at` of the thread's.
  Lanes hasColumn(int64_t at) { return isBelow(firstCol + at, cols); }
  /// Address of the thread's 16 bytes of its tile number `tile`.
  Value getTileAddress(int64_t tile);
  Lanes hasTile(int64_t tile) { return isBelow(firstTile + tile, colTiles); }

  KernelBuilder &b;
  bool toTiles;
  /// Bytes of a load or store of the linear side.
  int64_t access;
  /// Tiles of a thread.
  int64_t threadTiles;
  Value linear, tiles;
  Lanes rows, cols, matrices;
  Lanes matrix, rowTile, rowTiles, colTiles, inGroup, firstTile, firstCol;
};

} // namespace

Value SwizzleEmitter::getLinearAddress(Lanes row, int64_t at) {
  return emitAddress(b, linear, b.getI8Type(),
                     (matrix * rows + row) * cols + (firstCol + at));
}

SmallVector<Lanes> SwizzleEmitter::emitLoadRow(Lanes row) {
  if (access >= kTileCols)
    return emitIfElseZero(b, hasColumn(0), [&] {
      return emitLoadWords(b, getLinearAddress(row, 0), access, access);
    });
  Type accessType = b.getIntegerType(access * 8);
  Lanes word = b.i32(0);
  for (int64_t at = 0; at < kTileCols; at += access) {
    Lanes bits = emitIfElseZero(b, hasColumn(at), [&] {
                   Lanes loaded =
                       b.load(accessType, getLinearAddress(row, at), access);
                   return SmallVector<Lanes>{extend(loaded, 32)};
                 }).front();
    word = word | (bits << (at * 8));
  }
  return {word};
}

void SwizzleEmitter::emitStoreRow(ArrayRef<Lanes> words, Lanes row) {
  if (access >= kTileCols)
    return emit::emitIf(b, hasColumn(0), [&] {
      emitStoreWords(b, words, getLinearAddress(row, 0), access);
    });
  for (int64_t at = 0; at < kTileCols; at += access)
    emit::emitIf(b, hasColumn(at), [&] {
      b.store(truncate(words.front() >> (at * 8), access * 8),
              getLinearAddress(row, at), access);
    });
}

Value SwizzleEmitter::getTileAddress(int64_t tile) {
  Lanes index = (matrix * rowTiles + rowTile) * colTiles + (firstTile + tile);
  return emitAddress(b, tiles, b.getI8Type(),
                     index * kTileBytes + inGroup * kSwizzleBytes);
}

void SwizzleEmitter::emit() {
  rowTiles = emit::ceilDiv(b, rows, kTileRows);
  colTiles = emit::ceilDiv(b, cols, kTileCols);
  matrix = emitMatrixNumber(b);
  // CTAs run along a band of tiles, then to the next band. Their numbers have
  // 32 bits.
  Lanes bandBlocks =
      toWord(b, emit::ceilDiv(b, colTiles, kThreadCols * threadTiles));
  auto [band, inBand] =
      numerics::split(toWord(b, emitBlockNumber(b)), bandBlocks);
  rowTile = toIndex(b, band);

  auto [ownRow, ownCol] =
      kSwizzlePlaces.getElement({emitThreadNumber(b, kSwizzleThreads)});
  inGroup = ownRow;
  firstTile = (toIndex(b, inBand) * kThreadCols + ownCol) * threadTiles;
  firstCol = firstTile * kTileCols;

  SmallVector<Lanes> row, hasRow;
  for (int64_t part = 0; part < kTileLineRows; ++part) {
    row.push_back(rowTile * kTileRows + (inGroup + part * kTileRowGroup));
    hasRow.push_back(isBelow(row.back(), rows));
  }
  emit::emitIf(b, isBelow(matrix, matrices), [&] {
    SmallVector<SmallVector<Lanes>> parts(kTileLineRows);
    if (toTiles) {
      for (int64_t i = 0; i < kTileLineRows; ++i)
        parts[i] =
            emitIfElseZero(b, hasRow[i], [&] { return emitLoadRow(row[i]); });
      for (int64_t tile = 0; tile < threadTiles; ++tile)
        emit::emitIf(b, hasTile(tile), [&] {
          SmallVector<Lanes> words;
          for (ArrayRef<Lanes> part : parts)
            words.push_back(part[tile]);
          emitStoreWords(b, words, getTileAddress(tile), kSwizzleBytes);
        });
      return;
    }
    for (int64_t tile = 0; tile < threadTiles; ++tile) {
      SmallVector<Lanes> words = emitIfElseZero(b, hasTile(tile), [&] {
        return emitLoadWords(b, getTileAddress(tile), kSwizzleBytes,
                             kSwizzleBytes);
      });
      for (int64_t i = 0; i < kTileLineRows; ++i)
        parts[i].push_back(words[i]);
    }
    for (int64_t i = 0; i < kTileLineRows; ++i)
      emit::emitIf(b, hasRow[i], [&] { emitStoreRow(parts[i], row[i]); });
  });
}

/// Bytes of the widest accesses that a row of linear scales has a whole number
/// of.
static int64_t getAccessBytes(MemRefType linear) {
  int64_t cols = linear.getShape().back();
  return ShapedType::isDynamic(cols) ? 1 : std::gcd(cols, kSwizzleBytes);
}

static void launchSwizzle(SwizzleOp op, LaunchSite &site) {
  ImplicitLocOpBuilder &b = site.b;
  bool toTiles = getScaleLayout(op.getSource().getType()).isLinear();
  Value source = site.lookup(op.getSource());
  Value result = site.lookup(op.getResult());
  Value linear = toTiles ? source : result, tiles = toTiles ? result : source;
  auto type = cast<MemRefType>(linear.getType());
  int64_t access = getAccessBytes(type);
  int64_t threadTiles = std::max<int64_t>(access / kTileCols, 1);

  emit::Indices sizes = emit::getLeadingSizes(b, linear, type.getRank());
  Lanes cols(b, sizes.pop_back_val()), rows(b, sizes.pop_back_val());
  Lanes matrices = emit::getProduct(b, sizes);
  Lanes blocks = getCeilDiv(b, rows, kTileRows) *
                 getCeilDiv(b, cols, kTileCols * threadTiles * kThreadCols);
  SwizzleOperands operands{linear, tiles, rows, cols, matrices};
  KernelSignature::Slot slots[] = {{operands.linear, access},
                                   {operands.tiles, kSwizzleBytes}};
  KernelSignature signature = {slots[toTiles ? 0 : 1],
                               slots[toTiles ? 1 : 0],
                               {operands.rows},
                               {operands.cols},
                               {operands.matrices}};
  site.launch(Twine(toTiles ? "swizzle_to_tiles_x" : "swizzle_from_tiles_x") +
                  Twine(access),
              {kSwizzleThreads, blocks, matrices}, signature,
              [&](KernelBuilder &b) {
                SwizzleEmitter(b, toTiles, access, operands).emit();
              });
}

/// Moves scales by the layout values alone.
static void launchAnySwizzle(SwizzleOp op, LaunchSite &site) {
  ImplicitLocOpBuilder &b = site.b;
  const numerics::ScaleLayout &from = getScaleLayout(op.getSource().getType());
  const numerics::ScaleLayout &to = getScaleLayout(op.getType());
  Value source = site.lookup(op.getSource());
  Value result = site.lookup(op.getResult());
  Value linear = from.isLinear() ? source : result;
  emit::Indices sizes = emit::getLeadingSizes(
      b, linear, cast<MemRefType>(linear.getType()).getRank());
  Lanes cols(b, sizes.pop_back_val()), rows(b, sizes.pop_back_val());
  Relayout relayout{{},
                    source,
                    result,
                    to,
                    op.getType().getShape().back(),
                    rows,
                    cols,
                    emit::getProduct(b, sizes)};
  llvm::raw_string_ostream os(relayout.name);
  os << "relayout_" << from.name << "_to_" << to.name << "_x"
     << relayout.getWidth();
  launchRelayout(
      site, relayout, [&](KernelBuilder &b, const RelayoutPlace &place) {
        Lanes before = place.matrix * from.getRowTiles(place.rows);
        Lanes tile = from.getTileNumber(before, place.row, place.col,
                                        from.getColTiles(place.cols));
        return from.getTiledOffset(tile, place.row, place.col);
      });
}

LogicalResult lowerKernel(SwizzleOp op, LaunchSite &site) {
  emit::requireOperands(op, site.call);
  site.emitAsserts();
  if (emit::isCopy(op))
    memref::CopyOp::create(site.b, site.lookup(op.getSource()),
                           site.lookup(op.getResult()));
  else if (op.getGroupedLayout())
    launchGroupedSwizzle(op, site);
  else if (hasKernelOrder(op.getSource().getType()) &&
           hasKernelOrder(op.getType()))
    launchSwizzle(op, site);
  else
    launchAnySwizzle(op, site);
  return success();
}

} // namespace blockscale
