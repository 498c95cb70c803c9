//===- RaceLog.cpp - Races of threads in shared memory --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Emulator/RaceLog.h"

#include "llvm/Support/FormatVariadic.h"

namespace blockscale::emulator {

static constexpr uint64_t kWord = 4;

/// The warp of an agent, among those of the whole cluster.
static unsigned getClusterWarp(Agent agent) { return agent / 32; }

bool RaceLog::races(const Event &event, const RaceAccess &access) {
  return event.time > access.synchronised &&
         getClusterWarp(event.agent) != getClusterWarp(access.agent);
}

RaceLog::Word *RaceLog::getWords(const RaceAccess &access, size_t &count) {
  uint64_t offset = access.address & 0xFFFFFF;
  uint64_t first = offset / kWord;
  uint64_t last = (offset + access.size - 1) / kWord;
  if (words.size() <= last)
    words.resize(last + 1);
  count = last - first + 1;
  return &words[first];
}

/// "warp 3", with its CTA where that is not the one of the access.
static std::string describeWarp(Agent agent, const RaceAccess &access) {
  std::string text = llvm::formatv("warp {0}", getWarpOf(agent));
  if (getRankOf(agent) != getRankOf(access.agent))
    text += llvm::formatv(" of the CTA of rank {0}", getRankOf(agent));
  return text;
}

static void report(const RaceAccess &access, size_t word, Agent agent,
                   llvm::StringRef verb, llvm::StringRef earlier,
                   Faults &faults) {
  uint64_t address = (access.address & ~(kWord - 1)) + word * kWord;
  faults.push_back(
      {FaultKind::Hazard,
       llvm::formatv("{0} {1} byte {2:x} of shared memory, which {3} {4}, and "
                     "has not waited for anything since",
                     describeWarp(access.agent, access), verb, address,
                     describeWarp(agent, access), earlier),
       "put a barrier between the accesses of the two warps"});
}

void RaceLog::noteLoad(const RaceAccess &access, Faults &faults) {
  size_t count = 0;
  Word *first = getWords(access, count);
  bool isTold = false;
  for (size_t i = 0; i < count; ++i) {
    Word &word = first[i];
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
  size_t count = 0;
  Word *first = getWords(access, count);
  bool isTold = false;
  for (size_t i = 0; i < count; ++i) {
    Word &word = first[i];
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
