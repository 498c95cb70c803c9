//===- WarpgroupWork.h - Products that a warp has started -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The products of wgmma that a warp has started and not waited for.
//
// PTX ISA, "Asynchronous wgmma instructions": a warp's wgmma.mma_async are done
// in order, in the groups that wgmma.commit_group closes. Until wait_group has
// seen a group complete, nothing else may touch its registers.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_ASYNC_WARPGROUPWORK_H
#define BLOCKSCALE_LIB_EMULATOR_ASYNC_WARPGROUPWORK_H

#include "Emulator/Hazards/AsyncWork.h"
#include "Emulator/Hazards/VectorClock.h"

#include "blockscale/Emulator/Op.h"

#include <array>
#include <deque>
#include <optional>
#include <vector>

namespace blockscale::emulator {

struct ProgramFunction;

/// A wgmma.mma_async that nobody has waited for.
struct WarpgroupMma {
  WorkRef work;
  const Op *op;
  /// The frame of its registers.
  uint32_t depth;
};

/// A register of A, and what it held at the last wgmma.fence.
struct FencedRegister {
  uint32_t slot;
  std::array<uint64_t, kWarpSize> values;
};

/// The products that a warp has started. A product belongs to the warpgroup: a
/// wait is for the share of each of its warps.
struct WarpgroupWork {
  /// The products since the last commit.
  std::vector<WarpgroupMma> open;
  /// The closed groups, oldest first.
  std::deque<std::vector<WarpgroupMma>> closed;
  /// Groups that were closed so far, of which as many have been waited for.
  uint64_t closedCount = 0;
  uint64_t releasedCount = 0;
  /// What had happened before each of the latest groups was closed.
  std::deque<ClockRef> clocks;
  /// The stream of the queue that the products are done in.
  std::optional<uint64_t> stream;
  /// A wgmma.fence was executed.
  bool hasFenced = false;
  /// The registers of A of all products of the function of the last fence, in
  /// the frame of `fencedDepth`.
  std::vector<FencedRegister> fenced;
  const ProgramFunction *fencedFunction = nullptr;
  uint32_t fencedDepth = 0;
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_ASYNC_WARPGROUPWORK_H
