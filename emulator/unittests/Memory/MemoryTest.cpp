//===- MemoryTest.cpp - Named buffers of a state space --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Emulator/Memory.h"

#include "Emulator/Memory/AddressWindow.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

using namespace blockscale::emulator;

namespace {
struct MemoryTest : testing::Test {
  Memory global = makeGlobalMemory();
  Memory shared = Memory(StateSpace::Shared, getSharedBase(1));
  llvm::SmallVector<Fault> faults;

  /// The one fault so far; forgets it.
  Fault takeFault() {
    EXPECT_EQ(faults.size(), 1u);
    return faults.empty() ? Fault{} : faults.pop_back_val();
  }
};
} // namespace

// What is written is what is read, and host content is initialised.
TEST_F(MemoryTest, WriteThenRead) {
  uint64_t x = global.allocate("x", {1, 2, 3, 4, 5, 6, 7, 8}, 4);
  uint64_t y = global.allocate("y", 8, 4);
  auto to = global.write(y + 4, 4, 4, faults);
  ASSERT_EQ(to.size(), 4u);
  llvm::copy(global.read(x + 4, 4, 4, faults), to.begin());
  EXPECT_EQ(global.read(y + 4, 4, 4, faults),
            llvm::ArrayRef<uint8_t>({5, 6, 7, 8}));
  EXPECT_TRUE(faults.empty());
  EXPECT_EQ(global.find("y")->bytes[7], 8);
  EXPECT_EQ(global.find("z"), nullptr);
}

// What a kernel should have written and has not is counted, from the first
// byte.
TEST_F(MemoryTest, MissingBytesAreNamed) {
  uint64_t y = global.allocate("y", 8, 4);
  ASSERT_EQ(global.write(y, 4, 4, faults).size(), 4u);
  ASSERT_EQ(global.write(y + 6, 1, 1, faults).size(), 1u);
  EXPECT_EQ(llvm::toString(checkWritten(*global.find("y"))),
            "expected all of y to be written, but 3 of its 8 bytes were not, "
            "the first at byte 4");
  ASSERT_EQ(global.write(y + 4, 4, 4, faults).size(), 4u);
  EXPECT_EQ(llvm::toString(checkWritten(*global.find("y"))), "");
}

// cuMemAlloc aligns to 256 bytes; buffers of global memory are apart.
TEST_F(MemoryTest, GlobalBuffersAreAligned) {
  uint64_t x = global.allocate("x", 1, 1);
  uint64_t y = global.allocate("y", 1, 1024);
  EXPECT_EQ(x % 256, 0u);
  EXPECT_EQ(y % 1024, 0u);
  EXPECT_GT(y, x + 4096);
  EXPECT_EQ(resolveGeneric(x).space, StateSpace::Global);
}

// A buffer is found by each of its addresses, and is gone once it is taken
// away; its addresses are not given again.
TEST_F(MemoryTest, DeallocatedBuffersAreGone) {
  uint64_t x = global.allocate("x", {1, 2, 3, 4}, 4);
  uint64_t y = global.allocate("y", {5, 6, 7, 8}, 4);
  ASSERT_NE(global.findAt(x + 3), nullptr);
  EXPECT_EQ(global.findAt(x + 3)->name, "x");
  EXPECT_EQ(global.findAt(x + 4), nullptr);
  EXPECT_EQ(global.findAt(x - 1), nullptr);
  EXPECT_FALSE(global.deallocate(x + 1));
  EXPECT_TRUE(global.deallocate(x));
  EXPECT_FALSE(global.deallocate(x));
  EXPECT_TRUE(global.read(x, 4, 4, faults).empty());
  EXPECT_EQ(takeFault().kind, FaultKind::OutOfBounds);
  EXPECT_EQ(global.read(y, 4, 4, faults),
            llvm::ArrayRef<uint8_t>({5, 6, 7, 8}));
  EXPECT_GT(global.allocate("z", 4, 4), y);
}

// Shared variables follow each other as the program's alignments ask.
TEST_F(MemoryTest, SharedVariablesArePacked) {
  EXPECT_EQ(shared.allocate("a", 3, 1), getSharedBase(1));
  EXPECT_EQ(shared.allocate("b", 8, 8), getSharedBase(1) + 8);
  EXPECT_EQ(shared.allocate("c", 8, 1024), getSharedBase(1) + 1024);
}

