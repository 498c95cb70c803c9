//===- RaceLog.h - Races between warps --------------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A log of accesses by warps, which finds those that race.
//
// Two warps that access the same bytes of shared memory, or cells of tensor
// memory, one of them storing, must wait for each other in between. What a warp
// starts (a copy, a product) is an access when it is started; whether it has
// been waited for is not known here. Every word remembers who stored last, and
// when each warp has loaded; a warp has found a race where it meets the access
// of another one that has not happened before, by the clocks of ClockLog.
//
// The threads of a warp never race; two stores of the same value do not, as
// compilers often have all warps store what each of them knows; and what is
// strong in PTX (atomics, volatile, relaxed, acquire and release accesses) is
// left out.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_HAZARDS_RACELOG_H
#define BLOCKSCALE_LIB_EMULATOR_HAZARDS_RACELOG_H

#include "Emulator/Hazards/VectorClock.h"
#include "blockscale/Emulator/Report.h"

#include <array>
#include <memory>
#include <optional>
#include <vector>

namespace blockscale::emulator {

/// An access of a CTA's memory. Addresses are those of shared::cluster, or
/// lane << 16 | column of tensor memory.
struct RaceAccess {
  uint64_t address;
  uint64_t size;
  /// The number of the warp in the cluster, and its clock.
  unsigned warp;
  const VectorClock &clock;
};

/// Bytes that two warps have stored without a wait in between.
struct DoubleStore {
  uint64_t address;
  uint64_t size;
  /// The earlier one.
  unsigned warp;
};

/// The latest accesses of one memory of a CTA, and the races between them.
class RaceLog {
public:
  enum class Space : uint8_t {
    /// Shared memory in words of 4 bytes, or fewer where there are smaller
    /// accesses.
    Shared,
    /// Tensor memory in cells of 16 lanes by a column; sizes are in columns.
    Tensor,
  };
  /// The log of the CTA of rank `rank`; each CTA has `warps` warps.
  RaceLog(Space space, unsigned rank, unsigned warps)
      : space(space), warps(warps), firstWarp(rank * warps) {}

  /// A fault for the first word whose store has not happened before.
  void noteLoad(const RaceAccess &access, Faults &faults);
  /// A fault for the first word one of whose loads has not happened before.
  /// Stores that have not happened before are added to `doubles`.
  void noteStore(const RaceAccess &access, Faults &faults,
                 std::vector<DoubleStore> &doubles);
  void reportDouble(const RaceAccess &access, const DoubleStore &store,
                    Faults &faults) const;

private:
  struct Event {
    /// 0 for none.
    uint32_t epoch = 0;
    uint32_t warp = 0;
  };
  /// kPageUnits bytes of shared memory, or cells of tensor memory, in words of
  /// one size. It is made when it is first accessed, and only its own words
  /// become smaller with a smaller access: most of a CTA's memory is accessed
  /// in large ones.
  struct Page {
    uint64_t wordUnits;
    /// The latest store of each word.
    std::vector<Event> stores;
    /// Epochs of each word and warp of the CTA.
    std::vector<uint32_t> loads;
    /// The latest load of each word by other CTAs, and the latest by another
    /// warp than that; empty where there is none.
    std::vector<std::array<Event, 2>> remoteLoads;
  };
  /// The words of an access that lie in one page.
  struct Words {
    Page &page;
    size_t first;
    size_t end;
    /// The address of the first one.
    uint64_t address;
  };
  static constexpr uint64_t kPageUnits = 512;

  template <typename Visit>
  void forEachPage(const RaceAccess &access, Visit visit);
  Page &getPage(size_t number);
  void refine(Page &page) const;
  bool isOwn(unsigned warp) const { return warp - firstWarp < warps; }
  std::optional<unsigned> findLoad(const RaceAccess &access, const Page &page,
                                   size_t word) const;
  void report(const RaceAccess &access, uint64_t address, unsigned warp,
              llvm::StringRef verb, llvm::StringRef earlier,
              Faults &faults) const;

  Space space;
  /// The number of warps of each CTA, and the first warp of this one.
  unsigned warps;
  unsigned firstWarp;
  std::vector<std::unique_ptr<Page>> pages;
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_HAZARDS_RACELOG_H
