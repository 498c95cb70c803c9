//===- StreamOrder.h - Lanes of streams of elements -------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Words of memory are taken apart into streams: of n words that follow one
// another, each goes to the same lane of another vector. n is 1, 2, 4 or 8.
//
// The words of n rows of lanes, as memory has them, are moved within pieces of
// four lanes, 128 bits, which takes one instruction for each vector and bit of
// n. With n = 4, each piece is a 4x4 transposition:
//
//   row 0:  0  1  2  3 |  4  5  6  7      stream 0:  0  8 16 24 |  4 12 20 28
//   row 1:  8  9 10 11 | 12 13 14 15      stream 1:  1  9 17 25 |  5 13 21 29
//   row 2: 16 17 18 19 | 20 21 22 23      stream 2:  2 10 18 26 |  6 14 22 30
//   row 3: 24 25 26 27 | 28 29 30 31      stream 3:  3 11 19 27 |  7 15 23 31
//
// A lane belongs to n words, and to one block, but its neighbours do not follow
// one another in memory.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_STREAMORDER_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_STREAMORDER_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace blockscale::cpu {

/// Lanes of i32 in 128 bits.
inline constexpr int64_t kPieceLanes = 4;

/// The numbers of lanes of two vectors, those of the second one after the
/// first one's, that a shuffle takes.
using TakenLanes = llvm::SmallVector<int64_t>;

/// Runs of `run` lanes from the lower or the upper halves of the pieces of two
/// vectors, by turns.
TakenLanes takeByTurns(int64_t lanes, int64_t run, bool isUpper);

/// Runs of `run` lanes of two vectors, every second one, as many of either
/// vector as fill a piece or more.
TakenLanes takeEverySecond(int64_t lanes, int64_t run, bool isSecond);

/// The streams of `rows` of `lanes` lanes, whose number is 1, 2, 4 or 8: stream
/// i has the words i, i + n, .. of all. shuffle(a, b, taken) makes a vector of
/// lanes of two.
template <typename Vector, typename Shuffle>
llvm::SmallVector<Vector> splitRows(llvm::ArrayRef<Vector> rows, int64_t lanes,
                                    const Shuffle &shuffle) {
  using Vectors = llvm::SmallVector<Vector>;
  auto takeHalves = [&](const Vectors &from, int64_t run) {
    Vectors halves;
    for (size_t i = 0; i < from.size(); i += 2)
      for (bool isUpper : {false, true})
        halves.push_back(
            shuffle(from[i], from[i + 1], takeByTurns(lanes, run, isUpper)));
    return halves;
  };
  auto takeSeconds = [&](const Vector &a, const Vector &b, int64_t run,
                         bool isSecond) {
    return shuffle(a, b, takeEverySecond(lanes, run, isSecond));
  };
  switch (rows.size()) {
  case 1:
    return Vectors(rows);
  case 2:
    return {takeSeconds(rows[0], rows[1], 1, false),
            takeSeconds(rows[0], rows[1], 1, true)};
  case 4: {
    Vectors pairs = takeHalves(Vectors(rows), 1);
    return takeHalves({pairs[0], pairs[2], pairs[1], pairs[3]}, 2);
  }
  default:
    // Eight words are two neighbouring pieces.
    Vectors left = splitRows(rows.take_front(4), lanes, shuffle);
    Vectors right = splitRows(rows.drop_front(4), lanes, shuffle);
    Vectors streams;
    for (bool isSecond : {false, true})
      for (auto [a, b] : llvm::zip_equal(left, right))
        streams.push_back(takeSeconds(a, b, kPieceLanes, isSecond));
    return streams;
  }
}

/// Which words and blocks the lanes of streams belong to.
struct StreamOrder {
  StreamOrder() = default;
  /// `lanes` of each of `streams` vectors have all elements of some blocks.
  StreamOrder(int64_t lanes, int64_t streams, int64_t blocks);

  /// The lanes that are compared with each other to halve the lanes of blocks.
  struct Halves {
    llvm::SmallVector<int64_t> left, right;
  };
  /// Steps from lanes to one lane for each block.
  llvm::SmallVector<Halves> reductions;
  /// The block of each lane that the reductions leave.
  llvm::SmallVector<int64_t> blockOfLane;
  /// The lane that the reductions leave of the block of each lane.
  llvm::SmallVector<int64_t> blockLaneOfLane;
  /// The lane of the streams for each group of words, in the order of memory.
  llvm::SmallVector<int64_t> laneOfData;

  /// The lane of each of `count` blocks, in the order of memory, where vectors
  /// of reduced lanes follow one another.
  llvm::SmallVector<int64_t> getLanesOfBlocks(int64_t count) const;
};

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_STREAMORDER_H
