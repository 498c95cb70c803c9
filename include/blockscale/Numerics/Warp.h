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

/// Which run of `size` numbers has `number`, and which one of the run it is.
template <typename Index, typename Size>
constexpr std::pair<Index, Index> split(Index number, Size size) {
  Index run = number / size;
  return {run, number % size};
}

/// The warp of a thread, and its number there. An index has >> and &, too.
template <typename Index>
constexpr Index getWarp(Index thread) {
  return thread >> 5;
}
template <typename Index>
constexpr Index getLane(Index thread) {
  return thread & 31;
}

static_assert(getWarp(kWarpThreads) == 1 && getLane(kWarpThreads) == 0);

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_WARP_H
