//===- PlainTcgen05Decode.cpp - Scaled elements in tensor memory ---------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A lane of tensor memory is a row of the scaled operand. A thread decodes half
// of the steps of its row in a stage. So one wait for a stage, and one for room
// in tensor memory, serve 128 elements of a thread.
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCode.h"
#include "PlainTcgen05Roles.h"
#include "Products/DecodedPairs.h"
#include "blockscale/Numerics/SharedSwizzle.h"

using namespace mlir;

namespace blockscale::products {

using emit::Lanes;
using Predicate = arith::CmpIPredicate;

namespace {

class DecodeEmitter {
public:
  DecodeEmitter(KernelBuilder &b, const PlainTcgen05Context &context,
                Lanes thread)
      : b(b), context(context), format(context.spec.format),
        pairs(b, context.spec) {
    // Which half of a stage the thread decodes.
    Lanes part;
    std::tie(part, row) = numerics::splitBits(thread, kLaneRows);
    ownSteps = context.spec.getStageSteps() / kStageParts;
    firstStep = part * ownSteps;
  }

  SmallVector<Value> emitTile(const TileCoord &tile, ValueRange carried);

private:
  /// The words of the codes that the thread decodes of step `inStage` (i32) of
  /// the stage at `slot`.
  SmallVector<Lanes> loadCodes(Value slot, Lanes inStage);
  /// The scales of these, 8 bits each. `step` (i32) is the number of the step
  /// in the product.
  Lanes loadScales(const TileCoord &tile, Value slot, Lanes inStage,
                   Lanes step);
  /// A pair of the plain type for each of these scales: the scale twice; or an
  /// f32, the scale times the global one, where that multiplies elements.
  SmallVector<Value> emitFactors(Lanes scales);
  /// Decodes what the thread has of step `inStage` (i32) of the stage at `slot`
  /// into tensor memory, where the stage begins at column `column` (i32). Its
  /// first step is `stageStep` (i32) in the product.
  void emitStep(const TileCoord &tile, Value slot, Lanes inStage,
                Lanes stageStep, Lanes column);

