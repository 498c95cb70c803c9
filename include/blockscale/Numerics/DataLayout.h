//===- DataLayout.h - Where prepacked codes lie -----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The fragments_64x64 layout of a matrix of codes of 4 bits or in bytes: padded
// with code 0 to multiples of 64 rows and 64 columns and cut in blocks, which
// are stored row-major. A block has the order in which the threads of a
// warpgroup hold operand A of wgmma.mma_async.m64nNk16 in registers (PTX ISA),
// so that a thread loads 16 bytes at a time and shuffles nothing.
//
// A block is four products of 16 columns. In each, thread 32 * warp + lane has
// four registers q of a pair of elements, half 0 and half 1:
//
//   row    = 16 * warp + lane div 4 + 8 * (q mod 2)
//   column = 16 * product + 2 * (lane mod 4) + 8 * (q div 2) + half
//
// Two words are a *unit*, of which a thread has several. Codes in bytes: a unit
// is a product, with a pair of bytes for each register. Products 0 and 1 of a
// thread are 16 bytes in the first half of the block, products 2 and 3 in the
// second.
//
// Codes of 4 bits: a unit has the eight registers of two products, and the 16
// bytes of a thread are two units. A code s e1 e0 m has the places 15, 8, 7 and
// 6 in a half of a register, where it is a bf16, the value of the code times
// 2^-126. Each register is a word that is rotated and masked:
//
//   register   0  1   2  3     4  5   6   7
//   word       0  0   0  rest  1  1   1   rest
//   rotated    0  4  10  8     2  6  12  14     bits to the left
//
// Three registers leave a quarter of a word. Those of both words together are
// the rest: its bits 0, 1, 9 and 10 of each half are word 0's, and the others
// word 1's. A quarter alone would take three shifts and masks, and nibbles that
// lie beside each other two for each register.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_DATALAYOUT_H
#define BLOCKSCALE_NUMERICS_DATALAYOUT_H

#include "blockscale/Numerics/BitLayout.h"

