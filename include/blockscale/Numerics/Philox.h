//===- Philox.h - Random bits of elements -----------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy
// as 1, 2, 3") turns a counter and a key into 128 random bits. Bits belong to
// elements, not to threads: 8 to each element of x, whatever the order of work.
//
// Assignment. x is rows of K elements, all leading dimensions counted as rows,
// whichever way its blocks run and whether the result is transposed. A group is
// 16 elements of a row (fewer at its end); groups are counted along rows:
//
//   group     row * ceil(K / 16) + column div 16
//   counter   group (low, high 32 bits), offset (low, high)
//   key       seed (low, high)
//   word      (column mod 16) div 4, of the four words of the result
//   byte      0, 2, 1, 3 for column mod 4 = 0, 1, 2, 3; byte 0 is the lowest
//
// So one word serves the four elements of one PTX instruction
//
//   cvt.rs.satfinite.e2m1x4.f32 d, {x3, x2, x1, x0}, word
//
// which takes the upper byte of each half of the word for its first two sources
// and the lower ones for the others. Which half belongs to which of the two is
// read off no document; here the upper half is the former's. Equality with
// silicon is unproved.
//
// Two quantizations of one x draw the same bits unless their offsets differ.
//
// Of an x that is a part of a larger tensor, whole groups of its rows, the
// group is counted in that one if `rng` says where x lies:
//
//   group     first + row * per_row + column div 16
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_PHILOX_H
#define BLOCKSCALE_NUMERICS_PHILOX_H

#include <cstdint>

namespace blockscale::numerics {

//===----------------------------------------------------------------------===//
// The generator
//===----------------------------------------------------------------------===//

inline constexpr int kPhiloxRounds = 10;
inline constexpr uint32_t kPhiloxMultiplier0 = 0xD2511F53u;
inline constexpr uint32_t kPhiloxMultiplier1 = 0xCD9E8D57u;
/// Added to the key between rounds: the golden ratio and sqrt(3) - 1.
inline constexpr uint32_t kPhiloxWeyl0 = 0x9E3779B9u;
inline constexpr uint32_t kPhiloxWeyl1 = 0xBB67AE85u;

/// Four words: uint32_t, or values that emit operations.
template <typename Word>
struct PhiloxWordsOf {
  Word word[4];
};
using PhiloxWords = PhiloxWordsOf<uint32_t>;

/// The low and the high word of a product.
template <typename Word>
struct WideProduct {
  Word low;
  Word high;
};
constexpr WideProduct<uint32_t> multiplyWide(uint32_t x, uint32_t y) {
  uint64_t product = static_cast<uint64_t>(x) * y;
  return {static_cast<uint32_t>(product), static_cast<uint32_t>(product >> 32)};
}

/// Philox4x32-10 of a counter and a key.
template <typename Word>
constexpr PhiloxWordsOf<Word> runPhilox4x32(PhiloxWordsOf<Word> counter,
                                            Word key0, Word key1) {
  PhiloxWordsOf<Word> state = counter;
  for (int round = 0; round < kPhiloxRounds; ++round) {
    WideProduct<Word> first = multiplyWide(state.word[0], kPhiloxMultiplier0);
    WideProduct<Word> second = multiplyWide(state.word[2], kPhiloxMultiplier1);
    state = {{second.high ^ state.word[1] ^ key0, second.low,
              first.high ^ state.word[3] ^ key1, first.low}};
    key0 = key0 + kPhiloxWeyl0;
    key1 = key1 + kPhiloxWeyl1;
  }
  return state;
}
constexpr PhiloxWords philox4x32(PhiloxWords counter, uint32_t key0,
                                 uint32_t key1) {
  return runPhilox4x32(counter, key0, key1);
}

//===----------------------------------------------------------------------===//
// The assignment
//===----------------------------------------------------------------------===//

/// Elements of a row that share one result of the generator, and one word.
inline constexpr int64_t kRandomGroup = 16;
inline constexpr int64_t kRandomWordElements = 4;

/// The numbers of an op's `rng` operand: seed and offset, and behind them, if x
/// is a part of a larger tensor, the group of its first element there and the
/// groups of a row of that tensor.
inline constexpr int64_t kRandomNumbers = 2;
inline constexpr int64_t kPlacedRandomNumbers = 4;

/// Seed and offset.
struct RngState {
  uint64_t seed = 0;
  uint64_t offset = 0;
};

constexpr int64_t getRandomGroup(int64_t row, int64_t col, int64_t cols) {
  return row * ((cols + kRandomGroup - 1) / kRandomGroup) + col / kRandomGroup;
}

/// The bits of the 16 elements of a group.
constexpr PhiloxWords getRandomWords(const RngState &rng, int64_t group) {
  auto counter = static_cast<uint64_t>(group);
  return philox4x32(
      {{static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32),
        static_cast<uint32_t>(rng.offset),
        static_cast<uint32_t>(rng.offset >> 32)}},
      static_cast<uint32_t>(rng.seed), static_cast<uint32_t>(rng.seed >> 32));
}

/// Which byte of a word the element `position` of its four takes.
constexpr int getRandomByteNumber(int64_t position) {
  constexpr int kByteOfElement[kRandomWordElements] = {0, 2, 1, 3};
  return kByteOfElement[position];
}

/// The 8 bits of element `position` of a group.
constexpr uint8_t getRandomByte(const PhiloxWords &words, int64_t position) {
  uint32_t word = words.word[position / kRandomWordElements];
  return static_cast<uint8_t>(
      word >> 8 * getRandomByteNumber(position % kRandomWordElements));
}

/// The 8 bits of element (row, col) of a matrix with `cols` columns.
constexpr uint8_t getRandomByte(const RngState &rng, int64_t row, int64_t col,
                                int64_t cols) {
  return getRandomByte(getRandomWords(rng, getRandomGroup(row, col, cols)),
                       col % kRandomGroup);
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_PHILOX_H
