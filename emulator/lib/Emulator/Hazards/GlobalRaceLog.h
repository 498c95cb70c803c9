//===- GlobalRaceLog.h - Races in global memory -----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A log of accesses to global memory by the warps of a whole grid, which finds
// those that race, and what was not made visible to the async proxy.
//
// Every word remembers who stored last and who has loaded since. A warp has
// found a race where it meets an access of another one, of whatever CTA, that
// has not happened before by the clocks of ClockLog, and one of the two is a
// store. As in RaceLog, the threads of a warp never race, nor do two stores of
// the same value, and strong accesses are left out.
//
// A store that bulk copies have started is pending until the thread that
// started it has waited for its group, not only for the reads of the group.
// Reductions of bulk copies are stores that do not race with each other.
//
// Loads of the async proxy must find what the generic proxy has stored made
// visible to theirs: by a fence.proxy.async behind the store and before the
// load, in whichever of the threads that wait for each other.
//
// Several threads of the host may use the log at once.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_HAZARDS_GLOBALRACELOG_H
#define BLOCKSCALE_LIB_EMULATOR_HAZARDS_GLOBALRACELOG_H

#include "Emulator/Hazards/VectorClock.h"
#include "blockscale/Emulator/Memory.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <vector>

namespace blockscale::emulator {

/// Bytes of global memory.
struct GlobalRange {
  uint64_t address;
  uint64_t size;
};

/// Adds a range to some others; one that follows the last becomes a part of it.
inline void addRange(llvm::SmallVectorImpl<GlobalRange> &ranges,
                     const GlobalRange &range) {
  if (!ranges.empty() &&
      ranges.back().address + ranges.back().size == range.address)
    ranges.back().size += range.size;
  else
    ranges.push_back(range);
}

/// A warp at an access.
struct GlobalAccess {
  /// The number of its cluster, its own in there, and its clock.
  uint32_t cluster;
  unsigned warp;
  const VectorClock &clock;
  /// The epoch of the access, which may be earlier than that of the clock.
  uint32_t epoch;
};

/// Names a store that is pending; 0 for none.
using PendingStore = uint32_t;

class GlobalRaceLog {
public:
  /// Says who a warp is: "warp 1 of CTA (3, 0, 0)".
  using DescribeWarp =
      llvm::function_ref<std::string(uint32_t cluster, unsigned warp)>;

  /// Accesses to the writable buffers of `memory`, each cluster of so many
  /// warps.
  GlobalRaceLog(const Memory &memory, unsigned warpsOfCluster);
  ~GlobalRaceLog();

  /// A plain load, by one of the two proxies; a fault for the first word that
  /// must not be loaded.
  void noteLoad(const GlobalAccess &access, const GlobalRange &range,
                bool isAsync, DescribeWarp describe, Faults &faults);

  /// A plain store by the generic proxy, which has stored `bytes`.
  void noteStore(const GlobalAccess &access, uint64_t address,
                 llvm::ArrayRef<uint8_t> bytes, DescribeWarp describe,
                 Faults &faults);

  /// A name for a store that a bulk copy starts.
  PendingStore makePending() { return kPending | ++pendingStores; }
  /// A part of it.
  void beginStore(const GlobalAccess &access, const GlobalRange &range,
                  PendingStore store, bool isReduction, DescribeWarp describe,
                  Faults &faults);
  /// The copy has stored `bytes`.
  void noteValues(PendingStore store, uint64_t address,
                  llvm::ArrayRef<uint8_t> bytes);
  /// Its thread has waited for it, and has this epoch now.
  void endStore(const GlobalRange &range, PendingStore store, uint32_t epoch);

private:
  static constexpr uint64_t kPageBytes = 4096;
  static constexpr uint32_t kPending = uint32_t(1) << 31;
  /// Loads that are remembered of a word, where they are not ordered among each
  /// other.
  static constexpr unsigned kLoads = 4;

  struct Event {
    /// 0 for none; that of the pending store with `kPending` set.
    uint32_t epoch = 0;
    /// The number of the warp in the grid.
    uint32_t warp : 30;
    uint32_t isAsync : 1;
    uint32_t isReduction : 1;

    Event() : warp(0), isAsync(0), isReduction(0) {}
    bool operator==(const Event &other) const {
      return epoch == other.epoch && warp == other.warp;
    }
  };
  using Loads = std::array<Event, kLoads>;

  /// What is known of some bytes of a buffer, in words of 16 bytes, or fewer
  /// once there are smaller accesses.
  struct Page {
    std::mutex mutex;
    uint64_t wordBytes = 16;
    /// Empty before the first load or store.
    std::vector<Event> stores;
    std::vector<Loads> loads;
    /// What the latest stores have stored.
    std::vector<uint8_t> values;
  };
  struct Shadow {
    std::string name;
    uint64_t base;
    uint64_t size;
    std::vector<std::atomic<Page *>> pages;
  };
  /// The part of an access that lies on a page.
  struct Part {
    const Shadow &shadow;
    Page &page;
    uint64_t address;
    /// Words of the page.
    size_t first;
    size_t end;
  };

  template <typename Visit>
  void forEachPart(const GlobalRange &range, Visit visit);
  static void refine(Page &page);
  Event makeEvent(const GlobalAccess &access) const;
  bool hasHappened(const Event &event, const GlobalAccess &access) const;
  bool isVisible(const Event &event, const GlobalAccess &access) const;
  std::string describePlace(const Part &part, size_t word) const;
  void reportRace(const GlobalAccess &access, const Part &part, size_t word,
                  const Event &earlier, llvm::StringRef verb, bool isLoad,
                  DescribeWarp describe, Faults &faults) const;
  void noteLoadOf(Loads &loads, const Event &event,
                  const GlobalAccess &access) const;
  bool checkLoads(const GlobalAccess &access, const Part &part, size_t word,
                  DescribeWarp describe, Faults &faults) const;

  unsigned warpsOfCluster;
  /// By rising address.
  std::vector<std::unique_ptr<Shadow>> shadows;
  std::atomic<uint32_t> pendingStores{0};
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_HAZARDS_GLOBALRACELOG_H
