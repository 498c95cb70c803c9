//===- MBarrierTest.cpp - State of a barrier in shared memory -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Async/MBarrier.h"

#include <gtest/gtest.h>

using namespace blockscale::emulator;

namespace {
struct MBarrierTest : testing::Test {
  llvm::SmallVector<Fault> faults;

  MBarrier make(uint32_t count) { return *MBarrier::init(count, faults); }

  /// The one fault so far; forgets it.
  Fault takeFault() {
    EXPECT_EQ(faults.size(), 1u);
    return faults.empty() ? Fault{} : faults.pop_back_val();
  }

  bool parity(MBarrier &barrier, uint32_t value) {
    auto result = barrier.isParityComplete(value, faults);
    EXPECT_TRUE(result);
    return result.value_or(false);
  }
};
} // namespace

// A fresh barrier: phase 0 incomplete, and the phase before it (odd) complete,
// which is what producers that wait first rely on.
TEST_F(MBarrierTest, Fresh) {
  MBarrier barrier = make(2);
  EXPECT_EQ(barrier.getPhase(), 0u);
  EXPECT_EQ(barrier.getExpected(), 2u);
  EXPECT_EQ(barrier.getPending(), 2u);
  EXPECT_EQ(barrier.getTxCount(), 0);
  EXPECT_FALSE(parity(barrier, 0));
  EXPECT_TRUE(parity(barrier, 1));
  EXPECT_TRUE(faults.empty());
}

// The phase flips with the last arrival, and pending starts anew.
TEST_F(MBarrierTest, ArrivalsCompleteThePhase) {
  MBarrier barrier = make(3);
  auto first = barrier.arrive({2}, faults);
  ASSERT_TRUE(first);
  EXPECT_EQ(MBarrier::getPendingCount(*first), 3u);
  EXPECT_EQ(barrier.isComplete(*first, faults), false);
  auto second = barrier.arrive({}, faults);
  ASSERT_TRUE(second);
  EXPECT_EQ(MBarrier::getPendingCount(*second), 1u);
  EXPECT_EQ(barrier.getPhase(), 1u);
  EXPECT_EQ(barrier.getPending(), 3u);
  EXPECT_EQ(barrier.isComplete(*first, faults), true);
  EXPECT_EQ(barrier.isComplete(*second, faults), true);
  EXPECT_TRUE(parity(barrier, 0));
  EXPECT_FALSE(parity(barrier, 1));
  EXPECT_TRUE(faults.empty());
}

// A load: the phase waits for the arrival and for all its bytes.
TEST_F(MBarrierTest, BytesHoldThePhase) {
  MBarrier barrier = make(1);
  ASSERT_TRUE(barrier.arriveExpectTx(4096, false, faults));
  EXPECT_FALSE(parity(barrier, 0));
  EXPECT_TRUE(barrier.completeTx(4000, faults));
  EXPECT_FALSE(parity(barrier, 0));
  EXPECT_EQ(barrier.describe(),
            "phase 0, 0 of 1 arrivals pending, 96 bytes outstanding");
  EXPECT_TRUE(barrier.completeTx(96, faults));
  EXPECT_TRUE(parity(barrier, 0));
  EXPECT_EQ(barrier.getPhase(), 1u);
  EXPECT_TRUE(faults.empty());
}

// Bytes may land before they are expected: tx-count falls below zero, and the
// phase does not complete by that alone.
TEST_F(MBarrierTest, BytesBeforeExpectation) {
  MBarrier barrier = make(2);
  EXPECT_TRUE(barrier.completeTx(128, faults));
  EXPECT_EQ(barrier.getTxCount(), -128);
  ASSERT_TRUE(barrier.arrive({}, faults));
  EXPECT_EQ(barrier.getPhase(), 0u);
  ASSERT_TRUE(barrier.arriveExpectTx(128, false, faults));
  EXPECT_EQ(barrier.getPhase(), 1u);
  EXPECT_EQ(barrier.getTxCount(), 0);
  EXPECT_TRUE(faults.empty());
}

// PTX says when a phase is complete, and names no operation that would not
// look: the expectation of bytes that came early completes it as well.
TEST_F(MBarrierTest, ExpectationCompletes) {
  MBarrier barrier = make(1);
  EXPECT_TRUE(barrier.completeTx(16, faults));
  ASSERT_TRUE(barrier.arrive({}, faults));
  EXPECT_EQ(barrier.getPhase(), 0u);
  EXPECT_TRUE(barrier.expectTx(16, faults));
  EXPECT_EQ(barrier.getPhase(), 1u);
}

// expect_tx alone is no arrival; zero bytes are legal.
TEST_F(MBarrierTest, ExpectIsNoArrival) {
  MBarrier barrier = make(1);
  EXPECT_TRUE(barrier.expectTx(64, faults));
  EXPECT_TRUE(barrier.completeTx(64, faults));
  EXPECT_EQ(barrier.getPhase(), 0u);
  ASSERT_TRUE(barrier.arriveExpectTx(0, false, faults));
  EXPECT_EQ(barrier.getPhase(), 1u);
  EXPECT_TRUE(faults.empty());
}

// The range of mbarrier.init is 1 to 2^20 - 1.
TEST_F(MBarrierTest, InitRange) {
  EXPECT_TRUE(MBarrier::init(1, faults));
  EXPECT_TRUE(MBarrier::init(1048575, faults));
  EXPECT_TRUE(faults.empty());
  EXPECT_FALSE(MBarrier::init(0, faults));
  EXPECT_EQ(takeFault().what, "expected the count of mbarrier.init to be 1 to "
                              "1048575, but got 0");
  EXPECT_FALSE(MBarrier::init(1048576, faults));
  EXPECT_EQ(takeFault().kind, FaultKind::Barrier);
}

