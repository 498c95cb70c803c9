//===- MBarrier.h - State of a barrier in shared memory ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state of one mbarrier.
//
// PTX ISA, section "mbarrier". A barrier counts, for its current phase, the
// arrivals that are still to come and the bytes of asynchronous copies that are
// still to land (tx-count, which may fall below zero when a copy completes
// before it is announced). When both are zero, the phase is complete: the next
// one begins with the expected arrivals pending.
//
// Limits of the counts (table "Contents of the mbarrier object"): arrivals
// expected 1 to 2^20 - 1, pending 0 to 2^20 - 1, tx-count +-(2^20 - 1).
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_ASYNC_MBARRIER_H
#define BLOCKSCALE_LIB_EMULATOR_ASYNC_MBARRIER_H

#include "blockscale/Emulator/Report.h"

namespace blockscale::emulator {

constexpr uint32_t kMBarrierMaxCount = (1u << 20) - 1;

/// The state of one barrier. An operation that would break a limit is refused:
/// it reports and changes nothing.
class MBarrier {
public:
  /// mbarrier.init: none, and a fault, where `count` is not a legal count.
  static std::optional<MBarrier> init(uint32_t count, Faults &faults);

  /// What an arrival returns: the phase it belongs to and the arrivals pending
  /// before it, in a form of our own (opaque in PTX).
  using State = uint64_t;

  struct ArriveOptions {
    uint32_t count = 1;
    /// arrive_drop: the expected arrivals of later phases fall by the count.
    bool drop = false;
    /// noComplete: the arrival must not complete the phase.
    bool noComplete = false;
  };
  std::optional<State> arrive(const ArriveOptions &options, Faults &faults);
  /// arrive.expect_tx (and arrive_drop.expect_tx): expects, then arrives once.
  std::optional<State> arriveExpectTx(uint32_t bytes, bool drop,
                                      Faults &faults);

  bool expectTx(uint32_t bytes, Faults &faults);
  bool completeTx(uint32_t bytes, Faults &faults);

  /// cp.async.mbarrier.arrive without .noinc: one more arrival is pending.
  bool addPending(Faults &faults);

  /// test_wait and try_wait: whether the phase of `state` is complete. None,
  /// and a fault, for a state older than the preceding phase.
  std::optional<bool> isComplete(State state, Faults &faults);
  /// The .parity form: whether the phase of this parity, the current one or the
  /// one before it, is complete. None, and a fault, where it is not 0 or 1.
  std::optional<bool> isParityComplete(uint32_t parity, Faults &faults);

  /// mbarrier.pending_count.
  static uint32_t getPendingCount(State state) {
    return state & kMBarrierMaxCount;
  }

  uint64_t getPhase() const { return phase; }
  uint32_t getExpected() const { return expected; }
  uint32_t getPending() const { return pending; }
  int32_t getTxCount() const { return txCount; }

  /// "phase 3, 1 of 2 arrivals pending, 4096 bytes outstanding": for reports of
  /// a deadlock.
  std::string describe() const;

private:
  explicit MBarrier(uint32_t count) : expected(count), pending(count) {}
  bool addTx(int64_t bytes, llvm::StringRef verb, Faults &faults);
  bool checkArrive(const ArriveOptions &options, int32_t txCount,
                   Faults &faults) const;
  State signal(const ArriveOptions &options, Faults &faults);
  void completeIfDone();

  uint64_t phase = 0;
  uint32_t expected;
  uint32_t pending;
  int32_t txCount = 0;
  /// Whether a wait saw the preceding phase complete; there is none before
  /// phase 0.
  bool observed = true;
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_ASYNC_MBARRIER_H
