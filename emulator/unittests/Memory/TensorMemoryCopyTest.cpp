//===- TensorMemoryCopyTest.cpp - From shared to tensor memory ------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Memory/TensorMemoryCopy.h"
#include "Emulator/Memory/AddressWindow.h"
#include "FaultTest.h"

#include "llvm/Support/Endian.h"

#include <gtest/gtest.h>

using namespace blockscale::emulator;

namespace {
struct TensorMemoryCopyTest : FaultTest {
  Memory shared = Memory(StateSpace::Shared, getSharedBase(1));
  TensorMemory memory;

  void SetUp() override {
    std::vector<uint8_t> content(8192);
    for (unsigned i = 0; i < content.size(); i += 4)
      llvm::support::endian::write32le(&content[i], 0x1000 + i);
    shared.allocate("matrix", content, 1024);
    uint32_t address;
    EXPECT_EQ(memory.allocate(64, address, faults),
              TensorMemory::AllocStatus::Done);
  }

  bool copy(CopyShape shape, uint64_t descriptor, uint32_t address) {
    return copyToTensorMemory(shape, descriptor, shared, 1, memory, address,
                              faults);
  }

  /// The offset in the matrix of the word of a cell.
  unsigned source(unsigned lane, unsigned column) {
    EXPECT_TRUE(memory.isWritten(lane, column)) << lane << ' ' << column;
    return memory.get(lane, column) - 0x1000;
  }
};

/// No swizzle: 128 bytes from 8 rows to the next, 4096 from a column of 16
/// bytes to the next.
constexpr uint64_t kDense =
    uint64_t(1) << 46 | uint64_t(128 >> 4) << 32 | uint64_t(4096 >> 4) << 16;
} // namespace

// An atom of scale factors: 16 bytes at 16 i go to lanes i, i + 32, i + 64 and
// i + 96, word j to column j. The next atom is 32 further in the descriptor.
TEST_F(TensorMemoryCopyTest, ScaleFactorAtoms) {
  for (unsigned atom = 0; atom < 3; ++atom)
    ASSERT_TRUE(copy(CopyShape::L32x128bAllWarps,
                     0x0000400800000000 + 32 * atom, 16 + 4 * atom));
  for (unsigned atom = 0; atom < 3; ++atom)
    for (unsigned lane = 0; lane < 128; ++lane)
      for (unsigned word = 0; word < 4; ++word)
        EXPECT_EQ(source(lane, 16 + 4 * atom + word),
                  512 * atom + 16 * (lane % 32) + 4 * word);
  EXPECT_FALSE(memory.isWritten(0, 28));
  EXPECT_TRUE(faults.empty());
}

// Two pairs of warps, in both ways.
TEST_F(TensorMemoryCopyTest, PairsOfWarps) {
  ASSERT_TRUE(copy(CopyShape::L64x128bWarps02And13, kDense, 0));
  ASSERT_TRUE(copy(CopyShape::L64x128bWarps01And23, kDense, 8));
  for (unsigned lane = 0; lane < 128; ++lane)
    for (unsigned word = 0; word < 4; ++word) {
      EXPECT_EQ(source(lane, word), 16 * (lane % 64) + 4 * word);
      EXPECT_EQ(source(lane, 8 + word),
                16 * (lane / 64 * 32 + lane % 32) + 4 * word);
    }
  EXPECT_TRUE(faults.empty());
}

// A lane a row; the second 16 bytes lie a leading offset further.
TEST_F(TensorMemoryCopyTest, WholeRows) {
  ASSERT_TRUE(copy(CopyShape::L128x256b, kDense, 0));
  ASSERT_TRUE(copy(CopyShape::L128x128b, kDense, 32));
  for (unsigned lane = 0; lane < 128; ++lane)
    for (unsigned word = 0; word < 8; ++word) {
      EXPECT_EQ(source(lane, word),
                16 * lane + 4 * (word % 4) + word / 4 * 4096);
      if (word < 4)
        EXPECT_EQ(source(lane, 32 + word), 16 * lane + 4 * word);
    }
  EXPECT_FALSE(memory.isWritten(0, 36));
  EXPECT_TRUE(faults.empty());
}

// A swizzled matrix of 32-byte rows comes in order.
TEST_F(TensorMemoryCopyTest, SwizzledRows) {
  uint64_t swizzled =
      uint64_t(6) << 61 | uint64_t(1) << 46 | uint64_t(256 >> 4) << 32;
  ASSERT_TRUE(copy(CopyShape::L128x256b, swizzled, 0));
  for (unsigned lane = 0; lane < 128; ++lane)
    for (unsigned word = 0; word < 8; ++word) {
      unsigned linear = 32 * lane + 4 * word;
      EXPECT_EQ(source(lane, word), linear ^ (linear >> 7 & 1) << 4);
    }
}

// Four rows, a quarter of the lanes apart.
TEST_F(TensorMemoryCopyTest, FourRows) {
  ASSERT_TRUE(copy(CopyShape::L4x256b, kDense, 3 << 16));
  for (unsigned row = 0; row < 4; ++row)
    EXPECT_EQ(source(32 * row + 3, 1), 16 * row + 4);
  EXPECT_FALSE(memory.isWritten(0, 0));
}

// Outside shared memory, outside the allocation, not a K-major layout, and
// bytes that nobody wrote.
TEST_F(TensorMemoryCopyTest, Refused) {
  EXPECT_FALSE(copy(CopyShape::L32x128bAllWarps, kDense | 8192 >> 4, 0));
  expectFirstFault(FaultKind::OutOfBounds, "past the end of 'matrix'");
  EXPECT_FALSE(copy(CopyShape::L32x128bAllWarps, kDense, 62));
  expectFirstFault(FaultKind::TensorMemory,
                   "tcgen05.cp to touch allocated columns");
  EXPECT_FALSE(copy(CopyShape::L32x128bAllWarps, kDense, 1 << 16));
  expectFirstFault(FaultKind::TensorMemory, "within 128 lanes");
  EXPECT_FALSE(copy(CopyShape::L128x256b, kDense | uint64_t(1) << 61, 0));
  expectFirstFault(FaultKind::Descriptor, "K-major layout");
  EXPECT_FALSE(copy(CopyShape::L128x256b, kDense | uint64_t(3) << 61, 0));
  expectFirstFault(FaultKind::Descriptor, "expected layout");
  uint64_t fresh = shared.allocate("fresh", 512, 128);
  EXPECT_TRUE(
      copy(CopyShape::L32x128bAllWarps, kDense | (fresh & 0x3FFFF) >> 4, 0));
  expectFirstFault(FaultKind::Uninitialised, "'fresh'");
}
