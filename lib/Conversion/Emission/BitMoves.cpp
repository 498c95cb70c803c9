//===- BitMoves.cpp - Bits of a word to other places ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BitMoves.h"

namespace blockscale::emit {

Lanes BitMoves::emit(Lanes source) const {
  Lanes bits = source.like(0);
  for (auto [rotation, mask] : masks) {
    uint32_t fromLeft = (uint32_t(1) << rotation) - 1;
    Lanes moved = source;
    if (!(mask & fromLeft))
      moved = rotation ? source << rotation : source;
    else if (!(mask & ~fromLeft))
      moved = source >> (kWidth - rotation);
    else
      moved = (source << rotation) | (source >> (kWidth - rotation));
    bits = bits | (moved & mask);
  }
  return bits;
}

} // namespace blockscale::emit
