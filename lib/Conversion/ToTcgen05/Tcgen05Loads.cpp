//===- Tcgen05Loads.cpp - Operands into shared memory ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Data come by tensor maps, which fill rows and columns beyond the operand with
// zeros. Scales of 128 rows are tiles one after the other along K, so a flat
// copy brings those of a stage. Where a tile has 256 rows and the operand ends
// in the first half, the scales of the second are those of the first again:
// what they scale is zero, or of no result.
//
// A flat copy completes a barrier of its own CTA. In a pair the leader waits
// for both, so scales come by tensor maps, too: all tiles of an operand, a
// quarter of a tile a row. What a copy brings behind the last tile of a band
// belongs to steps that are not multiplied.
//
// Groups are parts of the one map of an operand. What a tile has beyond its
// group are rows without results, or elements of K whose scales are set to 0
// before they are multiplied (docs/Rationale.md).
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCode.h"
#include "Products/Arithmetic.h"
#include "Tcgen05Roles.h"

using namespace mlir;

namespace blockscale::products {

using emit::Lanes;

namespace {

/// One of the two operands.
struct OperandLoads {
  /// The memory that data and scales come from. Data has a tensor map. Scales
  /// are a pointer to memory or, in a pair, a tensor map.
  struct Source {
    Value data, scale;
  };
  /// The source of each product that has a part of the rows of a tile.
  SmallVector<Source, 2> sources;
  /// Rows of a tile, and how many of them a CTA has data of and scales of.
  int64_t tileRows, dataRows, scaleRows;
  /// Offsets of the data and the scales of stage 0 in shared memory.
  int64_t data, scales;
  /// The number of pairs that have the same rows.
  int64_t sharers;
  numerics::ElementFormat format;
};

/// The part of an operand that a tile needs.
struct OperandRange {
  Lanes matrix;
  /// The first row of the product, and how many it has, i32.
  Lanes firstRow, rows;
  /// The first tile of scales, i64.
  Lanes scales;
  /// Number of the tile.
  Lanes tile;
};

/// The stage that is loaded, all i32.
struct Stage {
  Lanes slot;
  /// Number of the step along K, and the place of its data, in the elements of
  /// the map.
  Lanes step, depth;
  /// Tiles of scales along K: of a band, and of this stage.
  Lanes bandTiles, scaleTiles;
};

class LoadEmitter {
public:
  LoadEmitter(KernelBuilder &b, const Tcgen05Context &context);

  void emit();

private:
  void emitTile(const TileCoord &tile, const Stage &stage);
  void emitCopy(Value target, Value map, ValueRange coordinates, Value mask,
                const Stage &stage);
  void emitData(const OperandLoads &operand, const OperandRange &range,
                const Stage &stage);
  void emitScales(const OperandLoads &operand, const OperandRange &range,
                  const Stage &stage);
  /// Bytes that arrive in a stage, but for scales, and of scales a tile of K.
  int64_t getDataBytes() const;
  int64_t getScaleTileBytes() const;

  KernelBuilder &b;
  const Tcgen05Context &context;
  const Cluster &cluster;
  const GemmFormat &format;
  OperandLoads operands[2];
};

} // namespace

LoadEmitter::LoadEmitter(KernelBuilder &b, const Tcgen05Context &context)
    : b(b), context(context), cluster(context.cluster),
      format(context.spec.format) {
  const GemmArguments &arguments = context.arguments;
  const GemmScheduleAttr schedule = context.spec.schedule;
  const BlockRows &mine = context.mine;
  operands[0] = {{{arguments.mapA, arguments.scaleA}},
                 schedule.getRows(),
                 mine.dataA,
                 mine.scaleA,
                 context.shared.dataA,
                 context.shared.scaleA,
                 cluster.getPairs(),
                 format.a};
  operands[1] = {{},
                 schedule.getCols(),
                 mine.dataB,
                 mine.scaleB,
                 context.shared.dataB,
                 context.shared.scaleB,
                 /*sharers=*/1,
                 format.b};
  for (const ProductArguments &product : arguments.products)
    operands[1].sources.push_back({product.mapB, product.scaleB});
}

void LoadEmitter::emitCopy(Value target, Value map, ValueRange coordinates,
                           Value mask, const Stage &stage) {
  Value barrier = context.stageFull.get(b, stage.slot);
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
      b, cluster.toCluster(b, target), map, coordinates,
      cluster.getLeaderBarrier(b, barrier), /*im2colOffsets=*/ValueRange(),
      mask, /*l2CacheHint=*/Value(), NVVM::TMALoadMode::TILE,
      /*isCTAOnly=*/!cluster.isPair(),
      cluster.isPair() ? cluster.getGroupAttr(b) : NVVM::CTAGroupKindAttr(),
      /*predicate=*/Value());
}

