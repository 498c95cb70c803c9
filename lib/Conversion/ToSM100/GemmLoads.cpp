//===- GemmLoads.cpp - Operands into shared memory ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Data come by tensor maps, which fill rows and columns beyond the operand with
// zeros. Scales of 128 rows are atoms one after the other along K, so a flat
// copy brings those of a stage. Where a tile has 256 rows and the operand ends
// in the first half, the scales of the second are those of the first again:
// what they scale is zero.
//
// A flat copy completes a barrier of its own thread block. In a pair the leader
// waits for both, so scales come by tensor maps, too, whose innermost dimension
// is a quarter of an atom.
//
//===----------------------------------------------------------------------===//

#include "../ToGPU/DeviceCode.h"
#include "GemmRoles.h"

using namespace mlir;

namespace blockscale::sm100 {

using cpu::Lanes;

namespace {

/// One of the two operands.
struct Operand {
  Value map;
  /// Memory, or a map in a pair.
  Value scale;
  /// i32: of the operand.
  Value rows;
  /// Of a tile, and what of it a thread block has.
  int64_t tileRows, dataRows, scaleRows;
  /// In shared memory.
  int64_t data, scales;
  /// Pairs that have the same rows.
  int64_t sharers;
  numerics::ElementFormat format;
};

/// The stage that is loaded, all i32.
struct Stage {
  Value slot;
  /// Number of the step along K.
  Value step;
  /// Atoms of scales along K: of the operand, and of this stage.
  Value allAtoms, atoms;
};

class LoadEmitter {
public:
  LoadEmitter(KernelBuilder &b, const GemmContext &context);

  void emit();

private:
  void emitTile(const TilePlace &tile, const Stage &stage);
  void emitCopy(Value target, Value map, ValueRange coordinates, Value mask,
                const Stage &stage);
  void emitData(const Operand &operand, const Stage &stage, Value tile,
                Value matrix);
  void emitFlatScales(const Operand &operand, const Stage &stage, Value tile,
                      Value matrix);
  void emitMappedScales(const Operand &operand, const Stage &stage, Value tile,
                        Value matrix);
  /// Bytes that arrive in a stage, but for scales, and of scales an atom of K.
  int64_t getDataBytes() const;
  int64_t getAtomBytes() const;

  Lanes wide(Value value) { return Lanes(b, b.zext64(value)); }