// Only some bytes are new: the fault counts them, and the read goes on.
TEST_F(MemoryTest, UninitialisedBytes) {
  uint64_t x = shared.allocate("tile", 16, 16);
  EXPECT_EQ(shared.write(x, 4, 4, faults).size(), 4u);
  EXPECT_EQ(shared.write(x + 8, 2, 2, faults).size(), 2u);
  EXPECT_EQ(shared.read(x, 16, 16, faults).size(), 16u);
  Fault fault = takeFault();
  EXPECT_EQ(fault.kind, FaultKind::Uninitialised);
  EXPECT_EQ(fault.what,
            "read of 16 bytes at 0x1000000 of .shared: 10 of them were never "
            "written, the first at byte 4 of 'tile' (16 bytes at 0x1000000)");
  EXPECT_EQ(shared.read(x, 4, 4, faults).size(), 4u);
  EXPECT_TRUE(faults.empty());
}

// Bytes can become uninitialised again; only those named do.
TEST_F(MemoryTest, Forget) {
  uint64_t x = global.allocate("x", {1, 2, 3, 4}, 4);
  global.forget(x + 1, 2);
  EXPECT_EQ(global.read(x + 1, 1, 1, faults).size(), 1u);
  EXPECT_EQ(takeFault().kind, FaultKind::Uninitialised);
  EXPECT_EQ(global.read(x, 1, 1, faults)[0], 1);
  EXPECT_EQ(global.read(x + 3, 1, 1, faults)[0], 4);
  EXPECT_TRUE(faults.empty());
}

// Accesses past the end, across the end, before the start, and nowhere at all:
// each is refused and names the nearest buffer.
TEST_F(MemoryTest, OutOfBounds) {
  EXPECT_TRUE(global.read(0, 4, 4, faults).empty());
  EXPECT_EQ(takeFault().what,
            "read of 4 bytes at 0x0 of .global where no buffer is");
  uint64_t x = global.allocate("x", {1, 2, 3, 4, 5, 6, 7, 8}, 4);
  global.allocate("y", 64, 4);

  EXPECT_TRUE(global.read(x + 8, 4, 4, faults).empty());
  EXPECT_EQ(takeFault().what,
            "read of 4 bytes at 0x700000000008 of .global starts 0 bytes past "
            "the end of 'x' (8 bytes at 0x700000000000)");
  EXPECT_TRUE(global.write(x, 16, 4, faults).empty());
  EXPECT_EQ(takeFault().what,
            "write of 16 bytes at 0x700000000000 of .global ends 8 bytes past "
            "the end of 'x' (8 bytes at 0x700000000000)");
  EXPECT_TRUE(global.write(x - 4, 4, 4, faults).empty());
  Fault fault = takeFault();
  EXPECT_EQ(fault.kind, FaultKind::OutOfBounds);
  EXPECT_EQ(fault.what,
            "write of 4 bytes at 0x6ffffffffffc of .global starts 4 bytes "
            "before 'x' (8 bytes at 0x700000000000)");
  // An end that wraps round is outside too.
  EXPECT_TRUE(global.read(x, ~uint64_t(0), 1, faults).empty());
  EXPECT_EQ(takeFault().kind, FaultKind::OutOfBounds);
}

// PTX ISA, "Alignment of Variables": an address is a multiple of the bytes
// accessed; the access is refused.
TEST_F(MemoryTest, Misaligned) {
  uint64_t x = global.allocate("x", {1, 2, 3, 4, 5, 6, 7, 8}, 8);
  EXPECT_TRUE(global.read(x + 4, 8, 8, faults).empty());
  Fault fault = takeFault();
  EXPECT_EQ(fault.kind, FaultKind::Misaligned);
  EXPECT_EQ(fault.what,
            "expected the address of a read of 8 bytes of .global to be a "
            "multiple of 8, but got 0x700000000004");
}

// Constants and parameters are only read.
TEST_F(MemoryTest, ReadOnly) {
  Memory constants(StateSpace::Const, 0);
  uint64_t x = constants.allocate("table", {1, 2, 3, 4}, 4, /*readOnly=*/true);
  EXPECT_EQ(constants.read(x, 4, 4, faults).size(), 4u);
  EXPECT_TRUE(faults.empty());
  EXPECT_TRUE(constants.write(x, 4, 4, faults).empty());
  EXPECT_EQ(takeFault().kind, FaultKind::ReadOnly);
  EXPECT_TRUE(constants.update(x, 4, 4, faults).empty());
  EXPECT_EQ(takeFault().kind, FaultKind::ReadOnly);
}

// An atomic operation reads first: it tells of bytes nobody wrote, once.
TEST_F(MemoryTest, Update) {
  uint64_t x = global.allocate("counter", 4, 4);
  EXPECT_EQ(global.update(x, 4, 4, faults).size(), 4u);
  EXPECT_EQ(takeFault().kind, FaultKind::Uninitialised);
  EXPECT_EQ(global.update(x, 4, 4, faults).size(), 4u);
  EXPECT_TRUE(faults.empty());
  EXPECT_TRUE(global.update(x + 4, 4, 4, faults).empty());
  EXPECT_EQ(takeFault().kind, FaultKind::OutOfBounds);
}