namespace blockscale::numerics {

/// The coordinates of the place of an element in a block.
inline constexpr int kFragmentThread = 0;
inline constexpr int kFragmentProduct = 1;
inline constexpr int kFragmentRegister = 2;
inline constexpr int kFragmentHalf = 3;

/// Which thread has an element of a block, and where.
inline constexpr BitLayout kFragments64x64 = {
    {MatrixDim::Row, 4, kFragmentThread, 5, 2},
    {MatrixDim::Row, 0, kFragmentThread, 2, 3},
    {MatrixDim::Row, 3, kFragmentRegister, 0, 1},
    {MatrixDim::Col, 4, kFragmentProduct, 0, 2},
    {MatrixDim::Col, 1, kFragmentThread, 0, 2},
    {MatrixDim::Col, 3, kFragmentRegister, 1, 1},
    {MatrixDim::Col, 0, kFragmentHalf, 0, 1}};

inline constexpr int64_t kFragmentRows = kFragments64x64.getRows();
inline constexpr int64_t kFragmentCols = kFragments64x64.getCols();

/// Threads that share a block, and the bytes that one of them loads at once.
inline constexpr int64_t kFragmentThreads =
    int64_t(1) << kFragments64x64.getPlaceBits(kFragmentThread);
inline constexpr int64_t kFragmentThreadBytes = 16;

/// Columns of a product, the products of a block, and the registers of a thread
/// in one product.
inline constexpr int64_t kFragmentProducts =
    int64_t(1) << kFragments64x64.getPlaceBits(kFragmentProduct);
inline constexpr int64_t kProductCols = kFragmentCols / kFragmentProducts;
inline constexpr int64_t kFragmentRegisters =
    int64_t(1) << kFragments64x64.getPlaceBits(kFragmentRegister);

/// The code of elements beyond the matrix.
inline constexpr uint8_t kDataPadding = 0;

/// Blocks along `size` rows, or as many columns.
template <typename Index>
constexpr Index getFragmentBlocks(Index size) {
  static_assert(kFragmentRows == kFragmentCols);
  return ceilDivide(size, kFragmentRows);
}

/// Bytes of a block of codes of `bits` bits, 4 or 8.
constexpr int64_t getFragmentBlockBytes(int64_t bits) {
  return kFragmentRows * kFragmentCols * bits / 8;
}

//===----------------------------------------------------------------------===//
// Threads and elements
//===----------------------------------------------------------------------===//

/// The thread that has an element of a block, and where.
template <typename Index>
struct FragmentPlace {
  Index thread;
  Index product;
  Index reg;
  Index half;
};

/// The place of element (row, col) of a matrix in its block.
template <typename Index>
constexpr FragmentPlace<Index> getFragmentPlace(Index row, Index col) {
  return {kFragments64x64.getPlace(row, col, kFragmentThread),
          kFragments64x64.getPlace(row, col, kFragmentProduct),
          kFragments64x64.getPlace(row, col, kFragmentRegister),
          kFragments64x64.getPlace(row, col, kFragmentHalf)};
}

/// The inverse: the element of a block at a place.
template <typename Index>
constexpr ElementIndex<Index> getFragmentElement(FragmentPlace<Index> place) {
  return kFragments64x64.getElement(
      {place.thread, place.product, place.reg, place.half});
}

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

inline constexpr int64_t kUnitWords = 2;

/// Products that share a unit: 2 or 1.
constexpr int64_t getUnitProducts(int64_t bits) { return 8 / bits; }

/// Registers of a unit, and units of a thread.
constexpr int64_t getUnitRegisters(int64_t bits) {
  return kFragmentRegisters * getUnitProducts(bits);
}
constexpr int64_t getThreadUnits(int64_t bits) {
  return kFragmentProducts / getUnitProducts(bits);
}

/// The byte in its block where unit `unit` of a thread begins. The units of a
/// thread fill pieces of 16 bytes, which those of other threads follow.
template <typename Index>
constexpr Index getUnitByte(Index thread, Index unit) {
  constexpr int64_t bytes = 4 * kUnitWords;
  constexpr int64_t units = kFragmentThreadBytes / bytes;
  return unit / units * (kFragmentThreads * kFragmentThreadBytes) +
         thread * kFragmentThreadBytes + unit % units * bytes;
}

/// The places of bits m, e0, e1 and s of a code of 4 bits in half 0 of a
/// register.
inline constexpr int kCodePlaces[4] = {6, 7, 8, 15};

/// By how many bits the word of each register of a unit of codes of 4 bits is
/// rotated to the left.
inline constexpr int kRotations[8] = {0, 4, 10, 8, 2, 6, 12, 14};

/// By how many bits more the words of registers of a unit's second product are
/// rotated than those of its first, and the rest.
inline constexpr int kNextRotation = kRotations[4] - kRotations[0];
inline constexpr int kNextRestRotation = kRotations[7] - kRotations[3];
static_assert(kRotations[5] - kRotations[1] == kNextRotation &&
              kRotations[6] - kRotations[2] == kNextRotation);

/// The bits of the rest that are word 0's. Others are word 1's.
inline constexpr uint32_t kRestBits = 0x06030603;

/// Whether a register of a unit is in the rest.
constexpr bool isInRest(int64_t reg) { return reg % 4 == 3; }

/// The word of a register that is not.
constexpr int64_t getRegisterWord(int64_t reg) { return reg / 4; }

/// Bits of a code, their word, and by how many bits they are to the left of
/// their place in the code; to the right, if it is negative.
struct CodePart {
  uint32_t mask;
  int64_t word;
  int distance;
};

/// The part that bit `bit` of a code of 4 bits is, alone.
constexpr CodePart getCodeBit(int bit, int64_t reg, int64_t half) {
  int place =
      (kCodePlaces[bit] + 16 * static_cast<int>(half) + 32 - kRotations[reg]) %
      32;
  int64_t word =
      isInRest(reg) ? 1 - (kRestBits >> place & 1) : getRegisterWord(reg);
  return {uint32_t(1) << bit, word, place - bit};
}

/// Calls `body` with the parts of a code in half `half` of register `reg`.
template <typename Body>
constexpr void forEachCodePart(int64_t reg, int64_t half, int64_t bits,
                               const Body &body) {
  if (bits == 8) {
    body(CodePart{0xFF, reg / 2, static_cast<int>(16 * (reg % 2) + 8 * half)});
    return;
  }
  CodePart part = getCodeBit(0, reg, half);
  for (int bit = 1; bit < 4; ++bit) {
    CodePart next = getCodeBit(bit, reg, half);
    bool isSame = next.word == part.word && next.distance == part.distance;
    if (!isSame)
      body(part);
    part = isSame ? CodePart{part.mask | next.mask, part.word, part.distance}
                  : next;
  }
  body(part);
}

/// The bits of word `word` of a unit that are the code of half `half` of
/// register `reg`.
template <typename Word>
constexpr Word placeCode(Word code, int64_t reg, int64_t half, int64_t bits,
                         int64_t word) {
  Word placed = like(code, 0);
  forEachCodePart(reg, half, bits, [&](CodePart part) {
    if (part.word != word)
      return;
    Word own = code & part.mask;
    placed = placed |
             (part.distance < 0 ? own >> -part.distance : own << part.distance);
  });
  return placed;
}

/// The code of half `half` of register `reg` in the words of its unit.
template <typename Word>
constexpr Word takeCode(const Word *words, int64_t reg, int64_t half,
                        int64_t bits) {
  Word code = like(words[0], 0);
  forEachCodePart(reg, half, bits, [&](CodePart part) {
    const Word &word = words[part.word];
    code = code | ((part.distance < 0 ? word << -part.distance
                                      : word >> part.distance) &
                   part.mask);
  });
  return code;
}

//===----------------------------------------------------------------------===//
// One matrix
//===----------------------------------------------------------------------===//

/// Number of the block of (row, col) in a matrix with `colBlocks` blocks beside
/// each other.
template <typename Index>
constexpr Index getFragmentBlock(Index row, Index col, Index colBlocks) {
  return row / kFragmentRows * colBlocks + col / kFragmentCols;
}

/// Bytes of a prepacked matrix, padding included.
constexpr int64_t getPrepackedSize(int64_t rows, int64_t cols, int64_t bits) {
  return getFragmentBlocks(rows) * getFragmentBlocks(cols) *
         getFragmentBlockBytes(bits);
}

/// The byte of a prepacked matrix of `cols` columns where the unit begins that
/// has element (row, col), whose place is `place`.
constexpr int64_t getPrepackedUnitByte(FragmentPlace<int64_t> place,
                                       int64_t row, int64_t col, int64_t cols,
                                       int64_t bits) {
  return getFragmentBlock(row, col, getFragmentBlocks(cols)) *
             getFragmentBlockBytes(bits) +
         getUnitByte(place.thread, place.product / getUnitProducts(bits));
}

/// The register of its unit that a place is in.
constexpr int64_t getUnitRegister(FragmentPlace<int64_t> place, int64_t bits) {
  return place.product % getUnitProducts(bits) * kFragmentRegisters + place.reg;
}

/// Puts the code of (row, col) of a matrix of `cols` columns in `prepacked`,
/// which has padding there.
constexpr void storePrepacked(uint8_t *prepacked, uint8_t code, int64_t row,
                              int64_t col, int64_t cols, int64_t bits) {
  FragmentPlace<int64_t> place = getFragmentPlace(row, col);
  uint8_t *bytes =
      prepacked + getPrepackedUnitByte(place, row, col, cols, bits);
  for (int i = 0; i < 4 * kUnitWords; ++i) {
    auto word = placeCode<uint32_t>(code, getUnitRegister(place, bits),
                                    place.half, bits, i / 4);
    bytes[i] = static_cast<uint8_t>(bytes[i] | word >> (i % 4 * 8));
  }
}

/// The code of (row, col) of a prepacked matrix of `cols` columns.
constexpr uint8_t loadPrepacked(const uint8_t *prepacked, int64_t row,
                                int64_t col, int64_t cols, int64_t bits) {
  FragmentPlace<int64_t> place = getFragmentPlace(row, col);
  const uint8_t *bytes =
      prepacked + getPrepackedUnitByte(place, row, col, cols, bits);
  uint32_t words[kUnitWords] = {};
  for (int i = 0; i < 4 * kUnitWords; ++i)
    words[i / 4] |= static_cast<uint32_t>(bytes[i]) << (i % 4 * 8);
  return static_cast<uint8_t>(
      takeCode(words, getUnitRegister(place, bits), place.half, bits));
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_DATALAYOUT_H
