//===- CudaTimer.h - The time that a call takes on a GPU --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_RUNTIME_CUDATIMER_H
#define BLOCKSCALE_RUNTIME_CUDATIMER_H

#include "blockscale/Runtime/CudaModule.h"

namespace blockscale::runtime {

/// Captures a call into a CUDA graph, replays it `count` times, one after the
/// other, and returns the microseconds of each replay. Before each of them
/// `flushBytes` of other memory are overwritten, so that the L2 cache has
/// nothing of the operands where they are more than it holds.
Result<std::vector<double>> timeOnCuda(const CudaModule &module,
                                       const ResolvedFunction &function,
                                       const BufferAddresses &addresses,
                                       const RankFunction &overRanks,
                                       uint64_t flushBytes, size_t count);

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_CUDATIMER_H
