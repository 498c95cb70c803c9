//===- Cta.cpp - A CTA and its shared state -------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Emulator/Cluster.h"

#include "llvm/Support/MathExtras.h"

namespace blockscale::emulator {

Cta::Cta(Cluster &cluster, Dim3 id, unsigned rank)
    : cluster(cluster), id(id), rank(rank),
      shared(StateSpace::Shared, getSharedBase(rank)) {
  const LaunchContext &context = cluster.getContext();
  const ProgramFunction &kernel = context.kernel;
  for (const SharedVariable &variable : kernel.shared)
    shared.allocateAt(variable.variable->name,
                      getSharedBase(rank) + variable.offset,
                      variable.variable->bytes);
  dynamicOffset =
      llvm::alignTo(kernel.staticSharedBytes, kernel.dynamicSharedAlignment);
  sharedBytes = kernel.staticSharedBytes;
  if (uint64_t bytes = context.request.dynamicSharedBytes) {
    shared.allocateAt("dynamic shared memory",
                      getSharedBase(rank) + dynamicOffset, bytes);
    sharedBytes = dynamicOffset + bytes;
  }
  const Dim3 &block = context.request.block;
  uint32_t threads = block[0] * block[1] * block[2];
  liveThreads = threads;
  for (unsigned warp = 0; warp * kWarpSize < threads; ++warp) {
    unsigned lanes = std::min<uint32_t>(kWarpSize, threads - warp * kWarpSize);
    warps.push_back(
        std::make_unique<Warp>(*this, warp, kAllLanes >> (kWarpSize - lanes)));
  }
}

TensorMemory &Cta::getTensorMemory() {
  if (!tensor)
    tensor = std::make_unique<TensorMemory>(
        cluster.isAdversarial() ? TensorMemory::Placement::Highest
                                : TensorMemory::Placement::Lowest);
  return *tensor;
}

} // namespace blockscale::emulator
