//===- TensorMemoryTest.cpp - Tensor memory of a CTA ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Memory/TensorMemory.h"
#include "FaultTest.h"

#include <gtest/gtest.h>

using namespace blockscale::emulator;

namespace {
using AllocStatus = TensorMemory::AllocStatus;

struct TensorMemoryTest : FaultTest {
  TensorMemory memory;

  uint32_t allocate(uint32_t columns) {
    uint32_t address = ~0u;
    EXPECT_EQ(memory.allocate(columns, address, faults), AllocStatus::Done);
    return address;
  }
};
} // namespace

// Allocations do not overlap; one that does not fit blocks until another ends.
TEST_F(TensorMemoryTest, AllocateAndBlock) {
  uint32_t a = allocate(256), b = allocate(128), c = allocate(128);
  EXPECT_EQ(a, 0u);
  EXPECT_EQ(b, 256u);
  EXPECT_EQ(c, 384u);
  uint32_t address = 7;
  EXPECT_EQ(memory.allocate(32, address, faults), AllocStatus::Blocked);
  EXPECT_EQ(address, 7u);
  EXPECT_TRUE(faults.empty());
  EXPECT_TRUE(memory.deallocate(b, 128, faults));
  EXPECT_EQ(allocate(64), 256u);
  EXPECT_EQ(memory.allocate(256, address, faults), AllocStatus::Blocked);
}

// A power of two from 32 to 512.
TEST_F(TensorMemoryTest, Counts) {
  uint32_t address;
  for (uint32_t columns : {0u, 16u, 33u, 48u, 96u, 1024u, ~0u}) {
    EXPECT_EQ(memory.allocate(columns, address, faults), AllocStatus::Refused);
    expectFault(FaultKind::TensorMemory, "a power of two from 32 to 512");
  }
  for (uint32_t columns : {32, 64, 128, 256, 512})
    EXPECT_TRUE(memory.deallocate(allocate(columns), columns, faults));
}

TEST_F(TensorMemoryTest, NoAllocationAfterRelinquishing) {
  uint32_t first = allocate(32), address;
  memory.relinquish();
  EXPECT_EQ(memory.allocate(32, address, faults), AllocStatus::Refused);
  expectFault(FaultKind::TensorMemory, "after tcgen05.relinquish");
  EXPECT_TRUE(memory.deallocate(first, 32, faults));
}

// Not allocated, another size, the middle, and twice.
TEST_F(TensorMemoryTest, Deallocation) {
  uint32_t address = allocate(64);
  EXPECT_FALSE(memory.deallocate(address, 32, faults));
  expectFault(FaultKind::TensorMemory, "that one has 64 columns");
  EXPECT_FALSE(memory.deallocate(address + 32, 32, faults));
  expectFault(FaultKind::TensorMemory, "none starts there");
  EXPECT_TRUE(memory.deallocate(address, 64, faults));
  EXPECT_FALSE(memory.deallocate(address, 64, faults));
  expectFault(FaultKind::TensorMemory, "none starts there");
}

TEST_F(TensorMemoryTest, Leaks) {
  memory.checkLeaks(faults);
  EXPECT_TRUE(faults.empty());
  uint32_t first = allocate(32);
  allocate(64);
  EXPECT_TRUE(memory.deallocate(first, 32, faults));
  memory.checkLeaks(faults);
  expectFault(FaultKind::TensorMemory,
              "64 columns of tensor memory at 0x20 are still allocated");
}

// Accesses lie in the memory and in allocated columns, of one or several
// allocations.
TEST_F(TensorMemoryTest, Access) {
  allocate(32);
  allocate(64);
  EXPECT_TRUE(memory.checkAccess(0, 128, 96, "tcgen05.mma", faults));
  EXPECT_TRUE(memory.checkAccess(96 << 16 | 95, 32, 1, "tcgen05.ld", faults));
  EXPECT_TRUE(faults.empty());
  EXPECT_FALSE(memory.checkAccess(0, 128, 97, "tcgen05.mma", faults));
  expectFault(FaultKind::TensorMemory, "column 96 of its 97 from 0 on is not");
  EXPECT_FALSE(memory.checkAccess(112 << 16, 32, 1, "tcgen05.ld", faults));
  expectFault(FaultKind::TensorMemory, "from lane 112, column 0 on");
  EXPECT_FALSE(memory.checkAccess(500, 1, 16, "tcgen05.ld", faults));
  expectFault(FaultKind::TensorMemory, "within 128 lanes and 512 columns");
  EXPECT_TRUE(memory.deallocate(0, 32, faults));
  EXPECT_FALSE(memory.checkAccess(31, 1, 2, "tcgen05.ld", faults));
  expectFault(FaultKind::TensorMemory, "column 31 of its 2");
}

// Cells know whether they were written since their column was allocated.
TEST_F(TensorMemoryTest, WrittenCells) {
  uint32_t address = allocate(32);
  EXPECT_FALSE(memory.isWritten(5, 3));
  memory.set(5, 3, 0xABCD);
  EXPECT_TRUE(memory.isWritten(5, 3));
  EXPECT_FALSE(memory.isWritten(5, 4));
  EXPECT_FALSE(memory.isWritten(4, 3));
  EXPECT_EQ(memory.get(5, 3), 0xABCDu);
  EXPECT_TRUE(memory.deallocate(address, 32, faults));
  allocate(32);
  EXPECT_FALSE(memory.isWritten(5, 3));
}

TEST_F(TensorMemoryTest, UnwrittenCellsAreOneFault) {
  UnwrittenCells cells;
  cells.report("tcgen05.ld", faults);
  EXPECT_TRUE(faults.empty());
  cells.note(33, 70);
  cells.note(34, 0);
  cells.report("tcgen05.ld", faults);
  expectFault(FaultKind::Uninitialised,
              "tcgen05.ld reads 2 cells of tensor memory that were never "
              "written, the first at lane 33, column 70");
}

// The other placement: a program that takes its address for 0 goes wrong.
TEST_F(TensorMemoryTest, HighestPlacement) {
  TensorMemory other(TensorMemory::Placement::Highest);
  uint32_t address;
  EXPECT_EQ(other.allocate(64, address, faults), AllocStatus::Done);
  EXPECT_EQ(address, 448u);
  EXPECT_EQ(other.allocate(256, address, faults), AllocStatus::Done);
  EXPECT_EQ(address, 192u);
}
