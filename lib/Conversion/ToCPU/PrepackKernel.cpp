//===- PrepackKernel.cpp - Data from layout to layout ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An item is a band of 64 rows, the rows of one row of blocks. The words of a
// block are visited in the order in which they lie, and each is put together
// from codes of the row-major side, or taken apart.
//
//===----------------------------------------------------------------------===//

#include "Emission/PrepackedUnits.h"
#include "Kernels.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Numerics/DataLayout.h"

using namespace mlir;
using namespace blockscale::numerics;

namespace blockscale::cpu {

/// The row-major side, whose memory has the logical rows.
static Value getRowMajor(PrepackOp op) {
  return isPrepacked(op.getSource().getType()) ? op.getResult()
                                               : op.getSource();
}

Value countItems(PrepackOp op, CallSite &site) {
  CallSite::Sizes sizes = site.getSizes(getRowMajor(op));
  return site.countItems(
      sizes, getFragmentBlocks(
                 Lanes(site.b, toIndex(site.b, sizes[sizes.size() - 2]))));
}

namespace {

/// Emits the words of one kernel.
class WordMover {
public:
  WordMover(PrepackOp op, const ItemRange &range)
      : b(range.b), toBlocks(isPrepacked(op.getResult().getType())),
        bits(getPrepackedBits(op.getResult().getType().getElementType())),
        rowMajor(range.lookup(getRowMajor(op))),
        blocks(range.lookup(toBlocks ? op.getResult() : op.getSource())) {
    int64_t rank = getTensorType(op.getSource()).getRank();
    rows = getDim(b, rowMajor, rank - 2);
    cols = getDim(b, rowMajor, rank - 1);
    if (bits == 4)
      cols = mul(b, cols, 2);
    bandSizes = getLeadingSizes(b, rowMajor, rank - 2);
    bandSizes.push_back(getFragmentBlocks(Lanes(b, rows)));
  }

  void emitBand(Value item) {
    band = delinearize(b, item, bandSizes);
    Value colBlocks = getFragmentBlocks(Lanes(b, cols));
    emitLoop(b, getIndex(b, 0), colBlocks, [&](Lanes colBlock) {
      emitLoop(
          b, getIndex(b, 0), getIndex(b, kFragmentThreads), [&](Lanes thread) {
            emitLoop(b, getIndex(b, 0), getIndex(b, getThreadUnits(bits)),
                     [&](Lanes unit) { emitUnit(colBlock, thread, unit); });
          });
    });
  }

private:
  void emitUnit(Lanes colBlock, Lanes thread, Lanes index) {
    Indices place = append(band, colBlock);
    Lanes begin = getUnitByte(thread, index);
    std::array<Indices, kUnitWords> places;
    for (int64_t i = 0; i < kUnitWords; ++i)
      places[i] = append(place, Value(begin + i * 4));
    PrepackedUnit unit{bits, {b, band.back()}, colBlock, thread, index};
    if (toBlocks) {
      SmallVector<Lanes> words = emitGatherUnit(
          b, unit, [&](Value row, Value byte) { return loadUnit(row, byte); });
      for (int64_t i = 0; i < kUnitWords; ++i)
        storeWord(words[i], places[i]);
      return;
    }
    SmallVector<Lanes> words;
    for (const Indices &each : places)
      words.push_back(loadWord(each));
    emitScatterUnit(unit, words, [&](Lanes code, Lanes row, Lanes byte) {
      storeUnit(code, row, byte);
    });
  }

  /// A byte of a row, 0 beyond the matrix. There the last byte is read instead:
  /// a matrix without bytes has no items.
  Lanes loadUnit(Value row, Value unit) {
    Value lastRow = sub(b, rows, getIndex(b, 1));
    Value lastUnit = sub(b, getUnits(), getIndex(b, 1));
    Lanes byte = loadBits(
        b, rowMajor, getIndices(min(b, row, lastRow), min(b, unit, lastUnit)));
    return select(Lanes(b, isInside(row, unit)), extend(byte, 32),
                  Lanes(b, getI32(0)));
  }

  void storeUnit(Lanes code, Value row, Value unit) {
    emitIf(b, isInside(row, unit), [&] {
      storeBits(truncate(code, 8), rowMajor, getIndices(row, unit));
    });
  }

  Lanes loadWord(const Indices &place) {
    Lanes word(b, getI32(0));
    for (int64_t i = 0; i < 4; ++i)
      word = word |
             (extend(loadBits(b, blocks, getByteOf(place, i)), 32) << (8 * i));
    return word;
  }

  void storeWord(Lanes word, const Indices &place) {
    for (int64_t i = 0; i < 4; ++i)
      storeBits(truncate(word >> (8 * i), 8), blocks, getByteOf(place, i));
  }

  Indices getByteOf(const Indices &place, int64_t i) {
    return offsetBy(b, place, getIndex(b, i));
  }

  Indices getIndices(Value row, Value unit) {
    return append(ValueRange(band).drop_back(), {row, unit});
  }

  /// Bytes of a row.
  Value getUnits() { return bits == 4 ? div(b, cols, 2) : cols; }

  Value isInside(Value row, Value unit) {
    return isBelow(b, row, rows) & isBelow(b, unit, getUnits());
  }

  Value getI32(int32_t value) {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
  }

  ImplicitLocOpBuilder &b;
  bool toBlocks;
  int64_t bits;
  Value rowMajor, blocks;
  /// Sizes of the matrix, with an even number of columns of 4 bits.
  Value rows, cols;
  Indices bandSizes;
  /// The batch and the band of an item.
  Indices band;
};

} // namespace

void emitItems(PrepackOp op, const ItemRange &range) {
  WordMover mover(op, range);
  emitLoop(range.b, range.begin, range.end,
           [&](Value item) { mover.emitBand(item); });
}

} // namespace blockscale::cpu
