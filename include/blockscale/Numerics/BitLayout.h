//===- BitLayout.h - Maps between the bits of coordinates -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiles of scales, fragments of registers and accumulators place the elements
// of a small matrix, whose sizes are powers of two, by a permutation of bits:
// each bit of the row and of the column is one bit of the place. The place has
// one coordinate, such as a byte, or several, such as a thread and a register.
// A BitLayout is this permutation as a value. The accumulator of mma.m16n8, for
// example, is
//
//   row     bits 0-2 -> thread   bits 2-4
//           bit  3   -> register bit  1
//   column  bit  0   -> register bit  0
//           bits 1-2 -> thread   bits 0-1
//
// so that element (9, 3) is in register 3 of thread 5. The templates compute
// with numbers, or emit operations for the values of a code generator
// (Index.h), one division, remainder or product where a run of bits needs it.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_BITLAYOUT_H
#define BLOCKSCALE_NUMERICS_BITLAYOUT_H

#include "blockscale/Numerics/Index.h"

#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

namespace blockscale::numerics {

/// The coordinates of an element of a matrix.
enum class MatrixDim : uint8_t { Row = 0, Col = 1 };

/// `count` neighbouring bits of the row or the column, from bit `from` on, that
/// are the bits from `to` on of coordinate number `at` of the place.
struct BitRun {
  MatrixDim dim = MatrixDim::Row;
  int from = 0;
  int at = 0;
  int to = 0;
  int count = 0;

  /// How many numbers these bits have.
  constexpr int64_t getSize() const { return int64_t(1) << count; }

  friend constexpr bool operator==(const BitRun &x, const BitRun &y) {
    return x.dim == y.dim && x.from == y.from && x.at == y.at && x.to == y.to &&
           x.count == y.count;
  }
};

/// An element of a matrix.
template <typename Index>
struct ElementIndex {
  Index row;
  Index col;
};

class BitLayout {
public:
  static constexpr int kMostRuns = 8;

  /// The layout of a matrix of one element, which has no bits.
  constexpr BitLayout() = default;
  /// The runs of each coordinate of the place, its highest bits first, in the
  /// order in which `getPlace` and `getElement` add them up.
  constexpr BitLayout(std::initializer_list<BitRun> all) {
    for (const BitRun &run : all)
      runs[size++] = run;
  }

  constexpr const BitRun *begin() const { return runs; }
  constexpr const BitRun *end() const { return runs + size; }
  constexpr bool empty() const { return size == 0; }

  /// How many bits the row or the column has, and coordinate `at` of the place.
  constexpr int getBits(MatrixDim dim) const {
    int bits = 0;
    for (const BitRun &run : *this)
      bits += run.dim == dim ? run.count : 0;
    return bits;
  }
  constexpr int getPlaceBits(int at = 0) const {
    int bits = 0;
    for (const BitRun &run : *this)
      bits += run.at == at ? run.count : 0;
    return bits;
  }
  /// The sizes of the matrix.
  constexpr int64_t getRows() const {
    return int64_t(1) << getBits(MatrixDim::Row);
  }
  constexpr int64_t getCols() const {
    return int64_t(1) << getBits(MatrixDim::Col);
  }

  /// How many low bits of coordinate `at` of the place are those of the column:
  /// two to that power are the neighbours in a row that have consecutive
  /// places, and that one access may take.
  constexpr int getContiguousBits(int at = 0) const {
    for (const BitRun &run : *this)
      if (run.dim == MatrixDim::Col && run.at == at && run.from == 0 &&
          run.to == 0)
        return run.count;
    return 0;
  }

  /// The layout of units of two to the power of `bits` neighbours in a row that
  /// have consecutive places in coordinate `at`: columns, and this coordinate,
  /// count in units.
  constexpr BitLayout inUnits(int bits, int at = 0) const {
    BitLayout units;
    for (BitRun run : *this) {
      int drop =
          run.dim == MatrixDim::Col && run.at == at && run.from == 0 ? bits : 0;
      if (run.dim == MatrixDim::Col)
        run.from -= bits - drop;
      if (run.at == at)
        run.to -= bits - drop;
      run.count -= drop;
      if (run.count > 0)
        units.runs[units.size++] = run;
    }
    return units;
  }

