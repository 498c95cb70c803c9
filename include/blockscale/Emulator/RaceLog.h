//===- RaceLog.h - Races of threads in shared memory ------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two warps that access the same bytes of shared memory, one of them storing,
// must wait for each other in between. Every 4 bytes remember who stored last
// and who loaded since; a warp that meets the access of another one, and has
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

#include <vector>

namespace blockscale::emulator {

/// An access of a CTA's shared memory. Addresses are those of shared::cluster.
struct RaceAccess {
  uint64_t address;
  uint64_t size;
  Agent agent;
  uint64_t time;
  /// Of the last wait of the thread that succeeded.
  uint64_t synchronised;
};

/// Of one CTA.
class RaceLog {
public:
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
  Word *getWords(const RaceAccess &access, size_t &count);

  std::vector<Word> words;
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_EMULATOR_RACELOG_H