  KernelBuilder &b;
  const GemmContext &context;
  const Cluster &cluster;
  const GemmFormat &format;
  Operand operands[2];
};

} // namespace

LoadEmitter::LoadEmitter(KernelBuilder &b, const GemmContext &context)
    : b(b), context(context), cluster(context.cluster),
      format(context.spec.format) {
  const GemmArguments &arguments = context.arguments;
  const GemmScheduleAttr schedule = context.spec.schedule;
  const BlockRows &mine = context.mine;
  operands[0] = {arguments.mapA,       arguments.scaleA,
                 arguments.rows,       schedule.getRows(),
                 mine.dataA,           mine.scaleA,
                 context.shared.dataA, context.shared.scaleA,
                 cluster.getPairs(),   format.a};
  operands[1] = {arguments.mapB,       arguments.scaleB,
                 arguments.cols,       schedule.getCols(),
                 mine.dataB,           mine.scaleB,
                 context.shared.dataB, context.shared.scaleB,
                 /*sharers=*/1,        format.b};
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

/// Of rows that pairs share, each thread block loads a part for all.
void LoadEmitter::emitData(const Operand &operand, const Stage &stage,
                           Value tile, Value matrix) {
  int64_t part = operand.dataRows / operand.sharers;
  Lanes first(b, b.i32(0));
  if (operand.sharers > 1)
    first = Lanes(b, cluster.pair) * part;
  Value target =
      context.getShared(b, operand.data, stage.slot,
                        SharedLayout::getDataBytes(operand.dataRows));
  target = b.offset(target, b.getI8Type(), first * kRowBytes);
  Lanes row = Lanes(b, tile) * operand.tileRows +
              Lanes(b, cluster.member) * operand.dataRows + first;
  // A row of the box is 128 bytes, or as many codes in a byte's place.
  Value coordinates[] = {Lanes(b, stage.step) * kRowBytes, row, matrix};
  Value mask = operand.sharers > 1 ? cluster.getMulticastMask(b) : Value();
  emitCopy(target, operand.map, coordinates, mask, stage);
}

void LoadEmitter::emitFlatScales(const Operand &operand, const Stage &stage,
                                 Value tile, Value matrix) {
  int64_t bands = operand.tileRows / kAtomRows;
  int64_t atoms = format.getTileAtoms();
  Value target =
      context.getShared(b, operand.scales, stage.slot,
                        SharedLayout::getScaleBytes(format, operand.scaleRows));
  Value barrier = context.stageFull.get(b, stage.slot);
  Value bytes = Lanes(b, stage.atoms) * kAtomBytes;
  Lanes allBands(b, emitCeilDiv(b, operand.rows, kAtomRows));
  for (int64_t i = 0; i < bands; ++i) {
    Lanes band = Lanes(b, tile) * bands + i;
    if (i > 0)
      band = minUnsigned(band, allBands - 1);
    Lanes row = wide(matrix) * wide(allBands) + wide(band);
    Lanes atom = row * wide(stage.allAtoms) + wide(stage.step) * atoms;
    Value source = b.offset(operand.scale, b.getI8Type(), atom * kAtomBytes);
    Value place =
        b.offset(target, b.getI8Type(), b.i32(i * atoms * kAtomBytes));
    NVVM::CpAsyncBulkGlobalToSharedClusterOp::create(
        b, place, source, barrier, bytes, /*multicastMask=*/Value(),
        /*l2CacheHint=*/Value());
  }
}

void LoadEmitter::emitMappedScales(const Operand &operand, const Stage &stage,
                                   Value tile, Value matrix) {
  int64_t bands = operand.tileRows / kAtomRows;
  int64_t mine = operand.scaleRows / kAtomRows;
  Lanes band = Lanes(b, tile) * bands;
  if (mine < bands)
    band = band + Lanes(b, cluster.member) * mine;
  Value target =
      context.getShared(b, operand.scales, stage.slot,
                        SharedLayout::getScaleBytes(format, operand.scaleRows));
  int64_t quarters = format.getTileAtoms() * (kAtomBytes / kRowBytes);
  Value coordinates[] = {b.i32(0), Lanes(b, stage.step) * quarters, band,
                         matrix};
  emitCopy(target, operand.scale, coordinates, /*mask=*/Value(), stage);
}

int64_t LoadEmitter::getDataBytes() const {
  // Boxes count in full, whatever of them is beyond the operand, but for the
  // gaps between padded codes.
  int64_t bytes = 0;
  for (const Operand &operand : operands) {
    int64_t data = SharedLayout::getDataBytes(operand.dataRows);
    bytes += format.isPadded(operand.format) ? data / 2 : data;
  }
  return bytes * cluster.getTileBlocks();
}

int64_t LoadEmitter::getAtomBytes() const {
  int64_t rows = operands[0].scaleRows + operands[1].scaleRows;
  return rows / kAtomRows * kAtomBytes * cluster.getTileBlocks();
}

void LoadEmitter::emitTile(const TilePlace &tile, const Stage &stage) {
  cluster.emitIfLeader(b, [&] {
    // Maps bring whole boxes of scales, too.
    Lanes atoms(b,
                cluster.isPair() ? b.i32(format.getTileAtoms()) : stage.atoms);
    context.stageFull.emitExpect(b, stage.slot,
                                 atoms * getAtomBytes() + getDataBytes());
  });
  Value numbers[] = {tile.row, tile.col};
  for (auto [operand, number] : llvm::zip_equal(operands, numbers)) {
    emitData(operand, stage, number, tile.matrix);
    if (cluster.isPair())
      emitMappedScales(operand, stage, number, tile.matrix);
    else
      emitFlatScales(operand, stage, number, tile.matrix);
  }
}

void LoadEmitter::emit() {
  int64_t tileAtoms = format.getTileAtoms();
  Value depth = context.arguments.depth;
  Lanes allAtoms(b, emitCeilDiv(b, depth, format.block * kAtomScales));
  auto emitSteps = [&](const TilePlace &tile, ValueRange carried) {
    Lanes begin(b, tile.begin);
    Value count = Lanes(b, tile.end) - begin;
    return emitCount(b, count, carried, [&](Value number, ValueRange carried) {
      Value step = begin + Lanes(b, number);
      RingPlace place = RingPlace::of(carried);
      context.stageEmpty.emitWaitEmpty(b, place);
      Lanes atoms = minUnsigned(allAtoms - Lanes(b, step) * tileAtoms,
                                allAtoms.like(tileAtoms));
      emitTile(tile, {place.slot, step, allAtoms, atoms});
      return place.getNext(b, context.spec.schedule.getStages()).get();
    });
  };
  SmallVector<Value> last =
      context.order.emitTiles(b, RingPlace::getFirst(b).get(), emitSteps);
  if (!cluster.isPair())
    return;
  // Others say that stages are empty in memory that must still be there.
  for (int64_t i = 0; i < context.spec.schedule.getStages(); ++i) {
    RingPlace place = RingPlace::of(last);
    context.stageEmpty.emitWaitEmpty(b, place);
    last = place.getNext(b, context.spec.schedule.getStages()).get();
  }
}

void emitLoads(KernelBuilder &b, const GemmContext &context) {
  LoadEmitter(b, context).emit();
}

} // namespace blockscale::sm100
