//===- SyncLog.cpp - Synchronisation of threads ---------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Hazards/SyncLog.h"

#include "llvm/ADT/STLExtras.h"

namespace blockscale::emulator {

/// Fences that are remembered of a thread. What is older than these has been
/// followed by one of them.
static constexpr size_t kMaxFences = 128;

void SyncLog::noteProxyFence(Agent agent, uint64_t time) {
  State &state = agents[agent];
  if (state.fences.size() == kMaxFences) {
    state.fences.erase(state.fences.begin(),
                       state.fences.begin() + kMaxFences / 2);
    state.hasForgottenFences = true;
  }
  state.fences.push_back(time);
  state.syncAtFence = state.lastSync;
}

bool SyncLog::isVisible(Agent writer, uint64_t time, Agent issuer) const {
  const State &from = agents[writer], &to = agents[issuer];
  bool isSameWarp = writer >> 5 == issuer >> 5;
  const uint64_t *fence = llvm::upper_bound(from.fences, time);
  if (fence != from.fences.end()) {
    // A fence that is forgotten may have been earlier.
    bool isOld = fence == from.fences.begin() && from.hasForgottenFences;
    if (isSameWarp || isOld || *fence < to.lastSync)
      return true;
  }
  return !to.fences.empty() && to.fences.back() > time &&
         (isSameWarp || to.syncAtFence > time);
}

} // namespace blockscale::emulator
