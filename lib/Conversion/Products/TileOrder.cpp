//===- TileOrder.cpp - Which tiles a CTA computes -------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileOrder.h"
#include "Arithmetic.h"
#include "DepthSteps.h"
#include "DeviceEmission/DeviceCode.h"
#include "DeviceEmission/GroupCheck.h"
#include "blockscale/Numerics/GroupEnds.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace blockscale::products {

using emit::Lanes;

SmallVector<Value>
emitCount(KernelBuilder &b, Value count, ValueRange inits,
          function_ref<SmallVector<Value>(Lanes, ValueRange)> body) {
  auto loop = scf::ForOp::create(b, b.i32(0), count, b.i32(1), inits);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> results =
      body({b, loop.getInductionVar()}, loop.getRegionIterArgs());
  // The loop makes its own end where nothing is carried.
  if (!inits.empty())
    scf::YieldOp::create(b, results);
  return SmallVector<Value>(loop.getResults());
}

TileOrder::TileOrder(KernelBuilder &b, const GemmSpec &spec,
                     const GemmArguments &arguments, TileNeighbours neighbours)
    : spec(spec), arguments(arguments), neighbours(neighbours),
      tileCols(emitCeilDiv(b, arguments.cols,
                           spec.getResultCols() * neighbours.tiles)),
      bandsA(emitCeilDiv(b, arguments.rows, kTileRows)),
      bandsB(emitCeilDiv(
          b, spec.hasBlocksAcross ? arguments.depth : arguments.cols,
          kTileRows)),
      scaleTiles(getScaleTiles(
          b, spec, spec.hasBlocksAcross ? arguments.cols : arguments.depth)) {
  auto getCluster = [&, neighbours](Value index) {
    Lanes number(b, arith::IndexCastOp::create(b, b.getI32Type(), index));
    return number >> llvm::Log2_64(neighbours.blocks);
  };
  first = getCluster(emitBlockNumber(b));
  clusters = getCluster(gpu::GridDimOp::create(b, gpu::Dimension::x));
}

TileOrder::Extent TileOrder::getExtent(KernelBuilder &b, Value rows) const {
  Lanes tileRows = emitCeilDiv(b, rows, spec.schedule.getRows());
  return {tileRows, tileRows * tileCols};
}

void TileOrder::setTile(KernelBuilder &b, TileCoord &tile, Lanes number,
                        Lanes tileRows) const {
  int64_t band = spec.schedule.getBand();
  Lanes bandNumber = divide(b, number, tileCols * band);
  Lanes rest = number - bandNumber * (tileCols * band);
  Lanes firstRow = bandNumber * band;
  Lanes height = minUnsigned(tileRows - firstRow, tileRows.like(band));
  Lanes col = divide(b, rest, height);
  tile.row = firstRow + (rest - col * height);
  tile.col = col * neighbours.tiles + neighbours.tile;
}

//===----------------------------------------------------------------------===//
// Matrices of a batch
//===----------------------------------------------------------------------===//

ProductRange TileOrder::getWhole(KernelBuilder &b, Lanes matrix) const {
  Lanes number = toI64(b, matrix), row = toI64(b, scaleTiles);
  Lanes firstBand = matrix * bandsA;
  return {/*number=*/matrix,
          /*matrixA=*/matrix,
          /*matrixB=*/matrix,
          /*firstRow=*/b.i32(0),
          Lanes(b, arguments.rows),
          /*firstDepth=*/b.i32(0),
          Lanes(b, arguments.depth),
          firstBand,
          /*scalesA=*/toI64(b, firstBand) * row,
          /*scalesB=*/number * toI64(b, bandsB) * row,
          /*bandTiles=*/scaleTiles};
}

/// Leaves a tile the steps of one of `parts` parts of K.
static void takePart(KernelBuilder &b, TileCoord &tile, int64_t parts,
                     Lanes number) {
  Lanes steps = tile.end;
  Lanes part = emitCeilDiv(b, steps, parts);
  tile.begin = minUnsigned(number * part, steps);
  tile.end = minUnsigned(tile.begin + part, steps);
}

void TileOrder::setSteps(KernelBuilder &b, TileCoord &tile, Value depth) const {
  tile.begin = b.i32(0);
  tile.end = getSteps(b, spec, depth);
  if (neighbours.parts > 1)
    takePart(b, tile, neighbours.parts, neighbours.part);
}

