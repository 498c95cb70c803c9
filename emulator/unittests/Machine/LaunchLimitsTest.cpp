//===- LaunchLimitsTest.cpp - What a launch may ask for -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Machine/LaunchLimits.h"

#include <gtest/gtest.h>

using namespace blockscale::emulator;

namespace {
struct LaunchLimitsTest : testing::Test {
  llvm::SmallVector<Fault> faults;

  /// A GEMM's launch: 4 warps, pairs of CTAs, all the shared memory.
  LaunchShape shape = {{4, 16, 1}, {128, 1, 1}, {2, 1, 1}, 232448, 232448,
                       32764,      524288,      {},        {}};

  void expectBroken(const LaunchShape &broken, llvm::StringRef text) {
    EXPECT_FALSE(checkLaunch(broken, faults));
    ASSERT_EQ(faults.size(), 1u) << text.str();
    EXPECT_EQ(faults[0].kind, FaultKind::Limit);
    EXPECT_NE(faults[0].what.find(text.str()), std::string::npos)
        << faults[0].what;
    faults.clear();
  }
};
} // namespace

TEST_F(LaunchLimitsTest, Good) {
  EXPECT_TRUE(checkLaunch(shape, faults));
  EXPECT_TRUE(checkLaunch({}, faults));
  shape.block = {16, 1, 64};
  shape.requiredBlock = shape.block;
  shape.maximumBlock = {1024, 1, 1};
  shape.grid = {0x7FFFFFFE, 65535, 65535};
  EXPECT_TRUE(checkLaunch(shape, faults));
  shape.grid = {16, 16, 16};
  shape.cluster = {4, 2, 2};
  EXPECT_TRUE(checkLaunch(shape, faults));
  EXPECT_TRUE(faults.empty());
}

TEST_F(LaunchLimitsTest, Block) {
  shape.block = {1025, 1, 1};
  expectBroken(shape, "dimension 0 of the block to be 1 to 1024, but got 1025");
  shape.block = {1, 1, 65};
  expectBroken(shape, "dimension 2 of the block to be 1 to 64");
  shape.block = {1, 0, 1};
  expectBroken(shape, "dimension 1 of the block to be 1 to 1024, but got 0");
  shape.block = {32, 33, 1};
  expectBroken(shape, "at most 1024 threads in a block, but got 1056");
  shape.block = {128, 1, 1};
  shape.requiredBlock = {64, 2, 1};
  expectBroken(shape, "(64, 2, 1), the .reqntid of the kernel");
  shape.requiredBlock.reset();
  shape.maximumBlock = {96, 1, 1};
  expectBroken(shape, "at most 96 threads in a block, the .maxntid");
}

TEST_F(LaunchLimitsTest, GridAndCluster) {
  LaunchShape other = shape;
  other.grid = {2, 65536, 1};
  expectBroken(other, "dimension 1 of the grid to be 1 to 65535");
  other.grid = {0x80000000, 1, 1};
  expectBroken(other, "dimension 0 of the grid to be 1 to 2147483647");
  other.grid = {3, 1, 1};
  expectBroken(other, "multiple of the cluster's 2, but got 3");
  other.grid = {8, 4, 1};
  other.cluster = {8, 4, 1};
  expectBroken(other, "at most 16 CTAs in a cluster, but got 32");
}

// 227 KB of shared memory, 32764 bytes of parameters, 512 KB of local memory.
TEST_F(LaunchLimitsTest, Memory) {
  LaunchShape other = shape;
  other.sharedBytes = 232449;
  expectBroken(other, "at most 232448 bytes of shared memory");
  other.maxSharedBytes = getMaxSharedBytes("sm_120a");
  other.sharedBytes = other.maxSharedBytes + 1;
  expectBroken(other, "at most 101376 bytes of shared memory in a CTA, but got "
                      "101377");
  other = shape;
  other.parameterBytes = 32765;
  expectBroken(other, "at most 32764 bytes of parameters");
  other = shape;
  other.localBytes = 524289;
  expectBroken(other, "at most 524288 bytes of local memory in a thread");
}

// The chips of consumers have less of it than those of data centers of the same
// generation.
TEST(SharedBytes, OfTargets) {
  for (const char *target :
       {"sm_90", "sm_90a", "sm_100a", "sm_103f", "sm_110a"})
    EXPECT_EQ(getMaxSharedBytes(target), 232448u) << target;
  for (const char *target : {"sm_86", "sm_89", "sm_120", "sm_120a", "sm_121a"})
    EXPECT_EQ(getMaxSharedBytes(target), 101376u) << target;
  EXPECT_EQ(getMaxSharedBytes("sm_80"), 166912u);
}
