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

/// Those of a warp.
struct WarpgroupWork {
  /// Since the last commit.
  std::vector<WarpgroupMma> open;
  /// Oldest first.
  std::deque<std::vector<WarpgroupMma>> closed;
  /// Of the queue.
  std::optional<uint64_t> stream;
  /// A wgmma.fence was executed.
  bool hasFenced = false;
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_EMULATOR_WARPGROUPWORK_H
