//===- LaunchAccesses.cpp - What a launch has accessed --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Hazards/LaunchAccesses.h"

#include "Emulator/Hazards/RacePages.h"

namespace blockscale::emulator {

void LaunchAccesses::note(const GlobalRange &range, AccessKind kind,
                          uint32_t op) {
  forEachPagePart(range.address, range.address + range.size, kPageBytes,
                  [&](uint64_t number, uint64_t first, uint64_t last) {
                    Shard &shard = shards[number % kShards];
                    std::lock_guard<std::mutex> lock(shard.mutex);
                    Page &page = shard.pages[number];
                    while ((first | last) % page.wordBytes != 0) {
                      page.wordBytes /= 2;
                      repeatEach(page.words);
                    }
                    for (uint64_t i = first / page.wordBytes;
                         i < last / page.wordBytes; ++i)
                      page.words[i][unsigned(kind)] = op + 1;
                  });
}

std::optional<LaunchAccesses::Found>
LaunchAccesses::findRace(const GlobalRange &range, AccessKind kind) const {
  std::optional<Found> found;
  forEachPagePart(range.address, range.address + range.size, kPageBytes,
                  [&](uint64_t number, uint64_t first, uint64_t last) {
                    const Shard &shard = shards[number % kShards];
                    auto it = shard.pages.find(number);
                    if (it == shard.pages.end())
                      return;
                    const Page &page = it->second;
                    for (uint64_t i = first / page.wordBytes;
                         i * page.wordBytes < last && !found; ++i)
                      // Stores first: they say more than the loads of what was
                      // there.
                      for (unsigned j = kAccessKinds; j-- > 0 && !found;)
                        if (page.words[i][j] != 0 &&
                            doRace(AccessKind(j), kind))
                          found = Found{number * kPageBytes +
                                            std::max(first, i * page.wordBytes),
                                        AccessKind(j), page.words[i][j] - 1};
                  });
  return found;
}

} // namespace blockscale::emulator
