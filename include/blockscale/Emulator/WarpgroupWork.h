//===- WarpgroupWork.h - Products that a warp has started -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Asynchronous wgmma instructions": a warp's wgmma.mma_async are done
// in order, in the groups that wgmma.commit_group closes. Until wait_group has
// seen a group complete, nothing else may touch its registers.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_EMULATOR_WARPGROUPWORK_H
#define BLOCKSCALE_EMULATOR_WARPGROUPWORK_H

#include "blockscale/Emulator/AsyncWork.h"
#include "blockscale/Emulator/VectorClock.h"

#include <deque>
#include <optional>
#include <vector>

namespace blockscale::emulator {

/// A wgmma.mma_async that nobody has waited for.
struct WarpgroupMma {
  WorkRef work;
  const Op *op;
  /// The frame of its registers.
  uint32_t depth;
};

/// Those of a warp. Products are of the warpgroup: a wait is for the part of
/// each of its warps.
struct WarpgroupWork {
  /// Since the last commit.
  std::vector<WarpgroupMma> open;
  /// Oldest first.
  std::deque<std::vector<WarpgroupMma>> closed;
  /// Groups that were closed so far, of which as many have been waited for.
  uint64_t closedCount = 0;
  uint64_t releasedCount = 0;
  /// What had happened before each of the latest groups was closed.
  std::deque<ClockRef> clocks;
  /// Of the queue.
  std::optional<uint64_t> stream;
  /// A wgmma.fence was executed.
  bool hasFenced = false;
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_EMULATOR_WARPGROUPWORK_H
