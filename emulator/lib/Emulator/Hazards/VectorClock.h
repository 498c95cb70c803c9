//===- VectorClock.h - Vector clocks ----------------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A vector clock: how far what each warp did has happened before.
//
// The warps of the own cluster have a place each. Those of other clusters are
// known only where a warp has waited for one of them, which few kernels do, so
// that what is known of them is kept apart and shared by the clocks that know
// the same.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_EMULATOR_HAZARDS_VECTORCLOCK_H
#define BLOCKSCALE_LIB_EMULATOR_HAZARDS_VECTORCLOCK_H

#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <map>
#include <memory>

namespace blockscale::emulator {

/// Epochs of the warps of a cluster. They count from 1; a warp beyond the end
/// has none.
class Epochs {
public:
  Epochs() = default;
  explicit Epochs(unsigned warps) : values(warps) {}

  uint32_t get(unsigned warp) const {
    return warp < values.size() ? values[warp] : 0;
  }
  uint32_t operator[](unsigned warp) const { return values[warp]; }
  uint32_t &operator[](unsigned warp) { return values[warp]; }
  const uint32_t *data() const { return values.data(); }
  bool empty() const { return values.empty(); }
  void clear() { values.clear(); }

  void join(const Epochs &other) {
    if (values.size() < other.values.size())
      values.resize(other.values.size());
    for (size_t i = 0, end = other.values.size(); i < end; ++i)
      values[i] = values[i] < other.values[i] ? other.values[i] : values[i];
  }
  /// Whether a join with the other would change nothing.
  bool contains(const Epochs &other) const {
    for (size_t i = 0, end = other.values.size(); i < end; ++i)
      if (other.values[i] > get(i))
        return false;
    return true;
  }

private:
  llvm::SmallVector<uint32_t, 4> values;
};

/// What a clock knows of a cluster's warps.
struct ClusterEpochs {
  /// The epoch of each warp up to which what it did has happened before.
  Epochs happened;
  /// The epoch up to which its stores to global memory have also been made
  /// visible to the async proxy, by a fence.proxy.async in between.
  Epochs visible;

  void join(const ClusterEpochs &other) {
    happened.join(other.happened);
    visible.join(other.visible);
  }
  bool contains(const ClusterEpochs &other) const {
    return happened.contains(other.happened) && visible.contains(other.visible);
  }
};

/// What is known of clusters, by their numbers. Null where nothing is.
using GridEpochs = std::map<uint32_t, ClusterEpochs>;
using GridEpochsRef = std::shared_ptr<const GridEpochs>;

/// Adds to `target` what `source` knows; both may have the same object then.
void join(GridEpochsRef &target, const GridEpochsRef &source);

/// The epoch of each warp of a cluster up to which what it did has happened
/// before, and what is known of other clusters. Empty where nothing has.
class VectorClock {
public:
  VectorClock() = default;
  explicit VectorClock(unsigned warps) { own.happened = Epochs(warps); }

  uint32_t operator[](unsigned warp) const { return own.happened[warp]; }
  uint32_t &operator[](unsigned warp) { return own.happened[warp]; }
  const uint32_t *data() const { return own.happened.data(); }
  bool empty() const { return own.happened.empty() && !others; }
  void clear() { *this = VectorClock(); }

  void join(const VectorClock &other) {
    own.join(other.own);
    emulator::join(others, other.others);
  }

  const ClusterEpochs &getOwn() const { return own; }
  const GridEpochsRef &getOthers() const { return others; }
  /// Adds what is known of the grid to the clock of a warp of this cluster.
  void joinGrid(const GridEpochsRef &grid, uint32_t cluster);
  /// What the clock knows of another cluster; null where that is nothing.
  const ClusterEpochs *findOther(uint32_t cluster) const;

  /// Whatever has happened before is visible to the async proxy from here on.
  void makeVisible();

private:
  ClusterEpochs own;
  GridEpochsRef others;
};

/// What happened before asynchronous work was started. Null where nobody asks.
using ClockRef = std::shared_ptr<const VectorClock>;

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_HAZARDS_VECTORCLOCK_H
