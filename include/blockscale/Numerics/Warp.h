//===- Warp.h - Numbers of threads in two digits ----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A warp is 32 threads with consecutive numbers, and the number of a thread in
// its warp is its lane. Kernels go on dividing both: a lane is one of those of
// a run, and a warp one of those that share rows. Indices are numbers, or
// values of a code generator (Index.h).
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_WARP_H
#define BLOCKSCALE_NUMERICS_WARP_H

#include "blockscale/Numerics/Index.h"

#include <utility>

namespace blockscale::numerics {

inline constexpr int64_t kWarpThreads = 32;

/// The logarithm of a power of two.
constexpr int countBits(int64_t size) {
  return size > 1 ? 1 + countBits(size / 2) : 0;
}

/// Which run of `size` numbers has `number`, and which one of the run it is.
template <typename Index, typename Size>
constexpr std::pair<Index, Index> split(Index number, Size size) {
  Index run = number / size;
  return {run, number % size};
}

/// The same for a size that is a power of two. It is a shift and a mask, which
/// an index of a code generator has, too: where a kernel needs all registers,
/// LLVM is not left to find that.
template <typename Index>
constexpr std::pair<Index, Index> splitBits(Index number, int64_t size) {
  return {number >> countBits(size), number & (size - 1)};
}

/// The warp of a thread, and its number there.
template <typename Index>
constexpr Index getWarp(Index thread) {
  return thread >> countBits(kWarpThreads);
}
template <typename Index>
constexpr Index getLane(Index thread) {
  return thread & (kWarpThreads - 1);
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_WARP_H
