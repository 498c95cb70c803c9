//===- PlainMmaDecode.cpp - Scaled elements in registers ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread loads codes and scales of its rows, and decodes them as all kernels
// do (Products/DecodedPairs.h).
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCode.h"
#include "PlainMmaRoles.h"
#include "blockscale/Numerics/Codec.h"
#include "blockscale/Numerics/OperandFragments.h"
#include "blockscale/Numerics/SplitFactor.h"

using namespace mlir;

namespace blockscale::products {

using emit::Lanes;

/// Rows of a fragment between the two of a thread.
static constexpr int64_t kRowDistance =
    numerics::kMmaOperandA.getElementOf<int64_t>(numerics::kOperandRegister, 1)
        .row;

PlainMmaDecoder::PlainMmaDecoder(KernelBuilder &b,
                                 const PlainMmaContext &context,
                                 const PlainMmaThread &thread)
    : b(b), context(context), thread(thread), format(context.spec.format),
      pairs(b, context.spec) {}

int64_t PlainMmaDecoder::getRowWords() const {
  return kThreadElements * format.getBits() / 8 / kWordBytes;
}

PlainMmaDecoder::Words PlainMmaDecoder::loadCodes(Value slot, Lanes inStage) {
  const PlainMmaLayout &shared = context.shared;
  int64_t rowBytes = context.spec.format.getCodeBytes();
  int64_t threadBytes = getRowWords() * kWordBytes;
  Lanes own = (thread.warpRow + thread.row) * rowBytes +
              thread.member * threadBytes +
              inStage * (context.tile.scaledRows * rowBytes);
  Value base =
      b.offset(context.getShared(b, shared.codes, slot, shared.codeBytes),
               b.getI8Type(), own);
  Words words;
  for (int64_t i = 0; i < kThreadRows; ++i)
    for (Lanes word : emitLoadWords(
             b,
             b.offset(base, b.getI8Type(), b.i32(i * kRowDistance * rowBytes)),
             threadBytes, threadBytes))
      words.push_back(word);
  return words;
}

std::pair<Value, Value> PlainMmaDecoder::loadGlobal(const TileCoord &tile) {
  if (!format.scalesElements)
    return {};
  auto load = [&](Lanes owner) {
    return Lanes(b, loadElementFactor(b, context.spec, context.arguments,
                                      tile.product.number, owner));
  };
  // Rows of a warp are of one product.
  Lanes own =
      load(thread.warpRow >> llvm::Log2_64(context.tile.scaledRowsOfEach));
  Lanes canSplit = numerics::canSplit(own);
  if (context.tile.scaledOwners > 1)
    for (int64_t i = 0; i < context.tile.scaledOwners; ++i)
      canSplit = canSplit & numerics::canSplit(load({b, b.i32(i)}));
  return {own, canSplit};
}

PlainMmaDecoder::Words PlainMmaDecoder::loadFactors(const TileCoord &tile,
                                                    Value slot, Lanes inStage,
                                                    Lanes step, Lanes depth) {
  const PlainMmaSpec &spec = context.spec;
  const PlainMmaLayout &shared = context.shared;
  // The first row of the warp among those of its product, and in its band.
  // Tiles of fewer rows than a band have a part of one.
  int64_t ofEach = context.tile.scaledRowsOfEach;
  Lanes inTile = thread.warpRow;
  Lanes owner = inTile >> llvm::Log2_64(ofEach);
  Lanes row = inTile & (ofEach - 1);
  if (ofEach < kTileRows)
    row = row + ((context.getScaledTile(tile) * ofEach) & (kTileRows - 1));
  Lanes band =
      owner * context.tile.bandsOfEach + (row >> llvm::Log2_64(kTileRows));
  row = (row & (kTileRows - 1)) + thread.row;
  Lanes scaleTile = band * spec.getStageScaleTiles() +
                    (inStage >> llvm::Log2_64(spec.getSharedTileSteps()));
  Lanes ofThread =
      numerics::splitBits(thread.member, format.block / kThreadElements).first;
  Lanes inRow =
      (step & (spec.format.getTileSteps() - 1)) * spec.format.getStepScales() +
      ofThread;
  Lanes byte = scaleTile * kTileBytes +
               numerics::k128x4.getByteInTile(row, row.like(0)) + inRow;
  Value base =
      b.offset(context.getShared(b, shared.scales, slot, shared.scaleBytes),
               b.getI8Type(), byte);
  int64_t distance = numerics::k128x4.getByteInTile(kRowDistance, int64_t(0));
  // Beyond K are zeros, and in the last stage scales that can be anything:
  // those behind K in a tile, and what was there before where a step has no
  // tile.
  Lanes first = step * kDecodedStep + thread.member * kThreadElements;
  Lanes exists = isBelow(first, depth);
  bool isCut = !spec.isMultipleOf(spec.stageElements);
  SmallVector<Lanes> bytes;
  for (int64_t i = 0; i < kThreadRows; ++i) {
    Value address = b.offset(base, b.getI8Type(), b.i32(i * distance));
    Lanes byte = extend(Lanes(b, b.load(b.getI8Type(), address, 1)), 32);
    bytes.push_back(isCut && !global.value ? select(exists, byte, byte.like(0))
                                           : byte);
  }
  Words factors;
  for (int64_t i = 0; i < kThreadRows; i += 2)
    llvm::append_range(
        factors, pairs.emitFactors({bytes[i], 0, bytes[i + 1], 0}, global));
  // A scale of 0 times a global one may be NaN.
  if (isCut && global.value)
    for (Value &factor : factors)
      factor = select(exists, Lanes(b, factor), Lanes(b, b.i32(0)));
  return factors;
}

PlainMmaDecoder::Words PlainMmaDecoder::decodeRow(ArrayRef<Value> codes,
                                                  ArrayRef<Value> factors,
                                                  int64_t half, int64_t row) {
  int64_t rowWords = getRowWords(), halfWords = rowWords / 2;
  Words elements;
  for (Value word : codes.slice(row * rowWords + half * halfWords, halfWords))
    llvm::append_range(elements, pairs.decodeWord(Lanes(b, word), factors[row],
                                                  global.isSplit));
  return elements;
}

PlainMmaDecoder::Words PlainMmaDecoder::getRegisters(ArrayRef<Words> rows) {
  constexpr int64_t registers = 4;
  constexpr int64_t instructions = kThreadElements / 2 / registers;
  Words words;
  for (int64_t i = 0; i < kDecodedFragments; ++i)
    for (int64_t j = 0; j < instructions; ++j)
      for (int64_t k = 0; k < registers; ++k) {
        // Which of both rows, and which of both pairs of them.
        auto [row, byte] = numerics::kMmaOperandA.getElementOf<int64_t>(
            numerics::kOperandRegister, k);
        words.push_back(rows[2 * i + row / kRowDistance][2 * j + byte / 16]);
      }
  return words;
}

} // namespace blockscale::products