/// Loads the data of an operand for one stage. Rows that pairs share are
/// divided among them, and each CTA loads its part for all. Where a tile has
/// rows of two products, each CTA of a pair has the rows of one.
void LoadEmitter::emitData(const OperandLoads &operand,
                           const OperandRange &range, const Stage &stage) {
  int64_t part = operand.dataRows / operand.sharers;
  Lanes first(b, b.i32(0));
  if (operand.sharers > 1)
    first = cluster.pair * part;
  Value target =
      context.getShared(b, operand.data, stage.slot,
                        SharedLayout::getDataBytes(operand.dataRows));
  target = b.offset(target, b.getI8Type(), first * kRowBytes);
  auto products = static_cast<int64_t>(operand.sources.size());
  int64_t tileRows = operand.tileRows / products;
  Lanes row = range.firstRow + range.tile * tileRows;
  Value mask = operand.sharers > 1 ? cluster.getMulticastMask(b) : Value();
  auto emit = [&](Value target, Value map, Lanes row) {
    Value coordinates[] = {stage.depth, row, range.matrix};
    emitCopy(target, map, coordinates, mask, stage);
  };
  if (products == 1) {
    row = row + cluster.member * operand.dataRows + first;
    return emit(target, operand.sources.front().data, row);
  }
  for (int64_t i = 0; i < products; ++i) {
    Value map = operand.sources[i].data;
    if (!cluster.isPair()) {
      int64_t offset = i * SharedLayout::getDataBytes(tileRows);
      emit(b.offset(target, b.getI8Type(), b.i32(offset)), map, row);
      continue;
    }
    Value isMine = compare(arith::CmpIPredicate::eq, cluster.member, i);
    emit::emitIf(b, isMine, [&] { emit(target, map, row); });
  }
}

void LoadEmitter::emitScales(const OperandLoads &operand,
                             const OperandRange &range, const Stage &stage) {
  auto products = static_cast<int64_t>(operand.sources.size());
  int64_t bands = operand.tileRows / products / kTileRows;
  int64_t mine = operand.scaleRows / kTileRows;
  int64_t scaleTiles = format.getScaleTiles();
  Value target =
      context.getShared(b, operand.scales, stage.slot,
                        SharedLayout::getScaleBytes(format, operand.scaleRows));
  Lanes first = range.tile * bands;
  if (mine < bands)
    first = first + cluster.member * mine;
  Lanes last = Lanes(b, emitCeilDiv(b, range.rows, kTileRows)) - 1;
  for (int64_t i = 0; i < mine; ++i) {
    Value source = operand.sources[i / bands].scale;
    Lanes band = first + i % bands;
    if (bands > 1)
      band = minUnsigned(band, last);
    Lanes scaleTile = toI64(b, band) * toI64(b, stage.bandTiles) +
                      range.scales + toI64(b, stage.step) * scaleTiles;
    Value part =
        b.offset(target, b.getI8Type(), b.i32(i * scaleTiles * kTileBytes));
    if (cluster.isPair()) {
      constexpr int64_t quarters = kTileBytes / kRowBytes;
      Value coordinates[] = {b.i32(0), truncate(scaleTile * quarters, 32)};
      emitCopy(part, source, coordinates, /*mask=*/Value(), stage);
      continue;
    }
    NVVM::CpAsyncBulkGlobalToSharedClusterOp::create(
        b, part, b.offset(source, b.getI8Type(), scaleTile * kTileBytes),
        context.stageFull.get(b, stage.slot), stage.scaleTiles * kTileBytes,
        /*multicastMask=*/Value(),
        /*l2CacheHint=*/Value());
  }
}

