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
#include "DeviceEmission/WarpExchange.h"
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

/// Threads that have elements of a row.
static constexpr int64_t kRowThreads = kDecodedStep / kThreadElements;

PlainMmaDecoder::PlainMmaDecoder(KernelBuilder &b,
                                 const PlainMmaContext &context,
                                 const PlainMmaThread &thread)
    : b(b), context(context), thread(thread), format(context.spec.format),
      pairs(b, context.spec) {}

int64_t PlainMmaDecoder::getRowWords() const {
  return kThreadElements * format.getBits() / 8 / kWordBytes;
}

/// The codes of a thread's elements of the instructions of a step, in the order
/// of K, from `words`, all codes of its row: of each eight elements the pair
/// that is its own by its number `member` (i32) among the threads of the row.
static SmallVector<Value> takeOrderedCodes(KernelBuilder &b, Lanes member,
                                           ArrayRef<Lanes> words) {
  auto permute = [&](Lanes low, Lanes high, Lanes bytes) {
    return Lanes(b, b.callIntrinsic("llvm.nvvm.prmt", {low, high, bytes}));
  };
  // Two words are one piece of eight elements, whose pair is two bytes, or two
  // of them, in which it is one byte each.
  bool isByte = words.size() * kWordBytes < kDecodedStep;
  Lanes first = isByte ? member : member * 2;
  Lanes places = first | (first + (isByte ? kWordBytes : 1)) << 4;
  Lanes lowHalves(b, b.i32(0x5410));
  SmallVector<Value> codes;
  for (size_t i = 0; i < words.size(); i += 4)
    codes.push_back(permute(permute(words[i], words[i + 1], places),
                            permute(words[i + 2], words[i + 3], places),
                            lowHalves));
  return codes;
}

PlainMmaDecoder::Words PlainMmaDecoder::loadCodes(Value slot, Lanes inStage) {
  const PlainMmaLayout &shared = context.shared;
  int64_t rowBytes = format.getCodeBytes();
  // The codes of a thread follow each other in its row. In the order of a chain
  // they are pairs all over it, so a thread loads the whole row.
  int64_t bytes = format.keepsChain ? rowBytes : getRowWords() * kWordBytes;
  Lanes own = (thread.warpRow + thread.row) * rowBytes;
  if (!format.keepsChain)
    own = own + thread.member * bytes;
  own = own + inStage * (context.tile.scaledRows * rowBytes);
  Value base =
      b.offset(context.getShared(b, shared.codes, slot, shared.codeBytes),
               b.getI8Type(), own);
  Words words;
  for (int64_t i = 0; i < kThreadRows; ++i) {
    SmallVector<Lanes> loaded = emitLoadWords(
        b, b.offset(base, b.getI8Type(), b.i32(i * kRowDistance * rowBytes)),
        bytes, kCopyBytes);
    llvm::append_range(words, format.keepsChain
                                  ? takeOrderedCodes(b, thread.member, loaded)
                                  : Words(loaded.begin(), loaded.end()));
  }
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
  ArrayRef<Value> words =
      codes.slice(row * rowWords + half * halfWords, halfWords);
  if (format.keepsChain)
    return decodeOrdered(words, factors[row], half);
  Words elements;
  for (Value word : words)
    llvm::append_range(elements, pairs.decodeWord(Lanes(b, word), factors[row],
                                                  global.isSplit));
  return elements;
}

/// Instructions of a half of a step follow each other, and the factor of each
/// is that of the thread whose own elements these would be.
PlainMmaDecoder::Words PlainMmaDecoder::decodeOrdered(ArrayRef<Value> words,
                                                      Value factor,
                                                      int64_t half) {
  constexpr int64_t instructions = kDecodedStep / kPlainMmaDepth / 2;
  Words factors;
  for (int64_t i = 0; i < instructions; ++i)
    factors.push_back(emitShuffleFrom(b, Lanes(b, factor),
                                      half * instructions + i, kRowThreads));
  size_t ofWord = factors.size() / words.size();
  Words elements;
  for (auto [i, word] : llvm::enumerate(words))
    llvm::append_range(
        elements, pairs.decodeWord(Lanes(b, word),
                                   ArrayRef(factors).slice(i * ofWord, ofWord),
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
