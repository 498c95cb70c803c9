//===- Swizzle.h - Swizzled addresses of shared memory ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The swizzles of shared memory: permutations of the chunks of a row.
//
// PTX ISA, section "Swizzling Modes": within a row of 128 bytes of shared
// memory, chunks trade places; which ones, the row tells. The pattern is one of
// absolute addresses: copies of tiles and descriptors of matrices agree on it
// without knowing of each other.
//
//   mode                 chunk   chunk index ^=    pattern repeats after
//   Span32               16 B    row & 1           256 B
//   Span64               16 B    row & 3           512 B
//   Span128              16 B    row & 7           1024 B
//   Span128Atom32        32 B    row & 3           512 B
//   Span128Atom32Flip8   32 B    row & 3           512 B, and in odd rows the
//                                                  halves of each 16 B swap
//   Span128Atom64        64 B    row & 1           256 B
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_EMULATOR_SWIZZLE_H
#define BLOCKSCALE_EMULATOR_SWIZZLE_H

#include <cstdint>

namespace blockscale::emulator {

/// The mode of a swizzle, with the numbers of CUtensorMapSwizzle.
enum class Swizzle : uint8_t {
  None,
  Span32,
  Span64,
  Span128,
  Span128Atom32,
  Span128Atom32Flip8,
  Span128Atom64,
};

/// Bytes within which chunks trade places: the widest row of a tile. 0 without
/// a swizzle.
unsigned getSpan(Swizzle swizzle);

/// Bytes that stay together at every address.
unsigned getAtom(Swizzle swizzle);

/// Where the byte of a linear address is; its own inverse. `baseOffset` is the
/// row, modulo 8, at which the pattern starts.
uint64_t applySwizzle(Swizzle swizzle, uint64_t address,
                      unsigned baseOffset = 0);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_EMULATOR_SWIZZLE_H
