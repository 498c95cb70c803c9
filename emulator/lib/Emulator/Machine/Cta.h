//===- Cta.h - A CTA and its shared state -----------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_EMULATOR_MACHINE_CTA_H
#define BLOCKSCALE_LIB_EMULATOR_MACHINE_CTA_H

#include "Emulator/Async/MBarrierTable.h"
#include "Emulator/Hazards/RaceLog.h"
#include "Emulator/Machine/LaunchLimits.h"
#include "Emulator/Machine/RegisterPool.h"
#include "Emulator/Machine/Warp.h"
#include "Emulator/Matrix/Mma.h"
#include "Emulator/Memory/TensorMemory.h"

namespace blockscale::emulator {

/// One of the sixteen barriers of `bar` and `barrier`. PTX ISA, section "bar":
/// a barrier counts threads; when all that it expects have arrived, it begins
/// anew, and those that wait go on.
struct NamedBarrier {
  /// Threads that have arrived in this round, and of those the ones whose
  /// predicate (`.red`) holds.
  uint32_t count = 0;
  uint32_t trues = 0;
  /// The number of threads that the round expects; none before the first
  /// arrival, 0 for all that have not exited.
  std::optional<uint32_t> expected;
  /// The joined clocks of the threads that have arrived.
  VectorClock clock;
};

class Cta {
public:
  Cta(Cluster &cluster, Dim3 id, unsigned rank);

  Cluster &getCluster() { return cluster; }
  const Dim3 &getId() const { return id; }
  /// The number of the CTA in its cluster.
  unsigned getRank() const { return rank; }
  /// Number in the cluster of its first warp.
  unsigned getFirstWarp() const;
  llvm::ArrayRef<std::unique_ptr<Warp>> getWarps() const { return warps; }
  Memory &getShared() { return shared; }
  MBarrierTable &getBarriers() { return barriers; }
  /// A thread of another CTA of the cluster, or what it starts, uses the shared
  /// memory, which must still be there: for that, somebody here must wait.
  void noteRemoteUse(Warp &warp, const Op &op, unsigned lane, Faults &faults);
  /// Checks the uses by other CTAs and by what they have started, once all
  /// threads have exited.
  void checkRemoteUses();
  /// Lets launches that depend on this one go, once: by an instruction of a
  /// warp with this clock, or at its end.
  void startDependents(const VectorClock &clock);
  void startDependents();
  RegisterPool &getRegisters() { return registers; }
  RaceLog &getSharedRaces() { return sharedRaces; }
  RaceLog &getTensorRaces() { return tensorRaces; }
  /// Made when first asked for.
  TensorMemory &getTensorMemory();
  bool hasTensorMemory() const { return tensor != nullptr; }
  /// Static and dynamic, and where the dynamic ones begin.
  uint64_t getSharedBytes() const { return sharedBytes; }
  uint64_t getDynamicOffset() const { return dynamicOffset; }

  std::array<NamedBarrier, 16> namedBarriers;
  /// Threads that have not exited.
  uint32_t liveThreads = 0;
  /// The joined clocks of the warps that have exited, and of those that have
  /// freed tensor memory.
  VectorClock exits;
  VectorClock deallocations;
  /// What tcgen05.mma keeps of A.
  Collector collector;

private:
  struct RemoteUse {
    uint32_t epoch = 0;
    const Op *op = nullptr;
    unsigned lane = 0;
  };
  Cluster &cluster;
  Dim3 id;
  unsigned rank;
  uint64_t sharedBytes = 0;
  uint64_t dynamicOffset = 0;
  Memory shared;
  MBarrierTable barriers;
  RegisterPool registers;
  RaceLog sharedRaces;
  RaceLog tensorRaces;
  /// The latest one of each warp that has used it.
  std::map<Warp *, RemoteUse> remoteUses;
  bool hasStartedDependents = false;
  std::unique_ptr<TensorMemory> tensor;
  std::vector<std::unique_ptr<Warp>> warps;
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_MACHINE_CTA_H
