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
  Value scale;
  /// i32: of the operand.
  Value rows;
  /// Of a tile.
  int64_t tileRows;
  /// In shared memory.
  int64_t data, scales;
};

/// The stage that is loaded, all i32.
struct Stage {
  Value slot;
  /// Number of the step along K.
  Value step;
  /// Atoms of scales along K: of the operand, and of this stage.
  Value allAtoms, atoms;
};

} // namespace

static Lanes wide(KernelBuilder &b, Value value) {
  return Lanes(b, b.zext64(value));
}

static void emitData(KernelBuilder &b, const GemmContext &context,
                     const Operand &operand, const Stage &stage, Value tile,
                     Value matrix) {
  int64_t bytes = SharedLayout::getDataBytes(operand.tileRows);
  Value target = context.getShared(b, operand.data, stage.slot, bytes);
  // A row of the box is 128 bytes, or as many codes in a byte's place.
  Value coordinates[] = {Lanes(b, stage.step) * kRowBytes,
                         Lanes(b, tile) * operand.tileRows, matrix};
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
      b, target, operand.map, coordinates, context.stageFull.get(b, stage.slot),
      /*im2colOffsets=*/ValueRange(),
      /*multicastMask=*/Value(), /*l2CacheHint=*/Value(),
      NVVM::TMALoadMode::TILE, /*isCTAOnly=*/true,
      /*group=*/NVVM::CTAGroupKindAttr(), /*predicate=*/Value());
}

static void emitScales(KernelBuilder &b, const GemmContext &context,
                       const Operand &operand, const Stage &stage, Value tile,
                       Value matrix) {
  int64_t bands = operand.tileRows / kAtomRows;
  int64_t atoms = context.spec.format.getTileAtoms();
  Value target = context.getShared(
      b, operand.scales, stage.slot,
      SharedLayout::getScaleBytes(context.spec.format, operand.tileRows));
  Value barrier = context.stageFull.get(b, stage.slot);
  Value bytes = Lanes(b, stage.atoms) * kAtomBytes;
  Lanes allBands(b, emitCeilDiv(b, operand.rows, kAtomRows));
  for (int64_t i = 0; i < bands; ++i) {
    Lanes band = Lanes(b, tile) * bands + i;
    if (i > 0)
      band = minUnsigned(band, allBands - 1);
    Lanes row = wide(b, matrix) * wide(b, allBands) + wide(b, band);
    Lanes atom = row * wide(b, stage.allAtoms) + wide(b, stage.step) * atoms;
    Value source = b.offset(operand.scale, b.getI8Type(), atom * kAtomBytes);
    Value place =
        b.offset(target, b.getI8Type(), b.i32(i * atoms * kAtomBytes));
    NVVM::CpAsyncBulkGlobalToSharedClusterOp::create(
        b, place, source, barrier, bytes, /*multicastMask=*/Value(),
        /*l2CacheHint=*/Value());
  }
}

void emitLoads(KernelBuilder &b, const GemmContext &context) {
  const GemmSpec &spec = context.spec;
  const GemmArguments &arguments = context.arguments;
  int64_t rows = spec.schedule.getRows(), cols = spec.schedule.getCols();
  Operand operands[] = {{arguments.mapA, arguments.scaleA, arguments.rows, rows,
                         context.shared.dataA, context.shared.scaleA},
                        {arguments.mapB, arguments.scaleB, arguments.cols, cols,
                         context.shared.dataB, context.shared.scaleB}};
  int64_t tileAtoms = spec.format.getTileAtoms();
  Lanes steps(b,
              emitCeilDiv(b, arguments.depth, spec.format.getTileElements()));
  Lanes allAtoms(
      b, emitCeilDiv(b, arguments.depth, spec.format.block * kAtomScales));
  // Boxes count in full, whatever of them is beyond the operand, but for the
  // gaps between padded codes.
  auto getCopied = [&](numerics::ElementFormat operand, int64_t tileRows) {
    int64_t bytes = SharedLayout::getDataBytes(tileRows);
    return spec.format.isPadded(operand) ? bytes / 2 : bytes;
  };
  int64_t dataBytes =
      getCopied(spec.format.a, rows) + getCopied(spec.format.b, cols);
  int64_t bands = (rows + cols) / kAtomRows;

  auto emitTile = [&](const TilePlace &tile, ValueRange carried) {
    Value numbers[] = {tile.row, tile.col};
    return emitCount(b, steps, carried, [&](Value step, ValueRange carried) {
      RingPlace place = RingPlace::of(carried);
      context.stageEmpty.emitWaitEmpty(b, place);
      Lanes atoms = minUnsigned(allAtoms - Lanes(b, step) * tileAtoms,
                                allAtoms.like(tileAtoms));
      Stage stage{place.slot, step, allAtoms, atoms};
      context.stageFull.emitExpect(b, place.slot,
                                   atoms * (bands * kAtomBytes) + dataBytes);
      for (auto [operand, number] : llvm::zip_equal(operands, numbers)) {
        emitData(b, context, operand, stage, number, tile.matrix);
        emitScales(b, context, operand, stage, number, tile.matrix);
      }
      return place.getNext(b, spec.schedule.getStages()).get();
    });
  };
  context.order.emitTiles(b, RingPlace::getFirst(b).get(), emitTile);
}

} // namespace blockscale::sm100
