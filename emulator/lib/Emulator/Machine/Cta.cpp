//===- Cta.cpp - A CTA and its shared state -------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Machine/Cluster.h"

#include "Emulator/Memory/AddressWindow.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

namespace blockscale::emulator {

Cta::Cta(Cluster &cluster, Dim3 id, unsigned rank)
    : cluster(cluster), id(id), rank(rank),
      shared(StateSpace::Shared, getSharedBase(rank)),
      registers(*cluster.getContext().kernel.function, cluster.getWarpsOfCta()),
      sharedRaces(RaceLog::Space::Shared, rank, cluster.getWarpsOfCta()),
      tensorRaces(RaceLog::Space::Tensor, rank, cluster.getWarpsOfCta()) {
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

unsigned Cta::getFirstWarp() const { return rank * cluster.getWarpsOfCta(); }

void Cta::noteRemoteUse(Warp &warp, const Op &op, unsigned lane,
                        Faults &faults) {
  if (liveThreads == 0)
    faults.push_back(
        {FaultKind::Hazard,
         llvm::formatv("uses shared memory of the CTA of rank {0}, all of "
                       "whose threads have exited",
                       rank),
         "let the threads of the CTA wait at a barrier of the cluster before "
         "they exit"});
  unsigned index = warp.getClusterIndex();
  remoteUses[&warp] = {cluster.getClocks().get(index)[index], &op, lane};
}

void Cta::checkRemoteUses() {
  for (const auto &[warp, use] : remoteUses)
    if (use.epoch > exits[warp->getClusterIndex()])
      warp->report(
          *use.op, use.lane,
          Fault{FaultKind::Hazard,
                llvm::formatv("uses shared memory of the CTA of rank {0}, "
                              "whose threads exit without a wait for it",
                              rank),
                "let the threads of the CTA wait at a barrier of the cluster "
                "before they exit"});
  cluster.reportLeftoversOfPeers(rank);
}

TensorMemory &Cta::getTensorMemory() {
  if (!tensor)
    tensor = std::make_unique<TensorMemory>(
        cluster.isAdversarial() ? TensorMemory::Placement::Highest
                                : TensorMemory::Placement::Lowest);
  return *tensor;
}

void Cta::startDependents(const VectorClock &clock) {
  if (std::exchange(hasStartedDependents, true))
    return;
  cluster.getContext().overlap->noteStart(LaunchOverlap::hasWaited(clock));
}

void Cta::startDependents() {
  VectorClock clock;
  for (const std::unique_ptr<Warp> &warp : warps)
    clock.join(cluster.getClocks().get(warp->getClusterIndex()));
  startDependents(clock);
}

} // namespace blockscale::emulator
