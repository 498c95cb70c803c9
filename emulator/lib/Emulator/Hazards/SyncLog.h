//===- SyncLog.h - Synchronisation of threads -------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A log of the waits and proxy fences of the threads of a cluster.
//
// When the threads of a cluster last waited for each other, and when they made
// what the generic proxy wrote visible to the async proxy (PTX ISA, sections
// "Proxies" and "membar, fence"). Times are those of Cluster::getTime.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_HAZARDS_SYNCLOG_H
#define BLOCKSCALE_LIB_EMULATOR_HAZARDS_SYNCLOG_H

#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <vector>

namespace blockscale::emulator {

/// A thread of a cluster: its CTA's rank, then 10 bits of its index there.
using Agent = uint32_t;

constexpr Agent makeAgent(unsigned rank, uint32_t thread) {
  return rank << 10 | thread;
}
constexpr unsigned getRankOf(Agent agent) { return agent >> 10; }
constexpr uint32_t getThreadOf(Agent agent) { return agent & 1023; }
/// A number of the thread's warp that no other warp of the cluster has.
constexpr unsigned getClusterWarpOf(Agent agent) { return agent / 32; }

class SyncLog {
public:
  explicit SyncLog(unsigned ctas) : agents(ctas << 10) {}

  /// The thread went on from a barrier, or saw what another thread had
  /// announced.
  void noteSync(Agent agent, uint64_t time) { agents[agent].lastSync = time; }

  uint64_t getLastSync(Agent agent) const { return agents[agent].lastSync; }

  /// The thread executed fence.proxy.async.
  void noteProxyFence(Agent agent, uint64_t time);

  /// Whether what `writer` stored at `time` is there for an operation of the
  /// async proxy that `issuer` starts now: the writer has fenced since, before
  /// the issuer waited the last time; or the issuer itself, after it waited
  /// for the writer. Threads of one warp need not wait for each other.
  bool isVisible(Agent writer, uint64_t time, Agent issuer) const;

private:
  struct State {
    uint64_t lastSync = 0;
    /// The latest ones, by rising time.
    llvm::SmallVector<uint64_t, 2> fences;
    bool hasForgottenFences = false;
    /// What `lastSync` was at the last fence.
    uint64_t syncAtFence = 0;
  };

  std::vector<State> agents;
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_HAZARDS_SYNCLOG_H
