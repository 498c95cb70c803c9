//===- MBarrierTableTest.cpp - The barriers of a CTA ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Async/MBarrierTable.h"

#include <gtest/gtest.h>

using namespace blockscale::emulator;

namespace {
struct MBarrierTableTest : testing::Test {
  MBarrierTable table;
  llvm::SmallVector<Fault> faults;

  /// The one fault so far; forgets it.
  Fault takeFault() {
    EXPECT_EQ(faults.size(), 1u);
    return faults.empty() ? Fault{} : faults.pop_back_val();
  }
};
} // namespace

TEST_F(MBarrierTableTest, LifeOfABarrier) {
  EXPECT_TRUE(table.init(64, 2, faults));
  MBarrier *barrier = table.find(64, "mbarrier.arrive", faults);
  ASSERT_TRUE(barrier);
  EXPECT_EQ(barrier->getPending(), 2u);
  EXPECT_TRUE(table.invalidate(64, faults));
  EXPECT_TRUE(table.init(64, 5, faults));
  EXPECT_EQ(table.find(64, "mbarrier.arrive", faults)->getPending(), 5u);
  EXPECT_TRUE(faults.empty());
}

// Operations on what was never initialised, or is invalid again, are refused.
TEST_F(MBarrierTableTest, NoBarrierThere) {
  EXPECT_FALSE(table.find(8, "mbarrier.try_wait", faults));
  EXPECT_EQ(takeFault().what,
            "expected a barrier at 0x8 for mbarrier.try_wait, "
            "but none of the CTA's 0 is there");
  EXPECT_FALSE(table.invalidate(8, faults));
  EXPECT_EQ(takeFault().kind, FaultKind::Barrier);
  EXPECT_TRUE(table.init(8, 1, faults));
  EXPECT_TRUE(table.invalidate(8, faults));
  EXPECT_FALSE(table.find(8, "mbarrier.arrive", faults));
  EXPECT_EQ(takeFault().kind, FaultKind::Barrier);
}

// A second init without mbarrier.inval is undefined in PTX; the first stays.
TEST_F(MBarrierTableTest, InitTwice) {
  EXPECT_TRUE(table.init(0, 3, faults));
  EXPECT_FALSE(table.init(0, 1, faults));
  EXPECT_EQ(takeFault().what,
            "expected no barrier at 0x0, but it is initialised already");
  EXPECT_EQ(table.find(0, "mbarrier.arrive", faults)->getPending(), 3u);
}

TEST_F(MBarrierTableTest, Misaligned) {
  EXPECT_FALSE(table.init(12, 1, faults));
  EXPECT_EQ(takeFault().kind, FaultKind::Misaligned);
  EXPECT_FALSE(table.find(12, "mbarrier.arrive", faults));
  EXPECT_EQ(takeFault().kind, FaultKind::Misaligned);
}

// A count that init refuses leaves no barrier.
TEST_F(MBarrierTableTest, BadCount) {
  EXPECT_FALSE(table.init(0, 0, faults));
  EXPECT_EQ(takeFault().kind, FaultKind::Barrier);
  EXPECT_TRUE(table.getBarriers().empty());
}

// Ordinary accesses may come up to a barrier, not into it.
TEST_F(MBarrierTableTest, OrdinaryAccess) {
  EXPECT_TRUE(table.init(64, 1, faults));
  EXPECT_TRUE(table.init(128, 1, faults));
  for (auto [address, size] : {std::pair(32, 32), {72, 56}, {136, 8}, {0, 64}})
    table.checkAccess(address, size, faults);
  EXPECT_TRUE(faults.empty());
  for (auto [address, size] :
       {std::pair(64, 1), {71, 1}, {63, 2}, {32, 256}, {120, 16}}) {
    table.checkAccess(address, size, faults);
    EXPECT_EQ(takeFault().kind, FaultKind::Barrier) << address;
  }
  table.checkAccess(68, 4, faults);
  EXPECT_EQ(takeFault().what,
            "access of 4 bytes at 0x44 touches the barrier at 0x40");
}
