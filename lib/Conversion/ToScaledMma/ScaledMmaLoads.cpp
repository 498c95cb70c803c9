//===- ScaledMmaLoads.cpp - Operands into shared memory -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Data come by tensor maps, which fill rows and columns beyond the operand with
// zeros. Scales of 128 rows are tiles one after the other along K, so a flat
// copy brings those of a stage. A tile of scales has those of 128 elements of K
// in MX: where a stage has 64 of them, two stages bring the same tile.
//
// Groups are parts of the one map of an operand, as in ToTcgen05.
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCode.h"
#include "Products/Arithmetic.h"
#include "ScaledMmaRoles.h"

using namespace mlir;

namespace blockscale::products {

using emit::Lanes;

namespace {

/// A stage that is loaded, all i32.
struct Stage {
  Lanes slot;
  /// The first byte of its rows.
  Lanes depth;
  /// Its first tile of scales along K, and how many it has.
  Lanes scaleTile, scaleTiles;
};

class LoadEmitter {
public:
  LoadEmitter(KernelBuilder &b, const ScaledMmaContext &context)
      : b(b), context(context), spec(context.spec) {}

  void emit();

private:
  void emitStage(const TileCoord &tile, const Stage &stage);
  /// Brings a box of data to byte `target` (i32) of shared memory.
  void emitData(const Stage &stage, Value target, Value map, Value row,
                Value matrix);
  /// Brings the scales of a band (i32) there. `scales` (i64) is the first tile
  /// of scales of the product.
  void emitScales(const TileCoord &tile, const Stage &stage, Value target,
                  Value memory, Value band, Value scales);

  KernelBuilder &b;
  const ScaledMmaContext &context;
  const ScaledGemmSpec &spec;
};

} // namespace

void LoadEmitter::emitData(const Stage &stage, Value target, Value map,
                           Value row, Value matrix) {
  Value coordinates[] = {stage.depth, row, matrix};
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
      b, target, map, coordinates, context.stageFull.get(b, stage.slot),
      /*im2colOffsets=*/ValueRange(), /*multicastMask=*/Value(),
      /*l2CacheHint=*/Value(), NVVM::TMALoadMode::TILE, /*isCTAOnly=*/true,
      NVVM::CTAGroupKindAttr(), /*predicate=*/Value());
}

void LoadEmitter::emitScales(const TileCoord &tile, const Stage &stage,
                             Value target, Value memory, Value band,
                             Value scales) {
  Lanes scaleTile = toI64(b, band) * toI64(b, tile.product.bandTiles) +
                    Lanes(b, scales) + toI64(b, stage.scaleTile);
  NVVM::CpAsyncBulkGlobalToSharedClusterOp::create(
      b, target, b.offset(memory, b.getI8Type(), scaleTile * kTileBytes),
      context.stageFull.get(b, stage.slot), stage.scaleTiles * kTileBytes,
      /*multicastMask=*/Value(),
      /*l2CacheHint=*/Value());
}

void LoadEmitter::emitStage(const TileCoord &tile, const Stage &stage) {
  const ScaledMmaLayout &shared = context.shared;
  const GemmArguments &arguments = context.arguments;
  const ProductRange &product = tile.product;
  int64_t products = spec.products, cols = spec.getResultCols();
  // Boxes count in full, whatever of them is beyond the operand.
  context.stageFull.emitExpect(b, stage.slot,
                               stage.scaleTiles *
                                       ((1 + products) * kTileBytes) +
                                   (shared.dataBytesA + shared.dataBytesB));
  auto getPlace = [&](int64_t offset, int64_t bytes) {
    return context.getShared(b, offset, stage.slot, bytes);
  };
  emitData(stage, getPlace(shared.dataA, shared.dataBytesA), arguments.mapA,
           product.firstRow + tile.row * kMmaTileRows, product.matrixA);
  emitScales(tile, stage, getPlace(shared.scaleA, shared.scaleBytesA),
             arguments.scaleA, tile.row, product.scalesA);
  Lanes col = tile.col;
  Value band = col >> llvm::Log2_64(kTileRows / cols);
  for (auto [i, own] : llvm::enumerate(arguments.products)) {
    auto number = static_cast<int64_t>(i);
    emitData(stage,
             getPlace(shared.dataB + number * cols * kStageRowBytes,
                      shared.dataBytesB),
             own.mapB, col * cols, product.matrixB);
    emitScales(tile, stage,
               getPlace(shared.scaleB + number * shared.scaleBytesA,
                        shared.scaleBytesB),
               own.scaleB, band, product.scalesB);
  }
}

void LoadEmitter::emit() {
  const GemmFormat &format = spec.format;
  int64_t stageTiles = format.getScaleTiles();
  // Scales of a row for a stage, which can be a part of a tile of them.
  int64_t stageScales = format.stageSteps * format.stepScales;
  // Elements of a byte, where a group begins at any block.
  int64_t packed = format.getStageElements() / kStageRowBytes;
  context.order.emitTiles(
      b, RingSlot::getFirst(b).get(),
      [&](const TileCoord &tile, ValueRange carried) {
        Lanes begin = tile.begin, allTiles = tile.product.bandTiles;
        Lanes firstByte = tile.product.firstDepth >> llvm::Log2_64(packed);
        Value count = tile.end - begin;
        return emitCount(
            b, count, carried, [&](Lanes number, ValueRange carried) {
              Lanes step = begin + number;
              RingSlot slot = RingSlot::of(carried);
              context.stageEmpty.emitWaitEmpty(b, slot);
              Lanes first = (step * stageScales) >> llvm::Log2_64(kTileCols);
              Lanes tiles =
                  minUnsigned(allTiles - first, allTiles.like(stageTiles));
              emitStage(tile,
                        {Lanes(b, slot.index),
                         firstByte + step * kStageRowBytes, first, tiles});
              return slot.getNext(b, spec.schedule.getStages()).get();
            });
      });
}

void emitLoads(KernelBuilder &b, const ScaledMmaContext &context) {
  LoadEmitter(b, context).emit();
}

} // namespace blockscale::products
