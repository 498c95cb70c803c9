//===- RaceLog.h - Races of threads in shared memory ------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two warps that access the same bytes of shared memory, or cells of tensor
// memory, one of them storing, must wait for each other in between. What a warp
// starts (a copy, a product) is an access when it is started; whether it has
// been waited for is not known here. Every word remembers who stored last and
// who loaded since; a warp that meets the access of another one, and has
// not waited for anything since that was done, has found a race.
//
// It is lenient: any wait that succeeded counts, whoever was waited for; the
// threads of a warp never race; and what is strong in PTX (atomics, volatile,
// relaxed, acquire and release accesses) is left out.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_EMULATOR_RACELOG_H
#define BLOCKSCALE_EMULATOR_RACELOG_H

#include "blockscale/Emulator/Report.h"
#include "blockscale/Emulator/SyncLog.h"

#include "llvm/ADT/ArrayRef.h"

#include <vector>

namespace blockscale::emulator {

/// An access of a CTA's memory. Addresses are those of shared::cluster, or
/// lane << 16 | column of tensor memory.
struct RaceAccess {
  uint64_t address;
  uint64_t size;
  Agent agent;
  uint64_t time;
  /// Of the last wait of the thread that succeeded.
  uint64_t synchronised;
};

/// Of one memory of a CTA.
class RaceLog {
public:
  enum class Space : uint8_t {
    /// In words of 4 bytes.
    Shared,
    /// In cells of 16 lanes by a column; sizes are in columns.
    Tensor,
  };
  explicit RaceLog(Space space) : space(space) {}

  /// A fault for the first word that another warp stored too late.
  void noteLoad(const RaceAccess &access, Faults &faults);
  /// And for one that another warp has loaded.
  void noteStore(const RaceAccess &access, Faults &faults);

private:
  struct Event {
    /// Plus one; 0 for none.
    uint64_t time = 0;
    Agent agent = 0;
  };
  struct Word {
    Event store;
    /// The latest load, and the latest of another warp than that.
    Event loads[2];
  };
  static bool races(const Event &event, const RaceAccess &access);
  llvm::MutableArrayRef<Word> getWords(const RaceAccess &access);
  void report(const RaceAccess &access, size_t word, Agent agent,
              llvm::StringRef verb, llvm::StringRef earlier,
              Faults &faults) const;

  Space space;
  std::vector<Word> words;
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_EMULATOR_RACELOG_H
