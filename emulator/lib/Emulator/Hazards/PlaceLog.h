//===- PlaceLog.h - Where strong accesses meet ------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The words of memory through which threads release and acquire.
//
// Two strong accesses order threads only if each one's scope includes the other
// thread (PTX ISA, section "Morally Strong Operations"). So each word keeps
// what was released there three times: for the threads of one CTA, for those of
// one cluster and for all of the grid. A release goes to those that its scope
// includes, and an acquire takes from those that its own scope includes.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_HAZARDS_PLACELOG_H
#define BLOCKSCALE_LIB_EMULATOR_HAZARDS_PLACELOG_H

#include "Emulator/Hazards/VectorClock.h"
#include "blockscale/Emulator/Op.h"

#include "llvm/ADT/DenseMap.h"

#include <array>
#include <atomic>
#include <mutex>

namespace blockscale::emulator {

/// A clock for each scope.
using ClocksByScope = std::array<VectorClock, kScopes>;

/// Numbers in the grid.
struct ThreadHome {
  uint32_t cta;
  uint32_t cluster;
};

/// May be used by several threads of the host.
class PlaceLog {
public:
  /// The first word that an access of `size` bytes touches, and the last.
  struct Words {
    Words(uint64_t address, uint64_t size)
        : first(address / 4), last((address + size - 1) / 4) {}
    uint64_t first, last;
  };

  /// Joins to the words what `getClock(scope)` gives for each scope up to
  /// `scope`.
  template <typename GetClock>
  void release(ThreadHome home, const Words &words, MemoryScope scope,
               GetClock getClock) {
    unsigned last = unsigned(scope);
    if (getClock(MemoryScope::Cta).empty())
      return;
    std::lock_guard<std::mutex> lock(mutex);
    hasReleases = true;
    for (uint64_t word = words.first; word <= words.last; ++word) {
      Place &place = getPlace(word);
      for (unsigned i = 0; i <= last; ++i)
        add(place, home, MemoryScope(i), getClock(MemoryScope(i)));
    }
  }

  /// Calls `visit(scope)` for each scope up to `scope`, which returns the clock
  /// that what was released there is joined to.
  template <typename GetClock>
  void acquire(ThreadHome home, const Words &words, MemoryScope scope,
               GetClock getClock) {
    if (!hasReleases)
      return;
    std::lock_guard<std::mutex> lock(mutex);
    for (uint64_t word = words.first; word <= words.last; ++word) {
      auto it = places.find(word);
      const Place &place = it == places.end() ? rest : it->second;
      for (unsigned i = 0; i <= unsigned(scope); ++i)
        take(place, home, MemoryScope(i), getClock(MemoryScope(i)));
    }
  }

private:
  struct Place {
    std::map<uint32_t, VectorClock> ofCta;
    std::map<uint32_t, VectorClock> ofCluster;
    GridEpochsRef ofGrid;
  };
  Place &getPlace(uint64_t word);
  static void add(Place &place, ThreadHome home, MemoryScope scope,
                  const VectorClock &clock);
  static void take(const Place &place, ThreadHome home, MemoryScope scope,
                   VectorClock &clock);

  std::mutex mutex;
  std::atomic<bool> hasReleases{false};
  /// By word; past the most that are kept apart, `rest` is that of all others.
  llvm::DenseMap<uint64_t, Place> places;
  Place rest;
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_HAZARDS_PLACELOG_H