  /// The bits of `run` of a coordinate, as a number of their own. The
  /// coordinate has no bits above `known`.
  template <typename Index>
  static constexpr Index takeBits(Index coordinate, int from, int count,
                                  int known = 64) {
    Index below = from + count < known
                      ? coordinate % (int64_t(1) << (from + count))
                      : coordinate;
    return from > 0 ? below / (int64_t(1) << from) : below;
  }

  /// The number that the bits of `run` are for element (row, col). What is
  /// above the bits of the layout counts tiles, and is dropped.
  template <typename Index>
  static constexpr Index getDigit(const BitRun &run, Index row, Index col) {
    return takeBits(run.dim == MatrixDim::Row ? row : col, run.from, run.count);
  }

  /// Coordinate `at` of the place of element (row, col), or of that of its tile
  /// where the matrix has many. All digits are taken before they are added up.
  template <typename Index>
  constexpr Index getPlace(Index row, Index col, int at = 0) const {
    if constexpr (std::is_arithmetic_v<Index>) {
      Index place = 0;
      for (const BitRun &run : *this)
        if (run.at == at)
          place += shift(getDigit(run, row, col), run.to);
      return place;
    } else {
      std::vector<std::pair<Index, int>> digits;
      for (const BitRun &run : *this)
        if (run.at == at)
          digits.emplace_back(getDigit(run, row, col), run.to);
      if (digits.empty())
        return like(row, 0);
      Index place = shift(digits.front().first, digits.front().second);
      for (size_t i = 1; i < digits.size(); ++i)
        place = place + shift(digits[i].first, digits[i].second);
      return place;
    }
  }

  /// The inverse: the element at a place. `places` are the coordinates. Bits of
  /// one above its size go on where its highest bits are.
  template <typename Index>
  constexpr ElementIndex<Index>
  getElement(std::initializer_list<Index> places) const {
    return {getCoordinate(MatrixDim::Row, places.begin()),
            getCoordinate(MatrixDim::Col, places.begin())};
  }

  /// The element at the place whose coordinate `at` is `coordinate` and whose
  /// others are 0. The elements of all coordinates add up to that of the place.
  template <typename Index>
  constexpr ElementIndex<Index> getElementOf(int at, Index coordinate) const {
    BitLayout alone;
    for (BitRun run : *this)
      if (run.at == at) {
        run.at = 0;
        alone.runs[alone.size++] = run;
      }
    return alone.getElement({coordinate});
  }

private:
  template <typename Index>
  static constexpr Index shift(Index digit, int to) {
    return to > 0 ? digit * (int64_t(1) << to) : digit;
  }

  template <typename Index>
  constexpr Index takeRun(const BitRun &run, const Index *places) const {
    return shift(
        takeBits(places[run.at], run.to, run.count, getPlaceBits(run.at)),
        run.from);
  }

  template <typename Index>
  constexpr Index getCoordinate(MatrixDim dim, const Index *places) const {
    for (const BitRun *run = begin(); run != end(); ++run)
      if (run->dim == dim)
        return addRuns(takeRun(*run, places), run + 1, dim, places);
    return like(places[0], 0);
  }

  template <typename Index>
  constexpr Index addRuns(Index sum, const BitRun *run, MatrixDim dim,
                          const Index *places) const {
    for (; run != end(); ++run)
      if (run->dim == dim)
        return addRuns(sum + takeRun(*run, places), run + 1, dim, places);
    return sum;
  }

  BitRun runs[kMostRuns] = {};
  int size = 0;
};

constexpr bool operator==(const BitLayout &x, const BitLayout &y) {
  const BitRun *other = y.begin();
  if (x.end() - x.begin() != y.end() - y.begin())
    return false;
  for (const BitRun &run : x)
    if (!(run == *other++))
      return false;
  return true;
}
constexpr bool operator!=(const BitLayout &x, const BitLayout &y) {
  return !(x == y);
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_BITLAYOUT_H
