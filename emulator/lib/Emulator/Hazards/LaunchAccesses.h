//===- LaunchAccesses.h - What a launch has accessed ------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which words of global memory a launch has loaded and stored, and by which
// instruction last.
//
// Several threads of the host may note accesses at once; nobody looks for them
// before the launch has ended.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_HAZARDS_LAUNCHACCESSES_H
#define BLOCKSCALE_LIB_EMULATOR_HAZARDS_LAUNCHACCESSES_H

#include "Emulator/Hazards/GlobalRaceLog.h"

#include <unordered_map>

namespace blockscale::emulator {

/// Strong accesses are those of atomics, of reductions, and of loads and stores
/// that synchronise: they race with plain ones alone.
enum class AccessKind : uint8_t { Load, StrongLoad, Store, StrongStore };
inline constexpr unsigned kAccessKinds = 4;

inline bool isStore(AccessKind kind) { return kind >= AccessKind::Store; }
inline bool isStrong(AccessKind kind) {
  return kind == AccessKind::StrongLoad || kind == AccessKind::StrongStore;
}
/// Whether two accesses to a word race where neither waits for the other.
inline bool doRace(AccessKind a, AccessKind b) {
  return (isStore(a) || isStore(b)) && !(isStrong(a) && isStrong(b));
}

class LaunchAccesses {
public:
  struct Found {
    uint64_t address;
    AccessKind kind;
    /// The number of the instruction in its program.
    uint32_t op;
  };

  void note(const GlobalRange &range, AccessKind kind, uint32_t op);
  /// The first access that races with one to the range.
  std::optional<Found> findRace(const GlobalRange &range,
                                AccessKind kind) const;

private:
  static constexpr uint64_t kPageBytes = 4096;
  static constexpr size_t kShards = 64;

  /// For each kind, one more than the number of the instruction; 0 for none.
  using Word = std::array<uint32_t, kAccessKinds>;
  /// Words of 16 bytes, or fewer once there are smaller accesses.
  struct Page {
    uint64_t wordBytes = 16;
    std::vector<Word> words = std::vector<Word>(kPageBytes / 16);
  };
  /// Pages by their numbers.
  struct Shard {
    std::mutex mutex;
    std::unordered_map<uint64_t, Page> pages;
  };

  std::array<Shard, kShards> shards;
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_HAZARDS_LAUNCHACCESSES_H
