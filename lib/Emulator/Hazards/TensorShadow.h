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

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace blockscale::emulator {

class TensorShadow {
public:
  enum class Use : uint8_t { MatrixRead, MatrixWrite, Load, Store };

  void begin(const CellRange &range, Use use);
  /// The program has waited for it at `time`; `warp` is that which started it.
  void end(const CellRange &range, Use use, unsigned warp, uint64_t time);

  /// tcgen05.fence::before_thread_sync of a thread of the warp.
  void noteBefore(unsigned warp, uint64_t time) { fences[warp].before = time; }
  /// ::after_thread_sync, the last wait before which succeeded at `wait`.
  void noteAfter(unsigned warp, uint64_t wait) {
    fences[warp].after = std::max(fences[warp].after, wait);
  }

  struct Cell {
    unsigned lane;
    unsigned column;
  };
  /// The first cells that have such work in flight.
  std::optional<Cell> findUse(const CellRange &range, Use use) const;

  /// The first cells with which `warp` must not load or store: an MMA or copy
  /// touched them, and it has executed no ::after_thread_sync since that was
  /// seen to be complete.
  std::optional<Cell> findUnfencedMatrix(const CellRange &range,
                                         unsigned warp) const;
  /// The first cells that other warps loaded or stored, so that between them
  /// and `warp`, which starts an MMA, a fence is missing. `isBefore` says
  /// which.
  std::optional<Cell> findUnfencedAccess(const CellRange &range, unsigned warp,
                                         bool &isBefore) const;

private:
  struct State {
    std::array<uint16_t, 4> uses = {};
    uint64_t matrixEnd = 0;
    uint64_t accessEnd = 0;
    unsigned accessWarp = 0;
  };
  struct Fences {
    uint64_t before = 0;
    /// What came before this time is behind a wait and a fence.
    uint64_t after = 0;
  };

  /// The first cells of the range for which `visit` holds.
  template <typename Visit>
  std::optional<Cell> find(const CellRange &range, Visit visit) const;

  std::vector<State> states;
  std::array<Fences, 32> fences = {};
  /// Ranges in flight.
  std::array<uint64_t, 4> inUse = {};
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_HAZARDS_TENSORSHADOW_H
