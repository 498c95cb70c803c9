//===- SharedShadow.h - Users of shared memory ------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A shadow of shared memory that knows the latest accesses of its words.
//
// For every 4 bytes of a CTA's shared memory: the last store by a thread, and
// how much asynchronous work may still read or write them.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_HAZARDS_SHAREDSHADOW_H
#define BLOCKSCALE_LIB_EMULATOR_HAZARDS_SHAREDSHADOW_H

#include "Emulator/Hazards/AsyncWork.h"

#include <optional>
#include <vector>

namespace blockscale::emulator {

class SharedShadow {
public:
  struct Store {
    uint64_t address;
    Agent agent;
    uint64_t time;
  };

  void noteStore(const SharedRange &range, Agent agent, uint64_t time);

  void forgetStores(const SharedRange &range);

  /// The first store into the range that is not visible to `issuer`.
  std::optional<Store> findHiddenStore(const SharedRange &range,
                                       const SyncLog &log, Agent issuer) const;

  enum class Use : uint8_t { Read, Write };
  void begin(const SharedRange &range, Use use) { count(range, use, 1); }
  void end(const SharedRange &range, Use use) { count(range, use, -1); }

  /// The first byte that work in flight may still read (or write).
  std::optional<uint64_t> findUse(const SharedRange &range, Use use) const {
    if (inUse[unsigned(use)] == 0)
      return std::nullopt;
    return searchUse(range, use);
  }

private:
  void count(const SharedRange &range, Use use, int change);
  std::optional<uint64_t> searchUse(const SharedRange &range, Use use) const;

  /// Time << 14 | agent; 0 for none. Grown as needed.
  std::vector<uint64_t> stores;
  std::vector<uint16_t> uses[2];
  /// Ranges in flight.
  uint64_t inUse[2] = {};
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_HAZARDS_SHAREDSHADOW_H
