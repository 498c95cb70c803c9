//===- PrepackPiece.cpp - A thread's piece of prepacked data --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PrepackPiece.h"
#include "DeviceCode.h"
#include "Emission/BitMoves.h"

#include <array>

using namespace mlir;
using namespace blockscale::numerics;

namespace blockscale {

using emit::Lanes;

namespace {

/// Columns of which each thread of a quad has two.
constexpr int64_t kGroupCols = 8;
constexpr int64_t kPieceWords = kPieceUnits * kUnitWords;

/// A code of a thread's piece: its unit, register and half there, its row,
/// upper or lower, and among which eight columns of the piece it is.
struct PieceCode {
  int64_t unit, reg, half, isLower, group;
};

class PieceGatherer {
public:
  PieceGatherer(KernelBuilder &b, int64_t bits, Lanes inQuad)
      : b(b), bits(bits), inQuad(inQuad) {}

  /// Of codes in bytes.
  SmallVector<Lanes> emitBytes(ArrayRef<Lanes> upper, ArrayRef<Lanes> lower);
  /// Of codes of 4 bits.
  SmallVector<Lanes> emitNibbles(ArrayRef<Lanes> upper, ArrayRef<Lanes> lower);

private:
  /// Four bytes of two words, by the numbers in the nibbles of `selector`.
  Lanes permute(Lanes first, Lanes second, Value selector) {
    return {b, b.callIntrinsic("llvm.nvvm.prmt", {first, second, selector})};
  }
  /// The byte that the thread has in each of four words.
  Lanes emitOwnBytes(ArrayRef<Lanes> words);

  KernelBuilder &b;
  int64_t bits;
  Lanes inQuad;
};

} // namespace

static void forEachCode(int64_t bits,
                        function_ref<void(const PieceCode &)> body) {
  for (int64_t unit = 0; unit < kPieceUnits; ++unit)
    for (int64_t reg = 0; reg < getUnitRegisters(bits); ++reg)
      for (int64_t half = 0; half < 2; ++half) {
        int64_t product =
            unit * getUnitProducts(bits) + reg / kFragmentRegisters;
        ElementIndex<int64_t> element = getFragmentElement(
            FragmentPlace<int64_t>{0, product, reg % kFragmentRegisters, half});
        body({unit, reg, half, element.row != 0, element.col / kGroupCols});
      }
}

Lanes PieceGatherer::emitOwnBytes(ArrayRef<Lanes> words) {
  Lanes selector = inQuad * 0x11 + 0x40;
  return permute(permute(words[0], words[1], selector),
                 permute(words[2], words[3], selector), b.i32(0x5410));
}

SmallVector<Lanes> PieceGatherer::emitBytes(ArrayRef<Lanes> upper,
                                            ArrayRef<Lanes> lower) {
  // A group of columns are two words, each of two threads.
  Lanes isSecond = emit::isEqual(inQuad >> 1, 1);
  Lanes selector = (inQuad & 1) * 0x2222 + 0x5410;
  SmallVector<Lanes> words(kPieceWords);
  forEachCode(bits, [&](const PieceCode &code) {
    Lanes &word = words[code.unit * kUnitWords + code.reg / 2];
    if (word)
      return;
    auto choose = [&](ArrayRef<Lanes> row) {
      return select(isSecond, row[2 * code.group + 1], row[2 * code.group]);
    };
    word = permute(choose(upper), choose(lower), selector);
  });
  return words;
}

SmallVector<Lanes> PieceGatherer::emitNibbles(ArrayRef<Lanes> upper,
                                              ArrayRef<Lanes> lower) {
  constexpr uint32_t kEven = 0x0F0F0F0F;
  // A group of columns is a word. From its own byte of each, in both rows, the
  // thread makes a pair of bytes: of the even column in the first half of a
  // word, and of the odd one in the second. The upper row is the upper nibble,
  // so that registers of both rows are rotated alike.
  SmallVector<Lanes> pairs;
  for (size_t i = 0; i < upper.size(); i += 4) {
    Lanes first = emitOwnBytes(upper.slice(i, 4));
    Lanes second = emitOwnBytes(lower.slice(i, 4));
    Lanes even = ((first << 4) & ~kEven) | (second & kEven);
    Lanes odd = (first & ~kEven) | ((second >> 4) & kEven);
    for (uint32_t group = 0; group < 4; ++group)
      pairs.push_back(permute(even, odd, b.i32(group * 0x1111 + 0x4400)));
  }
  SmallVector<std::array<emit::BitMoves, kPieceWords>> moves(pairs.size());
  forEachCode(bits, [&](const PieceCode &code) {
    int place = static_cast<int>(16 * code.half + (code.isLower ? 0 : 4));
    for (int bit = 0; bit < 4; ++bit) {
      CodePart part = getCodeBit(bit, code.reg, code.half);
      moves[code.group][code.unit * kUnitWords + part.word].add(
          place + bit, bit + part.distance);
    }
  });
  SmallVector<Lanes> words(kPieceWords, b.i32(0));
  for (size_t group = 0; group < pairs.size(); ++group)
    for (int64_t i = 0; i < kPieceWords; ++i)
      words[i] = words[i] | moves[group][i].emit(pairs[group]);
  return words;
}

SmallVector<Lanes> emitGatherPiece(KernelBuilder &b, int64_t bits, Lanes inQuad,
                                   ArrayRef<Lanes> upper,
                                   ArrayRef<Lanes> lower) {
  PieceGatherer gatherer(b, bits, inQuad);
  return bits == 4 ? gatherer.emitNibbles(upper, lower)
                   : gatherer.emitBytes(upper, lower);
}

} // namespace blockscale