int64_t LoadEmitter::getDataBytes() const {
  // Boxes count in full, whatever of them is beyond the operand, but for the
  // gaps between padded codes.
  int64_t bytes = 0;
  for (const OperandLoads &operand : operands) {
    int64_t data = SharedLayout::getDataBytes(operand.dataRows);
    bytes += format.isPadded(operand.format) ? data / 2 : data;
  }
  return bytes * cluster.getTileBlocks();
}

int64_t LoadEmitter::getScaleTileBytes() const {
  int64_t rows = operands[0].scaleRows + operands[1].scaleRows;
  return rows / kTileRows * kTileBytes * cluster.getTileBlocks();
}

void LoadEmitter::emitTile(const TileCoord &tile, const Stage &stage) {
  cluster.emitIfLeader(b, [&] {
    // Maps bring whole boxes of scales, too.
    Lanes scaleTiles = cluster.isPair()
                           ? stage.scaleTiles.like(format.getScaleTiles())
                           : stage.scaleTiles;
    context.stageFull.emitExpect(
        b, stage.slot, scaleTiles * getScaleTileBytes() + getDataBytes());
  });
  const ProductRange &product = tile.product;
  OperandRange ranges[] = {{product.matrixA, product.firstRow, product.rows,
                            product.scalesA, tile.row},
                           {product.matrixB,
                            {b, b.i32(0)},
                            {b, context.arguments.cols},
                            product.scalesB,
                            tile.col}};
  for (auto [operand, range] : llvm::zip_equal(operands, ranges)) {
    emitData(operand, range, stage);
    emitScales(operand, range, stage);
  }
}

void LoadEmitter::emit() {
  int64_t stepTiles = format.getScaleTiles();
  // Elements of a byte, where a group begins at any block. Codes in a byte's
  // place begin at 0.
  int64_t packed = format.getStageElements() / kRowBytes;
  auto emitSteps = [&](const TileCoord &tile, ValueRange carried) {
    Lanes begin = tile.begin, allTiles = tile.product.bandTiles;
    Lanes firstByte = tile.product.firstDepth >> llvm::Log2_64(packed);
    Lanes count = tile.end - begin;
    return emitCount(b, count, carried, [&](Value number, ValueRange carried) {
      Lanes step = begin + Lanes(b, number);
      RingSlot slot = RingSlot::of(carried);
      context.stageEmpty.emitWaitEmpty(b, slot);
      Lanes scaleTiles =
          minUnsigned(allTiles - step * stepTiles, allTiles.like(stepTiles));
      // A row of the box is 128 bytes, or as many codes in a byte's place.
      emitTile(tile, {{b, slot.index},
                      step,
                      firstByte + step * kRowBytes,
                      allTiles,
                      scaleTiles});
      return slot.getNext(b, context.spec.schedule.getStages()).get();
    });
  };
  SmallVector<Value> last =
      context.order.emitTiles(b, RingSlot::getFirst(b).get(), emitSteps);
  if (!cluster.isPair())
    return;
  // Others say that stages are empty in memory that must still be there.
  for (int64_t i = 0; i < context.spec.schedule.getStages(); ++i) {
    RingSlot slot = RingSlot::of(last);
    context.stageEmpty.emitWaitEmpty(b, slot);
    last = slot.getNext(b, context.spec.schedule.getStages()).get();
  }
}

void emitLoads(KernelBuilder &b, const Tcgen05Context &context) {
  LoadEmitter(b, context).emit();
}

} // namespace blockscale::products
