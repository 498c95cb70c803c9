//===- TensorShadow.h - Users of tensor memory ------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A shadow of tensor memory that knows the work that uses its cells.
//
// For every column of 16 lanes of a CTA's tensor memory: the work that may
// still read or write it, and when the program last saw such work complete.
// PTX ISA, section "Memory Consistency Model for 5th generation of TensorCore
// operations": cp and mma are in order among themselves; all else needs a wait
// in between, and between warps tcgen05.fence::before_thread_sync on the one
// and ::after_thread_sync on the other side.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_HAZARDS_TENSORSHADOW_H
#define BLOCKSCALE_LIB_EMULATOR_HAZARDS_TENSORSHADOW_H

#include "Emulator/Hazards/AsyncWork.h"
#include "Emulator/Hazards/VectorClock.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace blockscale::emulator {

/// When the warps of a cluster executed tcgen05.fence, by their numbers in the
/// cluster, which are those of ClockLog.
class TensorFences {
public:
  explicit TensorFences(unsigned warps) : fences(warps) {}

  /// ::before_thread_sync of a thread of the warp.
  void noteBefore(unsigned warp, uint64_t time) { fences[warp].before = time; }
  /// ::after_thread_sync of a warp with this clock, the last wait before which
  /// succeeded at `wait`.
  void noteAfter(unsigned warp, uint64_t wait, const VectorClock &clock) {
    fences[warp].after = std::max(fences[warp].after, wait);
    fences[warp].clock = clock;
  }

  /// Whether the warp has fenced since `time`.
  bool isBefore(unsigned warp, uint64_t time) const {
    return fences[warp].before >= time;
  }
  /// Whether the warp has waited since `time`, and then fenced.
  bool isAfter(unsigned warp, uint64_t time) const {
    return fences[warp].after >= time;
  }
  /// Whether the warp has waited for an epoch of another one, and then fenced.
  bool isAfter(unsigned warp, unsigned other, uint32_t epoch) const {
    const VectorClock &clock = fences[warp].clock;
    return !clock.empty() && clock[other] >= epoch;
  }

private:
  struct Fences {
    uint64_t before = 0;
    uint64_t after = 0;
    VectorClock clock;
  };
  std::vector<Fences> fences;
};

/// Loads or stores of tensor memory that a warp has waited for: at `time`, in
/// this epoch of its clock.
struct TensorAccess {
  uint64_t time = 0;
  unsigned warp = 0;
  uint32_t epoch = 0;
};

class TensorShadow {
public:
  enum class Use : uint8_t { MatrixRead, MatrixWrite, Load, Store };

  void begin(const CellRange &range, Use use);
  /// The program has waited for it; `access` says when, and who started it.
  void end(const CellRange &range, Use use, const TensorAccess &access);

  struct Cell {
    unsigned lane;
    unsigned column;
  };
  /// The first cells that have such work in flight.
  std::optional<Cell> findUse(const CellRange &range, Use use) const;

  /// The first cells with which `warp` must not load or store: an MMA or copy
  /// touched them, and it has executed no ::after_thread_sync since that was
  /// seen to be complete.
  std::optional<Cell> findUnfencedMatrix(const CellRange &range, unsigned warp,
                                         const TensorFences &fences) const;
  /// The first cells that other warps loaded or stored, for which `warp`, which
  /// starts an MMA and has this clock, has waited without a fence in between.
  /// `isBefore` says which. Where it has not waited, the warps race.
  std::optional<Cell> findUnfencedAccess(const CellRange &range, unsigned warp,
                                         const VectorClock &clock,
                                         const TensorFences &fences,
                                         bool &isBefore) const;

private:
  struct State {
    std::array<uint16_t, 4> uses = {};
    uint64_t matrixEnd = 0;
    TensorAccess access;
  };
  /// The first cells of the range for which `visit` holds.
  template <typename Visit>
  std::optional<Cell> find(const CellRange &range, Visit visit) const;

  std::vector<State> states;
  /// Ranges in flight.
  std::array<uint64_t, 4> inUse = {};
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_HAZARDS_TENSORSHADOW_H
