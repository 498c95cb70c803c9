//===- BitMoves.h - Bits of a word to other places --------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_EMISSION_BITMOVES_H
#define BLOCKSCALE_LIB_CONVERSION_EMISSION_BITMOVES_H

#include "Lanes.h"

#include <map>

namespace blockscale::emit {

/// Bits of a word of 32 bits that go to other places. Those that are rotated by
/// as many are moved together, in two operations or three.
class BitMoves {
public:
  static constexpr int kWidth = 32;

  /// Bit `from` of the word goes to place `to`.
  void add(int from, int to) {
    masks[(to - from + kWidth) % kWidth] |= uint32_t(1) << to;
  }

  /// The bits of `source` at their places, and 0 elsewhere.
  Lanes emit(Lanes source) const;

private:
  /// The places of the bits, by how many bits these are rotated to the left.
  std::map<int, uint32_t> masks;
};

} // namespace blockscale::emit

#endif // BLOCKSCALE_LIB_CONVERSION_EMISSION_BITMOVES_H
