//===- PlaceLog.cpp - Where strong accesses meet --------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Hazards/PlaceLog.h"

namespace blockscale::emulator {

/// Words that are told apart.
static constexpr size_t kMaxPlaces = 4096;

PlaceLog::Place &PlaceLog::getPlace(uint64_t word) {
  auto it = places.find(word);
  if (it != places.end())
    return it->second;
  return places.size() < kMaxPlaces ? places[word] : rest;
}

void PlaceLog::add(Place &place, ThreadHome home, MemoryScope scope,
                   const VectorClock &clock) {
  switch (scope) {
  case MemoryScope::Cta:
    place.ofCta[home.cta].join(clock);
    return;
  case MemoryScope::Cluster:
    place.ofCluster[home.cluster].join(clock);
    return;
  case MemoryScope::Grid:
    if (clock.empty())
      return;
    // To the others the own cluster is one of many.
    auto own = std::make_shared<GridEpochs>();
    own->try_emplace(home.cluster, clock.getOwn());
    join(place.ofGrid, clock.getOthers());
    join(place.ofGrid, GridEpochsRef(std::move(own)));
    return;
  }
}

void PlaceLog::take(const Place &place, ThreadHome home, MemoryScope scope,
                    VectorClock &clock) {
  auto takeFrom = [&](const std::map<uint32_t, VectorClock> &clocks,
                      uint32_t number) {
    if (auto it = clocks.find(number); it != clocks.end())
      clock.join(it->second);
  };
  switch (scope) {
  case MemoryScope::Cta:
    return takeFrom(place.ofCta, home.cta);
  case MemoryScope::Cluster:
    return takeFrom(place.ofCluster, home.cluster);
  case MemoryScope::Grid:
    return clock.joinGrid(place.ofGrid, home.cluster);
  }
}

} // namespace blockscale::emulator
