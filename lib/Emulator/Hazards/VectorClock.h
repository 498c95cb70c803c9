//===- VectorClock.h - Vector clocks ----------------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_EMULATOR_HAZARDS_VECTORCLOCK_H
#define BLOCKSCALE_LIB_EMULATOR_HAZARDS_VECTORCLOCK_H

#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <memory>

namespace blockscale::emulator {

/// The epoch of each warp of a cluster up to which what it did has happened
/// before. Epochs count from 1. Empty where nothing has.
class VectorClock {
public:
  VectorClock() = default;
  explicit VectorClock(unsigned warps) : epochs(warps) {}

  uint32_t operator[](unsigned warp) const { return epochs[warp]; }
  uint32_t &operator[](unsigned warp) { return epochs[warp]; }
  const uint32_t *data() const { return epochs.data(); }
  bool empty() const { return epochs.empty(); }
  void clear() { epochs.clear(); }

  void join(const VectorClock &other) {
    if (epochs.size() < other.epochs.size())
      epochs.resize(other.epochs.size());
    for (size_t i = 0, end = other.epochs.size(); i < end; ++i)
      epochs[i] = epochs[i] < other.epochs[i] ? other.epochs[i] : epochs[i];
  }

private:
  llvm::SmallVector<uint32_t, 4> epochs;
};

/// What happened before asynchronous work was started. Null where nobody asks.
using ClockRef = std::shared_ptr<const VectorClock>;

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_HAZARDS_VECTORCLOCK_H
