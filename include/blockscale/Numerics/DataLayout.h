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
// Codes of 4 bits: the 16 bytes of a thread are a little-endian word for each
// product, with half 0 of its registers in bits 0 .. 15 and half 1 in the same
// places of bits 16 .. 31. Of the code s e1 e0 m,
//
//   bit   15  14  13  12  11  10   9   8   7   6   5   4   3   2   1   0
//   q = 0  s                          e1  e0   m
//   q = 1              s                          e1  e0   m
//   q = 2                          s                         e1  e0   m
//   q = 3      s  e1      e0   m
//
// A register of q = 0 is a mask of the word, and it is a pair of bf16, each the
// value of its code times 2^-126; q = 1 and 2 take a shift more. Only q = 3,
// for which no such place is left, is put together from three parts. Nibbles
// that lie beside each other would take two shifts and two masks for each
// register.
//
// Codes in bytes: products 0 and 1 of a thread are 16 bytes in the first half
// of the block, products 2 and 3 in the second. Each product has a pair of
// bytes for each register, which are two words.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_DATALAYOUT_H
#define BLOCKSCALE_NUMERICS_DATALAYOUT_H

#include "blockscale/Numerics/Index.h"

namespace blockscale::numerics {

inline constexpr int64_t kFragmentRows = 64;
inline constexpr int64_t kFragmentCols = 64;

/// Threads that share a block, and the bytes that one of them loads at once.
inline constexpr int64_t kFragmentThreads = 128;
inline constexpr int64_t kFragmentThreadBytes = 16;

/// Columns of a product, the products of a block, and the registers of a thread
/// in one product.
inline constexpr int64_t kProductCols = 16;
inline constexpr int64_t kFragmentProducts = kFragmentCols / kProductCols;
inline constexpr int64_t kFragmentRegisters = 4;

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

template <typename Index>
struct ElementIndex {
  Index row;
  Index col;
};

/// The place of element (row, col) of a matrix in its block.
template <typename Index>
constexpr FragmentPlace<Index> getFragmentPlace(Index row, Index col) {
  Index warp = row % kFragmentRows / 16, inProduct = col % kProductCols;
  return {warp * 32 + row % 8 * 4 + inProduct % 8 / 2,
          col % kFragmentCols / kProductCols, row % 16 / 8 + inProduct / 8 * 2,
          col % 2};
}

/// The inverse: the element of a block at a place.
template <typename Index>
constexpr ElementIndex<Index> getFragmentElement(FragmentPlace<Index> place) {
  Index warp = place.thread / 32, lane = place.thread % 32;
  return {warp * 16 + lane / 4 + place.reg % 2 * 8,
          place.product * kProductCols + lane % 4 * 2 + place.reg / 2 * 8 +
              place.half};
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

/// Words of 32 bits that a thread has for a product: 1 or 2.
constexpr int64_t getFragmentWords(int64_t bits) { return bits / 4; }

/// The word of register `reg` among these.
constexpr int64_t getFragmentWord(int64_t reg, int64_t bits) {
  return bits == 4 ? 0 : reg / 2;
}

/// The byte in its block where word `word` of a thread and product begins. The
/// words of a thread fill pieces of 16 bytes, which those of other threads
/// follow.
template <typename Index>
constexpr Index getFragmentWordByte(Index thread, Index product, int64_t word,
                                    int64_t bits) {
  int64_t products = kFragmentThreadBytes / (4 * getFragmentWords(bits));
  return product / products * (kFragmentThreads * kFragmentThreadBytes) +
         thread * kFragmentThreadBytes +
         product % products * (4 * getFragmentWords(bits)) + 4 * word;
}

/// Bits of a code, and by how many they are shifted to the left.
struct CodePart {
  uint32_t mask;
  int shift;
};

/// What is done to codes of 4 bits in half 0 of each register: the sign, the
/// upper bit of the exponent, and the two bits below it.
inline constexpr CodePart kCodeParts[kFragmentRegisters][3] = {
    {{8, 12}, {4, 6}, {3, 6}},
    {{8, 9}, {4, 3}, {3, 3}},
    {{8, 6}, {4, 0}, {3, 0}},
    {{8, 11}, {4, 11}, {3, 10}}};

/// By how many bits a code that takes a byte is shifted in its word.
constexpr int getByteShift(int64_t reg, int64_t half) {
  return static_cast<int>(16 * (reg % 2) + 8 * half);
}

/// The bits of a word that are the code of half `half` of register `reg`.
template <typename Word>
constexpr Word placeCode(Word code, int64_t reg, int64_t half, int64_t bits) {
  if (bits == 8)
    return code << getByteShift(reg, half);
  Word word = like(code, 0);
  for (CodePart part : kCodeParts[reg])
    word = word | (code & part.mask)
                      << (part.shift + 16 * static_cast<int>(half));
  return word;
}

/// The code of half `half` of register `reg` in its word.
template <typename Word>
constexpr Word takeCode(Word word, int64_t reg, int64_t half, int64_t bits) {
  if (bits == 8)
    return word >> getByteShift(reg, half) & 0xFFu;
  Word code = like(word, 0);
  for (CodePart part : kCodeParts[reg])
    code =
        code | (word >> (part.shift + 16 * static_cast<int>(half)) & part.mask);
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

/// The byte of a prepacked matrix of `cols` columns where the word begins that
/// has element (row, col), whose place is `place`.
constexpr int64_t getPrepackedWordByte(FragmentPlace<int64_t> place,
                                       int64_t row, int64_t col, int64_t cols,
                                       int64_t bits) {
  return getFragmentBlock(row, col, getFragmentBlocks(cols)) *
             getFragmentBlockBytes(bits) +
         getFragmentWordByte(place.thread, place.product,
                             getFragmentWord(place.reg, bits), bits);
}

/// Puts the code of (row, col) of a matrix of `cols` columns in `prepacked`,
/// which has padding there.
constexpr void storePrepacked(uint8_t *prepacked, uint8_t code, int64_t row,
                              int64_t col, int64_t cols, int64_t bits) {
  FragmentPlace<int64_t> place = getFragmentPlace(row, col);
  auto word = placeCode<uint32_t>(code, place.reg, place.half, bits);
  uint8_t *bytes =
      prepacked + getPrepackedWordByte(place, row, col, cols, bits);
  for (int i = 0; i < 4; ++i)
    bytes[i] = static_cast<uint8_t>(bytes[i] | word >> (8 * i));
}

/// The code of (row, col) of a prepacked matrix of `cols` columns.
constexpr uint8_t loadPrepacked(const uint8_t *prepacked, int64_t row,
                                int64_t col, int64_t cols, int64_t bits) {
  FragmentPlace<int64_t> place = getFragmentPlace(row, col);
  const uint8_t *bytes =
      prepacked + getPrepackedWordByte(place, row, col, cols, bits);
  uint32_t word = 0;
  for (int i = 0; i < 4; ++i)
    word |= static_cast<uint32_t>(bytes[i]) << (8 * i);
  return static_cast<uint8_t>(takeCode(word, place.reg, place.half, bits));
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_DATALAYOUT_H
