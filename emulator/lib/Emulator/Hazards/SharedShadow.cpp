//===- SharedShadow.cpp - Users of shared memory --------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Hazards/SharedShadow.h"

#include "Emulator/Memory/AddressWindow.h"

#include <algorithm>

namespace blockscale::emulator {

static constexpr unsigned kAgentBits = 14;
static_assert(makeAgent(kMaxClusterSize, 0) <= 1u << kAgentBits);

namespace {
/// Indices of the words that a range touches.
struct Words {
  explicit Words(const SharedRange &range)
      : first((range.address & 0xFFFFFF) / 4),
        end((range.size + 3 + (range.address & 0xFFFFFF)) / 4) {}
  size_t first, end;
};
} // namespace

/// Grown by doubling, for programs that go through their memory from below.
template <typename T>
static void growTo(std::vector<T> &values, size_t size) {
  if (values.size() < size)
    values.resize(std::max(size, 2 * values.size()));
}

static uint64_t getWordAddress(const SharedRange &range, size_t word) {
  return std::max<uint64_t>(range.address,
                            (range.address & ~uint64_t(0xFFFFFF)) + 4 * word);
}

void SharedShadow::noteStore(const SharedRange &range, Agent agent,
                             uint64_t time) {
  Words words(range);
  growTo(stores, words.end);
  std::fill(stores.begin() + words.first, stores.begin() + words.end,
            time << kAgentBits | agent);
}

void SharedShadow::forgetStores(const SharedRange &range) {
  Words words(range);
  words.end = std::min(words.end, stores.size());
  if (words.first < words.end)
    std::fill(stores.begin() + words.first, stores.begin() + words.end, 0);
}

std::optional<SharedShadow::Store>
SharedShadow::findHiddenStore(const SharedRange &range, const SyncLog &log,
                              Agent issuer) const {
  Words words(range);
  uint64_t known = 0;
  for (size_t i = words.first, end = std::min(words.end, stores.size());
       i < end; ++i) {
    if (stores[i] == known || stores[i] == 0)
      continue;
    Agent agent = stores[i] & ((1u << kAgentBits) - 1);
    uint64_t time = stores[i] >> kAgentBits;
    if (!log.isVisible(agent, time, issuer))
      return Store{getWordAddress(range, i), agent, time};
    known = stores[i];
  }
  return std::nullopt;
}

void SharedShadow::count(const SharedRange &range, Use use, int change) {
  Words words(range);
  std::vector<uint16_t> &counts = uses[unsigned(use)];
  growTo(counts, words.end);
  for (size_t i = words.first; i < words.end; ++i)
    counts[i] += change;
  inUse[unsigned(use)] += change;
}

std::optional<uint64_t> SharedShadow::searchUse(const SharedRange &range,
                                                Use use) const {
  Words words(range);
  const std::vector<uint16_t> &counts = uses[unsigned(use)];
  for (size_t i = words.first, end = std::min(words.end, counts.size());
       i < end; ++i)
    if (counts[i])
      return getWordAddress(range, i);
  return std::nullopt;
}

} // namespace blockscale::emulator
