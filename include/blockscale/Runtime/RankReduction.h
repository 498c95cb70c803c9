//===- RankReduction.h - What the host reduces over ranks -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function that runs on many ranks may need a number that all of them have,
// as the amax of a tensor of which each rank has a part. What connects ranks is
// known to the host alone, so it gives a function for it.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_RUNTIME_RANKREDUCTION_H
#define BLOCKSCALE_RUNTIME_RANKREDUCTION_H

#include "blockscale/Runtime/NpyHeader.h"

#include <functional>

namespace blockscale::runtime {

/// What becomes of an element and those in its place on other ranks. The
/// largest of numbers with a NaN is NaN.
enum class ReductionKind { Max };

/// Elements that are replaced by what they are over all ranks.
struct RankReduction {
  /// In the memory of the GPU, or where there is none, of the host.
  uint64_t address = 0;
  uint64_t count = 0;
  NpyType type = NpyType::Float32;
  ReductionKind kind = ReductionKind::Max;
  /// The CUstream on which the elements are there and on which they are read;
  /// null is the default one.
  void *stream = nullptr;
};

/// Replaces elements, or puts that on the stream, behind what is there.
using RankFunction = std::function<Status(const RankReduction &)>;

/// The function of one rank that is alone: elements stay as they are.
inline Status reduceOneRank(const RankReduction &) { return Status::success(); }

/// launch_c4: there is a function for a call of `name`, which reduces over
/// ranks.
Status checkRankFunction(const std::string &name,
                         const RankFunction &overRanks);

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_RANKREDUCTION_H
