//===- RaceLog.cpp - Races of threads in shared memory --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Emulator/RaceLog.h"

#include "blockscale/Emulator/TensorMemory.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace blockscale::emulator {

static constexpr uint64_t kWord = 4;
static constexpr unsigned kLanes = 16;

/// The warp of an agent, among those of the whole cluster.
static unsigned getClusterWarp(Agent agent) { return agent / 32; }

bool RaceLog::races(const Event &event, const RaceAccess &access) {
  return event.time > access.synchronised &&
         getClusterWarp(event.agent) != getClusterWarp(access.agent);
}

llvm::MutableArrayRef<RaceLog::Word>
RaceLog::getWords(const RaceAccess &access) {
  size_t first = 0, count = access.size;
  if (space == Space::Shared) {
    uint64_t offset = access.address & 0xFFFFFF;
    first = offset / kWord;
    count = (offset + access.size - 1) / kWord - first + 1;
  } else {
    first = (access.address >> 16) / kLanes * TensorMemory::kColumns +
            (access.address & 0xFFFF);
  }
  if (words.size() < first + count)
    words.resize(first + count);
  return llvm::MutableArrayRef(words).slice(first, count);
}

/// "warp 3", with its CTA where that is not the one of the access.
static std::string describeWarp(Agent agent, const RaceAccess &access) {
  std::string text = llvm::formatv("warp {0}", getWarpOf(agent));
  if (getRankOf(agent) != getRankOf(access.agent))
    text += llvm::formatv(" of the CTA of rank {0}", getRankOf(agent));
  return text;
}

void RaceLog::report(const RaceAccess &access, size_t word, Agent agent,
                     llvm::StringRef verb, llvm::StringRef earlier,
                     Faults &faults) const {
  std::string where =
      llvm::formatv("lane {0}, column {1} of tensor memory",
                    access.address >> 16, (access.address & 0xFFFF) + word);
  if (space == Space::Shared)
    where = llvm::formatv("byte {0:x} of shared memory",
                          (access.address & ~(kWord - 1)) + word * kWord);
  faults.push_back(
      {FaultKind::Hazard,
       llvm::formatv("{0} {1} {2}, which {3} {4}, and has not waited for "
                     "anything since",
                     describeWarp(access.agent, access), verb, where,
                     describeWarp(agent, access), earlier),
       "put a barrier between the accesses of the two warps"});
}

void RaceLog::noteLoad(const RaceAccess &access, Faults &faults) {
  bool isTold = false;
  for (auto [i, word] : llvm::enumerate(getWords(access))) {
    if (!isTold && races(word.store, access)) {
      report(access, i, word.store.agent, "loads", "has stored", faults);
      isTold = true;
    }
    if (getClusterWarp(word.loads[0].agent) != getClusterWarp(access.agent))
      word.loads[1] = word.loads[0];
    word.loads[0] = {access.time + 1, access.agent};
  }
}

void RaceLog::noteStore(const RaceAccess &access, Faults &faults) {
  bool isTold = false;
  for (auto [i, word] : llvm::enumerate(getWords(access))) {
    for (const Event &load : word.loads)
      if (!isTold && races(load, access)) {
        report(access, i, load.agent, "stores to", "has loaded", faults);
        isTold = true;
      }
    word.store = {access.time + 1, access.agent};
    word.loads[0] = word.loads[1] = Event();
  }
}

} // namespace blockscale::emulator