  KernelBuilder &b;
  const PlainTcgen05Context &context;
  const DecodedFormat &format;
  DecodedPairs pairs;
  /// The thread's row of the tile.
  Lanes row;
  /// The steps that it decodes of a stage, and the first of these there (i32).
  int64_t ownSteps;
  Lanes firstStep;
  /// The global scale of the elements of the tile, f32; null where sums have
  /// it.
  Value global;
};

} // namespace

SmallVector<Lanes> DecodeEmitter::loadCodes(Value slot, Lanes inStage) {
  const PlainTcgen05Layout &shared = context.shared;
  Value codes = context.getShared(b, shared.codes, slot, shared.codeBytes);
  int64_t bytes = format.getCodeBytes();
  auto [box, inBox] = numerics::splitBits(inStage * bytes, shared.boxBytes);
  Lanes place = box * (context.tile.scaledRows * shared.boxBytes);
  SmallVector<Lanes> words;
  for (int64_t at = 0; at < bytes; at += numerics::kSwizzlePiece) {
    Lanes piece = (inBox + at) / numerics::kSwizzlePiece;
    Lanes byte = place + numerics::getSwizzledByte(row, piece, shared.boxBytes);
    llvm::append_range(words,
                       emitLoadWords(b, b.offset(codes, b.getI8Type(), byte),
                                     kCopyBytes, kCopyBytes));
  }
  return words;
}

Lanes DecodeEmitter::loadScales(const TileCoord &tile, Value slot,
                                Lanes inStage, Lanes step) {
  const PlainTcgen05Layout &shared = context.shared;
  // Each product has rows of its own, which can be half of a band of scales.
  int64_t ofEach = context.tile.scaledRowsOfEach;
  auto [owner, inBand] = numerics::splitBits(row, ofEach);
  if (ofEach < kTileRows)
    inBand = inBand +
             ((format.isScaledA ? tile.row : tile.col) * ofEach) % kTileRows;
  Lanes scaleTile = owner * context.spec.getStageScaleTiles() +
                    (inStage >> llvm::Log2_64(format.getTileSteps()));
  int64_t scales = format.getStepScales();
  Lanes byte = scaleTile * kTileBytes +
               numerics::k128x4.getByteInTile(inBand, inBand.like(0)) +
               (step & (format.getTileSteps() - 1)) * scales;
  Value address =
      b.offset(context.getShared(b, shared.scales, slot, shared.scaleBytes),
               b.getI8Type(), byte);
  return {b, b.load(b.getIntegerType(8 * scales), address, scales)};
}

SmallVector<Value> DecodeEmitter::emitFactors(Lanes loaded) {
  Lanes bytes = extend(loaded, 32);
  SmallVector<Value> factors;
  for (int i = 0; i < format.getStepScales(); i += 2)
    llvm::append_range(factors,
                       pairs.emitFactors({bytes, i, bytes, i + 1}, {global}));
  return factors;
}

void DecodeEmitter::emitStep(const TileCoord &tile, Value slot, Lanes inStage,
                             Lanes stageStep, Lanes column) {
  SmallVector<Lanes> codes = loadCodes(slot, inStage);
  Lanes scales = loadScales(tile, slot, inStage, stageStep + inStage);
  int64_t wordElements = 8 * kWordBytes / format.getBits();
  auto decode = [&](ArrayRef<Lanes> codes, ArrayRef<Value> factors,
                    bool areWhole) {
    SmallVector<Value> decoded;
    for (auto [i, word] : llvm::enumerate(codes))
      llvm::append_range(
          decoded,
          pairs.decodeWord(word, factors[i * wordElements / format.block],
                           /*isSplit=*/false, areWhole));
    return decoded;
  };
  SmallVector<Value> decoded;
  if (canTakeWholeFactor(context.spec)) {
    // LLVM would take words from what was loaded where they are used, behind
    // the branch. Up to there they would be registers of 64 bits, whose halves
    // ptxas copies.
    for (Lanes &word : codes)
      word = b.hide(word);
    SmallVector<Type> types(kDecodedStep / 2, b.getI32Type());
    // The rare way loads codes again: what both ways make of the same words
    // would be made, and copied, before it is known which is taken.
    decoded = emitIfElse(
        b, pairs.hasOtherScale(scales), types,
        [&] {
          SmallVector<Lanes> again = loadCodes(slot, b.hide(inStage));
          return decode(again, emitFactors(scales), /*areWhole=*/false);
        },
        [&] {
          return decode(codes, pairs.emitWholeFactors(scales),
                        /*areWhole=*/true);
        });
  } else {
    decoded = decode(codes, emitFactors(scales), /*areWhole=*/false);
  }
  NVVM::Tcgen05StOp::create(
      b, /*unpack=*/false, NVVM::Tcgen05LdStShape::SHAPE_32X32B,
      getTensorPointer(b, column + inStage * kDecodedColumns), b.pack(decoded),
      /*offset=*/Value());
}

/// `carried` are the slots of the rings of stages and of decoded stages.
SmallVector<Value> DecodeEmitter::emitTile(const TileCoord &tile,
                                           ValueRange carried) {
  if (format.scalesElements)
    global = loadElementFactor(
        b, context.spec, context.arguments, tile.product.number,
        numerics::splitBits(row, context.tile.scaledRowsOfEach).first);
  return context.emitStages(
      b, tile, carried,
      [&](const RingSlot &stage, Lanes stageStep, Lanes left,
          ValueRange carried) {
        RingSlot decoded = RingSlot::of(carried);
        context.stageFull.emitWaitFull(b, stage);
        context.decodedEmpty.emitWaitEmpty(b, decoded);
        NVVM::SyncWarpOp::create(b, b.i32(kAllLanes));
        NVVM::Tcgen05FenceOp::create(b,
                                     NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
        Lanes column =
            Lanes(b, context.tensorMemory) + getWarpLanes(row) +
            context.spec.getDecodedColumn() +
            Lanes(b, decoded.index) * context.spec.getDecodedColumns();
        for (int64_t i = 0; i < ownSteps; ++i) {
          Lanes inStage = firstStep + i;
          auto emitOwn = [&] {
            emitStep(tile, stage.index, inStage, stageStep, column);
          };
          // Behind K there are no scales.
          if (*context.spec.hasWholeStages)
            emitOwn();
          else
            emit::emitIf(b,
                         compare(Predicate::ugt, left, inStage * kDecodedStep),
                         emitOwn);
        }
        NVVM::Tcgen05WaitOp::create(b, NVVM::Tcgen05WaitKind::STORE);
        NVVM::Tcgen05FenceOp::create(
            b, NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC);
        emitArriveInWarp(b, {context.decodedFull.get(b, decoded.index),
                             context.stageEmpty.get(b, stage.index)});
        return decoded.getNext(b, context.spec.getDecodedStages()).get();
      });
}

void emitDecode(KernelBuilder &b, const PlainTcgen05Context &context,
                Lanes thread) {
  DecodeEmitter emitter(b, context, thread);
  SmallVector<Value> inits = RingSlot::getFirst(b).get();
  llvm::append_range(inits, RingSlot::getFirst(b).get());
  context.order.emitTiles(b, inits,
                          [&](const TileCoord &tile, ValueRange carried) {
                            return emitter.emitTile(tile, carried);
                          });
}

} // namespace blockscale::products
