//===- CudaRun.h - Calls of a function on arrays ----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_RUNTIME_CUDARUN_H
#define BLOCKSCALE_RUNTIME_CUDARUN_H

#include "blockscale/Runtime/CudaModule.h"
#include "blockscale/Runtime/Npy.h"

namespace blockscale::runtime {

/// Device time of the calls, as events around each of them take it.
struct CudaTimes {
  double fastest = 0;
  double median = 0;
};

/// Puts the arguments on the GPU, calls the function `repeat` times and brings
/// the results back. They and the workspaces are filled with 0xA5 before the
/// first call, so that bytes which nothing writes do not look right by chance.
Result<std::vector<NpyArray>>
runOnCuda(const CudaModule &module, const PlanFunction &function,
          const std::vector<NpyArray> &arguments, int repeat,
          const RankFunction &overRanks, CudaTimes &times);

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_CUDARUN_H
