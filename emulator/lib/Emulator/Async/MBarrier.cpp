//===- MBarrier.cpp - State of a barrier in shared memory -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Async/MBarrier.h"

#include "llvm/Support/FormatVariadic.h"

#include <cstdlib>

namespace blockscale::emulator {

std::optional<MBarrier> MBarrier::init(uint32_t count, Faults &faults) {
  if (count >= 1 && count <= kMBarrierMaxCount)
    return MBarrier(count);
  faults.push_back({FaultKind::Barrier,
                    llvm::formatv("expected the count of mbarrier.init to be 1 "
                                  "to {0}, but got {1}",
                                  kMBarrierMaxCount, count),
                    "give the number of arrivals of one phase"});
  return std::nullopt;
}

bool MBarrier::checkArrive(const ArriveOptions &options, int32_t txCount,
                           Faults &faults) const {
  uint32_t count = options.count;
  if (count == 0 || count > pending) {
    faults.push_back(
        {FaultKind::Barrier,
         llvm::formatv("expected an arrival of 1 to {0} (arrivals pending in "
                       "phase {1}), but got {2}",
                       pending, phase, count),
         "let the count of mbarrier.init be the sum of all arrivals of a "
         "phase"});
    return false;
  }
  if (options.drop && count >= expected) {
    faults.push_back(
        {FaultKind::Barrier,
         llvm::formatv("expected arrive_drop to leave one arrival or more, but "
                       "{0} of {1} are dropped",
                       count, expected),
         "let the last thread arrive without dropping"});
    return false;
  }
  if (options.noComplete && count == pending && txCount == 0) {
    faults.push_back({FaultKind::Barrier,
                      llvm::formatv("expected an arrival with .noComplete not "
                                    "to complete phase {0}",
                                    phase),
                      "leave out .noComplete in the last arrival"});
    return false;
  }
  return true;
}

MBarrier::State MBarrier::signal(const ArriveOptions &options, Faults &faults) {
  if (!observed) {
    faults.push_back(
        {FaultKind::UnobservedPhase,
         llvm::formatv("arrival in phase {0} before any wait saw phase {1} "
                       "complete",
                       phase, phase - 1),
         "wait for the phase before arriving for the next one"});
    // Once for each phase.
    observed = true;
  }
  State state = phase << 20 | pending;
  pending -= options.count;
  if (options.drop)
    expected -= options.count;
  completeIfDone();
  return state;
}

std::optional<MBarrier::State> MBarrier::arrive(const ArriveOptions &options,
                                                Faults &faults) {
  if (!checkArrive(options, txCount, faults))
    return std::nullopt;
  return signal(options, faults);
}

std::optional<MBarrier::State>
MBarrier::arriveExpectTx(uint32_t bytes, bool drop, Faults &faults) {
  ArriveOptions options;
  options.drop = drop;
  // The arrival is checked first: a refused one leaves no bytes behind.
  if (!checkArrive(options, txCount, faults) ||
      !addTx(bytes, "expect_tx", faults))
    return std::nullopt;
  return signal(options, faults);
}

bool MBarrier::addTx(int64_t bytes, llvm::StringRef verb, Faults &faults) {
  int64_t sum = txCount + bytes;
  if (std::abs(sum) <= kMBarrierMaxCount) {
    txCount = static_cast<int32_t>(sum);
    return true;
  }
  faults.push_back(
      {FaultKind::Barrier,
       llvm::formatv("expected a tx-count of -{0} to {0} bytes, but {1} of {2} "
                     "makes it {3}",
                     kMBarrierMaxCount, verb, std::abs(bytes), sum),
       "copy fewer bytes in a phase, and let expect_tx and the copies agree"});
  return false;
}

bool MBarrier::expectTx(uint32_t bytes, Faults &faults) {
  if (!addTx(bytes, "expect_tx", faults))
    return false;
  completeIfDone();
  return true;
}

bool MBarrier::completeTx(uint32_t bytes, Faults &faults) {
  if (!addTx(-int64_t(bytes), "complete_tx", faults))
    return false;
  completeIfDone();
  return true;
}

bool MBarrier::addPending(Faults &faults) {
  if (pending < kMBarrierMaxCount) {
    ++pending;
    return true;
  }
  faults.push_back({FaultKind::Barrier,
                    llvm::formatv("expected at most {0} arrivals pending, but "
                                  "cp.async.mbarrier.arrive adds one",
                                  kMBarrierMaxCount),
                    "use .noinc and count the arrival in mbarrier.init"});
  return false;
}

void MBarrier::completeIfDone() {
  if (pending != 0 || txCount != 0)
    return;
  ++phase;
  pending = expected;
  observed = false;
}

std::optional<bool> MBarrier::isComplete(State state, Faults &faults) {
  uint64_t asked = state >> 20;
  if (asked == phase)
    return false;
  if (asked + 1 == phase) {
    observed = true;
    return true;
  }
  faults.push_back(
      {FaultKind::Barrier,
       llvm::formatv("expected the state of phase {0} or of the one before, "
                     "but got that of phase {1}",
                     phase, asked),
       "wait with the state of the latest arrival on this barrier"});
  return std::nullopt;
}

std::optional<bool> MBarrier::isParityComplete(uint32_t parity,
                                               Faults &faults) {
  if (parity > 1) {
    faults.push_back(
        {FaultKind::Barrier,
         llvm::formatv("expected a phase parity of 0 or 1, but got {0}",
                       parity),
         "take the phase modulo 2"});
    return std::nullopt;
  }
  if ((phase & 1) == parity)
    return false;
  observed = true;
  return true;
}

std::string MBarrier::describe() const {
  return llvm::formatv(
      "phase {0}, {1} of {2} arrivals pending, {3} bytes outstanding", phase,
      pending, expected, txCount);
}

} // namespace blockscale::emulator