/// The coordinates of tile `number` among the tiles of all matrices and parts
/// of K.
TileCoord TileOrder::getCoord(KernelBuilder &b, Lanes number) const {
  int64_t splits = getSplits();
  auto [tileRows, count] = getExtent(b, arguments.rows);
  Lanes sums = divide(b, number, count);
  Lanes matrix = splits > 1 ? divide(b, sums, sums.like(splits)) : sums;
  TileCoord tile;
  tile.product = getWhole(b, matrix);
  setTile(b, tile, number - sums * count, tileRows);
  tile.firstResult = toI64(b, sums) * toI64(b, arguments.rows);
  setSteps(b, tile, arguments.depth);
  if (splits > 1)
    takePart(b, tile, splits, sums - matrix * splits);
  return tile;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

void TileOrder::emitCheckGroups(KernelBuilder &b, Value isChecker,
                                Value thread) const {
  if (spec.groups == GroupDim::None)
    return;
  emit::GroupRules rules{runtime::ErrorOp::ScaledGroupedMM, getGroupUnit()};
  if (hasBeginRule())
    rules.beginUnit = spec.getBeginUnit();
  Lanes isFirst = emit::isEqual(emitBlockNumber(b), 0);
  blockscale::emitCheckGroups(b, rules, arguments.offsets, arguments.matrices,
                              getGroupedExtent(), isFirst & isChecker, thread);
}

/// The end that code goes on with.
Lanes TileOrder::getEnd(KernelBuilder &b, Lanes group, Lanes begin) const {
  Lanes offset(b, b.load(b.getI32Type(),
                         b.offset(arguments.offsets, b.getI32Type(), group),
                         sizeof(int32_t)));
  Lanes end = numerics::getGroupEnd(offset, begin, Lanes(b, getGroupedExtent()),
                                    getGroupUnit());
  if (!hasBeginRule())
    return end;
  // A group whose first codes cannot be copied is empty, too.
  Lanes canBegin = emit::isEqual(begin & (spec.getBeginUnit() - 1), 0);
  return select(canBegin, end, begin);
}

ProductRange TileOrder::getGroup(KernelBuilder &b, Lanes group, Lanes begin,
                                 Lanes end, Lanes scalesBefore) const {
  Lanes size = end - begin, before = toI64(b, scalesBefore);
  ProductRange range = getWhole(b, group);
  if (spec.groups == GroupDim::Rows) {
    range.matrixA = b.i32(0);
    range.firstRow = begin;
    range.rows = size;
    range.firstBand = scalesBefore;
    range.scalesA = before * toI64(b, scaleTiles);
    return range;
  }
  range.matrixA = range.matrixB = b.i32(0);
  range.firstDepth = begin;
  range.depth = size;
  range.scalesA = before * toI64(b, bandsA);
  range.scalesB = before * toI64(b, bandsB);
  range.bandTiles = getScaleTiles(b, spec, size);
  return range;
}

TileOrder::Carried TileOrder::emitProduct(KernelBuilder &b,
                                          const ProductRange &product,
                                          Lanes firstResult,
                                          ValueRange nextAndInits,
                                          TileBody body) const {
  Extent extent = getExtent(b, product.rows);
  TileCoord tile;
  tile.product = product;
  tile.firstResult = firstResult;
  setSteps(b, tile, product.depth);
  Carried carried = emitWhile(
      b, nextAndInits,
      [&](ValueRange values) {
        return isBelow(b, values.front(), extent.count);
      },
      [&](ValueRange values) {
        Lanes number(b, values.front());
        setTile(b, tile, number, extent.tileRows);
        Carried next = {number + clusters};
        llvm::append_range(next, body(tile, values.drop_front()));
        return next;
      });
  carried.front() = Lanes(b, carried.front()) - extent.count;
  return carried;
}

/// Emits the loop over groups. Beside `inits` it carries the end of the group
/// before, the bands (of rows) or tiles (of K) of scales of all groups before,
/// and the next tile of the CTA, counted from the first one of the group.
TileOrder::Carried TileOrder::emitGroups(KernelBuilder &b, ValueRange inits,
                                         TileBody body,
                                         OtherTiles *others) const {
  Carried carried = {b.i32(0), b.i32(0), first};
  llvm::append_range(carried, inits);
  bool isRows = spec.groups == GroupDim::Rows;
  carried = emitCount(
      b, arguments.matrices, carried, [&](Lanes group, ValueRange values) {
        Lanes begin(b, values[0]), before(b, values[1]);
        Lanes end = getEnd(b, group, begin);
        ProductRange range = getGroup(b, group, begin, end, before);
        Lanes firstResult = isRows ? toI64(b, begin)
                                   : toI64(b, group) * toI64(b, arguments.rows);
        Lanes scales =
            isRows ? emitCeilDiv(b, range.rows, kTileRows) : range.bandTiles;
        Carried next = {end, before + scales};
        llvm::append_range(next, emitProduct(b, range, firstResult,
                                             values.drop_front(2), body));
        return next;
      });
  Lanes covered(b, carried[0]), scales(b, carried[1]);
  Carried nextAndInits(llvm::drop_begin(carried, 2));
  if (others && isRows) {
    ProductRange rest =
        getGroup(b, b.i32(0), covered, Lanes(b, arguments.rows), scales);
    nextAndInits = emitProduct(b, rest, toI64(b, covered), nextAndInits,
                               [&](const TileCoord &tile, ValueRange values) {
                                 others->emitTile(tile);
                                 return Carried(values);
                               });
    others->emitRest(rest, first, clusters);
  }
  nextAndInits.erase(nextAndInits.begin());
  return nextAndInits;
}

TileOrder::Carried TileOrder::emitTiles(KernelBuilder &b, ValueRange inits,
                                        TileBody body,
                                        OtherTiles *others) const {
  if (spec.groups != GroupDim::None)
    return emitGroups(b, inits, body, others);
  Lanes tiles = getExtent(b, arguments.rows).count *
                Lanes(b, arguments.matrices) * getSplits();
  Carried carried = {first};
  llvm::append_range(carried, inits);
  carried = emitWhile(
      b, carried,
      [&](ValueRange values) { return isBelow(b, values.front(), tiles); },
      [&](ValueRange values) {
        Lanes number(b, values.front());
        Carried next = {number + clusters};
        llvm::append_range(next,
                           body(getCoord(b, number), values.drop_front()));
        return next;
      });
  carried.erase(carried.begin());
  return carried;
}

} // namespace blockscale::products