// More arrivals than the phase has, or none at all, are refused whole: not even
// the bytes they expect stay.
TEST_F(MBarrierTest, TooManyArrivals) {
  MBarrier barrier = make(2);
  EXPECT_FALSE(barrier.arrive({3}, faults));
  EXPECT_EQ(takeFault().what, "expected an arrival of 1 to 2 (arrivals pending "
                              "in phase 0), but got 3");
  EXPECT_FALSE(barrier.arrive({0}, faults));
  EXPECT_EQ(takeFault().kind, FaultKind::Barrier);
  ASSERT_TRUE(barrier.arriveExpectTx(16, false, faults));
  ASSERT_TRUE(barrier.arriveExpectTx(16, false, faults));
  EXPECT_FALSE(barrier.arriveExpectTx(16, false, faults));
  EXPECT_EQ(takeFault().kind, FaultKind::Barrier);
  EXPECT_EQ(barrier.getTxCount(), 32);
}

// tx-count stays within +-(2^20 - 1) bytes.
TEST_F(MBarrierTest, TxCountRange) {
  MBarrier barrier = make(1);
  EXPECT_TRUE(barrier.expectTx(1048575, faults));
  EXPECT_FALSE(barrier.expectTx(1, faults));
  EXPECT_EQ(takeFault().what,
            "expected a tx-count of -1048575 to 1048575 bytes, but expect_tx "
            "of 1 makes it 1048576");
  EXPECT_TRUE(barrier.completeTx(1048575, faults));
  EXPECT_TRUE(barrier.completeTx(1048575, faults));
  EXPECT_FALSE(barrier.completeTx(0xFFFFFFFF, faults));
  EXPECT_EQ(takeFault().kind, FaultKind::Barrier);
  EXPECT_EQ(barrier.getTxCount(), -1048575);
}

// arrive_drop takes part in this phase and in no later one.
TEST_F(MBarrierTest, ArriveDrop) {
  MBarrier barrier = make(2);
  ASSERT_TRUE(barrier.arrive({1, /*drop=*/true}, faults));
  EXPECT_EQ(barrier.getPhase(), 0u);
  ASSERT_TRUE(barrier.arrive({}, faults));
  EXPECT_EQ(barrier.getPhase(), 1u);
  EXPECT_EQ(barrier.getPending(), 1u);
  EXPECT_TRUE(parity(barrier, 0));
  EXPECT_FALSE(barrier.arrive({1, /*drop=*/true}, faults));
  EXPECT_EQ(takeFault().what, "expected arrive_drop to leave one arrival or "
                              "more, but 1 of 1 are dropped");
}

// .noComplete must not complete the phase; outstanding bytes keep it open.
TEST_F(MBarrierTest, NoComplete) {
  MBarrier barrier = make(1);
  MBarrier::ArriveOptions options;
  options.noComplete = true;
  EXPECT_FALSE(barrier.arrive(options, faults));
  EXPECT_EQ(takeFault().kind, FaultKind::Barrier);
  EXPECT_TRUE(barrier.expectTx(8, faults));
  EXPECT_TRUE(barrier.arrive(options, faults));
  EXPECT_TRUE(faults.empty());
}

// cp.async.mbarrier.arrive counts itself in, and is a net zero.
TEST_F(MBarrierTest, CpAsyncArrive) {
  MBarrier barrier = make(1);
  EXPECT_TRUE(barrier.addPending(faults));
  ASSERT_TRUE(barrier.arrive({}, faults));
  EXPECT_EQ(barrier.getPhase(), 0u);
  ASSERT_TRUE(barrier.arrive({}, faults));
  EXPECT_EQ(barrier.getPhase(), 1u);
  EXPECT_EQ(barrier.getPending(), 1u);
  EXPECT_TRUE(faults.empty());

  MBarrier full = make(1048575);
  EXPECT_FALSE(full.addPending(faults));
  EXPECT_EQ(takeFault().kind, FaultKind::Barrier);
}

// "For each phase at least one wait must return true before an arrive-on in the
// subsequent phase": told once a phase, and not where somebody waited.
TEST_F(MBarrierTest, UnobservedPhase) {
  MBarrier barrier = make(2);
  for (int i = 0; i < 2; ++i)
    ASSERT_TRUE(barrier.arrive({}, faults));
  EXPECT_TRUE(faults.empty());
  EXPECT_FALSE(parity(barrier, 1));
  ASSERT_TRUE(barrier.arrive({}, faults));
  EXPECT_EQ(takeFault().what,
            "arrival in phase 1 before any wait saw phase 0 complete");
  ASSERT_TRUE(barrier.arrive({}, faults));
  EXPECT_TRUE(parity(barrier, 1));
  ASSERT_TRUE(barrier.arrive({}, faults));
  EXPECT_TRUE(faults.empty());
}

// A state is good for its phase and the one after it.
TEST_F(MBarrierTest, StaleState) {
  MBarrier barrier = make(1);
  auto state = barrier.arrive({}, faults);
  EXPECT_EQ(barrier.isComplete(*state, faults), true);
  ASSERT_TRUE(barrier.arrive({}, faults));
  EXPECT_TRUE(faults.empty());
  EXPECT_EQ(barrier.isComplete(*state, faults), std::nullopt);
  EXPECT_EQ(takeFault().what, "expected the state of phase 2 or of the one "
                              "before, but got that of phase 0");
}

TEST_F(MBarrierTest, ParityIsZeroOrOne) {
  MBarrier barrier = make(1);
  EXPECT_EQ(barrier.isParityComplete(2, faults), std::nullopt);
  EXPECT_EQ(takeFault().what, "expected a phase parity of 0 or 1, but got 2");
}
