//===- PlainTcgen05Decode.cpp - Scaled elements in tensor memory ---------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A lane of tensor memory is a row of the scaled operand. A thread reads half
// of its codes in a step, 32 elements, with the scales of these, and stores
// what it decodes into 16 columns of its lane.
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCode.h"
#include "PlainTcgen05Roles.h"
#include "Products/DecodedPairs.h"
#include "blockscale/Numerics/SharedSwizzle.h"

using namespace mlir;

namespace blockscale::products {

using emit::Lanes;

/// Elements of a step that a thread decodes, and their columns.
static constexpr int64_t kPartElements = kDecodedStep / kStepParts;
static constexpr int64_t kPartColumns = kDecodedColumns / kStepParts;

namespace {

class DecodeEmitter {
public:
  DecodeEmitter(KernelBuilder &b, const PlainTcgen05Context &context,
                Lanes thread)
      : b(b), context(context), format(context.spec.format),
        pairs(b, context.spec) {
    std::tie(part, row) = numerics::splitBits(thread, kLaneRows);
  }

  SmallVector<Value> emitTile(const TileCoord &tile, ValueRange carried);

private:
  /// The words of codes of the part of step `inStage` (i32) of the stage at
  /// `slot`.
  SmallVector<Lanes> loadCodes(Value slot, Lanes inStage);
  /// A pair of the plain type for each scale of the part: the scale twice; or
  /// an f32, the scale times the global one, where that multiplies elements.
  /// `step` (i32) is the number of the step in the product.
  SmallVector<Value> loadFactors(const TileCoord &tile, Value slot,
                                 Lanes inStage, Lanes step);
  /// Decodes the part of a step, and stores it to the columns at `slot` of
  /// decoded steps.
  void emitStep(ArrayRef<Lanes> codes, ArrayRef<Value> factors,
                const RingSlot &slot);

  KernelBuilder &b;
  const PlainTcgen05Context &context;
  const DecodedFormat &format;
  DecodedPairs pairs;
  /// The thread's row of the tile, and its part of a step.
  Lanes row, part;
  /// The global scale of the elements of the tile, f32; null where sums have
  /// it.
  Value global;
};

} // namespace

SmallVector<Lanes> DecodeEmitter::loadCodes(Value slot, Lanes inStage) {
  const PlainTcgen05Layout &shared = context.shared;
  Value codes = context.getShared(b, shared.codes, slot, shared.codeBytes);
  int64_t partBytes = format.getCodeBytes() / kStepParts;
  auto [box, inBox] = numerics::splitBits(
      inStage * format.getCodeBytes() + part * partBytes, shared.boxBytes);
  Lanes place = box * (context.tile.scaledRows * shared.boxBytes);
  SmallVector<Lanes> words;
  for (int64_t at = 0; at < partBytes; at += numerics::kSwizzlePiece) {
    Lanes piece = (inBox + at) / numerics::kSwizzlePiece;
    Lanes byte = place + numerics::getSwizzledByte(row, piece, shared.boxBytes);
    llvm::append_range(words,
                       emitLoadWords(b, b.offset(codes, b.getI8Type(), byte),
                                     kCopyBytes, kCopyBytes));
  }
  return words;
}

SmallVector<Value> DecodeEmitter::loadFactors(const TileCoord &tile, Value slot,
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
  int64_t scales = kPartElements / format.block;
  Lanes byte = scaleTile * kTileBytes +
               numerics::k128x4.getByteInTile(inBand, inBand.like(0)) +
               (step & (format.getTileSteps() - 1)) * format.getStepScales() +
               part * scales;
  Value address =
      b.offset(context.getShared(b, shared.scales, slot, shared.scaleBytes),
               b.getI8Type(), byte);
  Lanes loaded(b, b.load(b.getIntegerType(8 * scales), address, scales));
  Lanes bytes = extend(loaded, 32);
  Lanes low = scales == 1 ? bytes : bytes & 0xFF;
  Lanes high = scales == 1 ? bytes : bytes >> 8;
  SmallVector<Value> factors = pairs.emitFactors(low, high, global);
  factors.resize(scales);
  return factors;
}

void DecodeEmitter::emitStep(ArrayRef<Lanes> codes, ArrayRef<Value> factors,
                             const RingSlot &slot) {
  int64_t wordElements = 8 * kWordBytes / format.getBits();
  SmallVector<Value> elements;
  for (auto [i, word] : llvm::enumerate(codes))
    llvm::append_range(
        elements,
        pairs.decodeWord(word, factors[i * wordElements / format.block]));
  context.decodedEmpty.emitWaitEmpty(b, slot);
  NVVM::SyncWarpOp::create(b, b.i32(kAllLanes));
  NVVM::Tcgen05FenceOp::create(b, NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
  Lanes column = Lanes(b, context.tensorMemory) + getWarpLanes(row) +
                 context.spec.getDecodedColumn() +
                 Lanes(b, slot.index) * kDecodedColumns + part * kPartColumns;
  NVVM::Tcgen05StOp::create(b, /*unpack=*/false,
                            NVVM::Tcgen05LdStShape::SHAPE_32X32B,
                            getTensorPointer(b, column), b.pack(elements),
                            /*offset=*/Value());
  NVVM::Tcgen05WaitOp::create(b, NVVM::Tcgen05WaitKind::STORE);
  NVVM::Tcgen05FenceOp::create(b, NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC);
  emitArriveInWarp(b, context.decodedFull.get(b, slot.index));
}

/// `carried` are the slots of the rings of stages and of decoded steps.
SmallVector<Value> DecodeEmitter::emitTile(const TileCoord &tile,
                                           ValueRange carried) {
  if (format.scalesElements)
    global = loadElementFactor(
        b, context.spec, context.arguments, tile.product.number,
        numerics::splitBits(row, context.tile.scaledRowsOfEach).first);
  return context.emitStages(
      b, tile, carried,
      [&](const RingSlot &stage, Lanes firstStep, Lanes left,
          ValueRange carried) {
        context.stageFull.emitWaitFull(b, stage);
        NVVM::SyncWarpOp::create(b, b.i32(kAllLanes));
        SmallVector<Value> next = emitCount(
            b, context.getSteps(b, left), carried,
            [&](Lanes inStage, ValueRange carried) {
              RingSlot slot = RingSlot::of(carried);
              SmallVector<Lanes> codes = loadCodes(stage.index, inStage);
              emitStep(
                  codes,
                  loadFactors(tile, stage.index, inStage, firstStep + inStage),
                  slot);
              return slot.getNext(b, kDecodedSteps).get();
            });
        emitArriveInWarp(b, context.stageEmpty.get(b, stage.index));
        return next;
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
